// The live window: the stream of records, the proof of the server, blocks of entries, and what grows.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { BlockCache } from "../../acp_proxy/report/front_end/data/values.js";
import { Recording } from "../../acp_proxy/report/front_end/data/recording.js";
import { readLink, writeLink } from "../../acp_proxy/report/front_end/shell/link.js";
import { State } from "../../acp_proxy/report/front_end/shell/state.js";
import { proofOf, recordsOf, serverSource } from "../../acp_proxy/report/front_end/window/connection.js";
import { Entries } from "../../acp_proxy/report/front_end/conversation/entries.js";
import { waitInWords } from "../../acp_proxy/report/front_end/window/waits_bar.js";
import { MemorySource, indexBlock, jsonBytes } from "./blocks.mjs";

globalThis.window ??= globalThis;

async function recordsIn(bytes, size) {
  const chunks = [];
  for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
  const found = [];
  for await (const record of recordsOf(new Response(new Blob(chunks).stream()))) found.push(record);
  return found;
}

test("records are read from pieces of any size", async () => {
  const bytes = Buffer.from('{"name":"a","size":3}\nx\ny{"recordings":[]}\n{"name":"b","size":0}\n{"name":"cut","size":9}\n12');
  for (const size of [1, 2, 7, 1000]) {
    const found = await recordsIn(bytes, size);
    assert.deepEqual(found.map(({ name }) => name), ["a", undefined, "b"]);
    assert.equal(new TextDecoder().decode(found[0].bytes), "x\ny");
  }
});

test("the proof is the HMAC of the message with the token as its key", async () => {
  const message = "acp-proxy web 00ff 127.0.0.1:1";
  assert.equal(await proofOf("secret", message), createHmac("sha256", "secret").update(message).digest("hex"));
});

test("a block is requested only while a proven server sends its stream", () => {
  const asked = [];
  const connection = { isProved: false, get: async (...values) => asked.push(values) };
  const source = serverSource(/** @type {any} */ (connection), "7");
  void source.bytes("c0");
  assert.deepEqual(asked, []);
  connection.isProved = true;
  source.bytes("c0").catch(() => {});
  assert.deepEqual(asked, [["/api/block", { stream: "7", name: "c0" }]]);
});

test("entries that come twice before they are read are joined", async () => {
  const entries = new Entries(new Recording(null, null));
  const take = (first, ...seq) => entries.take({ first, seq, last_seq: seq, kind: seq.map(String) });
  take(0, 1, 2, 3);
  take(2, 30, 4);
  assert.deepEqual([entries.seqs, entries.first], [[1, 2, 30, 4], 0]);
  entries.first = Infinity;
  take(3, 40, 5);
  take(1, 20);
  assert.deepEqual([entries.seqs, entries.lastSeqs, entries.kinds], [[1, 20], [1, 20], ["1", "20"]]);
  assert.equal(entries.first, 1);
});

test("a block that has changed is shown until it was read again, and read only if it is needed", async () => {
  let reads = 0;
  const cache = new BlockCache(2, async () => ++reads);
  assert.equal(await cache.get("c0"), 1);
  cache.expire("c0");
  assert.equal(cache.now("c0"), 1);
  assert.equal(cache.now("c0", (value) => value > 1), 1);
  await null;
  assert.equal(cache.now("c0"), 2);
  cache.expire("c0");
  assert.equal(await cache.get("c0"), 3);
  cache.expire("other");
  assert.equal(reads, 3);
});

/** A recording to which `add` adds rows with one payload and one cell each, in one growing block. */
function growing() {
  const texts = [];
  const source = new MemorySource({ c0: jsonBytes([["one"]]), p0: new TextEncoder().encode("1") });
  const recording = new Recording(source, { rows: 0, payloads: true, members: {}, summary: { turns: [] } });
  const add = (...seqs) => {
    const columns = {
      seq: seqs, t_ns: seqs, stream: seqs.map(() => "to-agent"), kind: seqs.map(() => "request"),
      length: seqs.map(() => 1), run: seqs.map(() => null), request_seq: seqs, response_seq: seqs.map(() => null),
      latency_ns: seqs.map(() => null), session: seqs.map(() => null), terminal: seqs.map(() => null),
    };
    const places = recording.rows === 0 ? { cells: [0], payloads: [[0, 1]] } : {};
    recording.append(indexBlock(columns, texts, seqs.length, places));
  };
  return { recording, source, add };
}

test("the last blocks of a recording that grows are read again", async () => {
  const { recording, source, add } = growing();
  add(1);
  recording.update({ ...recording.meta, rows: 1 });
  assert.equal((await recording.cells(0)).text, "one");
  assert.equal(new TextDecoder().decode(await recording.line(0)), "1");
  source.blocks.set("c0", jsonBytes([["one"], ["two"]]));
  source.blocks.set("p0", new TextEncoder().encode("12"));
  add(2);
  recording.extend();
  assert.equal(recording.meta.rows, 2);
  assert.equal(recording.cellsNow(0).text, "one");
  assert.equal(recording.cellsNow(1), null);
  assert.equal((await recording.cells(1)).text, "two");
  assert.equal(new TextDecoder().decode(await recording.line(0)), "1");
  assert.equal(new TextDecoder().decode(await recording.line(1)), "2");
});

test("rows before now are hidden in all views, until they are shown again", () => {
  const { recording, add } = growing();
  const state = new State(recording, {});
  add(1, 2);
  recording.update({ ...recording.meta, rows: 2 });
  state.hideBefore(recording.rows);
  assert.deepEqual([...state.shown], []);
  add(3);
  recording.extend();
  assert.deepEqual([...state.shown], [2]);
  state.hideBefore(0);
  assert.deepEqual([...state.shown], [0, 1, 2]);
});

test("a link of the window keeps the token in front, and reports have none", () => {
  const link = { ...readLink("#seq=3&q=a"), view: "list" };
  assert.equal(writeLink(link, "00ff"), "token=00ff&seq=3&view=list&q=a");
  assert.equal(writeLink(link), "seq=3&view=list&q=a");
});

test("a wait is written in whole seconds", () => {
  assert.deepEqual([0, 999e6, 31.9e9, 125e9].map(waitInWords), ["0 s", "0 s", "31 s", "2 min 5 s"]);
});

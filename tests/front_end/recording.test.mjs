// Recording: rows by number, pairs, turns, calls, and blocks that are read when they are needed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { BlockCache } from "../../acp_proxy/report/front_end/data/values.js";
import { lowerBound } from "../../acp_proxy/report/front_end/data/columns.js";
import { Recording } from "../../acp_proxy/report/front_end/data/recording.js";
import { MemorySource, jsonBytes, sourceOf } from "./blocks.mjs";

const ROWS = [
  { seq: 1, t_ns: 0, stream: "event", kind: "start", cells: ["agent: x"], line: '{"a":1}' },
  { seq: 3, t_ns: 5, stream: "to-agent", kind: "request", method: "session/prompt", turn: 1, request_seq: 3, response_seq: 7, exchange: 1, size: 2, cells: ["hi", "7"], line: "é" },
  { seq: 4, t_ns: 6, stream: "to-client", kind: "notification", turn: 1, tool_call: "c", session: "s", arrival_ns: 1, line: "xx" },
  { seq: 5, t_ns: 7, stream: "to-client", kind: "notification", turn: 1, run: -1, tool_call: "c", session: "t", line: "" },
  { seq: 7, t_ns: 9, stream: "to-client", kind: "error", method: "session/prompt", turn: 1, request_seq: 3, response_seq: 7, tone: "trouble", size: 1, cells: ["no", "7", null, [{ rule: "late" }]], line: "last" },
];
const META = { summary: { problems: [{ severity: "error", seq: 3, text: "it fails" }, { severity: "warning", seq: 4, text: "no id" }, { severity: "info", seq: 1, text: "a hint" }] } };

async function recordingOf(rows = ROWS, options = { meta: META }) {
  // A length in bytes is not one in characters.
  const source = sourceOf(rows.map((row) => ({ ...row, line: Buffer.from(row.line ?? "", "utf8").toString("latin1") })), options);
  source.blocks.set("p0", new Uint8Array(Buffer.from(rows.map((row) => row.line ?? "").join(""), "utf8")));
  return { recording: await Recording.read(source), source };
}

test("a row is found by its frame number, or the nearest row", async () => {
  const { recording } = await recordingOf();
  assert.deepEqual([1, 3, 7].map((seq) => recording.rowOf(seq)), [0, 1, 4]);
  assert.deepEqual([0, 2, 8].map((seq) => recording.rowOf(seq)), [-1, -1, -1]);
  assert.deepEqual([0, 2, 8].map((seq) => recording.nearest(seq)), [0, 1, 4]);
  assert.equal(recording.rowAt(6), 2);
});

test("texts are found by column and row, and unknown texts have no code", async () => {
  const { recording } = await recordingOf();
  assert.equal(recording.text("method", 4), "session/prompt");
  assert.equal(recording.text("method", 0), null);
  assert.equal(recording.codes("kind").at(1), recording.code("request"));
  assert.equal(recording.code("nothing"), 0);
});

test("requests, runs and turns refer to other rows", async () => {
  const { recording } = await recordingOf();
  assert.deepEqual([0, 1, 2, 4].map((row) => recording.pair(row)), [-1, 4, -1, 1]);
  assert.deepEqual([2, 3].map((row) => recording.numbers("run").at(row)), [2, 2]);
  assert.deepEqual(recording.rowsOfTurn(1), [1, 4]);
  assert.equal(recording.rowsOfTurn(2), null);
  assert.deepEqual([0, 1, 2].map((row) => recording.rowsAlike("turn", row)), [[], [1, 2, 3, 4], [1, 2, 3, 4]]);
});

test("the line of a row is returned whole, as bytes", async () => {
  const { recording } = await recordingOf();
  const lines = [];
  for (let row = 0; row < 5; row++) lines.push(new TextDecoder().decode(await recording.line(row)));
  assert.deepEqual(lines, ['{"a":1}', "é", "xx", "", "last"]);
});

test("a frame has the members of `log --json`, and an event has its own members", async () => {
  const { recording } = await recordingOf();
  const frame = await recording.frame(2);
  assert.deepEqual([frame.seq, frame.t_first_ns, frame.tool_call, frame.exchange], [4, 5, "c", null]);
  assert.deepEqual(await recording.frame(0), { seq: 1, t_ns: 0, event: "start" });
  assert.equal((await recording.frame(1)).rpc_id, "7");
});

test("findings are rows with sentences, without hints and error answers", async () => {
  const { recording } = await recordingOf();
  const found = [...recording.problems].map(([row, all]) => [row, ...all.map(({ text, severity }) => `${severity}: ${text}`)]);
  assert.deepEqual(found, [[1, "error: it fails"], [2, "warning: no id"]]);
});

test("cells are read once, and each caller is notified when they are read", async () => {
  const { recording, source } = await recordingOf();
  const loaded = new Promise((resolve) => (recording.onLoaded = () => resolve(true)));
  assert.equal(recording.cellsNow(1), null);
  assert.equal(await loaded, true);
  assert.deepEqual(recording.cellsNow(4)?.fired, [{ rule: "late" }]);
  assert.equal((await recording.cells(1)).text, "hi");
  assert.equal(source.read.filter((name) => name === "c0").length, 1);
});

test("a long line is returned in pieces, and a line that is too long is refused as a whole", async () => {
  const row = (seq, length) => ({ seq, t_ns: seq, stream: "to-agent", kind: "request", line: "x".repeat(length) });
  const source = sourceOf([row(1, 2), row(2, 6), row(3, 1)], { payloads: [[0, 1], [1, 1], [1, 1], [2, 1]] });
  ["ab", "123", "456", "z"].forEach((text, number) => source.blocks.set(`p${number}`, new TextEncoder().encode(text)));
  const recording = await Recording.read(source);
  const lines = [];
  for (let at = 0; at < 3; at++) lines.push(new TextDecoder().decode(await recording.line(at)));
  assert.deepEqual(lines, ["ab", "123456", "z"]);
  recording.numbers("length").set(1, 2 ** 27);
  await assert.rejects(recording.line(1), /too large/);
});

test("a report without payloads says so", async () => {
  const { recording } = await recordingOf(ROWS, { meta: { payloads: false } });
  assert.equal(recording.hasPayloads, false);
  await assert.rejects(recording.line(1), /without payloads/);
});

test("an index with fewer rows than the page says is an error", async () => {
  await assert.rejects(recordingOf(ROWS, { meta: { rows: 9 } }), /expected 9 rows, got 5/);
});

test("several index blocks make one recording", async () => {
  const { recording } = await recordingOf(ROWS, { meta: META, chunk: 2 });
  assert.equal(recording.meta.index_blocks, 3);
  assert.deepEqual([...recording.numbers("seq")], [1, 3, 4, 5, 7]);
  assert.equal(recording.pair(4), 1);
});

test("a cache keeps the values that were used last, and no failures", async () => {
  let reads = 0;
  const told = [];
  const cache = new BlockCache(2, async (name) => {
    if (name === "x" && reads < 5) throw new Error(`gone ${++reads}`);
    return `${name}${++reads}`;
  });
  cache.onRead = (block) => told.push(block);
  for (const name of ["a", "b", "a", "c", "a", "b"]) await cache.get(name);
  assert.equal(reads, 4);
  assert.equal(cache.now("a"), "a1");
  await assert.rejects(cache.get("x"), /gone/);
  assert.equal(await cache.get("x"), "x6");
  assert.equal(cache.now("c"), undefined);
  assert.equal(await cache.get("c"), "c7");
  assert.equal(cache.now("c"), "c7");
  assert.deepEqual(told, ["a1", "b2", "c3", "b4", "x6", "c7"]);
});

test("a binary search returns the first matching place", () => {
  assert.deepEqual([0, 1, 2, 9].map((value) => lowerBound([1, 1, 3], value)), [0, 0, 2, 3]);
});

test("if a block is missing in the page, only reads of its rows fail", async () => {
  const source = sourceOf(ROWS);
  source.blocks.delete("c0");
  const recording = await Recording.read(source);
  assert.equal(recording.cellsNow(0), null);
  await assert.rejects(recording.cells(0), /no block c0/);
  assert.ok(source instanceof MemorySource && jsonBytes(1).length === 1);
});

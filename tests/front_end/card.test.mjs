// Combines the frames about a tool call, a permission, a terminal and a message, in any dialect.
import assert from "node:assert/strict";
import { test } from "node:test";

import { callParts } from "../../acp_proxy/report/front_end/cards/card.js";
import { outputOf } from "../../acp_proxy/report/front_end/cards/terminal.js";
import { contentBlocks, describedContent } from "../../acp_proxy/report/front_end/detail/blocks.js";
import { commandFor, faultInWords } from "../../acp_proxy/report/front_end/detail/detail.js";
import { longStrings, saidBlocks } from "../../acp_proxy/report/front_end/detail/said.js";
import { chunkOf } from "../../acp_proxy/report/front_end/data/values.js";
import { Entries } from "../../acp_proxy/report/front_end/conversation/entries.js";
import { Recording } from "../../acp_proxy/report/front_end/data/recording.js";
import { listedCalls } from "../../acp_proxy/report/front_end/cards/card.js";
import { jsonBytes, sourceOf } from "./blocks.mjs";

const update = (members, seq = 1, t_ns = seq * 1e9) => ({ row: seq - 1, seq, t_ns, kind: "notification", method: "session/update", message: { params: { update: members } } });
const terminal = (kind, method, message, seq = 1) => ({ row: seq - 1, seq, t_ns: seq * 1e9, kind, method, message });
const texts = (blocks) => blocks.map((block) => `${block.form} ${block.label}: ${block.diff ? block.diff.path : block.text}`);

test("an update of a call replaces only the members that it has and that are not null", () => {
  const { history, locations, blocks } = callParts([
    update({ sessionUpdate: "tool_call", toolCallId: "c", title: "Edit", kind: "edit", status: "pending", locations: [{ path: "/a", line: 3 }] }, 1),
    update({ sessionUpdate: "tool_call_update", toolCallId: "c", status: "in_progress", locations: null, rawInput: { x: 1 } }, 2),
    update({ sessionUpdate: "tool_call_update", toolCallId: "c", status: "completed", content: [{ type: "diff", path: "/a", oldText: "a", newText: "b" }] }, 4),
  ]);
  assert.deepEqual(history.map((one) => `${one.status} ${one.row} ${one.t_ns}`), ["pending 0 1000000000", "in_progress 1 2000000000", "completed 3 4000000000"]);
  assert.deepEqual(locations, ["/a:3"]);
  assert.deepEqual(texts(blocks), ["diff output: /a"]);
});

test("streamed content comes after other content; a call without content shows its output", () => {
  const streamed = [
    update({ sessionUpdate: "tool_call_content_chunk", toolCallId: "c", content: { type: "text", text: "a" } }),
    update({ sessionUpdate: "tool_call_content_chunk", toolCallId: "c", content: { type: "content", content: { type: "text", text: "b" } } }),
  ];
  assert.deepEqual(texts(callParts(streamed).blocks), ["text output: ab"]);
  const replaced = update({ sessionUpdate: "tool_call_update", toolCallId: "c", content: [], rawOutput: "done" });
  assert.deepEqual(texts(callParts([...streamed, replaced]).blocks), ["text output: done"]);
});

test("a call of the 1.0 draft has its error and its location", () => {
  const message = { params: { type: "tool_call", data: { id: "c", tool: "fs/write", status: "denied", error: "no", location: { path: "/a", line: 1, endLine: 9 } } } };
  const { history, locations, blocks } = callParts([{ ...update({}), message }]);
  assert.deepEqual([history[0].status, locations, texts(blocks)], ["denied", ["/a:1"], ["text error: no"]]);
});

test("a permission request completes missing members of a call, except status and content", () => {
  const asked = terminal("request", "session/request_permission", { params: { toolCall: { toolCallId: "c", status: "pending", content: "asked", locations: [{ path: "/a" }] } } });
  const parts = callParts([asked, terminal("response", "session/request_permission", { result: {} })]);
  assert.deepEqual(parts, { history: [], asked: [asked], locations: ["/a"], blocks: [] });
  assert.deepEqual(callParts([update({ locations: [{ path: "/b" }] }), asked]).locations, ["/b"]);
});

test("the output of a terminal grows in every dialect", () => {
  const v1 = outputOf([
    terminal("request", "terminal/create", { params: { command: "grep", args: ["-c", "a b", "it's"], cwd: "/w" } }),
    terminal("response", "terminal/output", { result: { output: "1\n", truncated: true } }, 2),
    terminal("response", "terminal/output", { result: { output: "1\n2\n", exitStatus: { exitCode: 1 } } }, 3),
  ]);
  assert.equal(v1, "1\n2\n");
  const bytes = Buffer.from("é");
  const chunk = (data) => update({ sessionUpdate: "terminal_output_chunk", data });
  const [first, second] = [bytes.subarray(0, 1), bytes.subarray(1)].map((one) => chunk(one.toString("base64")));
  assert.equal(outputOf([first, second, chunk("?"), update({ sessionUpdate: "terminal_update", exitStatus: { signal: "KILL" } })]), "é");
  const whole = update({ sessionUpdate: "terminal_update", output: { data: bytes.toString("base64") } });
  assert.equal(outputOf([first, whole]), "é");
  const draft = [terminal("request", "terminal/output", { params: { data: "x" } }), terminal("response", "terminal/wait_for_exit", { result: { exitCode: 0 } })];
  assert.equal(outputOf([...draft, draft[0]]), "xx");
});

test("content that is not text is described by type and size", () => {
  assert.equal(describedContent({ type: "image", mimeType: "image/png", data: "A".repeat(16_000) }), "[image/png, 12.0 kB]");
  assert.equal(describedContent({ type: "resource_link", uri: "file:///a.pdf", name: "a.pdf", size: 1000 }), "[file:///a.pdf, resource_link, 1.0 kB]");
  assert.equal(describedContent({ type: "resource", resource: { uri: "u", blob: "AAAA" } }), "[u, resource, 3 B]");
  assert.deepEqual(texts(contentBlocks([{ type: "content", content: { type: "text", text: "t" } }, { type: "resource", resource: { uri: "u", text: "r" } },
    { type: "terminal", terminalId: "t1" }, { type: "terminal", command: "ls", exitCode: 0, stdout: "o" }])),
  ["text : t", "text u: r", "terminal : t1", "note : terminal ls exit 0", "text stdout: o"]);
});

test("a message without an entry is shown by its content or by its long texts", () => {
  assert.deepEqual(texts(longStrings({ a: { "b/c": ["x\ny"] }, d: "short" })), ["text /a/b/c/0: x\ny"]);
  assert.deepEqual(texts(saidBlocks({ params: { update: { content: { type: "text", text: "hi" } } } })), ["text : hi"]);
  assert.deepEqual(texts(saidBlocks({ result: { a: "x\ny" } })), ["text /result/a: x\ny"]);
});

test("a chunk of a message is read in the 1.0 draft, too", () => {
  assert.equal(chunkOf({ params: { type: "agent_message_chunk", data: { content: "x" } } }).text, "x");
});

test("if an entry changes, the index and the blocks are read anew from this entry on", async () => {
  const source = sourceOf([{ seq: 1, stream: "to-agent", kind: "request" }]);
  const numbers = Array.from({ length: 300 }, (_, n) => n);
  const kinds = numbers.map(() => "message");
  source.blocks.set("entries", jsonBytes({ first: 0, seq: numbers, last_seq: numbers, kind: kinds }));
  for (const name of ["e0", "e1"]) source.blocks.set(name, jsonBytes(numbers.map((seq) => ({ kind: "message", seq }))));
  const entries = new Entries(await Recording.read(source));
  await entries.read();
  assert.deepEqual([entries.now(0), entries.now(299)], [null, null]);
  await new Promise((resolve) => setTimeout(resolve));
  assert.deepEqual([entries.now(0)?.seq, entries.now(299)?.seq], [0, 43]);
  entries.take({ first: 299, seq: [299, 300], last_seq: [299, 300], kind: ["tool_call", "end"] });
  source.blocks.set("e1", jsonBytes(numbers.map((seq) => ({ kind: "message", seq: seq + 500 }))));
  await entries.read();
  assert.deepEqual([entries.seqs.length, entries.lastSeqs[300], ...entries.kinds.slice(298)], [301, 300, "message", "tool_call", "end"]);
  assert.deepEqual([entries.now(0)?.seq, entries.now(299)?.seq], [0, 543]);
});

test("the entry of some rows is the last entry that shows one of them, also in parallel queries", async () => {
  const row = (call, index) => ({ seq: index + 1, t_ns: index, stream: "to-client", kind: "notification", method: "session/update", call });
  const source = sourceOf([1, 1, null, 1].map(row), { meta: { summary: {}, check: null } });
  const kinds = ["section", "tool_call", "permission", "message", "tool_call"];
  source.blocks.set("entries", jsonBytes({ first: 0, seq: [1, 1, 2, 3, 4], last_seq: [null, 1, 2, 3, 4], kind: kinds }));
  source.blocks.set("e0", jsonBytes(kinds.map((kind, item) => ({ kind, item }))));
  const { entries } = await Recording.read(source);
  const found = await Promise.all([[[0, 1, 3], "tool_call"], [[0, 1], "tool_call"], [[0, 1], ""], [[2], "tool_call"], [[], ""]].map(([rows, kind]) => entries.about(rows, kind)));
  assert.deepEqual(found.map((one) => one?.item), [4, 1, 2, 3, undefined]);
});

test("calls are listed by their first frames, with their state after the end of their turns", async () => {
  const row = (call, index) => ({ seq: index + 1, t_ns: index, stream: "to-client", kind: "notification", method: "session/update", call });
  const source = sourceOf([1, null, 1, 4, 4].map(row), { meta: { summary: {}, check: null } });
  const entry = (seq, state, more = {}) =>
    ({ kind: "tool_call", seq, title: `call ${seq}`, state, is_failed: state === "failed", took_ns: null, detail: "", ...more });
  const entries = [{ type: "section" }, entry(1, "in_progress", { detail: "read" }), entry(3, "failed", { took_ns: 7 }), entry(4, "in_progress")];
  source.blocks.set("e0", jsonBytes(entries));
  const calls = async (...kinds) => [...await listedCalls(await Recording.read(source), kinds)];
  assert.deepEqual(await calls("section", "tool_call", "tool_call", "tool_call"), [
    [1, { ...entries[2], seq: 1, detail: "read" }],
    [4, { ...entries[3], detail: "other", state: "never ended" }],
  ]);
  assert.deepEqual(await calls(), []);
});

test("a frame is described with its command, and a fault with its effect", () => {
  assert.equal(commandFor("tour", 4), "acp-proxy log tour --seq 4");
  assert.equal(commandFor("a b", 4), "acp-proxy log 'a b' --seq 4");
  const fired = { rule: "r", action: "drop", made: false, delivered: null, base64: null, size: null };
  assert.equal(faultInWords(fired, false), "r (drop): nothing was delivered");
  assert.equal(faultInWords({ ...fired, rule: "drop", made: true }, false), "drop: made up this line");
  assert.equal(faultInWords({ ...fired, delivered: "x", size: 1 }, true), "r (drop): delivered 1 other byte");
});

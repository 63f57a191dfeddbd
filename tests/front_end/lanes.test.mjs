import assert from "node:assert/strict";
import {test} from "node:test";

import {
  ITEM, arrowsOf, endsOf, fateOf, hasFaults, itemOf, lanesOf, sequenceItems,
} from "../../acp_proxy/report/front_end/pictures/lanes.js";

const MS = 1e6;
const PARTIES = {"session/request_permission": "person", "fs/read_text_file": "files", "x/other": "other"};

/** A recording of rows given by name; `seq` counts from 1 unless it is given. */
class FakeRecording {
  constructor(rows, {turns = [], problems = [], members = {}} = {}) {
    this.list = rows.map((row, at) => ({
      seq: at + 1, stream: "to-client", kind: "notification", t_ns: at * MS, delivered: "full", flags: 0, ...row,
    }));
    this.rows = rows.length;
    this.meta = {parties: PARTIES, summary: {turns, problems}, members};
    this.texts = [...new Set(this.list.flatMap((row) => Object.values(row)).filter((one) => typeof one === "string"))];
    this.columns = new Map();
  }
  numbers(name) {
    if (!this.columns.has(name)) {
      this.columns.set(name, Float64Array.from(this.list, (row) => row[name] ?? NaN));
    }
    return this.columns.get(name);
  }
  codes(name) { return Int32Array.from(this.list, (row) => this.code(row[name])); }
  code(text) { return this.texts.indexOf(text) + 1; }
  text(name, row) { return this.list[row][name] ?? null; }
  rowOf(seq) { return this.list.findIndex((row) => row.seq === seq); }
  nearest(seq) { const row = this.list.findIndex((one) => one.seq >= seq); return row < 0 ? this.rows - 1 : row; }
  rowAt(t) { const row = this.list.findIndex((one) => one.t_ns >= t); return row < 0 ? this.rows : row; }
  pair(row) { return this.rowOf(this.list[row]?.[this.list[row]?.kind === "request" ? "response_seq" : "request_seq"]); }
  all() { return Int32Array.from(this.list, (_, at) => at); }
}

const asked = (method, response_seq, more = {}) => ({kind: "request", method, response_seq, ...more});
const answered = (method, request_seq, more = {}) => ({kind: "response", method, request_seq, ...more});
const toAgent = {stream: "to-agent"};
const kindsOf = (items) => [...items.kinds].map((kind) => Object.keys(ITEM)[kind]);

test("who has to answer is pending from the request until the answer", () => {
  const recording = new FakeRecording([
    asked("session/prompt", 4, toAgent),
    asked("session/request_permission", 3),
    answered("session/request_permission", 2, toAgent),
    answered("session/prompt", 1),
  ]);
  const {lanes, open, never} = lanesOf(recording);
  assert.deepEqual(lanes, ["person", "client", "agent"]);
  assert.deepEqual([...open.get("agent")], [1, 1, 1, 0]);
  assert.deepEqual([...open.get("person")], [0, 1, 0, 0]);
  assert.deepEqual([...never.get("agent")], [0, 0, 0, 0]);
});

test("nested requests have places of their own, and the ninth has none", () => {
  const many = Array.from({length: 10}, () => asked("x/other", NaN));
  const {open, never} = lanesOf(new FakeRecording(many));
  assert.deepEqual([...open.get("client")].slice(0, 3), [1, 3, 7]);
  assert.equal(open.get("client")[9], 255);
  assert.equal(never.get("client")[9], 255);
});

test("a turn is pending until it ends, even if its prompt was answered before", () => {
  const rows = [asked("session/prompt", 2, toAgent), answered("session/prompt", 1), {}, {}];
  const turns = [{prompt_seq: 1, end_seq: 4}];
  assert.deepEqual([...lanesOf(new FakeRecording(rows, {turns})).open.get("agent")], [1, 1, 1, 0]);
  const unended = lanesOf(new FakeRecording(rows, {turns: [{prompt_seq: 1, end_seq: null}]}));
  assert.deepEqual([...unended.never.get("agent")], [1, 1, 1, 1]);
});

test("requests of a batch are pending, and may be answered by a batch", () => {
  const rows = [{kind: "batch", ...toAgent}, {}, {kind: "batch"}];
  const members = {0: [asked("a", 3), asked("b", null)], 2: [answered("a", 1)]};
  const {open, never} = lanesOf(new FakeRecording(rows, {members}));
  assert.deepEqual([...open.get("agent")], [3, 3, 2]);
  assert.deepEqual([...never.get("agent")], [2, 2, 2]);
});

test("an answer that the report leaves out still ends what is pending", () => {
  const rows = [asked("session/prompt", 5, {seq: 1, ...toAgent}), {seq: 4}, {seq: 9}];
  assert.deepEqual([...lanesOf(new FakeRecording(rows)).open.get("agent")], [1, 1, 0]);
});

test("a request that a fault dropped is pending in the proxy, and the agent owes nothing", () => {
  const recording = new FakeRecording([
    asked("session/prompt", NaN, {...toAgent, delivered: "none", fault: "lost", flags: 1}), {},
  ]);
  const {lanes, open, never} = lanesOf(recording);
  assert.deepEqual(lanes, ["client", "proxy", "agent"]);
  assert.deepEqual([...open.get("agent")], [0, 0]);
  assert.deepEqual([...never.get("proxy")], [1, 1]);
});

test("an answer that a fault dropped stays in the proxy", () => {
  const recording = new FakeRecording([
    asked("session/prompt", 2, toAgent),
    answered("session/prompt", 1, {delivered: "none", fault: "lost", flags: 1}),
  ]);
  const {open, never} = lanesOf(recording);
  assert.deepEqual([...open.get("agent")], [1, 0]);
  assert.deepEqual([...never.get("proxy")], [0, 1]);
});

test("a request that was late is pending from when it arrived", () => {
  const late = {flags: 1, fault: "late", delay_ns: 2 * MS};
  const recording = new FakeRecording([
    asked("session/prompt", 5, {...toAgent, ...late}), {}, {}, {}, answered("session/prompt", 1), asked("x/other", NaN, late),
  ]);
  const {open} = lanesOf(recording);
  assert.deepEqual([...open.get("agent")], [0, 0, 1, 1, 0, 0]);
  assert.deepEqual([...open.get("client")], [0, 0, 0, 0, 0, 0]);
});

test("messages go between who sends and who has to act", () => {
  const recording = new FakeRecording([
    asked("fs/read_text_file", 2), answered("fs/read_text_file", 1, toAgent), {}, {stream: "stderr", kind: "stderr"},
    {stream: "event", kind: "exit"}, asked("x/other", NaN),
  ]);
  assert.deepEqual(endsOf(recording, 0), {from: "agent", to: "files"});
  assert.deepEqual(endsOf(recording, 1), {from: "files", to: "agent"});
  assert.deepEqual(endsOf(recording, 2), {from: "agent", to: "client"});
  assert.equal(endsOf(recording, 3), null);
  assert.equal(endsOf(recording, 4), null);
  assert.deepEqual(endsOf(recording, 5), {from: "agent", to: "client"});
});

test("without faults there is no lane of the proxy; an event of a fault is one", () => {
  assert.equal(hasFaults(new FakeRecording([{}])), false);
  assert.equal(hasFaults(new FakeRecording([{stream: "event", kind: "fault"}])), true);
  assert.equal(hasFaults(new FakeRecording([{fault: "lost"}])), true);
  assert.equal(hasFaults(new FakeRecording([{flags: 1}])), true);
});

test("what became of a frame", () => {
  const fates = [
    {}, {delivered: "none", fault: "x", flags: 1}, {delivered: "none"}, {flags: 5}, {flags: 2}, {delivered: "partial"},
  ];
  const recording = new FakeRecording(fates);
  assert.deepEqual(fates.map((_, row) => fateOf(recording, row)),
    ["passed", "dropped", "undelivered", "changed", "injected", "undelivered"]);
});

test("a run of chunks is one item, also where the filter leaves some out", () => {
  const recording = new FakeRecording([{}, {run: 1}, {run: 1}, {run: 1}, {}]);
  const items = sequenceItems(recording, Int32Array.from([0, 1, 3, 4]));
  assert.deepEqual([...items.rows], [0, 1, 4]);
  assert.deepEqual([...items.lasts], [0, 3, 4]);
  assert.deepEqual([...items.counts], [1, 2, 1]);
  assert.equal(itemOf(items, 2), 1);
  assert.equal(itemOf(items, 3), 1);
  assert.equal(itemOf(items, 4), 2);
});

test("five seconds without a frame are a break, from the first byte of the next one", () => {
  const recording = new FakeRecording([{t_ns: 0}, {t_ns: 5e9}, {t_ns: 11e9, arrival_ns: 2e9}]);
  const items = sequenceItems(recording, recording.all());
  assert.deepEqual(kindsOf(items), ["frame", "gap", "frame", "frame"]);
  assert.equal(items.times[1], 5e9);
  assert.equal(itemOf(items, 1), 2);
});

test("a frame that was late is drawn again when it was delivered", () => {
  const recording = new FakeRecording([
    {t_ns: 0, delay_ns: 10 * MS, flags: 1, fault: "late"}, {t_ns: 5 * MS}, {t_ns: 10 * MS}, {t_ns: 11 * MS},
  ]);
  const items = sequenceItems(recording, recording.all());
  assert.deepEqual(kindsOf(items), ["frame", "frame", "frame", "delivery", "frame"]);
  assert.deepEqual([...items.held], [1, 1, 1, 0, 0]);
  assert.deepEqual(arrowsOf(recording, items, 0), [{from: "agent", to: "proxy", end: "clock", slanted: false}]);
  assert.deepEqual(arrowsOf(recording, items, 3), [{from: "proxy", to: "client", end: "head", slanted: true}]);
  assert.equal(itemOf(items, 0), 0);
  assert.equal(itemOf(items, 3), 4);
});

test("a frame that was late, with nothing in between, is one item of two arrows", () => {
  const recording = new FakeRecording([{t_ns: 0, delay_ns: 2 * MS, flags: 1}, {t_ns: 5 * MS}]);
  const items = sequenceItems(recording, recording.all());
  assert.deepEqual(kindsOf(items), ["delivered", "frame"]);
  assert.deepEqual([...items.held], [0, 0]);
  assert.deepEqual(arrowsOf(recording, items, 0).map((arrow) => [arrow.from, arrow.to, arrow.end, arrow.slanted]),
    [["agent", "proxy", "clock", false], ["proxy", "client", "head", true]]);
});

test("what is delivered after all else comes last, in the order of the times", () => {
  const recording = new FakeRecording([
    {t_ns: 0, delay_ns: 30 * MS, flags: 1}, {t_ns: MS, delay_ns: 9 * MS, flags: 1}, {t_ns: 2 * MS},
  ]);
  const items = sequenceItems(recording, recording.all());
  assert.deepEqual(kindsOf(items), ["frame", "frame", "frame", "delivery", "delivery"]);
  assert.deepEqual([...items.rows], [0, 1, 2, 1, 0]);
  assert.deepEqual([...items.held], [1, 2, 2, 1, 0]);
});

test("what faults did is drawn as two halves", () => {
  const recording = new FakeRecording([
    {flags: 1, fault: "x", delivered: "none"}, {flags: 5, fault: "x"}, {flags: 3, fault: "x"}, {}, {...toAgent, delivered: "none"},
  ]);
  const items = sequenceItems(recording, recording.all());
  const drawn = [0, 1, 2, 3, 4].map((at) => arrowsOf(recording, items, at).map(({from, to, end}) => `${from}>${to} ${end}`));
  assert.deepEqual(drawn, [
    ["agent>proxy cross"], ["agent>proxy changed", "proxy>client head"], ["proxy>client head"], ["agent>client head"],
    ["client>agent cross"],
  ]);
});

test("a line that was made up begins in the proxy, and waits there if it is late", () => {
  const made = {flags: 3, fault: "copy", delay_ns: 5 * MS};
  const recording = new FakeRecording([{...made, t_ns: 0}, {t_ns: 2 * MS}, {...made, t_ns: 9 * MS}]);
  const items = sequenceItems(recording, recording.all());
  assert.deepEqual(kindsOf(items), ["frame", "frame", "delivery", "delivered"]);
  const drawn = [0, 2, 3].map((at) => arrowsOf(recording, items, at).map(({from, to, slanted}) => `${from}>${to} ${slanted}`));
  assert.deepEqual(drawn, [[], ["proxy>client true"], ["proxy>client true"]]);
});

test("late updates are those that the diagnosis names", () => {
  const problems = [{kind: "late-update", seqs: [2, 3]}, {kind: "unanswered", seqs: [1]}];
  const {late} = lanesOf(new FakeRecording([{}, {}, {}], {problems}));
  assert.deepEqual([...late], [1, 2]);
});

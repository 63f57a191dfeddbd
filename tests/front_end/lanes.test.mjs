import assert from "node:assert/strict";
import { test } from "node:test";
import { Column } from "../../acp_proxy/report/front_end/data/columns.js";

import {
  arrowsOf, debtsOf, lanesOf, lateUpdates, openSpans, sequenceItems,
} from "../../acp_proxy/report/front_end/pictures/lanes.js";

const MS = 1e6;
const PARTIES = { "session/request_permission": "person", "fs/read_text_file": "files", "x/other": "other" };

function columnOf(values, empty) {
  const column = new Column(empty);
  column.append(Float64Array.from(values));
  return column;
}

/** A recording of rows given by name; `seq` counts from 1 unless it is given. */
class FakeRecording {
  constructor(rows, { turns = [], problems = [] } = {}) {
    this.list = rows.map((row, at) => ({
      seq: at + 1, stream: "to-client", kind: "notification", t_ns: at * MS, from: "agent", to: "client",
      request_seq: row.kind === "request" ? row.seq ?? at + 1 : NaN, ...row,
    }));
    this.rows = rows.length;
    const faults = { rule: this.list.filter((row) => row.fate).length };
    const methods = new Set(this.list.map((row) => row.method));
    const parties = Object.fromEntries(Object.entries(PARTIES).filter(([method]) => methods.has(method)));
    this.meta = { parties, summary: { turns, problems, faults } };
    this.texts = [...new Set(this.list.flatMap((row) => Object.values(row)).filter((one) => typeof one === "string"))];
    this.known = new Map();
    this.pauses = new Map();
  }
  numbers(name) {
    if (!this.known.has(name)) {
      this.known.set(name, columnOf(this.list.map((row) => row[name] ?? NaN), NaN));
    }
    return this.known.get(name);
  }
  columns(...names) { return names.map((name) => this.numbers(name)); }
  codes(name) { return columnOf(this.list.map((row) => this.code(row[name])), 0); }
  code(text) { return this.texts.indexOf(text) + 1; }
  text(name, row) { return this.list[row][name] ?? null; }
  rowOf(seq) { return this.list.findIndex((row) => row.seq === seq); }
  nearest(seq) { const row = this.list.findIndex((one) => one.seq >= seq); return row < 0 ? this.rows - 1 : row; }
  rowAt(t) { const row = this.list.findIndex((one) => one.t_ns >= t); return row < 0 ? this.rows : row; }
  pair(row) { return this.rowOf(this.list[row]?.[this.list[row]?.kind === "request" ? "response_seq" : "request_seq"]); }
  all() { return Int32Array.from(this.list, (_, at) => at); }
}

const asked = (method, response_seq, more = {}) => ({ kind: "request", method, response_seq, ...more });
const answered = (method, request_seq, more = {}) => ({ kind: "response", method, request_seq, ...more });
const toAgent = { stream: "to-agent", from: "client", to: "agent" };
const kindsOf = (items) => items.map((item) => item.kind);
/** By row, whether a lane has to answer something, and whether it never does. */
const pending = (recording, lane) => {
  const spans = openSpans(recording).filter((span) => span.lane === lane);
  const covered = (some) => recording.list.map((_, row) => Number(some.some(({ from, to }) => from <= row && row < to)));
  return { open: covered(spans), never: covered(spans.filter(({ to }) => to === Infinity)) };
};
const drawn = (recording, item) =>
  arrowsOf(recording, item).map(({ from, to, end, slanted }) => `${from}>${to} ${end}${slanted ? " slanted" : ""}`);

test("the peer that must answer is pending from the request until the answer", () => {
  const recording = new FakeRecording([
    asked("session/prompt", 4, toAgent),
    asked("session/request_permission", 3, { to: "person" }),
    answered("session/request_permission", 2, { ...toAgent, from: "person" }),
    answered("session/prompt", 1),
  ]);
  assert.deepEqual(lanesOf(recording), ["person", "client", "agent"]);
  assert.deepEqual([...pending(recording, "agent").open], [1, 1, 1, 0]);
  assert.deepEqual([...pending(recording, "person").open], [0, 1, 0, 0]);
  assert.deepEqual([...pending(recording, "agent").never], [0, 0, 0, 0]);
});

test("a turn is pending until it ends, even if its prompt was answered before", () => {
  const rows = [asked("session/prompt", 2, toAgent), answered("session/prompt", 1), {}, {}];
  const turn = (end_seq) => pending(new FakeRecording(rows, { turns: [{ prompt_seq: 1, end_seq }] }), "agent");
  assert.deepEqual([...turn(4).open], [1, 1, 1, 0]);
  assert.deepEqual([...turn(null).never], [1, 1, 1, 1]);
});

test("an answer that the report leaves out still ends the pending time", () => {
  const rows = [asked("session/prompt", 5, { seq: 1, ...toAgent }), { seq: 4 }, { seq: 9 }];
  assert.deepEqual([...pending(new FakeRecording(rows), "agent").open], [1, 1, 0]);
});

test("a request that a fault dropped is pending in the proxy, and not at the agent", () => {
  const recording = new FakeRecording([
    asked("session/prompt", NaN, { ...toAgent, fate: "dropped" }), {},
  ]);
  assert.deepEqual(lanesOf(recording), ["client", "proxy", "agent"]);
  assert.deepEqual([...pending(recording, "agent").open], [0, 0]);
  assert.deepEqual([...pending(recording, "proxy").never], [1, 1]);
});

test("an answer that a fault dropped stays in the proxy", () => {
  const recording = new FakeRecording([
    asked("session/prompt", 2, toAgent),
    answered("session/prompt", 1, { fate: "dropped" }),
  ]);
  assert.deepEqual([...pending(recording, "agent").open], [1, 0]);
  assert.deepEqual([...pending(recording, "proxy").never], [0, 1]);
});

test("a delayed request is pending from the time when it arrived", () => {
  const late = { delay_ns: 2 * MS };
  const recording = new FakeRecording([
    asked("session/prompt", 5, { ...toAgent, ...late }), {}, {}, {}, answered("session/prompt", 1), asked("x/other", NaN, late),
  ]);
  assert.deepEqual([...pending(recording, "agent").open], [0, 0, 1, 1, 0, 0]);
  assert.deepEqual([...pending(recording, "client").open], [0, 0, 0, 0, 0, 0]);
});

test("a peer is pending at all rows from the one after the request to the row of the answer", () => {
  const recording = new FakeRecording([
    {}, asked("session/prompt", 4, toAgent), {}, answered("session/prompt", 2), asked("x/other", NaN), {},
  ]);
  const debts = () => [...debtsOf(recording, openSpans(recording))];
  assert.deepEqual(debts(), [0, 0, 1, 1, 0, 2]);
  recording.isOpen = true;
  assert.deepEqual(debts(), [0, 0, 1, 1, 0, 1]);
});

test("a run of chunks is one item, even if the filter leaves out some chunks", () => {
  const recording = new FakeRecording([{}, { run: 1 }, { run: 1 }, { run: 1 }, {}]);
  const items = sequenceItems(recording, Int32Array.from([0, 1, 3, 4]));
  assert.deepEqual(items.map(({ row, last, count }) => [row, last, count]), [[0, 0, 1], [1, 3, 2], [4, 4, 1]]);
});

test("a marked pause is a break, and a turn has a heading below it", () => {
  const recording = new FakeRecording([{}, { turn: 2, tone: "prompt" }, { turn: 2 }, {}]);
  recording.pauses = new Map([[1, { before: 1 }], [3, { before: 3 }]]);
  const kinds = (...shown) => kindsOf(sequenceItems(recording, Int32Array.from(shown)));
  assert.deepEqual(kinds(0, 1, 2, 3), ["frame", "gap", "turn", "frame", "frame", "gap", "frame"]);
  // With a frame left out before it, more happened meanwhile.
  assert.deepEqual(kinds(0, 1, 3), ["frame", "gap", "turn", "frame", "frame"]);
  assert.deepEqual(sequenceItems(recording, recording.all()).map(({ after }) => after), [NaN, NaN, NaN, MS, MS, NaN, MS]);
});

test("a delayed frame is drawn again at the time of its delivery", () => {
  const recording = new FakeRecording([
    { t_ns: 0, delay_ns: 10 * MS }, { t_ns: 5 * MS }, { t_ns: 10 * MS }, { t_ns: 11 * MS },
  ]);
  const items = sequenceItems(recording, recording.all());
  assert.deepEqual(kindsOf(items), ["frame", "frame", "frame", "delivery", "frame"]);
  assert.deepEqual(items.map(({ held }) => held), [1, 1, 1, 0, 0]);
  assert.equal(items[3].seen, 2);
  assert.deepEqual(drawn(recording, items[0]), ["agent>proxy clock"]);
  assert.deepEqual(drawn(recording, items[3]), ["proxy>client head slanted"]);
});

test("a delayed frame without rows until its delivery is one item with two arrows", () => {
  const recording = new FakeRecording([{ t_ns: 0, delay_ns: 2 * MS }, { t_ns: 5 * MS }]);
  const items = sequenceItems(recording, recording.all());
  assert.deepEqual(items.map(({ kind, held }) => [kind, held]), [["frame", 0], ["frame", 0]]);
  assert.deepEqual(drawn(recording, items[0]), ["agent>proxy clock", "proxy>client head slanted"]);
});

test("deliveries after the last row come last, in the order of their times", () => {
  const recording = new FakeRecording([
    { t_ns: 0, delay_ns: 30 * MS }, { t_ns: MS, delay_ns: 9 * MS }, { t_ns: 2 * MS },
  ]);
  const items = sequenceItems(recording, recording.all());
  assert.deepEqual(items.map(({ row, kind, held }) => [row, kind, held]),
    [[0, "frame", 1], [1, "frame", 2], [2, "frame", 2], [1, "delivery", 1], [0, "delivery", 0]]);
});

test("a frame that a fault changed is drawn as two halves", () => {
  const recording = new FakeRecording([
    { fate: "dropped" }, { fate: "changed" }, { fate: "injected" }, {}, { ...toAgent, fate: "undelivered" },
  ]);
  assert.deepEqual(sequenceItems(recording, recording.all()).map((item) => drawn(recording, item)), [
    ["agent>proxy cross"], ["agent>proxy changed", "proxy>client head"], ["proxy>client head"], ["agent>client head"],
    ["client>agent cross"],
  ]);
});

test("a line that a fault added begins in the proxy, and waits there if it is delayed", () => {
  const made = { fate: "injected", delay_ns: 5 * MS };
  const recording = new FakeRecording([{ ...made, t_ns: 0 }, { t_ns: 2 * MS }, { ...made, t_ns: 9 * MS }]);
  assert.deepEqual(sequenceItems(recording, recording.all()).map((item) => drawn(recording, item)), [
    [], ["agent>client head"], ["proxy>client head slanted"], ["proxy>client head slanted"],
  ]);
});

test("late updates are the updates that break a rule about the end of a turn", () => {
  const problems = [{ rule: "turn.update-late", seq: 2 }, { rule: "cancel.update-after", seq: 3 }, { rule: "wait.unanswered", seq: 1 }];
  assert.deepEqual([...lateUpdates(new FakeRecording([{}, {}, {}], { problems }))], [1, 2]);
});

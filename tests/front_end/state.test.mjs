// State: what changes is told once, late answers of older texts are dropped.
import assert from "node:assert/strict";
import { test } from "node:test";
import { State } from "../../acp_proxy/report/front_end/shell/state.js";

/** @param {Partial<import("../../acp_proxy/report/front_end/shell/state.js").Services>} [services] */
function stateOf(services = {}) {
  const times = Float64Array.of(0, 10, 20, 30, 40);
  const recording = { rows: 5, problems: new Map([[1, []], [3, ["late"]]]), numbers: (name) => (name === "t_ns" ? times : Float64Array.of(2, 4, 6, 8, 10)) };
  const state = new State(recording, {
    applyFilter: async (_, text) => {
      if (text === "bad") throw new Error("unknown field bad");
      return { rows: Int32Array.from([...text].map(Number)), meaning: "" };
    },
    search: async () => Int32Array.of(2, 4),
    ...services,
  });
  /** @type {string[]} */
  const told = [];
  for (const change of ["row", "shown", "view", "matched", "range", "error", "times", "turn"]) state.on(change, () => told.push(change));
  return { state, told };
}

test("selecting a row again changes nothing, and the frame number is that of the row", () => {
  const { state, told } = stateOf();
  assert.equal(state.seq, null);
  state.select(2);
  state.select(2);
  state.select(99);
  assert.deepEqual([state.row, state.seq, told], [2, 6, ["row"]]);
  state.select(-1);
  assert.equal(state.seq, null);
});

test("the shown rows match the filter and are within the range", async () => {
  const { state } = stateOf();
  await state.setFilter("0134");
  assert.deepEqual([...state.shown], [0, 1, 3, 4]);
  state.setRange([10, 30]);
  assert.deepEqual([...state.shown], [1, 3]);
  await state.setFilter("");
  assert.deepEqual([...state.shown], [1, 2, 3]);
  state.setRange(null);
  assert.deepEqual([...state.shown], [0, 1, 2, 3, 4]);
});

test("a wrong filter gives an error, and the same rows stay shown", async () => {
  const { state, told } = stateOf();
  await state.setFilter("12");
  await state.setFilter("bad");
  assert.deepEqual([state.error, [...state.shown]], ["unknown field bad", [1, 2]]);
  await state.setFilter("3");
  assert.equal(state.error, "");
  assert.deepEqual(told, ["shown", "error", "error", "shown"]);
});

test("a late result of an older filter is ignored", async () => {
  const answers = new Map();
  const { state } = stateOf({ applyFilter: (_, text) => new Promise((resolve) => answers.set(text, resolve)) });
  const older = state.setFilter("old");
  const newer = state.setFilter("new");
  answers.get("new")({ rows: Int32Array.of(1), meaning: "" });
  answers.get("old")({ rows: Int32Array.of(2), meaning: "" });
  await Promise.all([older, newer]);
  assert.deepEqual([...state.shown], [1]);
});

test("a new search ends the old one, and hits are added while it runs", async () => {
  /** @type {AbortSignal[]} */
  const signals = [];
  const { state } = stateOf({
    search: async (_, query, { onHits, signal }) => {
      signals.push(signal);
      onHits(Int32Array.of(1));
      await Promise.resolve();
      return Int32Array.of(query.length);
    },
  });
  const older = state.setQuery("a");
  const newer = state.setQuery("bb");
  assert.equal(state.isSearching, true);
  await Promise.all([older, newer]);
  assert.deepEqual([signals[0].aborted, signals[1].aborted], [true, false]);
  assert.deepEqual([[...state.matched], state.isSearching], [[2], false]);
  await state.setQuery("");
  assert.deepEqual([...state.matched], []);
});

test("next and previous cycle through the problems or the hits of a search", async () => {
  const { state } = stateOf();
  const rows = [];
  for (const step of [1, 1, 1, -1]) {
    state.selectNext(step);
    rows.push(state.row);
  }
  assert.deepEqual(rows, [1, 3, 1, 3]);
  await state.setQuery("x");
  state.selectNext(1);
  assert.equal(state.row, 4);
});

test("next and previous skip rows that the filter hides", async () => {
  const { state } = stateOf();
  await state.setFilter("0234");
  state.selectNext(1);
  assert.equal(state.row, 3);
  assert.deepEqual([...state.stops], [3]);
});

test("if a filter hides the selected row, the first shown row is selected until the filter is cleared", async () => {
  const { state, told } = stateOf();
  state.select(1);
  await state.setFilter("134");
  assert.equal(state.row, 1);
  const rows = [];
  state.on("shown", () => rows.push(state.row));
  await state.setFilter("34");
  assert.deepEqual([state.row, told], [3, ["row", "shown", "shown", "row"]]);
  assert.deepEqual(rows, [3]);  // views draw the selection with the rows
  await state.setFilter("");
  assert.equal(state.row, 1);
  state.setRange([20, 30]);
  assert.equal(state.row, 2);
  state.setRange([99, 99]);
  assert.equal(state.row, 1);
});

test("from a row between two stops, next and previous go to these stops", async () => {
  const { state } = stateOf();
  await state.setQuery("x");
  const from = (row, step) => {
    state.select(row);
    state.selectNext(step);
    return state.row;
  };
  assert.deepEqual([from(3, 1), from(3, -1), from(4, 1), from(2, -1), from(-1, 1)], [4, 2, 2, 4, 2]);
  await state.setFilter("01");
  assert.equal(from(0, 1), 0);
});

test("each listener is called once for a change", () => {
  const { state } = stateOf();
  let count = 0;
  state.on("view", () => count++);
  state.set("view", "sequence");
  state.set("view", "sequence");
  state.set("view", "list");
  assert.equal(count, 2);
});

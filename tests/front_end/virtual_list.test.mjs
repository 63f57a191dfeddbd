// Lists: which rows are drawn where, and which items a conversation has. No page is needed for that.
import assert from "node:assert/strict";
import { test } from "node:test";
import { buildItems, indexOfRow, kindOfItem, rowOfItem, runExtent, ROW, RUN, SILENCE, TURN } from "../../acp_proxy/report/front_end/shell/virtual_list.js";
import { readLink, writeLink } from "../../acp_proxy/report/front_end/shell/link.js";
import { ScrollGeometry } from "../../acp_proxy/report/front_end/shell/virtual_list.js";

test("a short list is not scaled, and draws the visible rows and a margin", () => {
  const geometry = new ScrollGeometry(100, 20, 200);
  assert.deepEqual([geometry.isScaled, geometry.height, geometry.lastOffset, geometry.page], [false, 2000, 1800, 9]);
  assert.deepEqual(geometry.drawn(0), [0, 10]);
  assert.deepEqual(geometry.drawn(405), [19, 31]);
  assert.deepEqual(geometry.drawn(1800), [89, 99]);
  assert.equal(geometry.offsetOf(123), 123);
});

test("an empty list draws nothing", () => {
  const [first, last] = new ScrollGeometry(0, 20, 200).drawn(0);
  assert.ok(last < first);
});

test("no screen draws more than a hundred rows", () => {
  const [first, last] = new ScrollGeometry(5000, 20, 9000).drawn(40000);
  assert.equal(last - first + 1, 100);
});

test("a long list is scaled, and every row can be reached", () => {
  const geometry = new ScrollGeometry(1_000_000, 24, 600);
  assert.deepEqual([geometry.isScaled, geometry.height], [true, 8_000_000]);
  assert.equal(geometry.offsetOf(0), 0);
  assert.equal(geometry.offsetOf(8_000_000 - 600), geometry.lastOffset);
  assert.equal(geometry.drawn(geometry.lastOffset)[1], 999_999);
  for (const index of [0, 1, 333_333, 999_998]) {
    const offset = geometry.offsetFor(index, 0, "center");
    const [first, last] = geometry.drawn(offset);
    assert.ok(first <= index && index <= last);
    assert.ok(Math.abs(geometry.offsetOf(geometry.scrollTopOf(offset)) - offset) < 1);
  }
});

test("a list scrolls to a row as little as possible, or shows the row in the middle", () => {
  const geometry = new ScrollGeometry(100, 20, 200);
  assert.equal(geometry.offsetFor(5, 0, "nearest"), 0);
  assert.equal(geometry.offsetFor(10, 0, "nearest"), 20);
  assert.equal(geometry.offsetFor(3, 400, "nearest"), 60);
  assert.equal(geometry.offsetFor(50, 0, "center"), 910);
  assert.equal(geometry.offsetFor(5, 50, "center"), 50);
  assert.equal(geometry.offsetFor(99, 0, "center"), 1800);
});

const NULL = NaN;
/** Rows: prompt, run of three chunks, request, run of two, and one row after a silence. */
const COLUMNS = {
  seq: [1, 2, 3, 4, 5, 6, 7, 9, 10],
  t_ns: [0, 1, 2, 3, 4, 5, 6, 6e9, 12e9],
  arrival_ns: [0, 0, 0, 0, 0, 0, 0, 0, 1e9],
  turn: [1, 1, 1, 1, 1, 1, 1, NULL, NULL],
  run: [NULL, 1, 1, 1, NULL, 5, 5, NULL, NULL],
  size: [9, 10, 20, 30, 1, 1, 1, 1, 1],
  delay_ns: [NULL, NULL, 5, NULL, NULL, NULL, NULL, NULL, NULL],
};
const RECORDING = {
  rows: 9,
  numbers: (name) => Float64Array.from(COLUMNS[name]),
  columns: (...names) => names.map((name) => Float64Array.from(COLUMNS[name])),
  codes: () => Uint8Array.from([1, 2, 2, 2, 2, 2, 2, 2, 2]),
  code: (text) => (text === "prompt" ? 1 : 0),
  /** One goes on after the last row. */
  pauses: new Map([[8, { before: 9 }], [9, { before: 10 }]]),
};
const CALM = { ...RECORDING, pauses: new Map() };
const EVERY = Int32Array.from({ length: 9 }, (_, row) => row);

/** @param {Int32Array} items */
function words(items) {
  const names = { [SILENCE]: "silence", [TURN]: "turn", [RUN]: "run", [ROW]: "row" };
  return [...items].map((item) => `${names[kindOfItem(item)]} ${rowOfItem(item)}`);
}

test("runs are folded, and turns and silences have separate lines", () => {
  const items = buildItems(RECORDING, EVERY, new Set());
  assert.deepEqual(words(items), ["turn 0", "row 0", "run 1", "row 4", "run 5", "row 7", "silence 8", "row 8", "silence 9"]);
});

test("a pause has a line only if the rows before and after it are both shown", () => {
  const lines = (...shown) => words(buildItems(RECORDING, Int32Array.from(shown), new Set()));
  assert.deepEqual(lines(4, 8), ["row 4", "row 8", "silence 9"]);
  assert.deepEqual(lines(4, 7), ["row 4", "row 7"]);
});

test("an opened run shows its rows below its line", () => {
  const items = buildItems(RECORDING, EVERY, new Set([5]));
  assert.deepEqual(words(items).slice(3), ["row 4", "run 5", "row 5", "row 6", "row 7", "silence 8", "row 8", "silence 9"]);
});

test("a run is a single row if a filter leaves only one of its rows", () => {
  const items = buildItems(CALM, Int32Array.of(2, 5, 6), new Set());
  assert.deepEqual(words(items), ["row 2", "run 5"]);
  assert.deepEqual(words(buildItems(RECORDING, new Int32Array(0), new Set())), []);
});

test("the item of a row is the row itself, or the folded run that contains it", () => {
  const items = buildItems(RECORDING, EVERY, new Set());
  assert.deepEqual([0, 1, 3, 4, 6, 8].map((row) => indexOfRow(items, row)), [1, 2, 2, 3, 4, 7]);
  assert.equal(indexOfRow(buildItems(RECORDING, Int32Array.of(4), new Set()), 2), -1);
});

test("the last row, the count and the bytes of a run include only its shown rows", () => {
  assert.deepEqual(runExtent(RECORDING, EVERY, 1), { last: 3, count: 3, size: 60, delay: 5, arrived: 7 });
  assert.deepEqual(runExtent(RECORDING, Int32Array.of(1, 3), 1), { last: 3, count: 2, size: 40, delay: 0, arrived: 3 });
});

test("a list can grow to many items", () => {
  const rows = 5000;
  const recording = {
    ...RECORDING,
    rows,
    columns: (...names) => names.map((name) => new Float64Array(rows).map((_, row) => (name === "run" ? NULL : row))),
    codes: () => new Uint8Array(rows).fill(1),
    pauses: new Map(Array.from({ length: rows - 1 }, (_, row) => [row + 1, { before: row }])),
  };
  const items = buildItems(recording, Int32Array.from({ length: rows }, (_, row) => row), new Set());
  assert.equal(items.length, rows * 3 - 1);
  assert.ok(items.every((item, index) => index === 0 || item > items[index - 1]));
});

test("a link has exactly the parts of the state that the user has chosen", () => {
  const range = [500_000_001, 3_020_000_000];
  const link = { seq: 42, view: "sequence", filter: 'method="a b" or x>3', query: "50% & more", turn: 2, range };
  assert.deepEqual(readLink(`#${writeLink(link)}&c=1&ch=2`), { ...link, connection: 1, channel: 2 });
  const none = { seq: null, view: null, filter: null, query: null, turn: null, range: null, connection: 0, channel: 0 };
  assert.equal(writeLink({ ...none, filter: "", query: "" }), "");
  assert.deepEqual(readLink("#seq=4x&turn=-1&t=3-&c=x"), none);
  assert.equal(writeLink({ ...none, range: [0, 3_020_000_000] }), "t=0-3.02");
});

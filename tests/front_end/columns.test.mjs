// Columns: what is written is what is read, whatever its width, sign and chunk.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Column, decoded, lengthened, lowerBound, readIndexBlock } from "../../acp_proxy/report/front_end/data/columns.js";
import { decodeBase64, inflate } from "../../acp_proxy/report/front_end/data/source.js";
import { indexBlock, sourceOf } from "./blocks.mjs";

const VALUES = [0, 1, -1, null, 127, 128, -129, 65535, 2 ** 31, -(2 ** 33), 2 ** 51, null, 0];

/** @param {Record<string, any[]>[]} chunks */
function blocksOf(chunks) {
  const texts = [];
  return chunks.map((columns) => readIndexBlock(indexBlock(columns, texts, Object.values(columns)[0].length)));
}

/** What a column has after all blocks, as a recording decodes them one by one. */
function columnOf(blocks, name, empty) {
  const column = new Column(empty);
  let all = 0;
  for (const { rows, columns } of blocks) {
    column.pad(all);
    if (columns.has(name)) column.append(decoded(rows, columns.get(name), empty));
    all += rows;
  }
  column.pad(all);
  return column;
}

const numbersOf = (blocks, name) => columnOf(blocks, name, NaN);
const codesOf = (blocks, name) => columnOf(blocks, name, 0);

/** A column with these values, which come in parts of so many rows. */
function filled(values, rows, empty = NaN) {
  const column = new Column(empty);
  for (let at = 0; at < values.length; at += rows) column.append(Float64Array.from(values.slice(at, at + rows)));
  return column;
}

/** How many bytes the values of a column take. */
function bytesOf({ pages }) {
  const buffers = new Set(pages.flatMap(({ codes, values }) => [codes?.buffer, values.buffer]));
  return [...buffers].reduce((sum, buffer) => sum + (buffer?.byteLength ?? 0), 0);
}

function withNull(values) {
  return [...values].map((value) => (Number.isNaN(value) ? null : value));
}

test("numbers of any width and sign are decoded, and null is decoded as NaN", () => {
  const blocks = blocksOf([{ size: VALUES }, { size: [5, null] }]);
  assert.deepEqual(withNull(numbersOf(blocks, "size")), [...VALUES, 5, null]);
});

test("differences are added up within each chunk, and nulls are skipped", () => {
  const times = [10, 10, 2 ** 45, null, 7];
  const blocks = blocksOf([{ t_ns: times }, { t_ns: [2 ** 50, 3] }]);
  assert.deepEqual(withNull(numbersOf(blocks, "t_ns")), [...times, 2 ** 50, 3]);
});

test("a column that is absent or all null is NaN or 0 in every row", () => {
  const blocks = blocksOf([{ size: [null, null] }]);
  assert.deepEqual(withNull(numbersOf(blocks, "size")), [null, null]);
  assert.deepEqual(withNull(numbersOf(blocks, "delay_ns")), [null, null]);
  assert.deepEqual([...codesOf(blocks, "method")], [0, 0]);
});

test("codes of all chunks refer to one list", () => {
  const many = Array.from({ length: 300 }, (_, n) => `call-${n}`);
  const texts = [];
  const blocks = [{ kind: ["request", null] }, { kind: ["error", "request"], tool_call: [null, "x"] }, { tool_call: many }].map(
    (columns) => readIndexBlock(indexBlock(columns, texts, Object.values(columns)[0].length)),
  );
  const all = blocks.flatMap((block) => block.texts);
  const kinds = codesOf(blocks, "kind");
  assert.deepEqual([...kinds].slice(0, 4).map((code) => (code ? all[code - 1] : null)), ["request", null, "error", "request"]);
  const calls = codesOf(blocks, "tool_call");
  assert.equal(all[calls.at(calls.length - 1) - 1], "call-299");
});

const COUNT = 3 * 4096;
const list = (valueOf) => Array.from({ length: COUNT }, (_, row) => valueOf(row));
/** Columns, with the bytes that a row may take. */
const SHAPES = {
  constant: [list(() => 7), 0.1],
  "all null": [list(() => NaN), 0.1],
  "from row to row one more": [list((row) => row + 2 ** 40), 0.1],
  "few values and nulls": [list((row) => [NaN, 5, 2 ** 52, -3][(row * row) % 4]), 1.5],
  "near the number of the row": [list((row) => (row % 9 ? row - (row % 5) : NaN)), 1.5],
  "numbers of two bytes": [list((row) => (row * 7919) % 60_000), 2.5],
  "numbers of four bytes": [list((row) => row * 4000), 5],
  "any numbers": [list((row) => (row * 2 ** 31) * (row % 3 ? 1 : -1)), 10],
  "nulls among many numbers": [list((row) => (row % 2 ? row * 3 : NaN)), 10],
  "changing late": [list((row) => (row < 9000 ? 0 : row % 3)), 1],
  "too large for exact differences": [list((row) => 2 ** 53 + 2 * row), 10],
};

for (const [name, [values, most]] of Object.entries(SHAPES)) {
  test(`a column keeps its values in little memory: ${name}`, () => {
    for (const rows of [COUNT, 4096, 777]) {
      const column = filled(values, rows);
      assert.deepEqual([...column], values);
      const places = [0, 4095, 4096, 8000, COUNT - 1];
      assert.deepEqual(places.map((row) => column.at(row)), places.map((row) => values[row]));
      assert.deepEqual([-1, COUNT, NaN, undefined].map((row) => column.at(row)), Array(4).fill(NaN));
      for (const value of [values[0], values[5000], values[COUNT - 1], 123.5]) {
        for (const from of [0, 1, 4096, 6000]) assert.equal(column.indexOf(value, from), values.indexOf(value, from));
      }
      assert.ok(bytesOf(column) <= most * COUNT + 4096, `${bytesOf(column) / COUNT}`);
    }
  });
}

test("a value of a row can change, in a page of any kind", () => {
  for (const [values] of Object.values(SHAPES)) {
    const [column, expected] = [filled(values, 1000), [...values]];
    for (const [row, value] of [[0, 1], [1, NaN], [4097, 2 ** 50], [9999, -4]]) {
      column.set(row, (expected[row] = value));
      assert.equal(column.at(row), value);
    }
    column.pack();
    column.append(Float64Array.of(9));
    column.pad(COUNT + 3);
    assert.deepEqual([...column], [...expected, 9, NaN, NaN]);
  }
});

test("the place of a number in a sorted column is that in an array", () => {
  const values = list((row) => row * 3 - (row % 2));
  const column = filled(values, 500);
  for (const value of [-1, 0, 7, 12_290, 29_997, 40_000]) {
    assert.equal(lowerBound(column, value), values.filter((one) => one < value).length);
  }
});

test("an array grows in its own memory while that has room", () => {
  const first = lengthened(new Int32Array(0), 100);
  first.set([1, 2, 3]);
  const second = lengthened(first, 101);
  const third = lengthened(second, 106);
  assert.equal(third.buffer, second.buffer);
  assert.deepEqual([...third], [1, 2, 3, ...new Array(103).fill(0)]);
});

test("a truncated block is an error, not a short column", () => {
  const bytes = indexBlock({ size: [1, 2, 3] }, [], 3);
  assert.throws(() => readIndexBlock(bytes.subarray(0, bytes.length - 1)), /column size is cut off/);
});

test("a block of the page is deflated and in base64", async () => {
  const source = sourceOf([{ seq: 1, line: "ü\u2028" }]);
  const bytes = await inflate(decodeBase64(source.packed("p0")));
  assert.equal(new TextDecoder().decode(bytes), "ü\u2028");
});

// Columns: what is written is what is read, whatever its width, sign and chunk.
import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeCodes, decodeNumbers, lengthened, readIndexBlock, typeOfCodes } from "../../acp_proxy/report/front_end/data/columns.js";
import { decodeBase64, inflate } from "../../acp_proxy/report/front_end/data/source.js";
import { indexBlock, sourceOf } from "./blocks.mjs";

const VALUES = [0, 1, -1, null, 127, 128, -129, 65535, 2 ** 31, -(2 ** 33), 2 ** 51, null, 0];

/** @param {Record<string, any[]>[]} chunks */
function blocksOf(chunks) {
  const texts = [];
  return chunks.map((columns) => readIndexBlock(indexBlock(columns, texts, Object.values(columns)[0].length)));
}

/** What a column has after all blocks, as a recording decodes them one by one. */
function numbersOf(blocks, name) {
  let values = new Float64Array(0);
  for (const { rows, columns } of blocks) {
    values = lengthened(values, values.length + rows);
    if (columns.has(name)) decodeNumbers(values, rows, columns.get(name));
  }
  return values;
}

function codesOf(blocks, name) {
  let codes = new Uint8Array(0);
  for (const { rows, columns } of blocks) {
    const column = columns.get(name);
    codes = lengthened(codes, codes.length + rows, 0, typeOfCodes(codes, column?.width ?? 0));
    if (column) decodeCodes(codes, rows, column);
  }
  return codes;
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

test("codes of all chunks refer to one list, in an array of the needed width", () => {
  const many = Array.from({ length: 300 }, (_, n) => `call-${n}`);
  const texts = [];
  const blocks = [{ kind: ["request", null] }, { kind: ["error", "request"], tool_call: [null, "x"] }, { tool_call: many }].map(
    (columns) => readIndexBlock(indexBlock(columns, texts, Object.values(columns)[0].length)),
  );
  const all = blocks.flatMap((block) => block.texts);
  const kinds = codesOf(blocks, "kind");
  assert.ok(kinds instanceof Uint8Array);
  assert.deepEqual([...kinds].slice(0, 4).map((code) => (code ? all[code - 1] : null)), ["request", null, "error", "request"]);
  const calls = codesOf(blocks, "tool_call");
  assert.ok(calls instanceof Uint16Array);
  assert.equal(all[calls[calls.length - 1] - 1], "call-299");
});

test("an array grows within its memory, and doubles the memory when it is full", () => {
  const empty = new Float64Array(0);
  const first = lengthened(empty, 3, 5);
  first.set([1, 2, 3]);
  const second = lengthened(first, 5);
  assert.equal(second.buffer, first.buffer);
  assert.deepEqual([...second], [1, 2, 3, NaN, NaN]);
  const third = lengthened(second, 6, 5);
  assert.equal(third.buffer.byteLength, 10 * 8);
  assert.deepEqual([...third], [1, 2, 3, NaN, NaN, NaN]);
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

// Makes the blocks of a small recording, as acp_proxy/report/data_blocks.py does, for tests on Node.
import { deflateSync } from "node:zlib";

const DELTA = new Set(["seq", "t_ns", "exchange"]);
const NUMBERS = new Set([
  ...DELTA, "arrival_ns", "turn", "size", "length", "request_seq", "response_seq", "latency_ns", "run", "flags", "call", "delay_ns",
]);

/** Writes one index block of columns: `{name: [values]}`; texts are added to the list of all. */
export function indexBlock(columns, texts, rows, { cells = [], payloads = [] } = {}) {
  const before = texts.length;
  const planes = [];
  const header = { rows, cells, payloads, texts: [], columns: [] };
  for (const [name, values] of Object.entries(columns)) {
    const stored = NUMBERS.has(name) ? storedNumbers(name, values) : values.map((text) => codeOf(text, texts));
    let width = 0;
    while (stored.some((value) => value >= 256 ** width)) width++;
    if (stored.every((value) => value === 0)) width = 0;
    for (let plane = 0; plane < width; plane++) {
      planes.push(...stored.map((value) => Math.floor(value / 256 ** plane) % 256));
    }
    header.columns.push([name, kindOf(name), width]);
  }
  header.texts = texts.slice(before);
  const json = new TextEncoder().encode(JSON.stringify(header));
  const bytes = new Uint8Array(4 + json.length + planes.length);
  new DataView(bytes.buffer).setUint32(0, json.length, true);
  bytes.set(json, 4);
  bytes.set(planes, 4 + json.length);
  return bytes;
}

/** A source of blocks that are in memory, and that counts what is read. */
export class MemorySource {
  constructor(blocks) {
    this.blocks = new Map(Object.entries(blocks));
    this.read = [];
  }
  packed(name) {
    return deflateSync(this.blocks.get(name)).toString("base64");
  }
  async bytes(name) {
    this.read.push(name);
    if (!this.blocks.has(name)) throw new Error(`no block ${name}`);
    return this.blocks.get(name);
  }
}

const kindOf = (name) => (DELTA.has(name) ? "difference" : NUMBERS.has(name) ? "number" : "text");

/** The source of a recording whose rows are objects of columns, with `cells` and `line`. */
export function sourceOf(rows, { chunk = 65536, meta = {}, payloads = [[0, rows.length]] } = {}) {
  const blocks = {};
  const texts = [];
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) => name !== "cells" && name !== "line");
  let count = 0;
  for (let first = 0; first < rows.length; first += chunk) {
    const part = rows.slice(first, first + chunk);
    const columns = Object.fromEntries(names.map((name) => [name, part.map((row) => row[name] ?? null)]));
    columns.length = part.map((row) => (row.line ?? "").length);
    blocks[`c${count}`] = jsonBytes(part.map((row) => row.cells ?? [""]));
    const places = { cells: [first], payloads: count === 0 ? payloads : [] };
    blocks[`i${count++}`] = indexBlock(columns, texts, part.length, places);
  }
  blocks.p0 = new TextEncoder().encode(rows.map((row) => row.line ?? "").join(""));
  blocks.meta = jsonBytes({ rows: rows.length, index_blocks: count, payloads: true, ...meta });
  return new MemorySource(blocks);
}

export function jsonBytes(value) {
  return new TextEncoder().encode(JSON.stringify(value));
}

function storedNumbers(name, values) {
  let before = 0;
  return values.map((value) => {
    if (value === null) return 0;
    const number = DELTA.has(name) ? value - before : value;
    before = value;
    return (number < 0 ? -2 * number - 1 : 2 * number) + 1;
  });
}

function codeOf(text, texts) {
  if (text === null) return 0;
  if (!texts.includes(text)) texts.push(text);
  return texts.indexOf(text) + 1;
}

// Decodes index blocks, and keeps the columns of all rows in little memory. A block is a JSON
// header with its length before it, then planes of bytes, lowest byte first.

import { decodeText } from "./source.js";

/**
 * @typedef {{kind: "text" | "number" | "difference", width: number, planes: Uint8Array}} Planes
 * @typedef {{rows: number, texts: string[], cells: number[], payloads: [number, number][],
 * columns: Map<string, Planes>}} IndexBlock
 */
/**
 * The values of some rows. A value is `values[codes[place]] + step * row`, or `values[place]` if
 * `codes` is null.
 * @typedef {{codes: Uint8Array | null, values: Float64Array | Uint16Array |
 * Uint32Array, step: number}} Page
 */

const HEADER_LENGTH_BYTES = 4;
const PAGE_BITS = 12;
const PAGE_ROWS = 1 << PAGE_BITS;
const MOST_CODES = 256;
/** The codes of a page in which one value is enough. */
const ALL_ZERO = new Uint8Array(PAGE_ROWS);

/**
 * Reads the header of an index block. A column is decoded later, when it is needed.
 * @param {Uint8Array} bytes @returns {IndexBlock}
 */
export function readIndexBlock(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const start = HEADER_LENGTH_BYTES + view.getUint32(0, true);
  const header = JSON.parse(decodeText(bytes.subarray(HEADER_LENGTH_BYTES, start)));
  const columns = new Map();
  let at = start;
  for (const [name, kind, width] of header.columns) {
    const end = at + width * header.rows;
    if (end > bytes.length) throw new Error(`column ${name} is cut off at ${bytes.length} bytes`);
    columns.set(name, { kind, width, planes: bytes.subarray(at, end) });
    at = end;
  }
  return { ...header, columns };
}

/**
 * Decodes the values of a block: a number, or the code of a text, which is its index plus 1.
 * @param {number} rows @param {Planes} planes @param {number} empty the value that stands for null
 */
export function decoded(rows, { kind, width, planes }, empty) {
  const values = new Float64Array(rows);
  if (width === 0) return values.fill(empty);
  values.set(planes.subarray(0, rows));
  for (let at = rows, scale = 256; at < width * rows; scale *= 256) {
    for (let row = 0; row < rows; row++) values[row] += planes[at++] * scale;
  }
  if (kind === "text") return values;
  for (let row = 0, before = 0; row < rows; row++) {
    const stored = values[row];
    // A time in nanoseconds has more than 32 bits, so bits are taken only from the lowest byte.
    const number = planes[row] & 1 ? (stored - 1) / 2 : -stored / 2;
    if (stored === 0) values[row] = empty;
    else values[row] = kind === "difference" ? (before += number) : number;
  }
  return values;
}

/**
 * The values of a column by row, in pages. Most pages have few different values, or few different
 * distances from the number of the row; such a page has a byte for each row, or none.
 */
export class Column {
  /** @type {Page[]} */
  pages = [];
  length = 0;
  /** The numbers of the pages that have changed and are not packed. @type {Set<number>} */
  loose = new Set();

  /** @param {number} empty the value of a row without another value: NaN, or the code 0 */
  constructor(empty) { this.empty = empty; }

  /** The value of a row; NaN if there is no such row. @param {number} row */
  at(row) {
    if (!(row >= 0 && row < this.length)) return NaN;
    const { codes, values, step } = this.pages[row >> PAGE_BITS];
    const place = row & (PAGE_ROWS - 1);
    return codes === null ? values[place] : values[codes[place]] + step * row;
  }

  /**
   * Changes the value of a row, whose page takes more memory until `pack`.
   * @param {number} row @param {number} value
   */
  set(row, value) { this.loosened(row >> PAGE_BITS)[row & (PAGE_ROWS - 1)] = value; }

  /** Makes the column as long as a recording. @param {number} rows */
  pad(rows) {
    if (rows > this.length) this.append(new Float64Array(rows - this.length).fill(this.empty));
  }

  /** @param {Float64Array} values */
  append(values) {
    for (let done = 0; done < values.length;) {
      const place = this.length & (PAGE_ROWS - 1);
      const number = this.length >> PAGE_BITS;
      const part = values.subarray(done, (done += PAGE_ROWS - place));
      const before = this.pages[number] ?? this.pages[number - 1];
      // Pages in which one value is enough are often the same object.
      const isUniform = before?.codes === ALL_ZERO && part.every((value, at) =>
        Object.is(before.values[0] + before.step * (this.length + at), value));
      if (isUniform) this.pages[number] = before;
      else this.loosened(number).set(part, place);
      this.length += part.length;
      this.pack();
    }
  }

  /** Returns the values of a page, to be written. @param {number} number of the page */
  loosened(number) {
    const { codes = null, values = null } = this.pages[number] ?? {};
    this.loose.add(number);
    if (codes === null && values instanceof Float64Array) return values;
    const plain = new Float64Array(PAGE_ROWS);
    const first = number * PAGE_ROWS;
    const rows = Math.min(PAGE_ROWS, this.length - first);
    for (let place = 0; place < rows; place++) plain[place] = this.at(first + place);
    this.pages[number] = { codes: null, values: plain, step: 0 };
    return plain;
  }

  /** Stores full pages in as little memory as possible; the last page can grow until it is full. */
  pack() {
    for (const number of this.loose) {
      if (number >= this.length >> PAGE_BITS) continue;
      const values = /** @type {Float64Array} */ (this.pages[number].values);
      this.pages[number] = packed(values, number * PAGE_ROWS);
      this.loose.delete(number);
    }
  }

  /** The first row that has a value, or -1. @param {number} value @param {number} [from] */
  indexOf(value, from = 0) {
    for (let row = from; row < this.length;) {
      const { codes, values, step } = this.pages[row >> PAGE_BITS];
      const end = Math.min(this.length, (row | (PAGE_ROWS - 1)) + 1);
      const isPossible = codes === null || step > 0 || values.includes(value);
      for (; isPossible && row < end; row++) if (this.at(row) === value) return row;
      row = end;
    }
    return -1;
  }

  /** All values, which take eight bytes for each row. */
  toArray = () => new Float64Array(this.length).map((_, row) => this.at(row));

  [Symbol.iterator]() { return this.toArray().values(); }
}

/**
 * The page of some values.
 * @param {Float64Array} values of a full page @param {number} first their first row
 * @returns {Page}
 */
function packed(values, first) {
  for (const step of [0, 1]) {
    const codes = new Uint8Array(PAGE_ROWS);
    /** The code of each value. @type {Map<number, number>} */
    const known = new Map();
    let place = 0;
    for (; place < PAGE_ROWS && known.size <= MOST_CODES; place++) {
      const shift = step * (first + place);
      const value = values[place] - shift;
      // Differences of large numbers are not exact.
      if (step > 0 && !Object.is(value + shift, values[place])) break;
      codes[place] = known.get(value) ?? known.size;
      known.set(value, codes[place]);
    }
    if (place < PAGE_ROWS || known.size > MOST_CODES) continue;
    const one = known.size === 1 ? ALL_ZERO : codes;
    return { codes: one, values: Float64Array.from(known.keys()), step };
  }
  let most = 0;
  for (const value of values) most = value >>> 0 === value ? Math.max(most, value) : Infinity;
  const narrow = most < 2 ** 16 ? new Uint16Array(values) : new Uint32Array(values);
  return { codes: null, values: most < 2 ** 32 ? narrow : values, step: 0 };
}

/**
 * Returns an array with room for more rows, whose new values are 0. The array uses the same memory
 * if it is large enough.
 * @template {Int32Array | Uint8Array} Values
 * @param {Values} values an empty array, or an earlier result of this function
 * @param {number} rows the new number of rows
 * @returns {Values}
 */
export function lengthened(values, rows) {
  const Type = /** @type {any} */ (values.constructor);
  const hasRoom = rows * Type.BYTES_PER_ELEMENT <= values.buffer.byteLength;
  if (hasRoom) return new Type(values.buffer, 0, rows);
  const longer = new Type(Math.max(rows, 1.06 * values.length));
  longer.set(values);
  return longer.subarray(0, rows);
}

/**
 * The index of the first number that is not below `value`, in sorted numbers.
 * @param {{length: number, at: (index: number) => number | undefined}} numbers
 * @param {number} value
 */
export function lowerBound(numbers, value) {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (Number(numbers.at(middle)) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Decodes index blocks: the columns of some rows, each value in as few bytes as its block needs.
// A block is a JSON header with its length before it, then planes of bytes, lowest byte first.

import { decodeText } from "./source.js";

/**
 * @typedef {{kind: "text" | "number" | "difference", width: number, planes: Uint8Array}} Column
 * @typedef {{rows: number, texts: string[], cells: number[], payloads: [number, number][],
 * columns: Map<string, Column>}} IndexBlock
 * @typedef {Uint8Array | Uint16Array | Int32Array} Codes
 */

const HEADER_LENGTH_BYTES = 4;

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
 * Returns an array with room for more rows, whose new values are NaN or 0. The array uses the same
 * memory if it is large enough, or else twice as much.
 * @template {Float64Array | Codes} Values
 * @param {Values} values an empty array, or an earlier result of this function
 * @param {number} rows the new number of rows
 * @param {number} [expected] the number of rows that there may soon be
 * @param {any} [Type] the type of the returned array
 * @returns {Values}
 */
export function lengthened(values, rows, expected = 0, Type = values.constructor) {
  const { byteLength } = values.buffer;
  const hasRoom = values instanceof Type && rows * Type.BYTES_PER_ELEMENT <= byteLength;
  if (hasRoom) return new Type(values.buffer, 0, rows);
  const longer = new Type(Math.max(rows, rows > expected ? 2 * values.length : expected));
  if (Type === Float64Array) longer.fill(NaN, values.length);
  longer.set(values);
  return longer.subarray(0, rows);
}

/**
 * Decodes a column of numbers into the last rows of an array. A null stays NaN.
 * @param {Float64Array} values @param {number} rows @param {Column} column
 */
export function decodeNumbers(values, rows, { kind, width, planes }) {
  const first = values.length - rows;
  for (let row = 0, before = 0; width > 0 && row < rows; row++) {
    let [stored, scale] = [0, 1];
    for (let at = row; at < width * rows; at += rows, scale *= 256) stored += planes[at] * scale;
    if (stored === 0) continue;
    // A time in nanoseconds has more than 32 bits, so bits are taken only from the lowest byte.
    const number = planes[row] & 1 ? (stored - 1) / 2 : -stored / 2;
    values[first + row] = kind === "difference" ? (before += number) : number;
  }
}

/**
 * The smallest type of array that fits both the present codes and codes of a width in bytes.
 * @param {Codes} codes @param {number} width
 */
export const typeOfCodes = ({ BYTES_PER_ELEMENT }, width) =>
  [Uint8Array, Uint8Array, Uint16Array][Math.max(BYTES_PER_ELEMENT, width)] ?? Int32Array;

/**
 * Decodes a column of texts into the last rows of an array. A code is the index of a text plus 1; 0
 * is null.
 * @param {Codes} codes @param {number} rows @param {Column} column
 */
export function decodeCodes(codes, rows, { planes }) {
  const last = codes.subarray(codes.length - rows);
  planes.forEach((byte, at) => (last[at % rows] |= byte << (8 * Math.floor(at / rows))));
}

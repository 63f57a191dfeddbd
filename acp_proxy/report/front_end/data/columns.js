// Decodes index blocks: the columns of all rows, each value in as few bytes as its block needs.
// A block is a JSON header with its length before it, then planes of bytes, lowest byte first.

/**
 * @typedef {{kind: "text" | "number" | "difference", width: number, planes: Uint8Array}} Column
 * @typedef {{rows: number, texts: string[], columns: Map<string, Column>}} IndexBlock
 */

const HEADER_LENGTH_BYTES = 4;
/** @type {Column} */
const NO_COLUMN = { kind: "number", width: 0, planes: new Uint8Array(0) };

/**
 * Reads the header of an index block; the planes stay as they are until a column is asked for.
 * @param {Uint8Array} bytes @returns {IndexBlock}
 */
export function readIndexBlock(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const start = HEADER_LENGTH_BYTES + view.getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(HEADER_LENGTH_BYTES, start)));
  const columns = new Map();
  let at = start;
  for (const [name, kind, width] of header.columns) {
    const end = at + width * header.rows;
    if (end > bytes.length) throw new Error(`column ${name} is cut off: expected ${end} bytes, got ${bytes.length}`);
    columns.set(name, { kind, width, planes: bytes.subarray(at, end) });
    at = end;
  }
  return { rows: header.rows, texts: header.texts, columns };
}

/** The numbers of one column in all rows; null is NaN. @param {IndexBlock[]} blocks @param {string} name */
export function decodeNumbers(blocks, name) {
  const values = new Float64Array(rowsOf(blocks)).fill(NaN);
  let first = 0;
  for (const { rows, columns } of blocks) {
    const { kind, width, planes } = columns.get(name) ?? NO_COLUMN;
    const isDifference = kind === "difference";
    let before = 0;
    for (let row = 0; width > 0 && row < rows; row++) {
      let stored = planes[row];
      for (let plane = 1, scale = 256; plane < width; plane++, scale *= 256) stored += planes[plane * rows + row] * scale;
      if (stored === 0) continue;
      // A time in nanoseconds has more than 32 bits, so bits are taken only from the lowest byte.
      const number = planes[row] & 1 ? (stored - 1) / 2 : -stored / 2;
      values[first + row] = isDifference ? (before += number) : number;
    }
    first += rows;
  }
  return values;
}

/**
 * The codes of one text column in all rows: the index of the text, plus one; 0 is null.
 * @param {IndexBlock[]} blocks @param {string} name
 * @returns {Uint8Array | Uint16Array | Int32Array}
 */
export function decodeCodes(blocks, name) {
  const widest = Math.max(0, ...blocks.map(({ columns }) => columns.get(name)?.width ?? 0));
  const codes = new (widest <= 1 ? Uint8Array : widest === 2 ? Uint16Array : Int32Array)(rowsOf(blocks));
  let first = 0;
  for (const { rows, columns } of blocks) {
    const { width, planes } = columns.get(name) ?? NO_COLUMN;
    for (let at = 0; at < width * rows; at++) codes[first + (at % rows)] |= planes[at] << (8 * Math.floor(at / rows));
    first += rows;
  }
  return codes;
}

/** @param {IndexBlock[]} blocks */
export const rowsOf = (blocks) => blocks.reduce((sum, { rows }) => sum + rows, 0);

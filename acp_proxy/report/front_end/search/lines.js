// Reads the lines of many rows out of the blocks of a report, one block in memory at a time.

/**
 * @typedef {(name: string) => Promise<Uint8Array>} LoadBlock returns the inflated bytes of a block
 * @typedef {object} LineBlock the lines of some rows that follow each other
 * @property {string | null} text of all of them, if a character is a byte; else null
 * @property {string | null} lower `text` in lower case, if it is ASCII
 * @property {(row: number) => [number, number]} placeOf where a line is in `text`
 * @property {(row: number) => string} line
 * @property {(row: number, from: number, size: number) => string} part of a line, by bytes
 */

export const NON_ASCII = /[^\0-\x7f]/;
const ROWS_OF_CELLS = 1024;
const UTF8 = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Yields the blocks that have some of the rows, and the range of these in `rows`.
 * @param {[number, number][]} payloads first row and number of rows of each block
 * @param {ArrayLike<number>} lengths of the lines of all rows
 * @param {ArrayLike<number>} rows sorted
 * @param {LoadBlock} load
 * @returns {AsyncGenerator<{block: LineBlock, from: number, to: number}>}
 */
export async function* lineBlocks(payloads, lengths, rows, load) {
  let from = 0;
  for (let number = 0; number < payloads.length && from < rows.length; number++) {
    const [first, count] = payloads[number];
    const pieces = [number];
    while (payloads[number + 1]?.[0] === first) pieces.push(++number);
    let to = from;
    while (to < rows.length && rows[to] < first + count) to++;
    if (to > from) {
      const loaded = [];
      for (const piece of pieces) loaded.push(await load(`p${piece}`));
      const bytes = loaded.length === 1 ? loaded[0] : new Uint8Array(await new Blob(/** @type {any} */ (loaded)).arrayBuffer());
      yield { block: lineBlock(bytes, first, count, lengths), from, to };
    }
    from = to;
  }
}

/**
 * @param {Uint8Array} bytes
 * @param {number} first
 * @param {number} count
 * @param {ArrayLike<number>} lengths
 * @returns {LineBlock}
 */
function lineBlock(bytes, first, count, lengths) {
  const starts = new Uint32Array(count + 1);
  for (let n = 0; n < count; n++) starts[n + 1] = starts[n] + lengths[first + n];
  const all = UTF8.decode(bytes);
  // A character of several bytes is fewer than these in UTF-16, so places differ.
  const text = all.length === bytes.length ? all : null;
  const between = (/** @type {number} */ start, /** @type {number} */ end) =>
    text === null ? UTF8.decode(bytes.subarray(start, end)) : text.slice(start, end);
  return {
    text,
    lower: text === null || NON_ASCII.test(text) ? null : text.toLowerCase(),
    placeOf: (row) => [starts[row - first], starts[row - first + 1]],
    line: (row) => between(starts[row - first], starts[row - first + 1]),
    part: (row, from, size) => between(starts[row - first] + from, starts[row - first] + from + size),
  };
}

/**
 * The places that have a value, in order.
 * @param {Uint8Array} marks
 * @param {number} wanted
 */
export function placesOf(marks, wanted) {
  let count = 0;
  for (let place = 0; place < marks.length; place++) if (marks[place] === wanted) count++;
  const places = new Int32Array(count);
  for (let place = 0, n = 0; n < count; place++) if (marks[place] === wanted) places[n++] = place;
  return places;
}

/**
 * Makes a function that returns the cells of a row: its preview, its id and more.
 * @param {LoadBlock} load
 * @returns {(row: number) => Promise<(string | null | undefined)[]>}
 */
export function cellReader(load) {
  let [number, cells] = [-1, /** @type {(string | null)[][]} */ ([])];
  return async (row) => {
    const wanted = Math.floor(row / ROWS_OF_CELLS);
    if (wanted !== number) {
      cells = JSON.parse(UTF8.decode(await load(`c${wanted}`)));
      number = wanted;
    }
    return cells[row - number * ROWS_OF_CELLS];
  };
}

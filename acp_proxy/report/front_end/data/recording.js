// The recording that the page shows: columns of all rows in memory, cells and lines on demand.
// A row is a frame or an event; rows are numbered from 0, and each has its own frame number, `seq`.
import { decodeCodes, decodeNumbers, readIndexBlock, rowsOf } from "./columns.js";
import { pause } from "./source.js";

/**
 * @typedef {{rule: string, action: string, made: boolean, delivered: string | null, base64: string | null, size: number}} FiredFault
 * @typedef {{text: string, rpc_id: string | null, parse_error: string | null, fired: FiredFault[]}} RowCells
 */

const CELL_ROWS = 1024;
const CELL_BLOCKS_KEPT = 48;
const PAYLOAD_BLOCKS_KEPT = 12;
export const LARGEST_LINE_BYTES = 64 * 1024 * 1024;
/** Columns that the first rows on the screen need; they are decoded at the start, one at a time. */
const FIRST_NUMBERS = ["seq", "t_ns", "turn", "run", "size", "flags", "request_seq", "response_seq", "latency_ns", "arrival_ns"];
const FIRST_CODES = ["stream", "kind", "method", "tone", "update", "session"];
/** Those that a chosen row needs; they are decoded as soon as the first rows are seen. */
const MORE_NUMBERS = ["length", "exchange", "delay_ns"];
const MORE_CODES = ["tool_call", "terminal", "fault", "delivered", "newline"];

export class Recording {
  /**
   * @param {import("./source.js").Source} source
   * @param {any} meta
   * @param {import("./columns.js").IndexBlock[]} blocks
   */
  constructor(source, meta, blocks) {
    this.source = source;
    this.meta = meta;
    this.blocks = blocks;
    this.rows = rowsOf(blocks);
    /** @type {string[]} */
    this.texts = [];
    /** @type {Map<string, number>} */
    this.codeOfText = new Map();
    for (const block of blocks) for (const text of block.texts) this.codeOfText.set(text, this.texts.push(text));
    /** @type {Map<string, Float64Array>} */
    this.decodedNumbers = new Map();
    /** @type {Map<string, Uint8Array | Uint16Array | Int32Array>} */
    this.decodedCodes = new Map();
    /** @type {BlockCache<RowCells[]>} */
    this.cellBlocks = new BlockCache(CELL_BLOCKS_KEPT);
    /** @type {BlockCache<Uint8Array>} */
    this.payloadBlocks = new BlockCache(PAYLOAD_BLOCKS_KEPT);
    /** @type {Set<(first: number, last: number) => void>} */
    this.loadListeners = new Set();
    /** @type {Map<number, [number, number]> | null} */
    this.turnRows = null;
    /** What is wrong, by the row at which it shows. @type {Map<number, string[]>} */
    this.problems = new Map();
  }

  /**
   * Reads the index of a recording without blocking the page for long.
   * @param {import("./source.js").Source} source
   */
  static async read(source) {
    const meta = JSON.parse(new TextDecoder().decode(await source.bytes("meta")));
    const blocks = [];
    for (let number = 0; number < meta.index_blocks; number++) {
      blocks.push(readIndexBlock(await source.bytes(`i${number}`)));
      await pause();
    }
    const recording = new Recording(source, meta, blocks);
    if (recording.rows !== meta.rows) throw new Error(`the index is cut off: expected ${meta.rows} rows, got ${recording.rows}`);
    await recording.decode(FIRST_NUMBERS, FIRST_CODES);
    recording.problems = problemsOf(recording);
    return recording;
  }

  /** Decodes what is needed as soon as a row is chosen, so that nobody waits for it then. */
  async decodeRest() {
    await this.decode(MORE_NUMBERS, MORE_CODES);
    this.rowsOfTurn(0);
  }

  /** @param {string[]} numbers @param {string[]} codes */
  async decode(numbers, codes) {
    for (const name of numbers) {
      this.numbers(name);
      await pause();
    }
    for (const name of codes) {
      this.codes(name);
      await pause();
    }
  }

  /**
   * The values of a column of numbers, by row; null is NaN. `run` is the row that begins the run of
   * chunks to which a row belongs.
   * @param {string} name
   * @returns {Float64Array}
   */
  numbers(name) {
    let values = this.decodedNumbers.get(name);
    if (values === undefined) {
      values = decodeNumbers(this.blocks, name);
      this.decodedNumbers.set(name, values);
      // In the file it is the difference to the row itself.
      if (name === "run") for (let row = 0; row < values.length; row++) values[row] += row;
    }
    return values;
  }

  /** The codes of a column of texts, by row; 0 is null. @param {string} name */
  codes(name) {
    let codes = this.decodedCodes.get(name);
    if (codes === undefined) {
      codes = decodeCodes(this.blocks, name);
      this.decodedCodes.set(name, codes);
    }
    return codes;
  }

  /** @param {string} name @param {number} row @returns {string | null} */
  text(name, row) {
    const code = this.codes(name)[row];
    return code > 0 ? this.texts[code - 1] : null;
  }

  /** The code of a text in every text column; 0 if it occurs in none. @param {string} text */
  code(text) {
    return this.codeOfText.get(text) ?? 0;
  }

  /** The row of a frame number, or -1. @param {number} seq */
  rowOf(seq) {
    const seqs = this.numbers("seq");
    const row = lowerBound(seqs, seq);
    return seqs[row] === seq ? row : -1;
  }

  /** The row of the first frame number that is not below `seq`, or the last row. @param {number} seq */
  nearest(seq) {
    return Math.min(lowerBound(this.numbers("seq"), seq), this.rows - 1);
  }

  /** The first row that is not before a time; `rows` if there is none. @param {number} tNs */
  rowAt(tNs) {
    return lowerBound(this.numbers("t_ns"), tNs);
  }

  /** The row of the answer to a request, or of the request of an answer; -1 if there is none. @param {number} row */
  pair(row) {
    const column = this.text("kind", row) === "request" ? "response_seq" : "request_seq";
    const seq = this.numbers(column)[row];
    const found = Number.isNaN(seq) ? -1 : this.rowOf(seq);
    return found === row ? -1 : found;
  }

  /**
   * All rows about a tool call, in their order.
   * @param {string} call
   * @param {string | null} [session] of any session without one
   */
  rowsOfCall(call, session = null) {
    const calls = this.codes("tool_call");
    const sessions = this.codes("session");
    const wanted = this.code(call);
    const wantedSession = session === null ? 0 : this.code(session);
    const rows = [];
    for (let row = 0; wanted > 0 && row < this.rows; row++) {
      if (calls[row] === wanted && (session === null || sessions[row] === wantedSession)) rows.push(row);
    }
    return rows;
  }

  /** The first and the last row of a turn, or null. @param {number} turn @returns {[number, number] | null} */
  rowsOfTurn(turn) {
    if (this.turnRows === null) {
      this.turnRows = new Map();
      const turns = this.numbers("turn");
      for (let row = 0; row < this.rows; row++) {
        if (Number.isNaN(turns[row])) continue;
        const found = this.turnRows.get(turns[row]);
        if (found) found[1] = row;
        else this.turnRows.set(turns[row], [row, row]);
      }
    }
    return this.turnRows.get(turn) ?? null;
  }

  /**
   * What a row needs beside its columns: its preview, its id, what faults did to it.
   * @param {number} row
   * @returns {Promise<RowCells>}
   */
  async cells(row) {
    const block = Math.floor(row / CELL_ROWS);
    const cells = await this.cellBlocks.get(`c${block}`, (name) => this.readCells(name, block));
    return cells[row - block * CELL_ROWS];
  }

  /**
   * The cells of a row if they are in memory. Else null, and they are loaded; see `onLoaded`.
   * @param {number} row
   * @returns {RowCells | null}
   */
  cellsNow(row) {
    const block = Math.floor(row / CELL_ROWS);
    const cells = this.cellBlocks.now(`c${block}`);
    if (cells) return cells[row - block * CELL_ROWS];
    this.cells(row).catch(() => undefined);
    return null;
  }

  /**
   * Calls a function with the first and the last row whenever cells were loaded.
   * @param {(first: number, last: number) => void} listener
   * @returns {() => void} stops it
   */
  onLoaded(listener) {
    this.loadListeners.add(listener);
    return () => this.loadListeners.delete(listener);
  }

  /** Whether the lines themselves are in the page. */
  get hasPayloads() {
    return this.meta.payloads !== null;
  }

  /**
   * The whole line of a frame without its newline, or the data of an event as JSON.
   * @param {number} row
   * @returns {Promise<Uint8Array>}
   */
  async line(row) {
    const length = this.lineLength(row);
    if (length > LARGEST_LINE_BYTES) throw new Error(`a line of ${length} bytes is too large to be shown whole`);
    const pieces = [];
    for await (const piece of this.pieces(row)) pieces.push(piece);
    return pieces.length === 1 ? pieces[0] : joined(pieces);
  }

  /**
   * The bytes of a line, a piece at a time; lines up to 1 MiB are one piece.
   * @param {number} row
   * @returns {AsyncGenerator<Uint8Array>}
   */
  async *pieces(row) {
    if (!this.hasPayloads) throw new Error("this report was made without payloads");
    /** @type {[number, number][]} */
    const payloads = this.meta.payloads;
    let block = firstBlockOf(payloads, row);
    const [first, rows] = payloads[block];
    if (rows > 1) {
      const bytes = await this.payloadBlocks.get(`p${block}`, (name) => this.source.bytes(name));
      const start = this.bytesBetween(first, row);
      yield bytes.subarray(start, start + this.lineLength(row));
      return;
    }
    for (; block < payloads.length && payloads[block][0] === first; block++) yield this.source.bytes(`p${block}`);
  }

  /**
   * All members of a frame as `inspect log --json` names them, without what its line says.
   * @param {number} row
   * @returns {Promise<Record<string, string | number | null>>}
   */
  async frame(row) {
    const cells = await this.cells(row);
    const number = (/** @type {string} */ name) => nullIfNaN(this.numbers(name)[row]);
    const text = (/** @type {string} */ name) => this.text(name, row);
    const [seq, t_ns] = [number("seq"), number("t_ns")];
    if (text("stream") === "event") return { seq, t_ns, event: text("kind") };
    return {
      seq, t_ns, t_first_ns: this.firstByteAt(row), stream: text("stream"), kind: text("kind"), method: text("method"),
      rpc_id: cells.rpc_id, exchange: number("exchange"), session: text("session"), turn: number("turn"),
      tool_call: text("tool_call"), terminal: text("terminal"), size: number("size"), newline: text("newline"),
      delivered: text("delivered"), parse_error: cells.parse_error, fault: text("fault"),
    };
  }

  /** When the first byte of a frame was read, or an event happened. @param {number} row */
  firstByteAt(row) {
    return this.numbers("t_ns")[row] - (this.numbers("arrival_ns")[row] || 0);
  }

  /** @param {number} row */
  lineLength(row) {
    return this.numbers("length")[row] || 0;
  }

  /** @param {number} first @param {number} end */
  bytesBetween(first, end) {
    let sum = 0;
    for (let row = first; row < end; row++) sum += this.lineLength(row);
    return sum;
  }

  /** @param {string} name @param {number} block @returns {Promise<RowCells[]>} */
  async readCells(name, block) {
    const lists = JSON.parse(new TextDecoder().decode(await this.source.bytes(name)));
    const cells = lists.map(toCells);
    const first = block * CELL_ROWS;
    // After this promise has settled, so that `cellsNow` finds them.
    setTimeout(() => this.loadListeners.forEach((listener) => listener(first, first + cells.length - 1)));
    return cells;
  }
}

/** Keeps the blocks that were used last, and reads none twice at a time. @template T */
export class BlockCache {
  /** @param {number} most */
  constructor(most) {
    this.most = most;
    /** @type {Map<string, {value: T | undefined, promise: Promise<T>}>} */
    this.entries = new Map();
  }

  /** @param {string} name @param {(name: string) => Promise<T>} read @returns {Promise<T>} */
  get(name, read) {
    const found = this.entries.get(name);
    if (found) {
      this.use(name, found);
      return found.promise;
    }
    const entry = { value: /** @type {T | undefined} */ (undefined), promise: read(name) };
    entry.promise.then(
      (value) => (entry.value = value),
      () => this.entries.delete(name),
    );
    this.use(name, entry);
    return entry.promise;
  }

  /** The block if it is there already. @param {string} name @returns {T | undefined} */
  now(name) {
    const found = this.entries.get(name);
    if (found) this.use(name, found);
    return found?.value;
  }

  /** @param {string} name @param {{value: T | undefined, promise: Promise<T>}} entry */
  use(name, entry) {
    this.entries.delete(name);
    this.entries.set(name, entry);
    for (const oldest of this.entries.keys()) {
      if (this.entries.size <= this.most) break;
      this.entries.delete(oldest);
    }
  }
}

/**
 * The first place in sorted numbers whose value is not below `value`.
 * @param {ArrayLike<number>} numbers
 * @param {number} value
 */
export function lowerBound(numbers, value) {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (numbers[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The first payload block that holds bytes of a row.
 * @param {[number, number][]} payloads first row and number of rows of each block
 * @param {number} row
 */
export function firstBlockOf(payloads, row) {
  let [low, high] = [0, payloads.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (payloads[middle][0] + payloads[middle][1] <= row) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The rows at which something is wrong, and the sentences about each.
 * @param {Recording} recording
 * @returns {Map<number, string[]>}
 */
function problemsOf(recording) {
  /** @type {Map<number, string[]>} */
  const problems = new Map();
  const add = (/** @type {number} */ seq, /** @type {string} */ text) => {
    const row = recording.rowOf(seq);
    if (row >= 0) problems.set(row, [...(problems.get(row) ?? []), text]);
  };
  for (const { severity, seqs, text } of recording.meta.summary?.problems ?? []) {
    if (severity === "problem" && seqs.length > 0) add(seqs[0], text);
  }
  for (const { seq, text, severity } of recording.meta.check?.findings ?? []) {
    if (severity !== "info") add(seq, text);
  }
  return new Map([...problems].sort(([a], [b]) => a - b));
}

/** @param {[string, (string | null)?, (string | null)?, (FiredFault[] | null)?]} list @returns {RowCells} */
function toCells([text, rpcId, parseError, fired]) {
  return { text: text ?? "", rpc_id: rpcId ?? null, parse_error: parseError ?? null, fired: fired ?? [] };
}

/** @param {Uint8Array[]} pieces */
function joined(pieces) {
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/** @param {number} value */
function nullIfNaN(value) {
  return Number.isNaN(value) ? null : value;
}

// The recording that the page shows: columns of all rows in memory, cells and lines on demand.
// A row is a frame or an event; rows are numbered from 0, and each has its own frame number, `seq`.
import { Entries } from "../conversation/entries.js";
import { BlockCache, rowsWith } from "./values.js";
import { Column, decoded, lowerBound, readIndexBlock } from "./columns.js";
import { joinedBytes, pause, readJson } from "./source.js";
import { setTimeStep, visibleText } from "../shell/dom.js";

/**
 * @typedef {{rule: string, action: string, made: boolean, delivered: string | null, base64: string
 * | null, size: number}} FiredFault
 * @typedef {{text: string, rpc_id: string | null, parse_error: string | null, fired: FiredFault[]}}
 * RowCells
 * @typedef {import("./source.js").Source} Source
 * @typedef {{rule: string, text: string, severity: "problem" | "error" | "warning"}} Problem
 * @typedef {{before: number, ns: number, awaited: string, debt: number, isNow: boolean}} Pause a
 * time in which the conversation stood still, as `log` marks it: the frame before it, who was
 * waited for, the `debt` as in `Gap` of time_axis.js, and whether it still lasts
 */

/** The members of a frame in JSON that are columns. */
const MEMBERS = [
  "seq", "t_ns", "stream", "kind", "method", "exchange", "session", "turn", "tool_call", "terminal",
  "size", "newline", "delivered", "fault",
];

export class Recording {
  /** @param {Source} source @param {any} meta which `update` replaces by a newer one */
  constructor(source, meta) {
    this.source = source;
    this.meta = meta;
    /**
     * The facts with which `entries` came; another object when the entries have to be read again.
     * @type {any}
     */
    this.edition = meta;
    this.rows = 0;
    /** @type {string[]} */
    this.texts = [];
    /** @type {Map<string, number>} */
    this.codeOfText = new Map();
    /** The columns of numbers, by their names. @type {Map<string, Column>} */
    this.decodedNumbers = new Map();
    /** The columns of texts. @type {Map<string, Column>} */
    this.decodedCodes = new Map();
    /** The first row of each block of cells. @type {number[]} */
    this.cellRows = [];
    /** The first row of each payload block; the same for all pieces of a line. @type {number[]} */
    this.payloadRows = [];
    this.cellBlocks = new BlockCache(48, (name) => this.readCells(name));
    /** The entries of the conversation, which describe the frames. */
    this.entries = new Entries(this);
    this.payloadBlocks = new BlockCache(12, (name) => source.bytes(name));
    /** A function that is called whenever cells were read. */
    this.onLoaded = () => {};
    this.cellBlocks.onRead = () => this.onLoaded();
    /**
     * A function that is called when there are more rows, with the earlier rows that have changed.
     * @type {(changed: number[]) => void}
     */
    this.onGrown = () => {};
    /**
     * Earlier rows whose values have changed since the last `update`, because of later rows.
     * @type {Set<number>}
     */
    this.changed = new Set();
    /** The problems, by the row at which each is shown. @type {Map<number, Problem[]>} */
    this.problems = new Map();
    /**
     * The pauses. The key of a pause is the row that ended the pause; without such a row, the
     * number of rows.
     * @type {Map<number, Pause>}
     */
    this.pauses = new Map();
  }

  /** Reads the index of a recording without blocking the page for long. @param {Source} source */
  static async read(source) {
    const meta = await readJson(source, "meta");
    const recording = new Recording(source, meta);
    for (let number = 0; number < meta.index_blocks; number++) {
      recording.append(await source.bytes(`i${number}`));
      await pause();
    }
    recording.update(meta);
    return recording;
  }

  /**
   * Adds the next rows. The page shows these rows after the next `update`.
   * @param {Uint8Array} bytes an index block
   */
  append(bytes) {
    const { rows, texts, columns, cells, payloads } = readIndexBlock(bytes);
    const first = this.rows;
    this.rows += rows;
    for (const text of texts) this.codeOfText.set(text, this.texts.push(text));
    for (const [name, planes] of columns) {
      const column = planes.kind === "text" ? this.codes(name, first) : this.numbers(name, first);
      const values = decoded(rows, planes, column.empty);
      if (name === "run") this.beginRuns(values, first);
      // If times are not known, the number of the row takes the place of its time.
      const isTimeless = name === "t_ns" && this.meta.has_times === false;
      column.append(isTimeless ? values.map((_, at) => first + at) : values);
    }
    // The last blocks may go on in these rows.
    this.cellBlocks.expire(`c${this.cellRows.length - 1}`);
    this.payloadBlocks.expire(`p${this.payloadRows.length - 1}`);
    this.cellRows.push(...cells);
    this.payloadRows.push(...payloads.map(([row]) => row));
    const [seqs, requests] = this.columns("seq", "request_seq");
    const [answers, took] = this.columns("response_seq", "latency_ns");
    for (let row = first; row < this.rows; row++) {
      const seq = answers.at(row);
      if (seq !== seqs.at(row)) continue;
      const [session, terminal] = ["session", "terminal"].map((name) => this.text(name, row));
      const [request_seq, latency_ns] = [requests.at(row), took.at(row)];
      this.pairAnswer({ seq, request_seq, response_seq: seq, latency_ns, session, terminal });
    }
    this.pack();
  }

  /** Saves memory after changes of columns. */
  pack() {
    for (const columns of [this.decodedNumbers, this.decodedCodes]) {
      columns.forEach((column) => column.pack());
    }
  }

  /**
   * Replaces the distance to the first row of a run by that row, also in this row itself.
   * @param {Float64Array} runs of the next rows @param {number} first the first of them
   */
  beginRuns(runs, first) {
    const earlier = this.numbers("run", first);
    runs.forEach((distance, at) => {
      const begin = (runs[at] = distance + first + at);
      if (!(begin < first + at) || (runs[begin - first] ?? earlier.at(begin)) === begin) return;
      if (begin < first) earlier.set(begin, begin);
      else runs[begin - first] = begin;
      this.changed.add(begin);
    });
  }

  /**
   * Replaces the facts about the whole recording, and reports that there are more rows.
   * @param {any} meta @param {any} [edition] the earlier one if the entries are still the same
   */
  update(meta, edition = meta) {
    // Turns that were open may have changed, with facts about them such as their pauses.
    for (const { prompt_seq, end_seq } of this.meta.summary?.turns ?? []) {
      if (end_seq === null) this.changed.add(this.nearest(prompt_seq));
    }
    [this.meta, this.edition] = [meta, edition];
    const counts = `expected ${meta.rows} rows, got ${this.rows}`;
    if (this.rows !== meta.rows) throw new Error(`the index is cut off: ${counts}`);
    setTimeStep(meta.has_times === false ? NaN : meta.step_ns ?? 0);
    Object.values(meta.members ?? {}).flat().forEach((member) => this.pairAnswer(member));
    this.pack();
    const known = this.problems;
    this.problems = new Map();
    for (const problem of [...(meta.summary?.problems ?? [])].sort((a, b) => a.seq - b.seq)) {
      const row = problem.severity === "info" ? -1 : this.rowOf(problem.seq);
      if (row >= 0) this.problems.set(row, [...(this.problems.get(row) ?? []), problem]);
    }
    for (const [row, { length }] of this.problems) {
      if (known.get(row)?.length !== length) this.changed.add(row);
    }
    this.pauses.clear();
    for (const [before, after, ns, awaited, isEndless] of meta.pauses ?? []) {
      const row = after === null ? this.rows : this.rowOf(after);
      // Only the window has a clock for it; a report of a running chat shows how long it was.
      const isNow = after === null && meta.summary.live && meta.partial !== undefined;
      if (row >= 0) this.pauses.set(row, { before, ns, awaited, debt: isEndless ? 2 : 1, isNow });
    }
    this.tellGrown();
  }

  /**
   * Shows the rows that were appended, without newer facts about the whole recording.
   * @param {any} [counts] members of `meta` that describe the rows
   */
  extend(counts = {}) {
    // The pause that nothing had ended.
    this.pauses.delete(this.meta.rows);
    Object.assign(this.meta, counts, { rows: this.rows });
    this.tellGrown();
  }

  tellGrown() {
    this.onGrown([...this.changed]);
    this.changed.clear();
  }

  /**
   * Sets the columns of a request that depend on its answer. The answer may be in a later block.
   * @param {any} message an answer with its columns, or another message of a batch
   */
  pairAnswer({ seq, request_seq, response_seq, latency_ns, session, terminal }) {
    const row = seq === response_seq ? this.rowOf(request_seq) : -1;
    const answers = this.numbers("response_seq");
    if (row < 0 || this.text("kind", row) !== "request" || answers.at(row) === seq) return;
    answers.set(row, seq);
    this.numbers("latency_ns").set(row, latency_ns ?? NaN);
    const made = this.text("method", row) === "terminal/create" ? terminal : null;
    for (const [name, text] of [["answer_session", session], ["answer_terminal", made]]) {
      this.codes(name).set(row, this.code(text ?? ""));
    }
    this.changed.add(row);
  }

  /**
   * A column of numbers; null is NaN. In the column `run`, the value is the first row of the run of
   * chunks that contains a row.
   * @param {string} name @param {number} [rows] how many are needed
   */
  numbers = (name, rows) => this.column(this.decodedNumbers, name, NaN, rows);

  /** Columns of numbers; see `numbers`. @param {...string} names */
  columns = (...names) => names.map((name) => this.numbers(name));

  /**
   * The codes of a column of texts; 0 is null.
   * @param {string} name @param {number} [rows] how many are needed
   */
  codes = (name, rows) => this.column(this.decodedCodes, name, 0, rows);

  /**
   * @param {Map<string, Column>} known @param {string} name
   * @param {number} empty @param {number} rows
   */
  column(known, name, empty, rows = this.rows) {
    const column = known.get(name) ?? new Column(empty);
    known.set(name, column);
    column.pad(rows);
    return column;
  }

  /** @param {string} name @param {number} row @returns {string | null} */
  text = (name, row) => this.texts[this.codes(name).at(row) - 1] ?? null;

  /**
   * The code of a text, which is the same in every column; 0 if no column has this text.
   * @param {string} text
   */
  code = (text) => this.codeOfText.get(text) ?? 0;

  /**
   * The steps of all turns. The frame of a tool call is the call's first frame.
   * @returns {any[]}
   */
  get steps() { return this.meta.waterfalls.flatMap((/** @type {any} */ one) => one.steps); }

  /** The row of a frame number, or -1. @param {number} seq */
  rowOf(seq) {
    const seqs = this.numbers("seq");
    const row = lowerBound(seqs, seq);
    return seqs.at(row) === seq ? row : -1;
  }

  /**
   * The row of the first frame number that is not below `seq`, or the last row.
   * @param {number} seq
   */
  nearest = (seq) => Math.min(lowerBound(this.numbers("seq"), seq), this.rows - 1);

  /** The first row at or after a time; `rows` if all rows are earlier. @param {number} tNs */
  rowAt = (tNs) => lowerBound(this.numbers("t_ns"), tNs);

  /**
   * The row of the answer to a request, or of the request of an answer; -1 if there is none.
   * @param {number} row
   */
  pair(row) {
    const column = this.text("kind", row) === "request" ? "response_seq" : "request_seq";
    const found = this.rowOf(this.numbers(column).at(row));
    return found === row ? -1 : found;
  }

  /**
   * The first and the last row of a turn, or null.
   * @param {number} turn @returns {[number, number] | null}
   */
  rowsOfTurn(turn) {
    const turns = this.numbers("turn");
    const first = turns.indexOf(turn);
    let last = turns.length - 1;
    while (last > first && turns.at(last) !== turn) last--;
    return first < 0 ? null : [first, last];
  }

  /**
   * The rows that have the same number as a given row in a column; none if this row has no number.
   * @param {string} name @param {number} row
   */
  rowsAlike = (name, row) => rowsWith(this.numbers(name), this.numbers(name).at(row));

  /**
   * The cells of a row, which are not in columns: its preview, its id, and the effects of faults.
   * @param {number} row @returns {Promise<RowCells>}
   */
  cells = async (row) => (await this.cellBlocks.get(this.cellBlock(row)))[row];

  /**
   * The cells of a row if they are in memory. Otherwise null, and loads the cells; see `onLoaded`.
   * @param {number} row @returns {RowCells | null}
   */
  cellsNow = (row) =>
    this.cellBlocks.now(this.cellBlock(row), (cells) => row in cells)?.[row] ?? null;

  /** The block that has the cells of a row. @param {number} row */
  cellBlock = (row) => `c${lowerBound(this.cellRows, row + 1) - 1}`;

  /** Whether answers may still come, or may be missing in the imported log. */
  get isOpen() { return Boolean(this.meta.is_open || this.meta.summary?.live); }

  /** The words for a request without an answer. */
  get unanswered() { return this.isOpen ? "open" : "never answered"; }

  /**
   * The method or kind of a row, with a sign for an answer, such as "fs/read_text_file ✓".
   * @param {number} row
   */
  verb(row) {
    const [kind, update, method] = ["kind", "update", "method"].map((name) => this.text(name, row));
    const sign = kind === "response" ? " ✓" : kind === "error" ? " ✗" : "";
    return visibleText(update ?? method ?? (kind === "blank" ? "" : kind ?? "")) + sign;
  }

  /** The frame number of the last row; 0 without rows. */
  get lastSeq() { return this.numbers("seq").at(this.rows - 1) || 0; }

  /** Whether the page contains the lines of the frames. */
  get hasPayloads() { return this.meta.payloads; }

  /**
   * The whole line of a frame without its newline, or the data of an event as JSON.
   * @param {number} row
   */
  async line(row) {
    const length = this.lineLength(row);
    if (length > 64 * 1024 * 1024) throw new Error(`a line of ${length} bytes is too large`);
    const pieces = [];
    for await (const piece of this.pieces(row)) pieces.push(piece);
    return joinedBytes(pieces);
  }

  /**
   * The bytes of a line, a piece at a time; lines up to 1 MiB are one piece.
   * @param {number} row @returns {AsyncGenerator<Uint8Array>}
   */
  async *pieces(row) {
    if (!this.hasPayloads) throw new Error("this report was made without payloads");
    const { first, names } = this.blocksOf(row);
    if (names.length > 1) {
      for (const name of names) yield this.source.bytes(name);
      return;
    }
    const bytes = await this.payloadBlocks.get(names[0]);
    let start = 0;
    for (let before = first; before < row; before++) start += this.lineLength(before);
    yield bytes.subarray(start, start + this.lineLength(row));
  }

  /**
   * The block with the line of a row: the lines of the rows from `first` to the row before `end`.
   * @param {number} row
   */
  async block(row) {
    const { first, end, names } = this.blocksOf(row);
    const pieces = await Promise.all(names.map((name) => this.source.bytes(name)));
    return { first, end, bytes: await joinedBytes(pieces) };
  }

  /**
   * The names of the blocks with the line of a row, and the rows of these blocks: from `first` to
   * the row before `end`.
   * @param {number} row
   */
  blocksOf(row) {
    const first = this.payloadRows[lowerBound(this.payloadRows, row + 1) - 1];
    const block = lowerBound(this.payloadRows, first);
    const names = [`p${block}`];
    while (this.payloadRows[block + names.length] === first) names.push(`p${block + names.length}`);
    return { first, end: this.payloadRows[block + names.length] ?? this.rows, names };
  }

  /**
   * All members of a frame as in `log --json`, except its line.
   * @param {number} row @returns {Promise<Record<string, string | number | null>>}
   */
  async frame(row) {
    const { rpc_id, parse_error } = await this.cells(row);
    const members = MEMBERS.map((name) => {
      const value = this.decodedCodes.has(name) ? this.text(name, row) : this.numbers(name).at(row);
      return [name, Number.isNaN(value) ? null : value];
    });
    const { seq, t_ns, stream, kind, ...others } = Object.fromEntries(members);
    if (stream === "event") return { seq, t_ns, event: kind };
    const t_first_ns = t_ns - (this.numbers("arrival_ns").at(row) || 0);
    return { seq, t_ns, t_first_ns, stream, kind, ...others, rpc_id, parse_error };
  }

  /** @param {number} row */
  lineLength = (row) => this.numbers("length").at(row) || 0;

  /**
   * The cells of a block, by row.
   * @param {string} name @returns {Promise<Record<number, RowCells>>}
   */
  async readCells(name) {
    const first = this.cellRows[Number(name.slice(1))];
    /** @type {any[][]} */
    const lists = await readJson(this.source, name);
    const cells = lists.map(([text = "", rpc_id = null, parse_error = null, fired], at) =>
      [first + at, { text, rpc_id, parse_error, fired: fired ?? [] }]);
    return Object.fromEntries(cells);
  }
}

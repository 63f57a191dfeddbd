// The entries of the conversation, as `transcript` makes them. An index of all entries is in
// memory; the entries are read on demand. All views take the words and the state of a frame from
// its entry.
import { BlockCache, rowsWith } from "../data/values.js";
import { pause, readJson } from "../data/source.js";

/**
 * @typedef {import("../data/recording.js").Recording} Recording
 * @typedef {object} EntryBlock
 * @property {"text" | "json" | "diff" | "note"} form
 * @property {string} label
 * @property {{start: string}} text the whole text in `start`
 * @property {number} [image]
 * @typedef {{name: string, detail: string, state: string}} EntryChoice
 * @typedef {object} Entry a section or an entry, with the members of docs/json.md
 * @property {string} [kind] not there for a section
 * @property {number} seq
 * @property {number} last_seq
 * @property {number | null} t_ns
 * @property {string} title
 * @property {string} state
 * @property {string} id of a call or a terminal
 * @property {boolean} is_failed
 * @property {number | null} took_ns
 * @property {string | null} session
 * @property {string} by
 * @property {string} detail
 * @property {string[]} remarks
 * @property {EntryChoice[]} choices
 * @property {EntryBlock[]} blocks
 * @property {number | null} turn of a section
 * @property {number | null} loaded_by of a section: the request whose history it is
 * @property {"" | "begins" | "continued"} heading of a section: whether the session is named
 */

export const BLOCK_ENTRIES = 256;
export const SECTION = "section";
/** Kinds of entries that are only about a request and its answer. */
const PAIRS = new Set(["prompt", "permission", "request", "end"]);

export class Entries {
  /** @type {number[]} */
  seqs = [];
  /** @type {(number | null)[]} */
  lastSeqs = [];
  /** @type {string[]} */
  kinds = [];
  /** The entry that shows each row; -1 for rows that no entry shows. */
  ofRows = new Int32Array(0);
  /** The first entry that is new or has changed since `read`. */
  first = Infinity;
  /** Whether an index was taken. */
  isTaken = false;
  /** The first entry that is new or has changed since the conversation was drawn. */
  undrawn = 0;
  reading = Promise.resolve();
  /**
   * The place from which `placedRows` goes on when entries from `first` on have changed: a row, and
   * for the rows before it, the last entry of each call, each terminal, and each kind of update of
   * a session. All entries of these rows are before `first`.
   * @type {{row: number, first: number, latest: Map<string | number, number>}}
   */
  placed = { row: 0, first: 0, latest: new Map() };

  /** @param {Recording} recording */
  constructor(recording) {
    this.recording = recording;
    /** The recording's `edition` when `ready` was last called; null before. */
    this.known = null;
    /** @type {BlockCache<Entry[]>} */
    this.blocks = new BlockCache(32, (name) => readJson(recording.source, name));
  }

  /** Resolves when the entries of all present rows are known. */
  ready() {
    const { edition } = this.recording;
    if (edition !== this.known) this.reading = this.reading.then(() => this.read());
    this.known = edition;
    return this.reading;
  }

  /**
   * Takes an index: of all entries, or from the first one that is new or has changed.
   * @param {{first: number, seq: number[], last_seq: number[], kind: string[]}} index
   */
  take({ first, seq, last_seq, kind }) {
    this.seqs = this.seqs.slice(0, first).concat(seq);
    this.lastSeqs = this.lastSeqs.slice(0, first).concat(last_seq);
    this.kinds = this.kinds.slice(0, first).concat(kind);
    this.first = Math.min(this.first, first);
    this.isTaken = true;
    this.undrawn = Math.min(this.undrawn, first);
  }

  /** Places the entries that are new or have changed. Reads the index if none was ever taken. */
  async read() {
    if (!this.isTaken) this.take(await readJson(this.recording.source, "entries"));
    const first = Math.min(this.first, this.kinds.length);
    this.first = Infinity;
    const stale = Math.floor(first / BLOCK_ENTRIES);
    const names = [...this.blocks.entries.keys()];
    const changed = names.filter((name) => Number(name.slice(1)) >= stale);
    changed.forEach(this.blocks.expire);
    await Promise.all(changed.map((name) => this.blocks.get(name)));
    this.ofRows = await this.placedRows(first);
  }

  /** The rows that an entry shows. @param {number} item */
  rowsOf = (item) => rowsWith(this.ofRows, item);

  /** An entry if it is in memory; otherwise null, and the entry is loaded. @param {number} item */
  now = (item) => this.blocks.now(blockOf(item))?.[item % BLOCK_ENTRIES] ?? null;

  /**
   * The last entry that shows any of the given rows: an entry of the given kind, or else of any
   * kind. Null if no entry shows these rows.
   * @param {number[]} rows @param {string} [kind]
   */
  async about(rows, kind = "") {
    await this.ready();
    const items = rows.map((row) => this.ofRows[row]).filter((item) => item >= 0);
    return this.get(items.findLast((one) => this.kinds[one] === kind) ?? items.at(-1) ?? -1);
  }

  /** Reads an entry; null for -1. @param {number} item */
  get = async (item) =>
    item < 0 ? null : (await this.blocks.get(blockOf(item)))[item % BLOCK_ENTRIES];

  /** @param {number} first the first entry that is new or has changed */
  async placedRows(first) {
    const { recording, seqs, lastSeqs, kinds } = this;
    // Entries are not sorted by their rows.
    const least = seqs.slice(first).reduce((one, seq) => Math.min(one, seq), Infinity);
    const changed = Math.min(recording.nearest(least), this.ofRows.length);
    const goesOn = this.placed.row <= changed && this.placed.first <= first;
    const start = goesOn ? this.placed : { row: 0, latest: new Map() };
    const found = new Int32Array(recording.rows).fill(-1, start.row);
    found.set(this.ofRows.subarray(0, start.row));
    for (let item = seqs.length - 1; item >= 0; item--) {
      // A report of some frames may have an answer without its request.
      const ends = kinds[item] === SECTION ? [] : [seqs[item], lastSeqs[item] ?? -1];
      const row = ends.map((seq) => recording.rowOf(seq)).find((one) => one >= 0) ?? -1;
      // The end of a turn that never ended has the number of its prompt.
      if (row >= start.row && (found[row] < 0 || kinds[item] !== "end")) found[row] = item;
    }
    const [seq, asked, call, run] = recording.columns("seq", "request_seq", "call", "run");
    const names = ["stream", "update", "session", "terminal", "answer_terminal"];
    const [stream, update, session, terminal, answered] = names.map((one) => recording.codes(one));
    const latest = new Map(start.latest);
    for (let row = start.row; row < found.length; row++) {
      if (row % 16_384 === 0) await pause();
      if (row === changed) this.placed = { row, first, latest: new Map(latest) };
      const about = terminal.at(row) || answered.at(row) || `${stream.at(row)} ${update.at(row)}`;
      const key = call.at(row) >= 0 ? call.at(row) : `${about} ${session.at(row)}`;
      if (found[row] >= 0) {
        if (!PAIRS.has(kinds[found[row]])) latest.set(key, found[row]);
        continue;
      }
      const isAnswer = asked.at(row) < seq.at(row);
      const begin = run.at(row);
      const before = begin < row ? begin : isAnswer ? recording.rowOf(asked.at(row)) : -1;
      const item = before >= 0 ? found[before] : (latest.get(key) ?? -1);
      if (seq.at(row) <= (lastSeqs[item] ?? -1)) found[row] = item;
    }
    return found;
  }
}

/** The name of the block that has an entry. @param {number} item */
const blockOf = (item) => `e${Math.floor(item / BLOCK_ENTRIES)}`;

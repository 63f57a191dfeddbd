// The entries of the conversation as `transcript` makes them: an index of all is in memory, and
// entries are read on demand.
import { BlockCache } from "../data/recording.js";
import { pause, readJson } from "../data/source.js";

/**
 * @typedef {import("../data/recording.js").Recording} Recording
 * @typedef {object} EntryBlock
 * @property {"text" | "json" | "diff" | "note"} form
 * @property {string} label
 * @property {{start: string, end: string, characters: number}} text
 * @property {number} [image]
 * @typedef {{name: string, detail: string, state: string}} EntryChoice
 * @typedef {object} Entry a section or an entry, with the members of docs/json.md
 * @property {string} [kind] not there for a section
 * @property {number} seq
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
 * @property {"" | "begins" | "continued"} heading of a section: whether the session is named
 */

export const BLOCK_ENTRIES = 256;
const BLOCKS_KEPT = 32;
const ROWS_AT_ONCE = 65_536;
export const SECTION = "section";
/** Entries about a request and its answer alone. */
const PAIRS = new Set(["prompt", "permission", "request", "end"]);

export class Entries {
  /** @type {number[]} */
  seqs = [];
  /** @type {(number | null)[]} */
  lastSeqs = [];
  /** @type {string[]} */
  kinds = [];

  /** @param {Recording} recording */
  constructor(recording) {
    this.recording = recording;
    /** @type {BlockCache<Entry[]>} */
    this.blocks = new BlockCache(BLOCKS_KEPT, (name) => readJson(recording.source, name));
  }

  /** Reads the index from the first entry on that is new or has changed. */
  async read() {
    const { first, seq, last_seq, kind } = await readJson(this.recording.source, "entries");
    this.seqs = this.seqs.slice(0, first).concat(seq);
    this.lastSeqs = this.lastSeqs.slice(0, first).concat(last_seq);
    this.kinds = this.kinds.slice(0, first).concat(kind);
    const stale = Math.floor(first / BLOCK_ENTRIES);
    const { entries } = this.blocks;
    for (const name of entries.keys()) if (Number(name.slice(1)) >= stale) entries.delete(name);
  }

  /** The entry if it is in memory. Else null, and it is loaded. @param {number} item */
  now(item) {
    const block = this.blocks.now(`e${Math.floor(item / BLOCK_ENTRIES)}`);
    return block?.[item % BLOCK_ENTRIES] ?? null;
  }

  /** The entry that shows each row; -1 for rows that none shows. */
  async ofRows() {
    const { recording, seqs, lastSeqs, kinds } = this;
    const found = new Int32Array(recording.rows).fill(-1);
    for (let item = seqs.length - 1; item >= 0; item--) {
      const row = kinds[item] === SECTION ? -1 : recording.rowOf(seqs[item]);
      // The end of a turn that never ended has the number of its prompt.
      if (row >= 0 && (found[row] < 0 || kinds[item] !== "end")) found[row] = item;
    }
    const numbers = ["seq", "request_seq", "call", "run"].map((name) => recording.numbers(name));
    const names = ["stream", "update", "session", "terminal", "answer_terminal"];
    const labels = names.map((name) => recording.codes(name));
    /** The latest entry about something. @type {Map<string | number, number>} */
    const latest = new Map();
    for (let row = 0; row < found.length; row++) {
      if (row % ROWS_AT_ONCE === 0) await pause();
      const [seq, asked, call, run] = numbers.map((values) => values[row]);
      const [stream, update, session, terminal, answered] = labels.map((codes) => codes[row]);
      const about = terminal || answered || `${stream} ${update}`;
      const key = call >= 0 ? call : `${about} ${session}`;
      if (found[row] >= 0) {
        if (!PAIRS.has(kinds[found[row]])) latest.set(key, found[row]);
        continue;
      }
      const before = run < row ? run : asked < seq ? recording.rowOf(asked) : -1;
      const item = before >= 0 ? found[before] : (latest.get(key) ?? -1);
      if (seq <= (lastSeqs[item] ?? -1)) found[row] = item;
    }
    return found;
  }
}

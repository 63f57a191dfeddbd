// The entries of the conversation as `transcript` makes them: an index of all in memory, the entries on demand.
import { BlockCache } from "../data/recording.js";
import { pause } from "../data/source.js";

/**
 * @typedef {{form: "text" | "json" | "diff" | "note", label: string, image?: number,
 *   text: {start: string, end: string, characters: number}}} EntryBlock
 * @typedef {{name: string, detail: string, state: string}} EntryChoice
 * @typedef {object} Entry a section or an entry, as docs/json.md names the members of both
 * @property {string} kind not there for a section
 * @property {number} seq
 * @property {number | null} last_seq
 * @property {number | null} t_ns
 * @property {string} title
 * @property {string} state
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
  /** @param {import("../data/recording.js").Recording} recording */
  constructor(recording) {
    this.recording = recording;
    /** @type {number[]} */
    this.seqs = [];
    /** @type {(number | null)[]} */
    this.lastSeqs = [];
    /** @type {string[]} */
    this.kinds = [];
    /** @type {BlockCache<Entry[]>} */
    this.blocks = new BlockCache(BLOCKS_KEPT);
    /** Is called when entries were loaded. */
    this.onLoaded = () => {};
  }

  /** Reads the index from the first entry on that is new or has changed. */
  async read() {
    const { first, seq, last_seq, kind } = await parsedBlock(this.recording, "entries");
    this.seqs = [...this.seqs.slice(0, first), ...seq];
    this.lastSeqs = [...this.lastSeqs.slice(0, first), ...last_seq];
    this.kinds = [...this.kinds.slice(0, first), ...kind];
    for (const name of this.blocks.entries.keys()) {
      if (Number(name.slice(1)) >= Math.floor(first / BLOCK_ENTRIES)) this.blocks.entries.delete(name);
    }
  }

  /** The entry if it is in memory. Else null, and it is loaded. @param {number} item @returns {Entry | null} */
  now(item) {
    const name = `e${Math.floor(item / BLOCK_ENTRIES)}`;
    const block = this.blocks.now(name);
    // After this promise has settled, so that `now` finds it.
    const read = (/** @type {string} */ one) => parsedBlock(this.recording, one).finally(() => setTimeout(() => this.onLoaded()));
    if (!block) this.blocks.get(name, read).catch(() => undefined);
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
    const [rowSeqs, asked, calls, runs] = ["seq", "request_seq", "call", "run"].map((name) => recording.numbers(name));
    const labels = ["stream", "update", "session", "terminal", "answer_terminal"].map((name) => recording.codes(name));
    /** The latest entry about something. @type {Map<string | number, number>} */
    const latest = new Map();
    for (let row = 0; row < found.length; row++) {
      if (row % ROWS_AT_ONCE === 0) await pause();
      const [stream, update, session, terminal, answered] = labels.map((codes) => codes[row]);
      const about = terminal || answered;
      const key = calls[row] >= 0 ? calls[row] : about ? `${about} ${session}` : `${stream} ${update} ${session}`;
      if (found[row] >= 0 && !PAIRS.has(kinds[found[row]])) latest.set(key, found[row]);
      if (found[row] >= 0) continue;
      const item = runs[row] < row ? found[runs[row]] : asked[row] < rowSeqs[row] ? found[recording.rowOf(asked[row])] : latest.get(key);
      if (item !== undefined && rowSeqs[row] <= (lastSeqs[item] ?? -1)) found[row] = item;
    }
    return found;
  }
}

/** @param {import("../data/recording.js").Recording} recording @param {string} name */
const parsedBlock = async ({ source }, name) => JSON.parse(new TextDecoder().decode(await source.bytes(name)));

// The state of the page. Views call `set…` and listen to changes, instead of calling each other.
import { lengthened, lowerBound } from "../data/columns.js";
import { applyFilter, search } from "../search/search.js";
import { messageOf } from "./dom.js";

/**
 * @typedef {import("../data/recording.js").Recording} Recording
 * @typedef {"row" | "shown" | "view" | "matched" | "range" | "error" | "turn" | "grew" |
 * "loaded"} Change
 * @typedef {object} Services
 * @property {(state: State, text: string, signal: AbortSignal, before?: Filtered & {changed:
 * number[]}) => Promise<Filtered>} applyFilter
 * rejects with the mistake in the text
 * @property {(state: State, query: string, options: SearchOptions) => Promise<Int32Array>} search
 * @typedef {import("../search/search.js").Filtered} Filtered
 * @typedef {{onHits: (rows: Int32Array) => void, signal: AbortSignal, hasMore: () =>
 * Promise<boolean>}} SearchOptions
 */

export class State {
  /** @param {Recording} recording @param {Services} [services] */
  constructor(recording, services = { applyFilter, search }) {
    this.recording = recording;
    this.services = services;
    /** The selected row; -1 if no row is selected. */
    this.row = -1;
    /** The row that the reader has selected, which a filter may hide. */
    this.wanted = -1;
    this.view = "conversation";
    /** The turn to show if a view shows one turn; null for the row's turn. @type {number | null} */
    this.turn = null;
    this.filter = "";
    this.query = "";
    /** The mistake in the filter, or the error of the search; empty if there is none. */
    this.error = "";
    /** @type {[number, number] | null} */
    this.range = null;
    /** @type {Int32Array} */
    this.everyRow = new Int32Array(0);
    /**
     * The last filter without a mistake, and the rows that match it. The chosen range of time does
     * not count.
     * @type {Filtered & {text: string}}
     */
    this.applied = { text: "", rows: this.everyRow, meaning: "", count: 0 };
    /** The last complete filter. */
    this.asked = "";
    /** Rows that have changed since the filter was last applied. @type {number[]} */
    this.changed = [];
    /** At the last change "grew": the first row that was new or had changed. */
    this.grewFrom = 0;
    /** The first row that is shown; rows before it are hidden. */
    this.earliest = 0;
    /** The rows that are shown: those that match the filter, within the range. */
    this.shown = this.everyRow;
    /**
     * The rows between which the keys `n` and `p` move: the hits of the search or, without a
     * search, the rows with problems.
     */
    this.stops = this.everyRow;
    /** The rows that the search has found. @type {Int32Array} */
    this.matched = new Int32Array(0);
    this.isSearching = false;
    this.problems = new Int32Array(0);
    /** @type {Map<Change, (() => void)[]>} */
    this.listeners = new Map();
    this.filtering = new AbortController();
    /** The signal of the filter that is being applied. @type {AbortSignal | null} */
    this.applying = null;
    this.searching = new AbortController();
    /** Called when more rows have come. A search that has read all rows then continues. */
    this.searchOn = () => {};
    recording.onGrown = (changed) => this.grow(changed);
    recording.onLoaded = () => this.tell("loaded");
    this.grow([]);
  }

  /**
   * Adds the new rows of the recording. Reports the rows as soon as the filter has judged them.
   * @param {number[]} changed earlier rows that have changed
   */
  grow(changed) {
    const { length } = this.everyRow;
    this.everyRow = lengthened(this.everyRow, this.recording.rows);
    for (let row = length; row < this.recording.rows; row++) this.everyRow[row] = row;
    this.problems = Int32Array.from(this.recording.problems.keys());
    this.changed.push(...changed);
    this.searchOn();
    if (this.applying !== this.filtering.signal) void this.applyFilter(this.applied.text, "grew");
  }

  /** Whether a row has warnings, but no errors. @param {number} row */
  isWarned = (row) =>
    !!this.recording.problems.get(row)?.every(({ severity }) => severity === "warning");

  /** The frame number of the selected row; null if no row is selected. */
  get seq() { return this.row < 0 ? null : this.recording.numbers("seq").at(this.row); }

  /**
   * Calls a function after every change of a kind.
   * @param {Change} change @param {() => void} listener
   */
  on = (change, listener) =>
    this.listeners.set(change, [...(this.listeners.get(change) ?? []), listener]);

  /** @param {number} row -1 for none */
  select = (row) => row < this.recording.rows && this.set("row", (this.wanted = Math.max(row, -1)));

  /**
   * Shows the rows that match a filter. If the filter has a mistake, only sets `error`.
   * @param {string} text
   * @param {boolean} [isOpen] whether the text is not complete, so that the filter before it stays
   */
  setFilter = async (text, isOpen = false) => {
    const asked = isOpen ? this.asked : text;
    if (text === this.filter && asked === this.asked) return;
    this.filtering.abort();
    this.filtering = new AbortController();
    [this.filter, this.asked] = [text, asked];
    await this.applyFilter(asked, "shown");
  };

  /**
   * Finds the rows that match a filter. If the filter has not changed, judges only rows that are
   * new or have changed.
   * @param {string} text @param {Change} change the change to report
   */
  async applyFilter(text, change) {
    const { signal } = this.filtering;
    this.applying = signal;
    try {
      do {
        const changed = [...this.changed];
        const before = text === this.applied.text ? { ...this.applied, changed } : undefined;
        const all = { rows: this.everyRow, meaning: "", count: this.recording.rows };
        const found = text.trim() === "" ? all
          : await this.services.applyFilter(this, text, signal, before);
        if (signal.aborted) return;
        if (text === this.filter) this.set("error", "");
        const known = found.meaning === this.applied.meaning ? this.applied.count : 0;
        this.grewFrom = changed.reduce((first, row) => Math.min(first, row), known);
        this.applied = { text, ...found };
        this.changed.splice(0, changed.length);
        this.showRange(change);
        change = "grew";
      } while (this.changed.length > 0 || this.applied.count < this.recording.rows);
    } catch (error) {
      if (!signal.aborted) this.set("error", messageOf(error));
    }
    if (this.applying === signal) this.applying = null;
  }

  /**
   * Searches for a text, even in rows that come later. Ends the previous search. The promise
   * settles when all present rows were read.
   * @param {string} query
   */
  setQuery = async (query) => {
    if (query === this.query) return;
    this.searching.abort();
    const { signal } = (this.searching = new AbortController());
    this.query = query;
    const onHits = (/** @type {Int32Array} */ rows, isSearching = true) => {
      if (signal.aborted) return;
      [this.matched, this.isSearching] = [rows, isSearching];
      this.findStops();
      this.tell("matched");
    };
    onHits(new Int32Array(0), query !== "");
    if (query === "") return;
    await new Promise((done) => {
      /** @returns {Promise<boolean>} */
      const hasMore = () => new Promise((answer) => {
        done(undefined);
        this.searchOn = () => answer(true);
        signal.onabort = () => answer(false);
      });
      const searching = this.services.search(this, query, { onHits, signal, hasMore });
      searching.then((rows) => onHits(rows, false), (error) => {
        onHits(this.matched, false);
        if (!signal.aborted) this.set("error", messageOf(error));
      }).then(done);
    });
  };

  /** @param {[number, number] | null} range nanoseconds since the start, both included */
  setRange(range) {
    if (String(range) === String(this.range)) return;
    this.range = range;
    this.tell("range");
    this.showRange();
  }

  /** Hides all rows before a row. @param {number} row 0 to hide none */
  hideBefore(row) {
    this.earliest = row;
    this.showRange();
  }

  /**
   * Sets a value and reports the change, unless the value stays the same.
   * @param {"row" | "view" | "turn" | "error"} name @param {any} value
   */
  set(name, value) {
    if (this[name] === value) return;
    Object.assign(this, { [name]: value });
    this.tell(name);
  }

  /** Whether a row matches the filter and is in the chosen range of time. @param {number} row */
  isShown = (row) => this.shown[lowerBound(this.shown, row)] === row;

  /**
   * Returns a row that is shown; for a hidden row, the first row that is shown.
   * @param {number} row
   */
  rowAmongShown = (row) => this.isShown(row) ? row : this.shown[0] ?? row;

  findStops() {
    const rows = this.query === "" ? this.problems : this.matched;
    this.stops = this.shown.length === this.recording.rows ? rows : rows.filter(this.isShown);
  }

  /** The shown rows that ended a pause. If a pause has not ended, the row before it. */
  get pauses() {
    const { pauses, rows } = this.recording;
    const ends = Int32Array.from(pauses.keys(), (row) => Math.min(row, rows - 1));
    return ends.sort().filter(this.isShown);
  }

  /**
   * Selects the next or the previous of some rows, if there is one.
   * @param {1 | -1} step @param {Int32Array} [rows] without it, the stops: after the last of them
   * comes the first
   */
  selectNext(step, rows = this.stops) {
    const place = step > 0 ? lowerBound(rows, this.row + 1) : lowerBound(rows, this.row) - 1;
    const isRound = rows === this.stops && rows.length > 0;
    if (isRound) this.select(rows[(place + rows.length) % rows.length]);
    else if (place in rows) this.select(rows[place]);
  }

  /** @param {Change} [change] the change to report */
  showRange(change = "shown") {
    const [times, [from, to]] = [this.recording.numbers("t_ns"), this.range ?? [0, 0]];
    const isWithin = (/** @type {number} */ row) => times.at(row) >= from && times.at(row) <= to;
    const rows = this.applied.rows.subarray(lowerBound(this.applied.rows, this.earliest));
    this.shown = this.range ? rows.filter(isWithin) : rows;
    const before = this.row;
    // Set first, so that the views draw the rows and the selection at once.
    if (change === "shown" && before >= 0) this.row = this.rowAmongShown(this.wanted);
    this.findStops();
    this.tell(change);
    if (this.row !== before) this.tell("row");
  }

  /** @param {Change} change */
  tell = (change) => this.listeners.get(change)?.forEach((listener) => listener());
}

// One recording in the live window. Its rows come as a stream while the tab is open. When the
// stream breaks, the page connects again and gets all rows anew; the old ones stay meanwhile. The
// end is kept in view for a reader who is there; others are offered to go there. The rows that came
// before now can be hidden.
import { Recording } from "../data/recording.js";
import { decodeText, inflate } from "../data/source.js";
import { App } from "../shell/app.js";
import { button, clear, countInWords, h, part } from "../shell/dom.js";
import { firstRow, readLink, writeLink } from "../shell/link.js";
import { State } from "../shell/state.js";
import { refusal, serverSource } from "./connection.js";
import { drawHead, WaitsBar } from "./waits_bar.js";

export class LiveRecording {
  /** Index blocks that are not shown yet. @type {Uint8Array[]} */
  held = [];
  /** The newest facts. @type {any} */
  facts = {};
  /** Whether there are facts that are not shown yet. */
  hasFacts = false;
  /** Indexes of entries that are not shown yet. @type {any[]} */
  indexes = [];
  /** @type {App | null} */
  app = null;
  /** The frame number that must be there before the recording is shown. */
  wanted = readLink(location.hash).seq ?? 1;
  /** The row that was chosen before the facts were known; NaN if a link has named it. */
  chosen = NaN;
  timer = 0;
  stream = "";
  /** Whether the end is kept in view. */
  isFollowing = false;
  /** How many rows were shown when the reader was last at the end. */
  seen = 0;
  /** The frame number of the first row that is not hidden; 0 if no row is hidden. */
  earliest = 0;
  pill = button("", () => this.follow(), { class: "pill", hidden: true });
  /** The earliest time of the next `show`. */
  shownAgain = 0;

  /** @param {import("./connection.js").Connection} connection @param {string} name */
  constructor(connection, name) {
    this.connection = connection;
    this.name = name;
    this.path = name;
    /** The recording that gets the rows; it is shown when it has enough rows. */
    this.recording = new Recording(serverSource(connection, ""), null);
    this.root = part("#app");
    this.bar = new WaitsBar(name);
    this.hiding = part(".hiding");
    this.hiding.onclick = () => this.hide();
    document.addEventListener("visibilitychange", () => this.showLater());
  }

  /** Reads the stream. Ends when no rows can come any more. */
  run() {
    return this.connection.follow("/api/live", () => ({ rec: this.name }),
      (record) => this.take(record), (problem) => this.bar.update({ problem }));
  }

  /** @param {any} record of the stream */
  async take({ name, bytes, ...values }) {
    const data = bytes.length > 0 ? await inflate(bytes) : bytes;
    if (name === "gone") throw refusal(values.why, 404);
    if (name === "hello") {
      part("#banner").hidden = !values.unredacted;
      this.path = values.path;
      this.begin(values.stream);
      this.bar.update({ problem: "" });
    } else if (name === "reset") {
      this.begin(this.stream);
      clear(this.root, h("p", { class: "message", role: "status" }, "Reading all frames again…"));
    } else if (name === "moved") {
      [this.name, this.path] = [values.to, values.path];
      this.bar.update({ name: this.name });
      const address = `/r/${encodeURIComponent(this.name)}${location.hash}`;
      history.replaceState(history.state, "", address);
    } else if (name === "waits") this.bar.update({ waits: values });
    else if (name === "index") this.held.push(data);
    else if (name === "meta") {
      // Members that are left out stay as they are.
      const some = JSON.parse(decodeText(data));
      Object.assign(this.facts, some);
      this.hasFacts ||= "summary" in some || "members" in some;
    } else if (name === "entries") this.indexes.push(JSON.parse(decodeText(data)));
    this.showLater();
  }

  /** Begins without rows. @param {string} stream the id of the stream of rows */
  begin(stream) {
    this.wanted = this.app?.state.recording.lastSeq ?? this.wanted;
    this.stream = stream;
    this.recording = new Recording(serverSource(this.connection, stream), null);
    this.facts = { parties: {}, members: {} };
    [this.held, this.hasFacts] = [[], false];
    this.indexes = [{ first: 0, seq: [], last_seq: [], kind: [] }];
  }

  showLater() {
    if (document.hidden) return;
    this.timer ||= window.setTimeout(() => this.show(), this.shownAgain - performance.now());
  }

  /** Shows the rows that have come. */
  show() {
    const { recording, facts, hasFacts, app } = this;
    this.timer = 0;
    if (!hasFacts && !recording.meta) return;
    const began = performance.now();
    const isShown = app?.state.recording === recording;
    recording.meta ??= { ...facts };
    this.held.splice(0).forEach((one) => recording.append(one));
    if (!isShown && facts.partial && recording.lastSeq < this.wanted) return;
    const isFirst = isShown && recording.meta.partial && !facts.partial;
    const indexes = this.indexes.splice(0);
    indexes.forEach((one) => recording.entries.take(one));
    if (hasFacts || indexes.length > 0) {
      const meta = { ...facts, rows: recording.rows };
      recording.update(meta, indexes.length > 0 ? meta : recording.edition);
    } else if (recording.rows > recording.meta.rows) recording.extend(facts);
    else if (!isShown) return;
    this.hasFacts = false;
    // Showing new rows takes at most a quarter of the time.
    const took = isShown ? performance.now() - began : 0;
    this.shownAgain = performance.now() + Math.min(Math.max(100, 3 * took), 1000);
    if (!isShown) void this.mount(recording);
    const { state, fit } = /** @type {App} */ (this.app);
    // Once the facts are known, the row is chosen that is chosen in a report.
    if (isFirst && state.row === this.chosen) {
      state.select(firstRow(recording));
      if (this.isFollowing) this.follow();
    }
    if (drawHead(state, this.bar.waits.waits)) fit();
  }

  /**
   * Shows a recording in place of the one before, at the same place.
   * @param {Recording} recording
   */
  async mount(recording) {
    const { app: before, connection: { token } } = this;
    if (before) {
      const link = writeLink({ ...before.state, seq: before.state.seq }, token);
      history.replaceState(true, "", `#${link}`);
      before.end();
    }
    this.root.classList.add("started");
    const state = new State(recording);
    const app = (this.app = new App(this.root, state));
    this.bar.update({ state });
    const isAtEnd = recording.meta.summary.live && readLink(location.hash).seq === null;
    if (!before) this.isFollowing = isAtEnd;
    await app.follow(() => !before && app.arrive(), token);
    if (app.life.signal.aborted) return;
    if (this.wanted === 1) this.chosen = state.row;
    Object.assign(app.commands, { G: () => this.follow(), End: () => this.follow() });
    const main = part(".main");
    main.append(this.pill);
    // Events of scrolling do not bubble.
    main.addEventListener("scroll", () => this.look(), { capture: true, passive: true });
    state.on("grew", () => this.look());
    state.on("shown", () => this.count(0));
    state.on("view", () => this.isFollowing && this.follow());
    if (this.earliest > 0) state.hideBefore(recording.nearest(this.earliest));
    this.count(0);
    if (this.isFollowing) this.follow();
  }

  /** Goes to the end and stays there. */
  follow() {
    this.isFollowing = true;
    this.list?.toEnd();
    this.count(0);
  }

  get state() { return /** @type {App} */ (this.app).state; }

  /** The list of the current view; undefined if its end is not the end of the recording. */
  get list() {
    const { state, current } = this.app ?? {};
    return /^(conversation|list|sequence)$/.test(state?.view ?? "") ? current?.list : undefined;
  }

  look() {
    if (!this.list) return;
    this.isFollowing = this.list.follows;
    this.count(this.isFollowing ? 0 : this.state.shown.length - this.seen);
  }

  /** Says how many rows are new. @param {number} fresh */
  count(fresh) {
    const { earliest, shown } = this.state;
    this.seen = shown.length - Math.max(0, fresh);
    this.pill.hidden = fresh <= 0 || !this.list;
    this.pill.textContent = `↓ ${fresh.toLocaleString("en")} new`;
    this.hiding.textContent = earliest > 0 ? `Show ${countInWords(earliest, "earlier frame")}`
      : "Hide earlier";
    this.hiding.ariaPressed = String(earliest > 0);
  }

  /** Hides all rows up to now, or shows them again. */
  hide() {
    const { earliest, recording } = this.state;
    this.earliest = earliest > 0 ? 0 : recording.lastSeq + 1;
    this.state.hideBefore(earliest > 0 ? 0 : recording.rows);
    this.follow();
  }
}

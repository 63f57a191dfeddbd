// One recording in the live window. Its rows come as a stream while the tab is open. When the
// stream breaks, the page connects again and gets all rows anew; the old ones stay meanwhile.
import { Recording } from "../data/recording.js";
import { decodeText, inflate } from "../data/source.js";
import { App } from "../shell/app.js";
import { clear, h, part } from "../shell/dom.js";
import { firstRow, readLink, writeLink } from "../shell/link.js";
import { State } from "../shell/state.js";
import { HttpSource, refusal } from "./connection.js";
import { Following } from "./following.js";
import { LiveHead, WaitsBar } from "./waits_bar.js";

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
  /** The earliest time of the next `show`. */
  shownAgain = 0;

  /** @param {import("./connection.js").Connection} connection @param {string} name */
  constructor(connection, name) {
    this.connection = connection;
    this.name = name;
    this.source = new HttpSource(connection, "");
    /** The recording that gets the rows; it is shown when it has enough rows. */
    this.recording = new Recording(this.source, null);
    this.root = part("#app");
    this.bar = new WaitsBar(name);
    this.following = new Following();
    this.head = new LiveHead();
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
      this.begin(values.stream);
      this.bar.update({ problem: "" });
    } else if (name === "reset") {
      this.begin(this.source.stream);
      clear(this.root, h("p", { class: "message", role: "status" }, "Reading all frames again…"));
    } else if (name === "moved") {
      this.name = values.to;
      const address = `/r/${encodeURIComponent(this.name)}${location.hash}`;
      history.replaceState(history.state, "", address);
    } else if (name === "waits") this.bar.update({ waits: values });
    else if (name === "index") this.held.push(data);
    else if (name === "meta") {
      // Members that are left out stay as they are.
      const some = JSON.parse(decodeText(data));
      Object.assign(this.facts, some);
      this.hasFacts ||= "summary" in some || "members" in some;
    } else if (name === "entries") {
      this.indexes.push(JSON.parse(decodeText(data)));
    }
    this.showLater();
  }

  /** Begins without rows. @param {string} stream the id of the stream of rows */
  begin(stream) {
    const { recording } = this.app?.state ?? {};
    if (recording) this.wanted = recording.lastSeq;
    this.source = new HttpSource(this.connection, stream);
    this.recording = new Recording(this.source, null);
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
    else return;
    this.hasFacts = false;
    // Showing new rows takes at most a fifth of the time.
    const took = isShown ? performance.now() - began : 0;
    this.shownAgain = performance.now() + Math.min(Math.max(100, 5 * took), 1000);
    if (!isShown) void this.mount(recording);
    const { state, fit } = /** @type {App} */ (this.app);
    // Once the facts are known, the row is chosen that is chosen in a report.
    if (isFirst && state.row === this.chosen) {
      state.select(firstRow(recording));
      if (this.following.isOn) this.following.follow();
    }
    if (this.head.draw(state)) fit();
  }

  /**
   * Shows a recording in place of the one before, at the same place.
   * @param {Recording} recording
   */
  async mount(recording) {
    const { app: before, connection: { token } } = this;
    if (before) {
      const { state } = before;
      const link = writeLink({ ...state, seq: state.seq, view: state.view }, token);
      history.replaceState(true, "", `#${link}`);
      before.end();
    }
    this.root.classList.add("started");
    const state = new State(recording);
    const app = (this.app = new App(this.root, state));
    this.bar.update({ state });
    const isAtEnd = recording.meta.summary.live && readLink(location.hash).seq === null;
    if (!before) this.following.isOn = isAtEnd;
    await app.follow(() => !before && app.arrive(), token);
    if (app.life.signal.aborted) return;
    if (this.wanted === 1) this.chosen = state.row;
    this.following.attach(app);
  }
}

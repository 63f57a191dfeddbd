// One recording in the live window. Its rows come as a stream while the tab is open. When the
// stream breaks, the page connects again and gets all rows anew; the old ones stay meanwhile.
import { Recording } from "../data/recording.js";
import { decodeText, inflate } from "../data/source.js";
import { OverviewStrip } from "../pictures/overview.js";
import { applyFilter, search } from "../search/search.js";
import { App, VIEWS } from "../shell/app.js";
import { clear, h } from "../shell/dom.js";
import { firstRow, keepLink, readLink, writeLink } from "../shell/link.js";
import { State } from "../shell/state.js";
import { messageOf } from "../shell/words.js";
import { Refusal, recordsOf } from "./connection.js";
import { Following } from "./following.js";
import { HttpSource } from "./http_source.js";
import { LiveHead } from "./live_head.js";
import { WaitsBar } from "./waits_bar.js";

/** The times between two attempts to connect: each is twice as long as the one before. */
const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 4000;
/** New rows are shown this long after the last ones, or later if showing them takes long. */
const SHOWN_AFTER_MS = 100;
const LAST_SHOWN_AFTER_MS = 1000;
/** Showing new rows takes at most this part of the time. */
const BUSY_PART = 0.2;
/** Statuses after which another attempt is of no use. */
const FINAL_STATUSES = new Set([401, 403, 404]);

export class LiveRecording {
  /** The recording that gets the rows; it is shown when it has enough rows. */
  recording = /** @type {Recording | null} */ (null);
  /** @type {HttpSource | null} */
  source = null;
  /** Index blocks that came before the first facts. @type {Uint8Array[]} */
  held = [];
  /** The newest facts. @type {any} */
  facts = {};
  /** Whether there are facts, and entries, that are not shown yet. */
  hasFacts = false;
  hasEntries = false;
  /** @type {App | null} */
  app = null;
  /** The frame number that must be there before the recording is shown. */
  wanted = readLink(location.hash).seq ?? 1;
  /** The row that was chosen before the facts were known; NaN if a link has named it. */
  chosen = NaN;
  timer = 0;
  /** The earliest time of the next `show`. */
  shownAgain = 0;
  /** The id of the stream of rows. */
  stream = "";

  /**
   * @param {import("./connection.js").Connection} connection @param {string} name
   * @param {{root: HTMLElement, head: HTMLElement, bar: HTMLElement}} places empty elements
   */
  constructor(connection, name, { root, head, bar }) {
    this.connection = connection;
    this.name = name;
    this.root = root;
    this.following = new Following();
    this.head = new LiveHead(head);
    this.bar = new WaitsBar(bar, this.following.hiding);
    this.bar.update({ name });
    document.addEventListener("visibilitychange", () => this.showLater());
  }

  /** Reads the stream, and connects again when it breaks. Ends when no rows can come any more. */
  async run() {
    for (let wait = FIRST_RETRY_MS; ; wait = Math.min(2 * wait, LAST_RETRY_MS)) {
      let problem = "The connection is lost. Trying again…";
      try {
        await this.connection.prove();
        const response = await this.connection.get("/api/live", { rec: this.name });
        for await (const record of recordsOf(response)) {
          wait = FIRST_RETRY_MS / 2;
          if (record.name === "gone") return this.bar.update({ problem: record.why });
          await this.take(record);
        }
      } catch (error) {
        const isFinal = error instanceof Refusal && FINAL_STATUSES.has(error.status);
        if (!(error instanceof TypeError)) problem = messageOf(error);
        if (isFinal) return this.bar.update({ problem });
      }
      this.bar.update({ problem });
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }

  /** @param {any} record of the stream */
  async take({ name, bytes, ...values }) {
    const data = bytes.length > 0 ? await inflate(bytes) : bytes;
    if (name === "hello") this.begin(values.stream, values.unredacted);
    else if (name === "reset") this.forget();
    else if (name === "moved") this.move(values.to);
    else if (name === "waits") {
      const waits = values.waits.map((/** @type {any} */ one) => ({ ...one, ...one.words }));
      this.bar.update({ waits: { ...values, waits } });
    }
    else if (name === "index") this.append(data);
    else if (name === "meta") this.takeFacts(JSON.parse(decodeText(data)));
    else if (name === "entries") {
      this.source?.takeEntries(JSON.parse(decodeText(data)));
      this.hasEntries = true;
    }
    this.showLater();
  }

  /** Takes facts; those that are left out stay as they are. @param {any} some */
  takeFacts(some) {
    Object.assign(this.facts, some);
    this.hasFacts ||= "summary" in some || "members" in some;
    this.append();
  }

  /** Goes on with a recording whose file has another name now. @param {string} name */
  move(name) {
    this.name = name;
    history.replaceState(history.state, "", `/r/${encodeURIComponent(name)}${location.hash}`);
  }

  /** @param {string} stream @param {boolean} isUnredacted */
  begin(stream, isUnredacted) {
    const banner = document.getElementById("banner");
    if (banner) banner.hidden = !isUnredacted;
    this.bar.update({ problem: "" });
    this.stream = stream;
    this.source = new HttpSource(this.connection, stream);
    const { recording } = this.app?.state ?? {};
    if (recording) this.wanted = recording.numbers("seq").at(recording.rows - 1) || 0;
    this.recording = new Recording(this.source, null);
    this.facts = { parties: {}, members: {} };
    [this.held, this.hasFacts, this.hasEntries] = [[], false, false];
  }

  get isShown() { return this.app?.state.recording === this.recording; }

  /**
   * Takes rows. They wait until the first facts are there, and in a shown recording until they are
   * shown.
   * @param {Uint8Array} [block]
   */
  append(block) {
    const { recording, held } = this;
    if (!recording) return;
    if (block) held.push(block);
    if (this.hasFacts) recording.meta ??= { ...this.facts };
    if (recording.meta && !this.isShown) held.splice(0).forEach((one) => recording.append(one));
  }

  /** Removes all rows, which come again. */
  forget() {
    this.begin(this.stream, !document.getElementById("banner")?.hidden);
    clear(this.root, h("p", { class: "message", role: "status" }, "Reading all frames again…"));
  }

  showLater() {
    if (document.hidden) return;
    const wait = Math.max(0, this.shownAgain - performance.now());
    this.timer ||= window.setTimeout(() => this.show(), wait);
  }

  /** Shows the rows that have come. */
  show() {
    const { recording, facts, hasFacts, hasEntries } = this;
    this.timer = 0;
    if (!recording?.meta) return;
    const began = performance.now();
    const { isShown, app } = this;
    this.held.splice(0).forEach((one) => recording.append(one));
    const last = recording.numbers("seq").at(recording.rows - 1) || 0;
    if (!isShown && facts.partial && last < this.wanted) return;
    const isFirst = isShown && recording.meta.partial && !facts.partial;
    if (hasFacts || hasEntries || !isShown) {
      const meta = { ...facts, rows: recording.rows };
      recording.update(meta, hasEntries || !isShown ? meta : recording.edition);
    } else if (recording.rows > recording.meta.rows) recording.extend(facts);
    else return;
    this.hasFacts = this.hasEntries = false;
    const took = isShown ? performance.now() - began : 0;
    const wait = Math.min(Math.max(SHOWN_AFTER_MS, took / BUSY_PART), LAST_SHOWN_AFTER_MS);
    this.shownAgain = performance.now() + wait;
    if (!isShown) void this.mount(recording);
    if (isFirst && app?.state.row === this.chosen) this.choose(app);
    this.showFacts(recording.meta);
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
    const state = new State(recording, { applyFilter, search });
    const app = (this.app = new App(this.root, state));
    new OverviewStrip(/** @type {HTMLElement} */ (this.root.querySelector(".overview")), state);
    const isAtEnd = recording.meta.summary.live && readLink(location.hash).seq === null;
    if (!before) this.following.isOn = isAtEnd;
    const arrive = () => !before && app.arrive();
    const { signal } = app.life;
    await keepLink(state, VIEWS.map(({ name }) => name), arrive, { token, signal });
    if (signal.aborted) return;
    if (this.wanted === 1) this.chosen = state.row;
    this.following.attach(app);
    Object.assign(window, { acpReport: { state, recording } });
    document.getElementById("unfinished")?.remove();
  }

  /** Chooses the row that is chosen in a report, once its facts are known. @param {App} app */
  choose({ state }) {
    const { isOn } = this.following;
    state.select(firstRow(state.recording));
    if (isOn) this.following.follow();
  }

  /** @param {any} meta */
  showFacts({ summary }) {
    const { state } = /** @type {App} */ (this.app);
    const { error = 0 } = summary.severities ?? {};
    if (this.head.draw(state)) this.app?.fit();
    if (state !== this.bar.state || error !== this.bar.errors) {
      this.bar.update({ state, errors: error });
    }
  }
}

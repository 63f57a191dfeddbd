// The conversation as a list, in the columns of `inspect log`: one line for a frame or event, or for
// a run of chunks, which opens on demand. Silences and turns have lines of their own.
import { lowerBound } from "../data/recording.js";
import {durationInWords, sizeInWords, visibleText} from "../shell/words.js";
import { h, setAttribute } from "../shell/dom.js";
import { buildItems, indexOfRow, kindOfItem, rowOfItem, runExtent, ROW, RUN, SILENCE, TURN } from "../shell/items.js";
import { VirtualList } from "../shell/virtual_list.js";

/**
 * @typedef {import("../shell/state.js").State} State
 * @typedef {import("../shell/app.js").View} View
 */

const COLUMNS = [
  ["number", "Frame"], ["time", "Time"], ["method", "Method"], ["id", "Id"], ["pair", "Answer"], ["size", "Size"],
  ["text", "Text"],
];
/** @type {Record<string, [string, string]>} */
const ARROWS = { "to-agent": ["→", "to agent"], "to-client": ["←", "to client"], stderr: ["!", "stderr"], event: ["·", "event"] };
const NARROW = "(max-width: 700px)";
const LINE_HEIGHT = 24;
const TWO_LINES_HEIGHT = 46;
const TEXT_CHARACTERS = 400;
const SLOW_NS = 1e9;
const STUCK_NS = 10e9;
/** Class of a row whose cells are not there yet. */
const PENDING = "list-pending";
const FLAG_FAULTS = 1 | 2 | 4;

/** @type {View} */
export const listView = {
  name: "list",
  title: "List",
  key: "1",
  mount(container, state) {
    const view = new ListView(state);
    container.append(view.list.element, view.empty);
    return view;
  },
};

class ListView {
  /** @param {State} state */
  constructor(state) {
    this.state = state;
    this.recording = state.recording;
    this.startedAt = Date.parse(this.recording.meta.started_at ?? "");
    /** First rows of the runs whose rows are shown. @type {Set<number>} */
    this.opened = new Set();
    /** @type {Int32Array} */
    this.items = new Int32Array(0);
    this.isStale = true;
    this.isShown = false;
    this.empty = h("p", { class: "list-empty", hidden: true }, "No frame matches the filter and the chosen time.");
    this.list = new VirtualList({
      label: "Frames and events",
      role: "treegrid",
      rowHeight: LINE_HEIGHT,
      head: COLUMNS.map(([name, title]) => h("span", { class: `list-${name}`, role: "columnheader" }, title)),
      render: (item, node) => this.render(item, node),
      onActive: (item) => state.select(rowOfItem(item)),
      onFold: (item, _, isOpen) => this.fold(item, isOpen),
      isStop: (item) => kindOfItem(item) >= RUN,
    });
    const seqs = this.recording.numbers("seq");
    const times = this.recording.numbers("t_ns");
    // What the largest number and time need.
    const [digits, timeDigits] = [seqs, times].map((values) => String(Math.floor(values[values.length - 1] ?? 0)).length);
    this.list.element.style.setProperty("--number-width", `${Math.max(digits + 3, 6) + 3}ch`);
    this.timeWidths = { elapsed: Math.max(timeDigits - 9, 1) + 4, delta: Math.max(timeDigits - 9, 1) + 7, clock: 12 };
    this.list.element.addEventListener("click", (event) => this.onClick(event), { capture: true });
    const narrow = matchMedia(NARROW);
    const fit = () => this.list.setRowHeight(narrow.matches ? TWO_LINES_HEIGHT : LINE_HEIGHT);
    narrow.addEventListener("change", fit);
    fit();
    state.on("shown", () => this.update());
    state.on("row", () => this.isShown && this.goTo(state.row));
    state.on("matched", () => this.isShown && this.list.refresh());
    state.on("times", () => this.fitTimes());
    this.fitTimes();
    this.recording.onLoaded(() => this.isShown && this.list.refresh((node) => node.classList.contains(PENDING)));
  }

  show() {
    this.isShown = true;
    if (this.isStale) this.update();
    else this.goTo(this.state.row);
  }

  hide() {
    this.isShown = false;
  }

  fitTimes() {
    this.list.element.style.setProperty("--time-width", `${this.timeWidths[this.state.times]}ch`);
    this.list.refresh();
  }

  update() {
    this.isStale = !this.isShown;
    if (this.isStale) return;
    const { row } = this.state;
    this.openFor(row);
    this.items = buildItems(this.recording, this.state.shown, this.opened);
    this.empty.hidden = this.items.length > 0;
    this.list.setItems(this.items, this.indexOf(row), "center");
  }

  /** @param {number} row */
  goTo(row) {
    const { active } = this.list;
    if (active >= 0 && rowOfItem(this.items[active]) === row) return;
    if (this.openFor(row)) this.update();
    else this.list.setActive(this.indexOf(row));
  }

  /** The index of the item that begins with a row; -1 if there is none. @param {number} row */
  indexOf(row) {
    const index = row < 0 ? -1 : indexOfRow(this.items, row);
    return index >= 0 && rowOfItem(this.items[index]) === row ? index : -1;
  }

  /**
   * Opens the run that hides a row, unless it is the row with which the run begins.
   * @param {number} row
   * @returns {boolean} whether it was closed
   */
  openFor(row) {
    const { shown } = this.state;
    const run = row < 0 ? NaN : this.recording.numbers("run")[row];
    const place = Number.isNaN(run) ? -1 : lowerBound(shown, row);
    const isHidden = place > 0 && shown[place] === row && this.recording.numbers("run")[shown[place - 1]] === run;
    if (!isHidden || this.opened.has(run)) return false;
    this.opened.add(run);
    return true;
  }

  /** Opens or closes the run of an item, and moves to its line. @param {number} item @param {boolean} isOpen */
  fold(item, isOpen) {
    const run = this.recording.numbers("run")[rowOfItem(item)];
    if (Number.isNaN(run) || this.opened.has(run) === isOpen || (isOpen && kindOfItem(item) !== RUN)) return;
    if (isOpen) this.opened.add(run);
    else this.opened.delete(run);
    const { shown } = this.state;
    const first = shown[lowerBound(shown, run)];
    this.items = buildItems(this.recording, shown, this.opened);
    // The line of the run comes before its rows.
    this.list.setItems(this.items, indexOfRow(this.items, first) - (isOpen ? 1 : 0));
    this.state.select(first);
  }

  /** @param {MouseEvent} event */
  onClick(event) {
    if (!(event.target instanceof HTMLElement) || !event.target.classList.contains("list-fold")) return;
    const index = Number(event.target.closest("[data-index]")?.getAttribute("data-index"));
    this.fold(this.items[index], !this.opened.has(this.recording.numbers("run")[rowOfItem(this.items[index])]));
    this.list.focus();
    event.stopPropagation();
  }

  /** @param {number} item @param {HTMLElement} node */
  render(item, node) {
    const row = rowOfItem(item);
    const kind = kindOfItem(item);
    if (kind === SILENCE || kind === TURN) {
      node.classList.add(kind === TURN ? "list-turn" : "list-silence");
      node.append(h("span", { role: "gridcell", "aria-colspan": COLUMNS.length }, kind === TURN ? this.turnWords(row) : this.silenceWords(row)));
      return;
    }
    const isRun = kind === RUN;
    const runs = this.recording.numbers("run");
    setAttribute(node, "aria-level", kind === ROW && this.opened.has(runs[row]) ? 2 : 1);
    if (isRun) setAttribute(node, "aria-expanded", String(this.opened.has(row)));
    else if (this.opened.has(runs[row])) node.classList.add("list-member");
    node.classList.add(`tone-${this.recording.text("tone", row) ?? "plain"}`, `stream-${this.recording.text("stream", row)}`);
    const values = isRun ? this.runValues(row) : this.rowValues(row);
    if (values.text === null) node.classList.add(PENDING);
    for (const [name] of COLUMNS) node.append(h("span", { class: `list-${name}`, role: "gridcell" }, values[name]));
  }

  /**
   * @param {number} row
   * @returns {Record<string, import("../shell/dom.js").Child | import("../shell/dom.js").Child[]>}
   */
  rowValues(row) {
    const { recording } = this;
    const cells = recording.cellsNow(row);
    const size = recording.numbers("size")[row];
    return {
      number: [this.marks(row, row), String(recording.numbers("seq")[row])].flat(),
      time: this.time(row),
      method: [arrow(recording.text("stream", row)), this.verb(row)],
      id: cells?.rpc_id ? `#${visibleText(cells.rpc_id)}` : null,
      pair: this.pairWords(row),
      size: Number.isNaN(size) ? null : sizeInWords(size),
      text: cells && this.textNodes(cells.text),
    };
  }

  /**
   * @param {number} first
   * @returns {Record<string, import("../shell/dom.js").Child | import("../shell/dom.js").Child[]>}
   */
  runValues(first) {
    const { recording } = this;
    const { last, count, size } = runExtent(recording, this.state.shown, first);
    const seqs = recording.numbers("seq");
    const times = recording.numbers("t_ns");
    const text = this.runText(first, last);
    const sign = this.opened.has(recording.numbers("run")[first]) ? "▾" : "▸";
    return {
      number: [this.marks(first, last), span(String(seqs[first]), String(seqs[last]))].flat(),
      time: this.time(first),
      method: [arrow(recording.text("stream", first)), h("span", { class: "list-fold", "aria-hidden": "true" }, sign), `${this.verb(first)} ×${count}`],
      pair: durationInWords(times[last] - times[first]),
      size: sizeInWords(size),
      text: text === null ? null : this.textNodes(text),
    };
  }

  /** The beginning of the text of a run; null if it is not there yet. @param {number} first @param {number} last */
  runText(first, last) {
    const { shown } = this.state;
    let text = "";
    for (let place = lowerBound(shown, first); shown[place] <= last && text.length < TEXT_CHARACTERS; place++) {
      const cells = this.recording.cellsNow(shown[place]);
      if (cells === null) return null;
      text += cells.text;
    }
    return text;
  }

  /** The text with the searched one marked in it. @param {string} whole */
  textNodes(whole) {
    const text = visibleText(whole.slice(0, TEXT_CHARACTERS));
    const { query } = this.state;
    // As the search finds it: a capital letter means itself.
    const lower = query === query.toLowerCase() ? text.toLowerCase() : text;
    // Some characters change their number when they become small.
    if (query === "" || lower.length !== text.length) return [text];
    const nodes = [];
    let done = 0;
    for (let at = lower.indexOf(query); at >= 0; at = lower.indexOf(query, done)) {
      nodes.push(text.slice(done, at), h("mark", null, text.slice(at, at + query.length)));
      done = at + query.length;
    }
    return [...nodes, text.slice(done)];
  }

  /** @param {number} first @param {number} last */
  marks(first, last) {
    const { matched } = this.state;
    const nodes = [];
    const sentences = this.recording.problems.get(first);
    if (sentences) nodes.push(sign("problem", "▼", sentences.join("\n")));
    if (this.recording.numbers("flags")[first] & FLAG_FAULTS) nodes.push(sign("fault", "◆", "fault"));
    if (matched[lowerBound(matched, first)] <= last) nodes.push(sign("hit", "●", "found"));
    return nodes;
  }

  /** @param {number} row */
  verb(row) {
    const { recording } = this;
    const kind = recording.text("kind", row) ?? "";
    const method = recording.text("update", row) ?? recording.text("method", row);
    if (method === null) return kind === "stderr" || kind === "blank" ? "" : kind;
    return `${visibleText(method)}${kind === "response" ? " ✓" : kind === "error" ? " ✗" : ""}`;
  }

  /** @param {number} row */
  pairWords(row) {
    const { recording } = this;
    const request = recording.numbers("request_seq")[row];
    if (Number.isNaN(request)) return null;
    if (recording.text("kind", row) === "request") {
      const answer = recording.numbers("response_seq")[row];
      return Number.isNaN(answer) ? h("span", { class: "pace-stuck" }, "unanswered") : `→${answer}`;
    }
    const took = recording.numbers("latency_ns")[row];
    return [`↩${request} `, h("span", { class: this.pace(row, took) }, durationInWords(took))];
  }

  /**
   * Only an answer of a peer itself can be slow: not a turn, a person's choice or a program.
   * @param {number} row
   * @param {number} took
   */
  pace(row, took) {
    const method = this.recording.text("method", row) ?? "";
    const party = this.recording.meta.parties?.[method];
    if (!(took >= SLOW_NS) || party === "person" || party === "terminals" || method === "session/prompt") return null;
    return took < STUCK_NS ? "pace-slow" : "pace-stuck";
  }

  /** @param {number} row */
  time(row) {
    const t = this.recording.numbers("t_ns")[row];
    if (this.state.times === "clock" && !Number.isNaN(this.startedAt)) return clock(new Date(this.startedAt + t / 1e6));
    if (this.state.times !== "delta") return (t / 1e9).toFixed(3);
    const { shown } = this.state;
    const place = lowerBound(shown, row);
    return ((place > 0 ? t - this.recording.numbers("t_ns")[shown[place - 1]] : 0) / 1e9).toFixed(6);
  }

  /** @param {number} row */
  turnWords(row) {
    const session = this.recording.text("session", row);
    return `turn ${this.recording.numbers("turn")[row]}${session === null ? "" : ` · ${visibleText(session)}`}`;
  }

  /** @param {number} row */
  silenceWords(row) {
    return `··· ${durationInWords(this.recording.firstByteAt(row) - this.recording.numbers("t_ns")[row - 1])} ···`;
  }
}

/** @param {string | null} stream */
function arrow(stream) {
  const [shape, words] = ARROWS[stream ?? "event"] ?? ARROWS.event;
  return h("span", { class: "list-arrow", role: "img", "aria-label": words }, shape);
}

/** @param {string} name @param {string} shape @param {string} words */
function sign(name, shape, words) {
  return h("span", { class: `sign-${name}`, role: "img", "aria-label": words, title: words }, shape);
}

/**
 * Two numbers, without digits of the second that are as in the first, but for the last two.
 * @param {string} first
 * @param {string} last
 */
function span(first, last) {
  let same = 0;
  while (first.length === last.length && same < last.length - 2 && first[same] === last[same]) same++;
  return `${first}–${last.slice(same)}`;
}

/** @param {Date} time */
function clock(time) {
  const two = (/** @type {number} */ number) => String(number).padStart(2, "0");
  return `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}.${String(time.getMilliseconds()).padStart(3, "0")}`;
}

// The conversation as a list, in the columns of `inspect log`: one line for a frame or event, or for
// a run of chunks, which opens on demand. Silences and turns have lines of their own.
import { lowerBound } from "../data/recording.js";
import { durationInWords, sizeInWords, visibleText } from "../detail/values.js";
import { h, setAttribute } from "../shell/dom.js";
import { buildItems, indexOfRow, kindOfItem, rowOfItem, runExtent, ROW, RUN, SILENCE, TURN } from "../shell/items.js";
import { VirtualList } from "../shell/virtual_list.js";

/**
 * @typedef {import("../shell/state.js").State} State
 * @typedef {import("../shell/app.js").View} View
 */

const COLUMNS = [
  ["mark", "Marks"], ["number", "Frame"], ["time", "Time"], ["method", "Method"], ["id", "Id"], ["pair", "Answer"], ["size", "Size"],
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
      head: COLUMNS.map(([name, title]) => h("span", { class: `list-${name}`, role: "columnheader" }, name === "mark" ? h("span", { class: "visually-hidden" }, title) : title)),
      render: (item, node) => this.render(item, node),
      onActive: (item) => state.select(rowOfItem(item)),
      onFold: (item, _, isOpen) => this.fold(item, isOpen),
      isStop: (item) => kindOfItem(item) >= RUN,
    });
    const seqs = this.recording.numbers("seq");
    const times = this.recording.numbers("t_ns");
    // What the largest number and time need.
    const [digits, timeDigits] = [seqs, times].map((values) => String(Math.floor(values[values.length - 1] ?? 0)).length);
    this.list.element.style.setProperty("--number-width", `${Math.max(digits + 3, 6)}ch`);
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
    this.recording.onLoaded((first, last) => this.isShown && this.onLoaded(first, last));
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

  focus() {
    this.list.focus();
  }

  /** @param {number} step */
  move(step) {
    this.list.move(step);
  }

  update() {
    this.isStale = !this.isShown;
    if (this.isStale) return;
    this.items = buildItems(this.recording, this.state.shown, this.opened);
    this.empty.hidden = this.items.length > 0;
    this.list.setItems(this.items, -1);
    this.goTo(this.state.row);
  }

  /** @param {number} row */
  goTo(row) {
    const { active } = this.list;
    if (row < 0 || (active >= 0 && rowOfItem(this.items[active]) === row)) return;
    let index = indexOfRow(this.items, row);
    if (index >= 0 && kindOfItem(this.items[index]) === RUN && rowOfItem(this.items[index]) !== row && this.isRowShown(row)) {
      this.setOpen(rowOfItem(this.items[index]), true);
      index = indexOfRow(this.items, row);
    }
    const isThere = index >= 0 && rowOfItem(this.items[index]) === row;
    this.list.setActive(isThere ? index : -1);
  }

  /** @param {number} row */
  isRowShown(row) {
    const { shown } = this.state;
    return shown[lowerBound(shown, row)] === row;
  }

  /**
   * Opens or closes the run of an item.
   * @param {number} item
   * @param {boolean} isOpen
   */
  fold(item, isOpen) {
    const run = this.recording.numbers("run")[rowOfItem(item)];
    if (Number.isNaN(run) || this.opened.has(run) === isOpen) return;
    if (isOpen && kindOfItem(item) !== RUN) return;
    this.setOpen(rowOfItem(item), isOpen);
  }

  /**
   * @param {number} row a row of the run
   * @param {boolean} isOpen
   */
  setOpen(row, isOpen) {
    const run = this.recording.numbers("run")[row];
    if (isOpen) this.opened.add(run);
    else this.opened.delete(run);
    this.items = buildItems(this.recording, this.state.shown, this.opened);
    // The line of the run comes before its rows.
    const first = this.state.shown[lowerBound(this.state.shown, run)];
    const header = indexOfRow(this.items, first) - (isOpen ? 1 : 0);
    this.list.setItems(this.items, header);
    this.list.setActive(header, { place: "nearest" });
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

  /**
   * @param {number} first
   * @param {number} last
   */
  onLoaded(first, last) {
    const [top, bottom] = this.list.onScreen;
    if (bottom < top) return;
    // A run at the end may go on below the screen; its text comes from its first rows.
    if (rowOfItem(this.items[top]) <= last && rowOfItem(this.items[bottom]) + TEXT_CHARACTERS >= first) this.list.refresh();
  }

  /**
   * @param {number} item
   * @param {HTMLElement} node
   */
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
      mark: this.marks(row, row),
      number: recording.numbers("seq")[row],
      time: this.time(row),
      method: [...arrow(recording.text("stream", row)), this.verb(row)],
      id: cells?.rpc_id ? `#${visibleText(cells.rpc_id)}` : null,
      pair: this.pairWords(row),
      size: Number.isNaN(size) ? null : sizeInWords(size),
      text: cells ? this.textNodes(cells.text) : "…",
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
    const sign = this.opened.has(recording.numbers("run")[first]) ? "▾" : "▸";
    return {
      mark: this.marks(first, last),
      number: span(String(seqs[first]), String(seqs[last])),
      time: this.time(first),
      method: [...arrow(recording.text("stream", first)), h("span", { class: "list-fold", "aria-hidden": "true" }, sign), `${this.verb(first)} ×${count}`],
      pair: durationInWords(times[last] - times[first]),
      size: sizeInWords(size),
      text: this.textNodes(this.runText(first, last)),
    };
  }

  /**
   * The beginning of the text of a run.
   * @param {number} first
   * @param {number} last
   */
  runText(first, last) {
    const { shown } = this.state;
    let text = "";
    for (let place = lowerBound(shown, first); shown[place] <= last && text.length < TEXT_CHARACTERS; place++) {
      const cells = this.recording.cellsNow(shown[place]);
      if (cells === null) return `${text}…`;
      text += cells.text;
    }
    return text;
  }

  /**
   * The text with the searched one marked in it.
   * @param {string} whole
   */
  textNodes(whole) {
    const text = visibleText(whole.slice(0, TEXT_CHARACTERS));
    const query = this.state.query.toLowerCase();
    const lower = text.toLowerCase();
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

  /**
   * @param {number} first
   * @param {number} last
   */
  marks(first, last) {
    const { matched } = this.state;
    const nodes = [];
    const sentences = this.recording.problems.get(first);
    if (sentences) nodes.push(sign("problem", "▲", sentences.join("\n") || "problem"));
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
  return [h("span", { class: "list-arrow", "aria-hidden": "true" }, shape), h("span", { class: "visually-hidden" }, `${words} `)];
}

/**
 * @param {string} name
 * @param {string} shape
 * @param {string} words
 */
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

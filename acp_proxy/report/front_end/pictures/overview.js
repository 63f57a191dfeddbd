// The strip above the views: how much passed when, turns, problems and faults, and the part of the
// time that is shown, which mouse and keyboard change.
import {lowerBound} from "../data/recording.js";
import {clear, h, svg} from "../shell/dom.js";
import {durationInWords} from "../shell/words.js";
import {countsByPlace, lengthOf, markPlaces, placeOf, timeAt, timeAxis} from "./time_axis.js";

/** @typedef {import("../shell/state.js").State} State */

const STRIP_HEIGHT = 76;
const MIDDLE = 44;
const HALF = 24;
const BAR = 2;
const MARK = 6;
const CLICK = 5;
const LABEL_WIDTH = 46;
const NAMED_PROBLEMS = 8;

export const overview = {
  /**
   * @param {HTMLElement} container
   * @param {State} state
   */
  mount(container, state) {
    const strip = new OverviewStrip(state);
    container.append(strip.element);
    strip.watch();
    return {show: () => strip.draw(), hide: () => undefined};
  },
};

class OverviewStrip {
  /** @param {State} state */
  constructor(state) {
    this.state = state;
    this.times = state.recording.numbers("t_ns");
    this.axis = timeAxis(this.times);
    this.faults = faultRows(state.recording);
    this.width = 0;
    /** @type {[number, number]} */
    this.shown = [0, 1];
    this.back = svg("g", null);
    this.bars = svg("g", null);
    this.marks = svg("g", null);
    this.cursor = svg("line", {class: "overview-cursor", y1: 0, y2: STRIP_HEIGHT});
    this.picture = svg("svg", {height: STRIP_HEIGHT, "aria-hidden": "true"},
      this.back, this.bars, this.marks, this.cursor);
    this.before = h("div", {class: "overview-outside"});
    this.after = h("div", {class: "overview-outside"});
    this.handles = [this.handle(0, "Show from"), this.handle(1, "Show until")];
    this.strip = h("div", {class: "overview-strip", on: {
      pointerdown: (/** @type {PointerEvent} */ event) => this.press(event),
      pointermove: (/** @type {PointerEvent} */ event) => this.point(event),
      pointerleave: () => this.sayRange(),
    }}, this.picture, this.before, this.after, ...this.handles);
    this.hint = h("span", {class: "overview-hint"});
    this.all = h("button", {type: "button", hidden: true, on: {click: () => this.state.setRange(null)}},
      "Show all of the time");
    this.element = h("section", {class: "overview-box", "aria-label": "Overview"}, this.strip,
      h("div", {class: "overview-foot"}, h("span", {class: "overview-words"}, this.words()), this.hint, this.all));
  }

  watch() {
    new ResizeObserver(() => this.resize()).observe(this.strip);
    this.state.on("shown", () => this.drawBars());
    this.state.on("range", () => this.showRange());
    this.state.on("row", () => this.drawCursor());
    this.state.on("matched", () => this.drawMarks());
    this.showRange();
  }

  resize() {
    if (this.strip.clientWidth === this.width) return;
    this.width = this.strip.clientWidth;
    this.draw();
  }

  draw() {
    if (!this.width) return;
    this.picture.setAttribute("width", String(this.width));
    this.drawBack();
    this.drawBars();
    this.drawMarks();
    this.drawCursor();
  }

  /** @param {number} time */
  x(time) {
    return placeOf(this.axis, time) * this.width;
  }

  drawBack() {
    const top = MIDDLE - HALF - 4;
    const bottom = STRIP_HEIGHT;
    const {recording} = this.state;
    const turns = recording.meta.summary.turns.filter((/** @type {any} */ turn) => recording.rowOf(turn.prompt_seq) >= 0);
    const labels = [];
    let [bands, free] = ["", 0];
    for (const turn of turns) {
      const [from, to] = this.turnEnds(turn);
      bands += `M${from} ${top}H${Math.max(to, from + 1)}V${bottom}H${from}Z`;
      if (from < free || to - from < LABEL_WIDTH && turns.length > 1) continue;
      labels.push(svg("text", {x: from + 3, y: bottom - 2}, `turn ${turn.id}`));
      free = from + LABEL_WIDTH;
    }
    const quiet = this.axis.quiet.map(({from, to}) => ({from: this.x(from), to: this.x(to), length: to - from}));
    const wide = quiet.filter(({from, to}) => to - from >= 28).map(({from, to, length}) =>
      svg("text", {class: "overview-quiet-text", x: (from + to) / 2, y: MIDDLE - 3}, durationInWords(length)));
    clear(this.back,
      svg("path", {class: "overview-turn", d: bands}),
      svg("path", {class: "overview-quiet", d: quiet.map(({from, to}) => `M${from} ${top}H${to}V${bottom}H${from}Z`).join("")}),
      svg("path", {class: "overview-middle", d: `M0 ${MIDDLE}H${this.width}`}),
      labels, wide);
  }

  /**
   * @param {{prompt_seq: number, end_seq: number | null}} turn
   * @returns {[number, number]}
   */
  turnEnds(turn) {
    const {recording} = this.state;
    const last = turn.end_seq === null ? recording.rows - 1 : recording.nearest(turn.end_seq);
    return [this.x(this.times[recording.nearest(turn.prompt_seq)]), this.x(this.times[last])];
  }

  drawBars() {
    if (!this.width) return;
    const {everyRow, filtered} = this.state;
    const buckets = Math.max(1, Math.ceil(this.width / BAR));
    const all = this.counts(everyRow, buckets);
    const most = all.reduce((least, counts) => counts.reduce((a, b) => Math.max(a, b), least), 1);
    const heights = (/** @type {number} */ count) => count ? Math.max(2, HALF * Math.sqrt(count / most)) : 0;
    const drawn = (/** @type {Uint32Array[]} */ [up, down], /** @type {string} */ how) => [
      svg("path", {class: `overview-client ${how}`, d: barPath(up, (count) => -heights(count))}),
      svg("path", {class: `overview-agent ${how}`, d: barPath(down, heights)}),
    ];
    if (filtered === everyRow) clear(this.bars, drawn(all, ""));
    else clear(this.bars, drawn(all, "overview-faint"), drawn(this.counts(filtered, buckets), ""));
  }

  /**
   * @param {Int32Array} rows
   * @param {number} buckets
   */
  counts(rows, buckets) {
    const {recording} = this.state;
    const streams = ["to-agent", "to-client"].map((name) => recording.code(name) || -1);
    return countsByPlace(this.axis, this.times, recording.codes("stream"), streams, rows, buckets);
  }

  drawMarks() {
    if (!this.width) return;
    const near = MARK / this.width;
    const at = (/** @type {Iterable<number>} */ rows) =>
      markPlaces(this.axis, this.times, rows, near).map((place) => place * this.width);
    const triangles = at(this.state.problems).map((x) => `M${x} 13l-5 -10h10Z`);
    const diamonds = at(this.faults).map((x) => `M${x} 3l5 5l-5 5l-5 -5Z`);
    const hits = at(this.state.matched).map((x) => `M${x} ${STRIP_HEIGHT - 4}v4`);
    clear(this.marks, svg("path", {class: "overview-fault", d: diamonds.join("")}),
      svg("path", {class: "overview-problem", d: triangles.join("")}),
      svg("path", {class: "overview-hit", d: hits.join("")}));
  }

  drawCursor() {
    const {row} = this.state;
    this.cursor.setAttribute("visibility", row < 0 ? "hidden" : "visible");
    if (row < 0) return;
    const x = String(this.x(this.times[row]));
    this.cursor.setAttribute("x1", x);
    this.cursor.setAttribute("x2", x);
  }

  showRange() {
    const {range} = this.state;
    this.place(range === null ? [0, 1] : [placeOf(this.axis, range[0]), placeOf(this.axis, range[1])]);
    this.all.hidden = range === null;
    this.sayRange();
  }

  /** @param {[number, number]} shown places */
  place(shown) {
    this.shown = shown;
    const [from, to] = shown;
    this.before.style.setProperty("width", `${from * 100}%`);
    this.after.style.setProperty("left", `${to * 100}%`);
    this.after.style.setProperty("width", `${(1 - to) * 100}%`);
    this.handles.forEach((handle, at) => {
      handle.style.setProperty("left", `${shown[at] * 100}%`);
      handle.setAttribute("aria-valuenow", String(Math.round(shown[at] * 1000)));
      handle.setAttribute("aria-valuetext", `${(timeAt(this.axis, shown[at]) / 1e9).toFixed(3)} seconds`);
    });
  }

  sayRange() {
    const {range} = this.state;
    this.hint.textContent = range === null ? "" :
      `showing ${(range[0] / 1e9).toFixed(3)} s to ${(range[1] / 1e9).toFixed(3)} s`;
  }

  /** Shows the rows of the chosen places, or all. */
  apply() {
    const [from, to] = this.shown;
    const isAll = from <= 0 && to >= 1;
    this.state.setRange(isAll ? null : [Math.floor(timeAt(this.axis, from)), Math.ceil(timeAt(this.axis, to))]);
  }

  /**
   * @param {0 | 1} end
   * @param {string} label
   */
  handle(end, label) {
    return h("div", {
      class: "overview-handle", role: "slider", tabindex: 0, "aria-label": label,
      "aria-valuemin": 0, "aria-valuemax": 1000, "aria-orientation": "horizontal",
      on: {keydown: (/** @type {KeyboardEvent} */ event) => this.key(event, end)},
    });
  }

  /**
   * @param {KeyboardEvent} event
   * @param {0 | 1} end
   */
  key(event, end) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = event.shiftKey ? 0.05 : 0.01;
    /** @type {Record<string, number>} */
    const moves = {ArrowLeft: -step, ArrowDown: -step, ArrowRight: step, ArrowUp: step,
      PageDown: -0.1, PageUp: 0.1, Home: -1, End: 1};
    if (event.key === "Escape") this.state.setRange(null);
    if (!(event.key in moves)) return;
    event.preventDefault();
    event.stopPropagation();
    this.move(end, this.shown[end] + moves[event.key]);
    this.apply();
  }

  /**
   * @param {0 | 1} end
   * @param {number} place
   */
  move(end, place) {
    const [from, to] = this.shown;
    const least = 1 / 1000;
    this.place(end === 0
      ? [Math.max(0, Math.min(place, to - least)), to] : [from, Math.min(1, Math.max(place, from + least))]);
  }

  /** @param {PointerEvent} event */
  placeUnder(event) {
    const box = this.strip.getBoundingClientRect();
    return Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
  }

  /** @param {PointerEvent} event */
  press(event) {
    if (event.button !== 0) return;
    const end = this.handles.findIndex((handle) => handle === event.target);
    const start = this.placeUnder(event);
    const from = event.clientX;
    let moved = false;
    const drag = (/** @type {PointerEvent} */ next) => {
      moved ||= Math.abs(next.clientX - from) >= CLICK;
      if (!moved) return;
      const place = this.placeUnder(next);
      if (end === 0 || end === 1) this.move(end, place);
      else this.place([Math.min(start, place), Math.max(start, place)]);
    };
    const stop = (/** @type {PointerEvent} */ last) => {
      this.strip.removeEventListener("pointermove", drag);
      if (last.type === "pointercancel") this.showRange();
      else if (moved) this.apply();
      else if (end < 0) this.selectAt(start);
    };
    this.strip.setPointerCapture(event.pointerId);
    this.strip.addEventListener("pointermove", drag);
    this.strip.addEventListener("pointerup", stop, {once: true});
    this.strip.addEventListener("pointercancel", stop, {once: true});
  }

  /**
   * Selects the problem or fault at a place, or the first row from there on.
   * @param {number} place
   */
  selectAt(place) {
    const row = this.markAt(place);
    this.state.select(row < 0 ? this.rowAt(place) : row);
  }

  /** @param {number} place */
  rowAt(place) {
    return Math.min(this.state.recording.rowAt(timeAt(this.axis, place)), this.times.length - 1);
  }

  /**
   * The row of the problem or fault whose mark is nearest to a place; -1 if none is near.
   * @param {number} place
   */
  markAt(place) {
    const under = this.rowAt(place);
    let [found, nearest] = [-1, MARK / Math.max(1, this.width)];
    for (const rows of [this.state.problems, this.faults]) {
      const at = lowerBound(rows, under);
      for (const row of [rows[at - 1], rows[at]]) {
        const distance = row === undefined ? 1 : Math.abs(placeOf(this.axis, this.times[row]) - place);
        if (distance < nearest) [found, nearest] = [row, distance];
      }
    }
    return found;
  }

  /** @param {PointerEvent} event */
  point(event) {
    if (event.buttons || !this.times.length) return;
    const place = this.placeUnder(event);
    const {recording} = this.state;
    const mark = this.markAt(place);
    const row = mark < 0 ? this.rowAt(place) : mark;
    const what = mark < 0 ? "" : recording.problems.has(mark) ? "problem: " : "fault: ";
    const [sentence] = recording.problems.get(mark) ?? [];
    const named = sentence ?? recording.text("method", row) ?? recording.text("kind", row) ?? "";
    this.hint.textContent =
      `${(timeAt(this.axis, place) / 1e9).toFixed(3)} s · #${recording.numbers("seq")[row]} ${what}${named}`;
  }

  /** What the strip shows, in words. */
  words() {
    const {recording, problems} = this.state;
    if (!this.times.length) return "Nothing was recorded.";
    const seqs = recording.numbers("seq");
    const length = this.times[this.times.length - 1] - this.times[0];
    const turns = recording.meta.summary.turns.length;
    const parts = [`${durationInWords(length)}, ${countedAs(recording.rows, "row")}, ${countedAs(turns, "turn")}`];
    if (problems.length) {
      const named = [...problems.subarray(0, NAMED_PROBLEMS)].map((row) => `#${seqs[row]}`).join(" ");
      const more = problems.length > NAMED_PROBLEMS ? " …" : "";
      parts.push(`▼ ${countedAs(problems.length, "row")} with trouble (${named}${more})`);
    }
    if (this.faults.length) parts.push(`◆ faults at ${countedAs(this.faults.length, "row")}`);
    const {quiet} = this.axis;
    if (quiet.length) parts.push(`${countedAs(quiet.length, "dotted stretch", "es")} without a message, ${durationInWords(lengthOf(quiet))} in all, drawn short`);
    return parts.join(" · ");
  }
}

/**
 * The rows at which faults did something.
 * @param {import("../data/recording.js").Recording} recording
 * @returns {Int32Array}
 */
function faultRows(recording) {
  const [flags, faults] = [recording.numbers("flags"), recording.codes("fault")];
  const [streams, kinds] = [recording.codes("stream"), recording.codes("kind")];
  const [event, fault] = [recording.code("event"), recording.code("fault")];
  const rows = [];
  for (let row = 0; row < recording.rows; row++) {
    const isEvent = fault > 0 && streams[row] === event && kinds[row] === fault;
    if (flags[row] & 3 || faults[row] || isEvent) rows.push(row);
  }
  return Int32Array.from(rows);
}

/**
 * @param {Uint32Array} counts
 * @param {(count: number) => number} height
 */
function barPath(counts, height) {
  let path = "";
  counts.forEach((count, at) => {
    if (count) path += `M${at * BAR + BAR / 2} ${MIDDLE}v${height(count).toFixed(1)}`;
  });
  return path;
}

/**
 * @param {number} count
 * @param {string} word
 * @param {string} [ending] of several
 */
function countedAs(count, word, ending = "s") {
  return `${count.toLocaleString("en")} ${word}${count === 1 ? "" : ending}`;
}

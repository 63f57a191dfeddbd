// The strip above the views: how much passed when, turns, problems and faults, and the part of the
// time that is shown, which mouse and keyboard change.
import {lowerBound} from "../data/recording.js";
import {clear, h, svg} from "../shell/dom.js";
import {durationInWords, secondsInWords} from "../shell/words.js";
import {countsByPlace, lengthOf, markPlaces, placeOf, timeAt, timeAxis} from "./time_axis.js";

/** @typedef {import("../shell/state.js").State} State */

const STRIP_HEIGHT = 76;
const MIDDLE = 44;
const HALF = 24;
const BAR = 2;
const MARK = 6;
const CLICK = 5;
const LABEL_WIDTH = 46;
const NAMED_ROWS = 5;
const BAND = `V${STRIP_HEIGHT}H`;
const STEPS = 1000;

export class OverviewStrip {
  /** @param {HTMLElement} container @param {State} state */
  constructor(container, state) {
    this.state = state;
    this.recording = state.recording;
    this.times = this.recording.numbers("t_ns");
    this.axis = timeAxis(this.times);
    const [flags, faults] = [this.recording.numbers("flags"), this.recording.codes("fault")];
    this.faults = state.everyRow.filter((row) => flags[row] & 3 || faults[row]);
    this.width = 0;
    /** The places of the first and last time that are shown. @type {[number, number]} */
    this.chosen = [0, 1];
    this.back = svg("g", null);
    this.bars = svg("g", null);
    this.marks = svg("g", null);
    this.cursor = svg("line", {class: "overview-cursor", y1: 0, y2: STRIP_HEIGHT});
    this.picture = svg("svg", {height: STRIP_HEIGHT, "aria-hidden": "true"}, this.back, this.bars, this.marks, this.cursor);
    this.veil = h("div", {class: "overview-veil"});
    this.handles = ["Show from", "Show until"].map((label, end) => h("input", {
      class: "overview-handle", type: "range", min: 0, max: STEPS, "aria-label": label,
      on: {input: () => this.moveHandle(end), change: () => this.apply()},
    }));
    const on = {pointerdown: (/** @type {PointerEvent} */ event) => this.press(event)};
    this.strip = h("div", {class: "overview-strip", on}, this.picture, this.veil, this.handles);
    this.hint = h("span", {class: "overview-hint"});
    this.all = h("button", {type: "button", on: {click: () => state.setRange(null)}}, "Show all of the time");
    const foot = h("div", {class: "overview-foot"}, h("span", null, this.words()), this.hint, this.all);
    container.append(h("section", {class: "overview-box", "aria-label": "Overview"}, this.strip, foot));
    new ResizeObserver(() => this.draw()).observe(this.strip);
    state.on("shown", () => this.drawBars());
    state.on("range", () => this.showRange());
    state.on("row", () => this.drawCursor());
    state.on("matched", () => this.drawMarks());
    this.showRange();
  }

  draw() {
    if (this.strip.clientWidth === this.width) return;
    this.width = this.strip.clientWidth;
    this.picture.setAttribute("width", String(this.width));
    this.drawBack();
    this.drawBars();
    this.drawMarks();
    this.drawCursor();
  }

  /** @param {number} time */
  x = (time) => placeOf(this.axis, time) * this.width;

  drawBack() {
    const {recording, times} = this;
    const top = MIDDLE - HALF - 4;
    const labels = [];
    let [bands, free] = ["", 0];
    for (const {id, prompt_seq, end_seq} of recording.meta.summary.turns) {
      const row = recording.rowOf(prompt_seq);
      if (row < 0) continue;
      const from = this.x(times[row]);
      const to = Math.max(from + 1, this.x(times[end_seq === null ? times.length - 1 : recording.nearest(end_seq)]));
      bands += `M${from} ${top}${BAND}${to}V${top}Z`;
      if (from < free || (to - from < LABEL_WIDTH && free > 0)) continue;
      labels.push(svg("text", {x: from + 3, y: STRIP_HEIGHT - 2}, `turn ${id}`));
      free = from + LABEL_WIDTH;
    }
    let dotted = "";
    for (const {from, to} of this.axis.quiet) {
      const [left, right] = [this.x(from), this.x(to)];
      dotted += `M${left} ${top}${BAND}${right}V${top}Z`;
      const attributes = {class: "overview-length", x: (left + right) / 2, y: MIDDLE - 3};
      if (right - left > 28) labels.push(svg("text", attributes, durationInWords(to - from)));
    }
    clear(this.back, svg("path", {class: "overview-turn", d: bands}), svg("path", {class: "overview-quiet", d: dotted}),
      svg("path", {class: "overview-middle", d: `M0 ${MIDDLE}H${this.width}`}), labels);
  }

  drawBars() {
    const {recording, axis, times} = this;
    const streams = ["to-agent", "to-client"].map((name) => recording.code(name) || -1);
    const counts = countsByPlace(axis, times, recording.codes("stream"), streams, this.state.filtered, Math.ceil(this.width / BAR) || 1);
    const most = Math.max(1, ...counts.map((column) => column.reduce((a, b) => Math.max(a, b))));
    clear(this.bars, counts.map((column, down) => {
      let path = "";
      column.forEach((number, at) => {
        const height = Math.max(2, HALF * Math.sqrt(number / most));
        if (number) path += `M${at * BAR + BAR / 2} ${MIDDLE}v${(down ? height : -height).toFixed(1)}`;
      });
      return svg("path", {class: `overview-${down ? "agent" : "client"}`, d: path});
    }));
  }

  drawMarks() {
    const drawn = (/** @type {string} */ name, /** @type {Int32Array} */ rows, /** @type {(x: number) => string} */ shape) => {
      const places = markPlaces(this.axis, this.times, rows, MARK / Math.max(1, this.width));
      return svg("path", {class: `overview-${name}`, d: places.map((place) => shape(place * this.width)).join("")});
    };
    clear(this.marks, drawn("fault", this.faults, (x) => `M${x} 3l5 5l-5 5l-5 -5Z`),
      drawn("problem", this.state.problems, (x) => `M${x} 13l-5 -10h10Z`),
      drawn("hit", this.state.matched, (x) => `M${x} ${STRIP_HEIGHT - 4}v4`));
  }

  drawCursor() {
    const {row} = this.state;
    this.cursor.setAttribute("visibility", row < 0 ? "hidden" : "visible");
    this.cursor.setAttribute("transform", `translate(${row < 0 ? 0 : this.x(this.times[row])})`);
  }

  showRange() {
    const {range} = this.state;
    this.choose(range === null ? [0, 1] : [placeOf(this.axis, range[0]), placeOf(this.axis, range[1])]);
    this.all.hidden = range === null;
    const [from, to] = (range ?? []).map(inSeconds);
    this.hint.textContent = range === null ? "" : `showing ${from} to ${to}`;
  }

  /** @param {[number, number]} chosen places */
  choose(chosen) {
    this.chosen = chosen;
    const [from, to] = chosen.map((place) => `${place * 100}%`);
    this.veil.style.setProperty("background", `linear-gradient(90deg, var(--paper) ${from}, transparent ${from} ${to}, var(--paper) ${to})`);
    this.handles.forEach((handle, end) => {
      handle.value = String(Math.round(chosen[end] * STEPS));
      handle.setAttribute("aria-valuetext", inSeconds(timeAt(this.axis, chosen[end])));
    });
  }

  /** Shows the rows of the chosen places. */
  apply() {
    const [from, to] = this.chosen;
    const isAll = from <= 0 && to >= 1;
    this.state.setRange(isAll ? null : [Math.floor(timeAt(this.axis, from)), Math.ceil(timeAt(this.axis, to))]);
  }

  /** @param {number} end 0 or 1 */
  moveHandle(end) {
    const [from, to] = this.chosen;
    const place = Number(this.handles[end].value) / STEPS;
    this.choose(end ? [Math.min(from, place), place] : [place, Math.max(place, to)]);
  }

  /** @param {PointerEvent} event */
  placeUnder(event) {
    const {left, width} = this.strip.getBoundingClientRect();
    return Math.max(0, Math.min(1, (event.clientX - left) / width));
  }

  /** @param {PointerEvent} event */
  press(event) {
    if (event.button !== 0 || this.handles.some((handle) => handle === event.target)) return;
    const start = this.placeUnder(event);
    const listening = new AbortController();
    let moved = false;
    const drag = (/** @type {PointerEvent} */ next) => {
      moved ||= Math.abs(next.clientX - event.clientX) >= CLICK;
      const place = this.placeUnder(next);
      if (moved) this.choose([Math.min(start, place), Math.max(start, place)]);
    };
    const stop = (/** @type {PointerEvent} */ last) => {
      listening.abort();
      if (last.type === "pointercancel") this.showRange();
      else if (moved) this.apply();
      else this.state.select(this.rowAt(start));
    };
    this.strip.setPointerCapture(event.pointerId);
    this.strip.addEventListener("pointermove", drag, listening);
    this.strip.addEventListener("pointerup", stop, listening);
    this.strip.addEventListener("pointercancel", stop, listening);
  }

  /**
   * The row of the problem or fault whose mark is at a place, else the first row from there on.
   * @param {number} place
   */
  rowAt(place) {
    const under = Math.min(this.recording.rowAt(timeAt(this.axis, place)), this.times.length - 1);
    let [found, nearest] = [under, MARK];
    for (const rows of [this.state.problems, this.faults]) {
      const at = lowerBound(rows, under);
      for (const row of rows.subarray(Math.max(0, at - 1), at + 1)) {
        const distance = Math.abs(this.x(this.times[row]) - place * this.width);
        if (distance < nearest) [found, nearest] = [row, distance];
      }
    }
    return found;
  }

  /** What the strip shows, in words. */
  words() {
    const {times, axis} = this;
    const seqs = this.recording.numbers("seq");
    const named = (/** @type {string} */ what, /** @type {Int32Array} */ rows) => {
      const first = [...rows.subarray(0, NAMED_ROWS)].map((row) => ` #${seqs[row]}`).join("");
      return rows.length && `${what} at${first}${rows.length > NAMED_ROWS ? ` and ${rows.length - NAMED_ROWS} more` : ""}`;
    };
    return [
      times.length ? durationInWords(times[times.length - 1] - times[0]) || "no times: in the order of the frames" : "nothing was recorded",
      named("▼ findings", this.state.problems), named("◇ faults", this.faults),
      axis.quiet.length && `quiet for ${durationInWords(lengthOf(axis.quiet))} where dotted, drawn short`,
    ].filter(Boolean).join(" · ");
  }
}

/** @param {number} time */
const inSeconds = (time) => secondsInWords(time, "", " s");

// The strip above the views. It shows the traffic over time, turns, problems and faults. It also
// shows the range of time to which the views are limited; mouse and keyboard change this range.
import { button, clear, div, durationInWords, h, secondsInWords, span, svg } from "../shell/dom.js";
import { debtsOf, endsOf, openSpans } from "./lanes.js";
import { axisTicks, countsByPlace, drawnGaps, grouped, lengthOf, placeOf } from "./time_axis.js";
import { scaleBreaks, timeAt, timeAxis } from "./time_axis.js";

/**
 * @typedef {import("../shell/state.js").State} State
 * @typedef {import("./lanes.js").Span} Span
 */

/** In pixels: the place of the middle line, the smallest visible width, and the width of a mark. */
const MIDDLE = 44;
const SEEN = 2;
const MARK = 10;
/**
 * The words for who has to answer, by lane; all other lanes are the client.
 * @type {Record<string, string>}
 */
const AWAITED = { person: "a person", agent: "the agent", proxy: "the proxy" };
const NAMED_ROWS = 5;
const STEPS = 1000;

export class OverviewStrip {
  spans = /** @type {Span[]} */ ([]);
  axis = timeAxis(new Float64Array(0));
  /** The time of the last row, or of the end of a pause that lasts until now. */
  end = 0;
  /** The timer of the next drawing. */
  timer = 0;
  /** The time between a change and the next drawing, so that not each new frame is drawn. */
  pause = 200;

  /** @param {HTMLElement} box @param {State} state */
  constructor(box, state) {
    this.state = state;
    this.recording = state.recording;
    /** The position where the pointer was pressed; NaN while the pointer is not pressed. */
    this.start = NaN;
    this.isDragged = false;
    this.bars = svg("g", null);
    this.hits = svg("g", null);
    this.cursor = div("overview-cursor");
    this.width = 0;
    this.veil = div("overview-veil");
    this.handles = ["Show from", "Show until"].map((label, end) => h("input", {
      class: "overview-handle", type: "range", min: 0, max: STEPS, "aria-label": label,
      on: { input: () => this.moveHandle(end), change: () => this.apply() },
    }));
    const types = ["pointerdown", "pointermove", "pointerup", "pointercancel"];
    const on = Object.fromEntries(types.map((type) => [type, this.onPointer]));
    this.scene = div("overview-scene");
    this.strip = h("div", { class: "overview-strip", on }, this.scene, this.veil, this.handles);
    this.hint = span("overview-hint");
    const all = button("Show all of the time", () => state.setRange(null));
    this.said = span("");
    const own = { class: "overview-box", "aria-label": "Overview" };
    box.append(h("section", own, this.strip, div("overview-foot", this.said, this.hint, all)));
    // The list is drawn before the bars.
    state.on("shown", () => setTimeout(() => this.drawBars()));
    state.on("grew", () => (this.timer ||= window.setTimeout(() => this.draw(), this.pause)));
    const isOther = () => this.width !== this.strip.clientWidth;
    new ResizeObserver(() => isOther() && this.fit()).observe(this.strip);
    state.on("range", () => this.showRange());
    state.on("row", () => this.drawCursor());
    state.on("matched", () => this.drawHits());
    this.draw();
  }

  /** The times of all rows. New rows are not on the axis until the strip is drawn again. */
  get times() { return this.recording.numbers("t_ns"); }

  /** Reads the recording anew, and draws it. */
  draw() {
    const [{ recording }, began] = [this, performance.now()];
    this.timer = 0;
    this.spans = openSpans(recording);
    const [times, debts] = [this.times.toArray(), debtsOf(recording, this.spans)];
    const [streams, event] = [recording.codes("stream"), recording.code("event") || -1];
    const isEvent = (/** @type {number} */ row) => streams.at(row) === event;
    // The start and the end of a program are no part of the conversation.
    const has = (/** @type {number} */ row) =>
      recording.pauses.has(row) || isEvent(row) || isEvent(row - 1);
    // A pause that lasts until now has no row at its end.
    const open = recording.pauses.get(recording.rows);
    this.end = (open ? times[recording.rowOf(open.before)] + open.ns : times.at(-1)) || 0;
    this.axis = !open ? timeAxis(times, debts, { has }) : timeAxis(
      Float64Array.from([...times, this.end]), Uint8Array.from([...debts, open.debt]), { has });
    clear(this.said, this.words());
    this.fit();
    // If drawing takes long, the strip is drawn less often; but the first facts are drawn soon.
    this.pause = recording.meta.partial ? 50 : Math.max(200, 40 * (performance.now() - began));
  }

  /** Draws the strip in its present width. The bars are drawn a moment later. */
  fit() {
    this.width = this.strip.clientWidth;
    clear(this.scene, this.picture());
    setTimeout(() => this.drawBars());
    this.drawHits();
    this.drawCursor();
    this.showRange();
  }

  /**
   * Draws the parts that depend only on the rows and the width, and empty elements for all other
   * parts.
   */
  picture() {
    const { recording, axis, times, state, width } = this;
    const { turns, checked } = recording.meta.summary;
    const timeOf = (/** @type {number | null} */ seq) =>
      times.at(recording.nearest(seq ?? Infinity));
    const bands = turns.map((/** @type {any} */ { id, prompt_seq, end_seq }) =>
      ({ row: id, from: timeOf(prompt_seq), to: end_seq ? timeOf(end_seq) : this.end, debt: 0 }));
    const drawn = drawnGaps(axis, SEEN / width, axis.gaps, this.isSilent);
    // A gap has jagged lines only at its ends, so that its words are between them.
    const xs = scaleBreaks(axis).filter((place) =>
      !drawn.some(({ left, right }) => left < place && place < right));
    const tears = grouped(xs, (x, [first]) => (x - first) * width < MARK)
      .map(([x]) => tear(x * width));
    const view = { viewBox: `0 0 ${width} ${76}`, preserveAspectRatio: "none" };
    const lines = svg("svg", { ...view, "aria-hidden": "true" },
      svg("path", { class: "overview-middle", d: `M0 ${MIDDLE}H${width}` }),
      svg("path", { class: "overview-tear", d: tears.join("") }), this.bars, this.hits);
    const most = inSeconds(0) === "" ? 0 : Math.max(2, width / 100);
    const ticks = axisTicks(axis, most, recording.meta.step_ns);
    return [
      ...drawnGaps(axis, SEEN / width, bands).map((band) => this.turn(band)),
      ...drawn.map((gap) => this.gap(gap)),
      lines, this.cursor,
      ...ticks.map(({ time, place, digits }) =>
        h("span", { class: "overview-tick", style: { left: `${place * 100}%` } },
          `${Number((time / 1e9).toFixed(digits))} s`)),
      checked?.is_whole === false && this.stretch("unchecked",
        placeOf(axis, timeOf(checked.last_seq)), 1, "rules not checked from here on"),
      ...this.marks(this.faults(), () => "fault"),
      ...this.marks(state.problems, (row) => (state.isWarned(row) ? "warning" : "problem")),
    ];
  }

  /** Whether a range of rows contains no message. @param {number} from @param {number} to */
  isSilent = (from, to) =>
    !this.state.everyRow.subarray(from, to).some((row) => endsOf(this.recording, row));

  /** The rows that faults have changed or made up. */
  faults() {
    const [flags, faults] = [this.recording.numbers("flags"), this.recording.codes("fault")];
    return this.state.everyRow.filter((row) => flags.at(row) & 3 || faults.at(row));
  }

  /**
   * A part of the strip with words. Words are hidden if the part is too narrow for them.
   * @param {string} name @param {number} left @param {number} right @param {string[]} words
   */
  stretch(name, left, right, ...words) {
    const style = { left: `${left * 100}%`, width: `${(right - left) * 100}%` };
    const lines = words.filter(Boolean);
    return h("div", { class: `overview-stretch overview-${name}`, style, title: lines.join(" ") },
      // A narrower part has no words.
      (right - left) * this.width > 28 && [h("i", null), ...lines.map((one) => span("", one))]);
  }

  /** @param {import("./time_axis.js").DrawnGap} band of turns */
  turn({ left, right, gaps: [{ row: first }, ...others] }) {
    const last = others.pop()?.row;
    return this.stretch("turn", left, right, last ? `turns ${first}–${last}` : `turn ${first}`);
  }

  /**
   * A gap with its length, and who was waited for.
   * @param {import("./time_axis.js").DrawnGap} gap
   */
  gap({ left, right, debt, gaps }) {
    const words = new Set(gaps.slice(0, NAMED_ROWS).map((gap) => this.awaitedIn(gap) ?? ""));
    const { isNow } = this.recording.pauses.get(gaps[gaps.length - 1].row) ?? {};
    const length = isNow ? "" : durationInWords(lengthOf(gaps));
    return this.stretch(`gap debt-${debt} ${isNow ? "now" : ""}`, left, right, length, ...words);
  }

  /**
   * Who is waited for in a gap: the party that a marked pause names, or else the tool call that the
   * agent runs, or else the party that has to answer the last open request.
   * @param {import("./time_axis.js").Gap} gap
   */
  awaitedIn({ row, from, to, debt }) {
    const endless = () =>
      [...this.recording.pauses].filter(([end, one]) => end < row && one.debt === debt).pop()?.[1];
    const pause = this.recording.pauses.get(row) ?? (debt === 2 ? endless() : undefined);
    const span = this.spans.filter(({ from, to }) => from < row && row <= to).pop();
    if (pause || !span) return pause?.awaited;
    const call = this.recording.steps.findLast(({ kind, seq, duration_ns }) => {
      const start = this.times.at(this.recording.rowOf(seq));
      return kind === "tool_call" && start <= from && to <= start + duration_ns;
    });
    if (call && span.lane === "agent") return `call ${call.title}`;
    return `${AWAITED[span.lane] ?? "the client"}: ${this.recording.text("method", span.row)}`;
  }

  /**
   * Marks for rows. Marks that would touch are drawn as one mark, with the number of these marks.
   * @param {Int32Array} rows @param {(row: number) => string} kindOf
   */
  marks(rows, kindOf) {
    const [{ recording }, open] = [this, this.recording.pauses.get(this.recording.rows)];
    // The mark of a request that is still open is where the present wait begins, after all others.
    const isOpen = (/** @type {number} */ row) => open?.isNow
      && recording.problems.get(row)?.some(({ rule }) => rule === "wait.unanswered");
    const placeOfRow = (/** @type {number} */ row) => placeOf(this.axis,
      this.times.at(open && isOpen(row) ? recording.rowOf(open.before) : row));
    const inOrder = [...rows.filter((row) => !isOpen(row)), ...rows.filter(isOpen)];
    const groups = grouped(inOrder, (row, group) =>
      (placeOfRow(row) - placeOfRow(group[0])) * this.width < (group[1] ? 28 : MARK));
    return groups.map((group) => {
      const style = { left: `${placeOfRow(group[group.length >> 1]) * 100}%` };
      const kind = group.map(kindOf).find((one) => one !== "warning") ?? "warning";
      const found = group.slice(0, NAMED_ROWS).flatMap((row) =>
        recording.problems.get(row)?.map(({ text }) => text) ?? []);
      return button(group.length > 1 && group.length, () => this.state.select(group[0]),
        { class: `overview-mark mark-${kind}`, title: found.join("\n"), style, tabindex: -1 });
    });
  }

  /**
   * A shape at each position of the strip at which there are rows.
   * @param {string} name @param {Int32Array} rows @param {(count: number) => string} shape
   */
  path(name, rows, shape) {
    const counts = this.counts(rows);
    const shapes = Array.from(counts, (count, at) =>
      count && `M${((at + 0.5) * this.width) / counts.length} ${shape(count)}`);
    return svg("path", { class: `overview-${name}`, d: shapes.filter(Boolean).join("") });
  }

  /** For each bar, the number of rows that it represents. @param {Int32Array} rows */
  counts = (rows) =>
    countsByPlace(this.axis, this.times, rows, Math.max(1, Math.round(this.width / 3)));

  drawBars() {
    const { rows: filtered } = this.state.applied;
    const streams = this.recording.codes("stream");
    const most = Math.max(...this.counts(filtered));
    /** @param {string} name @param {string} stream @param {number} half */
    const bars = (name, stream, half) => {
      const code = this.recording.code(stream);
      const rows = filtered.filter((row) => streams.at(row) === code);
      return this.path(name, rows, (count) =>
        `${MIDDLE}v${half * (0.4 + 0.6 * Math.sqrt(count / most))}`);
    };
    clear(this.bars, bars("client", "to-agent", -15), bars("agent", "to-client", 15));
  }

  drawHits = () => clear(this.hits, this.path("hit", this.state.matched, () => "72v4"));

  drawCursor = () => this.cursor.style.setProperty("left",
    `${placeOf(this.axis, this.times.at(this.state.row)) * 100}%`);

  showRange() {
    const { range } = this.state;
    this.choose(range === null ? [0, 1] : range.map((time) => placeOf(this.axis, time)));
    this.hint.textContent = range === null ? "" : `showing ${range.map(inSeconds).join(" to ")}`;
  }

  /** The two ends of the chosen range, as positions from 0 to 1. */
  get chosen() { return this.handles.map(({ value }) => Number(value) / STEPS); }

  /** @param {number[]} chosen places */
  choose(chosen) {
    const [from, to] = chosen.map((place) => `${place * 100}%`);
    const ends = `var(--paper) ${from}, transparent ${from} ${to}, var(--paper) ${to}`;
    this.veil.style.setProperty("background", `linear-gradient(90deg, ${ends})`);
    this.handles.forEach((handle, end) => {
      handle.value = String(Math.round(chosen[end] * STEPS));
      handle.setAttribute("aria-valuetext", inSeconds(timeAt(this.axis, chosen[end])));
    });
  }

  /** Shows the rows in the chosen range. */
  apply() {
    const [from, to] = this.chosen;
    const [first, last] = this.chosen.map((place) => timeAt(this.axis, place));
    this.state.setRange(from === 0 && to === 1 ? null : [Math.floor(first), Math.ceil(last)]);
  }

  /** Moves the other handle, too, if the moved handle has passed it. @param {number} end 0 or 1 */
  moveHandle(end) {
    const { chosen } = this;
    chosen[1 - end] = end ? Math.min(...chosen) : Math.max(...chosen);
    this.choose(chosen);
  }

  /** Chooses a stretch of time by a drag, and a row by a click. @param {PointerEvent} event */
  onPointer = ({ type, target, button, pointerId, clientX }) => {
    const { recording, axis } = this;
    const { left, width } = this.strip.getBoundingClientRect();
    const place = Math.max(0, Math.min(1, (clientX - left) / width));
    const isOther = target instanceof Element && target.matches("input, .overview-mark");
    if (type === "pointerdown" && button === 0 && !isOther) {
      [this.start, this.isDragged] = [place, false];
      this.strip.setPointerCapture(pointerId);
    }
    if (Number.isNaN(this.start)) return;
    // A shorter movement of the pressed pointer is a click.
    this.isDragged ||= Math.abs(place - this.start) * width >= 5;
    if (this.isDragged) this.choose([this.start, place].sort((a, b) => a - b));
    if (type === "pointerdown" || type === "pointermove") return;
    this.start = NaN;
    if (type === "pointercancel") this.showRange();
    else if (this.isDragged) this.apply();
    else this.state.select(Math.min(recording.rowAt(timeAt(axis, place)), recording.rows - 1));
  };

  /** Describes in words what the strip shows. */
  words() {
    // The present wait has a clock, and these figures have none.
    const [{ times, axis }, isNow] = [this, this.recording.pauses.get(this.recording.rows)?.isNow];
    const length = isNow ? "running" : durationInWords(this.end - times.at(0));
    const [idle, waited, never] = [[0], [1, 2], [2]].map((debts) => durationInWords(
      lengthOf(axis.gaps.filter(({ debt }) => debts.includes(debt))) || NaN));
    return [
      times.length ? length || "no times: in the order of the frames" : "nothing was recorded",
      this.state.problems.length > 0 && "● finding", this.faults().length > 0 && "■ fault",
      waited && `hatched: ${isNow ? "" : `${waited} of `}waiting`, never && `red: ${never} never answered`,
      idle && `dotted: ${idle} idle, drawn short`, scaleBreaks(axis).length && "≷ change of scale",
    ].filter(Boolean).join(" · ");
  }
}

/** A jagged band below the names of turns, where the scale changes. @param {number} x */
const tear = (x) => `M${x - 4} 27${"l4 4l-4 4".repeat(6)}h4${"l4 -4l-4 -4".repeat(6)}z`;

/** @param {number} time */
const inSeconds = (time) => secondsInWords(time, "", " s");

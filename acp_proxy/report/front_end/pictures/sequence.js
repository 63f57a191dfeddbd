// The sequence diagram: client and agent, who else answers, and the proxy where faults did
// something. It is a virtual list; each row is a small drawing with its text beside the arrow.
import { durationInWords, secondsInWords, sizeInWords, visibleText } from "../shell/words.js";
import { clear, h, svg } from "../shell/dom.js";
import { VirtualList } from "../shell/virtual_list.js";
import { readable, textOfRows } from "../list/texts.js";
import { pauseWords, pausesOf } from "./pauses.js";
import { arrowsOf, endsOf, lanesOf, lateUpdates, openSpans, sequenceItems } from "./lanes.js";

/**
 * @typedef {import("../shell/state.js").State} State
 * @typedef {import("../shell/app.js").View} View
 * @typedef {import("../data/recording.js").RowCells} RowCells
 * @typedef {import("./lanes.js").Lane} Lane
 * @typedef {import("./lanes.js").Item} Item
 */

const SEQUENCE_ROW = 30;
const ARROW_Y = 22;
const SLANT_FROM = 20;
const SLANT_TO = 28;
const SUB_LANE = 8;
const EDGE = 5;
const LABEL_CHARACTERS = 300;
const FIGURES = { cross: "✗", changed: "≠", made: "+", clock: "■" };
/** What lines mean, by the class that draws them. */
const KEY = { request: "request", response: "answer", bar: "has to answer", never: "never answers" };
const KEY_OF_FAULTS = "by a fault: ✗ dropped, ≠ changed, + made up, ■ held";

/** @type {View} */
export const sequenceView = { name: "sequence", title: "Sequence", key: "2", mount: (container, state) => new SequenceView(container, state) };

class SequenceView {
  /** @param {HTMLElement} container @param {State} state */
  constructor(container, state) {
    this.state = state;
    this.recording = state.recording;
    this.facts = diagramFacts(this.recording);
    /** @type {Item[]} */
    this.items = [];
    this.heads = h("span", { class: "sequence-field", role: "columnheader" });
    this.list = new VirtualList({
      label: "Sequence of messages",
      rowHeight: SEQUENCE_ROW,
      head: [h("span", { role: "columnheader" }, "Frame"), this.heads],
      render: (item, node) => this.render(this.items[item], node),
      onActive: (item) => state.select(this.items[item].row),
    });
    this.empty = h("p", { class: "list-empty", hidden: true }, "No frame matches the filter and the chosen time.");
    const lines = Object.entries(KEY).map(([name, words]) => h("span", null, h("i", { class: `key-${name}` }), words));
    this.faults = h("span", null, KEY_OF_FAULTS);
    const key = h("p", { class: "sequence-key" }, lines, this.faults);
    this.element = h("div", { class: "sequence" }, this.list.element, this.empty, key);
    container.append(this.element);
  }

  /** Takes what the recording says at the moment. */
  read() {
    this.facts = diagramFacts(this.recording);
    this.faults.hidden = !this.facts.places.has("proxy");
    clear(this.heads, this.facts.lanes.map((lane) =>
      h("span", { class: `sequence-head lane-${lane}`, style: { left: `${this.place(lane)}%` } }, lane)));
    const lifelines = [...this.facts.places.values()].map((place) => `linear-gradient(var(--line), var(--line)) ${place}% 0 / 1px 100% no-repeat`);
    this.element.style.setProperty("--lifelines", lifelines.join(", "));
  }

  /** @param {import("../shell/app.js").Change} change */
  update(change) {
    if (change === "row") this.goTo();
    else if (change === "loaded") this.list.refresh();
    else if (change === "shown" || change === "view") this.build("center");
    else if (change === "grew") this.build("kept");
  }

  hide() {
    this.list.setItems([]);
  }

  /** @param {"center" | "kept"} place of the chosen row */
  build(place) {
    this.read();
    this.items = sequenceItems(this.recording, this.state.shown, this.facts.pauses);
    this.list.setItems(this.items.map((_, at) => at), this.indexOf(this.state.row), place);
    this.empty.hidden = this.items.length > 0;
  }

  goTo() {
    const { row } = this.state;
    const active = this.items[this.list.active];
    if (active === undefined || row < active.row || row > active.last) this.list.setActive(this.indexOf(row));
  }

  /** @param {number} row */
  indexOf(row) {
    return this.items.findIndex((item) => item.kind === "frame" && item.row <= row && row <= item.last);
  }

  /** @param {Lane} lane */
  place = (lane) => this.facts.places.get(lane) ?? EDGE;

  /** @param {Item} item @param {HTMLElement} node */
  render(item, node) {
    const { recording } = this;
    const { row, kind, after } = item;
    const labels = this.labels(item, recording.cellsNow(row));
    const words = labels.map(({ textContent }) => textContent ?? "");
    const problems = kind === "frame" ? recording.problems.get(row)?.map(({ text }) => text) : undefined;
    const number = kind === "frame" ? this.number(item) : "";
    const pause = after >= 0 ? durationInWords(after, ", ") : "";
    const trouble = problems ? `. Problem: ${problems.join(" ")}` : "";
    const classes = ["stream", "tone"].map((name) => `${name}-${recording.text(name, row)}`);
    node.classList.add("sequence-row", `sequence-${kind}`, ...classes);
    node.classList.toggle("sequence-trouble", problems !== undefined);
    node.title = visibleText([...words, ...(problems ?? [])].join("\n"));
    node.setAttribute("aria-label", `${number} ${words.join("; ")}${pause && `${pause} after`}${trouble}`);
    const time = kind === "gap" || kind === "turn" ? "" : secondsInWords(item.time, "", " s");
    const drawing = svg("svg", { "aria-hidden": "true" }, this.bars(item), this.arrows(item));
    node.append(
      h("span", { class: "sequence-when", role: "gridcell" }, h("b", null, problems ? "▼ " : "", number), time),
      h("span", { class: "sequence-field", role: "gridcell" }, drawing, labels));
  }

  /** @param {Item} item */
  number({ row, last }) {
    const seqs = this.recording.numbers("seq");
    return last > row ? `#${seqs[row]}–${seqs[last]}` : `#${seqs[row]}`;
  }

  /** Who has to answer, as bars, and what the proxy holds. @param {Item} item */
  bars({ kind, seen, last, held, delay, delivered }) {
    const isFrame = kind === "frame";
    const end = isFrame ? last : seen;
    const spans = this.facts.spans.filter(({ from, to }) => from <= end && seen < to);
    const bars = this.facts.lanes.map((lane) => {
      const [above, below] = [seen, end].map((row) =>
        spans.filter((span) => span.lane === lane && span.from <= row && row < span.to));
      const how = !this.recording.isOpen && below.some(({ to }) => to === Infinity) ? "never" : "";
      const [top, bottom] = [above.length ? 0 : ARROW_Y, below.length ? SEQUENCE_ROW : ARROW_Y];
      return top < bottom && this.bar(lane, top, bottom, how);
    });
    const isOnlyHere = held === 1 && isFrame && delay > 0 && !delivered;
    const bottom = held > 0 ? SEQUENCE_ROW : kind === "delivery" ? SLANT_FROM : 0;
    return [...bars, bottom > 0 && this.bar("proxy", isOnlyHere ? ARROW_Y : 0, bottom, "held")];
  }

  /** @param {Lane} lane @param {number} y1 @param {number} y2 @param {string} how */
  bar(lane, y1, y2, how) {
    const x = `${this.place(lane)}%`;
    return svg("line", { class: `sequence-bar lane-${lane} ${how}`, x1: x, x2: x, y1, y2 });
  }

  /** @param {Item} item */
  arrows(item) {
    const kind = `kind-${this.recording.text("kind", item.row)}`;
    const drawn = arrowsOf(this.recording, item).flatMap(({ from, to, end, slanted }) => {
      const [x1, x2] = [this.place(from), this.place(to)];
      const y1 = slanted && !item.delivered ? SLANT_FROM : ARROW_Y;
      const y2 = slanted ? SLANT_TO : ARROW_Y;
      const line = svg("line", { class: `sequence-arrow ${kind}`, x1: `${x1}%`, x2: `${x2}%`, y1, y2 });
      const head = svg("path", { class: "sequence-point", d: `M0 0L${x1 < x2 ? -9 : 9} -4.5V4.5Z` });
      const point = svg("svg", { x: `${x2}%`, y: y2 }, head);
      return [line, end === "head" ? point : this.figure(to, y2, end)];
    });
    const isMade = item.kind === "frame" && this.recording.text("fate", item.row) === "injected";
    return [...drawn, isMade && this.figure("proxy", ARROW_Y, "made")];
  }

  /** @param {Lane} lane @param {number} y @param {keyof typeof FIGURES} name */
  figure(lane, y, name) {
    const attributes = { class: `sequence-figure figure-${name}`, x: `${this.place(lane)}%`, y };
    return svg("text", attributes, FIGURES[name]);
  }

  /**
   * The texts of an item: one, or one for each half where a fault made a difference.
   * @param {Item} item @param {RowCells | null} cells
   */
  labels(item, cells) {
    const { recording } = this;
    const ends = endsOf(recording, item.row);
    const pause = item.kind === "gap" && this.facts.pauses.get(item.row);
    if (pause) return [h("span", { class: `sequence-box debt-${pause.debt}` }, pauseWords(pause))];
    if (item.kind === "turn") return [h("b", null, `turn ${recording.numbers("turn")[item.row]}`)];
    if (ends === null) return [this.boxed(recording.text("kind", item.row) ?? "", cells?.text ?? "")];
    const { from, to } = ends;
    const fate = recording.text("fate", item.row);
    const rules = cells?.fired.map((one) => one.rule).join(", ");
    const rule = visibleText(rules || recording.text("fault", item.row) || "");
    const said = (/** @type {Lane} */ from, /** @type {Lane} */ to) =>
      this.label(from, to, ...this.badges(item), h("b", null, this.verb(item)), " ", ...readable(this.text(item, cells)));
    const fault = (/** @type {Lane} */ from, /** @type {Lane} */ to, /** @type {string} */ words) =>
      this.label(from, to, h("span", { class: "fault" }, words));
    if (fate === "undelivered" || (!fate && !item.delay)) return [said(from, to)];
    const late = item.delay ? durationInWords(item.delay) : "";
    const by = rule ? ` (${rule})` : ", in the queue";
    const other = fate === "changed" ? `as ${instead(cells)}` : "";
    if (item.kind === "delivery") {
      return [fault("proxy", to, `${this.number(item)} arrives ${late} late ${other}`)];
    }
    if (fate === "injected") {
      return [said("proxy", to), fault(from, "proxy", `made up by ${rule}${late && `, held ${late}`}`)];
    }
    const arrived = item.delivered ? `${late} late${by} ${other}` : late ? `held ${late}${by}` : `${other}${by}`;
    return [said(from, "proxy"), fault("proxy", to, fate === "dropped" ? `dropped by ${rule}` : arrived)];
  }

  /**
   * A text beside an arrow.
   * @param {Lane} from @param {Lane} to @param {...(Node | string)} text
   */
  label(from, to, ...text) {
    const ends = h("span", { class: "visually-hidden" }, `${from} → ${to} `);
    return this.between(from, to, ends, ...text);
  }

  /**
   * The text of what is no message: an event, a line on stderr, a pause.
   * @param {string} name @param {string} text
   */
  boxed(name, text) {
    const box = h("span", { class: `sequence-box box-${name}` }, h("b", null, name), ` ${text}`);
    return this.between("client", "agent", box);
  }

  /** @param {Lane} from @param {Lane} to @param {...(Node | string)} text */
  between(from, to, ...text) {
    const places = [from, to].map((lane) => Math.max(this.place(lane), this.place("client")));
    const [left, right] = [Math.min(...places), Math.max(...places)];
    const style = { left: `calc(${left}% + 12px)`, "--room": `calc(${right - left}% - 24px)` };
    return h("span", { class: "sequence-label", style }, text);
  }

  /** @param {Item} item */
  verb({ row, last, count }) {
    const { recording } = this;
    const verb = recording.verb(row);
    if (/ [✓✗]$/.test(verb)) return verb + durationInWords(recording.numbers("latency_ns")[row], " after ");
    const took = recording.numbers("t_ns")[last] - recording.numbers("t_ns")[row];
    return count === 1 ? verb : `${verb} ×${count}${took > 0 ? durationInWords(took, " in ") : ""}`;
  }

  /**
   * The preview of a frame, without the words on faults before it, or the text of a run.
   * @param {Item} item @param {RowCells | null} cells
   */
  text({ row, last }, cells) {
    const text = textOfRows(this.recording, this.state.shown, row, last) ?? "";
    return cells?.fired.length && text.startsWith("[") ? text.slice(text.indexOf("] ") + 2) : text;
  }

  /** @param {Item} item */
  badges({ row, last }) {
    const { recording } = this;
    const isUnanswered = Number.isNaN(recording.numbers("response_seq")[row]);
    if (recording.text("kind", row) === "request" && isUnanswered) {
      return [h("span", { class: "badge trouble" }, recording.isOpen ? "open" : "never answered"), " "];
    }
    const isLate = this.facts.late.has(row) || this.facts.late.has(last);
    return isLate ? [h("span", { class: "badge caution" }, "after the end of its turn"), " "] : [];
  }
}

/**
 * What a recording says at the moment.
 * @param {import("../data/recording.js").Recording} recording
 */
function diagramFacts(recording) {
  const lanes = lanesOf(recording);
  return { lanes, places: lanePlaces(lanes), spans: openSpans(recording), late: lateUpdates(recording), pauses: pausesOf(recording) };
}

/**
 * Where the lanes are, in percent of the width.
 * @param {Lane[]} lanes from left to right
 * @returns {Map<Lane, number>}
 */
function lanePlaces(lanes) {
  const client = EDGE + lanes.indexOf("client") * SUB_LANE;
  const agent = 100 - EDGE;
  return new Map(lanes.map((lane, at) =>
    [lane, lane === "agent" ? agent : lane === "proxy" ? (client + agent) / 2 : EDGE + at * SUB_LANE]));
}

/** What was delivered in place of a frame. @param {RowCells | null} cells */
function instead(cells) {
  const found = cells?.fired.find((one) => !one.made && one.size > 0);
  if (!found) return "other bytes";
  const end = found.delivered === null || found.delivered.endsWith("\n") ? "" : " without a newline";
  return `${sizeInWords(found.size)}${end}: ${visibleText((found.delivered ?? "no text").trimEnd().slice(0, LABEL_CHARACTERS))}`;
}


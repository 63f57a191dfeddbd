// The sequence diagram. Its lanes are the client, the agent, other parties that answer, and the
// proxy if faults had effects. The diagram is a virtual list: each row is a small drawing of an
// arrow with its text.
import { clear, durationInWords, h, secondsInWords, setAttribute } from "../shell/dom.js";
import { sizeInWords, span, svg } from "../shell/dom.js";
import { pauseWords, readable, textOfRows, VirtualList } from "../shell/virtual_list.js";
import { arrowsOf, endsOf, lanesOf, lateUpdates, openSpans, sequenceItems } from "./lanes.js";

/**
 * @typedef {import("../shell/state.js").State} State
 * @typedef {import("../data/recording.js").RowCells} RowCells
 * @typedef {import("./lanes.js").Lane} Lane
 * @typedef {import("./lanes.js").Item} Item
 */

/** The height of a row in pixels, as in the styles. */
const SEQUENCE_ROW = 30;
const ARROW_Y = 22;
const SLANT_FROM = 20;
const SLANT_TO = 28;
const SUB_LANE = 8;
const EDGE = 5;
/** The class of a row whose cells are not in memory yet. */
const UNREAD = "sequence-unread";
const FIGURES = { cross: "✗", changed: "≠", made: "+", clock: "■" };

export class SequenceView {
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
      head: [h("span", { role: "columnheader" }, "Frame"), this.heads],
      render: (item, node) => this.render(this.items[item], node),
      onActive: (item) => state.select(this.items[item].row),
    });
    this.element = /** @type {HTMLElement} */ (container.querySelector(".sequence"));
    this.element.prepend(this.list.body);
  }

  /** Reads the present facts of the recording. */
  read() {
    const { lanes, places } = (this.facts = diagramFacts(this.recording));
    const left = (/** @type {Lane} */ lane) => ({ left: `${this.place(lane)}%` });
    clear(this.heads, lanes.map((lane) =>
      h("span", { class: `sequence-head lane-${lane}`, style: left(lane) }, lane)));
    const line = "linear-gradient(var(--line), var(--line))";
    const lifelines = [...places.values()].map((at) => `${line} ${at}% 0 / 1px 100% no-repeat`);
    this.element.style.setProperty("--lifelines", lifelines.join(", "));
  }

  /** @param {import("../shell/app.js").Change} change */
  update(change) {
    if (change === "row") this.goTo();
    else if (change === "loaded") this.list.refresh(`.${UNREAD}`);
    else if (change === "shown" || change === "view") this.build("center");
    else if (change === "grew") this.build("kept", this.state.grewFrom);
  }

  /**
   * @param {"center" | "kept"} place of the chosen row
   * @param {number} [from] the first row that is new or has changed
   */
  build(place, from = 0) {
    const lanes = String(this.facts.lanes);
    this.read();
    this.items = sequenceItems(this.recording, this.state.shown);
    const isSame = lanes === String(this.facts.lanes);
    const first = isSame ? this.items.findIndex(({ last }) => last >= from - 1) : 0;
    this.list.setItems([...this.items.keys()], this.indexOf(this.state.row), place, first);
  }

  goTo() {
    const { row } = this.state;
    const { row: first, last } = this.items[this.list.active] ?? { row: Infinity, last: -1 };
    if (row < first || row > last) this.list.setActive(this.indexOf(row));
  }

  /** @param {number} row */
  indexOf = (row) => this.items.findIndex((item) =>
    item.kind === "frame" && item.row <= row && row <= item.last);

  /** @param {Lane} lane */
  place = (lane) => this.facts.places.get(lane) ?? EDGE;

  /** @param {Item} item @param {HTMLElement} node */
  render(item, node) {
    const { recording } = this;
    const { row, kind, after } = item;
    const labels = this.labels(item, recording.cellsNow(row));
    const words = labels.map(({ textContent }) => textContent ?? "");
    const isFrame = kind === "frame";
    const problems = isFrame ? recording.problems.get(row)?.map(({ text }) => text) ?? [] : [];
    const number = isFrame ? this.number(item) : "";
    const pause = after >= 0 ? durationInWords(after, ", ") : "";
    const trouble = problems.length ? `. Problem: ${problems.join(" ")}` : "";
    const classes = ["stream", "tone"].map((name) => `${name}-${recording.text(name, row)}`);
    node.classList.add("sequence-row", `sequence-${kind}`, ...classes);
    const isRead = textOfRows(recording, this.state.shown, row, item.last) !== null;
    node.classList.toggle(UNREAD, !isRead);
    node.classList.toggle("sequence-trouble", problems.length > 0 && !this.state.isWarned(row));
    setAttribute(node, "title", [...words, ...problems].join("\n"));
    const name = `${number} ${words.join("; ")}${pause && `${pause} after`}${trouble}`;
    setAttribute(node, "aria-label", name);
    const time = kind === "gap" || kind === "turn" ? "" : secondsInWords(item.time, "", " s");
    const when = [h("b", null, trouble && (this.state.isWarned(row) ? "⚠ " : "✗ "), number), time];
    const drawing = svg("svg", { "aria-hidden": "true" }, this.bars(item), this.arrows(item));
    node.append(
      h("span", { class: "sequence-when", role: "gridcell" }, when),
      h("span", { class: "sequence-field", role: "gridcell" }, drawing, labels));
  }

  /** @param {Item} item */
  number = ({ row, last }) => "#" + [...new Set([row, last])]
    .map((one) => this.recording.numbers("seq").at(one)).join("–");

  /**
   * The bars of a row: which lanes have to answer, and how many frames the proxy holds back.
   * @param {Item} item
   */
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
    const { recording } = this;
    const name = `sequence-arrow kind-${recording.text("kind", item.row)}`;
    const drawn = arrowsOf(recording, item).flatMap(({ from, to, end, slanted }) => {
      const [x1, x2] = [from, to].map((lane) => this.place(lane));
      const y1 = slanted && !item.delivered ? SLANT_FROM : ARROW_Y;
      const y2 = slanted ? SLANT_TO : ARROW_Y;
      const line = svg("line", { class: name, x1: `${x1}%`, x2: `${x2}%`, y1, y2 });
      const head = `M0 0L${x1 < x2 ? -9 : 9} -4.5V4.5Z`;
      const point = svg("path", { class: "sequence-point", d: head });
      const shape = svg("svg", { x: `${x2}%`, y: y2 }, point);
      return [line, end === "head" ? shape : this.figure(to, y2, end)];
    });
    const isMade = item.kind === "frame" && recording.text("fate", item.row) === "injected";
    return [...drawn, isMade && this.figure("proxy", ARROW_Y, "made")];
  }

  /** @param {Lane} lane @param {number} y @param {keyof typeof FIGURES} name */
  figure(lane, y, name) {
    const attributes = { class: `sequence-figure figure-${name}`, x: `${this.place(lane)}%`, y };
    return svg("text", attributes, FIGURES[name]);
  }

  /**
   * The texts of an item: one text, or two texts if a fault changed or delayed the message.
   * @param {Item} item @param {RowCells | null} cells
   */
  labels(item, cells) {
    const { recording } = this;
    const { row, kind, delay, delivered } = item;
    const ends = endsOf(recording, row);
    const pause = kind === "gap" && recording.pauses.get(row);
    if (pause) return [span(`sequence-box debt-${pause.debt}`, pauseWords(pause))];
    if (kind === "turn") return [h("b", null, `turn ${recording.numbers("turn").at(row)}`)];
    if (ends === null) {
      const name = recording.text("kind", row) ?? "";
      const box = span(`sequence-box box-${name}`, h("b", null, name), ` ${cells?.text ?? ""}`);
      return [this.between("client", "agent", box)];
    }
    const { from, to } = ends;
    const fate = recording.text("fate", row);
    const rules = cells?.fired.map((one) => one.rule).join(", ");
    const rule = rules || recording.text("fault", row) || "";
    /** @type {(from: Lane, to: Lane, ...text: (Node | string)[]) => HTMLElement} */
    const label = (from, to, ...text) =>
      this.between(from, to, span("visually-hidden", `${from} → ${to} `), ...text);
    const verb = h("b", null, this.verb(item));
    const said = [...this.badges(item), verb, " ", ...readable(this.text(item, cells))];
    if (fate === "undelivered" || (!fate && !delay)) return [label(from, to, ...said)];
    const late = delay ? durationInWords(delay) : "";
    const by = rule ? ` (${rule})` : ", in the queue";
    const other = fate === "changed" ? `as ${instead(cells)}` : "";
    const fault = (/** @type {string} */ words) => span("fault", words);
    const arrives = `${this.number(item)} arrives ${late} late ${other}`;
    if (kind === "delivery") return [label("proxy", to, fault(arrives))];
    if (fate === "injected") {
      const made = fault(`made up by ${rule}${late && `, held ${late}`}`);
      return [label("proxy", to, ...said), label(from, "proxy", made)];
    }
    const held = late ? `held ${late}${by}` : `${other}${by}`;
    const arrived = delivered ? `${late} late${by} ${other}` : held;
    const became = fault(fate === "dropped" ? `dropped by ${rule}` : arrived);
    return [label(from, "proxy", ...said), label("proxy", to, became)];
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
    const [times, latencies] = recording.columns("t_ns", "latency_ns");
    if (/ [✓✗]$/.test(verb)) return verb + durationInWords(latencies.at(row), " after ");
    const took = times.at(last) - times.at(row);
    return count === 1 ? verb : `${verb} ×${count}${took > 0 ? durationInWords(took, " in ") : ""}`;
  }

  /**
   * The text of a run, or the preview of a frame without the mark that names its faults.
   * @param {Item} item @param {RowCells | null} cells
   */
  text({ row, last }, cells) {
    const text = textOfRows(this.recording, this.state.shown, row, last) ?? "";
    return cells?.fired.length && text.startsWith("[") ? text.slice(text.indexOf("] ") + 2) : text;
  }

  /** @param {Item} item */
  badges({ row, last }) {
    const { recording, facts: { late } } = this;
    const isRequest = recording.text("kind", row) === "request";
    const isOpen = isRequest && Number.isNaN(recording.numbers("response_seq").at(row));
    if (isOpen) return [span("badge trouble", recording.unanswered), " "];
    if (!late.has(row) && !late.has(last)) return [];
    return [span("badge caution", "after the end of its turn"), " "];
  }
}

/**
 * The present facts of a recording.
 * @param {import("../data/recording.js").Recording} recording
 */
function diagramFacts(recording) {
  const lanes = lanesOf(recording);
  const client = EDGE + lanes.indexOf("client") * SUB_LANE;
  /** Where the lanes are, in percent of the width. @type {Map<Lane, number>} */
  const places = new Map(lanes.map((lane, at) => [lane, EDGE + at * SUB_LANE]));
  if (places.has("proxy")) places.set("proxy", (client + 100 - EDGE) / 2);
  places.set("agent", 100 - EDGE);
  const [spans, late] = [openSpans(recording), lateUpdates(recording)];
  return { lanes, places, spans, late };
}

/**
 * Describes the bytes that were delivered in place of a frame: their size and their text.
 * @param {RowCells | null} cells
 */
function instead(cells) {
  const found = cells?.fired.find((one) => !one.made && one.size > 0);
  if (!found) return "other bytes";
  const { size, delivered } = found;
  const end = (delivered ?? "\n").endsWith("\n") ? "" : " without a newline";
  const text = (delivered ?? "no text").trimEnd().slice(0, 300);
  return `${sizeInWords(size)}${end}: ${text}`;
}

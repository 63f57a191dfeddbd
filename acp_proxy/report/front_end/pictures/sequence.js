// The sequence diagram: client and agent, who else answers, and the proxy where faults did something.
// It is a virtual list; each row is a small drawing with its text beside the arrow.
import {durationInWords, secondsInWords, sizeInWords, visibleText} from "../shell/words.js";
import {h, svg} from "../shell/dom.js";
import {VirtualList} from "../shell/virtual_list.js";
import {arrowsOf, endsOf, fateOf, lanesOf, lateUpdates, openSpans, sequenceItems} from "./lanes.js";

/**
 * @typedef {import("../shell/state.js").State} State
 * @typedef {import("../shell/app.js").View} View
 * @typedef {import("../data/recording.js").RowCells} RowCells
 * @typedef {import("./lanes.js").Lane} Lane
 * @typedef {import("./lanes.js").Item} Item
 * @typedef {{from: Lane, to: Lane, text: (Node | string)[], words: string}} Label
 */

const SEQUENCE_ROW = 42;
const ARROW_Y = 30;
const SLANT_FROM = 27;
const SLANT_TO = 38;
const SUB_LANE = 8;
const EDGE = 5;
const LABEL_CHARACTERS = 300;
const FIGURES = {cross: "✗", changed: "≠", made: "+", clock: "■"};
const KEY = "thick: has to answer · striped: never answers";
const KEY_OF_FAULTS = " · by a fault: ✗ dropped, ≠ changed, + made up, ■ held";

/** @type {View} */
export const sequenceView = {name: "sequence", title: "Sequence", key: "2", mount: (container, state) => new SequenceView(container, state)};

class SequenceView {
  /** @param {HTMLElement} container @param {State} state */
  constructor(container, state) {
    this.state = state;
    this.recording = state.recording;
    this.lanes = lanesOf(this.recording);
    this.spans = openSpans(this.recording);
    this.late = lateUpdates(this.recording);
    this.places = lanePlaces(this.lanes);
    /** @type {Item[]} */
    this.items = [];
    this.list = new VirtualList({
      label: "Sequence of messages",
      rowHeight: SEQUENCE_ROW,
      head: [h("span", {role: "columnheader"}, "Frame"), this.heads()],
      render: (item, node) => this.render(this.items[item], node),
      onActive: (item) => state.select(this.items[item].row),
    });
    this.empty = h("p", {class: "list-empty", hidden: true}, "No frame matches the filter and the chosen time.");
    const key = h("p", {class: "sequence-key"}, KEY, this.places.has("proxy") ? KEY_OF_FAULTS : "");
    const lines = [...this.places.values()].map((place) => `linear-gradient(var(--line), var(--line)) ${place}% 0 / 1px 100% no-repeat`);
    container.append(h("div", {class: "sequence", style: {"--lifelines": lines.join(", ")}}, arrowHeads(), this.list.element, this.empty, key));
  }

  /** @param {import("../shell/app.js").Change} change */
  update(change) {
    if (change === "row") this.goTo();
    else if (change === "loaded") this.list.refresh();
    else if (change === "shown" || change === "view") this.build();
  }

  hide() {
    this.items = [];
    this.list.setItems([]);
  }

  build() {
    this.items = sequenceItems(this.recording, this.state.shown);
    this.list.setItems(this.items.map((_, at) => at), this.indexOf(this.state.row), "center");
    this.empty.hidden = this.items.length > 0;
  }

  goTo() {
    const {row} = this.state;
    const active = this.items[this.list.active];
    if (active === undefined || row < active.row || row > active.last) this.list.setActive(this.indexOf(row));
  }

  /** @param {number} row */
  indexOf(row) {
    return this.items.findIndex((item) => item.kind === "frame" && item.row <= row && row <= item.last);
  }

  /** @param {Lane} lane */
  place = (lane) => this.places.get(lane) ?? EDGE;

  heads() {
    return h("span", {class: "sequence-field", role: "columnheader"}, this.lanes.map((lane) =>
      h("span", {class: `sequence-head lane-${lane}`, style: {left: `${this.place(lane)}%`}}, lane)));
  }

  /** @param {Item} item @param {HTMLElement} node */
  render(item, node) {
    const {recording} = this;
    const {row, kind} = item;
    const labels = this.labels(item, recording.cellsNow(row));
    const problems = kind === "frame" ? recording.problems.get(row)?.map(({ text }) => text) : undefined;
    const number = kind === "frame" ? this.number(item) : "";
    const pause = durationInWords(item.after, ", ");
    const after = item.after >= 0 && kind !== "gap" && pause ? `${pause} after` : "";
    const trouble = problems ? `. Problem: ${problems.join(" ")}` : "";
    node.classList.add("sequence-row", `sequence-${kind}`, `stream-${recording.text("stream", row)}`, `tone-${recording.text("tone", row)}`);
    node.classList.toggle("sequence-trouble", problems !== undefined);
    node.title = visibleText([...labels.map(({words}) => words), ...(problems ?? [])].join("\n"));
    node.setAttribute("aria-label", `${number} ${labels.map(({words}) => words).join("; ")}${after}${trouble}`);
    node.append(
      h("span", {class: "sequence-when", role: "gridcell"},
        h("b", null, problems ? "▼ " : "", number), kind === "gap" ? "" : secondsInWords(item.time, "", " s")),
      h("span", {class: "sequence-field", role: "gridcell"},
        svg("svg", {"aria-hidden": "true"}, this.bars(item), this.arrows(item)), labels.map((label) => this.labelled(label))));
  }

  /** @param {Item} item */
  number({row, last}) {
    const seqs = this.recording.numbers("seq");
    return last > row ? `#${seqs[row]}–${seqs[last]}` : `#${seqs[row]}`;
  }

  /** @param {Label} label */
  labelled({from, to, text}) {
    const places = [from, to].map((lane) => Math.max(this.place(lane), this.place("client")));
    const [left, right] = [Math.min(...places), Math.max(...places)];
    const style = {left: `calc(${left}% + 12px)`, "--room": `calc(${right - left}% - 24px)`};
    return h("span", {class: "sequence-label", style}, text);
  }

  /** Who has to answer, as bars, and what the proxy holds. @param {Item} item */
  bars(item) {
    const isFrame = item.kind === "frame";
    const bars = [];
    for (const lane of this.lanes) {
      const covering = (/** @type {number} */ row) =>
        this.spans.filter((span) => span.lane === lane && span.from <= row && row < span.to);
      const [above, below] = [item.seen, isFrame ? item.last : item.seen].map(covering);
      if (above.length + below.length === 0) continue;
      const how = below.some(({ to }) => to === Infinity) ? "never" : "";
      bars.push(this.bar(lane, above.length ? 0 : ARROW_Y, below.length ? SEQUENCE_ROW : ARROW_Y, how));
    }
    const begins = isFrame && item.delay > 0 && !item.delivered;
    if (item.held - (begins ? 1 : 0) > 0) bars.push(this.bar("proxy", 0, SEQUENCE_ROW, "held"));
    else if (begins) bars.push(this.bar("proxy", ARROW_Y, SEQUENCE_ROW, "held"));
    else if (item.kind === "delivery") bars.push(this.bar("proxy", 0, SLANT_FROM, "held"));
    return bars;
  }

  /** @param {Lane} lane @param {number} y1 @param {number} y2 @param {string} how */
  bar(lane, y1, y2, how) {
    const x = `${this.place(lane)}%`;
    return svg("line", {class: `sequence-bar lane-${lane} ${how}`, x1: x, x2: x, y1, y2});
  }

  /** @param {Item} item */
  arrows(item) {
    const kind = `kind-${this.recording.text("kind", item.row)}`;
    const figure = (/** @type {Lane} */ lane, /** @type {number} */ y, /** @type {keyof typeof FIGURES} */ name) =>
      svg("text", {class: `sequence-figure figure-${name}`, x: `${this.place(lane)}%`, y}, FIGURES[name]);
    const drawn = arrowsOf(this.recording, item).flatMap(({from, to, end, slanted}) => {
      const [y1, y2] = slanted ? [item.delivered ? ARROW_Y : SLANT_FROM, SLANT_TO] : [ARROW_Y, ARROW_Y];
      const line = svg("line", {class: `sequence-arrow ${kind} end-${end}`, x1: `${this.place(from)}%`, x2: `${this.place(to)}%`, y1, y2});
      return end === "head" ? [line] : [line, figure(to, y2, end)];
    });
    const isMade = item.kind === "frame" && fateOf(this.recording, item.row) === "injected";
    return isMade ? [...drawn, figure("proxy", ARROW_Y, "made")] : drawn;
  }

  /**
   * The texts of an item: one, or one for each half where a fault made a difference.
   * @param {Item} item @param {RowCells | null} cells @returns {Label[]}
   */
  labels(item, cells) {
    const {recording} = this;
    const ends = endsOf(recording, item.row);
    if (item.kind === "gap") return [boxed("pause", `${durationInWords(item.after)} later`)];
    if (ends === null) return [boxed(recording.text("kind", item.row) ?? "", cells?.text ?? "")];
    const fate = fateOf(recording, item.row);
    const fired = cells?.fired ?? [];
    const rule = visibleText(fired.map((one) => one.rule).join(", ") || recording.text("fault", item.row) || "");
    const verb = this.verb(item);
    const preview = withoutMark(cells);
    const said = (/** @type {Lane} */ from, /** @type {Lane} */ to) => ({
      from, to, text: [...this.badges(item), h("b", null, verb), ` ${preview}`], words: `${from} → ${to} ${verb} ${preview}`,
    });
    const faulted = (/** @type {Lane} */ from, /** @type {Lane} */ to, /** @type {string} */ words) =>
      ({from, to, text: [h("span", {class: "sequence-fault"}, words)], words: `${from} → ${to} ${words}`});
    if (fate === "undelivered" || (fate === "passed" && !item.delay)) return [said(ends.from, ends.to)];
    const late = item.delay ? durationInWords(item.delay) : "";
    const by = rule ? ` (${rule})` : ", in the queue";
    const other = fate === "changed" ? `as ${instead(cells)}` : "";
    if (item.kind === "delivery") return [faulted("proxy", ends.to, `${this.number(item)} arrives ${late} late ${other}`)];
    if (fate === "injected") return [said("proxy", ends.to), faulted(ends.from, "proxy", `made up by ${rule}${late && `, held ${late}`}`)];
    const held = late ? `held ${late}${by}` : `${other} (${rule})`;
    const what = fate === "dropped" ? `dropped by ${rule}` : item.delivered ? `${late} late${by} ${other}` : held;
    return [said(ends.from, "proxy"), faulted("proxy", ends.to, what)];
  }

  /** @param {Item} item */
  verb({row, last, count}) {
    const {recording} = this;
    const kind = recording.text("kind", row) ?? "";
    const verb = visibleText(recording.text("update", row) ?? recording.text("method", row) ?? kind);
    const latency = recording.numbers("latency_ns")[row];
    const after = latency >= 0 ? durationInWords(latency, " after ") : "";
    if (kind === "response" || kind === "error") return `${verb} ${kind === "error" ? "✗" : "✓"}${after}`;
    const took = recording.numbers("t_ns")[last] - recording.numbers("t_ns")[row];
    return count === 1 ? verb : `${verb} ×${count}${took > 0 ? durationInWords(took, " in ") : ""}`;
  }

  /** @param {Item} item */
  badges({row, last}) {
    const {recording} = this;
    if (recording.text("kind", row) === "request" && Number.isNaN(recording.numbers("response_seq")[row])) {
      return [h("span", {class: "badge trouble"}, "never answered"), " "];
    }
    if (this.late.has(row) || this.late.has(last)) return [h("span", {class: "badge caution"}, "after the end of its turn"), " "];
    return [];
  }
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

/**
 * The text of what is no message: an event, a line on stderr, a pause.
 * @param {string} name @param {string} text @returns {Label}
 */
function boxed(name, text) {
  const box = h("span", {class: `sequence-box box-${name}`}, h("b", null, name), ` ${text}`);
  return {from: "client", to: "agent", text: [box], words: `${name} ${text}`};
}

/** The heads of arrows, which the style sheet refers to. */
function arrowHeads() {
  const head = (/** @type {string} */ name) => svg("marker", {
    id: `head-${name}`, class: `sequence-${name}`, orient: "auto", refX: 9, refY: 4.5, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse",
  }, svg("path", {d: "M0 0L9 4.5L0 9Z"}));
  return svg("svg", {class: "visually-hidden", "aria-hidden": "true"}, head("to-agent"), head("to-client"));
}

/** What was delivered in place of a frame. @param {RowCells | null} cells */
function instead(cells) {
  const found = cells?.fired.find((one) => !one.made && one.size > 0);
  if (!found) return "other bytes";
  const end = found.delivered === null || found.delivered.endsWith("\n") ? "" : " without a newline";
  return `${sizeInWords(found.size)}${end}: ${visibleText((found.delivered ?? "no text").trimEnd().slice(0, LABEL_CHARACTERS))}`;
}

/** The preview of a frame, without the words on faults before it. @param {RowCells | null} cells */
function withoutMark(cells) {
  const text = cells?.text ?? "";
  return cells?.fired.length && text.startsWith("[") ? text.slice(text.indexOf("] ") + 2) : text;
}

// The sequence diagram: client and agent, who else answers, and the proxy where faults did something.
// It is a virtual list; each row is a small drawing with its text beside the arrow.
import {durationInWords, sizeInWords, visibleText} from "../shell/words.js";
import {h, svg} from "../shell/dom.js";
import {VirtualList} from "../shell/virtual_list.js";
import {ITEM, arrowsOf, delayIn, endsOf, fateOf, itemOf, lanesOf, sequenceItems} from "./lanes.js";

/**
 * @typedef {import("../shell/state.js").State} State
 * @typedef {import("../shell/app.js").View} View
 * @typedef {import("../data/recording.js").RowCells} RowCells
 * @typedef {import("./lanes.js").Lane} Lane
 * @typedef {{from: Lane, to: Lane, text: (Node | string)[], words: string}} Label
 */

const SEQUENCE_ROW = 42;
const ARROW_Y = 30;
const SLANT_FROM = 22;
const SLANT_TO = 37;
const SUB_LANE = 8;
const EDGE = 5;
const LABEL_CHARACTERS = 300;
const FIGURES = {
  cross: "M-6 -6L6 6M6 -6L-6 6",
  clock: "M-7 0a7 7 0 1 0 14 0a7 7 0 1 0 -14 0M0 -4V0H4",
  changed: "M-7 0a7 7 0 1 0 14 0a7 7 0 1 0 -14 0M-4 -2H4M-4 2H4M3 -5L-3 5",
  made: "M-7 0a7 7 0 1 0 14 0a7 7 0 1 0 -14 0M-4 0H4M0 -4V4",
  right: "M0 0l-9 -4.5v9Z",
  left: "M0 0l9 -4.5v9Z",
};
/** @type {Record<string, [Lane, Lane]>} */
const NOTE_LANES = {fault: ["proxy", "agent"], stderr: ["client", "agent"], event: ["client", "agent"]};

/** @type {View} */
export const sequenceView = {
  name: "sequence",
  title: "Sequence",
  key: "2",
  mount(container, state) {
    const view = new SequenceView(state);
    container.append(view.element);
    return view;
  },
};

class SequenceView {
  /** @param {State} state */
  constructor(state) {
    this.state = state;
    this.recording = state.recording;
    this.lanes = lanesOf(this.recording);
    this.places = lanePlaces(this.lanes.lanes);
    this.isShown = false;
    this.isStale = true;
    this.items = sequenceItems(this.recording, new Int32Array(0));
    this.list = new VirtualList({
      label: "Sequence of messages",
      rowHeight: SEQUENCE_ROW,
      head: [h("span", {class: "sequence-when", role: "columnheader"}, "Frame"), this.heads()],
      render: (item, node) => this.render(item, node),
      onActive: (item) => state.select(this.items.rows[item]),
      isStop: (item) => this.items.kinds[item] !== ITEM.gap,
    });
    this.empty = h("p", {class: "list-empty", hidden: true}, "No frame matches the filter and the chosen time.");
    this.element = h("div", {class: "sequence"}, this.list.element, this.empty);
    this.element.style.setProperty("--lifelines", lifelines([...this.places.values()]));
    state.on("shown", () => this.update());
    state.on("row", () => this.isShown && this.goTo(state.row));
    state.on("times", () => this.isShown && this.list.refresh());
    let waiting = 0;
    this.recording.onLoaded(() => {
      cancelAnimationFrame(waiting);
      if (this.isShown) waiting = requestAnimationFrame(() => this.list.refresh());
    });
  }

  show() {
    this.isShown = true;
    if (this.isStale) this.update();
    this.goTo(this.state.row);
  }

  hide() {
    this.isShown = false;
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
    this.items = sequenceItems(this.recording, this.state.shown);
    const numbers = new Int32Array(this.items.count).map((_, at) => at);
    this.list.setItems(numbers, this.activeFor(this.state.row));
    this.empty.hidden = this.items.count > 0;
  }

  /** @param {number} row */
  goTo(row) {
    const active = this.activeFor(row);
    if (active !== this.list.active || active < 0) this.list.setActive(active);
  }

  /**
   * The item of a row, or the one that is active if it is of that row as well; -1 if none is.
   * @param {number} row
   */
  activeFor(row) {
    const {rows, lasts, count} = this.items;
    const isOf = (/** @type {number} */ at) => at >= 0 && at < count && rows[at] <= row && row <= lasts[at];
    if (isOf(this.list.active) && this.items.kinds[this.list.active] !== ITEM.gap) return this.list.active;
    const found = itemOf(this.items, row);
    return isOf(found) ? found : -1;
  }

  heads() {
    const {meta} = this.recording;
    const names = {client: meta.summary.recording.client_name, agent: meta.summary.recording.agent_name};
    return h("span", {class: "sequence-field", role: "columnheader"}, this.lanes.lanes.map((lane) => {
      const name = lane === "client" || lane === "agent" ? names[lane] : null;
      const place = this.place(lane);
      return h("span", {
        class: `sequence-head lane-${lane} ${place > 60 ? "at-right" : place < 15 ? "at-left" : ""}`,
        style: {left: `${place}%`}, title: name ? visibleText(name) : lane,
      }, lane);
    }));
  }

  /** @param {Lane} lane */
  place(lane) {
    return this.places.get(lane) ?? this.places.get("client") ?? 0;
  }

  /**
   * @param {number} item
   * @param {HTMLElement} node
   */
  render(item, node) {
    node.classList.add("sequence-row");
    if (this.items.kinds[item] === ITEM.gap) this.renderGap(item, node);
    else this.renderItem(item, node);
  }

  /**
   * @param {number} item
   * @param {HTMLElement} node
   */
  renderGap(item, node) {
    const hidden = this.items.rows[item] - this.items.lasts[item - 1] - 1;
    const more = hidden > 0 ? `, ${hidden.toLocaleString("en")} rows not shown` : "";
    const picture = svg("svg", {"aria-hidden": "true"}, this.bars(item));
    node.classList.add("sequence-gap");
    node.append(h("span", {class: "sequence-when", role: "gridcell"}),
      h("span", {class: "sequence-field", role: "gridcell"}, picture,
        h("span", {class: "sequence-break"}, `${durationInWords(this.items.times[item])} later${more}`)));
  }

  /**
   * @param {number} item
   * @param {HTMLElement} node
   */
  renderItem(item, node) {
    const {recording, items} = this;
    const [row, last] = [items.rows[item], items.lasts[item]];
    const seq = recording.numbers("seq")[row];
    const cells = recording.cellsNow(row);
    const labels = this.labels(item, cells);
    const isDelivery = items.kinds[item] === ITEM.delivery;
    const problems = isDelivery ? undefined : recording.problems.get(row);
    node.classList.add(`stream-${recording.text("stream", row)}`, `tone-${recording.text("tone", row) ?? "plain"}`);
    if (problems) node.classList.add("sequence-trouble");
    const after = item > 0 ? items.times[item] - this.timeBefore(item) : NaN;
    const when = Number.isNaN(after) ? "" : `, ${durationInWords(Math.max(0, after))} after`;
    const number = `#${seq}${last > row && !isDelivery ? `–${recording.numbers("seq")[last]}` : ""}`;
    const trouble = problems ? `. Problem: ${problems.join(" ") || "trouble"}` : "";
    node.setAttribute("aria-label", `${number} ${labels.map((label) => label.words).join("; ")}${when}${trouble}`);
    if (problems?.length) node.title = visibleText(problems.join("\n"));
    node.append(
      h("span", {class: "sequence-when", role: "gridcell"},
        h("b", null, problems ? "▼ " : "", isDelivery ? "" : number), h("span", null, this.time(item, after))),
      h("span", {class: "sequence-field", role: "gridcell"},
        svg("svg", {"aria-hidden": "true"}, this.bars(item), this.arrows(item)),
        labels.map(({from, to, text}) => this.labelled(from, to, text))));
  }

  /**
   * @param {number} item
   * @param {number} after how long after the item before
   */
  time(item, after) {
    const time = this.items.times[item];
    if (this.state.times === "delta") return Number.isNaN(after) ? "" : `+${durationInWords(Math.max(0, after))}`;
    const started = Date.parse(this.recording.meta.started_at ?? "");
    if (this.state.times !== "clock" || Number.isNaN(started)) return `${(time / 1e9).toFixed(3)} s`;
    return new Date(started + time / 1e6).toLocaleTimeString("en-GB", {hour12: false, fractionalSecondDigits: 3});
  }

  /** @param {number} item */
  timeBefore(item) {
    const {items} = this;
    const before = items.kinds[item - 1] === ITEM.gap ? item - 2 : item - 1;
    return items.kinds[before] === ITEM.delivery
      ? items.times[before] : this.recording.numbers("t_ns")[items.lasts[before]];
  }

  /**
   * @param {Lane} from
   * @param {Lane} to
   * @param {(Node | string)[]} text
   */
  labelled(from, to, text) {
    const client = this.place("client");
    const [left, right] = [this.place(from), this.place(to)].map((place) => Math.max(place, client)).sort((a, b) => a - b);
    const style = {left: `calc(${left}% + 12px)`, right: `calc(${100 - right}% + 12px)`};
    const label = h("span", {class: "sequence-label", style}, text);
    label.title = label.textContent ?? "";
    return label;
  }

  /**
   * The requests that are pending, as bars in the lanes of who has to act, and what the proxy holds.
   * @param {number} item
   */
  bars(item) {
    const {items, lanes} = this;
    const isFrame = items.kinds[item] === ITEM.frame || items.kinds[item] === ITEM.delivered;
    let before = item - 1;
    while (!isFrame && before > 0 && items.kinds[before] !== ITEM.frame && items.kinds[before] !== ITEM.delivered) before--;
    const top = isFrame ? items.rows[item] - 1 : items.lasts[Math.max(before, 0)];
    const bottom = isFrame ? items.lasts[item] : top;
    const bars = [];
    for (const lane of lanes.lanes) {
      const [open, never] = [lanes.open.get(lane), lanes.never.get(lane)];
      const upper = top >= 0 ? open?.[top] ?? 0 : 0;
      const lower = open?.[bottom] ?? 0;
      for (let slot = 0; (upper | lower) >> slot; slot++) {
        const bit = 1 << slot;
        if (!((upper | lower) & bit)) continue;
        const isNever = ((never?.[lower & bit ? bottom : top] ?? 0) & bit) > 0;
        bars.push(this.bar(lane, slot, upper & bit ? 0 : ARROW_Y, lower & bit ? SEQUENCE_ROW : ARROW_Y, isNever ? "never" : ""));
      }
    }
    const waited = item > 0 && items.held[item - 1] > 0;
    const waits = items.held[item] > 0;
    if (waited || waits) {
      bars.push(this.bar("proxy", 0, waited ? 0 : ARROW_Y, waits ? SEQUENCE_ROW : SLANT_FROM, "held"));
    }
    return bars;
  }

  /**
   * @param {Lane} lane
   * @param {number} slot
   * @param {number} from
   * @param {number} to
   * @param {string} how
   */
  bar(lane, slot, from, to, how) {
    const x = `${this.place(lane)}%`;
    const aside = lane === "agent" || lane === "proxy" ? slot * 5 : slot * -5;
    return svg("line", {class: `sequence-bar lane-${lane} ${how}`, x1: x, x2: x, y1: from, y2: to, transform: `translate(${aside})`});
  }

  /** @param {number} item */
  arrows(item) {
    const {items, recording} = this;
    const row = items.rows[item];
    const arrows = arrowsOf(recording, items, item);
    const isLateAtOnce = arrows.length === 2 && arrows[1].slanted;
    const kind = recording.text("kind", row);
    const drawn = arrows.flatMap(({from, to, end, slanted}) => {
      const [x1, x2] = [this.place(from), this.place(to)];
      const y1 = slanted || isLateAtOnce ? SLANT_FROM : ARROW_Y;
      const y2 = slanted ? SLANT_TO : y1;
      const figure = end === "head" ? (x1 < x2 ? "right" : "left") : end;
      const changed = slanted || end !== "head" || from === "proxy" || to === "proxy" ? "faulted" : "";
      return [
        svg("line", {class: `sequence-arrow kind-${kind} ${changed}`, x1: `${x1}%`, x2: `${x2}%`, y1, y2}),
        this.figure(x2, y2, figure),
      ];
    });
    if (arrows.length && fateOf(recording, row) === "injected") drawn.push(this.figure(this.place("proxy"), ARROW_Y, "made"));
    return drawn;
  }

  /**
   * @param {number} x in percent
   * @param {number} y
   * @param {keyof typeof FIGURES} name
   */
  figure(x, y, name) {
    return svg("svg", {class: "sequence-mark", x: `${x}%`, y, overflow: "visible"},
      svg("path", {class: `mark-${name}`, d: FIGURES[name]}));
  }

  /**
   * The texts of an item: one, or one for each half where a fault made a difference.
   * @param {number} item
   * @param {RowCells | null} cells
   * @returns {Label[]}
   */
  labels(item, cells) {
    const {items, recording} = this;
    const row = items.rows[item];
    const ends = endsOf(recording, row);
    if (ends === null) return [this.note(row, cells)];
    const way = `${ends.from} → ${ends.to}`;
    const fired = cells?.fired ?? [];
    const rule = fired.map((one) => visibleText(one.rule)).join(", ") || visibleText(recording.text("fault", row) ?? "");
    const [verb, preview] = [this.verb(item), withoutMark(cells?.text ?? "", fired)];
    /** @type {Label} */
    const received = {...ends, text: [h("b", null, verb), ...this.badges(item), ` ${preview}`], words: `${way} ${verb} ${preview}`};
    const fate = fateOf(recording, row);
    const late = delayIn(recording, row, items.lasts[item]);
    if (fate === "undelivered") return [{...received, words: `${received.words}, not delivered`}];
    if (fate === "passed" && !(late > 0)) return [received];
    const other = instead(cells);
    /** @type {Label} */
    const inward = {...received, from: ends.from, to: "proxy", words: `${ends.from} → proxy ${verb} ${preview}`};
    const onward = (/** @type {string} */ text) => faultLabel("proxy", ends.to, text, `proxy → ${ends.to} ${text}`);
    if (fate === "dropped") return [inward, onward(`dropped by ${rule}`)];
    const changed = fate === "changed" ? `, delivered ${other}` : "";
    const by = rule ? ` (${rule})` : " in the queue";
    if (items.kinds[item] === ITEM.delivery) {
      return [onward(`${numbers(recording, row, items.lasts[item])} arrives ${durationInWords(late)} late${changed}`)];
    }
    if (fate === "injected") {
      const held = late > 0 ? h("span", {class: "sequence-fault"}, ` held ${durationInWords(late)}`) : "";
      return [{...received, from: "proxy", text: [...received.text, held], words: `proxy → ${ends.to} ${verb} ${preview}`},
        faultLabel(ends.from, "proxy", `made up by ${rule}`, `made up by ${rule}`)];
    }
    if (items.kinds[item] === ITEM.delivered) return [inward, onward(`${durationInWords(late)} late${by}${changed}`)];
    if (late > 0) return [inward, onward(`held ${durationInWords(late)}${by}`)];
    return [inward, onward(`${rule}: delivered ${other}`)];
  }

  /**
   * An event, or a line on stderr.
   * @param {number} row
   * @param {RowCells | null} cells
   * @returns {Label}
   */
  note(row, cells) {
    const [stream, kind] = [this.recording.text("stream", row) ?? "", this.recording.text("kind", row) ?? ""];
    const name = stream === "event" ? kind : stream;
    const hasProxy = this.places.has("proxy");
    const [from, to] = NOTE_LANES[hasProxy && kind === "fault" ? "fault" : stream] ?? NOTE_LANES.event;
    const text = cells?.text ?? "";
    return {from, to, text: [h("span", {class: `sequence-note note-${name}`}, h("b", null, name), ` ${text}`)], words: `${name} ${text}`};
  }

  /** @param {number} item */
  verb(item) {
    const {items, recording} = this;
    const [row, last] = [items.rows[item], items.lasts[item]];
    const kind = recording.text("kind", row) ?? "";
    const verb = visibleText(recording.text("update", row) ?? recording.text("method", row) ?? kind);
    if (kind === "response") return `${verb} ✓`;
    if (kind === "error") return `${verb} ✗`;
    if (items.counts[item] === 1) return verb;
    const times = recording.numbers("t_ns");
    return `${verb} ×${items.counts[item]} in ${durationInWords(times[last] - times[row])}`;
  }

  /** @param {number} item */
  badges(item) {
    const {recording, items} = this;
    const row = items.rows[item];
    const kind = recording.text("kind", row);
    const latency = recording.numbers("latency_ns")[row];
    const badges = [];
    if (kind === "response" || kind === "error") badges.push(h("span", {class: "faint"}, ` after ${durationInWords(latency)}:`));
    if (kind === "request" && Number.isNaN(recording.numbers("response_seq")[row])) {
      badges.push(h("span", {class: "badge trouble"}, "never answered"));
    }
    for (let at = row; at <= items.lasts[item]; at++) {
      if (!this.lanes.late.has(at)) continue;
      badges.push(h("span", {class: "badge caution"}, "after the end of its turn"));
      break;
    }
    return badges;
  }
}

/**
 * Where the lanes are, in percent of the width.
 * @param {Lane[]} lanes from left to right
 * @returns {Map<Lane, number>}
 */
function lanePlaces(lanes) {
  const places = new Map();
  const client = lanes.indexOf("client");
  lanes.forEach((lane, at) => {
    const left = EDGE + client * SUB_LANE;
    if (at <= client) places.set(lane, EDGE + at * SUB_LANE);
    else places.set(lane, lane === "agent" ? 100 - EDGE : (left + 100 - EDGE) / 2);
  });
  return places;
}

/**
 * A CSS background with a line at each place.
 * @param {number[]} places in percent
 */
function lifelines(places) {
  return places.map((place) => `linear-gradient(var(--line), var(--line)) ${place}% 0 / 1px 100% no-repeat`).join(", ");
}

/**
 * @param {Lane} from
 * @param {Lane} to
 * @param {string} text
 * @param {string} words
 * @returns {Label}
 */
function faultLabel(from, to, text, words) {
  return {from, to, text: [h("span", {class: "sequence-fault"}, text)], words};
}

/**
 * @param {import("../data/recording.js").Recording} recording
 * @param {number} row
 * @param {number} last
 */
function numbers(recording, row, last) {
  const seqs = recording.numbers("seq");
  return last > row ? `#${seqs[row]}–${seqs[last]}` : `#${seqs[row]}`;
}

/**
 * What was delivered in place of a frame.
 * @param {RowCells | null} cells
 */
function instead(cells) {
  const found = cells?.fired.find((one) => !one.made && one.size > 0);
  if (!found) return "other bytes";
  if (found.delivered === null) return `${found.size} bytes that are no text`;
  const end = found.delivered.endsWith("\n") ? "" : ", without a newline";
  const text = visibleText(found.delivered.trimEnd().slice(0, LABEL_CHARACTERS));
  return `${sizeInWords(found.size)}${end}: ${text}`;
}

/**
 * The preview of a frame without the words about faults before it.
 * @param {string} text
 * @param {import("../data/recording.js").FiredFault[]} fired
 */
function withoutMark(text, fired) {
  if (!fired.length || !text.startsWith("[")) return text;
  const delivered = fired.find((one) => !one.made && one.delivered !== null)?.delivered ?? "";
  const isPlain = /^[\x20-\x7e]*$/.test(delivered.slice(0, 200).trimEnd());
  const from = text.indexOf(": delivered ") < 0 || !isPlain ? 0 : Math.min(200, delivered.trimEnd().length);
  const end = text.indexOf("] ", from);
  return end < 0 ? text : text.slice(end + 2);
}

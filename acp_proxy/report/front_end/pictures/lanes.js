// Computes a sequence diagram: its lanes, who has to answer at each row, the items of the diagram,
// and the arrows of each item. The module does not draw.
import { buildItems, kindOfItem, rowOfItem, runExtent } from "../shell/virtual_list.js";

/** @typedef {import("../data/recording.js").Recording} Recording */
/** @typedef {"person" | "files" | "terminals" | "client" | "proxy" | "agent"} Lane */
/**
 * Rows during which a lane has to answer, and the row of the request.
 * @typedef {{lane: Lane, from: number, to: number, row: number}} Span
 */
/**
 * @typedef {{from: Lane, to: Lane, end: "head" | "cross" | "changed" | "clock",
 *   slanted: boolean}} Arrow
 */
/**
 * An item of the diagram: a frame or a run of chunks, the beginning of a turn, a pause, or the
 * delivery of a frame that a fault delayed.
 * @typedef {object} Item
 * @property {"frame" | "turn" | "gap" | "delivery"} kind
 * @property {number} row its first row
 * @property {number} last its last row
 * @property {number} count how many rows it has
 * @property {number} time when it happened
 * @property {number} after the time since the previous item; NaN for the first item
 * @property {number} delay by how much faults have delayed it
 * @property {number} arrived when its last byte had arrived
 * @property {boolean} delivered whether it arrived late, but before anything else happened
 * @property {number} seen the last row that had come before it
 * @property {number} held how many frames wait in the proxy after it
 */

/** For each kind of item of a list, the kind of item in the diagram. @type {Item["kind"][]} */
const DRAWN_KINDS = ["gap", "turn", "frame", "frame"];
const LANES = /** @type {Lane[]} */ (["person", "files", "terminals", "client", "proxy", "agent"]);

/**
 * Returns between which lanes a message goes; null if the row is not a message.
 * @param {Recording} recording @param {number} row @returns {{from: Lane, to: Lane} | null}
 */
export function endsOf(recording, row) {
  const [from, to] = /** @type {(Lane | null)[]} */ (
    ["from", "to"].map((name) => recording.text(name, row)));
  return from && to && { from, to };
}

/**
 * Returns the lanes of a recording, from left to right. If faults had effects, the proxy has a
 * lane.
 * @param {Recording} recording @returns {Lane[]}
 */
export function lanesOf(recording) {
  const { parties, summary } = recording.meta;
  const isFaulted = Object.values(summary.faults).some((times) => times > 0);
  const seen = new Set(["client", "agent", isFaulted ? "proxy" : "", ...Object.values(parties)]);
  return LANES.filter((lane) => seen.has(lane));
}

/**
 * Returns the spans of rows during which a lane has to answer a request; a span without an answer
 * ends at infinity. The span of a late request begins when the request arrives. If a fault dropped
 * a request or its answer, the proxy is the lane that has to answer.
 * @param {Recording} recording @returns {Span[]}
 */
export function openSpans(recording) {
  const names = ["request_seq", "response_seq", "t_ns", "delay_ns"];
  const [requests, answers, times, delays] = recording.columns(...names);
  /** @type {{prompt_seq: number, end_seq: number | null}[]} */
  const turns = recording.meta.summary.turns;
  const turnEnds = new Map(turns.map(({ prompt_seq, end_seq }) => [prompt_seq, end_seq]));
  /** @type {Span[]} */
  const spans = [];
  for (let row = 0; row < recording.rows; row++) {
    const request = requests.at(row);
    if (Number.isNaN(request)) continue;
    const ends = recording.text("kind", row) === "request" ? endsOf(recording, row) : null;
    const end = Number(turnEnds.has(request) ? turnEnds.get(request) : answers.at(row));
    const to = ends && end > 0 ? recording.nearest(end) : Infinity;
    const from = delays.at(row) > 0 ? recording.rowAt(times.at(row) + delays.at(row)) : row;
    const isDropped = recording.text("fate", row) === "dropped";
    if (isDropped) spans.push({ lane: "proxy", from: row, to, row });
    else if (ends) spans.push({ lane: ends.to, from, to, row });
  }
  return spans;
}

/**
 * Returns whether somebody had to answer in the time before each row: 0 is nobody, 1 is somebody,
 * 2 is somebody who never answered.
 * @param {Recording} recording @param {Span[]} spans of `openSpans`
 */
export function debtsOf({ rows, isOpen }, spans) {
  const debts = new Uint8Array(rows);
  for (const { from, to } of spans) debts.fill(1, from + 1, to + 1);
  // In an imported log, the answer may only be missing in the log.
  const endless = isOpen ? [] : spans.filter(({ to }) => to === Infinity);
  return debts.fill(2, endless.reduce((least, { from }) => Math.min(least, from), rows) + 1);
}

/**
 * Returns the rows of updates that came after the end of their turn.
 * @param {Recording} recording @returns {Set<number>}
 */
export function lateUpdates(recording) {
  const problems = /** @type {{rule: string, seq: number}[]} */ (recording.meta.summary.problems);
  const late = problems.filter(({ rule }) => /^(turn\.update-late|cancel\.update-after)$/.test(rule));
  return new Set(late.map(({ seq }) => recording.rowOf(seq)));
}

/**
 * Returns the items of the diagram, in the order in which they happened.
 * @param {Recording} recording
 * @param {Int32Array} shown the rows to show @returns {Item[]}
 */
export function sequenceItems(recording, shown) {
  const [times, waits] = recording.columns("t_ns", "arrival_ns");
  const built = Array.from(buildItems(recording, shown, new Set()));
  const all = built.filter((item) => rowOfItem(item) < recording.rows).map((item) => {
    const [row, kind] = [rowOfItem(item), DRAWN_KINDS[kindOfItem(item)]];
    const extent = runExtent(recording, shown, row);
    const delay = kind === "frame" ? extent.delay : 0;
    const own = { kind, row, time: times.at(row), after: NaN, delivered: false };
    return { ...own, ...extent, delay, seen: row - 1, held: 0 };
  });
  const late = all.filter(({ delay }) => delay > 0).sort((a, b) => a.arrived - b.arrived);
  /** @type {Item[]} */
  const items = [];
  let [next, before, seen, held] = [0, NaN, -1, 0];
  const deliver = (/** @type {number} */ until) => {
    for (; next < late.length && late[next].arrived < until; next++) {
      const [item, time] = [late[next], late[next].arrived];
      held--;
      if (items.at(-1) === item) Object.assign(item, { delivered: true, held });
      else items.push({ ...item, kind: "delivery", time, after: time - before, seen, held });
      before = time;
    }
  };
  for (const item of all) {
    deliver(times.at(item.row) - (waits.at(item.row) || 0));
    if (item.delay > 0) held++;
    if (item.kind !== "frame") items.push({ ...item, seen, held });
    else {
      items.push(Object.assign(item, { after: item.time - before, held }));
      [before, seen] = [times.at(item.last), item.last];
    }
  }
  deliver(Infinity);
  return items;
}

/**
 * Returns the arrows of an item: one arrow, or two arrows if a fault changed or delayed a message.
 * @param {Recording} recording @param {Item} item @returns {Arrow[]}
 */
export function arrowsOf(recording, item) {
  const ends = item.kind === "gap" || item.kind === "turn" ? null : endsOf(recording, item.row);
  if (ends === null) return [];
  const fate = recording.text("fate", item.row);
  const isLate = item.delay > 0;
  const isWhole = fate === "undelivered" || (!fate && !isLate);
  if (isWhole) return [{ ...ends, end: fate ? "cross" : "head", slanted: false }];
  /** @type {Arrow} */
  const onward = { from: "proxy", to: ends.to, end: "head", slanted: isLate };
  if (item.kind === "delivery") return [onward];
  const end = fate === "dropped" ? "cross" : fate === "changed" ? "changed" : "clock";
  /** @type {Arrow} */
  const inward = { from: ends.from, to: "proxy", end, slanted: false };
  const arrives = (!isLate || item.delivered) && fate !== "dropped";
  return [fate !== "injected" && inward, arrives && onward].filter((one) => one !== false);
}

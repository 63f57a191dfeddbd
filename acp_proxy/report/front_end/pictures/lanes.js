// Works out a sequence diagram: which lanes there are, whose answer is pending at each row, what an
// item of the diagram shows. Pure: knows no page.

/** @typedef {import("../data/recording.js").Recording} Recording */
/** @typedef {"person" | "files" | "terminals" | "client" | "proxy" | "agent"} Lane */
/**
 * @typedef {object} Lanes
 * @property {Lane[]} lanes those that occur, from left to right
 * @property {Map<Lane, Uint8Array>} open the pending requests after each row, one bit for each
 * @property {Map<Lane, Uint8Array>} never those of them that are never answered
 * @property {Set<number>} late rows of updates that came after the end of their turn
 */
/**
 * @typedef {object} Items
 * @property {number} count
 * @property {Uint8Array} kinds of each item: ITEM
 * @property {Int32Array} rows its first row
 * @property {Int32Array} lasts its last row
 * @property {Int32Array} counts how many rows it has
 * @property {Float64Array} times when it happened
 * @property {Int32Array} held how many frames wait in the proxy after it
 * @property {Int32Array} frames the items that are frames, in the order of their rows
 */
/**
 * @typedef {object} Arrow
 * @property {Lane} from
 * @property {Lane} to
 * @property {"head" | "cross" | "changed" | "clock"} end
 * @property {boolean} slanted
 */

export const ITEM = {frame: 0, gap: 1, delivery: 2, delivered: 3};
const ALL_LANES = /** @type {Lane[]} */ (["person", "files", "terminals", "client", "proxy", "agent"]);
const GAP_NS = 5e9;
const FIRED = 1;
const MADE_UP = 2;
const OTHER_BYTES = 4;
const SLOTS = 8;

/**
 * Returns who answers a request of the agent.
 * @param {Recording} recording
 * @param {string | null} method
 * @returns {Lane}
 */
function answeringLane(recording, method) {
  const party = method === null ? undefined : recording.meta.parties[method];
  return party === "person" || party === "files" || party === "terminals" ? party : "client";
}

/**
 * Returns between which lanes a message went.
 * @param {Recording} recording
 * @param {number} row
 * @returns {{from: Lane, to: Lane} | null} null if it is no message
 */
export function endsOf(recording, row) {
  const stream = recording.text("stream", row);
  const kind = recording.text("kind", row);
  const method = recording.text("method", row);
  if (stream === "to-client") {
    return {from: "agent", to: kind === "request" ? answeringLane(recording, method) : "client"};
  }
  if (stream !== "to-agent") return null;
  const isAnswer = kind === "response" || kind === "error";
  return {from: isAnswer ? answeringLane(recording, method) : "client", to: "agent"};
}

/**
 * Returns what became of a frame on its way: "passed", "dropped", "changed", "injected", or
 * "undelivered" where no fault was the cause.
 * @param {Recording} recording
 * @param {number} row
 */
export function fateOf(recording, row) {
  const flags = recording.numbers("flags")[row] || 0;
  const delivered = recording.text("delivered", row);
  if (flags & MADE_UP) return "injected";
  if (delivered === "none") {
    return recording.codes("fault")[row] || flags & FIRED ? "dropped" : "undelivered";
  }
  if (flags & OTHER_BYTES) return "changed";
  return delivered === "partial" ? "undelivered" : "passed";
}

/**
 * Whether faults have done anything in a recording.
 * @param {Recording} recording
 */
export function hasFaults(recording) {
  const event = recording.code("event");
  const fault = recording.code("fault");
  const streams = recording.codes("stream");
  const kinds = recording.codes("kind");
  return recording.codes("fault").some((code) => code > 0) ||
    recording.numbers("flags").some((flags) => (flags & (FIRED | MADE_UP)) > 0) ||
    (fault > 0 && kinds.some((code, row) => code === fault && streams[row] === event));
}

/**
 * Works out the lanes and what is pending after each row.
 * @param {Recording} recording
 * @returns {Lanes}
 */
export function lanesOf(recording) {
  const faulted = hasFaults(recording);
  const open = new Map();
  const never = new Map();
  const pending = new PendingRequests(recording, faulted);
  const seen = new Set(faulted ? ["client", "proxy", "agent"] : ["client", "agent"]);
  for (const [method, party] of Object.entries(recording.meta.parties)) {
    if (party !== "other" && recording.code(method)) seen.add(party);
  }
  const lanes = ALL_LANES.filter((lane) => seen.has(lane));
  for (const lane of lanes) {
    open.set(lane, new Uint8Array(recording.rows));
    never.set(lane, new Uint8Array(recording.rows));
  }
  for (let row = 0; row < recording.rows; row++) {
    pending.feed(row);
    for (const lane of lanes) {
      open.get(lane)[row] = pending.open[lane];
      never.get(lane)[row] = pending.never[lane];
    }
  }
  return {lanes, open, never, late: lateUpdates(recording)};
}

/**
 * The rows that the diagnosis calls late.
 * @param {Recording} recording
 * @returns {Set<number>}
 */
function lateUpdates(recording) {
  const late = new Set();
  for (const problem of recording.meta.summary.problems) {
    if (problem.kind !== "late-update") continue;
    for (const seq of problem.seqs) late.add(recording.rowOf(seq));
  }
  return late;
}

/** The requests without an answer so far, each at a place of its own in the lane that has to act. */
class PendingRequests {
  /**
   * @param {Recording} recording
   * @param {boolean} faulted
   */
  constructor(recording, faulted) {
    this.recording = recording;
    this.faulted = faulted;
    this.open = noSlots();
    this.never = noSlots();
    this.places = new Uint8Array(recording.rows);
    /** The places that become free at a row. @type {Map<number, number[]>} */
    this.endings = new Map();
    /** The requests that reach their receiver at a later row. @type {Map<number, number[]>} */
    this.arrivals = new Map();
    this.codes = Object.fromEntries(
      ["request", "response", "error", "batch"].map((kind) => [kind, recording.code(kind) || -1]));
    /** @type {Map<number, number | null>} */
    this.turnEnds = new Map();
    for (const turn of recording.meta.summary.turns) {
      this.turnEnds.set(recording.rowOf(turn.prompt_seq), turn.end_seq);
    }
  }

  /** @param {number} row */
  feed(row) {
    const {codes, recording} = this;
    const kind = recording.codes("kind")[row];
    for (const place of this.endings.get(row) ?? []) this.close(place);
    this.endings.delete(row);
    for (const late of this.arrivals.get(row) ?? []) this.request(late);
    this.arrivals.delete(row);
    if (kind === codes.request) {
      const arrival = this.arrivalOf(row);
      if (arrival === row) this.request(row);
      else addTo(this.arrivals, arrival, row);
    } else if (kind === codes.response || kind === codes.error) {
      const asked = recording.pair(row);
      if (asked >= 0 && this.places[asked] && !this.turnEnds.has(asked)) {
        this.close(this.places[asked]);
        this.places[asked] = 0;
      }
      if (this.faulted && fateOf(recording, row) === "dropped") this.begin("proxy", true);
    } else if (kind === codes.batch) {
      for (const member of recording.meta.members[row] ?? []) this.member(row, member);
    }
  }

  /**
   * The row at which a request has reached who answers it; behind the last row if none has seen it.
   * @param {number} row
   */
  arrivalOf(row) {
    const {recording} = this;
    const delay = recording.numbers("delay_ns")[row];
    if (!(delay > 0) || fateOf(recording, row) === "dropped") return row;
    return Math.max(row, recording.rowAt(recording.numbers("t_ns")[row] + delay));
  }

  /** @param {number} row */
  request(row) {
    const {recording} = this;
    const ends = endsOf(recording, row);
    if (ends === null) return;
    const isDropped = this.faulted && fateOf(recording, row) === "dropped";
    const answer = recording.numbers("response_seq")[row];
    const turnEnd = this.turnEnds.get(row);
    const endSeq = turnEnd === undefined ? answer : turnEnd ?? NaN;
    const place = this.begin(isDropped ? "proxy" : ends.to, Number.isNaN(endSeq));
    if (!place) return;
    this.places[row] = place;
    const isPlain = turnEnd === undefined && recording.pair(recording.pair(row)) === row;
    if (!isPlain) this.endAt(endSeq, place);
  }

  /**
   * @param {number} row of the batch
   * @param {{kind?: string, method?: string | null, response_seq?: number | null}} member
   */
  member(row, member) {
    if (member.kind !== "request") return;
    const isToAgent = this.recording.text("stream", row) === "to-agent";
    const lane = isToAgent ? "agent" : answeringLane(this.recording, member.method ?? null);
    const answer = member.response_seq ?? NaN;
    this.endAt(answer, this.begin(lane, Number.isNaN(answer)));
  }

  /**
   * Takes a free place in a lane: its number in the lane and the lane, as one number; 0 if none is.
   * @param {Lane} lane
   * @param {boolean} isNever
   */
  begin(lane, isNever) {
    let slot = 0;
    while (slot < SLOTS && this.open[lane] & (1 << slot)) slot++;
    if (slot === SLOTS) return 0;
    this.open[lane] |= 1 << slot;
    if (isNever) this.never[lane] |= 1 << slot;
    return 1 + slot + SLOTS * ALL_LANES.indexOf(lane);
  }

  /** @param {number} place */
  close(place) {
    const lane = ALL_LANES[Math.floor((place - 1) / SLOTS)];
    this.open[lane] &= ~(1 << ((place - 1) % SLOTS));
  }

  /**
   * @param {number} seq NaN for never
   * @param {number} place
   */
  endAt(seq, place) {
    if (Number.isNaN(seq) || !place) return;
    const row = this.recording.nearest(seq);
    if (this.recording.numbers("seq")[row] < seq) return;
    addTo(this.endings, row, place);
  }
}

/**
 * @param {Map<number, number[]>} lists
 * @param {number} key
 * @param {number} value
 */
function addTo(lists, key, value) {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

/** @returns {Record<Lane, number>} */
function noSlots() {
  return {person: 0, files: 0, terminals: 0, client: 0, proxy: 0, agent: 0};
}

/**
 * Makes the items of the diagram: frames, runs of chunks, breaks of five seconds and longer, and
 * the later deliveries of frames that faults have delayed.
 * @param {Recording} recording
 * @param {Int32Array} shown the rows to show
 * @returns {Items}
 */
export function sequenceItems(recording, shown) {
  const times = recording.numbers("t_ns");
  const delays = recording.numbers("delay_ns");
  const waits = recording.numbers("arrival_ns");
  const runs = recording.numbers("run");
  const items = new ItemList();
  const deliveries = deliveriesOf(times, delays, runs, shown);
  let next = 0;
  let before = NaN;
  /** @param {number} until */
  const deliver = (until) => {
    for (; next < deliveries.length && deliveries[next].time < until; next++) {
      const {row, last, time} = deliveries[next];
      before = Math.max(before, time);
      if (items.isLast(row)) items.markDelivered();
      else items.add(ITEM.delivery, row, last, 1, time, -1);
    }
  };
  for (let at = 0; at < shown.length; ) {
    const row = shown[at];
    const end = endOfRun(runs, shown, at);
    const began = times[row] - (waits[row] || 0);
    deliver(began);
    if (began - before >= GAP_NS) items.add(ITEM.gap, row, row, 0, began - before, 0);
    const last = shown[end - 1];
    items.add(ITEM.frame, row, last, end - at, times[row], hasDelay(delays, shown, at, end) ? 1 : 0);
    before = times[last];
    at = end;
  }
  deliver(Infinity);
  return items.finished();
}

/**
 * @param {Float64Array} runs
 * @param {Int32Array} shown
 * @param {number} at
 */
function endOfRun(runs, shown, at) {
  const run = runs[shown[at]];
  let end = at + 1;
  if (!Number.isNaN(run)) while (end < shown.length && runs[shown[end]] === run) end++;
  return end;
}

/**
 * @param {Float64Array} delays
 * @param {Int32Array} shown
 * @param {number} from
 * @param {number} to
 */
function hasDelay(delays, shown, from, to) {
  for (let at = from; at < to; at++) if (delays[shown[at]] > 0) return true;
  return false;
}

/**
 * The late deliveries in the order of their times.
 * @param {Float64Array} times
 * @param {Float64Array} delays
 * @param {Float64Array} runs
 * @param {Int32Array} shown
 */
function deliveriesOf(times, delays, runs, shown) {
  const found = [];
  for (let at = 0; at < shown.length; ) {
    const end = endOfRun(runs, shown, at);
    if (hasDelay(delays, shown, at, end)) {
      let time = 0;
      for (let of = at; of < end; of++) {
        time = Math.max(time, times[shown[of]] + (delays[shown[of]] || 0));
      }
      found.push({row: shown[at], last: shown[end - 1], time});
    }
    at = end;
  }
  return found.sort((a, b) => a.time - b.time || a.row - b.row);
}

/** Items under construction. */
class ItemList {
  constructor() {
    /** @type {number[]} */
    this.kinds = [];
    /** @type {number[]} */
    this.rows = [];
    /** @type {number[]} */
    this.lasts = [];
    /** @type {number[]} */
    this.counts = [];
    /** @type {number[]} */
    this.times = [];
    /** @type {number[]} */
    this.held = [];
    this.waiting = 0;
  }

  /**
   * @param {number} kind
   * @param {number} row
   * @param {number} last
   * @param {number} count
   * @param {number} time
   * @param {number} held how many more frames wait in the proxy
   */
  add(kind, row, last, count, time, held) {
    this.waiting += held;
    this.kinds.push(kind);
    this.rows.push(row);
    this.lasts.push(last);
    this.counts.push(count);
    this.times.push(time);
    this.held.push(this.waiting);
  }

  /** @param {number} row */
  isLast(row) {
    const at = this.rows.length - 1;
    return this.rows[at] === row && this.kinds[at] === ITEM.frame;
  }

  /** Notes that the last frame was delivered before anything else happened. */
  markDelivered() {
    this.kinds[this.kinds.length - 1] = ITEM.delivered;
    this.held[this.held.length - 1] = --this.waiting;
  }

  /** @returns {Items} */
  finished() {
    const frames = [];
    for (let at = 0; at < this.kinds.length; at++) {
      if (this.kinds[at] === ITEM.frame || this.kinds[at] === ITEM.delivered) frames.push(at);
    }
    return {
      count: this.kinds.length,
      kinds: Uint8Array.from(this.kinds),
      rows: Int32Array.from(this.rows),
      lasts: Int32Array.from(this.lasts),
      counts: Int32Array.from(this.counts),
      times: Float64Array.from(this.times),
      held: Int32Array.from(this.held),
      frames: Int32Array.from(frames),
    };
  }
}

/**
 * Returns the item that shows a row as it was received, or the one before it; -1 if there is none.
 * @param {Items} items
 * @param {number} row
 */
export function itemOf(items, row) {
  const {frames, rows} = items;
  let low = 0;
  let high = frames.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[frames[middle]] <= row) low = middle + 1;
    else high = middle;
  }
  return low > 0 ? frames[low - 1] : -1;
}

/**
 * Returns the longest delay of some rows; 0 if they were not late.
 * @param {Recording} recording
 * @param {number} row
 * @param {number} last
 */
export function delayIn(recording, row, last) {
  const delays = recording.numbers("delay_ns");
  let longest = 0;
  for (let at = row; at <= last; at++) if (delays[at] > longest) longest = delays[at];
  return longest;
}

/**
 * Returns the arrows of an item: one, or two where a fault has made a difference.
 * @param {Recording} recording
 * @param {Items} items
 * @param {number} at
 * @returns {Arrow[]}
 */
export function arrowsOf(recording, items, at) {
  const kind = items.kinds[at];
  const row = items.rows[at];
  const ends = kind === ITEM.gap ? null : endsOf(recording, row);
  if (ends === null) return [];
  const fate = fateOf(recording, row);
  const onward = {from: /** @type {Lane} */ ("proxy"), to: ends.to, end: /** @type {const} */ ("head"), slanted: false};
  const inward = {from: ends.from, to: /** @type {Lane} */ ("proxy"), slanted: false};
  if (kind === ITEM.delivery) return [{...onward, slanted: true}];
  const isLate = delayIn(recording, row, items.lasts[at]) > 0;
  if (fate === "dropped") return [{...inward, end: "cross"}];
  if (fate === "injected") {
    return isLate && kind === ITEM.frame ? [] : [{...onward, slanted: isLate}];
  }
  if (isLate) {
    const arrow = /** @type {Arrow} */ ({...inward, end: fate === "changed" ? "changed" : "clock"});
    return kind === ITEM.delivered ? [arrow, {...onward, slanted: true}] : [arrow];
  }
  if (fate === "changed") return [{...inward, end: "changed"}, onward];
  return [{...ends, end: fate === "undelivered" ? "cross" : "head", slanted: false}];
}

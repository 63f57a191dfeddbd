// Maps the times of a recording to positions from 0 to 1. Times in which somebody waited get much
// room, and times in which nobody waited get little room. Also counts rows by position. The module
// does not draw.

import { lowerBound } from "../data/columns.js";

const QUIET_PART = 0.02;
/** Parts of the width of the axis: for the longest gap without a wait, and for all such gaps. */
const MOST_OF_ONE = 0.065;
const MOST_OF_ALL = 0.3;
/**
 * Parts of the width of the axis: for all waits together, for all waits if an answer never came
 * (the largest part), and for the longest wait (the smallest part).
 */
const PART_OF_WAITS = 0.5;
const MOST_OF_WAITS = 0.7;
const LEAST_OF_LONGEST = 0.25;

/**
 * If the waits take at least this part of the time without other gaps, their part of the axis is
 * enlarged.
 */
const NOTED = 0.1;
/** Parts of the space between two ticks, chosen so that labels do not touch. */
const APART = 0.7;
const LABEL = 0.5;

/**
 * A pause before a row. `debt` says whether somebody had to answer meanwhile: 0 nobody, 1 somebody,
 * 2 somebody who never answered.
 * @typedef {{row: number, from: number, to: number, debt: number}} Gap
 * @typedef {{times: number[], places: number[], gaps: Gap[]}} TimeAxis
 * @typedef {{left: number, right: number, debt: number, gaps: Gap[]}} DrawnGap
 * @typedef {{has: (row: number) => boolean}} Marked
 */

/**
 * Makes an axis. A pause is a gap if it is longer than a fiftieth of the time without the longer
 * pauses. Gaps in which somebody had to answer are waits. Waits share at least half of the axis, in
 * proportion to their lengths, and the longest wait gets at least a quarter. But if all waits were
 * answered and take less than a tenth of the time without other gaps, the waits get only their part
 * of this time. The width of any other gap is in proportion to the square root of its length: the
 * longest gets a fifteenth of the axis if it takes a tenth of the time, and together these gaps get
 * less than a third of the axis without the waits. A pause without anybody to answer is a gap, too,
 * if it would take more than a tenth of the axis. `gaps` contains the waits, and the other gaps
 * that are drawn much shorter than their time.
 * @param {Float64Array} times of all rows, in their order
 * @param {Uint8Array} [debts] of the gap before each row
 * @param {Marked} [marked] rows with a gap before them, however short this gap is
 * @param {TimeAxis} [plain] the axis if a pause with nobody to answer may have any width
 * @returns {TimeAxis}
 */
export function timeAxis(times, debts = new Uint8Array(times.length), marked = new Set(), plain) {
  const found = gapsIn(times, debts, marked);
  const first = times[0] ?? 0;
  const last = Math.max(times[times.length - 1] ?? 0, first + 1);
  const waits = found.filter(({ debt }) => debt);
  const [waited, all] = [lengthOf(waits), lengthOf(found)];
  const [active, busy] = [last - first - all, last - first - all + waited];
  const breaks = [first, ...found.flatMap(({ from, to }) => [from, to]), last];
  const lengths = breaks.slice(1).map((time, at) => time - breaks[at]);
  const most = waits.some(({ debt }) => debt === 2) ? MOST_OF_WAITS : PART_OF_WAITS;
  const isNoted = (/** @type {Gap[]} */ gaps) =>
    lengthOf(gaps) >= NOTED * busy || gaps.some(({ debt }) => debt === 2);
  const share = Math.max(isNoted(waits) ? PART_OF_WAITS : 0, Math.min(most, waited / busy));
  const part = !waits.length ? 0 : last - first > waited ? share : 1;
  // The lengths and the widths of waits are 0 here; `shares` contains their widths.
  const idle = found.map(({ from, to, debt }) => (debt ? 0 : to - from));
  const longest = Math.max(NOTED * (last - first), ...idle);
  const sizes = idle.map((length) => Math.sqrt(length / longest));
  const size = sizes.reduce((sum, one) => sum + one, 0);
  const each = Math.min(MOST_OF_ONE / (1 - part), MOST_OF_ALL / size);
  const short = active > 0 ? (active * each) / (1 - each * size) : Number.MAX_VALUE;
  // Every second length is the length of a gap.
  const widths = lengths.map((one, at) => (at % 2 ? Math.min(short * sizes[at >> 1], one) : one));
  const rest = widths.reduce((sum, one) => sum + one, 0);
  const shares = waitWidths(found, part, waited, isNoted);
  const unit = rest > 0 ? (1 - part) / rest : 0;
  let done = 0;
  const ends = widths.map((one, at) => (done += one * unit + (at % 2 && shares[at >> 1])));
  const gaps = found.filter(({ debt }, n) => debt || widths[2 * n + 1] < 0.7 * idle[n]);
  const places = [0, ...ends].map((end) => end / (done || 1));
  // Without other times, nothing could have the room of wide pauses.
  if (plain && active < 1) return plain;
  const axis = { times: breaks, places, gaps };
  const at = times.map((time) => placeOf(axis, time));
  const wide = Array.from(at.keys()).filter((row) => at[row] - at[row - 1] > 0.1 && !debts[row]
    && !found.some((gap) => gap.row === row));
  const has = (/** @type {number} */ row) => marked.has(row) || wide.includes(row);
  return wide.length ? timeAxis(times, debts, { has }, plain ?? axis) : axis;
}

/**
 * Returns the width of each gap: of a wait, a share in proportion to its length; of another gap, 0.
 * If `isNoted` accepts the longest wait, this wait gets at least a quarter of the axis.
 * @param {Gap[]} gaps @param {number} part of the axis, of all waits
 * @param {number} waited the length of all waits @param {(gaps: Gap[]) => boolean} isNoted
 */
function waitWidths(gaps, part, waited, isNoted) {
  const widths = gaps.map(({ from, to, debt }) => debt && (part * (to - from)) / (waited || 1));
  const peak = widths.reduce((most, width, at) => (width > widths[most] ? at : most), 0);
  if (!part || widths[peak] >= LEAST_OF_LONGEST || !isNoted([gaps[peak]])) return widths;
  const others = (part - LEAST_OF_LONGEST) / (part - widths[peak]);
  return widths.map((width, at) => (at === peak ? LEAST_OF_LONGEST : width * others));
}

/**
 * Returns the gaps: the marked pauses, and the pauses that are long in comparison with the time
 * without the longer pauses. But if many pauses are that long, long pauses are usual in the
 * recording; then only marked pauses and pauses of more than a quarter of the time are gaps.
 * @param {Float64Array} times @param {Uint8Array} debts @param {Marked} marked
 * @returns {Gap[]}
 */
function gapsIn(times, debts, marked) {
  const lengths = times.map((time, row) => time - (times[row - 1] ?? time));
  const sorted = lengths.filter((_, row) => !marked.has(row)).sort();
  const length = sorted.reduce((sum, one) => sum + one, 0);
  let [at, rest] = [sorted.length - 1, length];
  for (; sorted[at] > QUIET_PART * rest; at--) rest -= sorted[at];
  const most = Math.floor(Math.max(3, times.length / 20));
  const isRare = (/** @type {number} */ least) => !(sorted[sorted.length - 1 - most] > least);
  // A pause of more than a quarter of the time is a gap, even if many pauses are long.
  const least = [sorted[at], (QUIET_PART * length) / 2].find(isRare) ?? 0.25 * length;
  /** @type {Gap[]} */
  const gaps = [];
  lengths.forEach((gap, row) => {
    const isGap = row > 0 && (gap > least || marked.has(row));
    if (isGap) gaps.push({ row, from: times[row - 1], to: times[row], debt: debts[row] });
  });
  return gaps;
}

/** Returns the length of all gaps together. @param {{from: number, to: number}[]} gaps */
export const lengthOf = (gaps) => gaps.reduce((sum, { from, to }) => sum + to - from, 0);

/**
 * Groups neighbouring items: `belongs` says whether an item belongs to the group before it.
 * @template T @param {Iterable<T>} items @param {(item: T, group: T[]) => boolean} belongs
 */
export function grouped(items, belongs) {
  /** @type {T[][]} */
  const groups = [];
  for (const item of items) {
    const group = groups[groups.length - 1];
    if (group && belongs(item, group)) group.push(item);
    else groups.push([item]);
  }
  return groups;
}

/**
 * Returns the gaps with their places on the axis. Neighbouring gaps are joined if the time between
 * them, and one of the gaps, would be too narrow to be seen.
 * @param {TimeAxis} axis @param {number} least the width that can be seen @param {Gap[]} [gaps]
 * @param {(from: number, to: number) => boolean} [isSilent] whether the rows between two gaps
 * contain no message, so that the gaps are joined @returns {DrawnGap[]}
 */
export function drawnGaps(axis, least, gaps = axis.gaps, isSilent = () => false) {
  const isSeen = (/** @type {number} */ from, /** @type {number} */ to) =>
    placeOf(axis, to) - placeOf(axis, from) >= least;
  const groups = grouped(gaps, ({ row, from, to, debt }, group) => {
    const last = group[group.length - 1];
    return !isSeen(last.to, from) && (!(isSeen(from, to) && isSeen(group[0].from, last.to))
      || (debt === last.debt && isSilent(last.row, row)));
  });
  return groups.map((group) => {
    const [left, right] = [group[0].from, group[group.length - 1].to].map((t) => placeOf(axis, t));
    return { left, right, debt: Math.max(...group.map(({ debt }) => debt)), gaps: group };
  });
}

/**
 * Returns the position of a time on the axis, from 0 to 1.
 * @param {TimeAxis} axis @param {number} time
 */
export const placeOf = (axis, time) => interpolate(axis.times, axis.places, time);

/**
 * Returns the time at a position on the axis, from 0 to 1.
 * @param {TimeAxis} axis @param {number} place
 */
export const timeAt = (axis, place) => interpolate(axis.places, axis.times, place);

/** @param {number[]} from ascending @param {number[]} to as long @param {number} value */
function interpolate(from, to, value) {
  const high = Math.min(Math.max(lowerBound(from, value), 1), from.length - 1);
  const part = (value - from[high - 1]) / (from[high] - from[high - 1]);
  return to[high - 1] + Math.min(1, Math.max(0, part || 0)) * (to[high] - to[high - 1]);
}

/**
 * Divides an axis into equal parts, and counts the rows in each part.
 * @param {TimeAxis} axis
 * @param {{at: (row: number) => number}} times of all rows, in their order
 * @param {Int32Array} rows the rows to count, sorted
 * @param {number} parts
 */
export function countsByPlace(axis, times, rows, parts) {
  const counts = new Uint32Array(parts);
  let [part, end] = [-1, -Infinity];
  for (const row of rows) {
    while (times.at(row) >= end && part < parts - 1) end = timeAt(axis, (++part + 1) / parts);
    counts[part]++;
  }
  return counts;
}

/**
 * Returns the positions at which the scale of an axis clearly changes.
 * @param {TimeAxis} axis @returns {number[]} places
 */
export function scaleBreaks({ times, places }) {
  const breaks = [];
  let before = NaN;
  for (let at = 1; at < times.length; at++) {
    if (times[at] === times[at - 1]) continue;
    const scale = (places[at] - places[at - 1]) / (times[at] - times[at - 1]);
    // Two scales clearly differ if one is this many times as large as the other.
    if (Math.max(scale, before) > 1.5 * Math.min(scale, before)) breaks.push(places[at - 1]);
    before = scale;
  }
  return breaks;
}

/**
 * Returns the times of the ticks of an axis, each with the number of digits that its seconds need:
 * the times at which the scale changes, and round times in the room between them.
 * @param {TimeAxis} axis @param {number} most how many there may be
 * @param {number} [least] nanoseconds, as exactly as times are known
 * @returns {{time: number, place: number, digits: number}[]}
 */
export function axisTicks(axis, most, least = 0) {
  const ends = [0, ...scaleBreaks(axis), 1];
  const stretches = ends.slice(1).map((end, n) => {
    const [from, to] = [ends[n], end].map((place) => timeAt(axis, place));
    return { from, to, step: Math.max(least, tickStep(to - from, most * (end - ends[n]))) };
  });
  /** @type {{time: number, place: number, digits: number}[]} */
  const ticks = [];
  const add = (/** @type {number} */ time, /** @type {number} */ step) => {
    const place = placeOf(axis, time);
    const isNear = ticks.some((tick) => Math.abs(tick.place - place) < APART / most);
    const digits = Math.max(0, -Math.floor(Math.log10(step / 1e9) + 1e-9));
    if (!isNear && place <= 1 - LABEL / most) ticks.push({ time, place, digits });
  };
  stretches.slice(1).forEach(({ from, step }, n) => add(from, Math.min(step, stretches[n].step)));
  for (const { from, to, step } of stretches) {
    for (let n = Math.ceil(from / step); n * step < to; n++) add(n * step, step);
  }
  return ticks.sort((a, b) => a.place - b.place);
}

/**
 * Returns a step between ticks, 1, 2 or 5 times a power of ten, such that a length has at most
 * `most` steps, or two if that is less.
 * @param {number} length @param {number} most
 */
export function tickStep(length, most) {
  const least = Math.max(length, 1) / Math.max(2, most);
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5].find((factor) => factor * power >= least) ?? 10);
}

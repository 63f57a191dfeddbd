// Maps the time of a recording to positions from 0 to 1, with quiet stretches drawn short, and counts
// rows by position. Pure: knows no page.

import { lowerBound } from "../data/recording.js";

const QUIET_PART = 0.02;
const QUIET_PASSES = 3;
const FEW = 3;
const ROWS_FOR_ONE = 20;
const MOST_OF_ONE = 0.04;
const MOST_OF_ALL = 0.3;
const SHORTENED = 0.7;

/**
 * @typedef {{from: number, to: number}} Stretch
 * @typedef {{times: number[], places: number[], quiet: Stretch[]}} TimeAxis
 */

/**
 * Makes an axis. A stretch in which nothing happens for longer than a fiftieth of the rest is quiet:
 * it has a fixed width, and all such stretches together fill less than a third of the axis.
 * `quiet` has those that are drawn clearly shorter than the rest.
 * @param {Float64Array} times of all rows, in their order
 * @returns {TimeAxis}
 */
export function timeAxis(times) {
  const quiet = quietStretches(times);
  const first = times[0] ?? 0;
  const last = Math.max(times[times.length - 1] ?? 0, first + 1);
  const active = last - first - lengthOf(quiet);
  const each = Math.min(MOST_OF_ONE, MOST_OF_ALL / Math.max(1, quiet.length));
  const short = active > 0 ? (active * each) / (1 - each * quiet.length) : 1;
  const breaks = [first, ...quiet.flatMap(({ from, to }) => [from, to]), last];
  const lengths = breaks.slice(1).map((time, at) => time - breaks[at]);
  // Every second one is quiet.
  const widths = lengths.map((length, at) => (at % 2 ? Math.min(short, length) : length));
  const whole = widths.reduce((sum, width) => sum + width, 0) || 1;
  let done = 0;
  const places = [0, ...widths.map((width) => (done += width) / whole)];
  const shortened = quiet.filter(({ from, to }) => active > 0 && short < SHORTENED * (to - from));
  return { times: breaks, places, quiet: shortened };
}

/**
 * Returns the stretches that are long when compared with what is left without longer ones. Where
 * many are as long, that is how the recording is, and none of them is quiet.
 * @param {Float64Array} times @returns {Stretch[]}
 */
function quietStretches(times) {
  const length = times[times.length - 1] - times[0];
  /** @type {Stretch[]} */
  let found = [];
  for (let pass = 0; pass < QUIET_PASSES; pass++) {
    const least = QUIET_PART * (length - lengthOf(found));
    const longer = [];
    for (let row = 1; row < times.length; row++) {
      if (times[row] - times[row - 1] > least) longer.push({ from: times[row - 1], to: times[row] });
    }
    if (longer.length > Math.max(FEW, times.length / ROWS_FOR_ONE)) break;
    found = longer;
  }
  return found;
}

/** Returns how long stretches are together. @param {Stretch[]} stretches */
export const lengthOf = (stretches) => stretches.reduce((sum, { from, to }) => sum + to - from, 0);

/** Returns where a time is, from 0 to 1. @param {TimeAxis} axis @param {number} time */
export const placeOf = (axis, time) => interpolate(axis.times, axis.places, time);

/** Returns the time at a place from 0 to 1. @param {TimeAxis} axis @param {number} place */
export const timeAt = (axis, place) => interpolate(axis.places, axis.times, place);

/** @param {number[]} from ascending @param {number[]} to as long @param {number} value */
function interpolate(from, to, value) {
  const high = Math.min(Math.max(lowerBound(from, value), 1), from.length - 1);
  const part = (value - from[high - 1]) / (from[high] - from[high - 1]);
  return to[high - 1] + Math.min(1, Math.max(0, part || 0)) * (to[high] - to[high - 1]);
}

/**
 * Counts the rows in each of the equal parts of an axis.
 * @param {TimeAxis} axis
 * @param {Float64Array} times of all rows, in their order
 * @param {Int32Array} rows the rows to count, sorted
 * @param {number} parts
 */
export function countsByPlace(axis, times, rows, parts) {
  const counts = new Uint32Array(parts);
  let [part, end] = [-1, -Infinity];
  for (const row of rows) {
    while (times[row] >= end && part < parts - 1) end = timeAt(axis, (++part + 1) / parts);
    counts[part]++;
  }
  return counts;
}

/**
 * Returns a step of 1, 2 or 5 times a power of ten, so that a length has at most so many of them.
 * @param {number} length @param {number} most
 */
export function tickStep(length, most) {
  const least = Math.max(length, 1) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5].find((factor) => factor * power >= least) ?? 10);
}

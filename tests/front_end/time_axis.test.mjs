import assert from "node:assert/strict";
import { test } from "node:test";

import {
  axisTicks, countsByPlace, drawnGaps, grouped, lengthOf, placeOf, scaleBreaks, tickStep, timeAt, timeAxis,
} from "../../acp_proxy/report/front_end/pictures/time_axis.js";

const SECOND = 1e9;
const times = (...seconds) => Float64Array.from(seconds, (one) => one * SECOND);

const steady = (from, to, step) => Array.from({ length: Math.round((to - from) / step) + 1 }, (_, n) => from + n * step);
const widthOf = (axis, from, to) => placeOf(axis, to * SECOND) - placeOf(axis, from * SECOND);
const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-6, `${a} is not ${b}`);

test("without silences, the axis is linear", () => {
  const axis = timeAxis(times(...steady(0, 100, 1)));
  assert.deepEqual(axis.gaps, []);
  near(placeOf(axis, 25 * SECOND), 0.25);
  near(timeAt(axis, 0.5), 50 * SECOND);
});

test("an hour of silence takes one fifteenth of the axis", () => {
  const axis = timeAxis(times(...steady(0, 100, 1), ...steady(3700, 3800, 1)));
  assert.deepEqual(axis.gaps, [{ row: 101, from: 100 * SECOND, to: 3700 * SECOND, debt: 0 }]);
  near(widthOf(axis, 100, 3700), 0.065);
});

test("a slow start of half a second is drawn short, too", () => {
  const axis = timeAxis(times(0, ...steady(0.5, 0.6, 0.001)));
  near(widthOf(axis, 0, 0.5), 0.065);
});

test("a silence beside a longer silence also counts as a silence", () => {
  const axis = timeAxis(times(...steady(0, 60, 1), ...steady(90, 120, 1), ...steady(36000, 36060, 1)));
  assert.equal(axis.gaps.length, 2);
});

test("many silences together take three tenths of the axis", () => {
  const axis = timeAxis(times(...steady(0, 9, 1).flatMap((n) => steady(n * 100, n * 100 + 10, 0.1))));
  assert.equal(axis.gaps.length, 9);
  near(axis.gaps.reduce((sum, one) => sum + placeOf(axis, one.to) - placeOf(axis, one.from), 0), 0.3);
});

test("if most stretches are long, they are drawn with their real length", () => {
  const axis = timeAxis(times(0, 0.03, 0.031, 0.032, 0.04, 0.046, 0.047, 3.05, 3.55));
  assert.equal(axis.gaps.length, 2);
  assert.deepEqual(timeAxis(times(...steady(0, 20, 1))).gaps, []);
});

test("if the whole recording is silent, no stretch is drawn short", () => {
  assert.deepEqual(timeAxis(times(0, 10, 20)).gaps, []);
  near(widthOf(timeAxis(times(0, 10, 20)), 0, 10), 0.5);
});

test("places and times convert into each other, even at and beyond both ends", () => {
  const axis = timeAxis(times(2, 3, 60, 61));
  for (const place of [0, 0.1, 0.5, 0.9, 1]) {
    assert.ok(Math.abs(placeOf(axis, timeAt(axis, place)) - place) < 1e-9);
  }
  assert.equal(placeOf(axis, 0), 0);
  assert.equal(placeOf(axis, 999 * SECOND), 1);
});

test("a recording without rows, with one row, or of one moment has an axis", () => {
  for (const axis of [timeAxis(times()), timeAxis(times(3)), timeAxis(times(3, 3, 3))]) {
    assert.ok(Number.isFinite(placeOf(axis, 3 * SECOND)));
    assert.ok(Number.isFinite(timeAt(axis, 0.5)));
  }
});

test("each requested row is counted once, at its place", () => {
  const rows = times(0, 1, 1.5, 3601, 3602);
  const axis = timeAxis(rows);
  const counts = countsByPlace(axis, rows, Int32Array.of(0, 2, 4), 10);
  assert.equal(counts.reduce((a, b) => a + b), 3);
  assert.deepEqual([counts[0], counts[9]], [1, 1]);
  assert.equal(counts[Math.floor(placeOf(axis, 1.5 * SECOND) * 10)], 1);
});

/** Axes of conversations by chance: some steps of at most a second, and some waits. */
const byChance = (seed) => {
  let state = seed;
  const chance = () => (state = (state * 16807) % 2147483647) / 2147483647;
  const rows = [0];
  const [debts, marked] = [[0], new Set()];
  const count = 3 + Math.floor(chance() * 200);
  for (let row = 1; row < count; row++) {
    const isWait = chance() < 0.1;
    rows.push(rows[row - 1] + (isWait ? 1 + chance() * 10 ** (4 * chance()) : chance()));
    debts.push(isWait && chance() < 0.7 ? 1 + Math.floor(chance() * 2) : 0);
    if (isWait) marked.add(row);
  }
  return timeAxis(times(...rows), Uint8Array.from(debts), marked);
};

test("long waits take half of the axis, and the longest wait takes a quarter", () => {
  for (let seed = 1; seed <= 300; seed++) {
    const axis = byChance(seed);
    axis.places.forEach((place, at) => assert.ok(place >= (axis.places[at - 1] ?? 0), `seed ${seed}`));
    near(axis.places.at(-1), 1);
    const waits = axis.gaps.filter(({ debt }) => debt).sort((a, b) => b.to - a.to - (b.from - a.from));
    if (waits.length === 0) continue;
    const widths = waits.map(({ from, to }) => placeOf(axis, to) - placeOf(axis, from));
    const part = widths.reduce((sum, width) => sum + width);
    const lengths = axis.times.map((time, at) => (at ? time - axis.times[at - 1] : 0));
    const whole = lengths.reduce((sum, length, at) => sum + (at % 2 ? length : 0)) + lengthOf(waits);
    const isNoted = (gaps) => lengthOf(gaps) >= whole / 10 || gaps.some(({ debt }) => debt === 2);
    if (isNoted(waits)) {
      assert.ok(part > 0.5 - 1e-9 && (part < 0.7 + 1e-9 || part > 1 - 1e-9), `seed ${seed}: ${part}`);
    } else near(part, lengthOf(waits) / whole);
    if (isNoted(waits.slice(0, 1))) assert.ok(widths[0] > 0.25 - 1e-9, `seed ${seed}: ${widths[0]}`);
    const pace = ({ from, to }, width) => (to - from) / width / (waits[1].to - waits[1].from) * widths[1];
    waits.slice(1).forEach((gap, at) => near(pace(gap, widths[at + 1]), 1));
  }
});

test("a wait for an answer that never came has more of the axis than one that was answered", () => {
  const rows = times(0, 0.01, 0.02, 4, 4.01);
  const widthWith = (debt) => widthOf(timeAxis(rows, Uint8Array.of(0, 0, 0, debt, 0)), 0.02, 4);
  near(widthWith(1), 0.5);
  near(widthWith(2), 0.7);
});

test("a longer silence is drawn wider, and a silence of almost no time is hardly visible", () => {
  const rows = [...steady(0, 0.01, 0.001), 0.208, 0.2086, 0.2087, 0.2088, 0.7, ...steady(0.701, 0.71, 0.001)];
  const axis = timeAxis(times(...rows), new Uint8Array(rows.length), new Set([12]));
  near(widthOf(axis, 0.2088, 0.7), 0.065);
  near(widthOf(axis, 0.01, 0.208), 0.065 * Math.sqrt(0.198 / 0.4912));
  assert.ok(widthOf(axis, 0.208, 0.2086) < 0.003);
});

test("a silence that is a small part of the time is drawn short", () => {
  const rows = [0, 0.005, ...steady(0.0055, 0.05, 0.0005), 3];
  const axis = timeAxis(times(...rows), Uint8Array.from(rows, (time) => time === 3));
  assert.ok(widthOf(axis, 0, 0.005) < 0.065 / 4);
});

test("a short wait with an answer is drawn with its share of the time", () => {
  const axis = timeAxis(times(0, 1, ...steady(3, 100, 1)), Uint8Array.from({ length: 100 }, (_, row) => row === 2), new Set([2]));
  near(widthOf(axis, 1, 3), 0.02);
});

test("a wait takes half of the axis if all other time is idle", () => {
  const axis = timeAxis(times(0, 1, 3, 4, 96, 97), Uint8Array.of(0, 0, 1, 0, 0, 0), new Set([2]));
  near(widthOf(axis, 1, 3), 0.5);
});

test("a pause without a pending peer takes at most a tenth of the axis beside other stretches", () => {
  const rows = [...steady(0, 1, 0.05), 2, ...steady(2.01, 3, 0.05)];
  const axisOf = (debt) => timeAxis(times(...rows), Uint8Array.from(rows, (time) => time === 2 && debt));
  assert.ok(widthOf(axisOf(0), 1, 2) < 0.1);
  assert.ok(widthOf(axisOf(1), 1, 2) > 0.3);
});

test("an idle half second at the end is drawn short in a recording of few rows", () => {
  const axis = timeAxis(times(0, 0.01, 0.03, 0.05, 0.07, 0.09, 0.1, 0.62));
  near(widthOf(axis, 0.1, 0.62), 0.065);
});

test("a marked gap is a gap even if all stretches have the same length", () => {
  const rows = times(...steady(0, 20, 1));
  assert.deepEqual(timeAxis(rows, new Uint8Array(21).fill(1), new Set([7])).gaps.map(({ row }) => row), [7]);
});

test("neighbouring gaps that are too narrow to be visible are drawn as one gap", () => {
  const axis = { times: [0, 1, 2, 3, 4, 5], places: [0, 0.4, 0.401, 0.4011, 0.402, 1], gaps: [
    { row: 1, from: 1, to: 2, debt: 1 }, { row: 2, from: 3, to: 4, debt: 2 }, { row: 3, from: 4, to: 5, debt: 1 },
  ] };
  const drawn = drawnGaps(axis, 0.002).map(({ left, right, debt, gaps }) => [left, right, debt, gaps.length]);
  assert.deepEqual(drawn, [[0.4, 0.402, 2, 2], [0.402, 1, 1, 1]]);
  assert.equal(drawnGaps(axis, 0.0001).length, 3);
});

test("neighbouring gaps of one kind without a message between them are one gap", () => {
  const axis = { times: [0, 1, 2, 3], places: [0, 0.3, 0.6, 1], gaps: [
    { row: 1, from: 0, to: 1, debt: 2 }, { row: 2, from: 1, to: 2, debt: 2 }, { row: 4, from: 2, to: 3, debt: 2 },
  ] };
  const lengths = (isSilent) => drawnGaps(axis, 0.002, axis.gaps, isSilent).map(({ gaps }) => gaps.length);
  assert.deepEqual(lengths(() => false), [1, 1, 1]);
  assert.deepEqual(lengths((from, to) => from === 1 && to === 2), [2, 1]);
  axis.gaps[0].debt = 1;
  assert.deepEqual(lengths(() => true), [1, 2]);
});

test("ticks are round times or changes of the scale, in order and not too close", () => {
  for (let seed = 1; seed <= 50; seed++) {
    const axis = byChance(seed);
    const ticks = axisTicks(axis, 10);
    assert.ok(ticks.length >= 3 && ticks.length <= 10, `seed ${seed}: ${ticks.length}`);
    ticks.forEach(({ time, place, digits }, at) => {
      near(placeOf(axis, time), place);
      const isBreak = scaleBreaks(axis).some((one) => Math.abs(one - place) < 1e-9);
      if (!isBreak) near(Number((time / SECOND).toFixed(digits)), time / SECOND);
      assert.ok(place - (ticks[at - 1]?.place ?? -1) >= 0.07 - 1e-9);
    });
  }
});

test("a tick marks each time at which the scale of the axis changes", () => {
  const axis = timeAxis(times(...steady(0, 100, 1), ...steady(3700, 3800, 1)));
  const breaks = scaleBreaks(axis);
  assert.deepEqual(breaks.map((place) => Math.round(timeAt(axis, place) / SECOND)), [100, 3700]);
  assert.deepEqual(scaleBreaks(timeAxis(times(...steady(0, 100, 1)))), []);
  const named = axisTicks(axis, 40).map(({ time }) => Math.round(time / SECOND));
  assert.ok(named.includes(100) && named.includes(3700), String(named));
  assert.deepEqual(named, [...named].sort((a, b) => a - b));
});

test("neighbours of one group are joined", () => {
  assert.deepEqual(grouped([0, 5, 12, 29, 30], (item, [first]) => item - first < 20), [[0, 5, 12], [29, 30]]);
  assert.deepEqual(grouped([], () => true), []);
});

test("the length of several stretches is the sum of their lengths", () => {
  assert.equal(lengthOf([{ from: 1, to: 3 }, { from: 4, to: 5 }]), 3);
});

test("ticks are one, two or five of a power of ten", () => {
  assert.equal(tickStep(1000, 5), 200);
  assert.equal(tickStep(3.2e9, 8), 5e8);
  assert.equal(tickStep(0, 8), 0.2);
  assert.equal(tickStep(516, 0.5), 500);
});

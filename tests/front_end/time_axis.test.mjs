import assert from "node:assert/strict";
import { test } from "node:test";

import {
  countsByPlace, lengthOf, placeOf, tickStep, timeAt, timeAxis,
} from "../../acp_proxy/report/front_end/pictures/time_axis.js";

const SECOND = 1e9;
const times = (...seconds) => Float64Array.from(seconds, (one) => one * SECOND);

const steady = (from, to, step) => Array.from({ length: Math.round((to - from) / step) + 1 }, (_, n) => from + n * step);
const widthOf = (axis, from, to) => placeOf(axis, to * SECOND) - placeOf(axis, from * SECOND);
const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-6, `${a} is not ${b}`);

test("where something always happens the axis is linear", () => {
  const axis = timeAxis(times(...steady(0, 100, 1)));
  assert.deepEqual(axis.quiet, []);
  near(placeOf(axis, 25 * SECOND), 0.25);
  near(timeAt(axis, 0.5), 50 * SECOND);
});

test("an hour of silence takes four hundredths of the axis", () => {
  const axis = timeAxis(times(...steady(0, 100, 1), ...steady(3700, 3800, 1)));
  assert.deepEqual(axis.quiet, [{ from: 100 * SECOND, to: 3700 * SECOND }]);
  near(widthOf(axis, 100, 3700), 0.04);
});

test("a slow start of half a second is drawn short as well", () => {
  const axis = timeAxis(times(0, ...steady(0.5, 0.6, 0.001)));
  near(widthOf(axis, 0, 0.5), 0.04);
});

test("a silence that is short beside a longer one is quiet too", () => {
  const axis = timeAxis(times(...steady(0, 60, 1), ...steady(90, 120, 1), ...steady(36000, 36060, 1)));
  assert.equal(axis.quiet.length, 2);
});

test("many silences take three tenths of the axis together", () => {
  const axis = timeAxis(times(...steady(0, 9, 1).flatMap((n) => steady(n * 100, n * 100 + 10, 0.1))));
  assert.equal(axis.quiet.length, 9);
  near(axis.quiet.reduce((sum, one) => sum + placeOf(axis, one.to) - placeOf(axis, one.from), 0), 0.3);
});

test("where most stretches are long they are drawn as they were", () => {
  const axis = timeAxis(times(0, 0.03, 0.031, 0.032, 0.04, 0.046, 0.047, 3.05, 3.55));
  assert.equal(axis.quiet.length, 2);
  assert.deepEqual(timeAxis(times(...steady(0, 20, 1))).quiet, []);
});

test("where all is silence nothing is called short", () => {
  assert.deepEqual(timeAxis(times(0, 10, 20)).quiet, []);
  near(widthOf(timeAxis(times(0, 10, 20)), 0, 10), 0.5);
});

test("places and times are inverse, at the ends and outside as well", () => {
  const axis = timeAxis(times(2, 3, 60, 61));
  for (const place of [0, 0.1, 0.5, 0.9, 1]) {
    assert.ok(Math.abs(placeOf(axis, timeAt(axis, place)) - place) < 1e-9);
  }
  assert.equal(placeOf(axis, 0), 0);
  assert.equal(placeOf(axis, 999 * SECOND), 1);
});

test("recordings of no row, of one, and of one moment have an axis", () => {
  for (const axis of [timeAxis(times()), timeAxis(times(3)), timeAxis(times(3, 3, 3))]) {
    assert.ok(Number.isFinite(placeOf(axis, 3 * SECOND)));
    assert.ok(Number.isFinite(timeAt(axis, 0.5)));
  }
});

test("every row that is asked for is counted once, where it is", () => {
  const rows = times(0, 1, 1.5, 3601, 3602);
  const axis = timeAxis(rows);
  const counts = countsByPlace(axis, rows, Int32Array.of(0, 2, 4), 10);
  assert.equal(counts.reduce((a, b) => a + b), 3);
  assert.deepEqual([counts[0], counts[9]], [1, 1]);
  assert.equal(counts[Math.floor(placeOf(axis, 1.5 * SECOND) * 10)], 1);
});

test("stretches have a length together", () => {
  assert.equal(lengthOf([{ from: 1, to: 3 }, { from: 4, to: 5 }]), 3);
});

test("ticks are one, two or five of a power of ten", () => {
  assert.equal(tickStep(1000, 5), 200);
  assert.equal(tickStep(3.2e9, 8), 5e8);
  assert.equal(tickStep(0, 8), 0.2);
});

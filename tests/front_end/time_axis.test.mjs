import assert from "node:assert/strict";
import {test} from "node:test";

import {
  countsByPlace, idleStretches, markPlaces, placeOf, tickStep, timeAt, timeAxis,
} from "../../acp_proxy/report/front_end/pictures/time_axis.js";

const SECOND = 1e9;
const times = (...seconds) => Float64Array.from(seconds, (one) => one * SECOND);

test("without idle stretches the axis is linear", () => {
  const axis = timeAxis(times(0, 1, 2, 4));
  assert.deepEqual(axis.idle, []);
  assert.equal(placeOf(axis, SECOND), 0.25);
  assert.equal(timeAt(axis, 0.5), 2 * SECOND);
});

test("an hour of silence takes three hundredths of the axis", () => {
  const axis = timeAxis(times(0, 1, 3601, 3602));
  assert.deepEqual(axis.idle, [{from: SECOND, to: 3601 * SECOND}]);
  const width = placeOf(axis, 3601 * SECOND) - placeOf(axis, SECOND);
  assert.ok(Math.abs(width - 0.03) < 1e-9);
});

test("many silences take a quarter of the axis together", () => {
  const spread = [];
  for (let n = 0; n < 100; n++) spread.push(n * 61, n * 61 + 1);
  const axis = timeAxis(times(...spread));
  const idle = axis.idle.reduce((sum, one) => sum + placeOf(axis, one.to) - placeOf(axis, one.from), 0);
  assert.ok(Math.abs(idle - 0.25) < 1e-9, String(idle));
});

test("a silence is never drawn longer than it was", () => {
  const steady = Array.from({length: 500}, (_, n) => n * 4);
  const axis = timeAxis(times(...steady, 2001, 2002));
  assert.equal(axis.idle.length, 1);
  const width = placeOf(axis, 2001 * SECOND) - placeOf(axis, 1996 * SECOND);
  assert.ok(Math.abs(width - 5 / 2002) < 1e-9);
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

test("a recording that is all silence is drawn in even parts", () => {
  const axis = timeAxis(times(0, 10, 20));
  assert.equal(placeOf(axis, 10 * SECOND), 0.5);
});

test("every row of a wanted code is counted once, where it is", () => {
  const rows = times(0, 1, 1.5, 3601, 3602);
  const axis = timeAxis(rows);
  const [one, two] = countsByPlace(axis, rows, [1, 2, 1, 3, 2], [1, 2], Int32Array.of(0, 1, 2, 3, 4), 10);
  assert.equal(one.reduce((a, b) => a + b), 2);
  assert.equal(two.reduce((a, b) => a + b), 2);
  assert.equal(one[0], 1);
  assert.equal(two[9], 1);
  assert.equal(one[Math.floor(placeOf(axis, 1.5 * SECOND) * 10)], 1);
});

test("only the rows that are asked for are counted", () => {
  const rows = times(0, 1, 2);
  const [counts] = countsByPlace(timeAxis(rows), rows, [1, 1, 1], [1], Int32Array.of(2), 4);
  assert.deepEqual([...counts], [0, 0, 0, 1]);
});

test("marks keep their distance", () => {
  const rows = times(0, 0.1, 0.2, 1, 2);
  assert.deepEqual(markPlaces(timeAxis(rows), rows, [0, 1, 2, 3], 0.1), [0, 0.1, 0.5]);
});

test("idle stretches begin at five seconds", () => {
  assert.equal(idleStretches(times(0, 4.999, 9.999)).length, 1);
});

test("ticks are one, two or five of a power of ten", () => {
  assert.equal(tickStep(1000, 5), 200);
  assert.equal(tickStep(3.2e9, 8), 5e8);
  assert.equal(tickStep(0, 8), 0.2);
});

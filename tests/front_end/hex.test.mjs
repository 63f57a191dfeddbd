// Shows bytes and texts in which nothing is invisible.
import assert from "node:assert/strict";
import { test } from "node:test";

import { hexRows } from "../../acp_proxy/report/front_end/detail/blocks.js";
import { durationInWords, secondsInWords, setTimeStep, sizeInWords, visiblePieces, visibleText } from "../../acp_proxy/report/front_end/shell/dom.js";

test("each row has sixteen bytes with their offset, their hex digits and their characters", () => {
  const rows = hexRows(new TextEncoder().encode("0123456789abcdef\x00\xff"), 0x100);
  assert.equal(rows, "00000100  30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 66  0123456789abcdef\n" + `00000110  00 c3 bf${" ".repeat(39)}  ...\n`);
});

test("exactly the control, invisible and bidi characters are shown as escapes", () => {
  assert.equal(visibleText("a\nb\tc"), "a\nb\tc");
  assert.equal(visibleText("\x1b[1m\r\x7f\u202e\u2028\ufeff\ud800\u00a0\u{e0041}"), "\\x1b[1m\\r\\x7f\\u202e\\u2028\\ufeff\\ud800\\xa0\\U000e0041");
  assert.equal(visibleText("👩‍💻 a\u200db é 你"), "👩‍💻 a\\u200db é 你");
  assert.deepEqual(visiblePieces("a\x00\x01b"), [{ text: "a", odd: false }, { text: "\\x00", odd: true }, { text: "\\x01", odd: true }, { text: "b", odd: false }]);
});

test("sizes and durations are written as the command line writes them", () => {
  assert.deepEqual([0, 999, 1000, 12_345, 123_456, 1_234_567, 5e9].map(sizeInWords), ["0 B", "999 B", "1.0 kB", "12.3 kB", "123 kB", "1.2 MB", "5.0 GB"]);
  assert.deepEqual([NaN, 1500, 25e6, 1.25e9, 125e9, 3720e9].map((ns) => durationInWords(ns)), ["", "2 µs", "25 ms", "1.3 s", "2 min 5 s", "1 h 2 min"]);
});

test("a duration has no more digits than were measured", () => {
  const words = (step) => {
    setTimeStep(step);
    return [0, 2e6, 1.5e9, 3e9, 125e9].map((ns) => durationInWords(ns));
  };
  assert.deepEqual(words(1e6), ["<1 ms", "2 ms", "1.5 s", "3.0 s", "2 min 5 s"]);
  assert.deepEqual(words(1e9), ["<1 s", "<1 s", "1 s", "3 s", "2 min 5 s"]);
  assert.deepEqual(words(0).slice(0, 2), ["<1 µs", "2 ms"]);
});

test("a recording without times shows no times", () => {
  assert.equal(durationInWords(2e9, " after "), " after 2.0 s");
  assert.equal(secondsInWords(2e9, "at ", " s"), "at 2.000 s");
  setTimeStep(NaN);
  assert.equal(durationInWords(2e9, " after "), "");
  assert.equal(secondsInWords(2e9, "at ", " s"), "");
});

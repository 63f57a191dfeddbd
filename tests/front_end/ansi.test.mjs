// Reads the output of programs, friendly and not.
import assert from "node:assert/strict";
import { test } from "node:test";

import { ansiLines, ansiPieces } from "../../acp_proxy/report/front_end/cards/ansi.js";

const pieces = (text) => ansiLines(text).map(ansiPieces);
const shown = (text) => pieces(text).map((line) => line.map((piece) => piece.text).join(""));
const classes = (text) => pieces(text)[0].map((piece) => `${piece.text}:${piece.classes}`);

test("plain text is split into lines", () => {
  assert.deepEqual(shown("one\r\ntwo\n\nfour"), ["one", "two", "", "four"]);
  assert.deepEqual(shown("a\tb"), ["a       b"]);
});

test("carriage returns, backspaces and erase codes change the printed text", () => {
  assert.deepEqual(shown("10%\r50%\r100%\n"), ["100%"]);
  assert.deepEqual(shown("abc\b\bX"), ["aXc"]);
  assert.deepEqual(shown("long line\rshort\x1b[K"), ["short"]);
  assert.deepEqual(shown("a\nb\x1b[1Ac\x1b[5C"), ["a", "bc"]);
  assert.deepEqual(shown("gone\x1b[2Kleft"), ["left"]);
});

test("clearing the screen begins a new page and keeps the earlier text", () => {
  assert.deepEqual(shown("before\x1b[2J\x1b[HA"), ["before", "A"]);
});

test("colours and styles become classes", () => {
  assert.deepEqual(classes("\x1b[1;31mred\x1b[0m plain"), ["red:ansi-bold ansi-fg-1", " plain:"]);
  assert.deepEqual(classes("\x1b[38;5;9ma\x1b[48;5;4mb\x1b[39;49mc"), ["a:ansi-fg-1", "b:ansi-bg-4", "c:"]);
  assert.deepEqual(classes("\x1b[31ma\x1b[38;5;196;1mb\x1b[22;48;2;0;0;250mc"), ["a:ansi-fg-1", "b:ansi-bold", "c:"]);
  assert.deepEqual(classes("\x1b[38:2::255:0:0ma\x1b[4mb\x1b[24;97mc"), ["a:", "b:ansi-underline", "c:ansi-fg-7"]);
});

test("window titles are removed, and links are replaced by their text", () => {
  assert.deepEqual(shown("\x1b]0;a title\x07x\x1b]2;t\x1b\\y"), ["xy"]);
  assert.deepEqual(shown("\x1b]8;;javascript:alert(1)\x07here\x1b]8;;\x07 not"), ["here not"]);
});

test("control and bidi characters are shown as visible escapes", () => {
  assert.deepEqual(shown("a\x01b\x7fc\u202ed"), ["a␁b␡c\\u202ed"]);
  assert.deepEqual(shown("cut \x1b[31"), ["cut ␛[31"]);
});

test("hostile output is parsed quickly, with a limited number of styles", () => {
  const colours = Array.from({ length: 50_000 }, (_, n) => `\x1b[${n % 2 ? 1 : 3};${30 + (n % 8)};${40 + ((n >> 3) % 8)}m`).join("x");
  assert.equal(shown(colours).join("").length, 49_999);
  assert.ok(shown(`\x1b[${"1;".repeat(50_000)}mx`).length < 10);
  assert.ok(shown(`\x1b]8;;${"u".repeat(100_000)}`)[0].startsWith("␛]8;;uuu"));
  assert.deepEqual(shown(`${"\x1b]".repeat(20_000)}`).length, 1);
  assert.equal(shown("\x1b[999999999Cx")[0].length, 1);
});

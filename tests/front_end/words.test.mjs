// Compares texts: the edits give the new text, and all limits say so.
import assert from "node:assert/strict";
import { test } from "node:test";

import { comparedTexts, diffModel, lineEdits, wordEdits } from "../../acp_proxy/report/front_end/cards/words.js";

/** A generator of numbers below a bound, the same in every run. */
const random = (seed) => (bound) => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return Math.floor((seed / 2 ** 32) * bound);
};
const side = (edits, other) => edits.filter((edit) => edit.kind !== other).map((edit) => edit.text).join("");
const changed = (pieces) => pieces.filter((piece) => piece.changed).map((piece) => piece.text);

test("a line diff restores both texts, and keeps as many lines as a shortest edit", () => {
  const next = random(7);
  for (let round = 0; round < 500; round++) {
    const text = () => Array.from({ length: next(12) }, () => ["a", "b", "c", "", "\r"][next(5)]).join("\n") + (next(2) ? "\n" : "");
    const [old, fresh] = [text(), text()];
    const { edits, isAligned } = lineEdits(old, fresh);
    assert.ok(isAligned);
    assert.equal(side(edits, "added"), old);
    assert.equal(side(edits, "removed"), fresh);
    edits.forEach((edit) => assert.ok(edit.kind === "added" || edit.oldNumber > 0));
  }
  const { edits } = lineEdits("a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n");
  assert.equal(edits.filter((edit) => edit.kind !== "same").length, 5);
});

test("a word diff restores both lines; lines with little in common are not compared", () => {
  const next = random(11);
  for (let round = 0; round < 300; round++) {
    const line = () => Array.from({ length: 1 + next(9) }, () => ["foo", "(", "bar", " ", "é😀", ";"][next(6)]).join("");
    const [old, fresh] = [line(), line()];
    const found = wordEdits(old, fresh);
    if (found === null) continue;
    assert.deepEqual(found.map((pieces) => pieces.map((piece) => piece.text).join("")), [old, fresh]);
  }
  const [old, fresh] = wordEdits("Hello, world!", "Hello, ACP!");
  assert.deepEqual([changed(old), changed(fresh)], [["world"], ["ACP"]]);
  assert.equal(wordEdits("one two three", "a completely other line"), null);
});

test("equal lines between changes are replaced by their number", () => {
  const lines = Array.from({ length: 30 }, (_, n) => `line ${n}`);
  const fresh = lines.with(2, "line two").with(25, "line x");
  const { rows, notes } = comparedTexts(lines.join("\n"), fresh.join("\n"));
  assert.deepEqual(notes, []);
  assert.deepEqual(rows.filter((row) => row.kind === "head").map((row) => row.pieces[0].text), ["⋯ 16 lines the same", "⋯ 1 line the same"]);
  assert.deepEqual(rows.filter((row) => row.kind === "added").map((row) => row.newNumber), [3, 26]);
  assert.deepEqual(comparedTexts("a\n", "a\n").rows, []);
});

test("a newline at the end of only one text is a change", () => {
  const { rows } = comparedTexts("a", "a\n");
  assert.deepEqual(rows.map((row) => `${row.kind} ${row.pieces.map((piece) => piece.text).join("")}`), ["removed a (no newline at the end)", "added a"]);
});

test("long texts are compared only by lines, and very different texts are not compared, with a note", () => {
  const many = Array.from({ length: 6000 }, (_, n) => `the line with the number ${n}\n`);
  const long = comparedTexts(many.join(""), many.with(10, "ten 10\n").join(""));
  assert.match(long.notes.join(), /long/);
  assert.ok(long.rows.every((row) => row.pieces.length === 1));
  const other = comparedTexts(many.join(""), many.map((line) => `x${line}`).join(""));
  assert.match(other.notes.join(), /differ too much/);
  assert.equal(other.rows.length, 12_000);
});

test("the diffs of all dialects become rows", () => {
  const v1 = diffModel({ path: "/a", oldText: "x\n", newText: "y\n" });
  assert.deepEqual([v1.path, v1.rows.map((row) => row.kind)], ["/a", ["removed", "added"]]);
  assert.equal(diffModel({ path: "/a", newText: "y\nz\n" }).path, "/a (new file)");
  assert.deepEqual(diffModel({ path: "/a", oldText: "y", newText: "y" }).notes, ["unchanged"]);
  const patch = "--- a\n+++ b\n@@ -1,2 +1,2 @@\n same\n-old value\n+new value\n--- c\n";
  const v2 = diffModel({ changes: [{ operation: "move", oldPath: "/a", path: "/b" }], patch: { format: "git_patch", text: patch } });
  assert.deepEqual(v2.notes, ["move /a /b"]);
  assert.deepEqual(v2.rows.map((row) => row.kind), ["head", "head", "head", "same", "removed", "added", "head"]);
  assert.deepEqual(changed(v2.rows[4].pieces), ["old"]);
  const draft = diffModel({ path: "/a", hunks: [{ oldStart: 7, oldLines: 1, newStart: 7, newLines: 1, content: "-1\n+2" }] });
  assert.deepEqual(draft.rows.map((row) => [row.kind, row.oldNumber, row.newNumber]), [["head", 0, 0], ["removed", 7, 0], ["added", 0, 7]]);
  assert.deepEqual(diffModel({ patch: 3, hunks: "x", oldText: 1 }).rows, []);
});

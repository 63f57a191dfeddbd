// Compares texts line by line, and changed lines word by word; reads diffs of every dialect.
import { isObject, objectsAt, wordAt } from "../data/values.js";
import { countInWords } from "../shell/dom.js";

/**
 * @typedef {{text: string, changed: boolean}} WordPiece
 * @typedef {"same"|"removed"|"added"} EditKind
 * @typedef {{kind: EditKind, text: string, oldNumber: number, newNumber: number}} LineEdit
 * @typedef {object} DiffRow
 * @property {EditKind|"head"} kind
 * @property {WordPiece[]} pieces
 * @property {number} oldNumber
 * @property {number} newNumber
 * @typedef {{path: string, rows: DiffRow[], notes: string[]}} DiffModel
 */

// In larger diffs, only lines are compared, not the words in them.
const MOST_COMPARED_CHARACTERS = 200_000;
const CONTEXT_LINES = 3;
const UNALIGNED = "The texts differ too much to align them: all old lines are shown as removed.";
const UNCOMPARED = "The texts are long: lines are compared, not the words within them.";

/**
 * The pairs of indexes of elements that are equal in both lists, in order.
 * @param {readonly string[]} before @param {readonly string[]} after
 * @returns {{pairs: [number, number][], isAligned: boolean}} `isAligned` is false if the lists
 * differ too much; then only their common beginning and end are paired
 */
export function alignedPairs(before, after) {
  /** @type {[number, number][]} */
  const pairs = [];
  const shorter = Math.min(before.length, after.length);
  let [start, end] = [0, 0];
  while (start < shorter && before[start] === after[start]) pairs.push([start, start++]);
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  const old = before.slice(start, before.length - end);
  const fresh = after.slice(start, after.length - end);
  // Texts that need more comparisons of lines or words are not aligned.
  const isAligned = old.length * fresh.length <= 10_000_000;
  for (const [x, y] of isAligned ? commonPairs(old, fresh) : []) pairs.push([x + start, y + start]);
  for (let left = end; left > 0; left--) pairs.push([before.length - left, after.length - left]);
  return { pairs, isAligned };
}

/** The longest list of equal pairs in order. @param {string[]} before @param {string[]} after */
function commonPairs(before, after) {
  const width = after.length + 1;
  /** For each pair of places in the two lists: the largest number of equal pairs from there on. */
  const most = new Uint16Array((before.length + 1) * width);
  for (let at = before.length * width - 2; at >= 0; at--) {
    const [x, y] = [Math.floor(at / width), at % width];
    if (y === after.length) continue;
    if (before[x] === after[y]) most[at] = most[at + width + 1] + 1;
    else most[at] = Math.max(most[at + width], most[at + 1]);
  }
  /** @type {[number, number][]} */
  const pairs = [];
  for (let [x, y] = [0, 0]; x < before.length && y < after.length; ) {
    if (before[x] === after[y]) pairs.push([x++, y++]);
    else if (most[(x + 1) * width + y] >= most[x * width + y + 1]) x++;
    else y++;
  }
  return pairs;
}

/**
 * All lines of both texts in order, with their newlines: each is kept, removed or added.
 * @param {string} before @param {string} after @returns {{edits: LineEdit[], isAligned: boolean}}
 */
export function lineEdits(before, after) {
  const [old, fresh] = [before, after].map((text) => text.match(/[^\n]*\n|[^\n]+$/g) ?? []);
  const { pairs, isAligned } = alignedPairs(old, fresh);
  /** @type {LineEdit[]} */
  const edits = [];
  let [x, y] = [0, 0];
  for (const [toX, toY] of [...pairs, [old.length, fresh.length]]) {
    while (x < toX) edits.push({ kind: "removed", text: old[x], oldNumber: ++x, newNumber: 0 });
    while (y < toY) edits.push({ kind: "added", text: fresh[y], oldNumber: 0, newNumber: ++y });
    if (x < old.length) edits.push({ kind: "same", text: old[x], oldNumber: ++x, newNumber: ++y });
  }
  return { edits, isAligned };
}

/**
 * Divides two lines into changed and unchanged pieces; null if they have little in common.
 * @param {string} before @param {string} after @returns {[WordPiece[], WordPiece[]]|null}
 */
export function wordEdits(before, after) {
  const [old, fresh] = [before, after].map((line) => line.match(/[\p{L}\p{N}_]+|\s+|[^]/gu) ?? []);
  const { pairs, isAligned } = alignedPairs(old, fresh);
  const common = pairs.reduce((sum, [x]) => sum + old[x].trim().length, 0);
  if (!isAligned || common * 3 < Math.max(before.length, after.length)) return null;
  return /** @type {[WordPiece[], WordPiece[]]} */ ([old, fresh].map((words, side) => {
    const kept = new Set(pairs.map((pair) => pair[side]));
    return words.map((text, index) => ({ text, changed: !kept.has(index) }));
  }));
}

/**
 * Marks the changed words of removed lines and of the added lines that follow them.
 * @param {DiffRow[]} rows
 */
function markWords(rows) {
  for (let at = 0; at < rows.length; ) {
    let from = at++;
    while (rows[from].kind === "removed" && rows[at]?.kind === "removed") at++;
    for (; rows[from].kind === "removed" && rows[at]?.kind === "added"; from++, at++) {
      const found = wordEdits(rows[from].pieces[0].text, rows[at].pieces[0].text);
      if (found !== null) [rows[from].pieces, rows[at].pieces] = found;
    }
  }
}

/** @param {DiffRow["kind"]} kind @param {string} text @returns {DiffRow} */
const diffRow = (kind, text, oldNumber = 0, newNumber = 0) =>
  ({ kind, pieces: [{ text, changed: false }], oldNumber, newNumber });

/**
 * The changed lines of two texts, with a few unchanged lines around the changes.
 * @param {string} before @param {string} after @returns {{rows: DiffRow[], notes: string[]}}
 */
export function comparedTexts(before, after) {
  const { edits, isAligned } = lineEdits(before, after);
  /** @type {DiffRow[]} */
  const rows = [];
  const changes = edits.flatMap(({ kind }, index) => kind === "same" ? [] : [index]);
  if (changes.length === 0) return { rows, notes: ["unchanged"] };
  let shown = 0;
  for (const change of [...changes, edits.length + CONTEXT_LINES]) {
    const first = Math.max(shown, change - CONTEXT_LINES);
    const gap = countInWords(first - shown, "line");
    if (first > shown) rows.push(diffRow("head", `⋯ ${gap} the same`));
    for (shown = first; shown <= change + CONTEXT_LINES && shown < edits.length; shown++) {
      const { kind, text, oldNumber, newNumber } = edits[shown];
      const end = kind === "same" || text.endsWith("\n") ? "" : " (no newline at the end)";
      rows.push(diffRow(kind, text.replace(/\n$/, "") + end, oldNumber, newNumber));
    }
  }
  const isLong = before.length + after.length > MOST_COMPARED_CHARACTERS;
  if (isAligned && !isLong) markWords(rows);
  return { rows, notes: !isAligned ? [UNALIGNED] : isLong ? [UNCOMPARED] : [] };
}

/** The rows of a patch. @param {string} text @returns {DiffRow[]} */
export function patchRows(text) {
  let [old, fresh] = [0, 0];
  const rows = text.replace(/\n$/, "").split("\n").map((line) => {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line);
    if (hunk !== null) [old, fresh] = [Number(hunk[1]), Number(hunk[2])];
    const [sign, rest] = [/^(---|\+\+\+) /.test(line) ? "" : line[0], line.slice(1)];
    if (sign === "+") return diffRow("added", rest, 0, fresh++);
    if (sign === "-") return diffRow("removed", rest, old++);
    return sign === " " ? diffRow("same", rest, old++, fresh++) : diffRow("head", line);
  });
  if (text.length <= MOST_COMPARED_CHARACTERS) markWords(rows);
  return rows;
}

/**
 * A diff of any dialect: old and new text (v1), changes with a patch (v2), hunks (1.0 draft).
 * @param {import("../data/values.js").JsonObject} block @returns {DiffModel}
 */
export function diffModel(block) {
  const { newText, oldText, patch } = block;
  const path = wordAt(block, "path");
  if (typeof newText === "string") {
    const isNew = typeof oldText !== "string";
    const compared = comparedTexts(isNew ? "" : oldText, newText);
    return { path: isNew ? `${path} (new file)` : path, ...compared };
  }
  const notes = objectsAt(block, "changes").map((change) =>
    ["operation", "oldPath", "path"].map((name) => wordAt(change, name)).filter(Boolean).join(" "));
  const hunks = objectsAt(block, "hunks").map((hunk) => {
    const number = (/** @type {string} */ name) => wordAt(hunk, name) || "0";
    const [old, fresh] = ["old", "new"].map((side) =>
      `${number(`${side}Start`)},${number(`${side}Lines`)}`);
    return `@@ -${old} +${fresh} @@\n${wordAt(hunk, "content")}`;
  });
  const text = (isObject(patch) ? patch.text : patch) ?? hunks.join("\n");
  return { path, notes, rows: typeof text === "string" && text !== "" ? patchRows(text) : [] };
}

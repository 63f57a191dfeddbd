// Compares texts line by line, and changed lines word by word; reads diffs of every dialect.
import { isObject, objectsAt, wordAt } from "../data/values.js";
import { countInWords } from "../shell/words.js";

/** @typedef {{text: string, changed: boolean}} WordPiece */
/** @typedef {{kind: "same"|"removed"|"added", text: string, oldNumber: number, newNumber: number}} LineEdit */
/** @typedef {{kind: "same"|"removed"|"added"|"head", pieces: WordPiece[], oldNumber: number, newNumber: number}} DiffRow */
/** @typedef {{path: string, rows: DiffRow[], notes: string[]}} DiffModel */

// Beyond these, words within lines are not compared.
const MOST_COMPARED_LINES = 2000;
const MOST_COMPARED_CHARACTERS = 200_000;
/** Of lines, or of words, with each other; texts that differ more are not aligned. */
const MOST_COMPARISONS = 10_000_000;
const CONTEXT_LINES = 3;

/**
 * The indexes of elements that both have, in order.
 * @param {readonly string[]} before @param {readonly string[]} after
 * @returns {{pairs: [number, number][], isAligned: boolean}} not aligned if they differ too much;
 * then only what both begin and end with is found
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
  const isAligned = old.length * fresh.length <= MOST_COMPARISONS;
  for (const [x, y] of isAligned ? commonPairs(old, fresh) : []) pairs.push([x + start, y + start]);
  for (let left = end; left > 0; left--) pairs.push([before.length - left, after.length - left]);
  return { pairs, isAligned };
}

/** The longest sequence of pairs. @param {string[]} before @param {string[]} after */
function commonPairs(before, after) {
  const width = after.length + 1;
  /** How many pairs there are from both places on. */
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
 * Every line of both texts, with its newline, as kept, removed or added, in order.
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
    if (x < old.length && y < fresh.length) edits.push({ kind: "same", text: old[x], oldNumber: ++x, newNumber: ++y });
  }
  return { edits, isAligned };
}

/**
 * Two lines in pieces that changed or did not; null if they have little in common.
 * @param {string} before @param {string} after @returns {[WordPiece[], WordPiece[]]|null}
 */
export function wordEdits(before, after) {
  const [old, fresh] = [before, after].map((line) => line.match(/[\p{L}\p{N}_]+|\s+|[^]/gu) ?? []);
  const { pairs, isAligned } = alignedPairs(old, fresh);
  const common = pairs.reduce((sum, [x]) => sum + old[x].trim().length, 0);
  if (!isAligned || common * 3 < Math.max(before.length, after.length)) return null;
  const pieces = (/** @type {string[]} */ words, /** @type {Set<number>} */ kept) => words.map((text, index) => ({ text, changed: !kept.has(index) }));
  return [pieces(old, new Set(pairs.map(([x]) => x))), pieces(fresh, new Set(pairs.map(([, y]) => y)))];
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
function diffRow(kind, text, oldNumber = 0, newNumber = 0) {
  return { kind, pieces: [{ text, changed: false }], oldNumber, newNumber };
}

/**
 * The changed lines of a text with those around them.
 * @param {string} before @param {string} after @returns {{rows: DiffRow[], notes: string[]}}
 */
export function comparedTexts(before, after) {
  const { edits, isAligned } = lineEdits(before, after);
  /** @type {DiffRow[]} */
  const rows = [];
  const changes = edits.flatMap(({ kind }, index) => (kind === "same" ? [] : [index]));
  if (changes.length === 0) return { rows, notes: ["unchanged"] };
  let shown = 0;
  const addGap = (/** @type {number} */ end) => end > shown && rows.push(diffRow("head", `⋯ ${countInWords(end - shown, "line")} the same`));
  for (const change of changes) {
    addGap(change - CONTEXT_LINES);
    shown = Math.max(shown, change - CONTEXT_LINES);
    for (; shown <= change + CONTEXT_LINES && shown < edits.length; shown++) {
      const { kind, text, oldNumber, newNumber } = edits[shown];
      const end = kind === "same" || text.endsWith("\n") ? "" : " (no newline at the end)";
      rows.push(diffRow(kind, text.replace(/\n$/, "") + end, oldNumber, newNumber));
    }
  }
  addGap(edits.length);
  if (!isAligned) return { rows, notes: ["The texts differ too much to align them: all old lines are shown as removed."] };
  if (edits.length > 2 * MOST_COMPARED_LINES || before.length + after.length > MOST_COMPARED_CHARACTERS) {
    return { rows, notes: ["The texts are long: lines are compared, not the words within them."] };
  }
  markWords(rows);
  return { rows, notes: [] };
}

/** The rows of a patch. @param {string} text @returns {DiffRow[]} */
export function patchRows(text) {
  let [oldNumber, newNumber] = [0, 0];
  const rows = text.replace(/\n$/, "").split("\n").map((line) => {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line);
    if (hunk !== null) [oldNumber, newNumber] = [Number(hunk[1]), Number(hunk[2])];
    if (line.startsWith("+") && !line.startsWith("+++ ")) return diffRow("added", line.slice(1), 0, newNumber++);
    if (line.startsWith("-") && !line.startsWith("--- ")) return diffRow("removed", line.slice(1), oldNumber++);
    return line.startsWith(" ") ? diffRow("same", line.slice(1), oldNumber++, newNumber++) : diffRow("head", line);
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
    return { path: isNew ? `${path} (new file)` : path, ...comparedTexts(isNew ? "" : oldText, newText) };
  }
  const notes = objectsAt(block, "changes").map((change) => [wordAt(change, "operation"), wordAt(change, "oldPath"), wordAt(change, "path")].filter(Boolean).join(" "));
  const hunks = objectsAt(block, "hunks").map((hunk) => {
    const [oldStart, oldLines, newStart, newLines] = ["oldStart", "oldLines", "newStart", "newLines"].map((name) => wordAt(hunk, name) || "0");
    return `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@\n${wordAt(hunk, "content")}`;
  });
  const text = (isObject(patch) ? patch.text : patch) ?? hunks.join("\n");
  return { path, notes, rows: typeof text === "string" && text !== "" ? patchRows(text) : [] };
}

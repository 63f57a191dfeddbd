// Compares texts line by line, and changed lines word by word; reads diffs of every dialect.
import {isObject, objectsAt, wordAt} from "../data/values.js";
import {countInWords} from "../shell/words.js";

/** @typedef {{text: string, changed: boolean}} WordPiece */
/** @typedef {{kind: "same"|"removed"|"added", text: string, oldNumber: number, newNumber: number}} LineEdit */
/** @typedef {{kind: "same"|"removed"|"added"|"head", pieces: WordPiece[], oldNumber: number, newNumber: number}} DiffRow */
/** @typedef {{path: string, rows: DiffRow[], notes: string[]}} DiffModel */

// Beyond these, words within lines are not compared.
const MOST_COMPARED_LINES = 2000;
const MOST_COMPARED_CHARACTERS = 200_000;
// Removed and added lines together; texts that differ more are not aligned.
const MOST_EDITS = 1500;
const MOST_WORD_EDITS = 200;
const CONTEXT_LINES = 3;

/**
 * The indexes of elements that both have, in order, by Myers' algorithm.
 * @param {readonly string[]} before
 * @param {readonly string[]} after
 * @param {number} most edits before it gives up; then only what both begin and end with is found
 * @returns {{pairs: [number, number][], isAligned: boolean}}
 */
export function alignedPairs(before, after, most) {
  /** @type {[number, number][]} */
  const pairs = [];
  const shorter = Math.min(before.length, after.length);
  let [start, end] = [0, 0];
  while (start < shorter && before[start] === after[start]) pairs.push([start, start++]);
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  const middle = shortestEdits(before.slice(start, before.length - end), after.slice(start, after.length - end), most);
  for (const [x, y] of middle ?? []) pairs.push([x + start, y + start]);
  for (let left = end; left > 0; left--) pairs.push([before.length - left, after.length - left]);
  return {pairs, isAligned: middle !== null};
}

/**
 * @param {readonly string[]} before
 * @param {readonly string[]} after
 * @param {number} most
 * @returns {[number, number][]|null}
 */
function shortestEdits(before, after, most) {
  const bound = Math.min(before.length + after.length, most);
  // reach[k + bound + 1]: how far in `before` a path on diagonal k comes with so many edits.
  const reach = new Int32Array(2 * bound + 3);
  /** @type {Int32Array[]} */
  const trace = [];
  for (let edits = 0; edits <= bound; edits++) {
    trace.push(reach.slice(bound - edits, bound + edits + 3));
    for (let k = -edits; k <= edits; k += 2) {
      const at = k + bound + 1;
      let x = isDown(reach, at, k, edits) ? reach[at + 1] : reach[at - 1] + 1;
      while (x < before.length && x - k < after.length && before[x] === after[x - k]) x++;
      reach[at] = x;
      if (x >= before.length && x - k >= after.length) return tracedBack(trace, before.length, after.length);
    }
  }
  return null;
}

/**
 * Whether the best path to diagonal k comes from the one above: an added element.
 * @param {Int32Array} reach
 * @param {number} at
 * @param {number} k
 * @param {number} edits
 */
function isDown(reach, at, k, edits) {
  return k === -edits || (k !== edits && reach[at - 1] < reach[at + 1]);
}

/**
 * @param {Int32Array[]} trace what was reached before each number of edits
 * @param {number} x
 * @param {number} y
 */
function tracedBack(trace, x, y) {
  /** @type {[number, number][]} */
  const pairs = [];
  for (let edits = trace.length - 1; edits >= 0; edits--) {
    const k = x - y;
    const down = isDown(trace[edits], k + edits + 1, k, edits);
    const fromX = trace[edits][k + edits + 1 + (down ? 1 : -1)];
    while (x > (down ? fromX : fromX + 1)) pairs.push([--x, --y]);
    [x, y] = [fromX, fromX - (down ? k + 1 : k - 1)];
  }
  return pairs.reverse();
}

/**
 * Every line of both texts, with its newline, as kept, removed or added, in order.
 * @param {string} before
 * @param {string} after
 * @returns {{edits: LineEdit[], isAligned: boolean}}
 */
export function lineEdits(before, after) {
  const [old, fresh] = [before, after].map((text) => text.match(/[^\n]*\n|[^\n]+$/g) ?? []);
  const {pairs, isAligned} = alignedPairs(old, fresh, MOST_EDITS);
  /** @type {LineEdit[]} */
  const edits = [];
  let [x, y] = [0, 0];
  for (const [toX, toY] of [...pairs, [old.length, fresh.length]]) {
    while (x < toX) edits.push({kind: "removed", text: old[x], oldNumber: ++x, newNumber: 0});
    while (y < toY) edits.push({kind: "added", text: fresh[y], oldNumber: 0, newNumber: ++y});
    if (x < old.length && y < fresh.length) edits.push({kind: "same", text: old[x], oldNumber: ++x, newNumber: ++y});
  }
  return {edits, isAligned};
}

/**
 * Two lines in pieces that changed or did not; null if they have little in common.
 * @param {string} before
 * @param {string} after
 * @returns {[WordPiece[], WordPiece[]]|null}
 */
export function wordEdits(before, after) {
  const [old, fresh] = [before, after].map((line) => line.match(/[\p{L}\p{N}_]+|\s+|[^]/gu) ?? []);
  const {pairs, isAligned} = alignedPairs(old, fresh, MOST_WORD_EDITS);
  const common = pairs.reduce((sum, [x]) => sum + old[x].trim().length, 0);
  if (!isAligned || common * 3 < Math.max(before.length, after.length)) return null;
  const pieces = (/** @type {string[]} */ words, /** @type {Set<number>} */ kept) => words.map((text, index) => ({text, changed: !kept.has(index)}));
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

/**
 * @param {DiffRow["kind"]} kind
 * @param {string} text
 * @returns {DiffRow}
 */
function diffRow(kind, text, oldNumber = 0, newNumber = 0) {
  return {kind, pieces: [{text, changed: false}], oldNumber, newNumber};
}

/**
 * The changed lines of a text with those around them.
 * @param {string} before
 * @param {string} after
 * @returns {{rows: DiffRow[], notes: string[]}}
 */
export function comparedTexts(before, after) {
  const {edits, isAligned} = lineEdits(before, after);
  /** @type {DiffRow[]} */
  const rows = [];
  const changes = edits.flatMap(({kind}, index) => (kind === "same" ? [] : [index]));
  if (changes.length === 0) return {rows, notes: ["unchanged"]};
  let shown = 0;
  const addGap = (/** @type {number} */ end) => end > shown && rows.push(diffRow("head", `⋯ ${countInWords(end - shown, "line")} the same`));
  for (const change of changes) {
    addGap(change - CONTEXT_LINES);
    shown = Math.max(shown, change - CONTEXT_LINES);
    for (; shown <= change + CONTEXT_LINES && shown < edits.length; shown++) {
      const {kind, text, oldNumber, newNumber} = edits[shown];
      const end = kind === "same" || text.endsWith("\n") ? "" : " (no newline at the end)";
      rows.push(diffRow(kind, text.replace(/\n$/, "") + end, oldNumber, newNumber));
    }
  }
  addGap(edits.length);
  if (!isAligned) return {rows, notes: ["The texts differ too much to align them: all old lines are shown as removed."]};
  if (edits.length > 2 * MOST_COMPARED_LINES || before.length + after.length > MOST_COMPARED_CHARACTERS) {
    return {rows, notes: ["The texts are long: lines are compared, not the words within them."]};
  }
  markWords(rows);
  return {rows, notes: []};
}

/**
 * The rows of a patch.
 * @param {string} text
 * @returns {DiffRow[]}
 */
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
 * @param {import("../data/values.js").JsonObject} block
 * @returns {DiffModel}
 */
export function diffModel(block) {
  const {newText, oldText, patch} = block;
  const path = wordAt(block, "path");
  if (typeof newText === "string") {
    const isNew = typeof oldText !== "string";
    return {path: isNew ? `${path} (new file)` : path, ...comparedTexts(isNew ? "" : oldText, newText)};
  }
  const notes = objectsAt(block, "changes").map((change) => [wordAt(change, "operation"), wordAt(change, "oldPath"), wordAt(change, "path")].filter(Boolean).join(" "));
  const hunks = objectsAt(block, "hunks").map((hunk) => {
    const [oldStart, oldLines, newStart, newLines] = ["oldStart", "oldLines", "newStart", "newLines"].map((name) => wordAt(hunk, name) || "0");
    return `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@\n${wordAt(hunk, "content")}`;
  });
  const text = (isObject(patch) ? patch.text : patch) ?? hunks.join("\n");
  return {path, notes, rows: typeof text === "string" && text !== "" ? patchRows(text) : []};
}

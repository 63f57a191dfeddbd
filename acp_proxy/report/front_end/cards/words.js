// Compares texts line by line, and changed lines word by word; reads diffs of every dialect.
import {countInWords, isObject, objectsAt, wordAt} from "../detail/values.js";

/** @typedef {{text: string, changed: boolean}} WordPiece */
/** @typedef {{kind: "same"|"removed"|"added", text: string, oldNumber: number, newNumber: number}} LineEdit */
/** @typedef {{kind: "same"|"removed"|"added"|"hunk"|"file"|"gap", pieces: WordPiece[], oldNumber: number, newNumber: number}} DiffRow */
/** @typedef {{path: string, rows: DiffRow[], added: number, removed: number, notes: string[]}} DiffModel */

// Beyond these, words within lines are not compared.
const MOST_COMPARED_LINES = 2000;
const MOST_COMPARED_CHARACTERS = 200_000;
// Removed and added lines together; texts that differ more are not aligned.
const MOST_EDITS = 1500;
const MOST_WORD_EDITS = 200;
const LONGEST_COMPARED_LINE = 2000;
const CONTEXT_LINES = 3;
const HUNK_HEAD = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;
const OPERATIONS = new Map([["add", "new"], ["delete", "deleted"], ["move", "moved"], ["copy", "copied"]]);

/**
 * The indexes of elements that stay, by Myers' algorithm.
 * @param {readonly string[]} before
 * @param {readonly string[]} after
 * @param {number} most edits before it gives up; then only what both begin and end with is found
 * @returns {{pairs: [number, number][], isAligned: boolean}}
 */
export function alignedPairs(before, after, most) {
  /** @type {[number, number][]} */
  const pairs = [];
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) pairs.push([start, start++]);
  let end = 0;
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
      const isDown = k === -edits || (k !== edits && reach[at - 1] < reach[at + 1]);
      let x = isDown ? reach[at + 1] : reach[at - 1] + 1;
      while (x < before.length && x - k < after.length && before[x] === after[x - k]) x++;
      reach[at] = x;
      if (x >= before.length && x - k >= after.length) return tracedBack(trace, before.length, after.length);
    }
  }
  return null;
}

/**
 * @param {Int32Array[]} trace what was reached before each number of edits
 * @param {number} x
 * @param {number} y
 * @returns {[number, number][]}
 */
function tracedBack(trace, x, y) {
  /** @type {[number, number][]} */
  const pairs = [];
  for (let edits = trace.length - 1; edits >= 0; edits--) {
    const k = x - y;
    const reached = trace[edits];
    const at = k + edits + 1;
    const isDown = k === -edits || (k !== edits && reached[at - 1] < reached[at + 1]);
    const fromX = isDown ? reached[at + 1] : reached[at - 1];
    const fromY = fromX - (isDown ? k + 1 : k - 1);
    while (x > (isDown ? fromX : fromX + 1)) pairs.push([--x, --y]);
    [x, y] = [fromX, fromY];
  }
  return pairs.reverse();
}

/**
 * The lines of a text, each with its newline.
 * @param {string} text
 * @returns {string[]}
 */
export function keptLines(text) {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/**
 * Every line of both texts as kept, removed or added, in order.
 * @param {string} before
 * @param {string} after
 * @returns {{edits: LineEdit[], isAligned: boolean}}
 */
export function lineEdits(before, after) {
  const [old, fresh] = [keptLines(before), keptLines(after)];
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
  if (Math.max(before.length, after.length) > LONGEST_COMPARED_LINE) return null;
  const [old, fresh] = [before, after].map((line) => line.match(/[\p{L}\p{N}_]+|\s+|[^]/gu) ?? []);
  const {pairs, isAligned} = alignedPairs(old, fresh, MOST_WORD_EDITS);
  const common = pairs.reduce((sum, [x]) => sum + old[x].trim().length, 0);
  const letters = Math.max(...[before, after].map((line) => line.replace(/\s+/g, "").length));
  if (!isAligned || common * 3 < letters) return null;
  return [
    wordPieces(old, new Set(pairs.map(([x]) => x))),
    wordPieces(fresh, new Set(pairs.map(([, y]) => y))),
  ];
}

/**
 * @param {readonly string[]} words
 * @param {Set<number>} kept
 * @returns {WordPiece[]}
 */
function wordPieces(words, kept) {
  /** @type {WordPiece[]} */
  const pieces = [];
  words.forEach((text, index) => {
    const last = pieces[pieces.length - 1];
    const changed = !kept.has(index);
    if (last !== undefined && last.changed === changed) last.text += text;
    else pieces.push({text, changed});
  });
  return pieces;
}

/**
 * Marks the changed words of removed lines and of the added lines that follow them.
 * @param {DiffRow[]} rows
 */
function markWords(rows) {
  for (let at = 0; at < rows.length; ) {
    const from = at;
    while (at < rows.length && rows[at].kind === "removed") at++;
    const between = at;
    while (at < rows.length && rows[at].kind === "added") at++;
    for (let k = 0; k < Math.min(between - from, at - between); k++) {
      const [old, fresh] = [rows[from + k], rows[between + k]];
      const found = wordEdits(old.pieces[0].text, fresh.pieces[0].text);
      if (found !== null) [old.pieces, fresh.pieces] = found;
    }
    if (at === from) at++;
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
  const notes = isAligned ? [] : ["The texts differ too much to align them: all old lines are shown as removed."];
  let [nextChange, lastChange, left] = [-1, -Infinity, 0];
  edits.forEach((edit, index) => {
    if (nextChange < index) {
      nextChange = index;
      while (nextChange < edits.length && edits[nextChange].kind === "same") nextChange++;
      if (nextChange === edits.length) nextChange = Infinity;
    }
    if (edit.kind !== "same") lastChange = index;
    if (nextChange - index > CONTEXT_LINES && index - lastChange > CONTEXT_LINES) {
      left++;
      return;
    }
    if (left > 0) rows.push(diffRow("gap", `${countInWords(left, "line")} the same`));
    left = 0;
    const text = edit.text.replace(/\n$/, "");
    rows.push(diffRow(edit.kind, text, edit.oldNumber, edit.newNumber));
    if (edit.kind !== "same" && text === edit.text) rows.push(diffRow("file", "no newline at the end"));
  });
  if (left > 0 && rows.length > 0) rows.push(diffRow("gap", `${countInWords(left, "line")} the same`));
  if (edits.length > 2 * MOST_COMPARED_LINES || before.length + after.length > MOST_COMPARED_CHARACTERS) {
    notes.push("The texts are long: lines are compared, not the words within them.");
  } else if (isAligned) markWords(rows);
  return {rows, notes};
}

/**
 * The rows of a patch, or of the content of one hunk.
 * @param {string} text
 * @returns {DiffRow[]}
 */
export function patchRows(text, oldNumber = 1, newNumber = 1) {
  const isPatch = /^@@ -\d/m.test(text);
  let [oldLeft, newLeft] = isPatch ? [0, 0] : [Infinity, Infinity];
  /** @type {DiffRow[]} */
  const rows = [];
  for (const line of text.replace(/\n$/, "").split("\n")) {
    const head = oldLeft <= 0 && newLeft <= 0 ? HUNK_HEAD.exec(line) : null;
    if (head !== null) {
      [oldNumber, newNumber] = [Number(head[1]), Number(head[3])];
      [oldLeft, newLeft] = [Number(head[2] ?? 1), Number(head[4] ?? 1)];
      rows.push(diffRow("hunk", line));
    } else if ((oldLeft <= 0 && newLeft <= 0) || line.startsWith("\\")) {
      rows.push(diffRow("file", line));
    } else if (line.startsWith("+")) {
      rows.push(diffRow("added", line.slice(1), 0, newNumber++));
      newLeft--;
    } else if (line.startsWith("-")) {
      rows.push(diffRow("removed", line.slice(1), oldNumber++, 0));
      oldLeft--;
    } else {
      rows.push(diffRow("same", line.slice(1), oldNumber++, newNumber++));
      oldLeft--;
      newLeft--;
    }
  }
  if (rows.length <= MOST_COMPARED_LINES && text.length <= MOST_COMPARED_CHARACTERS) markWords(rows);
  return rows;
}

/**
 * A diff of any dialect: old and new text (v1), changes with a patch (v2), hunks (1.0 draft).
 * @param {import("../detail/values.js").JsonObject} block
 * @returns {DiffModel}
 */
export function diffModel(block) {
  const {newText, oldText, patch} = block;
  let path = wordAt(block, "path");
  /** @type {DiffRow[]} */
  let rows = [];
  /** @type {string[]} */
  let notes = [];
  if (typeof newText === "string" && (typeof oldText === "string" || oldText === undefined || oldText === null)) {
    if (typeof oldText !== "string") path += " (new file)";
    ({rows, notes} = comparedTexts(oldText ?? "", newText));
    if (rows.length === 0) notes.push("unchanged");
  } else {
    notes = objectsAt(block, "changes").map(changeInWords);
    const text = isObject(patch) ? patch.text : patch;
    if (typeof text === "string") rows = patchRows(text);
    for (const hunk of objectsAt(block, "hunks")) {
      const numbers = ["oldStart", "oldLines", "newStart", "newLines"].map((name) => Number(wordAt(hunk, name)) || 0);
      rows.push(diffRow("hunk", `@@ -${numbers[0]},${numbers[1]} +${numbers[2]},${numbers[3]} @@`));
      rows.push(...patchRows(wordAt(hunk, "content"), numbers[0], numbers[2]));
    }
  }
  const count = (/** @type {string} */ kind) => rows.filter((row) => row.kind === kind).length;
  return {path, rows, notes, added: count("added"), removed: count("removed")};
}

/** @param {import("../detail/values.js").JsonObject} change */
function changeInWords(change) {
  const [operation, from, kind] = [wordAt(change, "operation"), wordAt(change, "oldPath"), wordAt(change, "fileType")];
  const path = from === "" ? wordAt(change, "path") : `${from} → ${wordAt(change, "path")}`;
  const isText = kind === "" || kind === "text";
  return [OPERATIONS.get(operation) ?? (operation === "modify" ? "" : operation), path, isText ? "" : `(${kind})`].filter(Boolean).join(" ");
}

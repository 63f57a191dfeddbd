// The items of a list, in one array: rows, runs of chunks, and the lines for a pause or a turn
// above a row. An item is a number that encodes a row and a kind, so the items are sorted by row.
// Also the texts of rows in lists and pictures; the texts of a run of chunks are joined.
import { lowerBound } from "../data/columns.js";
import { durationInWords, h } from "./dom.js";

export const SILENCE = 0;
export const TURN = 1;
export const RUN = 2;
export const ROW = 3;
const ITEM_KINDS = 4;

/** @param {number} item */
export const rowOfItem = (item) => Math.floor(item / ITEM_KINDS);

/** @param {number} item */
export const kindOfItem = (item) => item % ITEM_KINDS;

/**
 * The items of the rows that are shown.
 * @param {import("../data/recording.js").Recording} recording
 * @param {Int32Array} shown rows, sorted
 * @param {{has: (run: number) => boolean}} opened the opened runs, by their first row; their rows
 * are also items
 * @param {Int32Array} [old] the items before the change @param {number} [from] the first row that
 * is new or has changed
 */
export function buildItems(recording, shown, opened, old = new Int32Array(0), from = 0) {
  const [runs, seqs, turns] = recording.columns("run", "seq", "turn");
  const tones = recording.codes("tone");
  const prompt = recording.code("prompt") || -1;
  const isPause = (/** @type {number} */ before, /** @type {number} */ row) =>
    recording.pauses.has(row) && recording.pauses.get(row)?.before === seqs.at(before);
  // A row belongs to the run of the row before it.
  const near = shown[lowerBound(shown, from) - 1] ?? 0;
  const start = Math.min(from, runs.at(near) < near ? runs.at(near) : near);
  const kept = old.subarray(0, lowerBound(old, start * ITEM_KINDS));
  /** @type {number[]} */
  const items = [];
  for (let place = lowerBound(shown, start); place < shown.length; place++) {
    const [before, row] = [shown[place - 1], shown[place]];
    // A pause has a line only if no frames between the two rows are left out.
    if (isPause(before, row)) items.push(row * ITEM_KINDS + SILENCE);
    const isPrompt = tones.at(row) === prompt && !Number.isNaN(turns.at(row));
    if (isPrompt) items.push(row * ITEM_KINDS + TURN);
    const run = runs.at(row);
    const isFirst = runs.at(before) !== run;
    const isRun = !isFirst || runs.at(shown[place + 1]) === run;
    if (isRun && isFirst) items.push(row * ITEM_KINDS + RUN);
    if (!isRun || opened.has(run)) items.push(row * ITEM_KINDS + ROW);
  }
  const { rows } = recording;
  if (isPause(shown[shown.length - 1], rows)) items.push(rows * ITEM_KINDS + SILENCE);
  return new Int32Array([...kept, ...items]);
}

/**
 * The index of the item that shows a row: the row's own item, or the run that contains the row; -1
 * if the row is before all items.
 * @param {Int32Array} items @param {number} row
 */
export const indexOfRow = (items, row) => lowerBound(items, row * ITEM_KINDS + ROW + 1) - 1;

/**
 * The extent of the shown rows of a run. `delay` is the time by which faults delayed these rows,
 * and `arrived` is the time when all of them had arrived. A row without a run is a run of one row.
 * @param {import("../data/recording.js").Recording} recording @param {Int32Array} shown
 * @param {number} first the first shown row of the run
 * @returns {{last: number, count: number, size: number, delay: number, arrived: number}}
 */
export function runExtent(recording, shown, first) {
  const [runs, sizes, times, delays] = recording.columns("run", "size", "t_ns", "delay_ns");
  const extent = { last: first, count: 0, size: 0, delay: 0, arrived: 0 };
  const place = lowerBound(shown, first);
  for (let at = place; at === place || runs.at(shown[at]) === runs.at(first); at++) {
    const late = delays.at(shown[at]) || 0;
    extent.last = shown[at];
    extent.count += 1;
    extent.size += sizes.at(extent.last);
    extent.delay = Math.max(extent.delay, late);
    extent.arrived = Math.max(extent.arrived, times.at(extent.last) + late);
  }
  return extent;
}

const TEXT_CHARACTERS = 400;
const ESCAPES = /(\\x1b\[[0-9;?]*[A-Za-z]|(?<!\b[A-Za-z]:(?:\\\S*)?)(?:\\r)?\\n)/;

/**
 * The beginning of the joined text of some rows; null if their cells are not in memory yet.
 * @param {import("../data/recording.js").Recording} recording @param {Int32Array} shown
 * @param {number} first @param {number} last
 */
export function textOfRows(recording, shown, first, last) {
  let text = "";
  let place = lowerBound(shown, first);
  for (; shown[place] <= last && text.length < TEXT_CHARACTERS; place++) {
    const cells = recording.cellsNow(shown[place]);
    if (cells === null) return null;
    text += cells.text;
  }
  return text.slice(0, TEXT_CHARACTERS);
}

/**
 * A text in which escapes of line ends are shown as signs, and escapes of colours are hidden. A
 * copied text still has these escapes. Backslashes in a Windows path are not treated as escapes.
 * @param {string} text
 */
export const readable = (text) => text.split(ESCAPES).map((piece, place) =>
  place % 2 === 0 ? piece
    : h("span", { class: piece.startsWith("\\x1b") ? "escape" : "escape newline" }, piece));

/** @param {import("../data/recording.js").Pause} pause */
export const pauseWords = ({ ns, awaited, debt }) =>
  `${durationInWords(ns)} · waiting for ${awaited}${debt === 2 ? " · never ended" : ""}`;

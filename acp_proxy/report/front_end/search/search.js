// Filters and searches a recording for the page, by its columns and, where these are not enough, by
// its lines.
import { lengthened } from "../data/columns.js";
import { pause } from "../data/source.js";
import { NO, parseFilter, PERHAPS, YES } from "../filter/grammar.js";
import { FilterRows } from "../filter/rows.js";
import { readLines } from "./scanner.js";

/**
 * @typedef {import("../data/recording.js").Recording} Recording
 * @typedef {{recording: Recording}} Shown the part of the page's state that is needed here
 * @typedef {object} Filtered
 * @property {Int32Array} rows that match
 * @property {string} meaning the facts that the result relies on
 * @property {number} count how many rows were judged
 * @property {string[]} [texts] that the filter searches for
 */

/**
 * Returns the rows that match a filter.
 * @param {Shown} state @param {string} text @param {AbortSignal} [signal]
 * @param {Filtered & {changed: number[]}} [before] what matched, and the rows that have changed
 * since
 * @returns {Promise<Filtered>} rejects with `BadFilter` if the text is not a filter
 */
export async function applyFilter({ recording }, text, signal, before) {
  const rows = new FilterRows(recording);
  const judge = parseFilter(text, rows);
  const meaning = JSON.stringify([...rows.assumed]);
  const judged = new Uint8Array(rows.count);
  const known = before?.meaning === meaning ? before : { rows: [], changed: [], count: 0 };
  for (const row of known.rows) judged[row] = YES;
  for (const row of known.changed) judged[row] = judge(row);
  let sliceBegan = performance.now();
  for (let row = known.count; row < rows.count; row++) {
    judged[row] = judge(row);
    if (row % 65536 > 0 || performance.now() - sliceBegan < 30) continue;
    await pause();
    signal?.throwIfAborted();
    sliceBegan = performance.now();
  }
  const unread = placesOf(judged, PERHAPS);
  if (unread.length > 0) await answer(rows, unread, signal);
  for (const row of unread) judged[row] = judge(row);
  for (const { batch } of rows.members) judged[batch] = NO;
  rows.members.forEach(({ batch }, n) => (judged[batch] ||= judged[rows.rows + n]));
  const texts = rows.questions.flatMap((one) => one.kind === "text" ? [one.wanted] : []);
  return { rows: placesOf(judged.subarray(0, rows.rows), YES), meaning, count: rows.rows, texts };
}

/**
 * Returns the rows in which the command `search` would find a text.
 * @param {Shown} state @param {string} wanted @param {object} options
 * @param {(rows: Int32Array, isSearching?: boolean) => void} [options.onHits] called now and then
 * with the rows that were found
 * @param {AbortSignal} [options.signal] stops the search, which then rejects
 * @param {() => Promise<boolean>} [options.hasMore] whether there are more rows, once that is known
 */
export async function search({ recording }, wanted, { onHits, signal, hasMore }) {
  const question = { kind: /** @type {const} */ ("search"), wanted, answers: new Uint8Array(0) };
  const found = () => placesOf(question.answers, YES);
  let told = performance.now();
  const onBlock = () => {
    if (performance.now() - told < 250) return;
    onHits?.(found());
    told = performance.now();
  };
  async function* newRows() {
    do {
      const first = question.answers.length;
      question.answers = lengthened(question.answers, recording.rows);
      yield new Int32Array(recording.rows - first).map((_, place) => first + place);
      onHits?.(found(), false);
    } while (recording.rows > question.answers.length || (await hasMore?.()));
  }
  const { lineLength } = recording;
  const place = (/** @type {number} */ row) => ({ row, offset: 0, length: lineLength(row) });
  await readLines({ recording, place }, [question], newRows(), signal, onBlock);
  return found();
}

/**
 * Answers all questions about some rows.
 * @param {FilterRows} rows @param {Int32Array} unread @param {AbortSignal} [signal]
 */
async function answer(rows, unread, signal) {
  const { recording, members, questions } = rows;
  for (const { answers } of questions) answers.fill(NO);
  const ofLines = questions.filter(({ kind }) => kind !== "id");
  if (ofLines.length > 0) await readLines(rows, ofLines, [unread], signal);
  for (const question of questions) {
    if (question.kind !== "id") continue;
    for (const row of unread) {
      const cells = members[row - rows.rows] ?? recording.cellsNow(row);
      const { rpc_id } = cells ?? (await recording.cells(row));
      if (question.ids.includes(rpc_id)) question.answers[row] = YES;
    }
  }
}

/**
 * The indexes at which an array contains a value, in order.
 * @param {Uint8Array} marks @param {number} wanted
 */
function placesOf(marks, wanted) {
  let [count, at] = [0, -1];
  const places = new Int32Array(marks.length);
  while ((at = marks.indexOf(wanted, at + 1)) >= 0) places[count++] = at;
  return places.slice(0, count);
}

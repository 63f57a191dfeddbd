// Filters and searches a recording for the page: by columns at once, by lines in the worker.
import { pause } from "../data/source.js";
import { parseFilter } from "../filter/grammar.js";
import { NO, PERHAPS, YES } from "../filter/terms.js";
import { placesOf } from "./lines.js";
import { LineReader } from "./line_reader.js";
import { Answers, judgeRows, membersOfBatch } from "./rows.js";

/**
 * @typedef {import("../data/recording.js").Recording} Recording
 * @typedef {import("../filter/terms.js").Filter} Filter
 * @typedef {{recording: Recording}} Shown what is needed of the page's state
 */

const RANGE_ROWS = 65536;
const SLICE_MS = 30;
/** @type {WeakMap<Recording, LineReader>} */
const lineReaders = new WeakMap();
/** @type {WeakMap<Recording, AbortController>} */
const latestFilters = new WeakMap();

/**
 * Returns the rows that match a filter. It stops the filter before, which then rejects.
 * @param {Shown} state
 * @param {string} text
 * @returns {Promise<Int32Array>} rejects with `BadFilter` if the text is not a filter
 */
export async function applyFilter({ recording }, text) {
  latestFilters.get(recording)?.abort();
  const latest = new AbortController();
  latestFilters.set(recording, latest);
  const filter = parseFilter(text, {
    hasLabel: (label) => hasLabel(recording, label),
    lastTurn: recording.meta.last_turn,
  });
  const answers = new Answers(recording.rows);
  let judged = await judgeAll(recording, filter, answers, latest.signal);
  if (judged.includes(PERHAPS)) {
    await readAnswers(recording, filter, answers, judged, latest.signal);
    judged = await judgeAll(recording, filter, answers, latest.signal);
  }
  return placesOf(judged, YES);
}

/**
 * Returns the rows in which a text occurs, as `inspect search` finds it: whatever its case unless
 * it has a capital letter, in lines, in their strings, in events, and across the chunks of messages.
 * @param {Shown} state
 * @param {string} query
 * @param {object} options
 * @param {(rows: Int32Array, count: number) => void} [options.onHits] called now and then with what was found so far
 * @param {AbortSignal} [options.signal] stops the search, which then rejects
 * @param {boolean | null} [options.ignoreCase]
 * @returns {Promise<{rows: Int32Array, count: number}>}
 */
export async function search({ recording }, query, { onHits, signal = new AbortController().signal, ignoreCase = null }) {
  const found = (/** @type {Int32Array} */ some) => onHits?.(some, some.length);
  const rows = await readerOf(recording).run({ type: "search", text: query, ignoreCase }, signal, found);
  return { rows, count: rows.length };
}

/** @param {Recording} recording */
function readerOf(recording) {
  const reader = lineReaders.get(recording) ?? new LineReader(recording);
  lineReaders.set(recording, reader);
  return reader;
}

/**
 * Whether a method, a session, a tool call or a terminal is called exactly so.
 * @param {Recording} recording
 * @param {string} label
 */
function hasLabel(recording, label) {
  const code = recording.code(label);
  const columns = ["method", "session", "tool_call", "terminal", "answer_session"];
  if (code > 0 && columns.some((column) => recording.codes(column).includes(code))) return true;
  const members = Object.values(recording.meta.members ?? {}).flat();
  return members.some((one) => one.session === label && one.exchange !== null);
}

/**
 * @param {Recording} recording
 * @param {Filter} filter
 * @param {Answers} answers
 * @param {AbortSignal} signal
 */
async function judgeAll(recording, filter, answers, signal) {
  const judged = new Uint8Array(recording.rows);
  let sliceBegan = performance.now();
  for (let first = 0; first < recording.rows; first += RANGE_ROWS) {
    const end = Math.min(first + RANGE_ROWS, recording.rows);
    judged.set(judgeRows(recording, filter, answers, first, end), first);
    if (performance.now() - sliceBegan > SLICE_MS) {
      await pause();
      if (signal.aborted) throw new Error("stopped");
      sliceBegan = performance.now();
    }
  }
  return judged;
}

/**
 * Reads the lines of all rows that may match, and of all messages of batches.
 * @param {Recording} recording
 * @param {Filter} filter
 * @param {Answers} answers
 * @param {Uint8Array} judged
 * @param {AbortSignal} signal
 */
async function readAnswers(recording, filter, answers, judged, signal) {
  const { questions } = filter;
  const reader = readerOf(recording);
  const batches = Object.keys(recording.meta.members ?? {}).map(Number).filter((row) => judged[row] === PERHAPS);
  for (const row of batches) judged[row] = NO;
  const rows = placesOf(judged, PERHAPS);
  /** @type {Uint8Array[]} */
  const found = await reader.run({ type: "ask", questions, rows, parts: null }, signal);
  for (const [n, question] of questions.entries()) {
    const { ofRows } = answers.of(question);
    for (let place = 0; place < rows.length; place++) ofRows[rows[place]] = found[n][place];
  }
  const parts = batches.flatMap((row) => membersOfBatch(recording, row).map(({ offset, length }) => ({ row, offset, length })));
  if (parts.length === 0) return;
  const ofParts = Int32Array.from(parts, ({ row }) => row);
  /** @type {Uint8Array[]} */
  const foundInParts = await reader.run({ type: "ask", questions, rows: ofParts, parts }, signal);
  for (const [n, question] of questions.entries()) {
    let first = 0;
    for (const row of batches) {
      const end = first + membersOfBatch(recording, row).length;
      answers.of(question).ofMembers.set(row, foundInParts[n].slice(first, end));
      first = end;
    }
  }
}

// Filters and searches a recording for the page: columns in the page itself, lines in a worker, to
// which blocks of lines are sent one after the other.
import { lengthened } from "../data/columns.js";
import { decodeText, pause } from "../data/source.js";
import { NO, parseFilter, PERHAPS, YES } from "../filter/grammar.js";
import { FilterRows } from "../filter/rows.js";
import { Scanner } from "./scanner.js";

/**
 * @typedef {import("../data/recording.js").Recording} Recording
 * @typedef {{recording: Recording}} Shown the part of the page's state that is needed here
 * @typedef {object} Filtered
 * @property {Int32Array} rows that match
 * @property {string} meaning the facts that the result relies on
 * @property {number} count how many rows were judged
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
  return { rows: placesOf(judged.subarray(0, rows.rows), YES), meaning, count: rows.rows };
}

/**
 * Explains a term that no frame can match, and says which filter the reader may have meant.
 * @param {Recording} recording @param {string} filter
 * @returns {{words: string, instead: string, term: string} | null} `instead` is a filter with
 * another term
 */
export function misread(recording, filter) {
  const [found, id] = /(?<=^|[\s(])call:"?([^\s"()*?[]+)"?/.exec(filter) ?? [];
  const isCall = (/** @type {number} */ code) => recording.texts[code - 1]?.startsWith(id);
  if (!found || Array.from(recording.codes("tool_call")).some(isCall)) return null;
  const [words, term] = [`No call has an id that begins with “${id}”.`, `text:${id}`];
  return { words, term, instead: filter.replace(found, term) };
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

/**
 * @typedef {Pick<import("../filter/rows.js").FilterRows, "recording" | "place">} LineRows
 * @typedef {import("../filter/rows.js").AskedQuestion} AskedQuestion
 * @typedef {import("../data/source.js").Source} Source
 * @typedef {import("./scanner.js").LineBlock} LineBlock
 * @typedef {{take: (block: LineBlock) => Promise<number[][]>, stop: () => void}} Scan
 */

const NO_LINES = "this report was made without payloads, so nothing can be looked up in lines";
/** The address of the worker's script. @type {Promise<string> | null} */
let workerUrl = null;

/**
 * Reads lines and keeps the answers, until it is stopped.
 * @param {LineRows} rows @param {AskedQuestion[]} questions
 * @param {Iterable<Int32Array> | AsyncIterable<Int32Array>} parts the rows to read, in their order
 * @param {AbortSignal} [signal] @param {() => void} [onBlock]
 */
export async function readLines(rows, questions, parts, signal, onBlock) {
  if (!rows.recording.hasPayloads) throw new Error(NO_LINES);
  const scan = await startScan(rows.recording.source, questions);
  try {
    for await (let wanted of parts) {
      let coming = nextBlock(rows, wanted);
      for (let block = await coming; block; block = await coming) {
        const reading = scan.take(block);
        wanted = wanted.subarray(block.rows.length);
        coming = nextBlock(rows, wanted);
        const found = await reading;
        signal?.throwIfAborted();
        found.forEach((some, n) => some.forEach((row) => (questions[n].answers[row] = YES)));
        onBlock?.();
      }
    }
  } finally {
    scan.stop();
  }
}

/**
 * Starts a worker for questions. If workers are not allowed, the same code runs in the page.
 * @param {Source} source @param {AskedQuestion[]} asked @returns {Promise<Scan>}
 */
async function startScan(source, asked) {
  const questions = asked.map((question) => ({ ...question, answers: null }));
  try {
    const worker = new Worker(await (workerUrl ??= makeWorkerUrl(source)));
    const ask = (/** @type {object} */ message) => new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = reject;
      worker.postMessage(message);
    });
    await ask(questions);
    return { take: ask, stop: () => worker.terminate() };
  } catch {
    const scanner = new Scanner(questions);
    return { take: (block) => pause().then(() => scanner.take(block)), stop: () => undefined };
  }
}

/** Makes the worker's URL; the page's policy allows only URLs of blobs. @param {Source} source */
async function makeWorkerUrl(source) {
  const text = decodeText(await source.bytes("script"));
  const createScriptURL = () => URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  const types = /** @type {any} */ (window).trustedTypes;
  const policy = types?.createPolicy("acp-report-worker", { createScriptURL });
  return policy ? policy.createScriptURL("") : createScriptURL();
}

/**
 * The next block with wanted rows; null if no block contains a wanted row.
 * @param {LineRows} rows @param {Int32Array} wanted @returns {Promise<LineBlock | null>}
 */
async function nextBlock(rows, wanted) {
  if (wanted.length === 0) return null;
  const { recording } = rows;
  const { first, end, names } = recording.blocksOf(rows.place(wanted[0]).row);
  const [starts, ends] = [/** @type {number[]} */ ([]), /** @type {number[]} */ ([])];
  const events = new Map();
  let [at, start] = [first, 0];
  for (const row of wanted) {
    const place = rows.place(row);
    if (place.row < at || place.row >= end) break;
    while (at < place.row) start += recording.lineLength(at++);
    starts.push(start + place.offset);
    ends.push(start + place.offset + place.length);
    const tag = recording.text("stream", at) === "event" && recording.text("kind", at);
    if (tag) events.set(row, tag === "eof" ? null : `${tag} ${(await recording.cells(at)).text}`);
  }
  const chosen = wanted.slice(0, ends.length);
  const [sessions, calls] = ["session", "tool_call"].map((name) => recording.codes(name));
  return {
    packed: await Promise.all(names.map((name) => recording.source.packed(name))), rows: chosen,
    methods: Array.from(chosen, (row) => recording.text("method", row)),
    sessions: chosen.map((row) => sessions.at(row)), calls: chosen.map((row) => calls.at(row)),
    starts: Int32Array.from(starts), ends: Int32Array.from(ends), events,
  };
}

// Answers questions that need the lines: sends blocks of lines to a worker, one after the other.
import { decodeText, pause } from "../data/source.js";
import { YES } from "../filter/terms.js";
import { Scanner } from "./scanner.js";

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
  const text = decodeText(await source.bytes("worker"));
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

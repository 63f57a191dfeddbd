// Reads lines block by block, and finds for each question the rows whose answer is yes. Keys and
// drawing come in between after some milliseconds, so the page stays usable.
import { attempted, isObject, parsedRaw, RawValue } from "../data/values.js";
import { jsonText, patternTest } from "../filter/json.js";
import { pause } from "../data/source.js";
import { YES } from "../filter/grammar.js";
import { TextSearch } from "./matches.js";

/**
 * @typedef {import("../filter/rows.js").Question} Question
 * @typedef {import("../filter/rows.js").AskedQuestion} AskedQuestion
 * @typedef {Pick<import("../filter/rows.js").FilterRows, "recording" | "place">} LineRows
 * @typedef {object} Labels of a row
 * @property {string | null} method
 * @property {number} session its code
 * @property {number} call its code
 * @property {string | null} [event] the description of an event; null for the end of a stream,
 *   whose words are all ours
 * @typedef {object} Reader
 * @property {(line: string, row: number, labels: Labels, hits: number[]) => void} read adds to hits
 * @property {(hits: number[]) => void} [pause] called at the end of a block
 */

const NO_LINES = "this report was made without payloads, so nothing can be looked up in lines";
/** The longest time in milliseconds for which the page waits, unless a single line takes longer. */
const SLICE_MS = 25;
const UNLIKE_LOWER =
  /[\p{CWCF}\u01f0\u0390\u03b0\u1e96-\u1e99\u1f50-\u1f56\u1fb6-\u1fd7\u1fe2-\u1fe7\u1ff6]/gu;
const UTF8 = new TextDecoder("utf-8", { ignoreBOM: true });
const INDEX = /^[0-9]{1,9}$/;
const NO_JSON_NUMBER = /("[^"\\]*(?:\\.[^"\\]*)*")|-?\bInfinity\b|\bNaN\b/gs;

/**
 * Reads lines and keeps the answers.
 * @param {LineRows} rows @param {AskedQuestion[]} questions
 * @param {Iterable<Int32Array> | AsyncIterable<Int32Array>} parts the rows to read, in their order
 * @param {AbortSignal} [signal] @param {() => void} [onBlock]
 */
export async function readLines(rows, questions, parts, signal, onBlock) {
  const { recording } = rows;
  if (!recording.hasPayloads) throw new Error(NO_LINES);
  const readers = questions.map(readerOf);
  const [sessions, calls] = ["session", "tool_call"].map((name) => recording.codes(name));
  let began = performance.now();
  for await (const wanted of parts) {
    for (let at = 0; at < wanted.length; ) {
      const { first, end, bytes } = await recording.block(rows.place(wanted[at]).row);
      const whole = UTF8.decode(bytes);
      // A character may have several bytes, so places in the bytes and in the text differ.
      const isAscii = whole.length === bytes.length;
      /** @type {number[][]} */
      const hits = readers.map(() => []);
      for (let [before, start] = [first, 0]; at < wanted.length; at++) {
        const [number, { row, offset, length }] = [wanted[at], rows.place(wanted[at])];
        if (row < before || row >= end) break;
        while (before < row) start += recording.lineLength(before++);
        const [from, to] = [start + offset, start + offset + length];
        const line = isAscii ? whole.slice(from, to) : UTF8.decode(bytes.subarray(from, to));
        const tag = recording.text("stream", row) === "event" && recording.text("kind", row);
        const event = !tag ? undefined
          : tag === "eof" ? null : `${tag} ${(await recording.cells(row)).text}`;
        const [method, session] = [recording.text("method", number), sessions.at(number)];
        const labels = { method, session, call: calls.at(number), event };
        readers.forEach((reader, n) => reader.read(line, number, labels, hits[n]));
        if (performance.now() - began < SLICE_MS) continue;
        await pause();
        signal?.throwIfAborted();
        began = performance.now();
      }
      readers.forEach((reader, n) => reader.pause?.(hits[n]));
      hits.forEach((some, n) => some.forEach((row) => (questions[n].answers[row] = YES)));
      onBlock?.();
    }
  }
}

/** @param {any} question @returns {Reader} */
function readerOf(question) {
  if (question.kind === "search") return new TextSearch(question);
  const wanted = withoutCase(question.wanted);
  const isTrue = question.kind === "path" ? pathTest(question)
    : (/** @type {string} */ line) => withoutCase(line).includes(wanted);
  return { read: (line, row, { event }, hits) => isTrue(line, event) && hits.push(row) };
}

/**
 * @param {Question & {kind: "path"}} question
 * @returns {(line: string, event?: string | null) => boolean}
 */
function pathTest({ keys, wanted, isPattern }) {
  const pattern = patternTest(wanted.replace(/[[?]/g, "[$&]"));
  const fits = isPattern ? pattern : (/** @type {string} */ text) => text === wanted;
  const isString = !isPattern && !/^(?:[-0-9[{]|true$|false$|null$|NaN$|Infinity$)/.test(wanted);
  // In a line without escapes, names and strings are written unchanged.
  const names = [...keys.filter((key) => !INDEX.test(key)), ...(isString ? [wanted] : [])];
  const mayHave = (/** @type {string} */ line) =>
    line.includes("\\") || names.every((name) => line.includes(`"${name}"`));
  return (line, event) => {
    if (event !== undefined || !mayHave(line)) return false;
    let hasOthers = false;
    const isFitting = (/** @type {any} */ value) => {
      hasOthers ||= typeof value !== "string";
      return typeof value === "string" && fits(value);
    };
    if (valuesOf(line, JSON.parse).some((value) => reaches(value, keys, isFitting))) return true;
    if (!hasOthers || isString) return false;
    const isFittingExactly = (/** @type {any} */ value) => fits(jsonText(value));
    return valuesOf(line, parsedRaw).some((value) => reaches(value, keys, isFittingExactly));
  };
}

/**
 * @param {string} line @param {(line: string) => any} read
 * @returns {any[]} the messages of the line; none if the line is not JSON
 */
function valuesOf(line, read) {
  // Python reads these words as numbers.
  const text = /NaN|Infinity/.test(line)
    ? line.replace(NO_JSON_NUMBER, (word, string) => string ?? `"${word}"`) : line;
  return [attempted(() => read(text)) ?? []].flat();
}

/**
 * Whether a path leads to a matching value. In a list, all items are tried.
 * @param {any} value @param {string[]} keys @param {(value: any) => boolean} fits
 * @returns {boolean}
 */
function reaches(value, keys, fits) {
  const [key, ...others] = keys;
  if (Array.isArray(value)) {
    if (!INDEX.test(key ?? "")) return value.some((item) => reaches(item, keys, fits));
    return Number(key) < value.length && reaches(value[Number(key)], others, fits);
  }
  if (key === undefined) return fits(value);
  const isParent = isObject(value) && !(value instanceof RawValue);
  return isParent && Object.hasOwn(value, key) && reaches(value[key], others, fits);
}

/** A text in a form that ignores case, as Python's `casefold` makes it. @param {string} text */
const withoutCase = (text) => text.toLowerCase().replace(UNLIKE_LOWER, (one) =>
  Array.from(one.toUpperCase(), (part) => part.toLowerCase()).join(""));

// Reads lines block by block, and finds for each question the rows whose answer is yes. This code
// runs in the worker.
import { attempted, isObject, parsedRaw, RawValue } from "../data/values.js";
import { jsonText, patternTest } from "../filter/json.js";
import { inflate, joinedBytes } from "../data/source.js";
import { TextSearch } from "./matches.js";

/**
 * @typedef {import("../filter/rows.js").Question} Question
 * @typedef {object} LineBlock
 * @property {import("../data/source.js").Packed[]} packed the parts of the block
 * @property {Int32Array} rows the rows to be read
 * @property {Int32Array} starts where their lines are in the block
 * @property {Int32Array} ends
 * @property {(string | null)[]} methods
 * @property {Int32Array} sessions their codes
 * @property {Int32Array} calls
 * @property {Map<number, string | null>} events the descriptions of the rows that are events;
 *   null for the end of a stream, whose words are all ours
 * @typedef {object} Labels of a row
 * @property {string | null} method
 * @property {number} session
 * @property {number} call
 * @property {string | null} [event]
 * @typedef {object} Reader
 * @property {(line: string, row: number, labels: Labels, hits: number[]) => void} read adds to hits
 * @property {(hits: number[]) => void} [pause] called at the end of a block
 */

const UNLIKE_LOWER =
  /[\p{CWCF}\u01f0\u0390\u03b0\u1e96-\u1e99\u1f50-\u1f56\u1fb6-\u1fd7\u1fe2-\u1fe7\u1ff6]/gu;
const UTF8 = new TextDecoder("utf-8", { ignoreBOM: true });
const INDEX = /^[0-9]{1,9}$/;
const NO_JSON_NUMBER = /("[^"\\]*(?:\\.[^"\\]*)*")|-?\bInfinity\b|\bNaN\b/gs;

export class Scanner {
  /** @param {Question[]} questions */
  constructor(questions) { this.readers = questions.map(readerOf); }

  /**
   * @param {LineBlock} block the next block in order
   * @returns {Promise<number[][]>} the rows of each question
   */
  async take({ packed, rows, starts, ends, methods, sessions, calls, events }) {
    const bytes = await joinedBytes(await Promise.all(packed.map(inflate)));
    /** @type {number[][]} */
    const found = this.readers.map(() => []);
    const whole = UTF8.decode(bytes);
    // A character may have several bytes, so places in the bytes and in the text differ.
    const isAscii = whole.length === bytes.length;
    rows.forEach((row, at) => {
      const line = isAscii ? whole.slice(starts[at], ends[at])
        : UTF8.decode(bytes.subarray(starts[at], ends[at]));
      const [method, session, call] = [methods[at], sessions[at], calls[at]];
      const labels = { method, session, call, event: events.get(row) };
      this.readers.forEach((reader, n) => reader.read(line, row, labels, found[n]));
    });
    this.readers.forEach((reader, n) => reader.pause?.(found[n]));
    return found;
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

/**
 * Answers a page, in a worker that runs the script of the page. The page sends questions first, and
 * then blocks of lines, since the worker has no data of its own.
 */
export function answerPage() {
  /** @type {Scanner | null} */
  let scanner = null;
  self.onmessage = async ({ data }) => {
    if (scanner !== null) return self.postMessage(await scanner.take(data));
    scanner = new Scanner(data);
    self.postMessage(null);
  };
}

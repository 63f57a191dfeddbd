// Answers what a filter asks of lines: texts, members of messages, and ids.
import { jsonText, parseJson } from "../filter/json.js";
import { patternTest } from "../filter/patterns.js";
import { NO, YES } from "../filter/terms.js";
import { withoutCase } from "../filter/words.js";
import { NON_ASCII, cellReader, lineBlocks } from "./lines.js";

/**
 * @typedef {import("../filter/terms.js").Question} Question
 * @typedef {import("./lines.js").LoadBlock} LoadBlock
 * @typedef {object} Columns what a scan has to know of all rows
 * @property {[number, number][]} payloads
 * @property {Uint32Array} lengths
 * @property {Uint8Array} isEvent
 * @property {Map<number, string>} eventKinds by row
 * @property {Int32Array} methods codes
 * @property {Int32Array} sessions codes
 * @property {Uint8Array} hasCall
 * @property {Map<number, string>} methodTexts by code
 * @typedef {object} Asked
 * @property {Question[]} questions
 * @property {Int32Array} rows sorted
 * @property {{offset: number, length: number}[] | null} parts the part of the line that is meant, of each row; null
 *   for whole lines. Then one row may occur several times
 */

const IDS_AT_ONCE = 1024;
const INDEX = /^[0-9]{1,9}$/;
const MAYBE_NO_STRING = /^(?:[-0-9[{]|true$|false$|null$|NaN$|Infinity$)/;
const DIGITS = /[0-9]{4301}/;
const MOST_BRACKETS = 900;
const SUSPICIOUS = 2 * MOST_BRACKETS;

/**
 * Answers questions about rows, block by block.
 * @param {Columns} columns
 * @param {Asked} asked
 * @param {LoadBlock} load
 * @param {() => Promise<void>} pause called between blocks; may reject
 * @returns {Promise<Uint8Array[]>} for each question the answer for each of the rows
 */
export async function answerQuestions(columns, { questions, rows, parts }, load, pause) {
  const answers = questions.map(() => new Uint8Array(rows.length).fill(NO));
  const ofLines = questions.map((question, n) => ({ test: lineTest(question), answers: answers[n] })).filter((one) => one.test);
  if (ofLines.length) {
    for await (const { block, from, to } of lineBlocks(columns.payloads, columns.lengths, rows, load)) {
      const open = ofLines.filter(({ test }) => block.lower === null || test?.mayBeIn(block.lower));
      for (let n = from; n < to && open.length; n++) {
        const row = rows[n];
        const line = parts ? block.part(row, parts[n].offset, parts[n].length) : block.line(row);
        for (const { test, answers: found } of open) {
          if (test?.isTrue(line, columns.isEvent[row] === 1)) found[n] = YES;
        }
      }
      await pause();
    }
  }
  for (const [n, question] of questions.entries()) {
    if (question.kind === "id") await answerIds(question.ids, rows, answers[n], load, pause);
  }
  return answers;
}

/**
 * @param {string[]} ids
 * @param {Int32Array} rows
 * @param {Uint8Array} answers
 * @param {LoadBlock} load
 * @param {() => Promise<void>} pause
 */
async function answerIds(ids, rows, answers, load, pause) {
  const cellsOf = cellReader(load);
  for (let n = 0; n < rows.length; n++) {
    if (n % IDS_AT_ONCE === 0) await pause();
    const id = (await cellsOf(rows[n]))[1];
    if (typeof id === "string" && ids.includes(id)) answers[n] = YES;
  }
}

/**
 * How to answer a question of a line; null if no line answers it.
 * @param {Question} question
 * @returns {{mayBeIn: (lower: string) => boolean, isTrue: (line: string, isEvent: boolean) => boolean} | null}
 */
function lineTest(question) {
  if (question.kind === "text") {
    const wanted = withoutCase(question.wanted);
    return {
      mayBeIn: (lower) => lower.includes(wanted),
      isTrue: (line) => (NON_ASCII.test(line) ? withoutCase(line) : line.toLowerCase()).includes(wanted),
    };
  }
  return question.kind === "path" ? pathTest(question) : null;
}

/** @param {Question & {kind: "path"}} question */
function pathTest({ keys, wanted, isPattern }) {
  const pattern = patternTest(wanted.replace(/\[/g, "[[]").replace(/\?/g, "[?]"));
  const fits = isPattern ? pattern : (/** @type {string} */ text) => text === wanted;
  const isString = !isPattern && !MAYBE_NO_STRING.test(wanted);
  // Where nothing is escaped, names are written as they are.
  const parts = [...keys.filter((key) => !INDEX.test(key)), ...(isString ? [wanted] : [])].map((key) => `"${key}"`);
  const lowerParts = parts.map((part) => part.toLowerCase());
  return {
    mayBeIn: (/** @type {string} */ lower) => lower.includes("\\") || lowerParts.every((part) => lower.includes(part)),
    isTrue: (/** @type {string} */ line, /** @type {boolean} */ isEvent) => {
      if (isEvent || (!line.includes("\\") && !parts.every((part) => line.includes(part)))) return false;
      // The quick reader loses digits of numbers, and accepts a few lines that Python does not.
      let isUnsure = isSuspicious(line);
      const fitsQuickly = (/** @type {any} */ value) => {
        isUnsure ||= typeof value !== "string" && !isString;
        return typeof value === "string" && fits(value);
      };
      try {
        if (!isUnsure && membersOf(JSON.parse(line)).some((value) => reaches(value, keys, fitsQuickly))) return true;
      } catch {
        isUnsure = true;
      }
      const value = isUnsure ? parseJson(line) : undefined;
      const fitsExactly = (/** @type {any} */ found) => fits(typeof found === "string" ? found : jsonText(found));
      return value !== undefined && membersOf(value).some((one) => reaches(one, keys, fitsExactly));
    },
  };
}

/** @param {string} line */
function isSuspicious(line) {
  return line.length >= SUSPICIOUS && (DIGITS.test(line) || line.split(/[[{]/, MOST_BRACKETS + 1).length > MOST_BRACKETS);
}

/** @param {any} value */
const membersOf = (value) => (Array.isArray(value) ? value : [value]);

/**
 * Whether a path leads to a matching value; in a list, all items are tried.
 * @param {any} value of `parseJson` or `JSON.parse`
 * @param {string[]} keys
 * @param {(value: any) => boolean} fits
 * @param {number} [at]
 * @returns {boolean}
 */
function reaches(value, keys, fits, at = 0) {
  const key = keys[at];
  if (Array.isArray(value)) {
    if (key === undefined || !INDEX.test(key)) return value.some((item) => reaches(item, keys, fits, at));
    return Number(key) < value.length && reaches(value[Number(key)], keys, fits, at + 1);
  }
  if (key === undefined) return fits(value);
  if (value instanceof Map) return value.has(key) && reaches(value.get(key), keys, fits, at + 1);
  return value !== null && typeof value === "object" && Object.hasOwn(value, key) && reaches(value[key], keys, fits, at + 1);
}

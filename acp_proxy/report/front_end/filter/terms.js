// What each term of a filter means: a function that judges a row by its columns.
// The answer is NO, PERHAPS (the line has to be read) or YES, so that "and" is the least of several
// answers, "or" the greatest, and "not" is YES less the answer.
import { asciiJson } from "./json.js";
import { patternTest } from "./patterns.js";
import { visibleText } from "../shell/words.js";

export const NO = 0;
export const PERHAPS = 1;
export const YES = 2;

/**
 * @typedef {import("./rows.js").FilterRows} FilterRows
 * @typedef {(row: number) => number} Judge NO, PERHAPS or YES
 */

/** A term does not accept a value. */
export class BadValue extends Error {}

/** @param {Judge[]} parts @returns {Judge} */
export const allOf = (parts) => parts.length > 0 ? parts.reduce(both) : () => YES;

/** @param {Judge[]} parts @returns {Judge} */
export const anyOf = (parts) => parts.reduce(either);

/** @param {Judge} a @param {Judge} b @returns {Judge} */
function either(a, b) {
  return (row) => {
    const first = a(row);
    return first === YES ? YES : Math.max(first, b(row));
  };
}

/** @param {Judge} a @param {Judge} b @returns {Judge} */
function both(a, b) {
  return (row) => {
    const first = a(row);
    return first === NO ? NO : Math.min(first, b(row));
  };
}

/** @param {Judge} judge @returns {Judge} */
export const noneOf = (judge) => (row) => YES - judge(row);

/**
 * @param {FilterRows} rows
 * @param {string[]} columns one of which has to fit
 * @param {(text: string) => boolean} fits
 */
function textFilter(rows, columns, fits) {
  const answer = (/** @type {string} */ text) => (fits(text) ? YES : NO);
  const answers = Uint8Array.from([NO, ...rows.texts.map(answer)]);
  const judges = columns.map((column) => {
    const codes = rows.codes(column);
    return (/** @type {number} */ row) => answers[codes[row]];
  });
  return anyOf(judges);
}

/**
 * @param {FilterRows} rows @param {string} column @param {(value: number) => boolean} fits
 * @returns {Judge}
 */
function numberFilter(rows, column, fits) {
  const numbers = rows.numbers(column);
  return (row) => (fits(numbers[row]) ? YES : NO);
}

const DIRECTIONS = ["to-agent", "to-client"];
const MESSAGE_KINDS = ["request", "response", "error", "notification", "batch"];
const KINDS_WITH_ID = ["request", "response", "error", "batch", "invalid"];
const KINDS = [...MESSAGE_KINDS, "invalid", "blank", "stderr", "event"];
export const OWN_STATES = ["unanswered", "failed"];
const STATES = [...OWN_STATES, ...KINDS];
const STATUSES = [
  "pending", "awaiting_permission", "in_progress", "completed", "failed", "cancelled",
];
const SIZES = { "": 1, b: 1, k: 1e3, kb: 1e3, m: 1e6, mb: 1e6, g: 1e9, gb: 1e9 };
const TIMES = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, "": 1e9, s: 1e9, m: 60e9, min: 60e9, h: 3600e9 };
const ONES = { "": 1 };
const BLANKS = "[\\t-\\r\\x1c- \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]*";
const BOUND = new RegExp(`^(<=|>=|<|>|=)?${BLANKS}([0-9]*\\.?[0-9]+)${BLANKS}([a-zA-Zµ]*)$`);

/** @param {string} text */
export const quoted = (text) => `'${visibleText(text)}'`;

/** A value without its quotes, if it has any. @param {string} value */
export function unquoted(value) {
  if (value.length < 2 || !value.startsWith('"') || !value.endsWith('"')) return value;
  try {
    return String(JSON.parse(value));
  } catch {
    return value.slice(1, -1);
  }
}

/** A string as it can be stored: half of a surrogate pair is an escape. @param {string} text */
function storable(text) {
  return text.replace(/[\ud800-\udfff]/gu, (half) => `\\u${half.charCodeAt(0).toString(16)}`);
}

/** @param {string} value @param {string[]} words @param {string} what */
function chosenWords(value, words, what) {
  const chosen = [...new Set(value.split("|"))];
  const wrong = chosen.find((word) => !words.includes(word));
  if (wrong === undefined) return chosen;
  throw new BadValue(`${quoted(wrong)} is not a ${what}: expected ${words.join(", ")}`);
}

/** @param {string} value @param {FilterRows} rows */
function directionTerm(value, rows) {
  const chosen = chosenWords(value, DIRECTIONS, "direction");
  return textFilter(rows, ["stream"], (text) => chosen.includes(text));
}

/** @param {string} value @param {FilterRows} rows */
function kindTerm(value, rows) {
  const isUpdate = (/** @type {string} */ word) => /^(?=.*_)[\p{XIDS}_]\p{XIDC}*$/u.test(word);
  const update = value.split("|").find(isUpdate);
  if (update) {
    const place = `params.update.sessionUpdate=${update}`;
    throw new BadValue(`${quoted(update)} is not a kind of frame; for an update use ${place}`);
  }
  const chosen = chosenWords(value, KINDS, "kind");
  const isEvent = textFilter(rows, ["stream"], (text) => text === "event");
  const isOfKind = textFilter(rows, ["kind"], (text) => chosen.includes(text));
  const kinds = [allOf([isOfKind, noneOf(isEvent)])];
  if (chosen.includes("event")) kinds.push(isEvent);
  if (chosen.includes("batch")) kinds.push((row) => (row < rows.rows ? NO : YES));
  return anyOf(kinds);
}

/**
 * A term for texts that are equal, begin with the value, or match a pattern.
 * @param {string[]} columns
 * @param {string[]} [wordsAfter] patterns of what may precede the beginning
 * @returns {(value: string, rows: FilterRows) => Judge}
 */
function labelTerm(columns, wordsAfter = []) {
  return (value, rows) => {
    const wanted = storable(unquoted(value));
    if (/[*?[]/.test(wanted)) return textFilter(rows, columns, patternTest(wanted));
    const isWhole = wanted !== storable(value) || rows.hasLabel(wanted);
    if (isWhole) return textFilter(rows, columns, (text) => text === wanted);
    const tests = ["", ...wordsAfter].map((before) => patternTest(`${before}${wanted}*`));
    return textFilter(rows, columns, (text) => tests.some((test) => test(text)));
  };
}

/** @param {string} value @param {FilterRows} rows */
function idTerm(value, rows) {
  const token = storable(value);
  const written = [token, asciiJson(value), JSON.stringify(value)];
  const ids = token.startsWith('"') ? [token] : written;
  const mayHaveId = textFilter(rows, ["kind"], (text) => KINDS_WITH_ID.includes(text));
  return allOf([mayHaveId, rows.ask({ kind: "id", ids })]);
}

/**
 * A number, a bound such as `>10k`, or a range such as `10..20`.
 * @param {string} column @param {Record<string, number>} units @param {string} what
 * @returns {(value: string, rows: FilterRows) => Judge}
 */
function numberTerm(column, units, what) {
  const read = (/** @type {string} */ text) => {
    const [, operator = "=", digits, unit] = BOUND.exec(text) ?? ["", "", "", "?"];
    const name = unit.toLowerCase();
    if (!Object.hasOwn(units, name)) throw new BadValue(`${quoted(text)} is not a ${what}`);
    return { operator, bound: Number(digits) * units[name] };
  };
  return (value, rows) => {
    const [low, high] = value.split(/\.\.(.*)/s);
    if (high === undefined) {
      const { operator, bound } = read(value);
      return numberFilter(rows, column, (found) => COMPARED[operator](found, bound));
    }
    const [least, most] = [low ? read(low).bound : -Infinity, high ? read(high).bound : Infinity];
    return numberFilter(rows, column, (found) => found >= least && found <= most);
  };
}

/** @type {Record<string, (found: number, bound: number) => boolean>} */
const COMPARED = {
  "=": (found, bound) => found === bound,
  "<": (found, bound) => found < bound,
  ">": (found, bound) => found > bound,
  "<=": (found, bound) => found <= bound,
  ">=": (found, bound) => found >= bound,
};

const numberedTurn = numberTerm("turn", ONES, "number of a turn: expected 1, 1..3 or last");

/** @param {string} value @param {FilterRows} rows */
function turnTerm(value, rows) {
  return numberedTurn(value === "last" ? String(rows.lastTurn) : value, rows);
}

/** @param {string} word @param {FilterRows} rows */
export function stateFilter(word, rows) {
  if (word === "failed") return anyOf([kindTerm("error", rows), statusTerm("failed", rows)]);
  if (word !== "unanswered") return kindTerm(word, rows);
  return allOf([kindTerm("request", rows), numberFilter(rows, "response_seq", Number.isNaN)]);
}

/** @param {string} value @param {FilterRows} rows */
function isTerm(value, rows) {
  return anyOf(chosenWords(value, STATES, "state").map((word) => stateFilter(word, rows)));
}

/** @param {string} value @param {FilterRows} rows */
function statusTerm(value, rows) {
  const chosen = chosenWords(value, STATUSES, "status of a tool call");
  const isCall = textFilter(rows, ["tool_call"], () => true);
  const path = "params.update.status";
  return allOf([isCall, anyOf(chosen.map((word) => pathFilter(path, word, false, rows)))]);
}

/** @param {string} value @param {FilterRows} rows */
export const containsFilter = (value, rows) => rows.ask({ kind: "text", wanted: unquoted(value) });

/** @param {string} value @param {FilterRows} rows */
function faultTerm(value, rows) {
  if (value === "any") return textFilter(rows, ["fault"], () => true);
  return labelTerm(["fault"])(value, rows);
}

/**
 * @param {string} path
 * @param {string} wanted a string as it is, anything else as JSON
 * @param {boolean} isPattern whether `*` stands for any characters
 * @param {FilterRows} rows
 */
export function pathFilter(path, wanted, isPattern, rows) {
  const isMessage = textFilter(rows, ["kind"], (text) => MESSAGE_KINDS.includes(text));
  const keys = path.split(".");
  return allOf([isMessage, rows.ask({ kind: "path", keys, wanted, isPattern })]);
}

/**
 * Makes the judge of a value, by the key; throws `BadValue`.
 * @type {Map<string, (value: string, rows: FilterRows) => Judge>}
 */
export const TERMS = new Map([
  ["dir", directionTerm],
  ["method", labelTerm(["method"], ["*/", "*_"])],
  ["session", labelTerm(["session", "answer_session"])],
  ["kind", kindTerm],
  ["id", idTerm],
  ["seq", numberTerm("seq", ONES, "number: expected 7, >7 or 7..9")],
  ["size", numberTerm("size", SIZES, "size: expected >10k or 1k..2M")],
  ["latency", numberTerm("latency_ns", TIMES, "time: expected 2s.. or 10ms..1s")],
  ["turn", turnTerm],
  ["call", labelTerm(["tool_call"])],
  ["status", statusTerm],
  ["is", isTerm],
  ["terminal", labelTerm(["terminal", "answer_terminal"])],
  ["text", containsFilter],
  ["fault", faultTerm],
]);

// Parses the filter grammar, and points at the column of a mistake. Each term of a filter becomes a
// function that judges a row by its columns. The answer is one of the numbers NO, PERHAPS (the line
// has to be read) and YES, in this order. So "and" is the smallest of several answers, "or" is the
// largest, and "not" is YES minus the answer.
import { asciiJson, patternTest } from "./json.js";
import { parsedText } from "../data/values.js";
import { visibleText } from "../shell/dom.js";

export const NO = 0;
export const PERHAPS = 1;
export const YES = 2;

/**
 * @typedef {import("./rows.js").FilterRows} FilterRows
 * @typedef {(row: number) => number} Judge NO, PERHAPS or YES
 * @typedef {(value: string, rows: FilterRows) => Judge} Term
 */

/** A term of a filter has a value that it does not accept. */
export class BadValue extends Error {}

/**
 * Combines several judges into one.
 * @type {(parts: Judge[], last: number, better: (a: number, b: number) => number) => Judge}
 */
const joinedJudges = (parts, last, better) => parts.reduce((first, second) => (row) => {
  const answer = first(row);
  return answer === last ? last : better(answer, second(row));
});

/** @param {Judge[]} parts @returns {Judge} */
export const allOf = (parts) => parts.length > 0 ? joinedJudges(parts, NO, Math.min) : () => YES;

/** @param {Judge[]} parts @returns {Judge} */
export const anyOf = (parts) => joinedJudges(parts, YES, Math.max);

/** @param {Judge} judge @returns {Judge} */
export const noneOf = (judge) => (row) => YES - judge(row);

/**
 * @param {FilterRows} rows
 * @param {string[]} names of columns; at least one text in these columns has to fit
 * @param {(text: string) => boolean} fits
 */
function textFilter(rows, names, fits) {
  const answers = Uint8Array.from([NO, ...rows.texts.map((text) => fits(text) ? YES : NO)]);
  const columns = names.map((name) => rows.codes(name));
  return anyOf(columns.map((codes) => (row) => answers[codes.at(row)]));
}

/** @param {FilterRows} rows @param {string} column @param {string[]} any the accepted texts */
const wordFilter = (rows, column, any) => textFilter(rows, [column], (text) => any.includes(text));

/**
 * @param {FilterRows} rows @param {string} column @param {(value: number) => boolean} fits
 * @returns {Judge}
 */
function numberFilter(rows, column, fits) {
  const numbers = rows.numbers(column);
  return (row) => fits(numbers.at(row)) ? YES : NO;
}

export const DIRECTIONS = ["to-agent", "to-client"];
const MESSAGE_KINDS = ["request", "response", "error", "notification", "batch"];
const KINDS_WITH_ID = ["request", "response", "error", "batch", "invalid"];
export const KINDS = [...MESSAGE_KINDS, "invalid", "blank", "stderr", "event"];
export const OWN_STATES = ["unanswered", "failed"];
const STATES = [...OWN_STATES, ...KINDS];
export const STATUSES =
  ["pending", "awaiting_permission", "in_progress", "completed", "failed", "cancelled"];
const SIZES = { "": 1, b: 1, k: 1e3, kb: 1e3, m: 1e6, mb: 1e6, g: 1e9, gb: 1e9 };
const TIMES = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, "": 1e9, s: 1e9, m: 60e9, min: 60e9, h: 3600e9 };
export const SPACE =
  "[\\t-\\r\\x1c- \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const BOUND = new RegExp(`^(<=|>=|<|>|=)?${SPACE}*([0-9]*\\.?[0-9]+)${SPACE}*([a-zA-Zµ]*)$`);

/** @param {string} text */
export const quoted = (text) => `'${visibleText(text)}'`;

/** A value without its quotes, if it has any. @param {string} value */
export const unquoted = (value) =>
  /^".*"$/s.test(value) ? String(parsedText(value) ?? value.slice(1, -1)) : value;

/** A string as columns have it: an unpaired surrogate becomes an escape. @param {string} text */
const storable = (text) =>
  text.replace(/[\ud800-\udfff]/gu, (half) => `\\u${half.charCodeAt(0).toString(16)}`);

/** @param {string} value @param {string[]} words @param {string} what */
function chosenWords(value, words, what) {
  const chosen = [...new Set(value.split("|"))];
  const wrong = chosen.find((word) => !words.includes(word));
  if (wrong === undefined) return chosen;
  throw new BadValue(`${quoted(wrong)} is not a ${what}: expected ${words.join(", ")}`);
}

/** @type {Term} */
function kindTerm(value, rows) {
  const update = value.split("|").find((word) => /^(?=.*_)[\p{XIDS}_]\p{XIDC}*$/u.test(word));
  if (update) {
    const place = `params.update.sessionUpdate=${update}`;
    throw new BadValue(`${quoted(update)} is not a kind of frame; for an update use ${place}`);
  }
  const chosen = chosenWords(value, KINDS, "kind");
  const isEvent = wordFilter(rows, "stream", ["event"]);
  const kinds = [allOf([wordFilter(rows, "kind", chosen), noneOf(isEvent)])];
  if (chosen.includes("event")) kinds.push(isEvent);
  if (chosen.includes("batch")) kinds.push((row) => row < rows.rows ? NO : YES);
  return anyOf(kinds);
}

/**
 * A term that accepts texts which equal the value, begin with it, or match it as a pattern.
 * @param {string[]} columns
 * @param {string[]} [wordsAfter] patterns of texts that may precede the value
 * @returns {Term}
 */
const labelTerm = (columns, wordsAfter = []) => (value, rows) => {
  const wanted = storable(unquoted(value));
  if (/[*?[]/.test(wanted)) return textFilter(rows, columns, patternTest(wanted));
  const isWhole = wanted !== storable(value) || rows.hasLabel(wanted);
  if (isWhole) return textFilter(rows, columns, (text) => text === wanted);
  const tests = ["", ...wordsAfter].map((before) => patternTest(`${before}${wanted}*`));
  return textFilter(rows, columns, (text) => tests.some((test) => test(text)));
};

/** @type {Term} */
function idTerm(value, rows) {
  const token = storable(value);
  const ids = token.startsWith('"') ? [token] : [token, asciiJson(value), JSON.stringify(value)];
  return allOf([wordFilter(rows, "kind", KINDS_WITH_ID), rows.ask({ kind: "id", ids })]);
}

/**
 * A term that accepts numbers: one number, a bound such as `>10k`, or a range such as `10..20`.
 * @param {string} column @param {Record<string, number>} units @param {string} what
 * @returns {Term}
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
    if (high !== undefined) {
      const [least, most] = [low ? read(low).bound : -Infinity, high ? read(high).bound : Infinity];
      return numberFilter(rows, column, (found) => found >= least && found <= most);
    }
    const { operator, bound } = read(value);
    return numberFilter(rows, column, (n) => operator.includes("<=>"[Math.sign(n - bound) + 1]));
  };
}

const numberedTurn = numberTerm("turn", { "": 1 }, "number of a turn: expected 1, 1..3 or last");

/** @type {Term} */
export function stateFilter(word, rows) {
  if (word === "failed") return anyOf([kindTerm("error", rows), statusTerm("failed", rows)]);
  if (word !== "unanswered") return kindTerm(word, rows);
  return allOf([kindTerm("request", rows), numberFilter(rows, "response_seq", Number.isNaN)]);
}

/** @type {Term} */
function statusTerm(value, rows) {
  const chosen = chosenWords(value, STATUSES, "status of a tool call");
  const isCall = textFilter(rows, ["tool_call"], () => true);
  const path = "params.update.status";
  return allOf([isCall, anyOf(chosen.map((word) => pathFilter(path, word, false, rows)))]);
}

/** @type {Term} */
export const containsFilter = (value, rows) => rows.ask({ kind: "text", wanted: unquoted(value) });

/**
 * @param {string} path
 * @param {string} wanted a string as it is, anything else as JSON
 * @param {boolean} isPattern whether `*` stands for any characters
 * @param {FilterRows} rows
 */
export function pathFilter(path, wanted, isPattern, rows) {
  const isMessage = wordFilter(rows, "kind", MESSAGE_KINDS);
  return allOf([isMessage, rows.ask({ kind: "path", keys: path.split("."), wanted, isPattern })]);
}

/**
 * For each key of a filter, the function that turns a value into a judge of rows.
 * @type {Map<string, Term>}
 */
export const TERMS = new Map(/** @type {[string, Term][]} */ ([
  ["dir", (value, rows) => wordFilter(rows, "stream", chosenWords(value, DIRECTIONS, "direction"))],
  ["method", labelTerm(["method"], ["*/", "*_"])],
  ["session", labelTerm(["session", "answer_session"])], ["kind", kindTerm],
  ["id", idTerm],
  ["seq", numberTerm("seq", { "": 1 }, "number: expected 7, >7 or 7..9")],
  ["size", numberTerm("size", SIZES, "size: expected >10k or 1k..2M")],
  ["latency", numberTerm("latency_ns", TIMES, "time: expected 2s.. or 10ms..1s")],
  ["turn", (value, rows) => numberedTurn(value === "last" ? String(rows.lastTurn) : value, rows)],
  ["call", labelTerm(["tool_call"])], ["status", statusTerm],
  ["is", (value, rows) =>
    anyOf(chosenWords(value, STATES, "state").map((word) => stateFilter(word, rows)))],
  ["terminal", labelTerm(["terminal", "answer_terminal"])], ["text", containsFilter],
  ["fault", (value, rows) =>
    value === "any" ? textFilter(rows, ["fault"], () => true) : labelTerm(["fault"])(value, rows)],
]));

/** @typedef {(place: number, problem: string) => BadFilter} Wrong */

const DEEPEST = 100;
const NO_SPACE = SPACE.replace("[", "[^");
const WORD = `(?:"(?:[^"\\\\]|\\\\[^\\n])*"|${NO_SPACE.replace("]", '()"]')})+`;
const TOKEN = new RegExp(`${SPACE}*(?:([()])|(${WORD}))`, "yu");
const PLACES = `(?:params|result|error)(?:\\.${NO_SPACE.replace("]", "=.]")}+)*`;
const PATH = new RegExp(`^(${PLACES})=(.*)$`, "su");
/** The text is not a filter. */
export class BadFilter extends Error {}

/**
 * Parses a filter; an empty text matches everything.
 * @param {string} text @param {import("./rows.js").FilterRows} rows @returns {Judge}
 */
export function parseFilter(text, rows) {
  /** @type {Wrong} */
  const wrong = (place, problem) => {
    const column = Array.from(text.slice(0, place)).length + 1;
    return new BadFilter(`bad filter at column ${column}: ${problem}`);
  };
  const tokens = tokensOf(text, wrong);
  let [next, depth] = [0, 0];
  const peek = () => tokens[next]?.token ?? "";

  const either = () => {
    const parts = [both()];
    for (; peek() === "or"; parts.push(both())) next++;
    return anyOf(parts);
  };
  const both = () => {
    const parts = [one()];
    for (; !["", "or", ")"].includes(peek()); parts.push(one())) if (peek() === "and") next++;
    return allOf(parts);
  };
  /** @returns {Judge} */
  const one = () => {
    if (next >= tokens.length) throw wrong(text.length, "expected a term here");
    const { token, place } = tokens[next++];
    const isTerm = ![")", "or", "and"].includes(token);
    if (!isTerm) throw wrong(place, `expected a term, got ${quoted(token)}`);
    if (token !== "not" && token !== "(") return termOf(token, place, rows, wrong);
    if (++depth > DEEPEST) throw wrong(place, `nested more deeply than ${DEEPEST} levels`);
    const inner = token === "not" ? noneOf(one()) : either();
    const isClosed = token === "not" || tokens[next++]?.token === ")";
    if (!isClosed) throw wrong(place, "a parenthesis that is never closed");
    depth--;
    return inner;
  };

  const parsed = tokens.length ? either() : allOf([]);
  if (next < tokens.length) throw wrong(tokens[next].place, "a parenthesis that was never opened");
  return parsed;
}

/**
 * @param {string} token @param {number} place @param {import("./rows.js").FilterRows} rows
 * @param {Wrong} wrong
 */
function termOf(token, place, rows, wrong) {
  const [, path, value] = PATH.exec(token) ?? [];
  if (path !== undefined) {
    const wanted = unquoted(value);
    return pathFilter(path, wanted, wanted.includes("*") && wanted === value, rows);
  }
  const match = /^([A-Za-z_-]+):(.*)$/s.exec(token);
  if (!match) {
    if (OWN_STATES.includes(token)) return stateFilter(token, rows);
    if (!token.includes("=") || token[0] === '"') return containsFilter(token, rows);
    throw wrong(place, `expected params.path=value, got ${quoted(token)}`);
  }
  const [, key, text] = match;
  const parse = TERMS.get(key);
  const keys = [...TERMS.keys()].join(", ");
  if (!parse) throw wrong(place, `unknown key ${quoted(key)}: expected ${keys}`);
  const at = place + key.length + 1;
  if (!text) throw wrong(at, `expected a value after ${key}:`);
  try {
    return parse(text, rows);
  } catch (error) {
    throw error instanceof BadValue ? wrong(at, error.message) : error;
  }
}

/** @param {string} text @param {Wrong} wrong */
export function tokensOf(text, wrong) {
  const tokens = [];
  const end = text.replace(new RegExp(`${SPACE}+$`, "u"), "").length;
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < end; ) {
    const place = TOKEN.lastIndex;
    const [, bracket, token = bracket] = TOKEN.exec(text) ?? [];
    if (token === undefined) throw wrong(place, "a quote that is never closed");
    tokens.push({ token, place: TOKEN.lastIndex - token.length });
  }
  return tokens;
}

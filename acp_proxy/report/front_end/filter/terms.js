// What each term of a filter means: an answer for many rows at once, of their columns alone.
// Answers are NO, PERHAPS (the lines have to be read) or YES, so that "and" is the least of several
// answers, "or" the greatest, and "not" is YES less the answer. What has to be read is a `Question`.
import { jsonString } from "./json.js";
import { patternTest } from "./patterns.js";
import { nearestWord, quoted } from "./words.js";

export const NO = 0;
export const PERHAPS = 1;
export const YES = 2;

/**
 * @typedef {{kind: "text", wanted: string}
 *   | {kind: "path", keys: string[], wanted: string, isPattern: boolean}
 *   | {kind: "id", ids: string[]}} Question something that no column holds
 * @typedef {object} Rows rows that follow each other, or the messages of a batch
 * @property {number} count
 * @property {(column: string, test: (text: string) => boolean, cache: TestedTexts) => Uint8Array} texts NO also for null
 * @property {(column: string) => ArrayLike<number>} numbers null is NaN
 * @property {boolean} areMembers
 * @property {(question: Question) => Uint8Array} answers
 * @typedef {WeakMap<object, Uint8Array>} TestedTexts the answers for all texts of a recording
 * @typedef {object} Filter a parsed filter, or a part of one
 * @property {boolean} isExact whether columns are enough
 * @property {Question[]} questions
 * @property {(rows: Rows) => Uint8Array} candidates YES for all rows that can match, and more
 * @property {(rows: Rows) => Uint8Array} matches
 * @typedef {object} Known what is known of the recording
 * @property {(text: string) => boolean} hasLabel whether a method, a session, a tool call or a terminal is called so
 * @property {number | null} lastTurn
 */

/** A term does not accept a value. */
export class BadValue extends Error {
  /**
   * @param {string} problem
   * @param {string} [nearest]
   */
  constructor(problem, nearest = "") {
    super(problem);
    this.nearest = nearest;
  }
}

/** @param {Filter[]} parts */
export const allOf = (parts) => combined(parts, YES, (a, b) => (a < b ? a : b));
/** @param {Filter[]} parts */
export const anyOf = (parts) => combined(parts, NO, (a, b) => (a > b ? a : b));

/**
 * @param {Filter[]} parts
 * @param {number} none
 * @param {(a: number, b: number) => number} join
 * @returns {Filter}
 */
function combined(parts, none, join) {
  if (parts.length === 1) return parts[0];
  const joined = (/** @type {"candidates" | "matches"} */ name) => (/** @type {Rows} */ rows) => {
    const found = new Uint8Array(rows.count).fill(none);
    for (const part of parts) {
      const answers = part[name](rows);
      for (let n = 0; n < found.length; n++) found[n] = join(found[n], answers[n]);
    }
    return found;
  };
  return {
    isExact: parts.every((part) => part.isExact),
    questions: parts.flatMap((part) => part.questions),
    candidates: joined("candidates"),
    matches: joined("matches"),
  };
}

/**
 * @param {Filter} part
 * @returns {Filter}
 */
export function noneOf(part) {
  const matches = (/** @type {Rows} */ rows) => part.matches(rows).map((answer) => YES - answer);
  return { ...part, matches, candidates: part.isExact ? matches : everyRow };
}

const everyRow = (/** @type {Rows} */ rows) => new Uint8Array(rows.count).fill(YES);

/** @param {(rows: Rows) => Uint8Array} matches @returns {Filter} */
const exactly = (matches) => ({ isExact: true, questions: [], candidates: matches, matches });

/**
 * @param {Question} question
 * @param {(rows: Rows) => Uint8Array} candidates
 * @returns {Filter}
 */
const asked = (question, candidates) => ({
  isExact: false,
  questions: [question],
  candidates,
  matches: (rows) => rows.answers(question),
});

/**
 * @param {string[]} columns one of which has to fit
 * @param {(text: string) => boolean} fits
 */
function textFilter(columns, fits) {
  /** @type {TestedTexts} */
  const tested = new WeakMap();
  return anyOf(columns.map((column) => exactly((rows) => rows.texts(column, fits, tested))));
}

/**
 * @param {string} column
 * @param {(value: number) => boolean} fits
 */
function numberFilter(column, fits) {
  return exactly((rows) => {
    const [numbers, found] = [rows.numbers(column), new Uint8Array(rows.count)];
    for (let n = 0; n < found.length; n++) found[n] = fits(numbers[n]) ? YES : NO;
    return found;
  });
}

const DIRECTIONS = ["to-agent", "to-client"];
const MESSAGE_KINDS = ["request", "response", "error", "notification", "batch"];
const KINDS_WITH_ID = ["request", "response", "error", "batch", "invalid"];
const KINDS = ["request", "response", "error", "notification", "batch", "invalid", "blank", "stderr", "event"];
export const OWN_STATES = ["unanswered", "failed"];
const STATUSES = ["pending", "awaiting_permission", "in_progress", "completed", "failed", "cancelled"];
const LAST_TURN = "last";
const ANY_FAULT = "any";
const STATES = [...OWN_STATES, ...KINDS];
const SIZES = new Map(Object.entries({ "": 1, b: 1, k: 1e3, kb: 1e3, m: 1e6, mb: 1e6, g: 1e9, gb: 1e9 }));
const TIMES = new Map(Object.entries({ ns: 1, us: 1e3, ms: 1e6, "": 1e9, s: 1e9, m: 60e9, min: 60e9, h: 3600e9 }));
const ONES = new Map([["", 1]]);
const SPACES_BETWEEN = "[\\t-\\r\\x1c- \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]*";
const BOUND = new RegExp(`^(<=|>=|<|>|=)?${SPACES_BETWEEN}([0-9]*\\.?[0-9]+)${SPACES_BETWEEN}([a-zA-Z]*)$`);
const ANSWERED = new Map([["session", "answer_session"], ["terminal", "answer_terminal"]]);

/**
 * A value without its quotes, if it has any.
 * @param {string} value
 */
export function unquoted(value) {
  if (value.length < 2 || !value.startsWith('"') || !value.endsWith('"')) return value;
  try {
    return String(JSON.parse(value));
  } catch {
    return value.slice(1, -1);
  }
}

/**
 * A string as it can be stored: half of a surrogate pair becomes its escape.
 * @param {string} text
 */
const storable = (text) => text.replace(/[\ud800-\udfff]/gu, (half) => `\\u${half.charCodeAt(0).toString(16)}`);

/**
 * @param {string} value
 * @param {string[]} words
 * @param {string} what
 */
function chosenWords(value, words, what) {
  const chosen = [...new Set(value.split("|"))];
  for (const word of chosen) {
    if (!words.includes(word)) {
      throw new BadValue(`${quoted(word)} is no ${what}: expected ${words.join(", ")}`, nearestWord(word, words));
    }
  }
  return chosen;
}

/** @param {string} value */
function directionTerm(value) {
  const chosen = chosenWords(value, DIRECTIONS, "direction");
  return textFilter(["stream"], (text) => chosen.includes(text));
}

/** @param {string} value */
function kindTerm(value) {
  const update = value.split("|").find((word) => word.includes("_") && /^[\p{XIDS}_]\p{XIDC}*$/u.test(word));
  if (update) {
    throw new BadValue(
      `${quoted(update)} is no kind of a frame; of an update it is params.update.sessionUpdate=${update}`,
    );
  }
  const chosen = chosenWords(value, KINDS, "kind");
  const ofFrames = allOf([noneOf(IS_EVENT), textFilter(["kind"], (text) => chosen.includes(text))]);
  const others = [];
  if (chosen.includes("event")) others.push(IS_EVENT);
  if (chosen.includes("batch")) others.push(exactly((rows) => (rows.areMembers ? everyRow(rows) : new Uint8Array(rows.count))));
  return anyOf([ofFrames, ...others]);
}

const IS_EVENT = textFilter(["stream"], (text) => text === "event");

/**
 * A term for texts that are equal, begin with the value, or match a pattern.
 * @param {string} column
 * @param {string[]} [wordsAfter] patterns of what may precede the beginning
 * @returns {(value: string, known: Known) => Filter}
 */
function labelTerm(column, wordsAfter = []) {
  const answered = ANSWERED.get(column);
  const columns = answered ? [column, answered] : [column];
  return (value, known) => {
    const wanted = storable(unquoted(value));
    if (/[*?[]/.test(wanted)) return textFilter(columns, patternTest(wanted));
    if (wanted !== storable(value) || known.hasLabel(wanted)) return textFilter(columns, (text) => text === wanted);
    const tests = ["", ...wordsAfter].map((before) => patternTest(`${before}${wanted}*`));
    return textFilter(columns, (text) => tests.some((test) => test(text)));
  };
}

/** @param {string} value */
function idTerm(value) {
  const token = storable(value);
  const written = [token, jsonString(value, /[^ -~]/g), storable(jsonString(value))];
  const ids = token.startsWith('"') ? [token] : written;
  const mayHaveId = textFilter(["kind"], (text) => KINDS_WITH_ID.includes(text));
  return allOf([mayHaveId, asked({ kind: "id", ids }, everyRow)]);
}

/**
 * A number, a bound such as `>10k`, or a range such as `10..20`.
 * @param {string} column
 * @param {Map<string, number>} units
 * @param {string} what
 * @returns {(value: string) => Filter}
 */
function numberTerm(column, units, what) {
  /** @param {string} text @returns {[string, number]} */
  const read = (text) => {
    const match = BOUND.exec(text);
    const unit = match && units.get(match[3].toLowerCase());
    if (!match || unit === undefined || unit === null) throw new BadValue(`${quoted(text)} is no ${what}`);
    return [match[1] ?? "=", Number(match[2]) * unit];
  };
  return (value) => {
    const dots = value.indexOf("..");
    if (dots >= 0) {
      const [low, high] = [value.slice(0, dots), value.slice(dots + 2)];
      const least = low ? read(low)[1] : -Infinity;
      const most = high ? read(high)[1] : Infinity;
      return numberFilter(column, (found) => found >= least && found <= most);
    }
    const [operator, bound] = read(value);
    const fits = COMPARED.get(operator);
    return numberFilter(column, (found) => fits?.(found, bound) ?? false);
  };
}

/** @type {Map<string, (found: number, bound: number) => boolean>} */
const COMPARED = new Map([
  ["=", (found, bound) => found === bound],
  ["<", (found, bound) => found < bound],
  [">", (found, bound) => found > bound],
  ["<=", (found, bound) => found <= bound],
  [">=", (found, bound) => found >= bound],
]);

const numberedTurn = numberTerm("turn", ONES, "number of a turn: expected 1, 1..3 or last");

/** @param {string} value @param {Known} known */
function turnTerm(value, known) {
  if (value !== LAST_TURN) return numberedTurn(value);
  if (known.lastTurn === null) throw new BadValue("the last turn is that of one recording; expected a number");
  return numberedTurn(String(known.lastTurn));
}

/** @param {string} word */
export function stateFilter(word) {
  if (word === "failed") return anyOf([kindTerm("error"), statusTerm("failed")]);
  if (word !== "unanswered") return kindTerm(word);
  const isAnswered = numberFilter("response_seq", (value) => !Number.isNaN(value));
  return allOf([kindTerm("request"), noneOf(isAnswered)]);
}

/** @param {string} value */
function statusTerm(value) {
  const chosen = chosenWords(value, STATUSES, "status of a tool call");
  const ofCall = textFilter(["tool_call"], () => true);
  return allOf([ofCall, anyOf(chosen.map((word) => pathFilter("params.update.status", word, false)))]);
}

/** @param {string} value */
export const containsFilter = (value) => asked({ kind: "text", wanted: unquoted(value) }, everyRow);

/** @param {string} value @param {Known} known */
const faultTerm = (value, known) =>
  value === ANY_FAULT ? textFilter(["fault"], () => true) : labelTerm("fault")(value, known);

/**
 * @param {string} path
 * @param {string} wanted a string as it is, anything else as JSON
 * @param {boolean} isPattern whether `*` stands for any characters
 */
export function pathFilter(path, wanted, isPattern) {
  const isMessage = textFilter(["kind"], (text) => MESSAGE_KINDS.includes(text));
  return asked({ kind: "path", keys: path.split("."), wanted, isPattern }, isMessage.matches);
}

/**
 * Makes a filter of a value, by the key; throws `BadValue`.
 * @type {Map<string, (value: string, known: Known) => Filter>}
 */
export const TERMS = new Map([
  ["dir", directionTerm],
  ["method", labelTerm("method", ["*/", "*_"])],
  ["session", labelTerm("session")],
  ["kind", kindTerm],
  ["id", idTerm],
  ["seq", numberTerm("seq", ONES, "number: expected 7, >7 or 7..9")],
  ["size", numberTerm("size", SIZES, "size: expected >10k or 1k..2M")],
  ["latency", numberTerm("latency_ns", TIMES, "time: expected 2s.. or 10ms..1s")],
  ["turn", turnTerm],
  ["call", labelTerm("tool_call")],
  ["status", statusTerm],
  ["is", (value) => anyOf(chosenWords(value, STATES, "state").map(stateFilter))],
  ["terminal", labelTerm("terminal")],
  ["text", containsFilter],
  ["fault", faultTerm],
]);

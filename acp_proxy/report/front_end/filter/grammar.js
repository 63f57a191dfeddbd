// Parses the filter grammar, and points at the column of a mistake.
import { OWN_STATES, TERMS, BadValue, allOf, anyOf, containsFilter, noneOf, pathFilter, stateFilter, unquoted } from "./terms.js";
import { nearestWord, quoted } from "./words.js";

/** @typedef {import("./terms.js").Filter} Filter */
/** @typedef {import("./terms.js").Known} Known */

const DEEPEST = 100;
const SPACE = "[\\t-\\r\\x1c- \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const NO_SPACE = SPACE.replace("[", "[^");
const TOKEN = new RegExp(`${SPACE}*(?:([()])|((?:"(?:[^"\\\\]|\\\\[^\\n])*"|${NO_SPACE.replace("]", '()"]')})+))`, "yu");
const TERM = /^([A-Za-z_-]+):(.*)$/s;
const PATH = new RegExp(`^((?:params|result|error)(?:\\.${NO_SPACE.replace("]", "=.]")}+)*)=(.*)$`, "su");
const TRAILING = new RegExp(`${SPACE}+$`, "u");
const SYNONYMS = new Map(
  Object.entries({
    duration: "latency", time: "latency", took: "latency", type: "kind", state: "is", direction: "dir", stream: "dir",
    tool: "call", tool_call: "call", name: "method", length: "size", number: "seq", contains: "text",
  }),
);

/** The text is not a filter. */
export class BadFilter extends Error {}

/**
 * Parses a filter; an empty one matches everything.
 * @param {string} text
 * @param {Known} known
 * @returns {Filter}
 */
export function parseFilter(text, known) {
  /** @param {number} place @param {string} problem @param {string} [near] */
  const wrong = (place, problem, near = "") => {
    const column = Array.from(text.slice(0, place)).length + 1;
    return new BadFilter(`bad filter at column ${column}: ${problem}${near ? `; did you mean ${near}?` : ""}`);
  };
  const tokens = tokensOf(text, wrong);
  let next = 0;
  let depth = 0;
  const peek = () => tokens[next]?.token ?? "";

  const either = () => {
    const parts = [both()];
    while (peek() === "or") {
      next++;
      parts.push(both());
    }
    return anyOf(parts);
  };
  const both = () => {
    const parts = [one()];
    while (!["", "or", ")"].includes(peek())) {
      if (peek() === "and") next++;
      parts.push(one());
    }
    return allOf(parts);
  };
  /** @returns {Filter} */
  const one = () => {
    if (next >= tokens.length) throw wrong(text.length, "expected a term here");
    const { token, place } = tokens[next++];
    if (token === "not" || token === "(") {
      depth++;
      if (depth > DEEPEST) throw wrong(place, `nested more deeply than ${DEEPEST} levels`);
      const inner = token === "not" ? noneOf(one()) : within(place);
      depth--;
      return inner;
    }
    if ([")", "or", "and"].includes(token)) throw wrong(place, `expected a term, got ${quoted(token)}`);
    return term(token, place);
  };
  /** @param {number} place */
  const within = (place) => {
    const inner = either();
    if (peek() !== ")") throw wrong(place, "a parenthesis that is never closed");
    next++;
    return inner;
  };
  /** @param {string} token @param {number} place @returns {Filter} */
  const term = (token, place) => {
    const path = PATH.exec(token);
    if (path) {
      const wanted = unquoted(path[2]);
      return pathFilter(path[1], wanted, wanted.includes("*") && wanted === path[2]);
    }
    const match = TERM.exec(token);
    if (!match) {
      if (token.includes("=") && token[0] !== '"') {
        throw wrong(place, `expected params.path=value, got ${quoted(token)}`);
      }
      return OWN_STATES.includes(token) ? stateFilter(token) : containsFilter(token);
    }
    const [, key, value] = match;
    const parse = TERMS.get(key);
    if (!parse) {
      const keys = [...TERMS.keys()];
      const near = SYNONYMS.get(key) ?? nearestWord(key, keys);
      throw wrong(place, `unknown key ${quoted(key)}${near ? "" : `: expected ${keys.join(", ")}`}`, near);
    }
    const at = place + key.length + 1;
    if (!value) throw wrong(at, `expected a value after ${key}:`);
    try {
      return parse(value, known);
    } catch (error) {
      if (error instanceof BadValue) throw wrong(at, error.message, error.nearest);
      throw error;
    }
  };

  const parsed = tokens.length ? either() : allOf([]);
  if (next < tokens.length) throw wrong(tokens[next].place, "a parenthesis that was never opened");
  return parsed;
}

/**
 * @param {string} text
 * @param {(place: number, problem: string) => BadFilter} wrong
 */
function tokensOf(text, wrong) {
  const tokens = [];
  const end = text.replace(TRAILING, "").length;
  let place = 0;
  while (place < end) {
    TOKEN.lastIndex = place;
    const match = TOKEN.exec(text);
    if (!match) throw wrong(place, "a quote that is never closed");
    const token = match[1] ?? match[2];
    place = TOKEN.lastIndex;
    tokens.push({ token, place: place - token.length });
  }
  return tokens;
}

// Parses the filter grammar, and points at the column of a mistake.
import { BadValue, TERMS, allOf, anyOf, noneOf, quoted, unquoted } from "./terms.js";
import { OWN_STATES, SPACE, containsFilter, pathFilter, stateFilter } from "./terms.js";

/** @typedef {import("./terms.js").Judge} Judge */
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

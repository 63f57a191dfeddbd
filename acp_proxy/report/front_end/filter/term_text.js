// Writes terms of filters, adds them to a filter, and marks elements that stand for a term.
import { setAttribute, visibleText } from "../shell/dom.js";
import { DIRECTIONS, tokensOf } from "./grammar.js";
import { asciiJson } from "./json.js";

/** The columns with the values of some keys. @type {Map<string, string>} */
export const COLUMN_OF_KEY = new Map(Object.entries({ dir: "stream", kind: "kind",
  method: "method", session: "session", call: "tool_call", terminal: "terminal", fault: "fault" }));

/**
 * The term that matches only rows with a value, which is quoted if necessary.
 * @param {string} key of a term, or the path of a member @param {string} value
 */
export function termText(key, value) {
  const [sign, text] = key.includes(".") ? ["=", value] : [":", value.replace(/[*?[]/g, "[$&]")];
  if (/^[\w./:@+<>=-]+$/.test(text)) return key + sign + text;
  return key + sign + (visibleText(text) === text ? JSON.stringify(text) : asciiJson(text));
}

/**
 * The term that matches the rows with the value of a row in a column; empty if there is none.
 * @param {import("../data/recording.js").Recording} recording @param {number} row
 * @param {string} column
 */
export function columnTerm({ text }, row, column) {
  const stream = text("stream", row) ?? "";
  const isKind = column === "kind" || column === "stream";
  if (isKind && !DIRECTIONS.includes(stream)) return termText("kind", stream);
  const [key] = [...COLUMN_OF_KEY].find(([, name]) => name === column) ?? [];
  const value = key && text(column, row);
  return value ? termText(key, value) : "";
}

/**
 * The term that matches the rows with the update or the method of a row; empty if it has neither.
 * @param {import("../data/recording.js").Recording} recording @param {number} row
 */
export function verbTerm({ text }, row) {
  const [update, method] = [text("update", row), text("method", row)];
  if (update) return termText("params.update.sessionUpdate", update);
  return method ? termText("method", method) : "";
}

/**
 * Marks an element: if it is clicked while Alt is pressed, the term is added to the filter.
 * @template {Element} E @param {E} element @param {string | false | null | undefined} term
 * @returns {E}
 */
export function termed(element, term) {
  if (!term) return element;
  setAttribute(element, "data-term", term);
  if (!element.hasAttribute("title")) setAttribute(element, "title", `Alt-click filters: ${term}`);
  return element;
}

/** The tokens of a filter without mistakes. @param {string} filter */
const tokensIn = (filter) => tokensOf(filter, (_, problem) => new Error(problem))
  .map(({ token }) => token);

/**
 * The terms of a filter without mistakes. A filter with `or`, `not` or parentheses is one term.
 * @param {string} filter
 */
export function termsIn(filter) {
  const tokens = tokensIn(filter);
  const isPlain = !tokens.some((token) => ["or", "not", "(", ")"].includes(token));
  return isPlain ? tokens.filter((token) => token !== "and") : [filter.trim()];
}

/** A filter that also demands another term. @param {string} filter @param {string} term */
export function withTerm(filter, term) {
  const tokens = tokensIn(filter);
  if (tokens.includes(term) && termsIn(filter).includes(term)) return filter;
  return `${tokens.includes("or") ? `(${filter.trim()})` : filter} ${term}`.trim();
}

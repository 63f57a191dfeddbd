// Reads and writes JSON as Python does: a number keeps its digits.
import { isObject } from "../data/values.js";

/** A number as Python writes it. */
class NumberText {
  #text;

  /** @param {string} text */
  constructor(text) {
    this.#text = text;
  }

  toString() {
    return this.#text;
  }
}

/** @param {string} line @returns {any} its values, the numbers as Python writes them */
export function parseExactly(line) {
  const exact = (/** @type {string} */ _, /** @type {any} */ value, /** @type {any} */ context) =>
    typeof value === "number" ? new NumberText(numberText(value, context?.source ?? "")) : value;
  return JSON.parse(line, /** @type {any} */ (exact));
}

/** @param {any} value of `parseExactly` @returns {string} what Python's `json.dumps` writes */
export function jsonText(value) {
  if (typeof value === "string") return asciiJson(value);
  if (Array.isArray(value)) return `[${value.map(jsonText).join(", ")}]`;
  if (!isObject(value) || value instanceof NumberText) return String(value);
  const members = Object.entries(value).map(([name, one]) => `${asciiJson(name)}: ${jsonText(one)}`);
  return `{${members.join(", ")}}`;
}

/** @param {string} text @returns {string} its JSON, with escapes for all but ASCII */
export function asciiJson(text) {
  const escaped = (/** @type {string} */ unit) =>
    `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(text).replace(/[^ -~]/g, escaped);
}

/** @param {number} value @param {string} source its digits in the line */
function numberText(value, source) {
  if (/^-?\d+$/.test(source)) return source === "-0" ? "0" : source;
  if (!Number.isFinite(value)) return value < 0 ? "-Infinity" : "Infinity";
  const size = Math.abs(value);
  if (size >= 1e16 || (size > 0 && size < 1e-4)) {
    return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
  }
  const text = Object.is(value, -0) ? "-0" : String(value);
  return text.includes(".") ? text : `${text}.0`;
}

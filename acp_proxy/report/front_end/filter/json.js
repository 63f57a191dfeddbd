// Writes JSON as Python does: a number keeps its digits.
import { RawValue } from "../data/values.js";

/** @param {any} value of `parsedRaw` @returns {string} what Python's `json.dumps` writes */
export function jsonText(value) {
  if (Array.isArray(value)) return `[${value.map(jsonText).join(", ")}]`;
  if (value instanceof RawValue) return rewritten(String(value));
  const members = Object.keys(value).map((name) => `${asciiJson(name)}: ${jsonText(value[name])}`);
  return `{${members.join(", ")}}`;
}

/** @param {string} text @returns {string} its JSON, with escapes for all but ASCII */
export const asciiJson = (text) => JSON.stringify(text).replace(/[^ -~]/g, (unit) =>
  `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** @param {string} raw a value as it is in a line */
function rewritten(raw) {
  if (/^(-?[1-9]\d*|0|[tfn].*)$/.test(raw)) return raw;
  const value = JSON.parse(raw);
  if (typeof value === "string") return asciiJson(value);
  if (!/[.eE]/.test(raw)) return "0";
  if (!Number.isFinite(value)) return value < 0 ? "-Infinity" : "Infinity";
  const size = Math.abs(value);
  const isOdd = size >= 1e16 || (size > 0 && size < 1e-4);
  if (isOdd) return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
  const text = Object.is(value, -0) ? "-0" : String(value);
  return text.includes(".") ? text : `${text}.0`;
}

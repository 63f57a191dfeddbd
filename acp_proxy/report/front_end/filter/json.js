// Does as Python does: writes JSON in which a number keeps its digits, and matches patterns with
// *, ? and [...] as fnmatchcase does.
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

const PART = /\*+|\?|\[(?=(?<set>!?\]?[^\]]*))\k<set>\]|[^]/gu;

/**
 * Compiles a pattern to a test of whole texts.
 * @param {string} pattern @returns {(text: string) => boolean}
 */
export function patternTest(pattern) {
  /** The regular expressions for the parts between the stars. */
  const sources = [""];
  for (const { 0: part, groups } of pattern.matchAll(PART)) {
    if (part[0] === "*") sources.push("");
    else sources[sources.length - 1] += sourceOf(part, groups?.set);
  }
  const [first, ...others] = sources;
  const end = others.length > 0 ? `.*${others.pop()}` : "";
  // Only the first place where a part matches needs to be tried. The groups prevent other attempts.
  const middle = others.map((source, n) => `(?=(?<part${n}>.*?${source}))\\k<part${n}>`);
  const compiled = new RegExp(`^${first}${middle.join("")}${end}$`, "su");
  return (text) => compiled.test(text);
}

/** @param {string} part @param {string | undefined} set what is in the brackets */
function sourceOf(part, set) {
  if (set === undefined) return part === "?" ? "." : part.replace(/[\\^$.*+?()[\]{}|/]/u, "\\$&");
  const isNegated = set.startsWith("!");
  // An empty range is ignored.
  const ranges = set.slice(isNegated ? 1 : 0).replace(/([^])-([^])|[^]/gu, (one, low, high) => {
    const [from, to = from] = low === undefined ? [one] : [low, high];
    if (Number(from.codePointAt(0)) > Number(to.codePointAt(0))) return "";
    return [...new Set([from, to])].map((end) => end.replace(/[\\^[\]-]/, "\\$&")).join("-");
  });
  return `[${isNegated ? "^" : ""}${ranges}]`;
}

// Reads JSON as Python does and writes it as Python does: a number keeps its digits.

const MOST_DIGITS = 4300;
const MOST_LEVELS = 990;
const SPACES = /[ \t\n\r]*/y;
const NUMBER = /(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][-+]?[0-9]+)?|-?Infinity|NaN/y;
const WORDS = new Map([["true", true], ["false", false], ["null", null]]);

/** A number as Python writes it. */
export class NumberText {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
  }
}

/** @typedef {null | boolean | string | NumberText | JsonValue[] | Map<string, JsonValue>} JsonValue */
/** @typedef {JsonValue[] | Map<string, JsonValue>} JsonParts */

/**
 * Parses a line; undefined if Python cannot. Of equal names in an object the last one counts.
 * @param {string} text
 * @returns {JsonValue | undefined}
 */
export function parseJson(text) {
  let at = text.startsWith("\ufeff") ? 1 : 0;
  /** @type {{parts: JsonParts, key: string}[]} */
  const open = [];
  /** @param {RegExp} pattern */
  const taken = (pattern) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    at += found ? found[0].length : 0;
    return found;
  };
  const string = () => {
    const start = at;
    do at = text.indexOf('"', at + 1);
    while (at > 0 && isEscaped(text, at));
    if (at < 0) return undefined;
    at++;
    try {
      return /** @type {string} */ (JSON.parse(text.slice(start, at)));
    } catch {
      return undefined;
    }
  };
  /** @param {string} mark */
  const has = (mark) => {
    taken(SPACES);
    if (text[at] !== mark) return false;
    at++;
    return true;
  };
  const name = () => {
    taken(SPACES);
    const found = text[at] === '"' ? string() : undefined;
    return found !== undefined && has(":") ? found : undefined;
  };
  for (;;) {
    taken(SPACES);
    /** @type {JsonValue | undefined} */
    let value;
    const start = at;
    if (text[at] === "[" || text[at] === "{") {
      const parts = text[at++] === "[" ? [] : new Map();
      if (has(Array.isArray(parts) ? "]" : "}")) value = parts;
      else {
        const key = Array.isArray(parts) ? "" : name();
        if (key === undefined || open.push({ parts, key }) > MOST_LEVELS) return undefined;
        continue;
      }
    } else if (text[at] === '"') {
      value = string();
    } else {
      const number = taken(NUMBER);
      const word = [...WORDS.keys()].find((one) => text.startsWith(one, start));
      if (number) value = numberOf(number);
      else if (word) {
        value = WORDS.get(word);
        at += word.length;
      }
    }
    if (value === undefined) return undefined;
    for (;;) {
      const last = open.at(-1);
      if (last === undefined) {
        taken(SPACES);
        return at === text.length ? value : undefined;
      }
      if (Array.isArray(last.parts)) last.parts.push(value);
      else last.parts.set(last.key, value);
      if (has(",")) {
        const key = Array.isArray(last.parts) ? "" : name();
        if (key === undefined) return undefined;
        last.key = key;
        break;
      }
      if (!has(Array.isArray(last.parts) ? "]" : "}")) return undefined;
      value = last.parts;
      open.pop();
    }
  }
}

/**
 * @param {string} text
 * @param {number} at
 */
function isEscaped(text, at) {
  let before = at;
  while (text[before - 1] === "\\") before--;
  return (at - before) % 2 === 1;
}

/** @param {RegExpExecArray} found */
function numberOf([text, digits, fraction, exponent]) {
  if (digits === undefined) return new NumberText(text);
  if (fraction === undefined && exponent === undefined) {
    if (digits.length > MOST_DIGITS + (digits[0] === "-" ? 1 : 0)) return undefined;
    return new NumberText(digits === "-0" ? "0" : digits);
  }
  return new NumberText(floatText(Number(text)));
}

/** @param {number} value */
function floatText(value) {
  if (!Number.isFinite(value)) return value < 0 ? "-Infinity" : "Infinity";
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  const [mantissa, power] = Math.abs(value).toExponential().split("e");
  const digits = mantissa.replace(".", "");
  const places = Number(power);
  if (places < -4 || places >= 16) {
    return `${sign}${mantissa}e${places < 0 ? "-" : "+"}${String(Math.abs(places)).padStart(2, "0")}`;
  }
  if (places < 0) return `${sign}0.${"0".repeat(-places - 1)}${digits}`;
  const whole = digits.slice(0, places + 1).padEnd(places + 1, "0");
  return `${sign}${whole}.${digits.slice(places + 1) || "0"}`;
}

/**
 * Writes a value as Python's `json.dumps` does.
 * @param {JsonValue} value
 * @returns {string}
 */
export function jsonText(value) {
  if (typeof value === "string") return jsonString(value, /[^ -~]/g);
  if (value instanceof NumberText) return value.text;
  if (Array.isArray(value)) return `[${value.map(jsonText).join(", ")}]`;
  if (value instanceof Map) {
    return `{${Array.from(value, ([key, one]) => `${jsonText(key)}: ${jsonText(one)}`).join(", ")}}`;
  }
  return String(value);
}

/**
 * Writes a string with escapes for what a pattern finds.
 * @param {string} text
 * @param {RegExp} [escaped]
 */
export function jsonString(text, escaped = /[\0-\x1f]/g) {
  const short = new Map([["\n", "n"], ["\r", "r"], ["\t", "t"], ["\f", "f"], ["\b", "b"]]);
  const escape = (/** @type {string} */ one) =>
    `\\${short.get(one) ?? `u${one.charCodeAt(0).toString(16).padStart(4, "0")}`}`;
  return `"${text.replace(/["\\]/g, "\\$&").replace(escaped, escape)}"`;
}

// Reads members of JSON of any shape, and writes texts, times and sizes for people, as the command line does.

/** @typedef {{[name: string]: unknown}} JsonObject */

const EMOJI = "\\u2600-\\u27bf\\u{1f000}-\\u{1faff}";
// Controls, invisible characters and odd blanks; the joiner within an emoji is none of them.
const UNSEEN = new RegExp(
  `(?<![${EMOJI}\\ufe0f])\\u200d|\\u200d(?![${EMOJI}])|(?![ \\n\\t\\u200d])[\\p{C}\\p{Z}]`, "gu");

/**
 * Whether a value is an object, and no array.
 * @param {unknown} value
 * @returns {value is JsonObject}
 */
export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * The object found by following names; an empty one if there is none.
 * @param {unknown} value
 * @param {...string} names
 * @returns {JsonObject}
 */
export function objectAt(value, ...names) {
  let found = value;
  for (const name of names) found = isObject(found) && Object.hasOwn(found, name) ? found[name] : null;
  return isObject(found) ? found : {};
}

/**
 * The objects in a member that is an array.
 * @param {JsonObject} value
 * @param {string} name
 * @returns {JsonObject[]}
 */
export function objectsAt(value, name) {
  const found = value[name];
  return Array.isArray(found) ? found.filter(isObject) : [];
}

/**
 * The first member that is a scalar, as text; empty if there is none.
 * @param {JsonObject} value
 * @param {...string} names
 * @returns {string}
 */
export function wordAt(value, ...names) {
  for (const name of names) {
    const found = value[name];
    if (typeof found === "string" && found !== "") return found;
    if (typeof found === "number" || typeof found === "boolean") return String(found);
  }
  return "";
}

/**
 * The kind of a session update and its members, in any dialect.
 * @param {unknown} message
 * @returns {{kind: string, update: JsonObject}}
 */
export function updateOf(message) {
  const params = objectAt(message, "params");
  const isDraft = !("update" in params);
  const update = isDraft ? objectAt(params, "data") : objectAt(params, "update");
  return {kind: wordAt(isDraft ? params : update, isDraft ? "type" : "sessionUpdate"), update};
}

/**
 * A message as values; null if the line is no JSON.
 * @param {Uint8Array} bytes
 * @returns {unknown}
 */
export function parsedLine(bytes) {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return null;
  }
}

/**
 * The bytes in a base64 text; null if it is none.
 * @param {unknown} text
 * @returns {Uint8Array|null}
 */
export function fromBase64(text) {
  try {
    return typeof text === "string" ? Uint8Array.from(atob(text), (one) => one.charCodeAt(0)) : null;
  } catch {
    return null;
  }
}

/**
 * The text in pieces; in odd ones, an invisible character is written as an escape.
 * @param {string} text
 * @returns {{text: string, odd: boolean}[]}
 */
export function visiblePieces(text) {
  const pieces = [];
  let done = 0;
  for (const match of text.matchAll(UNSEEN)) {
    if (match.index > done) pieces.push({text: text.slice(done, match.index), odd: false});
    done = match.index + match[0].length;
    const code = match[0].codePointAt(0) ?? 0;
    const digits = code.toString(16);
    const escape = code === 13 ? "\\r" : code < 0x100 ? `\\x${digits.padStart(2, "0")}`
      : code < 0x10000 ? `\\u${digits.padStart(4, "0")}` : `\\U${digits.padStart(8, "0")}`;
    const last = pieces[pieces.length - 1];
    if (last?.odd) last.text += escape;
    else pieces.push({text: escape, odd: true});
  }
  if (done < text.length) pieces.push({text: text.slice(done), odd: false});
  return pieces;
}

/**
 * The text with control, invisible and bidi characters as escapes; newlines and tabs are kept.
 * @param {string} text
 * @returns {string}
 */
export function visibleText(text) {
  return visiblePieces(text).map((piece) => piece.text).join("");
}

/**
 * A duration in a suitable unit; empty for NaN.
 * @param {number} ns
 * @returns {string}
 */
export function durationInWords(ns) {
  if (Number.isNaN(ns)) return "";
  if (ns < 1e6) return `${(ns / 1e3).toFixed(0)} us`;
  if (ns < 1e9) return `${(ns / 1e6).toFixed(0)} ms`;
  if (ns < 120e9) return `${(ns / 1e9).toFixed(1)} s`;
  const seconds = Math.floor(ns / 1e9);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/**
 * A number of bytes in a suitable unit.
 * @param {number} count
 * @returns {string}
 */
export function sizeInWords(count) {
  if (count < 1000) return `${count} B`;
  const units = ["kB", "MB", "GB"];
  const power = count < 1e6 ? 1 : count < 1e9 ? 2 : 3;
  const number = count / 1000 ** power;
  return `${number.toFixed(number >= 100 && power < 3 ? 0 : 1)} ${units[power - 1]}`;
}

/**
 * A number with its noun, such as "1,200 frames".
 * @param {number} count
 * @param {string} noun
 * @returns {string}
 */
export function countInWords(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

/**
 * A word as a shell takes it.
 * @param {string} word
 * @returns {string}
 */
export function shellWord(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\"'\"'") + "'";
}

// Reads members of JSON of any shape.
import { decodeBase64, decodeText } from "./source.js";

/** @typedef {{[name: string]: unknown}} JsonObject */

/**
 * Whether a value is an object and not an array.
 * @param {unknown} value @returns {value is JsonObject}
 */
export const isObject = (value) => value instanceof Object && !Array.isArray(value);

/**
 * The object in a member; an empty one if there is none.
 * @param {unknown} value @param {string} name @returns {JsonObject}
 */
export function objectAt(value, name) {
  const found = isObject(value) && Object.hasOwn(value, name) ? value[name] : null;
  return isObject(found) ? found : {};
}

/**
 * The objects in a member that is an array.
 * @param {JsonObject} value @param {string} name @returns {JsonObject[]}
 */
export function objectsAt(value, name) {
  const found = value[name];
  return Array.isArray(found) ? found.filter(isObject) : [];
}

/**
 * The first member that is a scalar, as text; empty if there is none.
 * @param {JsonObject} value @param {...string} names
 */
export const wordAt = (value, ...names) => String(names.map((name) => value[name]).find((one) =>
  one !== "" && /^(string|number|boolean)$/.test(typeof one)) ?? "");

/**
 * The kind of a session update and its members, in any dialect.
 * @param {unknown} message @returns {{kind: string, update: JsonObject}}
 */
export function updateOf(message) {
  const params = objectAt(message, "params");
  // In the 1.0 draft, the kind is beside the members.
  const [kind, name] = "update" in params ? ["sessionUpdate", "update"] : ["type", "data"];
  const update = objectAt(params, name);
  return { kind: wordAt(name === "data" ? params : update, kind), update };
}

/** Decodes a line; null if it is not JSON. @param {Uint8Array} bytes */
export const parsedLine = (bytes) => parsedText(decodeText(bytes));

/**
 * Returns the result of a function; null if the function throws.
 * @template T @param {() => T} make @returns {T | null}
 */
export function attempted(make) {
  try {
    return make();
  } catch {
    return null;
  }
}

/** @param {string} text @returns {any} null if the text is not JSON */
export const parsedText = (text) => attempted(() => JSON.parse(text));

/** A string, a number or a word such as `true`, exactly as it is written in JSON. */
export class RawValue extends String {}

/** @param {string} text @returns {any} the value of the JSON, with a `RawValue` for each scalar */
export function parsedRaw(text) {
  const raw = (/** @type {string} */ _, /** @type {any} */ value, /** @type {any} */ context) =>
    value instanceof Object ? value : new RawValue(context?.source ?? JSON.stringify(value));
  return JSON.parse(text, /** @type {any} */ (raw));
}

const CHUNK = /^((user|agent|session|thought)_message|agent_thought|compaction_summary)_chunk$/;

/** A piece of a streamed message; null for anything else. @param {unknown} message */
export function chunkOf(message) {
  const { kind, update } = updateOf(message);
  const { content } = update;
  const text = isObject(content) && content.type === "text" ? content.text : content;
  if (!CHUNK.test(kind) || typeof text !== "string") return null;
  return { kind, id: wordAt(update, "messageId", "compactionId"), text };
}

/**
 * The bytes in a base64 text; null for any other value.
 * @param {unknown} text @returns {Uint8Array|null}
 */
export const fromBase64 = (text) =>
  typeof text === "string" ? attempted(() => decodeBase64(text)) : null;

/**
 * The rows in which a column contains a value; none for NaN.
 * @template T @param {{indexOf: (value: T, from?: number) => number}} column @param {T} value
 */
export function rowsWith(column, value) {
  const rows = [];
  for (let at = column.indexOf(value); at >= 0; at = column.indexOf(value, at + 1)) rows.push(at);
  return rows;
}

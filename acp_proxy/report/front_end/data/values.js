// Reads members of JSON of any shape, and writes texts, times and sizes for people, as the command
// line does.

/** @typedef {{[name: string]: unknown}} JsonObject */

/**
 * Whether a value is an object, and no array.
 * @param {unknown} value @returns {value is JsonObject}
 */
export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * The object found by following names; an empty one if there is none.
 * @param {unknown} value @param {...string} names @returns {JsonObject}
 */
export function objectAt(value, ...names) {
  let found = value;
  for (const name of names) {
    found = isObject(found) && Object.hasOwn(found, name) ? found[name] : null;
  }
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
 * @param {unknown} message @returns {{kind: string, update: JsonObject}}
 */
export function updateOf(message) {
  const params = objectAt(message, "params");
  // In the 1.0 draft, the kind is beside the members.
  const data = objectAt(params, "data");
  if (!("update" in params)) return { kind: wordAt(params, "type"), update: data };
  const update = objectAt(params, "update");
  return { kind: wordAt(update, "sessionUpdate"), update };
}

/** A message as values; null if the line is no JSON. @param {Uint8Array} bytes */
export const parsedLine = (bytes) => parsedText(new TextDecoder().decode(bytes));

/** @param {string} text @returns {any} null if it is no JSON */
export function parsedText(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** A string, number or word of JSON as it is written, so that nothing of it is lost. */
export class RawValue {
  #text;

  /** @param {string} text */
  constructor(text) {
    this.#text = text;
  }

  toString() {
    return this.#text;
  }
}

/** @param {string} text @returns {any} its values, with a `RawValue` for each string and number */
export function parsedRaw(text) {
  const raw = (/** @type {string} */ _, /** @type {any} */ value, /** @type {any} */ context) =>
    value instanceof Object ? value : new RawValue(context?.source ?? JSON.stringify(value));
  return JSON.parse(text, /** @type {any} */ (raw));
}

const CHUNK_KINDS = new Set([
  "user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "thought_message_chunk",
  "compaction_summary_chunk", "session_message_chunk",
]);

/** A piece of a streamed message; null for anything else. @param {unknown} message */
export function chunkOf(message) {
  const { kind, update } = updateOf(message);
  const { content } = update;
  const text = isObject(content) && content.type === "text" ? content.text : content;
  if (!CHUNK_KINDS.has(kind) || typeof text !== "string") return null;
  return { kind, id: wordAt(update, "messageId", "compactionId"), text };
}

/**
 * The bytes in a base64 text; null if it is none.
 * @param {unknown} text @returns {Uint8Array|null}
 */
export function fromBase64(text) {
  try {
    if (typeof text !== "string") return null;
    return Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  } catch {
    return null;
  }
}

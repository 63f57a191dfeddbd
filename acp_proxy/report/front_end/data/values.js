// Reads members of JSON of any shape, and keeps blocks of values for readers that need only some of
// many blocks.
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

/**
 * A block: the last value that was read, and the reading of the block. A block is stale if it has
 * changed since that reading began.
 * @template T
 * @typedef {{value?: T, promise: Promise<T>, isReading: boolean, isStale: boolean}} CachedBlock
 */

/**
 * Keeps the blocks that were used last. While a block is being read, it is not read again.
 * @template T
 */
export class BlockCache {
  /** Called with every block that was read. @type {(block: T) => void} */
  onRead = () => {};
  /** @type {Map<string, CachedBlock<T>>} */
  entries = new Map();

  /** @param {number} most @param {(name: string) => Promise<T>} read */
  constructor(most, read) {
    this.most = most;
    this.read = read;
  }

  /** @param {string} name @returns {Promise<T>} */
  get(name) {
    const old = this.entries.get(name);
    const entry = old && !old.isStale ? old : this.begin(name, old?.value);
    this.entries.delete(name);
    this.entries.set(name, entry);
    if (this.entries.size > this.most) this.entries.delete([...this.entries.keys()][0]);
    return entry.promise;
  }

  /** @param {string} name @param {T} [value] what is shown until the block was read */
  begin(name, value) {
    const entry = { value, promise: this.read(name), isReading: true, isStale: false };
    entry.promise.then((/** @type {T} */ read) => {
      [entry.value, entry.isReading] = [read, false];
      this.onRead(read);
    }, () => this.entries.get(name) === entry && this.entries.delete(name));
    return entry;
  }

  /**
   * Returns a block if it is in memory. Otherwise starts to read the block, and returns nothing.
   * @param {string} name
   * @param {(block: T) => boolean} [isEnough] whether a stale block still serves
   */
  now(name, isEnough = () => true) {
    const { value, isStale, isReading } = this.entries.get(name) ?? { isStale: true };
    if (isStale && !isReading && (value === undefined || !isEnough(value))) void this.get(name);
    return this.entries.get(name)?.value;
  }

  /** Notes that a block has changed: `get` reads it again. @param {string} name */
  expire = (name) => Object.assign(this.entries.get(name) ?? {}, { isStale: true });
}

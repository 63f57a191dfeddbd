// Finds a text as `inspect search` does: in lines as they were sent, in their strings with escapes
// undone, in events, and in messages whose text came in chunks. A row is a hit once: that in which
// a match begins.
import { NON_ASCII, cellReader, lineBlocks } from "./lines.js";

/** @typedef {import("./questions.js").Columns} Columns */
/** @typedef {import("./lines.js").LoadBlock} LoadBlock */
/** @typedef {(text: string) => (from: number) => number} Sought says where the text is, from a place on; or -1 */
/** @typedef {{kind: string, id: string | null, text: string}} Chunk */
/**
 * @typedef {object} Message a message that is being streamed, or the last part of it
 * @property {string[]} texts
 * @property {number} length
 * @property {boolean} endsInHalf whether its last text ends in half of a character
 * @property {number[]} rows of its pieces
 * @property {number[]} starts of its pieces
 * @property {number} session
 * @property {boolean} hasId
 * @property {boolean} isOpen
 */

const PROMPT = "session/prompt";
const UPDATE = "session/update";
const CHUNKS = [
  "agent_message_chunk", "user_message_chunk", "agent_thought_chunk", "thought_message_chunk", "compaction_summary_chunk",
];
const MOST_MESSAGES = 32;
const FULL = 65536;
const ESCAPE = /\\(?:u([0-9A-Fa-f]{4})|(.))/gs;
const ESCAPED_STRING = /"([^"\\]*(?:\\.[^"\\]*)+)(?:"|$)/gs;
const HALF_MASK = 0xfc00;
const HIGH_HALF = 0xd800;
const LOW_HALF = 0xdc00;
const NAMED = new Map([["n", "\n"], ["t", "\t"], ["r", "\r"], ["b", "\b"], ["f", "\f"]]);

/**
 * Finds all rows in which a match begins.
 * @param {Columns} columns
 * @param {string} wanted
 * @param {boolean | null} ignoreCase null: unless there is a capital letter in the text
 * @param {LoadBlock} load
 * @param {(hits: Uint8Array) => Promise<void>} pause called between blocks; may reject
 * @returns {Promise<Uint8Array>} by row, whether it is a hit
 */
export async function findMatches(columns, wanted, ignoreCase, load, pause) {
  const count = columns.lengths.length;
  const hits = new Uint8Array(count);
  const sought = finder(wanted, ignoreCase ?? !/\p{Uppercase}/u.test(wanted));
  const messages = new Messages(columns, sought, wanted.length, hits);
  const every = Int32Array.from({ length: count }, (_, row) => row);
  const cellsOf = cellReader(load);
  for await (const { block, from, to } of lineBlocks(columns.payloads, columns.lengths, every, load)) {
    if (block.text !== null) markWritten(block, from, to, sought(block.text), wanted.length, hits);
    const mayHaveEscapes = block.text === null || block.text.includes("\\");
    for (let row = from; row < to; row++) {
      if (columns.isEvent[row]) {
        const text = `${columns.eventKinds.get(row)} ${(await cellsOf(row))[0]}`;
        hits[row] = sought(text)(0) >= 0 ? 1 : 0;
        continue;
      }
      const line = block.line(row);
      const method = columns.methodTexts.get(columns.methods[row]);
      if (block.text === null && sought(line)(0) >= 0) hits[row] = 1;
      if (mayHaveEscapes && hits[row] === 0 && line.includes("\\") && isInStrings(line, sought, method)) hits[row] = 1;
      if (wanted.length > 1) messages.feed(row, line, method);
    }
    await pause(hits);
  }
  messages.endAll();
  return hits;
}

/**
 * Marks the rows whose lines have the text as it is written.
 * @param {import("./lines.js").LineBlock} block
 * @param {number} from
 * @param {number} to
 * @param {(from: number) => number} indexFrom
 * @param {number} length of the text
 * @param {Uint8Array} hits
 */
function markWritten(block, from, to, indexFrom, length, hits) {
  let row = from;
  for (let place = indexFrom(0); place >= 0 && row < to; ) {
    let [start, end] = block.placeOf(row);
    while (end <= place && ++row < to) [start, end] = block.placeOf(row);
    if (row < to && place >= start && place + length <= end) hits[row] = 1;
    place = indexFrom(hits[row] ? end : place + 1);
  }
}

/**
 * @param {string} line
 * @param {Sought} sought
 * @param {string | undefined} method not a hit where it is written with escapes
 */
function isInStrings(line, sought, method) {
  if (sought(withoutEscapes(line))(0) < 0) return false;
  for (const [, string] of line.matchAll(ESCAPED_STRING)) {
    const text = withoutEscapes(string);
    if (sought(text)(0) >= 0 && text !== method) return true;
  }
  return false;
}

/** @param {string} text */
function withoutEscapes(text) {
  return text.replace(ESCAPE, (_, unit, other) =>
    unit === undefined ? (NAMED.get(other) ?? other) : String.fromCharCode(parseInt(unit, 16)),
  );
}

/**
 * Makes a function that says where the text is in another one.
 * @param {string} wanted
 * @param {boolean} ignoreCase
 * @returns {Sought}
 */
function finder(wanted, ignoreCase) {
  if (!ignoreCase) return (text) => (from) => text.indexOf(wanted, from);
  const lower = wanted.toLowerCase();
  const likeAscii = /[\u0131\u017f\u212a\u0130]/.test(wanted);
  const escaped = wanted.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&").replace(/[iI\u0130\u0131]/g, "[iI\u0130\u0131]");
  const pattern = new RegExp(escaped, "giu");
  return (text) => {
    if (!likeAscii && !NON_ASCII.test(text)) {
      const lowerText = text.toLowerCase();
      return (from) => lowerText.indexOf(lower, from);
    }
    return (from) => {
      pattern.lastIndex = from;
      return pattern.exec(text)?.index ?? -1;
    };
  };
}

/** The messages that are being streamed. */
class Messages {
  /**
   * @param {Columns} columns
   * @param {Sought} sought
   * @param {number} length of the text to find
   * @param {Uint8Array} hits by row
   */
  constructor(columns, sought, length, hits) {
    this.columns = columns;
    this.sought = sought;
    this.length = length;
    this.hits = hits;
    /** @type {Map<string, Message>} */
    this.open = new Map();
    this.chunks = new ChunkReader();
    /** @type {{chunk: Chunk, message: Message} | null} */
    this.latest = null;
  }

  /**
   * @param {number} row
   * @param {string} line
   * @param {string | undefined} method
   */
  feed(row, line, method) {
    const session = this.columns.sessions[row];
    if (method === PROMPT) return this.end((one) => one.session === session);
    if (method !== UPDATE) return undefined;
    const chunk = this.chunks.read(line);
    if (chunk === null) {
      const begins = this.columns.hasCall[row] && line.includes('"tool_call"');
      return begins ? this.endUnnamed(session) : undefined;
    }
    const message = this.messageOf(session, chunk);
    if (chunk.text === "") return undefined;
    // Half of a character belongs to the piece that has the other half.
    const half = message.endsInHalf && (chunk.text.charCodeAt(0) & HALF_MASK) === LOW_HALF ? 1 : 0;
    if (chunk.text.length > half) {
      message.rows.push(row);
      message.starts.push(message.length + half);
    }
    message.texts.push(chunk.text);
    message.length += chunk.text.length;
    message.endsInHalf = (chunk.text.charCodeAt(chunk.text.length - 1) & HALF_MASK) === HIGH_HALF;
    if (message.length > FULL + 2 * this.length) this.look(message);
    return undefined;
  }

  /**
   * @param {number} session
   * @param {Chunk} chunk
   */
  messageOf(session, chunk) {
    const { latest } = this;
    // Most pieces follow one of the same message; the reader then returns the same chunk, too.
    if (latest && latest.chunk === chunk && latest.message.session === session && latest.message.isOpen) return latest.message;
    const key = `${session} ${chunk.kind} ${chunk.id === null ? "" : `"${chunk.id}`}`;
    let message = this.open.get(key);
    if (message) this.open.delete(key);
    else {
      this.endUnnamed(session);
      const [oldest] = this.open.values();
      if (this.open.size >= MOST_MESSAGES) this.end((one) => one === oldest);
      message = { texts: [], length: 0, endsInHalf: false, rows: [], starts: [], session, hasId: chunk.id !== null, isOpen: true };
    }
    this.open.set(key, message);
    this.latest = { chunk, message };
    return message;
  }

  endAll() {
    this.end(() => true);
  }

  /** Ends the messages of a session that have no id. @param {number} session */
  endUnnamed(session) {
    this.end((one) => one.session === session && !one.hasId);
  }

  /** @param {(message: Message) => boolean} isOver */
  end(isOver) {
    for (const [key, message] of this.open) {
      if (isOver(message)) {
        this.open.delete(key);
        message.isOpen = false;
        this.look(message);
      }
    }
  }

  /** Marks where matches begin, and keeps the end, which may be the beginning of one. @param {Message} message */
  look(message) {
    const { rows, starts } = message;
    const text = message.texts.join("");
    const indexFrom = this.sought(text);
    let place = 0;
    for (let n = 0; (place = indexFrom(place)) >= 0; place = starts[n]) {
      while (n < starts.length && starts[n] <= place) n++;
      this.hits[rows[n - 1]] = 1;
      if (n === starts.length) break;
    }
    const cut = text.length - this.length + 1;
    let first = starts.length - 1;
    while (first > 0 && starts[first] > cut) first--;
    message.texts = [text.slice(starts[first])];
    message.length = message.texts[0].length;
    message.rows = rows.slice(first);
    message.starts = starts.slice(first).map((start) => start - starts[first]);
  }
}

/** Reads chunks; those that differ from the one before in their text alone, without parsing them. */
class ChunkReader {
  constructor() {
    this.before = "\0";
    this.after = "\0";
    /** @type {Chunk | null} */
    this.latest = null;
  }

  /** @param {string} line */
  read(line) {
    const { before, after, latest } = this;
    if (latest && line.startsWith(before) && line.endsWith(after) && line.length >= before.length + after.length) {
      const text = line.slice(before.length, line.length - after.length);
      if (!/["\\\0-\x1f]/.test(text)) {
        latest.text = text;
        return latest;
      }
    }
    if (!line.includes("_chunk")) return null;
    const chunk = readChunk(line);
    if (chunk && chunk.text) {
      const at = line.indexOf(`"${chunk.text}"`);
      if (at >= 0 && line.lastIndexOf(`"${chunk.text}"`) === at) {
        this.latest = chunk;
        this.before = line.slice(0, at + 1);
        this.after = line.slice(at + 1 + chunk.text.length);
      }
    }
    return chunk;
  }
}

/** @param {string} line */
function readChunk(line) {
  let message;
  try {
    message = JSON.parse(line);
  } catch {
    return null;
  }
  if (message?.method !== UPDATE || "id" in message) return null;
  const params = message.params;
  const isObject = (/** @type {any} */ value) => value !== null && typeof value === "object" && !Array.isArray(value);
  const string = (/** @type {any} */ value) => (typeof value === "string" ? value : null);
  if (!isObject(params)) return null;
  const isOfficial = isObject(params.update);
  const update = isOfficial ? params.update : params.data;
  if (!isObject(update)) return null;
  const kind = isOfficial ? update.sessionUpdate : params.type;
  if (!CHUNKS.includes(kind)) return null;
  const content = isObject(update.content) && update.content.type === "text" ? update.content.text : update.content;
  if (typeof content !== "string") return null;
  return { kind, id: string(update.messageId) || string(update.compactionId), text: content };
}

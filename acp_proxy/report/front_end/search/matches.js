// Finds a text as `search` does: in lines as they were sent, in their strings with escapes
// undone, in events, and in messages whose text came in chunks. A row is a hit if a match begins in
// it.
import { chunkOf, parsedText } from "../data/values.js";

/**
 * @typedef {import("../filter/rows.js").Question & {kind: "search"}} SearchQuestion
 * @typedef {(row: number) => void} AddRow
 * @typedef {object} Message a message that is being streamed
 * @property {number} session
 * @property {boolean} hasId
 * @property {string} text what of it may still be the beginning of a match
 * @property {boolean} endsInHalf whether that ends in half of a character
 * @property {number[]} rows of its pieces
 * @property {number[]} starts of its pieces in the text
 */

const ESCAPE = /\\(?:u([0-9A-Fa-f]{4})|(.))/gs;
const ESCAPED_STRING = /"([^"\\]*(?:\\.[^"\\]*)+)(?:"|$)/gs;
const NAMED = new Map([["n", "\n"], ["t", "\t"], ["r", "\r"], ["b", "\b"], ["f", "\f"]]);
const MOST_MESSAGES = 32;

/** Reads all lines in their order. */
export class TextSearch {
  /** Messages by session, kind and id. @type {Map<string, Message>} */
  open = new Map();

  /** @param {SearchQuestion} question */
  constructor(question) {
    const { wanted } = question;
    this.length = wanted.length;
    // Whatever its case, unless it has a capital letter.
    const flags = /\p{Uppercase}/u.test(wanted) ? "gu" : "giu";
    const escaped = wanted.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
    const letters = "[iI\u0130\u0131]";
    const likeI = flags === "giu" ? escaped.replace(/[iI\u0130\u0131]/g, letters) : escaped;
    this.pattern = new RegExp(likeI, flags);
  }

  /** Where the text begins in another one; -1 if it does not. @param {string} text */
  find(text, from = 0) {
    this.pattern.lastIndex = from;
    return this.pattern.exec(text)?.index ?? -1;
  }

  /**
   * @param {string} line @param {number} row @param {import("./scanner.js").Labels} labels
   * @param {AddRow} add
   */
  read(line, row, { event, session, method, call }, add) {
    if (this.find(event ?? line) >= 0) add(row);
    else if (!event && line.includes("\\") && this.isInStrings(line, method)) add(row);
    if (method === "session/prompt") this.end((one) => one.session === session, add);
    if (method !== "session/update") return;
    const chunk = line.includes("_chunk") ? chunkOf(parsedText(line)) : null;
    if (chunk !== null) this.join(row, session, chunk, add);
    else if (call && line.includes('"tool_call"')) this.endUnnamed(session, add);
  }

  /**
   * Whether it is in a string with escapes, other than the method.
   * @param {string} line @param {string | null} method
   */
  isInStrings(line, method) {
    if (this.find(withoutEscapes(line)) < 0) return false;
    const found = line.matchAll(ESCAPED_STRING);
    const strings = Array.from(found, ([, string]) => withoutEscapes(string));
    return strings.some((string) => string !== method && this.find(string) >= 0);
  }

  /**
   * @param {number} row @param {number} session
   * @param {{kind: string, id: string, text: string}} chunk @param {AddRow} add
   */
  join(row, session, { kind, id, text }, add) {
    const key = `${session} ${kind} ${id}`;
    let message = this.open.get(key);
    if (message === undefined) {
      this.endUnnamed(session, add);
      const [oldest] = this.open.values();
      if (this.open.size >= MOST_MESSAGES) this.end((one) => one === oldest, add);
      message = { session, hasId: id !== "", text: "", endsInHalf: false, rows: [], starts: [] };
    }
    this.open.delete(key);
    this.open.set(key, message);
    // Half of a character belongs to the piece that has the other half.
    const half = message.endsInHalf && /^[\udc00-\udfff]/.test(text) ? 1 : 0;
    if (text === "") return;
    if (text.length > half) {
      message.rows.push(row);
      message.starts.push(message.text.length + half);
    }
    message.text += text;
    message.endsInHalf = /[\ud800-\udbff]$/.test(text);
  }

  /** @param {number} session @param {AddRow} add */
  endUnnamed(session, add) {
    this.end((one) => one.session === session && !one.hasId, add);
  }

  /** @param {(message: Message) => boolean} isOver @param {AddRow} add */
  end(isOver, add) {
    for (const [key, message] of this.open) {
      if (!isOver(message)) continue;
      this.look(message, add);
      this.open.delete(key);
    }
  }

  /** @param {AddRow} add */
  pause(add) {
    for (const message of this.open.values()) this.look(message, add);
  }

  /**
   * Adds the rows in which matches begin, and keeps the end.
   * @param {Message} message @param {AddRow} add
   */
  look(message, add) {
    const { text, rows, starts } = message;
    let n = 0;
    const next = () => (n < starts.length ? this.find(text, starts[n]) : -1);
    for (let place = this.find(text); place >= 0; place = next()) {
      while (n < starts.length && starts[n] <= place) n++;
      add(rows[Math.max(n - 1, 0)]);
    }
    const cut = text.length - this.length + 1;
    const first = Math.max(starts.findLastIndex((start) => start <= cut), 0);
    const from = starts[first] ?? 0;
    message.text = text.slice(from);
    message.rows = rows.slice(first);
    message.starts = starts.slice(first).map((start) => start - from);
  }
}

/** @param {string} text */
function withoutEscapes(text) {
  return text.replace(ESCAPE, (_, unit, other) =>
    unit ? String.fromCharCode(parseInt(unit, 16)) : (NAMED.get(other) ?? other),
  );
}

// Finds a text as `search` does: in lines as they were sent (but not in the names in a message), in
// their decoded strings, in events, and in messages whose text came in chunks. A row is a hit if a
// match begins in the row.
import { chunkOf, parsedText } from "../data/values.js";

/**
 * @typedef {import("../filter/rows.js").Question & {kind: "search"}} SearchQuestion
 * @typedef {object} Message a message that is being streamed
 * @property {number} session
 * @property {boolean} hasId
 * @property {string} text the end of its text, which may still be the beginning of a match
 * @property {boolean} endsInHalf whether this text ends with half of a surrogate pair
 * @property {{row: number, start: number}[]} pieces its rows, and where each begins in the text
 */

const ESCAPE = /\\(?:u([0-9A-Fa-f]{4})|(.))/gs;
const ESCAPED_STRING = /"([^"\\]*(?:\\.[^"\\]*)+)(?:"|$)/gs;
/** A string in a line, the name of a member, or a member with a name that the protocol fixes. */
const NAME =
  /"(?:jsonrpc|method|sessionUpdate|type)" *: *"[a-z0-9_/.]*"|"([^"\\]*(?:\\.[^"\\]*)*)"( *:)?/gs;
const NAMED = new Map([["n", "\n"], ["t", "\t"], ["r", "\r"], ["b", "\b"], ["f", "\f"]]);

/** Searches lines, which have to be read in their order. */
export class TextSearch {
  /**
   * The streamed messages that may still grow, by session, kind and id.
   * @type {Map<string, Message>}
   */
  open = new Map();

  /** @param {SearchQuestion} question */
  constructor({ wanted }) {
    this.wanted = wanted;
    const escaped = wanted.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
    // Case is ignored, unless the text has a capital letter.
    this.pattern = /\p{Uppercase}/u.test(wanted) ? new RegExp(escaped, "gu")
      : new RegExp(escaped.replace(/[iI\u0130\u0131]/g, "[iI\u0130\u0131]"), "giu");
  }

  /**
   * The position of the searched text in another text; -1 if it does not occur.
   * @param {string} text
   */
  find(text, from = 0) {
    this.pattern.lastIndex = from;
    return this.pattern.exec(text)?.index ?? -1;
  }

  /**
   * @param {string} line @param {number} row @param {import("./scanner.js").Labels} labels
   * @param {number[]} hits
   */
  read(line, row, { event, session, method, call }, hits) {
    const isHit = event === undefined ? this.isInLine(line, method) : this.find(event ?? "") >= 0;
    if (isHit) hits.push(row);
    if (method === "session/prompt") this.end((one) => one.session === session, hits);
    if (method !== "session/update") return;
    const chunk = line.includes("_chunk") ? chunkOf(parsedText(line)) : null;
    if (chunk !== null) this.join(row, session, chunk, hits);
    else if (call && line.includes('"tool_call"')) this.endUnnamed(session, hits);
  }

  /**
   * Whether a line contains the searched text. In a message, the names of members are searched only
   * if the searched text may be a name.
   * @param {string} line @param {string | null} method null if the line is not a message
   */
  isInLine(line, method) {
    const isEscaped = () => line.includes("\\") && this.find(withoutEscapes(line)) >= 0;
    if (this.find(line) < 0 && !isEscaped()) return false;
    const content = method === null || /["/_]|[a-z][A-Z]/.test(this.wanted) ? line
      : line.replace(NAME, (all, text, colon) => (text === undefined || colon ? '""' : all));
    const strings = Array.from(content.matchAll(ESCAPED_STRING), ([, one]) => withoutEscapes(one));
    return [content, ...strings].some((text) => this.find(text) >= 0);
  }

  /**
   * @param {number} row @param {number} session
   * @param {{kind: string, id: string, text: string}} chunk @param {number[]} hits
   */
  join(row, session, { kind, id, text }, hits) {
    const key = `${session} ${kind} ${id}`;
    let message = this.open.get(key);
    if (message === undefined) {
      this.endUnnamed(session, hits);
      const [oldest] = this.open.values();
      if (this.open.size >= 32) this.end((one) => one === oldest, hits);
      message = { session, hasId: id !== "", text: "", endsInHalf: false, pieces: [] };
    }
    this.open.delete(key);
    this.open.set(key, message);
    // The second half of a surrogate pair belongs to the piece with the first half.
    const half = message.endsInHalf && /^[\udc00-\udfff]/.test(text) ? 1 : 0;
    if (text === "") return;
    if (text.length > half) message.pieces.push({ row, start: message.text.length + half });
    message.text += text;
    message.endsInHalf = /[\ud800-\udbff]$/.test(text);
  }

  /** @param {number} session @param {number[]} hits */
  endUnnamed = (session, hits) => this.end((one) => one.session === session && !one.hasId, hits);

  /** @param {(message: Message) => boolean} isOver @param {number[]} hits */
  end(isOver, hits) {
    for (const [key, message] of this.open) {
      if (!isOver(message)) continue;
      this.look(message, hits);
      this.open.delete(key);
    }
  }

  /** @param {number[]} hits */
  pause = (hits) => this.open.forEach((message) => this.look(message, hits));

  /**
   * Adds to `hits` the rows in which matches begin. Keeps only the end of the message's text.
   * @param {Message} message @param {number[]} hits
   */
  look(message, hits) {
    const { text, pieces } = message;
    for (let n = 0, place = this.find(text); place >= 0; ) {
      while (n < pieces.length && pieces[n].start <= place) n++;
      hits.push(pieces[Math.max(n - 1, 0)].row);
      place = n < pieces.length ? this.find(text, pieces[n].start) : -1;
    }
    const cut = text.length - this.wanted.length + 1;
    const first = Math.max(pieces.findLastIndex(({ start }) => start <= cut), 0);
    const from = pieces[first]?.start ?? 0;
    message.text = text.slice(from);
    message.pieces = pieces.slice(first).map(({ row, start }) => ({ row, start: start - from }));
  }
}

/** @param {string} text */
const withoutEscapes = (text) => text.replace(ESCAPE, (_, unit, other) =>
  unit ? String.fromCharCode(parseInt(unit, 16)) : (NAMED.get(other) ?? other));

// The rows to which filters are applied: the rows of the page and, after them, the messages of
// batches. If no column has the value that a term needs, the term asks a question, which is
// answered by reading the lines.
import { PERHAPS } from "./grammar.js";

/**
 * @typedef {import("../data/recording.js").Recording} Recording
 * @typedef {{at: (row: number) => number}} Values
 * @typedef {{kind: "text", wanted: string}
 * | {kind: "path", keys: string[], wanted: string, isPattern: boolean}
 * | {kind: "id", ids: string[]}
 * | {kind: "search", wanted: string}} Question
 * @typedef {Question & {answers: Uint8Array}} AskedQuestion with the answer for each row
 */

const LABELS = ["method", "session", "tool_call", "terminal", "answer_session"];

export class FilterRows {
  /** @type {AskedQuestion[]} */
  questions = [];
  /**
   * Facts that a filter relies on, and that may change when more rows come.
   * @type {Map<string, unknown>}
   */
  assumed = new Map();

  /** @param {Recording} recording */
  constructor(recording) {
    this.recording = recording;
    /** The number of rows, without the messages of batches, when this object was made. */
    this.rows = recording.rows;
    /**
     * The messages of batches: each is an object with the values of columns by name, and `batch` is
     * the row of its batch.
     * @type {any[]}
     */
    this.members = Object.entries(recording.meta.members ?? {}).flatMap(([row, members]) =>
      members.map((/** @type {any} */ one) => ({ ...one, batch: Number(row) })));
    this.count = this.rows + this.members.length;
    const texts = this.members.flatMap((one) => Object.values(one)).map(String);
    this.texts = texts.length > 0 ? [...new Set([...recording.texts, ...texts])] : recording.texts;
  }

  /** @param {string} name @returns {Values} of the texts in `texts`, as in a `Recording` */
  codes(name) {
    const codes = this.recording.codes(name);
    if (this.members.length === 0) return codes;
    const places = new Map(this.texts.map((text, place) => [text, place]));
    const ofMembers = this.members.map((one) => (places.get(one[name]) ?? -1) + 1);
    return { at: (row) => row < this.rows ? codes.at(row) : ofMembers[row - this.rows] };
  }

  /** @param {string} name @returns {Values} null is NaN */
  numbers(name) {
    const numbers = this.recording.numbers(name);
    if (this.members.length === 0) return numbers;
    const ofMembers = this.members.map((one) => one[name] ?? NaN);
    return { at: (row) => row < this.rows ? numbers.at(row) : ofMembers[row - this.rows] };
  }

  /** @param {Question} question @returns {(row: number) => number} its answer */
  ask(question) {
    const asked = { ...question, answers: new Uint8Array(this.count).fill(PERHAPS) };
    this.questions.push(asked);
    return (row) => asked.answers[row];
  }

  /** Whether a method, session, tool call or terminal has this name. @param {string} label */
  hasLabel(label) {
    const { code, codes } = this.recording;
    const has = (/** @type {string} */ name) => codes(name).indexOf(code(label)) >= 0;
    const isThere = (code(label) > 0 && LABELS.some(has))
      || this.members.some((one) => one.session === label && one.exchange !== null);
    this.assumed.set(label, isThere);
    return isThere;
  }

  /** The number of the last turn. */
  get lastTurn() {
    const { last_turn } = this.recording.meta;
    this.assumed.set("", last_turn);
    return last_turn;
  }

  /**
   * Where a message is: the row of its line, and the range of its bytes in the line.
   * @param {number} row
   */
  place(row) {
    if (row < this.rows) return { row, offset: 0, length: this.recording.lineLength(row) };
    const { batch, offset, length } = this.members[row - this.rows];
    return { row: batch, offset, length };
  }
}

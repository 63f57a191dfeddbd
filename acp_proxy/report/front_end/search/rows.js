// The rows of a recording as filters ask for them: a range of rows, or the messages of a batch.
import { NO, PERHAPS, YES } from "../filter/terms.js";

/**
 * @typedef {import("../data/recording.js").Recording} Recording
 * @typedef {import("../filter/terms.js").Filter} Filter
 * @typedef {import("../filter/terms.js").Question} Question
 * @typedef {import("../filter/terms.js").Rows} Rows
 * @typedef {import("../filter/terms.js").TestedTexts} TestedTexts
 * @typedef {Record<string, any>} Member columns of a message by name
 */

const UNTESTED = 3;
/** Columns that a message has from its batch. */
const OF_BATCH = ["seq", "t_ns", "stream", "fault"];

/** What lines have answered so far; of rows, and of the messages of batches. */
export class Answers {
  /** @param {number} rows */
  constructor(rows) {
    this.rows = rows;
    /** @type {Map<Question, {ofRows: Uint8Array, ofMembers: Map<number, Uint8Array>}>} */
    this.known = new Map();
  }

  /** @param {Question} question */
  of(question) {
    let found = this.known.get(question);
    if (found === undefined) {
      found = { ofRows: new Uint8Array(this.rows).fill(PERHAPS), ofMembers: new Map() };
      this.known.set(question, found);
    }
    return found;
  }
}

/** @implements {Rows} */
class RowRange {
  /**
   * @param {Recording} recording
   * @param {Answers} answers
   * @param {number} first
   * @param {number} end
   */
  constructor(recording, answers, first, end) {
    this.recording = recording;
    this.known = answers;
    this.first = first;
    this.count = end - first;
    this.areMembers = false;
  }

  /**
   * @param {string} column
   * @param {(text: string) => boolean} test
   * @param {TestedTexts} tested
   */
  texts(column, test, tested) {
    const { texts } = this.recording;
    let answers = tested.get(texts);
    if (answers === undefined || answers.length <= texts.length) {
      answers = new Uint8Array(texts.length + 1).fill(UNTESTED);
      answers[0] = NO;
      tested.set(texts, answers);
    }
    const codes = this.recording.codes(column);
    const found = new Uint8Array(this.count);
    for (let n = 0; n < found.length; n++) {
      const code = codes[this.first + n];
      let answer = answers[code];
      if (answer === UNTESTED) answer = answers[code] = test(texts[code - 1]) ? YES : NO;
      found[n] = answer;
    }
    return found;
  }

  /** @param {string} column */
  numbers(column) {
    return this.recording.numbers(column).subarray(this.first, this.first + this.count);
  }

  /** @param {Question} question */
  answers(question) {
    return this.known.of(question).ofRows.subarray(this.first, this.first + this.count);
  }
}

/** @implements {Rows} */
class BatchMembers {
  /**
   * @param {Recording} recording
   * @param {Answers} answers
   * @param {number} row
   * @param {Member[]} members
   */
  constructor(recording, answers, row, members) {
    this.recording = recording;
    this.known = answers;
    this.row = row;
    this.members = members;
    this.count = members.length;
    this.areMembers = true;
  }

  /**
   * @param {string} column
   * @param {(text: string) => boolean} test
   */
  texts(column, test) {
    const texts = this.members.map((one) => (OF_BATCH.includes(column) ? this.recording.text(column, this.row) : one[column]));
    return Uint8Array.from(texts, (text) => (typeof text === "string" && test(text) ? YES : NO));
  }

  /** @param {string} column */
  numbers(column) {
    if (OF_BATCH.includes(column)) return this.members.map(() => this.recording.numbers(column)[this.row]);
    return this.members.map((one) => one[column] ?? NaN);
  }

  /** @param {Question} question */
  answers(question) {
    if (question.kind === "id") {
      return Uint8Array.from(this.members, (one) => (question.ids.includes(one.rpc_id) ? YES : NO));
    }
    return this.known.of(question).ofMembers.get(this.row) ?? new Uint8Array(this.count).fill(PERHAPS);
  }
}

/**
 * Judges a range of rows: by their columns first and then by the exact answer, and messages of a
 * batch by the answer alone, as the command line does.
 * @param {Recording} recording
 * @param {Filter} filter
 * @param {Answers} answers
 * @param {number} first
 * @param {number} end
 * @returns {Uint8Array}
 */
export function judgeRows(recording, filter, answers, first, end) {
  const range = new RowRange(recording, answers, first, end);
  const found = filter.matches(range);
  const candidates = filter.isExact ? found : filter.candidates(range);
  const [kinds, batch] = [recording.codes("kind"), recording.code("batch")];
  for (let n = 0; n < found.length; n++) {
    const members = batch > 0 && kinds[first + n] === batch ? membersOfBatch(recording, first + n) : [];
    if (members.length) found[n] = Math.max(...filter.matches(new BatchMembers(recording, answers, first + n, members)));
    else if (candidates[n] === NO) found[n] = NO;
  }
  return found;
}

/**
 * The messages of a batch; none if the row is no batch, or too large to be read.
 * @param {Recording} recording
 * @param {number} row
 * @returns {Member[]}
 */
export function membersOfBatch(recording, row) {
  return recording.meta.members?.[row] ?? [];
}

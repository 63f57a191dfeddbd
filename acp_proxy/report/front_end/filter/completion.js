// Offers keys for the word at the caret of a filter and, after a key, the values of the recording.
import { countInWords } from "../shell/words.js";
import { COLUMN_OF_KEY, termText } from "./term_text.js";
import { DIRECTIONS, KINDS, OWN_STATES, STATUSES, TERMS } from "./terms.js";

/**
 * @typedef {{text: string, words: string}} Offer a text in place of the word, and what it means
 * @typedef {{start: number, end: number, offers: Offer[]}} Completion where the word is
 */

const WORDS = /(?:"(?:[^"\\]|\\.)*(?:"|$)|[^\s()"])+/gs;
/** Values that need not be in a column. @type {Record<string, string[]>} */
const OTHER_VALUES = { is: OWN_STATES, status: STATUSES, turn: ["last"], fault: ["any"],
  latency: [">100ms", ">1s", ">10s"], size: [">1k", ">10k", ">100k"] };

/**
 * @param {import("../data/recording.js").Recording} recording
 * @param {string[][]} help for each term of the help: an example, and what it means
 * @param {string} text @param {number} caret @returns {Completion}
 */
export function completionOf(recording, help, text, caret) {
  let [start, end] = [caret, caret];
  for (const { 0: { length }, index } of text.matchAll(WORDS)) {
    if (index < caret && caret <= index + length) [start, end] = [index, index + length];
  }
  const [word, typed] = [text.slice(start, end), text.slice(start, caret).toLowerCase()];
  const [, key, part] = /^([a-z]+):"?(.*)$/s.exec(typed) ?? [];
  const offers = TERMS.has(key) ? offeredValues(recording, key, part).slice(0, 20)
    : keysIn(help).filter((offer) => offer.text.startsWith(typed));
  return { start, end, offers: offers.filter((offer) => offer.text !== word) };
}

/** @param {string[][]} help @returns {Offer[]} */
const keysIn = (help) => help.flatMap(([example, words], at) => {
  const [key] = /^[a-z]+:/.exec(example) ?? [];
  const isFirst = help.findIndex(([other]) => other.startsWith(key ?? example)) === at;
  return key && isFirst ? [{ text: key, words: `${words}, such as ${example}` }] : [];
});

/**
 * The values of a key that contain a text, the most frequent ones first.
 * @param {import("../data/recording.js").Recording} recording
 * @param {string} key @param {string} part in lower case @returns {Offer[]}
 */
function offeredValues(recording, key, part) {
  const name = COLUMN_OF_KEY.get(key);
  const column = name ? recording.codes(name) : recording.numbers("turn");
  /** @type {number[]} */
  const counts = [];
  for (let row = 0; (name || key === "turn") && row < recording.rows; row++) {
    const value = Number(column.at(row));
    if (value > 0) counts[value] = (counts[value] ?? 0) + 1;
  }
  /** @type {Map<string, number>} */
  const found = new Map();
  counts.forEach((count, value) => {
    const text = name ? recording.texts[value - 1] : String(value);
    // In the column of kinds, an event has its own name.
    const named = key === "kind" && !KINDS.includes(text) ? "event" : text;
    if (key === "dir" && !DIRECTIONS.includes(text)) return;
    found.set(named, count + (found.get(named) ?? 0));
  });
  for (const text of OTHER_VALUES[key] ?? []) found.set(text, found.get(text) ?? 0);
  return [...found].filter(([text]) => text.toLowerCase().includes(part))
    .sort(([, count], [, other]) => other - count).map(([text, count]) =>
      ({ text: termText(key, text), words: count ? countInWords(count, "frame") : "" }));
}

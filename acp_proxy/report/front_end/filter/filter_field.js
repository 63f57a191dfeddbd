// The field of the filter: it offers keys for the word at the caret and, after a key, the values of
// the recording. It shows the terms of the filter as chips, and gets terms from elements that are
// clicked while Alt is pressed.
import { button, clear, countInWords, h, part, setAttribute, span } from "../shell/dom.js";
import { COLUMN_OF_KEY, termsIn, termText, withTerm } from "./term_text.js";
import { DIRECTIONS, KINDS, OWN_STATES, STATUSES, TERMS } from "./grammar.js";

/** @typedef {import("../shell/state.js").State} State */

/** @type {Completion} */
const NOTHING = { start: 0, end: 0, offers: [] };

export class FilterField {
  completion = NOTHING;
  /** The place of the chosen offer; -1 for none. */
  chosen = -1;

  /** @param {HTMLElement} root @param {State} state */
  constructor(root, state) {
    this.state = state;
    /** @type {HTMLInputElement} */
    this.input = part("#filter");
    /** @type {HTMLElement} */
    this.list = part("#filter-offers");
    /** @type {HTMLElement} */
    this.chips = part(".chips");
    this.help = Array.from(root.querySelectorAll(".help .terms tbody tr"), ({ children }) =>
      Array.from(children, (cell) => cell.textContent ?? ""));
    this.input.addEventListener("input", () => this.offer());
    this.input.addEventListener("keydown", (event) => this.onKey(event));
    this.input.addEventListener("blur", () => this.show(NOTHING));
    // The field keeps the focus.
    this.list.addEventListener("mousedown", (event) => event.preventDefault());
    part(".panes").addEventListener("click", (/** @type {MouseEvent} */ event) =>
      this.onClick(event), { capture: true });
    state.on("shown", () => this.showChips());
    this.showChips();
  }

  /** Offers completions of the word at the caret. @param {boolean} [isAsked] even of no word */
  offer(isAsked = false) {
    const { input, state: { recording } } = this;
    const at = input.selectionStart ?? 0;
    const completion = completionOf(recording, this.help, input.value, at);
    this.show(isAsked || completion.start < at ? completion : NOTHING);
  }

  /**
   * Shows offers, and applies the filter: but not yet a key without a value, or a word that may
   * become a key.
   * @param {Completion} completion
   */
  show(completion) {
    const { start, end, offers } = (this.completion = completion);
    const { input: { value }, state } = this;
    const words = offers.length > 0 ? [offers[0].text, value.slice(start, end)] : [];
    void state.setFilter(value, words.some((word) => word.endsWith(":")));
    clear(this.list, offers.map(({ text, words }, at) => h("li",
      { id: `filter-offer-${at}`, role: "option", on: { click: () => this.accept(at) } },
      h("code", null, text), " ", span("note", words))));
    this.list.hidden = offers.length === 0;
    setAttribute(this.input, "aria-expanded", String(offers.length > 0));
    this.choose(-1);
  }

  /** @param {number} at */
  choose(at) {
    this.chosen = at;
    [...this.list.children].forEach((option, place) =>
      setAttribute(option, "aria-selected", String(place === at)));
    this.list.children[at]?.scrollIntoView({ block: "nearest" });
    setAttribute(this.input, "aria-activedescendant", at >= 0 && `filter-offer-${at}`);
  }

  /** @param {number} at the place of an offer */
  accept(at) {
    const { start, end, offers } = this.completion;
    this.input.setRangeText(offers[at].text, start, end, "end");
    // A key needs a value.
    if (offers[at].text.endsWith(":")) this.offer();
    else this.show(NOTHING);
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const { length } = this.completion.offers;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const taken = event.key === "Enter" ? this.chosen >= 0 : event.key === "Tab" && !event.shiftKey;
    if (step && length === 0) this.offer(true);
    else if (step) this.choose((Math.max(this.chosen, step > 0 ? -1 : 0) + step + length) % length);
    else if (taken && length > 0) this.accept(Math.max(this.chosen, 0));
    else if (/^(Enter|Escape)$/.test(event.key) && length > 0) this.show(NOTHING);
    else return;
    event.preventDefault();
  }

  /** Adds the term of a clicked element to the filter. @param {MouseEvent} event */
  onClick(event) {
    const marked = event.target instanceof Element && event.target.closest("[data-term]");
    const term = event.altKey && marked && marked.getAttribute("data-term");
    if (!term) return;
    event.preventDefault();
    event.stopPropagation();
    void this.state.setFilter(withTerm(this.state.applied.text, term));
  }

  showChips() {
    const { text } = this.state.applied;
    const terms = text.trim() === "" ? [] : termsIn(text);
    // The only term is in the field already.
    this.chips.hidden = terms.length < 2;
    const remove = (/** @type {number} */ at) => {
      void this.state.setFilter(terms.filter((_, place) => place !== at).join(" "));
      this.input.focus();
    };
    clear(this.chips, terms.map((term, at) => h("li", null, h("code", null, term),
      button("×", () => remove(at), { title: `Remove ${term}` }))));
  }
}

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

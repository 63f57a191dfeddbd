// Shows JSON as a tree. The text is cut into tokens and never parsed into values, so numbers keep their form, objects a
// repeated name and strings their escapes; what is not open is not made, so depth and size do not matter.
import {h} from "../shell/dom.js";
import {addInParts, longText, markedText} from "./hex.js";
import {countInWords, sizeInWords} from "../shell/words.js";

const TOKEN_BEGINNINGS = /["{}[\]]|[^\s{}[\],:"]+/g;
// An escape of a character that can be shown as it is.
const READABLE_ESCAPE = /\\\\|\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})/g;
const CHILDREN_AT_ONCE = 100;
const STRING_AT_ONCE = 500;
const OPENED_AT_FIRST = 60;
const OPENED_BY_ALL = 1000;
const DEEPEST_INDENT = 40;

/** The places of all tokens of a text: each value is followed by its descendants, in an object each name by its value. */
export class JsonText {
  /** @type {number[]} */
  start = [];
  /** @type {number[]} */
  end = [];
  /** By token, the one after its last descendant. @type {number[]} */
  after = [];

  /**
   * @param {string} text
   * @throws {SyntaxError} if it is no JSON
   */
  constructor(text) {
    JSON.parse(text);
    this.text = text;
    /** @type {number[]} */
    const open = [];
    TOKEN_BEGINNINGS.lastIndex = 0;
    for (let match = TOKEN_BEGINNINGS.exec(text); match !== null; match = TOKEN_BEGINNINGS.exec(text)) {
      const [sign] = match;
      // By hand, since a pattern for a long string with many escapes would need too much memory.
      if (sign === '"') {
        let end = TOKEN_BEGINNINGS.lastIndex;
        while (text[end] !== '"') end += text[end] === "\\" ? 2 : 1;
        TOKEN_BEGINNINGS.lastIndex = end + 1;
      }
      const at = sign === "}" || sign === "]" ? open.pop() ?? 0 : this.start.push(match.index) - 1;
      [this.end[at], this.after[at]] = [TOKEN_BEGINNINGS.lastIndex, this.start.length];
      if (sign === "{" || sign === "[") open.push(at);
    }
  }

  /** @param {number} token */
  kind(token) {
    const sign = this.text[this.start[token]];
    return sign === "{" ? "object" : sign === "[" ? "array" : sign === '"' ? "string" : /[tfn]/.test(sign) ? "word" : "number";
  }

  /** @param {number} token */
  raw(token) {
    return this.text.slice(this.start[token], this.end[token]);
  }

  /**
   * The children of an object or array, as pairs of the token of the name (-1 in an array) and that of the value.
   * @param {number} token
   * @returns {Generator<[number, number]>}
   */
  *children(token) {
    const isObject = this.kind(token) === "object";
    for (let at = token + 1; at < this.after[token]; ) {
      const value = isObject ? at + 1 : at;
      yield [isObject ? at : -1, value];
      at = this.after[value];
    }
  }
}

/**
 * A token in which escapes of letters are written out, as people read them; all others are kept.
 * @param {string} token
 * @returns {string}
 */
export function readableToken(token) {
  return token.replace(READABLE_ESCAPE, (escape, high, low, single) => {
    if (escape === "\\\\") return escape;
    const letter = String.fromCharCode(...[high, low, single].filter(Boolean).map((digits) => parseInt(digits, 16)));
    return letter > "\x7f" && !/[\p{C}\p{Z}]/u.test(letter) ? letter : escape;
  });
}

/** A tree in the page: flat rows with levels, so that depth costs nothing. */
export class JsonTree {
  /** @param {JsonText} json @param {string} label */
  constructor(json, label) {
    this.json = json;
    this.box = h("div", {class: "tree", role: "tree", "aria-label": label, on: {keydown: (/** @type {KeyboardEvent} */ event) => this.onKey(event)}}, this.row(0, 1, ""));
    this.rows[0].tabIndex = 0;
    this.openAll(OPENED_AT_FIRST);
  }

  get rows() {
    return /** @type {HTMLElement[]} */ ([...this.box.children]);
  }

  /**
   * @param {number} token
   * @param {number} level
   * @param {HTMLElement | string} name
   */
  row(token, level, name) {
    const {json} = this;
    const [kind, size] = [json.kind(token), json.end[token] - json.start[token]];
    const isOpenable = json.after[token] > token + 1;
    const hasMore = kind === "string" && (size > STRING_AT_ONCE || json.raw(token).includes("\\n"));
    const whole = h("button", {type: "button", class: "show-more", on: {click: () => whole.replaceWith(longText(JSON.parse(json.raw(token))))}}, `as text (${sizeInWords(size)})`);
    const row = h("div", {
      class: "tree-row", role: "treeitem", tabindex: "-1", "aria-level": level, "aria-expanded": isOpenable && "false", "data-token": token,
      style: {"padding-inline-start": `${Math.min(level - 1, DEEPEST_INDENT) * 1.1}em`}, on: {click: () => this.toggle(row)},
    }, h("span", {class: "twist", "aria-hidden": "true"}, isOpenable && "▸"), name,
    h("span", {class: `tree-${kind}`}, isOpenable ? `${kind === "object" ? "{…}" : "[…]"} ${sizeInWords(size)}` : this.beginning(token)),
    hasMore && [" ", whole]);
    return row;
  }

  /** @param {number} token */
  beginning(token) {
    return markedText(readableToken(this.json.raw(token).slice(0, STRING_AT_ONCE)));
  }

  /** @param {HTMLElement} row */
  toggle(row) {
    const isOpen = row.ariaExpanded === "true";
    const level = Number(row.ariaLevel);
    if (row.ariaExpanded === null) return;
    row.ariaExpanded = String(!isOpen);
    while (isOpen && Number(row.nextElementSibling?.ariaLevel) > level) row.nextElementSibling?.remove();
    if (isOpen) return;
    const children = [...this.json.children(Number(row.dataset.token))];
    const end = h("div", {role: "treeitem", tabindex: "-1", "aria-level": level + 1});
    row.after(end);
    let shown = 0;
    addInParts(end, () => {
      for (const [name, value] of children.slice(shown, shown + CHILDREN_AT_ONCE)) {
        const label = name < 0 ? h("span", {class: "tree-index"}, `${shown} `) : h("span", {class: "tree-name"}, this.beginning(name), ": ");
        end.before(this.row(value, level + 1, label));
        shown++;
      }
      return shown < children.length ? countInWords(children.length - shown, "more value") : "";
    });
    if (shown === children.length) end.remove();
  }

  /**
   * Opens what is closed, outer values first, until there are so many rows.
   * @param {number} most
   */
  openAll(most = OPENED_BY_ALL) {
    let closed = this.rows;
    for (let level = 2; closed.length > 0; level++) {
      for (const row of closed) if (row.ariaExpanded === "false" && this.box.childElementCount < most) this.toggle(row);
      closed = this.rows.filter((row) => Number(row.ariaLevel) === level);
    }
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const {rows} = this;
    const at = rows.indexOf(/** @type {HTMLElement} */ (event.target));
    if (at < 0) return;
    const row = rows[at];
    const opens = {ArrowRight: "false", ArrowLeft: "true", Enter: row.ariaExpanded}[event.key];
    const by = {ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1}[event.key] ?? 0;
    if (opens !== undefined && opens === row.ariaExpanded) this.toggle(row);
    else if (by === 0) return;
    const next = opens === row.ariaExpanded ? row : rows[at + by] ?? row;
    event.preventDefault();
    event.stopPropagation();
    row.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }
}

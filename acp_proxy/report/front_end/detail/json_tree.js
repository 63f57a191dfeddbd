// Shows JSON as a tree. The text is cut into tokens and never parsed into values, so numbers keep their form, objects a
// repeated name and strings their escapes; what is not open is not made, so depth and size do not matter.
import {h} from "../shell/dom.js";
import {addInParts, longText, markedText} from "./hex.js";
import {countInWords, sizeInWords} from "./values.js";

const WHITE = /[ \t\r\n]*/y;
const STRING_TOKEN = /"[^"\\]*(?:\\[^][^"\\]*)*"/y;
const SCALAR_TOKEN = /-?\d[\d.eE+-]*|true|false|null/y;
// An escape of a character that can be shown as it is.
const READABLE_ESCAPE = /\\\\|\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})/g;
const CHILDREN_AT_ONCE = 100;
const STRING_AT_ONCE = 500;
const OPENED_AT_FIRST = 60;
const OPENED_BY_ALL = 1000;
const DEEPEST_INDENT = 40;

/** The places of all tokens of a text: each value is followed by its descendants, in an object each name by its value. */
export class JsonText {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
    /** @type {number[]} */
    this.start = [];
    /** @type {number[]} */
    this.end = [];
    // By token, the one after its last descendant.
    /** @type {number[]} */
    this.after = [];
    // The place from which on the text is no JSON; -1 if all of it is.
    this.error = -1;
    this.read();
  }

  read() {
    const {text, start, end, after} = this;
    /** @type {number[]} */
    const open = [];
    let at = 0;
    let wanted = "value";
    const skip = (/** @type {RegExp} */ pattern) => {
      pattern.lastIndex = at;
      const match = pattern.exec(text);
      if (match !== null) at = pattern.lastIndex;
      return match !== null;
    };
    for (;;) {
      skip(WHITE);
      const from = at;
      const sign = text[at];
      const inObject = open.length > 0 && text[start[open[open.length - 1]]] === "{";
      const mayClose = wanted === "comma" || wanted === "first" || wanted === "firstname";
      if (mayClose && open.length > 0 && sign === (inObject ? "}" : "]")) {
        at++;
        const closed = open.pop() ?? 0;
        [end[closed], after[closed]] = [at, start.length];
        wanted = "comma";
      } else if (wanted === "comma" && sign === "," && open.length > 0) {
        at++;
        wanted = inObject ? "name" : "value";
      } else if (wanted === "colon" && sign === ":") {
        at++;
        wanted = "value";
      } else if (wanted.endsWith("name") && skip(STRING_TOKEN)) {
        this.add(from, at);
        wanted = "colon";
      } else if ((wanted === "value" || wanted === "first") && (sign === "{" || sign === "[")) {
        at++;
        open.push(this.add(from, at));
        wanted = sign === "{" ? "firstname" : "first";
      } else if ((wanted === "value" || wanted === "first") && (skip(STRING_TOKEN) || skip(SCALAR_TOKEN))) {
        this.add(from, at);
        wanted = "comma";
      } else break;
    }
    if (at < text.length || open.length > 0 || wanted !== "comma") this.error = at;
    for (const left of open) [end[left], after[left]] = [at, start.length];
  }

  /**
   * @param {number} from
   * @param {number} to
   */
  add(from, to) {
    this.start.push(from);
    this.end.push(to);
    return this.after.push(this.start.length) - 1;
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
      // A name at the end of a text that was cut off has no value.
      if (value >= this.after[token]) return;
      yield [isObject ? at : -1, value];
      at = this.after[value];
    }
  }

  /**
   * The token of the value that names lead to; -1 if there is none.
   * @param {readonly string[]} path
   * @returns {number}
   */
  find(path) {
    let token = 0;
    for (const wanted of path) {
      let found = -1;
      if (this.kind(token) === "object") {
        for (const [name, value] of this.children(token)) if (unescapedToken(this.raw(name)) === wanted) found = value;
      }
      if (found < 0) return -1;
      token = found;
    }
    return this.start.length > 0 ? token : -1;
  }
}

/**
 * A JSON string as text; the token itself if its escapes are wrong.
 * @param {string} token
 * @returns {string}
 */
export function unescapedToken(token) {
  try {
    return JSON.parse(token.replace(/[\0-\x1f]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`));
  } catch {
    return token;
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
  /**
   * @param {JsonText} json
   * @param {number} root
   * @param {string} label
   */
  constructor(json, root, label) {
    this.json = json;
    this.box = h("div", {class: "tree", role: "tree", "aria-label": label, on: {keydown: (/** @type {KeyboardEvent} */ event) => this.key(event)}});
    /** @type {WeakMap<Element, {token: number, level: number}>} */
    this.places = new WeakMap();
    this.box.append(this.row(root, 1));
    this.box.firstElementChild?.setAttribute("tabindex", "0");
    this.openAll(OPENED_AT_FIRST);
    if (json.error >= 0 && root === 0) {
      const rest = json.text.slice(json.error, json.error + STRING_AT_ONCE);
      this.box.append(h("div", {class: "trouble"}, "from here it is no JSON: ", markedText(rest || "(the end is missing)")));
    }
  }

  /**
   * @param {number} token
   * @param {number} level
   * @param {...(HTMLElement | string)} name
   */
  row(token, level, ...name) {
    const {json} = this;
    const [kind, size] = [json.kind(token), json.end[token] - json.start[token]];
    const isOpenable = json.after[token] > token + 1;
    const isScalar = kind !== "object" && kind !== "array";
    const signs = kind === "object" ? "{}" : "[]";
    const row = h("div", {
      class: "tree-row", role: "treeitem", tabindex: "-1", "aria-level": level, "aria-expanded": isOpenable ? "false" : null,
      style: {"padding-inline-start": `${Math.min(level - 1, DEEPEST_INDENT) * 1.1}em`}, on: {click: () => this.toggle(row)},
    }, h("span", {class: "twist", "aria-hidden": "true"}, isOpenable ? "▸" : ""), ...name);
    this.places.set(row, {token, level});
    if (isScalar) row.append(h("span", {class: `tree-${kind}`}, this.beginning(token)));
    else row.append(h("span", {class: "tree-summary"}, isOpenable ? `${signs[0]}…${signs[1]} ${sizeInWords(size)}` : signs));
    if (kind === "string" && (size > STRING_AT_ONCE || json.raw(token).includes("\\n"))) {
      const whole = h("button", {type: "button", class: "show-more", on: {click: () => whole.replaceWith(longText(unescapedToken(json.raw(token))))}},
        size > STRING_AT_ONCE ? `… as text (${sizeInWords(size)})` : "as text");
      row.append(" ", whole);
    }
    return row;
  }

  /** @param {number} token */
  beginning(token) {
    const {text, start, end} = this.json;
    return markedText(readableToken(text.slice(start[token], Math.min(end[token], start[token] + STRING_AT_ONCE))));
  }

  /** @param {Element} row */
  level(row) {
    return this.places.get(row)?.level ?? 0;
  }

  /** @param {Element} row */
  toggle(row) {
    const isOpen = row.getAttribute("aria-expanded") === "true";
    const place = this.places.get(row);
    if (place === undefined || !row.hasAttribute("aria-expanded")) return;
    row.setAttribute("aria-expanded", String(!isOpen));
    if (!isOpen) this.open(row, place.token, place.level);
    else while (row.nextElementSibling && this.level(row.nextElementSibling) > place.level) row.nextElementSibling.remove();
  }

  /**
   * @param {Element} row
   * @param {number} token
   * @param {number} level
   */
  open(row, token, level) {
    const children = [...this.json.children(token)];
    const end = h("div", {role: "treeitem", tabindex: "-1", "aria-level": level + 1});
    this.places.set(end, {token, level: level + 1});
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
    const {box, json} = this;
    for (let level = 1, rows = [...box.children]; rows.length > 0; level++) {
      for (const row of rows) {
        const {token} = this.places.get(row) ?? {token: -1};
        // One large value would leave no room for its neighbours.
        const isLarge = level > 1 && most === OPENED_AT_FIRST && json.after[token] - token > most;
        if (row.getAttribute("aria-expanded") === "false" && !isLarge && box.childElementCount < most) this.toggle(row);
      }
      rows = [...box.children].filter((row) => this.level(row) === level + 1);
    }
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const row = /** @type {HTMLElement} */ (event.target);
    if (row.getAttribute("role") !== "treeitem") return;
    const rows = [.../** @type {NodeListOf<HTMLElement>} */ (this.box.querySelectorAll("[role=treeitem]"))];
    const [at, expanded] = [rows.indexOf(row), row.getAttribute("aria-expanded")];
    const {key} = event;
    let next = row;
    if (key === "ArrowDown" || (key === "ArrowRight" && expanded === "true")) next = rows[at + 1];
    else if (key === "ArrowUp") next = rows[at - 1];
    else if (key === "Home" || key === "End") next = rows[key === "Home" ? 0 : rows.length - 1];
    else if (key === "ArrowLeft" && expanded !== "true") next = rows.slice(0, at).findLast((one) => this.level(one) < this.level(row)) ?? row;
    else if (["ArrowRight", "ArrowLeft", "Enter", " "].includes(key)) this.toggle(row);
    else return;
    event.preventDefault();
    event.stopPropagation();
    row.tabIndex = -1;
    (next ?? row).tabIndex = 0;
    (next ?? row).focus();
  }
}

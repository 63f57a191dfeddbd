// Shows JSON as a tree. The text is cut into tokens and never parsed into values, so numbers keep their form, objects a
// repeated name and strings their escapes; what is not open is not made, so depth and size do not matter.
import {h} from "../shell/dom.js";
import {markedText, moreButton} from "./hex.js";
import {countInWords, sizeInWords} from "./values.js";

const WHITE = /[ \t\r\n]*/y;
const STRING_TOKEN = /"[^"\\]*(?:\\[^][^"\\]*)*"/y;
const SCALAR_TOKEN = /-?\d[\d.eE+-]*|true|false|null/y;
// An escape of a character that can be shown as it is.
const READABLE_ESCAPE = /\\\\|\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})/g;
const CHILDREN_AT_ONCE = 100;
const STRING_AT_ONCE = 500;
const TEXT_AT_ONCE = 50_000;
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
    this.box = h("div", {class: "tree", role: "tree", "aria-label": label});
    /** @type {WeakMap<Element, {token: number, level: number}>} */
    this.rows = new WeakMap();
    this.box.addEventListener("keydown", (event) => this.key(event));
    if (json.start.length > 0) this.box.append(this.row(-1, root, 1, 1, 1));
    const first = this.box.firstElementChild;
    first?.setAttribute("tabindex", "0");
    this.openAll(OPENED_AT_FIRST);
    if (json.error >= 0 && root === 0) {
      const rest = json.text.slice(json.error, json.error + STRING_AT_ONCE);
      this.box.append(h("div", {class: "trouble"}, `from here it is no JSON: `, markedText(rest || "(the end is missing)")));
    }
  }

  /**
   * @param {number} name
   * @param {number} token
   * @param {number} level
   * @param {number} position
   * @param {number} count
   */
  row(name, token, level, position, count) {
    const {json} = this;
    const kind = json.kind(token);
    const isOpenable = json.after[token] > token + 1;
    const row = h("div", {
      class: `tree-row ${kind}`, role: "treeitem", tabindex: "-1", "aria-level": String(level),
      "aria-posinset": String(position), "aria-setsize": String(count),
      style: {"padding-inline-start": `${Math.min(level - 1, DEEPEST_INDENT) * 1.1}em`},
    });
    this.rows.set(row, {token, level});
    row.append(h("span", {class: "twist", "aria-hidden": "true"}, isOpenable ? "▸" : ""));
    if (name >= 0) row.append(h("span", {class: "tree-name"}, this.cut(name)), ": ");
    if (kind === "object" || kind === "array") {
      const [left, right] = kind === "object" ? ["{", "}"] : ["[", "]"];
      row.append(h("span", {class: "tree-summary"}, isOpenable ? `${left}…${right} ${sizeInWords(json.end[token] - json.start[token])}` : left + right));
    } else row.append(...this.scalar(token, kind));
    if (isOpenable) {
      row.setAttribute("aria-expanded", "false");
      row.addEventListener("click", () => this.toggle(row));
    }
    return row;
  }

  /** @param {number} token */
  cut(token) {
    return markedText(readableToken(this.json.text.slice(this.json.start[token], Math.min(this.json.end[token], this.json.start[token] + STRING_AT_ONCE))));
  }

  /**
   * @param {number} token
   * @param {string} kind
   */
  scalar(token, kind) {
    const {json} = this;
    const length = json.end[token] - json.start[token];
    /** @type {HTMLElement[]} */
    const parts = [h("span", {class: `tree-${kind}`}, this.cut(token))];
    if (kind !== "string" || (length <= STRING_AT_ONCE && !json.raw(token).includes("\\n"))) return parts;
    const whole = h("button", {type: "button", class: "show-more"}, length > STRING_AT_ONCE ? `… as text (${sizeInWords(length)})` : "as text");
    whole.addEventListener("click", (event) => {
      event.stopPropagation();
      whole.replaceWith(longText(unescapedToken(json.raw(token))));
    });
    return [...parts, whole];
  }

  /** @param {Element} row */
  isOpen(row) {
    return row.getAttribute("aria-expanded") === "true";
  }

  /** @param {Element} row */
  toggle(row) {
    if (this.isOpen(row)) this.close(row);
    else if (row.hasAttribute("aria-expanded")) this.open(row);
  }

  /** @param {Element} row */
  open(row) {
    const place = this.rows.get(row);
    if (place === undefined) return;
    row.setAttribute("aria-expanded", "true");
    const children = [...this.json.children(place.token)];
    const isArray = this.json.kind(place.token) === "array";
    let shown = 0;
    let last = row;
    const more = h("div", {class: "tree-more", style: {"padding-inline-start": `${Math.min(place.level, DEEPEST_INDENT) * 1.1}em`}});
    const append = () => {
      for (const [name, value] of children.slice(shown, shown + CHILDREN_AT_ONCE)) {
        shown++;
        const child = this.row(name, value, place.level + 1, shown, children.length);
        if (isArray && children.length > 1) child.children[0].after(h("span", {class: "tree-index"}, `${shown - 1} `));
        if (more.isConnected) more.before(child);
        else last.after(child);
        last = child;
      }
      return Promise.resolve(shown < children.length ? countInWords(children.length - shown, "more value") : "");
    };
    void append();
    if (shown >= children.length) return;
    last.after(more);
    this.rows.set(more, {token: -1, level: place.level + 1});
    more.append(moreButton(append));
  }

  /** @param {Element} row */
  close(row) {
    row.setAttribute("aria-expanded", "false");
    const level = this.rows.get(row)?.level ?? 0;
    for (let next = row.nextElementSibling; next !== null && (this.rows.get(next)?.level ?? 0) > level; next = row.nextElementSibling) next.remove();
  }

  /**
   * Opens what is closed, outer values first, until there are so many rows.
   * @param {number} most
   */
  openAll(most = OPENED_BY_ALL) {
    for (let level = 1; this.box.childElementCount < most; level++) {
      const rows = [...this.box.children].filter((row) => this.rows.get(row)?.level === level);
      if (rows.length === 0) return;
      for (const row of rows) {
        if (row.getAttribute("aria-expanded") !== "false") continue;
        const place = this.rows.get(row);
        // Many children of one array would leave no room for its neighbours.
        const isLarge = place !== undefined && level > 1 && most < OPENED_BY_ALL && this.json.after[place.token] - place.token > most;
        if (!isLarge && this.box.childElementCount < most) this.open(row);
      }
    }
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const row = event.target instanceof Element ? event.target.closest("[role=treeitem]") : null;
    if (row === null || event.target !== row) return;
    const rows = () => [...this.box.querySelectorAll("[role=treeitem]")];
    const level = this.rows.get(row)?.level ?? 0;
    /** @type {Element|null|undefined} */
    let next = null;
    if (event.key === "ArrowDown") next = rows()[rows().indexOf(row) + 1];
    else if (event.key === "ArrowUp") next = rows()[rows().indexOf(row) - 1];
    else if (event.key === "Home") next = rows()[0];
    else if (event.key === "End") next = rows().at(-1);
    else if (event.key === "ArrowRight" && this.isOpen(row)) next = row.nextElementSibling;
    else if (event.key === "ArrowLeft" && !this.isOpen(row)) {
      next = rows().slice(0, rows().indexOf(row)).findLast((one) => (this.rows.get(one)?.level ?? 0) < level);
    } else if (["ArrowRight", "ArrowLeft", "Enter", " "].includes(event.key)) this.toggle(row);
    else return;
    event.preventDefault();
    event.stopPropagation();
    if (!(next instanceof HTMLElement)) return;
    row.setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  }
}

/**
 * A text with its lines, in parts if it is long.
 * @param {string} text
 * @returns {HTMLElement}
 */
export function longText(text) {
  const box = h("div", {class: "text"});
  let at = 0;
  const append = () => {
    let end = Math.min(text.length, at + TEXT_AT_ONCE);
    if (end < text.length && /[\ud800-\udbff]/.test(text[end - 1])) end--;
    const part = markedText(text.slice(at, end));
    if (more === null) box.append(part);
    else more.before(part);
    at = end;
    return Promise.resolve(at < text.length ? countInWords(text.length - at, "character") : "");
  };
  /** @type {HTMLElement|null} */
  let more = null;
  void append();
  if (at < text.length) box.append((more = moreButton(append)));
  return box;
}

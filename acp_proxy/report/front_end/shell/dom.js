// Makes elements out of names and values, and writes times, sizes and counts for people, in the
// words of the command line. No string is ever parsed as HTML, and attributes that could run or
// fetch something are refused. Invisible characters are shown as escapes in all texts and
// attributes.

/**
 * @typedef {Node | string | number | null | undefined | false} Child
 * @typedef {Record<string, any>} Attributes
 */

/** Attributes that fetch, navigate or run. */
const REFUSED =
  /^(on.*|style|src|srcset|srcdoc|href|xlink:href|action|formaction|background|data|ping)$/i;
const REFUSED_TAGS = /^(script|iframe|object|embed|link|meta|base|form)$/i;
const PICTURE_TYPES = /^image\/(png|jpeg|gif|webp)$/;

/**
 * Makes an HTML element. `on` contains event listeners by name, and `style` CSS properties by name.
 * An attribute that is null or false is left out; an attribute that is true has an empty value.
 * @template {keyof HTMLElementTagNameMap} T @param {T} tag @param {Attributes | null} [values]
 * @param {...(Child | Child[])} children @returns {HTMLElementTagNameMap[T]}
 */
export const h = (tag, values, ...children) => fill(document.createElement(tag), values, children);

/**
 * Makes an SVG element, as `h` makes HTML elements.
 * @template {keyof SVGElementTagNameMap} T @param {T} tag @param {Attributes | null} [attributes]
 * @param {...(Child | Child[])} children @returns {SVGElementTagNameMap[T]}
 */
export const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

/**
 * Makes a `div` of a class; with an empty name, a `div` without a class.
 * @param {string} name @param {...(Child | Child[])} children
 */
export const div = (name, ...children) => h("div", { class: name || null }, ...children);

/**
 * Makes a `span` of a class; with an empty name, a `span` without a class.
 * @param {string} name @param {...(Child | Child[])} children
 */
export const span = (name, ...children) => h("span", { class: name || null }, ...children);

/** A sign and what it means. @param {string} name @param {string} shape @param {string} words */
export const sign = (name, shape, words) =>
  h("span", { class: name || null, role: "img", "aria-label": words, title: words }, shape);

/** A paragraph in small print. @param {...(Child | Child[])} children */
export const noteLine = (...children) => h("p", { class: "note" }, ...children);

/** A paragraph which says why something cannot be shown. @param {unknown} error */
export const failureLine = (error) =>
  h("p", { class: "trouble" }, `This cannot be shown: ${messageOf(error)}`);

/**
 * A button that calls a function; its title is also its name.
 * @param {Child | Child[]} label @param {(event: MouseEvent) => void} click
 * @param {Attributes} [attributes]
 */
export const button = (label, click, attributes) => {
  const own = { type: "button", on: { click }, "aria-label": attributes?.title ?? null };
  return h("button", { ...own, ...attributes }, label);
};

/**
 * An image out of bytes that are in the page; nothing is fetched.
 * @param {string} type of the bytes, by their header @param {Uint8Array} bytes
 * @param {Attributes} attributes
 */
export function picture(type, bytes, attributes) {
  if (!PICTURE_TYPES.test(type)) throw new Error(`no image of the type ${type} is shown`);
  const image = h("img", attributes);
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  image.src = `data:${type};base64,${btoa(text)}`;
  return image;
}

/**
 * Replaces all children of a node.
 * @param {Element} node @param {...(Child | Child[])} children
 */
export const clear = (node, ...children) => node.replaceChildren(...nodesOf(children));

/**
 * The first element of the page that matches a selector, or null.
 * @param {string} selector @returns {any}
 */
export const part = (selector) => document.querySelector(selector);

/** A copy of a template of the page. @param {string} id @returns {any} a fragment */
export const copyOf = (id) => part(`#${id}`).content.cloneNode(true);

/**
 * Sets an attribute, or removes it if its value is null or false.
 * @param {Element} element @param {string} name
 * @param {string | number | boolean | null | undefined} value
 */
export function setAttribute(element, name, value) {
  if (REFUSED.test(name)) throw new Error(`an attribute ${name} is never set`);
  if (value === null || value === undefined || value === false) element.removeAttribute(name);
  else element.setAttribute(name, value === true ? "" : visibleText(String(value)));
}

/**
 * @template {HTMLElement | SVGElement} E @param {E} element
 * @param {Attributes | null | undefined} attributes @param {(Child | Child[])[]} children
 */
function fill(element, attributes, children) {
  const { localName } = element;
  if (REFUSED_TAGS.test(localName)) throw new Error(`an element ${localName} is never made`);
  const { on = {}, style = {}, ...others } = attributes ?? {};
  for (const [event, listener] of Object.entries(on)) element.addEventListener(event, listener);
  for (const [name, text] of Object.entries(style)) element.style.setProperty(name, String(text));
  for (const [name, value] of Object.entries(others)) setAttribute(element, name, value);
  element.append(...nodesOf(children));
  return element;
}

/** @param {(Child | Child[])[]} children @returns {(Node | string)[]} */
const nodesOf = (children) => children.flat().flatMap((child) =>
  child instanceof Node ? child : child || child === 0 ? visibleText(String(child)) : []);

const EMOJI = "\\u2600-\\u27bf\\u{1f000}-\\u{1faff}";
// Control characters, invisible characters and unusual blanks, except a joiner within an emoji.
const JOINERS = `(?<![${EMOJI}\\ufe0f])\\u200d|\\u200d(?![${EMOJI}])`;
const UNSEEN = new RegExp(`(${JOINERS}|(?![ \\n\\t\\u200d])[\\p{C}\\p{Z}])`, "gu");

/**
 * Divides a text into pieces. A piece is `odd` if it is the escape of an invisible character.
 * @param {string} text @returns {{text: string, odd: boolean}[]}
 */
export const visiblePieces = (text) => text.split(UNSEEN).flatMap((piece, at) =>
  piece === "" ? [] : { text: at % 2 ? escapeOf(piece) : piece, odd: at % 2 > 0 });

/** @param {string} odd a character */
function escapeOf(odd) {
  const code = odd.codePointAt(0) ?? 0;
  const [letter, digits] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
  return odd === "\r" ? "\\r" : `\\${letter}${code.toString(16).padStart(digits, "0")}`;
}

/**
 * The text with control, invisible and bidi characters as escapes; newlines and tabs are kept.
 * @param {string} text
 */
export const visibleText = (text) => text.replace(UNSEEN, escapeOf);

/**
 * The resolution of the recorded times in nanoseconds: 0 if it is finer than times are written, and
 * NaN if there are no times.
 */
let stepNs = 0;

/**
 * Sets the resolution of all times that are written from now on.
 * @param {number} ns the resolution in nanoseconds; NaN if no times are known
 */
export const setTimeStep = (ns) => void (stepNs = ns);

/**
 * Writes the time since the start, with a text before and a text after it; empty if no times are
 * known.
 * @param {number} ns @param {string} [before] @param {string} [after]
 */
export const secondsInWords = (ns, before = "", after = "") =>
  Number.isNaN(stepNs) ? "" : `${before}${(ns / 1e9).toFixed(3)}${after}`;

/**
 * Writes a duration in a suitable unit, with a text before it. Empty for NaN, and if no times are
 * known.
 * @param {number} ns @param {string} [before]
 */
export const durationInWords = (ns, before = "") =>
  Number.isNaN(ns + stepNs) ? "" : before + durationWithUnit(ns);

/** @param {number} ns */
function durationWithUnit(ns) {
  if (ns < stepNs) return `<${stepNs % 1e9 ? `${stepNs / 1e6} ms` : `${stepNs / 1e9} s`}`;
  const seconds = Math.floor(ns / 1e9);
  if (stepNs >= 1e9 && ns < 120e9) return `${seconds} s`;
  if (ns < 1e3) return "<1 µs";
  if (ns < 1e6) return `${(ns / 1e3).toFixed(0)} µs`;
  if (ns < 1e9) return `${(ns / 1e6).toFixed(0)} ms`;
  if (ns < 120e9) return `${(ns / 1e9).toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Writes a number of bytes in a suitable unit. @param {number} count */
export function sizeInWords(count) {
  if (count < 1000) return `${count} B`;
  const power = count < 1e6 ? 1 : count < 1e9 ? 2 : 3;
  const number = count / 1000 ** power;
  return `${number.toFixed(number >= 100 && power < 3 ? 0 : 1)} ${"kMG"[power - 1]}B`;
}

/**
 * Writes a number with its noun, such as "1,200 frames".
 * @param {number} count @param {string} noun
 */
export const countInWords = (count, noun) =>
  `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

/**
 * Quotes a word for a shell, if necessary. A terminal could act on characters that cannot be seen,
 * so their escapes take their places.
 * @param {string} word
 */
export const shellWord = (word) =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${visibleText(word).replaceAll("'", "'\"'\"'")}'`;

/** The message of an error. @param {unknown} error */
export const messageOf = (error) => error instanceof Error ? error.message : String(error);

/**
 * @param {string} label
 * @param {{name: string, title: string}[]} tabs whose names no other tab of the page has
 * @param {(name: string) => string} panelOf the id of the panel of a tab
 * @param {(name: string) => void} choose
 */
export function tabList(label, tabs, panelOf, choose) {
  const buttons = tabs.map(({ name, title }) => button(title, () => choose(name), {
    role: "tab", id: `tab-${name}`, "aria-controls": panelOf(name) }));
  const keydown = (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const seen = buttons.filter(({ hidden }) => !hidden);
    const current = seen.findIndex(({ tabIndex }) => tabIndex === 0);
    const next = seen[(current + step + seen.length) % seen.length];
    choose(tabs[buttons.indexOf(next)].name);
    next.focus();
    event.preventDefault();
    event.stopPropagation();
  };
  /**
   * Marks the chosen tab, and hides the tabs whose panels are empty.
   * @param {string} chosen @param {string[]} empty
   */
  const show = (chosen, empty = []) => tabs.forEach(({ name }, place) => {
    buttons[place].hidden = empty.includes(name);
    setAttribute(buttons[place], "aria-selected", String(name === chosen));
    buttons[place].tabIndex = name === chosen ? 0 : -1;
  });
  const attributes = { class: "tabs", role: "tablist", "aria-label": label, on: { keydown } };
  return { element: h("div", attributes, buttons), show };
}

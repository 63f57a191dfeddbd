// Makes elements out of names and values. No string is ever parsed as HTML, and attributes that
// could run or fetch something are refused. Invisible characters are shown as escapes in all texts
// and attributes.
import { messageOf, visibleText } from "./words.js";

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

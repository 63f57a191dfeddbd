// Makes elements out of names and values; no string is ever parsed as HTML, and no name of an
// attribute that could run or fetch something is taken.

/**
 * @typedef {Node | string | number | null | undefined | false} Child
 * @typedef {Record<string, any>} Attributes
 */

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";
/** Attributes that fetch, navigate or run. */
const REFUSED = /^(on.*|style|src|srcset|srcdoc|href|xlink:href|action|formaction|background|data|ping)$/i;
const PICTURE_TYPES = /^image\/(png|jpeg|gif|webp)$/;
const BYTES_AT_ONCE = 8192;
const REFUSED_TAGS = /^(script|iframe|object|embed|link|meta|base|form)$/i;

/**
 * Makes an HTML element. `on` holds event listeners by name, `style` holds CSS properties by name;
 * an attribute that is null or false is left out, and one that is true is empty.
 * @template {keyof HTMLElementTagNameMap} T @param {T} tag @param {Attributes | null} [attributes]
 * @param {...(Child | Child[])} children @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/**
 * Makes an SVG element, in the same way.
 * @template {keyof SVGElementTagNameMap} T @param {T} tag @param {Attributes | null} [attributes]
 * @param {...(Child | Child[])} children @returns {SVGElementTagNameMap[T]}
 */
export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG_NAMESPACE, tag), attributes, children);
}

/**
 * An image out of bytes that are in the page; nothing is fetched.
 * @param {string} type of the bytes, by their header @param {Uint8Array} bytes @param {Attributes} attributes
 */
export function picture(type, bytes, attributes) {
  if (!PICTURE_TYPES.test(type)) throw new Error(`no image of the type ${type} is shown`);
  const image = h("img", attributes);
  let text = "";
  for (let at = 0; at < bytes.length; at += BYTES_AT_ONCE) text += String.fromCharCode(...bytes.subarray(at, at + BYTES_AT_ONCE));
  image.src = `data:${type};base64,${btoa(text)}`;
  return image;
}

/** Removes all children, and adds others. @param {Node} node @param {...(Child | Child[])} children */
export function clear(node, ...children) {
  node.textContent = "";
  addChildren(node, children);
}

/**
 * Sets an attribute, or removes it if its value is null or false.
 * @param {Element} element @param {string} name
 * @param {string | number | boolean | null | undefined} value
 */
export function setAttribute(element, name, value) {
  if (REFUSED.test(name)) throw new Error(`an attribute ${name} is never set`);
  if (value === null || value === undefined || value === false) element.removeAttribute(name);
  else element.setAttribute(name, value === true ? "" : String(value));
}

/**
 * @template {HTMLElement | SVGElement} E @param {E} element
 * @param {Attributes | null | undefined} attributes @param {(Child | Child[])[]} children
 */
function fill(element, attributes, children) {
  if (REFUSED_TAGS.test(element.localName)) throw new Error(`an element ${element.localName} is never made`);
  const { on = {}, style = {}, ...others } = attributes ?? {};
  for (const [event, listener] of Object.entries(on)) element.addEventListener(event, /** @type {EventListener} */ (listener));
  for (const [property, text] of Object.entries(style)) element.style.setProperty(property, String(text));
  for (const [name, value] of Object.entries(others)) setAttribute(element, name, value);
  addChildren(element, children);
  return element;
}

/** @param {Node} node @param {(Child | Child[])[]} children */
function addChildren(node, children) {
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) node.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

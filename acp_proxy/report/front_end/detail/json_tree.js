// Shows JSON as a tree in which numbers and escapes are shown as they are written. The elements of
// a closed branch are not made until the branch is opened.
import { RawValue, parsedRaw } from "../data/values.js";
import { button, div, h, span } from "../shell/dom.js";
import { countInWords, sizeInWords } from "../shell/words.js";
import { addInParts, longText, markedText } from "./hex.js";

/** An escape of a character, or of a surrogate pair, that may be shown as the character. */
const READABLE_ESCAPE =
  /\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}/g;
const STRING_AT_ONCE = 500;

/**
 * A token in which escapes of letters are replaced by the letters; all other escapes are kept.
 * @param {string} token
 */
export const readableToken = (token) => token.replace(READABLE_ESCAPE, (escape) => {
  const letter = JSON.parse(`"${escape}"`);
  return letter > "\x7f" && !/[\p{C}\p{Z}]/u.test(letter) ? letter : escape;
});

/** A tree in the page. The content of an object or array is made when its branch is opened. */
export class JsonTree {
  made = 0;
  /**
   * The branches that nobody has opened yet, the outer branches first.
   * @type {Map<HTMLDetailsElement, {value: any, level: number}>}
   */
  closed = new Map();

  /** @param {string} text @throws {SyntaxError} if it is no JSON */
  constructor(text) {
    this.box = div("tree", this.node(parsedRaw(text), 1));
    this.openAll(60);
  }

  /** @param {any} value @param {number} level @param {...HTMLElement} name */
  node(value, level, ...name) {
    this.made++;
    if (value instanceof RawValue) return div("", name, primitive(String(value)));
    const { length } = Object.keys(value);
    const [open, close] = Array.isArray(value) ? "[]" : "{}";
    if (length === 0) return div("", name, open + close);
    const on = { toggle: () => this.fill(details) };
    const details = h("details", { on }, h("summary", null, name, `${open}…${close} ${length}`));
    this.closed.set(details, { value, level });
    return details;
  }

  /** Makes the content of a branch when it is first opened. @param {HTMLDetailsElement} details */
  fill(details) {
    const { value: parent, level = 0 } = this.closed.get(details) ?? {};
    if (!this.closed.delete(details)) return;
    const [children, box] = [Object.entries(parent), div("")];
    details.append(box);
    addInParts(box, (add) => {
      for (const [name, value] of children.splice(0, 100)) {
        const label = Array.isArray(parent) ? `${name} ` : [markedText(JSON.stringify(name)), ": "];
        add(this.node(value, level + 1, span("tree-name", label)));
      }
      return children.length > 0 ? countInWords(children.length, "more value") : "";
    });
  }

  /** Opens closed branches, the outer branches first, until a number of elements are made. */
  openAll(most = 1000) {
    for (const [details, { level }] of this.closed) {
      if (this.made > most) return;
      // Deeper levels are opened one by one.
      if (level > 60) continue;
      this.fill(details);
      details.open = true;
    }
  }
}

/**
 * Shows a string, a number or a word such as `true`. Of a long string, shows the beginning.
 * @param {string} raw
 */
function primitive(raw) {
  const kind = raw[0] === '"' ? "string" : /[tfn]/.test(raw[0]) ? "word" : "number";
  const shown = span(`tree-${kind}`, markedText(readableToken(raw.slice(0, STRING_AT_ONCE))));
  if (raw.length <= STRING_AT_ONCE && !raw.includes("\\n")) return shown;
  const show = () => more.replaceWith(longText(JSON.parse(raw)));
  const more = button(`as text (${sizeInWords(raw.length)})`, show, { class: "show-more" });
  return span("", shown, " ", more);
}

// Renders the part of Markdown that agents write. HTML in a text is shown as text, links cannot be
// followed, and text in any other notation is shown as it was written.
import { h, visibleText } from "../shell/dom.js";

const FENCE = /^ {0,3}(\x60{3,}|~{3,})/;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*$/;
const RULE = /^ {0,3}(?:(?:- *){3,}|(?:\* *){3,}|(?:_ *){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])( {1,4}|$)/;
const TABLE = /^ {0,3}\|/;
const BLOCKS = [FENCE, HEADING, RULE, QUOTE, ITEM, TABLE];
// Spans are limited in length and do not cross lines, so that no text takes long to match.
const SPANS = new RegExp([
  /(?<!\x60)(?<ticks>\x60{1,3})(?!\x60)(?<code>.{1,400}?)(?<!\x60)\k<ticks>(?!\x60)/,
  /\*\*(?<bold>[^*\s][^*\n]{0,400})\*\*/,
  /(?<![\w_])__(?<strong>[^_\s][^_\n]{0,400})__(?![\w_])/,
  /(?<![\w*])\*(?<slanted>[^*\s][^*\n]{0,400})\*(?![\w*])/,
  /(?<![\w_])_(?<italic>[^_\s][^_\n]{0,400})_(?![\w_])/,
  /\[(?<label>[^[\]\n]{1,400})\]\((?<address>[^()\s]{1,400})\)/,
].map(({ source }) => source).join("|"), "g");

/** The elements of a text in Markdown. @param {string} text */
export const markdownElements = (text) =>
  blocksOf(visibleText(text.replace(/\r\n?/g, "\n")).split("\n"), 0);

/** @param {string[]} lines @param {number} depth @returns {HTMLElement[]} */
function blocksOf(lines, depth) {
  /** @type {HTMLElement[]} */
  const made = [];
  for (let at = 0; at < lines.length; ) {
    const [line, start] = [lines[at], at];
    const take = (/** @type {(line: string) => boolean} */ isWithin) => {
      for (at += 1; at < lines.length && isWithin(lines[at]); ) at += 1;
      return lines.slice(start, at);
    };
    const [, fence] = FENCE.exec(line) ?? [];
    const [, level, title] = HEADING.exec(line) ?? [];
    const isNested = depth < 6;
    if (fence) {
      made.push(h("pre", null, take((one) => !endsFence(one, fence)).slice(1).join("\n")));
      at += 1;
    } else if (isNested && QUOTE.test(line)) {
      const quoted = take((one) => QUOTE.test(one)).map((one) => one.replace(QUOTE, ""));
      made.push(h("div", { class: "quote" }, blocksOf(quoted, depth + 1)));
    } else if (TABLE.test(line)) {
      made.push(h("pre", null, take((one) => TABLE.test(one)).join("\n")));
    } else if (level || RULE.test(line) || line.trim() === "") {
      at += 1;
      if (level) made.push(h("h4", { class: `level-${level.length}` }, spansOf(title)));
      else if (line.trim() !== "") made.push(h("hr"));
    } else if (isNested && ITEM.test(line)) {
      made.push(listElement(take((one) => isOfList(line, one)), depth));
    } else {
      const words = take((one) => one.trim() !== "" && !BLOCKS.some((block) => block.test(one)));
      made.push(h("p", null, spansOf(words.join("\n"))));
    }
  }
  return made;
}

/** @param {string} line @param {string} fence that is open */
const endsFence = (line, fence) =>
  line.trim().startsWith(fence) && line.trim().replaceAll(fence[0], "") === "";

/** Whether a line belongs to a list. @param {string} first line of the list @param {string} line */
function isOfList(first, line) {
  const indent = (ITEM.exec(first)?.[1].length ?? 0) + 1;
  return line.trim() === "" || line.search(/\S/) > indent || isNextItem(first, line);
}

/** @param {string} first @param {string} line */
function isNextItem(first, line) {
  const [[, indent, mark], other] = [ITEM.exec(first) ?? ["", "", ""], ITEM.exec(line)];
  if (other === null || other[1].length > indent.length + 1) return false;
  return /\d/.test(mark) === /\d/.test(other[2]);
}

/** @param {string[]} lines @param {number} depth */
function listElement(lines, depth) {
  /** @type {string[][]} */
  const items = [];
  for (const line of lines) {
    if (isNextItem(lines[0], line)) items.push([line.replace(ITEM, "")]);
    else items[items.length - 1].push(line.replace(/^ {1,4}/, ""));
  }
  const made = items.map((item) => h("li", null, blocksOf(item, depth + 1)));
  const start = parseInt(lines[0]);
  return Number.isNaN(start) ? h("ul", null, made) : h("ol", { start }, made);
}

/** @param {string} text @returns {(string | HTMLElement)[]} */
function spansOf(text) {
  /** @type {(string | HTMLElement)[]} */
  const made = [];
  let done = 0;
  for (const { 0: whole, index, groups = {} } of text.matchAll(SPANS)) {
    const { code, bold, strong, slanted, italic, label, address } = groups;
    made.push(text.slice(done, index));
    done = index + whole.length;
    if (code) made.push(h("code", null, code));
    else if (label) made.push(...spansOf(label), h("span", { class: "note" }, ` (${address})`));
    else if (bold || strong) made.push(h("strong", null, spansOf(bold ?? strong)));
    else made.push(h("em", null, spansOf(slanted ?? italic)));
  }
  return [...made, text.slice(done)];
}

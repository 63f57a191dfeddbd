// Renders what an agent writes: the part of Markdown that agents use. Text stays text: there is no HTML in it,
// links are not followed, and whatever is not understood is shown as it was written.
import { h } from "../shell/dom.js";
import { visibleText } from "../shell/words.js";

const DEEPEST_QUOTE = 6;
const FENCE = /^ {0,3}(\x60{3,}|~{3,})/;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*$/;
const RULE = /^ {0,3}(?:(?:- *){3,}|(?:\* *){3,}|(?:_ *){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])( {1,4}|$)/;
const TABLE = /^ {0,3}\|/;
const BLOCKS = [FENCE, HEADING, RULE, QUOTE, ITEM, TABLE];
// Spans are short and within a line, so that no text takes long.
const SPANS = new RegExp([
  /(?<!\x60)(?<ticks>\x60{1,3})(?!\x60)(?<code>.{1,400}?)(?<!\x60)\k<ticks>(?!\x60)/,
  /\*\*(?<bold>[^*\s][^*\n]{0,400})\*\*/,
  /(?<![\w_])__(?<strong>[^_\s][^_\n]{0,400})__(?![\w_])/,
  /(?<![\w*])\*(?<slanted>[^*\s][^*\n]{0,400})\*(?![\w*])/,
  /(?<![\w_])_(?<italic>[^_\s][^_\n]{0,400})_(?![\w_])/,
  /\[(?<label>[^[\]\n]{1,400})\]\((?<address>[^()\s]{1,400})\)/,
].map(({ source }) => source).join("|"), "g");

/** The elements of a text in Markdown. @param {string} text */
export const markdownElements = (text) => blockElementsOf(visibleText(text.replace(/\r\n?/g, "\n")).split("\n"), 0);

/** @param {string[]} lines @param {number} depth @returns {HTMLElement[]} */
function blockElementsOf(lines, depth) {
  const made = [];
  for (let at = 0; at < lines.length; ) {
    const [line, start] = [lines[at], at];
    const take = (/** @type {(line: string) => boolean} */ isWithin) => {
      for (at += 1; at < lines.length && isWithin(lines[at]); ) at += 1;
      return lines.slice(start, at);
    };
    const fence = FENCE.exec(line)?.[1];
    const heading = HEADING.exec(line);
    if (line.trim() === "") at += 1;
    else if (fence) {
      const code = take((one) => !(FENCE.exec(one)?.[1].startsWith(fence) && one.trim() === FENCE.exec(one)?.[1])).slice(1);
      made.push(h("pre", null, code.join("\n")));
      at += 1;
    } else if (heading) {
      made.push(h("h4", { class: `level-${heading[1].length}` }, spanElements(heading[2])));
      at += 1;
    } else if (RULE.test(line)) {
      made.push(h("hr"));
      at += 1;
    } else if (QUOTE.test(line) && depth < DEEPEST_QUOTE) {
      const quoted = take((one) => QUOTE.test(one)).map((one) => one.replace(QUOTE, ""));
      made.push(h("div", { class: "quote" }, blockElementsOf(quoted, depth + 1)));
    } else if (ITEM.test(line) && depth < DEEPEST_QUOTE) made.push(listElement(take((one) => isOfList(line, one)), depth));
    else if (TABLE.test(line)) made.push(h("pre", null, take((one) => TABLE.test(one)).join("\n")));
    else made.push(h("p", null, spanElements(take((one) => one.trim() !== "" && !BLOCKS.some((block) => block.test(one))).join("\n"))));
  }
  return made;
}

/** Whether a line belongs to the list that begins with another one. @param {string} first @param {string} line */
function isOfList(first, line) {
  const indent = (ITEM.exec(first)?.[1].length ?? 0) + 1;
  return line.trim() === "" || line.search(/\S/) > indent || isNextItem(first, line);
}

/** @param {string} first @param {string} line */
function isNextItem(first, line) {
  const [one, other] = [ITEM.exec(first), ITEM.exec(line)];
  return one !== null && other !== null && other[1].length <= one[1].length + 1 && /\d/.test(one[2]) === /\d/.test(other[2]);
}

/** @param {string[]} lines @param {number} depth */
function listElement(lines, depth) {
  const [, , mark] = ITEM.exec(lines[0]) ?? ["", "", "-"];
  /** @type {string[][]} */
  const items = [];
  for (const line of lines) {
    if (isNextItem(lines[0], line)) items.push([line.replace(ITEM, "")]);
    else items[items.length - 1].push(line.replace(/^ {1,4}/, ""));
  }
  const made = items.map((item) => h("li", null, blockElementsOf(item, depth + 1)));
  return /\d/.test(mark) ? h("ol", { start: parseInt(mark) }, made) : h("ul", null, made);
}

/** @param {string} text @returns {(string | HTMLElement)[]} */
function spanElements(text) {
  /** @type {(string | HTMLElement)[]} */
  const made = [];
  let done = 0;
  for (const { 0: whole, index, groups = {} } of text.matchAll(SPANS)) {
    const { code, bold, strong, slanted, italic, label, address } = groups;
    made.push(text.slice(done, index));
    done = index + whole.length;
    if (code) made.push(h("code", null, code));
    else if (label) made.push(...spanElements(label), address === label ? "" : h("span", { class: "note" }, ` (${address})`));
    else made.push(h(bold || strong ? "strong" : "em", null, spanElements(bold ?? strong ?? slanted ?? italic)));
  }
  return [...made, text.slice(done)];
}

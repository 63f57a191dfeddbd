// Content of messages and tool calls in any dialect: text, diffs, terminals; all else is described,
// never decoded.
import { diffModel } from "../cards/words.js";
import { h } from "../shell/dom.js";
import { addInParts, longText } from "./hex.js";
import { isObject, wordAt } from "../data/values.js";
import { countInWords, sizeInWords, visibleText } from "../shell/words.js";

/** @typedef {import("../data/values.js").JsonObject} JsonObject */
/** @typedef {import("../cards/words.js").DiffModel} DiffModel */
/** @typedef {{form: "text"|"note"|"diff"|"terminal", text: string, label: string, diff?: DiffModel}} ContentBlock */

const DEEPEST_CONTENT = 10;
const LONGEST_NOTE = 500;
const DIFF_ROWS_AT_ONCE = 400;
const DIFF_SIGNS = { same: " ", removed: "−", added: "+", head: "" };

/**
 * The blocks of a content block, of an array of them, or of plain text.
 * @param {unknown} value
 * @param {string} label of plain text
 * @param {number} depth @returns {ContentBlock[]}
 */
export function contentBlocks(value, label = "", depth = 0) {
  if (typeof value === "string") return value === "" ? [] : [{ form: "text", text: value, label }];
  if (Array.isArray(value) && depth < DEEPEST_CONTENT) return value.flatMap((one) => contentBlocks(one, label, depth + 1));
  if (!isObject(value)) return [];
  const { type } = value;
  if (type === "text" && typeof value.text === "string") return contentBlocks(value.text, label);
  if (type === "content" && depth < DEEPEST_CONTENT) return contentBlocks(value.content, label, depth + 1);
  if (type === "diff") return [{ form: "diff", text: "", label, diff: diffModel(value) }];
  if (type === "terminal" && typeof value.terminalId === "string") return [{ form: "terminal", text: value.terminalId, label }];
  if (type === "terminal") {
    const words = ["terminal", wordAt(value, "command"), exitInWords(value)].filter(Boolean).join(" ");
    return [{ form: "note", text: words, label }, ...contentBlocks(value.stdout, "stdout"), ...contentBlocks(value.stderr, "stderr")];
  }
  const inner = isObject(value.resource) ? value.resource : value;
  const text = inner.text ?? inner.content;
  if (type === "resource" && typeof text === "string" && text !== "") return contentBlocks(text, wordAt(inner, "uri") || "resource");
  return [{ form: "note", text: describedContent(value), label }];
}

/**
 * The blocks of the output of a tool: content or text; JSON is shown as a tree elsewhere.
 * @param {unknown} value @returns {ContentBlock[]}
 */
export function outputBlocks(value) {
  const items = Array.isArray(value) ? value : [value];
  const isContent = typeof value === "string" || items.every((one) => isObject(one) && "type" in one);
  return isContent ? contentBlocks(value, "output") : [];
}

/** How a command ended; empty while it runs. @param {JsonObject} status */
export function exitInWords(status) {
  const [signal, code] = [wordAt(status, "signal"), wordAt(status, "exitCode")];
  const how = signal !== "" ? `signal ${signal}` : code === "" ? "" : `exit ${code}`;
  if (status.timedOut !== true) return how;
  return signal === "" ? "timed out" : `timed out, ${how}`;
}

/** Describes content that is not text, such as "image/png, 12 kB". @param {JsonObject} block */
export function describedContent(block) {
  const inner = [block.resource, block.source].find(isObject) ?? block;
  const data = inner.data ?? inner.blob;
  const size = typeof data === "string" ? (data.replace(/=+$/, "").length * 3) / 4 : inner.size;
  const known = [wordAt(inner, "uri", "url", "title", "name"), wordAt(inner, "mimeType", "mediaType") || wordAt(block, "type")];
  if (typeof size === "number") known.push(sizeInWords(Math.floor(size)));
  const words = known.filter(Boolean);
  return `[${words.length > 1 ? words.join(", ") : JSON.stringify(block).slice(0, LONGEST_NOTE)}]`;
}

/**
 * A block in the page; a terminal is left to the caller, who knows its frames.
 * @param {ContentBlock} block
 */
export function blockElement(block) {
  if (block.form === "note") return h("p", { class: "note" }, visibleText(block.text));
  if (block.diff !== undefined) return diffElement(block.diff);
  return h("div", { class: "block" }, block.label !== "" && h("div", { class: "block-label" }, visibleText(block.label)), longText(block.text));
}

/** @param {DiffModel} diff */
function diffElement({ path, rows, notes }) {
  const count = (/** @type {string} */ kind) => rows.filter((row) => row.kind === kind).length;
  const name = `${visibleText(path)} +${count("added")} −${count("removed")}`.trim();
  const table = h("div", { class: "diff", role: "group", tabindex: "0", "aria-label": name });
  let shown = 0;
  addInParts(table, (add) => {
    add(...rows.slice(shown, (shown += DIFF_ROWS_AT_ONCE)).map(diffRowElement));
    return shown < rows.length ? countInWords(rows.length - shown, "more line") : "";
  });
  return h("div", { class: "block" }, h("div", { class: "block-label" }, name), notes.map((note) => h("p", { class: "note" }, visibleText(note))), rows.length > 0 && table);
}

/** @param {import("../cards/words.js").DiffRow} row */
function diffRowElement({ kind, pieces, oldNumber, newNumber }) {
  const number = (/** @type {number} */ value) => h("span", { class: "diff-number", "aria-hidden": "true" }, value > 0 && value);
  const mark = kind === "removed" ? "del" : "ins";
  return h("div", { class: `diff-row ${kind}` }, kind !== "head" && [number(oldNumber), number(newNumber)], h("span", { class: "diff-sign" }, DIFF_SIGNS[kind]),
    h("span", { class: "diff-text" }, pieces.map(({ text, changed }) => (changed ? h(mark, {}, visibleText(text)) : visibleText(text)))));
}

// Content of messages and tool calls in any dialect: text, diffs, terminals; all else is described, never decoded.
import {diffModel} from "../cards/words.js";
import {h} from "../shell/dom.js";
import {addInParts, longText} from "./hex.js";
import {countInWords, isObject, objectAt, sizeInWords, visibleText, wordAt} from "./values.js";

/** @typedef {import("./values.js").JsonObject} JsonObject */
/** @typedef {import("../cards/words.js").DiffModel} DiffModel */
/** @typedef {{form: "text"|"note"|"diff"|"terminal", text: string, label: string, diff?: DiffModel}} ContentBlock */

const DEEPEST_CONTENT = 10;
const MOST_BLOCKS = 200;
const LONGEST_NOTE = 500;
const DIFF_ROWS_AT_ONCE = 400;
const DIFF_SIGNS = {same: " ", removed: "−", added: "+", hunk: "", file: "", gap: "⋯"};

/**
 * The blocks of a content block, of an array of them, or of plain text.
 * @param {unknown} value
 * @param {string} label of plain text
 * @param {number} depth
 * @returns {ContentBlock[]}
 */
export function contentBlocks(value, label = "", depth = 0) {
  if (typeof value === "string") return value === "" ? [] : [{form: "text", text: value, label}];
  if (Array.isArray(value) && depth < DEEPEST_CONTENT) {
    const blocks = value.slice(0, MOST_BLOCKS).flatMap((one) => contentBlocks(one, label, depth + 1));
    if (value.length > MOST_BLOCKS) blocks.push(noteBlock(`… and ${(value.length - MOST_BLOCKS).toLocaleString("en")} more`));
    return blocks;
  }
  if (!isObject(value)) return [];
  const type = value.type;
  if (type === "text" && typeof value.text === "string") return contentBlocks(value.text, label);
  if (type === "content" && depth < DEEPEST_CONTENT) return contentBlocks(value.content, label, depth + 1);
  if (type === "diff") {
    const diff = diffModel(value);
    return [{form: "diff", text: "", label: diff.path, diff}];
  }
  if (type === "terminal") return terminalBlocks(value);
  if (type === "resource") {
    const inner = "resource" in value ? objectAt(value, "resource") : value;
    const text = inner.text ?? inner.content;
    if (typeof text === "string" && text !== "") return contentBlocks(text, wordAt(inner, "uri") || "resource");
  }
  return [noteBlock(describedContent(value))];
}

/**
 * The blocks of the output of a tool: content or text; JSON is shown as a tree elsewhere.
 * @param {unknown} value
 * @returns {ContentBlock[]}
 */
export function outputBlocks(value) {
  const items = Array.isArray(value) ? value : [value];
  const isContent = typeof value === "string" || items.every((one) => isObject(one) && "type" in one);
  return isContent ? contentBlocks(value, "output") : [];
}

/**
 * @param {string} text
 * @returns {ContentBlock}
 */
function noteBlock(text) {
  return {form: "note", text: text.slice(0, LONGEST_NOTE), label: ""};
}

/**
 * In the 1.0 draft, a terminal has its command and its output.
 * @param {JsonObject} block
 * @returns {ContentBlock[]}
 */
function terminalBlocks(block) {
  const id = wordAt(block, "terminalId");
  if (id !== "") return [{form: "terminal", text: id, label: "terminal"}];
  const words = ["terminal", wordAt(block, "command"), exitInWords(block)];
  const streams = ["stdout", "stderr"].flatMap((name) => contentBlocks(block[name], name));
  return [noteBlock(words.filter(Boolean).join(" ")), ...streams];
}

/**
 * How a command ended; empty while it runs.
 * @param {JsonObject} status
 * @returns {string}
 */
export function exitInWords(status) {
  const [signal, code] = [wordAt(status, "signal"), wordAt(status, "exitCode")];
  const how = signal !== "" ? `signal ${signal}` : code === "" ? "" : `exit ${code}`;
  if (status.timedOut !== true) return how;
  return signal === "" ? "timed out" : `timed out, ${how}`;
}

/**
 * Describes content that is not text, such as "image/png, 12 kB".
 * @param {JsonObject} block
 * @returns {string}
 */
export function describedContent(block) {
  const nested = ["resource", "source"].find((name) => isObject(block[name]));
  const inner = nested === undefined ? block : objectAt(block, nested);
  const data = inner.data ?? inner.blob;
  const size = typeof data === "string" ? (data.replace(/=+$/, "").length * 3) / 4 : Number(inner.size ?? NaN);
  const name = wordAt(inner, "title", "name");
  const uri = wordAt(inner, "uri", "url");
  const kind = wordAt(inner, "mimeType", "mediaType") || wordAt(block, "type") || "content";
  const known = [name !== "" && !uri.includes(name) ? name : "", uri, kind];
  if (uri === "" && name === "" && Number.isNaN(size)) {
    const rest = Object.entries(block).filter(([key]) => key !== "type" && key !== "_meta");
    known.push(rest.map(([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`).join(", ").slice(0, LONGEST_NOTE));
  }
  if (!Number.isNaN(size)) known.push(sizeInWords(Math.floor(size)));
  return `[${known.filter(Boolean).join(", ")}]`;
}

/**
 * A block in the page; a terminal is left to the caller, who knows its frames.
 * @param {ContentBlock} block
 * @returns {HTMLElement}
 */
export function blockElement(block) {
  if (block.form === "note") return h("p", {class: "note"}, visibleText(block.text));
  if (block.diff !== undefined) return diffElement(block.diff);
  const box = h("div", {class: "block"});
  if (block.label !== "") box.append(h("div", {class: "block-label"}, visibleText(block.label)));
  box.append(longText(block.text));
  return box;
}

/**
 * @param {DiffModel} diff
 * @returns {HTMLElement}
 */
function diffElement(diff) {
  const counts = `+${diff.added} −${diff.removed}`;
  const label = h("div", {class: "block-label"}, visibleText(diff.path), " ", h("span", {class: "note"}, diff.rows.length > 0 ? counts : ""));
  const table = h("div", {class: "diff", role: "group", tabindex: "0", "aria-label": `changes of ${visibleText(diff.path)}, ${counts}`});
  let shown = 0;
  if (diff.rows.length > 0) addInParts(table, (add) => {
    add(...diff.rows.slice(shown, (shown += DIFF_ROWS_AT_ONCE)).map(diffRowElement));
    return shown < diff.rows.length ? countInWords(diff.rows.length - shown, "more line") : "";
  });
  const notes = diff.notes.map((note) => h("p", {class: "note"}, visibleText(note)));
  return h("div", {class: "block"}, label, notes, diff.rows.length > 0 && table);
}

/** @param {import("../cards/words.js").DiffRow} row */
function diffRowElement(row) {
  const isNumbered = row.kind === "same" || row.kind === "removed" || row.kind === "added";
  const pieces = row.pieces.map(({text, changed}) => {
    const shown = visibleText(text);
    return changed ? h(row.kind === "removed" ? "del" : "ins", {}, shown) : shown;
  });
  const numbers = [row.oldNumber, row.newNumber].map((number) => h("span", {class: "diff-number", "aria-hidden": "true"}, number > 0 ? String(number) : ""));
  return h("div", {class: `diff-row ${row.kind}`}, ...(isNumbered ? numbers : []), h("span", {class: "diff-sign"}, DIFF_SIGNS[row.kind]), h("span", {class: "diff-text"}, ...pieces));
}

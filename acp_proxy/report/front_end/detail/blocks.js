// Shows the content of messages and tool calls in any dialect, and of entries of the conversation:
// text, diffs, terminals and images. Any other content is described, never decoded.
import { terminalElement } from "../cards/terminal.js";
import { diffModel } from "../cards/words.js";
import { markdownElements } from "../conversation/markdown.js";
import { clear, div, h, noteLine, picture, span } from "../shell/dom.js";
import { addInParts, longText } from "./hex.js";
import { isObject, wordAt } from "../data/values.js";
import { countInWords, sizeInWords } from "../shell/words.js";

/**
 * @typedef {import("../data/values.js").JsonObject} JsonObject
 * @typedef {import("../cards/words.js").DiffModel} DiffModel
 * @typedef {import("../conversation/entries.js").Entry} Entry
 * @typedef {import("../shell/state.js").State} State
 * @typedef {import("../shell/dom.js").Child} Child
 * @typedef {object} ContentBlock
 * @property {"text"|"markdown"|"note"|"diff"|"terminal"|"image"} form
 * @property {string} text
 * @property {string} label
 * @property {DiffModel} [diff]
 * @property {number} [image]
 */

/** The largest number of rows of a diff that are printed in a folded entry. */
const DIFF_ROWS_PRINTED = 40;
const DIFF_SIGNS = { same: " ", removed: "−", added: "+", head: "" };

/**
 * The blocks that show a content block, an array of content blocks, or plain text.
 * @param {unknown} value
 * @param {string} label of plain text
 * @param {number} depth @returns {ContentBlock[]}
 */
export function contentBlocks(value, label = "", depth = 0) {
  if (typeof value === "string") return value ? [{ form: "text", text: value, label }] : [];
  const inner = Array.isArray(value) ? value : isObject(value) && value.type === "content"
    ? [value.content] : null;
  if (inner && depth < 10) return inner.flatMap((one) => contentBlocks(one, label, depth + 1));
  if (!isObject(value)) return [];
  const { type, text, terminalId, resource } = value;
  if (type === "text" && typeof text === "string") return contentBlocks(text, label);
  if (type === "diff") return [{ form: "diff", text: "", label, diff: diffModel(value) }];
  if (type === "terminal") {
    if (typeof terminalId === "string") return [{ form: "terminal", text: terminalId, label }];
    const words = ["terminal", wordAt(value, "command"), exitInWords(value)].filter(Boolean);
    const outputs = ["stdout", "stderr"].flatMap((name) => contentBlocks(value[name], name));
    return [{ form: "note", text: words.join(" "), label }, ...outputs];
  }
  const held = isObject(resource) ? resource : value;
  const written = type === "resource" && (held.text ?? held.content);
  return typeof written === "string" && written !== ""
    ? contentBlocks(written, wordAt(held, "uri") || "resource")
    : [{ form: "note", text: describedContent(value), label }];
}

/**
 * The blocks that show the output of a tool, if it is content or text. JSON is shown as a tree.
 * @param {unknown} value @returns {ContentBlock[]}
 */
export const outputBlocks = (value) =>
  typeof value === "string" || [value].flat().every((one) => isObject(one) && "type" in one)
    ? contentBlocks(value, "output") : [];

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
  const words = [
    wordAt(inner, "uri", "url", "title", "name"),
    wordAt(inner, "mimeType", "mediaType") || wordAt(block, "type"),
    typeof size === "number" && sizeInWords(Math.floor(size)),
  ].filter(Boolean);
  return `[${words.length > 1 ? words.join(", ") : JSON.stringify(block).slice(0, 500)}]`;
}

/**
 * The blocks of an entry; texts of the agent are shown as Markdown. @param {Entry} entry
 * @returns {ContentBlock[]}
 */
export const entryBlocks = ({ kind, by, blocks }) => blocks.map((block) => {
  const { label, image, text: { start: text } } = block;
  const isSaid = kind === "thought" || (kind === "message" && by === "agent");
  const isRendered = isSaid && label === "" && text.length <= 50_000;
  const form = image !== undefined ? "image" : block.form === "note" ? "note"
    : isRendered ? "markdown" : "text";
  return { form, text, label, image };
});

/**
 * Makes the elements of blocks, including terminals.
 * @param {State} state @param {ContentBlock[]} blocks @param {number} row a row about the blocks
 * @returns {Promise<HTMLElement[]>}
 */
export const blockElements = (state, blocks, row) => Promise.all(blocks.map((block) =>
  block.form === "terminal" ? terminalElement(state, block.text, row)
    : blockElement(state, block)));

/** @param {State} state @param {ContentBlock} block other than a terminal */
export function blockElement(state, { form, text, label, diff, image = 0 }) {
  if (form === "note") return h("p", { class: "note media" }, text);
  if (form === "image") return imageElement(state, image, text);
  if (form === "markdown") return div("markdown", markdownElements(text));
  if (diff) return diffElement(diff);
  return label === "" ? longText(text) : labelledBlock(label, longText(text));
}

/** @param {State} state @param {number} number @param {string} name */
function imageElement({ recording }, number, name) {
  const [type, width, height] = recording.meta.images[number];
  const style = { "aspect-ratio": `${width} / ${height}`, width: `${width}px` };
  const box = h("figure", { class: "image", style });
  const error = () => clear(box, span("note", name));
  recording.source.bytes(`g${number}`).then((bytes) => {
    const words = `${name}, ${width} × ${height}`;
    clear(box, picture(type, bytes, { alt: words, title: words, on: { error } }));
  }, error);
  return box;
}

/**
 * A block below its label.
 * @param {string} label @param {...(Child | Child[])} parts
 */
export const labelledBlock = (label, ...parts) => div("block", div("block-label", label), ...parts);

/** @param {DiffModel} diff */
function diffElement({ path, rows, notes }) {
  const count = (/** @type {string} */ kind) => rows.filter((row) => row.kind === kind).length;
  const name = `${path} +${count("added")} −${count("removed")}`.trim();
  const table = h("div", { class: "diff", role: "group", tabindex: "0", "aria-label": name });
  let shown = 0;
  addInParts(table, (add) => {
    add(...rows.slice(shown, (shown += 400)).map(diffRowElement));
    return shown < rows.length ? countInWords(rows.length - shown, "more line") : "";
  });
  const left = countInWords(rows.length - DIFF_ROWS_PRINTED, "more line");
  return labelledBlock(name, notes.map((note) => noteLine(note)), rows.length > 0 && table,
    rows.length > DIFF_ROWS_PRINTED && h("p", { class: "note diff-rest" }, `${left} not printed`));
}

/** @param {import("../cards/words.js").DiffRow} row */
function diffRowElement({ kind, pieces, oldNumber, newNumber }) {
  const numbers = (kind === "head" ? [] : [oldNumber, newNumber]).map((number) =>
    h("span", { class: "diff-number", "aria-hidden": "true" }, number > 0 && number));
  const texts = pieces.map(({ text, changed }) =>
    changed ? h(kind === "removed" ? "del" : "ins", null, text) : text);
  return div(`diff-row ${kind}`, numbers,
    span("diff-sign", DIFF_SIGNS[kind]), span("diff-text", texts));
}

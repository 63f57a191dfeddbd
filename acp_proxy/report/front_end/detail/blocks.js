// Shows the content of messages and tool calls in any dialect, and of entries of the conversation:
// text, diffs, terminals and images; also bytes and JSON. Any other content is described, never
// decoded.
import { terminalElement } from "../cards/terminal.js";
import { diffModel } from "../cards/words.js";
import { markdownElements } from "../conversation/markdown.js";
import { button, clear, countInWords, div, h, noteLine, picture } from "../shell/dom.js";
import { sizeInWords, span, visiblePieces } from "../shell/dom.js";
import { attempted, isObject, parsedRaw, RawValue, wordAt } from "../data/values.js";

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
  return status.timedOut !== true ? how : signal === "" ? "timed out" : `timed out, ${how}`;
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
  return labelledBlock(name, notes.map((note) => noteLine(note)), rows.length > 0 && table);
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

/** @typedef {Iterator<Uint8Array> | AsyncIterator<Uint8Array>} Pieces */

const ROW_BYTES = 16;
const TEXT_AT_ONCE = 50_000;

/**
 * Rows of sixteen bytes: the position of the first byte, the bytes in hex, and their characters.
 * @param {Uint8Array} bytes
 * @param {number} base the place of the first of these bytes in the line
 */
export function hexRows(bytes, base = 0) {
  let rows = "";
  for (let start = 0; start < bytes.length; start += ROW_BYTES) {
    const some = [...bytes.subarray(start, start + ROW_BYTES)];
    const hex = some.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const text = String.fromCharCode(...some).replace(/[^ -~]/g, ".");
    const place = (base + start).toString(16).padStart(8, "0");
    rows += `${place}  ${hex.padEnd(ROW_BYTES * 3 - 1)}  ${text}\n`;
  }
  return rows;
}

/** Text in which escapes of invisible characters are marked. @param {string} text */
export const markedText = (text) =>
  span("", visiblePieces(text).map((piece) => piece.odd ? span("odd", piece.text) : piece.text));

/**
 * Fills a box part by part: the first part now, each further part when a button is pressed.
 * @param {Element} box
 * @param {(add: (...nodes: (Node | string)[]) => void) => string | Promise<string>} next adds a
 * part; returns in words how much is left, or an empty text if nothing is left
 */
export function addInParts(box, next) {
  let isBusy = false;
  const show = async () => {
    if (isBusy) return;
    isBusy = true;
    const left = await next((...nodes) => more.before(...nodes));
    isBusy = false;
    more.textContent = `Show more (${left})`;
    more.hidden = left === "";
  };
  const more = button("", show, { class: "show-more", hidden: true });
  box.append(more);
  void show();
}

/** Shows a text; a long text is shown part by part. @param {string} text */
export function longText(text) {
  let left = text;
  const box = div("text");
  addInParts(box, (add) => {
    // A part must not end between the halves of a surrogate pair.
    const isHalf = /[\ud800-\udbff]/.test(left[TEXT_AT_ONCE - 1] ?? "");
    add(markedText(left.slice(0, TEXT_AT_ONCE + Number(isHalf))));
    left = left.slice(TEXT_AT_ONCE + Number(isHalf));
    return left && countInWords(left.length, "character");
  });
  return box;
}

/**
 * Shows the bytes of a line as text, and from the first byte that is not UTF-8 on as hex. A large
 * line is shown piece by piece.
 * @param {Pieces} pieces @param {number} size of all pieces
 */
export function bytesElements(pieces, size) {
  const [facts, box] = [noteLine(countInWords(size, "byte")), div("mono")];
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let [base, isHex] = [0, false];
  addInParts(box, async (add) => {
    const { value: piece = new Uint8Array(0) } = await pieces.next();
    const isMore = base + piece.length < size;
    const text = isHex ? null : attempted(() => decoder.decode(piece, { stream: isMore }));
    if (text === null && !isHex) facts.append(", not all of them UTF-8: shown as hex");
    isHex = text === null;
    box.classList.toggle("hex", isHex);
    add(longText(text ?? hexRows(piece, base)));
    base += piece.length;
    return isMore && piece.length > 0 ? sizeInWords(size - base) : "";
  });
  return [facts, box];
}

const STRING_AT_ONCE = 500;

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
  const shown = span(`tree-${kind}`, markedText(raw.slice(0, STRING_AT_ONCE)));
  if (raw.length <= STRING_AT_ONCE && !raw.includes("\\n")) return shown;
  const show = () => more.replaceWith(longText(JSON.parse(raw)));
  const more = button(`as text (${sizeInWords(raw.length)})`, show, { class: "show-more" });
  return span("", shown, " ", more);
}

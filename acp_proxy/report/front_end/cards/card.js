// The card of a tool call: all frames about it as one picture.
import { entriesOf } from "../conversation/entries.js";
import { blockElements, contentBlocks, entryBlocks, outputBlocks } from "../detail/blocks.js";
import { objectAt, objectsAt, parsedLine, updateOf, wordAt } from "../data/values.js";
import { countInWords, durationInWords, secondsInWords } from "../shell/words.js";
import { button, div, h, noteLine, span } from "../shell/dom.js";
import { readFrames } from "./terminal.js";

/** @typedef {import("../shell/state.js").State} State */
/** @typedef {import("../data/recording.js").Recording} Recording */
/** @typedef {import("../data/values.js").JsonObject} JsonObject */
/** @typedef {import("../detail/blocks.js").ContentBlock} ContentBlock */
/** @typedef {import("../conversation/entries.js").Entry} Entry */
/** @typedef {import("../shell/dom.js").Child} Child */
/** @typedef {import("./terminal.js").ReadFrame} ReadFrame */

const STATUS_SIGNS = new Map([
  ["completed", "✓"], ["failed", "✗"], ["denied", "✗"], ["cancelled", "✗"], ["in_progress", "▸"],
]);
/** The states of a tool call that is over. */
export const ENDED = /^(completed|failed|cancelled|denied)$/;
const REQUEST_PERMISSION = "session/request_permission";
const MOST_LOCATIONS = 20;

/** What is known of one tool call from its frames, which are added in order. */
export class CallModel {
  /** @type {JsonObject} */
  call = {};
  /** @type {{status: string, row: number, t_ns: number}[]} */
  history = [];
  /** Its permission requests. @type {ReadFrame[]} */
  asked = [];
  streamed = "";
  /** @type {ContentBlock[]} */
  items = [];

  /** @param {ReadFrame} frame */
  add(frame) {
    if (frame.method !== REQUEST_PERMISSION) return this.addUpdate(frame);
    if (frame.kind !== "request") return;
    this.asked.push(frame);
    this.call = { ...askedCall(frame.message), content: null, ...this.call };
  }

  /** @param {ReadFrame} frame */
  addUpdate({ message, row, t_ns }) {
    const { kind, update } = updateOf(message);
    if (kind === "tool_call_content_chunk") {
      for (const block of contentBlocks(update.content)) {
        if (block.form === "text" && block.label === "") this.streamed += block.text;
        else this.items.push(block);
      }
      return;
    }
    if ((update.content ?? null) !== null) [this.streamed, this.items] = ["", []];
    const status = wordAt(update, "status");
    if (status && status !== this.history.at(-1)?.status) this.history.push({ status, row, t_ns });
    // A member that is left out, or null, does not change what is known.
    for (const [name, value] of Object.entries(update)) if (value !== null) this.call[name] = value;
  }

  /** The files that it touched. */
  get locations() {
    const places = [...objectsAt(this.call, "locations"), objectAt(this.call, "location")];
    return places.map(placeInWords).filter(Boolean);
  }

  /** The content in its order; without any, the output. @returns {ContentBlock[]} */
  get blocks() {
    const { content, output, rawOutput, error } = this.call;
    const texts = [content, this.streamed].flatMap((one) => contentBlocks(one, "output"));
    const shown = [[...texts, ...this.items], outputBlocks(output), outputBlocks(rawOutput)];
    const failed = contentBlocks(typeof error === "string" ? error : null, "error");
    return [...(shown.find((blocks) => blocks.length > 0) ?? []), ...failed];
  }
}

/** The tool call that a permission request is about. @param {unknown} message */
function askedCall(message) {
  const params = objectAt(message, "params");
  return objectAt("toolCall" in params ? params : objectAt(params, "subject"), "toolCall");
}

/** @param {JsonObject} place */
function placeInWords(place) {
  const [path, line] = [wordAt(place, "path"), wordAt(place, "line")];
  // Some agents write 0 for a line that they do not know.
  return line === "" || line === "0" ? path : `${path}:${line}`;
}

/**
 * A permission request in the page: the question, the options and the answer.
 * @param {State} state
 * @param {number} row of the request
 * @param {boolean} isWhole whether its content is shown, which the card of its call has anyway
 */
export async function permissionElement(state, row, isWhole) {
  const { recording } = state;
  const pair = recording.pair(row);
  const entry = await entriesOf(recording).about([row], "permission");
  const { title, state: outcome, is_failed, remarks = [], choices = [] } = entry ?? {};
  const { content } = askedCall(parsedLine(await recording.line(row)));
  const who = recording.meta.parties?.[REQUEST_PERMISSION] === "person" ? "person" : "client";
  const took = durationInWords(recording.numbers("latency_ns")[row], ` — the ${who} took `);
  const options = choices.map(({ name, detail, state: chosen }) => h("li",
    { class: chosen }, `${chosen ? "●" : "○"} ${name} `, span("note", detail),
    chosen && " ← chosen"));
  return div("permission",
    div("", "asked for permission: ", h("b", null, title), " ", seqButton(state, row)),
    remarks.map((reason) => h("p", null, reason)),
    h("ul", { class: "choices" }, options),
    h("p", { class: is_failed && "trouble" }, h("b", null, outcome), took, " ",
      pair >= 0 && seqButton(state, pair)),
    isWhole ? await blockElements(state, contentBlocks(content, "output"), row) : []);
}

/**
 * A button that goes to a frame, and does nothing else where it stands.
 * @param {State} state @param {number} row @param {string} [words] instead of its number
 */
export function seqButton(state, row, words) {
  const seq = state.recording.numbers("seq")[row];
  const click = (/** @type {Event} */ event) => {
    event.stopPropagation();
    state.select(row);
  };
  return button(words ?? `#${seq}`, click, { class: "seq", "aria-label": `frame ${seq}` });
}

/**
 * A sentence in which each number of a frame, such as #6, goes to it.
 * @param {State} state @param {string} text
 */
export const linkedText = (state, text) => text.split(/(#\d+)/).map((piece, at) => {
  const row = at % 2 ? state.recording.rowOf(Number(piece.slice(1))) : -1;
  return row < 0 ? piece : seqButton(state, row);
});

/** What is wrong at rows, a line for each sentence. @param {State} state @param {number[]} rows */
export function findingLines(state, rows) {
  const problems = rows.flatMap((row) => state.recording.problems.get(row) ?? []);
  const severities = new Map(problems.map(({ text, severity }) => [text, severity]));
  return [...severities].map(([text, severity]) => {
    const [tone, shape] = severity === "warning" ? ["caution", "⚠"] : ["trouble", "✗"];
    const mark = h("span", { role: "img", "aria-label": severity }, shape);
    return h("p", { class: `${tone} finding` }, mark, " ", linkedText(state, text));
  });
}

/** The rows about the tool call of a row. @param {Recording} recording @param {number} row */
export function rowsOfCallAt(recording, row) {
  const [calls, call] = [recording.numbers("call"), recording.numbers("call")[row]];
  const rows = [];
  for (let at = recording.rowOf(call); at >= 0; at = calls.indexOf(call, at + 1)) rows.push(at);
  return rows;
}

/**
 * Reads the tool call that rows are about.
 * @param {Recording} recording @param {number[]} rows
 */
export async function readCall(recording, rows) {
  const model = new CallModel();
  for (const frame of await readFrames(recording, rows)) model.add(frame);
  return model;
}

/**
 * The card of the tool call of a row; null for a row about none.
 * @param {State} state @param {number} row
 */
export async function callElement(state, row) {
  const { recording } = state;
  const rows = rowsOfCallAt(recording, row);
  if (rows.length === 0) return null;
  const { history, asked, locations, blocks } = await readCall(recording, rows);
  const entry = await entriesOf(recording).about(rows, "tool_call");
  const last = rows[rows.length - 1];
  const statuses = history.map(({ status, row: at, t_ns }) => {
    const after = durationInWords(t_ns - history[0].t_ns, " +");
    const when = t_ns === history[0].t_ns ? secondsInWords(t_ns, " at ", " s") : after;
    return h("li", null, `${statusInWords(status)} `, seqButton(state, at), span("note", when));
  });
  const permissions = asked.map((one) => permissionElement(state, one.row, false));
  const places = locations.slice(0, MOST_LOCATIONS);
  const images = entry ? entryBlocks(entry).filter(({ form }) => form === "image") : [];
  return h("section", { class: "card", "aria-label": "tool call" },
    entry && h("h3", null, headWords(recording, entry)),
    noteLine(`${entry?.id} · ${countInWords(rows.length, "frame")} `, seqButton(state, rows[0]),
      rows.length > 1 && "–", rows.length > 1 && seqButton(state, last)),
    h("ol", { class: "statuses", "aria-label": "status over time" }, statuses),
    h("ul", { class: "choices mono" }, places.map((place) => h("li", null, place))),
    await Promise.all(permissions),
    // Its terminals were made before its last frame.
    await blockElements(state, [...blocks, ...images], last));
}

/** A status with its sign. @param {string} status */
export const statusInWords = (status) => `${STATUS_SIGNS.get(status) ?? "·"} ${status}`;

/**
 * What an entry is, of which kind, and how it ended.
 * @param {Recording} recording @param {Entry} entry @returns {Child[]}
 */
export function headWords({ isOpen }, { kind, title, state, detail, is_failed, took_ns }) {
  const isEndless = kind === "tool_call" && !ENDED.test(state) && !isOpen;
  const outcome = [state, isEndless && "never ended"].filter(Boolean).join(", ");
  const isAsked = kind === "request" || kind === "notice";
  const sign = is_failed ? "✗ " : state === "completed" ? "✓ " : isAsked && state ? "→ " : "";
  const took = durationInWords(took_ns ?? NaN, " after ");
  const tone = is_failed ? "trouble" : isEndless ? "caution" : "note";
  return [
    h("b", null, isAsked ? detail : title),
    isAsked && span("entry-title", title),
    kind === "tool_call" && detail !== "" && span("badge", detail),
    outcome !== "" && span(tone, sign + outcome + took),
  ];
}

/**
 * The first row of each tool call among rows.
 * @param {Recording} recording @param {Int32Array} shown
 */
export function callsAmong(recording, shown) {
  const calls = recording.numbers("call");
  const known = new Set();
  return [...shown].filter((row) => calls[row] >= 0 && known.size < known.add(calls[row]).size);
}

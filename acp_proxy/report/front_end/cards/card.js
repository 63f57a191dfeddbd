// The card of a tool call: all frames about it as one picture.
import { contentBlocks, outputBlocks } from "../detail/blocks.js";
import { isObject, objectAt, objectsAt, parsedLine, updateOf, wordAt } from "../data/values.js";
import { countInWords, durationInWords, secondsInWords } from "../shell/words.js";
import { button, div, h, noteLine, span } from "../shell/dom.js";
import { blockElements, readFrames } from "./terminal.js";

/** @typedef {import("../shell/state.js").State} State */
/** @typedef {import("../data/recording.js").Recording} Recording */
/** @typedef {import("../data/values.js").JsonObject} JsonObject */
/** @typedef {import("../detail/blocks.js").ContentBlock} ContentBlock */
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
  /** When its updates came. @type {number[]} */
  times = [];

  /** @param {ReadFrame} frame */
  add(frame) {
    if (frame.method !== REQUEST_PERMISSION) return this.addUpdate(frame);
    if (frame.kind !== "request") return;
    this.asked.push(frame);
    this.call = { ...askedCall(frame.message), content: null, status: null, ...this.call };
  }

  /** @param {ReadFrame} frame */
  addUpdate({ message, row, t_ns }) {
    const { kind, update } = updateOf(message);
    this.times.push(t_ns);
    if (kind === "tool_call_content_chunk") {
      this.call.toolCallId ??= update.toolCallId;
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

  get title() {
    const asked = objectAt(this.asked[0]?.message, "params");
    return wordAt(this.call, "title", "name", "tool") || wordAt(asked, "title") || this.id;
  }

  get id() {
    return wordAt(this.call, "toolCallId", "id");
  }

  get status() {
    return wordAt(this.call, "status");
  }

  /** Nanoseconds from the first update to the last one; NaN for a call that is not over. */
  get took() {
    const [first, last] = [this.times[0], this.times[this.times.length - 1]];
    return this.isOver && this.times.length > 1 ? last - first : NaN;
  }

  get isOver() {
    return ENDED.test(this.status);
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
 * A permission request and its answer.
 * @param {unknown} message the request
 * @param {unknown} answer null without one
 * @param {string} known the title of its tool call in other frames
 */
export function permissionModel(message, answer, known = "") {
  const [params, call] = [objectAt(message, "params"), askedCall(message)];
  const operation = `${wordAt(params, "operation")} ${wordAt(params, "resource")}`.trim();
  const title = wordAt(params, "title") || wordAt(call, "title", "name", "tool") || known
    || operation || wordAt(call, "toolCallId", "id");
  const command = wordAt(objectAt(params, "subject"), "command");
  const reasons = [wordAt(params, "description", "reason"), command];
  const result = objectAt(answer, "result");
  const { optionId } = isObject(result.outcome) ? result.outcome : result;
  const offered = objectsAt(params, "options");
  const chosen = offered.findIndex((one) => one.optionId === optionId && optionId !== undefined);
  return {
    title, reasons: reasons.filter((reason) => reason !== "" && reason !== title),
    options: offered.map((one, at) => ({
      name: wordAt(one, "name", "optionId"), kind: wordAt(one, "kind"), isChosen: at === chosen })),
    blocks: contentBlocks(call.content, "output"),
  };
}

/**
 * A permission request in the page: the question, the options and the answer.
 * @param {State} state
 * @param {number} row of the request
 * @param {string} title of its tool call
 * @param {boolean} isWhole whether its content is shown, which the card of its call has anyway
 */
export async function permissionElement(state, row, title, isWhole) {
  const { recording } = state;
  const pair = recording.pair(row);
  const answer = pair < 0 ? null : parsedLine(await recording.line(pair));
  const model = permissionModel(parsedLine(await recording.line(row)), answer, title);
  const who = recording.meta.parties?.[REQUEST_PERMISSION] === "person" ? "person" : "client";
  const took = durationInWords(recording.numbers("latency_ns")[row], ` — the ${who} took `);
  const choices = model.options.map(({ name, kind, isChosen }) => h("li",
    { class: isChosen && "chosen" }, `${isChosen ? "●" : "○"} ${name} `,
    span("note", kind), isChosen && " ← chosen"));
  const answered = pair < 0 ? h("p", { class: "trouble" }, recording.unanswered)
    : h("p", null, h("b", null, (await recording.cells(pair)).text), `${took} `,
      seqButton(state, pair));
  return div("permission",
    div("", "asked for permission: ", h("b", null, model.title), " ", seqButton(state, row)),
    model.reasons.map((reason) => h("p", null, reason)),
    h("ul", { class: "choices" }, choices), answered,
    isWhole ? await blockElements(state, model.blocks, row) : []);
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

/** The rows about the tool call of a row. @param {Recording} recording @param {number} row */
export function rowsOfCallAt(recording, row) {
  const [calls, call] = [recording.numbers("call"), recording.numbers("call")[row]];
  const rows = [];
  for (let at = recording.rowOf(call); at >= 0; at = calls.indexOf(call, at + 1)) rows.push(at);
  return rows;
}

/**
 * Reads the tool call of a row.
 * @param {Recording} recording @param {number} row
 * @returns {Promise<{model: CallModel, rows: number[]}>}
 */
export async function readCall(recording, row) {
  const rows = rowsOfCallAt(recording, row);
  const model = new CallModel();
  for (const frame of await readFrames(recording, rows)) model.add(frame);
  return { model, rows };
}

/**
 * The card of the tool call of a row; null for a row about none.
 * @param {State} state @param {number} row
 */
export async function callElement(state, row) {
  const { model, rows } = await readCall(state.recording, row);
  if (rows.length === 0) return null;
  const last = rows[rows.length - 1];
  const frames = countInWords(rows.length, "frame");
  const statuses = model.history.map(({ status, row: at, t_ns }) => {
    const after = durationInWords(t_ns - model.history[0].t_ns, " +");
    const when = t_ns === model.history[0].t_ns ? secondsInWords(t_ns, " at ", " s") : after;
    return h("li", null, `${statusInWords(status)} `, seqButton(state, at), span("note", when));
  });
  const permissions = await Promise.all(model.asked.map((asked) =>
    permissionElement(state, asked.row, model.title, false)));
  const places = model.locations.slice(0, MOST_LOCATIONS);
  return h("section", { class: "card", "aria-label": "tool call" },
    h("h3", null, callTitle(model, state.recording.isOpen)),
    noteLine(`${model.id} · ${frames} `, seqButton(state, rows[0]),
      rows.length > 1 && "–", rows.length > 1 && seqButton(state, last)),
    h("ol", { class: "statuses", "aria-label": "status over time" }, statuses),
    h("ul", { class: "choices mono" }, places.map((place) => h("li", null, place))),
    permissions,
    // Its terminals were made before its last frame.
    await blockElements(state, model.blocks, last));
}

/** A status with its sign. @param {string} status */
export const statusInWords = (status) => `${STATUS_SIGNS.get(status) ?? "·"} ${status}`;

/**
 * The title of a card: what, which kind, how it ended.
 * @param {CallModel} model @param {boolean} isOpen whether its end may still come
 */
function callTitle(model, isOpen) {
  const kind = wordAt(model.call, "kind").replace(/^other$/, "");
  const isEndless = !model.isOver && !isOpen;
  const tone = /^(failed|denied)$/.test(model.status) ? "trouble" : isEndless ? "caution" : "note";
  const end = durationInWords(model.took, " after ") + (isEndless ? ", never ended" : "");
  return [
    h("b", null, model.title), " ", kind !== "" && span("badge", kind),
    span(tone, ` ${statusInWords(model.status || "no status")}${end}`),
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

// The card of a tool call: all frames about it as one picture.
import { contentBlocks, outputBlocks } from "../detail/blocks.js";
import { isObject, objectAt, objectsAt, parsedLine, updateOf, wordAt } from "../data/values.js";
import { countInWords, durationInWords, secondsInWords, visibleText } from "../shell/words.js";
import { h } from "../shell/dom.js";
import { blockElements, readFrames } from "./terminal.js";

/** @typedef {import("../shell/state.js").State} State */
/** @typedef {import("../data/recording.js").Recording} Recording */
/** @typedef {import("../data/values.js").JsonObject} JsonObject */
/** @typedef {import("../detail/blocks.js").ContentBlock} ContentBlock */
/** @typedef {import("./terminal.js").ReadFrame} ReadFrame */

const STATUS_SIGNS = new Map([["completed", "✓"], ["failed", "✗"], ["denied", "✗"], ["cancelled", "✗"], ["in_progress", "▸"]]);
/** The states of a tool call that is over. */
export const ENDED = /^(completed|failed|cancelled|denied)$/;
const REQUEST_PERMISSION = "session/request_permission";

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
    if (update.content !== undefined && update.content !== null) [this.streamed, this.items] = ["", []];
    const status = wordAt(update, "status");
    if (status !== "" && status !== this.history.at(-1)?.status) this.history.push({ status, row, t_ns });
    // A member that is left out, or null, does not change what is known.
    for (const [name, value] of Object.entries(update)) if (value !== null) this.call[name] = value;
  }

  get title() {
    return wordAt(this.call, "title", "name", "tool") || wordAt(objectAt(this.asked[0]?.message, "params"), "title") || wordAt(this.call, "toolCallId", "id");
  }

  get status() {
    return wordAt(this.call, "status");
  }

  /** Nanoseconds from the first update to the last one; NaN for a call that is not over. */
  get took() {
    return this.isOver && this.times.length > 1 ? this.times[this.times.length - 1] - this.times[0] : NaN;
  }

  get isOver() {
    return ENDED.test(this.status);
  }

  /** The files that it touched. */
  get locations() {
    return [...objectsAt(this.call, "locations"), objectAt(this.call, "location")].map(placeInWords).filter(Boolean);
  }

  /** The content in its order; without any, the output. @returns {ContentBlock[]} */
  get blocks() {
    const { content, output, rawOutput, error } = this.call;
    const shown = [...contentBlocks(content, "output"), ...contentBlocks(this.streamed, "output"), ...this.items];
    if (shown.length === 0) shown.push(...outputBlocks(output));
    if (shown.length === 0) shown.push(...outputBlocks(rawOutput));
    return [...shown, ...contentBlocks(typeof error === "string" ? error : null, "error")];
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
  const title = wordAt(params, "title") || wordAt(call, "title", "name", "tool") || known || operation || wordAt(call, "toolCallId", "id");
  const reasons = [wordAt(params, "description", "reason"), wordAt(objectAt(params, "subject"), "command")];
  const result = objectAt(answer, "result");
  const outcome = isObject(result.outcome) ? result.outcome : result;
  const offered = objectsAt(params, "options");
  const chosen = offered.find((option) => option.optionId === outcome.optionId && outcome.optionId !== undefined);
  const options = offered.map((option) => ({ name: wordAt(option, "name", "optionId"), kind: wordAt(option, "kind"), isChosen: option === chosen }));
  return { title, reasons: reasons.filter((reason) => reason !== "" && reason !== title), options, blocks: contentBlocks(call.content, "output") };
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
  const who = recording.meta.parties?.[REQUEST_PERMISSION] === "person" ? "the person" : "the client";
  const took = durationInWords(recording.numbers("latency_ns")[row], ` — ${who} took `);
  const choices = model.options.map(({ name, kind, isChosen }) => h("li", { class: isChosen ? "chosen" : null },
    `${isChosen ? "●" : "○"} ${visibleText(name)} `, h("span", { class: "note" }, visibleText(kind)), isChosen ? " ← chosen" : ""));
  return h("div", { class: "permission" },
    h("div", {}, "asked for permission: ", h("b", {}, visibleText(model.title)), " ", seqButton(state, row)),
    model.reasons.map((reason) => h("p", {}, visibleText(reason))),
    h("ul", { class: "choices" }, choices),
    pair < 0 ? h("p", { class: "trouble" }, recording.unanswered)
      : h("p", {}, h("b", {}, visibleText((await recording.cells(pair)).text)), `${took} `, seqButton(state, pair)),
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
  return h("button", { type: "button", class: "seq", "aria-label": `frame ${seq}`, on: { click } }, words ?? `#${seq}`);
}

/**
 * A sentence in which each number of a frame, such as #6, goes to it.
 * @param {State} state @param {string} text
 */
export function linkedText(state, text) {
  return visibleText(text).split(/(#\d+)/).map((piece, at) => {
    const row = at % 2 ? state.recording.rowOf(Number(piece.slice(1))) : -1;
    return row < 0 ? piece : seqButton(state, row);
  });
}

/** The rows about the tool call of a row. @param {Recording} recording @param {number} row */
export function rowsOfCallAt(recording, row) {
  const calls = recording.numbers("call");
  const rows = [];
  for (let at = recording.rowOf(calls[row]); at >= 0 && at < recording.rows; at++) {
    if (calls[at] === calls[row]) rows.push(at);
  }
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
 * The card of the tool call of a row, without its title.
 * @param {State} state @param {CallModel} model @param {number[]} rows
 */
export async function callElement(state, model, rows) {
  const [start, last] = [model.history[0]?.t_ns, rows[rows.length - 1]];
  const box = h("div", {},
    h("p", { class: "note" }, `${visibleText(wordAt(model.call, "toolCallId", "id"))} · ${countInWords(rows.length, "frame")} `, seqButton(state, rows[0]), rows.length > 1 && ["–", seqButton(state, last)]),
    h("ol", { class: "statuses", "aria-label": "status over time" }, model.history.map(({ status, row, t_ns }) => h("li", {},
      `${statusInWords(status)} `, seqButton(state, row),
      h("span", { class: "note" }, t_ns === start ? secondsInWords(t_ns, " at ", " s") : durationInWords(t_ns - start, " +"))))),
    h("ul", { class: "choices mono" }, model.locations.slice(0, 20).map((place) => h("li", {}, visibleText(place)))));
  for (const asked of model.asked) box.append(await permissionElement(state, asked.row, model.title, false));
  // Its terminals were made before its last frame.
  box.append(...(await blockElements(state, model.blocks, rows[rows.length - 1])));
  return box;
}

/** A status with its sign. @param {string} status */
export function statusInWords(status) {
  return `${STATUS_SIGNS.get(status) ?? "·"} ${visibleText(status)}`;
}

/**
 * The title of a card: what, which kind, how it ended.
 * @param {CallModel} model @param {boolean} isOpen whether its end may still come
 */
export function callTitle(model, isOpen) {
  const [kind, took] = [wordAt(model.call, "kind"), durationInWords(model.took)];
  const isFailed = model.status === "failed" || model.status === "denied";
  const isEndless = !model.isOver && !isOpen;
  return [
    h("b", {}, visibleText(model.title)), " ", kind !== "" && kind !== "other" && h("span", { class: "badge" }, visibleText(kind)),
    h("span", { class: isFailed ? "trouble" : isEndless ? "caution" : "note" },
      ` ${statusInWords(model.status || "no status")}${took && ` after ${took}`}${isEndless ? ", never ended" : ""}`),
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

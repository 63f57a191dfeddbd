// The card of a tool call: all frames about it as one picture, and the view that lists the cards.
import {contentBlocks, outputBlocks} from "../detail/blocks.js";
import {addInParts} from "../detail/hex.js";
import {JsonText, JsonTree} from "../detail/json_tree.js";
import {isObject, objectAt, objectsAt, parsedLine, updateOf, wordAt} from "../detail/values.js";
import {countInWords, durationInWords, visibleText} from "../shell/words.js";
import {clear, h} from "../shell/dom.js";
import {blockElements, readFrames} from "./terminal.js";

/** @typedef {import("../shell/state.js").State} State */
/** @typedef {import("../detail/values.js").JsonObject} JsonObject */
/** @typedef {import("../detail/blocks.js").ContentBlock} ContentBlock */
/** @typedef {import("./terminal.js").ReadFrame} ReadFrame */
/** @typedef {{name: string, kind: string, isChosen: boolean}} PermissionOption */
/** @typedef {{title: string, reasons: string[], options: PermissionOption[], decision: string, blocks: ContentBlock[]}} PermissionModel */
/** @typedef {{row: number, path: string[]}} CallSource where the JSON of a member is */

const FINAL_STATUSES = new Set(["completed", "failed", "cancelled", "denied"]);
const STATUS_SIGNS = new Map([["completed", "✓"], ["failed", "✗"], ["denied", "✗"], ["cancelled", "✗"], ["in_progress", "▸"]]);
const CARDS_AT_ONCE = 50;
const REQUEST_PERMISSION = "session/request_permission";

/** What is known of one tool call from its frames, which are added in order. */
export class CallModel {
  /** @type {JsonObject} */
  call = {};
  /** @type {{status: string, row: number, t_ns: number}[]} */
  history = [];
  /** @type {Map<string, CallSource>} */
  sources = new Map();
  /** @type {ReadFrame[]} */
  asked = [];
  streamed = "";
  /** @type {ContentBlock[]} */
  items = [];
  /** @type {ReadFrame|null} */
  first = null;
  /** @type {ReadFrame|null} */
  last = null;

  /** @param {ReadFrame} frame */
  add(frame) {
    const params = objectAt(frame.message, "params");
    if (frame.method === REQUEST_PERMISSION) {
      if (frame.kind !== "request") return;
      const path = "toolCall" in params ? ["toolCall"] : ["subject", "toolCall"];
      const known = objectAt(params, ...path);
      this.asked.push(frame);
      this.noteSources(frame.row, known, ["params", ...path], true);
      this.call = {...known, content: null, status: null, ...this.call};
      return;
    }
    const {kind, update} = updateOf(frame.message);
    this.first ??= frame;
    this.last = frame;
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
    if (status !== "" && this.history.at(-1)?.status !== status) this.history.push({status, row: frame.row, t_ns: frame.t_ns});
    this.noteSources(frame.row, update, ["params", "update" in params ? "update" : "data"], false);
    // A member that is left out, or null, does not change what is known.
    for (const [name, value] of Object.entries(update)) if (value !== null) this.call[name] = value;
  }

  /**
   * Notes where members are that are shown as JSON.
   * @param {number} row
   * @param {JsonObject} call
   * @param {string[]} path
   * @param {boolean} isFallback
   */
  noteSources(row, call, path, isFallback) {
    for (const name of ["rawInput", "input", "rawOutput", "output", "error"]) {
      const value = call[name] ?? {};
      const isEmpty = isObject(value) && Object.keys(value).length === 0;
      if (!isEmpty && !(isFallback && this.sources.has(name))) this.sources.set(name, {row, path: [...path, name]});
    }
  }

  get title() {
    return wordAt(this.call, "title", "name", "tool") || wordAt(objectAt(this.asked[0]?.message, "params"), "title") || wordAt(this.call, "toolCallId", "id");
  }

  get status() {
    return wordAt(this.call, "status");
  }

  /** Nanoseconds from the first update to the last one; NaN for a call that is not over. */
  get took() {
    const isOver = FINAL_STATUSES.has(this.status) && this.first !== this.last;
    return isOver && this.first && this.last ? this.last.t_ns - this.first.t_ns : NaN;
  }

  /** The files that it touched. */
  get locations() {
    return [...objectsAt(this.call, "locations"), objectAt(this.call, "location")].map(placeInWords).filter(Boolean);
  }

  /** The content in its order; without any, the output. @returns {ContentBlock[]} */
  get blocks() {
    const shown = [...contentBlocks(this.call.content, "output"), ...contentBlocks(this.streamed, "output"), ...this.items];
    if (shown.length === 0) shown.push(...outputBlocks(this.call.output));
    if (shown.length === 0) shown.push(...outputBlocks(this.call.rawOutput));
    return typeof this.call.error === "string" ? [...shown, ...contentBlocks(this.call.error, "error")] : shown;
  }
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
 * @returns {PermissionModel}
 */
export function permissionModel(message, answer, known = "") {
  const params = objectAt(message, "params");
  const call = objectAt(params, ...("toolCall" in params ? ["toolCall"] : ["subject", "toolCall"]));
  const operation = `${wordAt(params, "operation")} ${wordAt(params, "resource")}`.trim();
  const title = wordAt(params, "title") || wordAt(call, "title", "name", "tool") || known || operation || wordAt(call, "toolCallId", "id");
  const reasons = [wordAt(params, "description", "reason"), wordAt(objectAt(params, "subject"), "command")];
  const result = objectAt(answer, "result");
  const outcome = isObject(result.outcome) ? result.outcome : result;
  const offered = objectsAt(params, "options");
  const chosen = offered.find((option) => option.optionId === outcome.optionId && outcome.optionId !== undefined);
  const options = offered.map((option) => ({name: wordAt(option, "name", "optionId"), kind: wordAt(option, "kind"), isChosen: option === chosen}));
  return {
    title, reasons: reasons.filter((reason) => reason !== "" && reason !== title), options,
    decision: answer === null ? "" : decisionInWords(answer, result, outcome, chosen ?? {}), blocks: contentBlocks(call.content, "output"),
  };
}

/**
 * @param {unknown} answer
 * @param {JsonObject} result
 * @param {JsonObject} outcome
 * @param {JsonObject} chosen
 */
function decisionInWords(answer, result, outcome, chosen) {
  const error = wordAt(objectAt(answer, "error"), "message");
  if (error !== "") return `error: ${error}`;
  const scope = wordAt(result, "scope");
  if ("granted" in result) return `${result.granted ? "granted" : "denied"}${scope && ` (${scope})`}`;
  const id = wordAt(outcome, "optionId");
  if (id === "") return wordAt(outcome, "outcome") || "nothing";
  const kind = wordAt(chosen, "kind") || id;
  return `${kind.startsWith("allow") ? "granted" : kind.startsWith("reject") ? "denied" : kind} (${wordAt(chosen, "name") || id})`;
}

/**
 * A permission request in the page: the question, the options and the answer.
 * @param {State} state
 * @param {number} row of the request
 * @param {string} title of its tool call
 * @param {boolean} isWhole whether its content is shown, which the card of its call has anyway
 * @returns {Promise<HTMLElement>}
 */
export async function permissionElement(state, row, title, isWhole) {
  const {recording} = state;
  const pair = recording.pair(row);
  const answer = pair < 0 ? null : parsedLine(await recording.line(pair));
  const model = permissionModel(parsedLine(await recording.line(row)), answer, title);
  const latency = durationInWords(recording.numbers("latency_ns")[row]);
  const who = recording.meta.parties?.[REQUEST_PERMISSION] === "person" ? "the person" : "the client";
  const choices = model.options.map(({name, kind, isChosen}) => h("li", {class: isChosen ? "chosen" : null},
    `${isChosen ? "●" : "○"} ${visibleText(name)} `, h("span", {class: "note"}, visibleText(kind)), isChosen ? " ← chosen" : ""));
  return h("div", {class: "permission"},
    h("div", {}, "asked for permission: ", h("b", {}, visibleText(model.title)), " ", seqButton(state, row)),
    model.reasons.map((reason) => h("p", {}, visibleText(reason))),
    h("ul", {class: "choices"}, choices),
    pair < 0 ? h("p", {class: "trouble"}, "not answered")
      : h("p", {}, h("b", {}, visibleText(model.decision)), ` — ${who} took ${latency} `, seqButton(state, pair)),
    isWhole ? await blockElements(state, model.blocks, row) : []);
}

/**
 * A button that goes to a frame.
 * @param {State} state
 * @param {number} row
 * @returns {HTMLElement}
 */
export function seqButton(state, row) {
  const seq = state.recording.numbers("seq")[row];
  return h("button", {type: "button", class: "seq", "aria-label": `frame ${seq}`, on: {click: () => state.select(row)}}, `#${seq}`);
}

/**
 * The rows about the tool call of a row, in its turn: another turn may use the same id.
 * @param {import("../data/recording.js").Recording} recording
 * @param {number} row
 * @returns {number[]}
 */
export function rowsOfCallAt(recording, row) {
  const call = recording.text("tool_call", row);
  const turns = recording.numbers("turn");
  if (call === null) return [];
  return recording.rowsOfCall(call, recording.text("session", row)).filter((one) => Object.is(turns[one], turns[row]));
}

/**
 * Reads the tool call of a row.
 * @param {import("../data/recording.js").Recording} recording
 * @param {number} row
 * @returns {Promise<{model: CallModel, rows: number[]}>}
 */
export async function readCall(recording, row) {
  const rows = rowsOfCallAt(recording, row);
  const model = new CallModel();
  for (const frame of await readFrames(recording, rows)) model.add(frame);
  return {model, rows};
}

/**
 * The card of the tool call of a row, without its title.
 * @param {State} state
 * @param {CallModel} model
 * @param {number[]} rows
 * @returns {Promise<HTMLElement>}
 */
export async function callElement(state, model, rows) {
  const start = model.history[0]?.t_ns;
  const box = h("div", {},
    h("p", {class: "note"}, `${visibleText(wordAt(model.call, "toolCallId", "id"))} · ${countInWords(rows.length, "frame")} `, seqButton(state, rows[0]), rows.length > 1 && ["–", seqButton(state, rows[rows.length - 1])]),
    h("ol", {class: "statuses", "aria-label": "status over time"}, model.history.map(({status, row, t_ns}) => h("li", {},
      `${statusInWords(status)} `, seqButton(state, row),
      h("span", {class: "note"}, t_ns === start ? ` at ${(t_ns / 1e9).toFixed(3)} s` : ` +${durationInWords(t_ns - start)}`)))),
    h("ul", {class: "choices mono"}, model.locations.slice(0, 20).map((place) => h("li", {}, visibleText(place)))));
  for (const asked of model.asked) box.append(await permissionElement(state, asked.row, model.title, false));
  box.append(...(await blockElements(state, model.blocks, rows[0])));
  for (const [name, source] of model.sources) box.append(sourceElement(state, name, source));
  return box;
}

/**
 * A member of a tool call as a tree, made when it is opened.
 * @param {State} state
 * @param {string} name
 * @param {CallSource} source
 */
function sourceElement(state, name, source) {
  const open = async () => {
    const json = new JsonText(new TextDecoder().decode(await state.recording.line(source.row)));
    const token = json.find(source.path);
    if (token >= 0) box.append(new JsonTree(json, token, name).box);
  };
  const box = h("details", {}, h("summary", {class: "mono"}, name));
  box.addEventListener("toggle", open, {once: true});
  return box;
}

/**
 * A status with its sign.
 * @param {string} status
 * @returns {string}
 */
export function statusInWords(status) {
  return `${STATUS_SIGNS.get(status) ?? "·"} ${visibleText(status)}`;
}

/**
 * The title of a card: what, which kind, how it ended.
 * @param {CallModel} model
 */
export function callTitle(model) {
  const [kind, took] = [wordAt(model.call, "kind"), durationInWords(model.took)];
  const isFailed = model.status === "failed" || model.status === "denied";
  return [
    h("b", {}, visibleText(model.title)), " ", kind !== "" && kind !== "other" && h("span", {class: "badge"}, visibleText(kind)),
    h("span", {class: isFailed ? "trouble" : "note"}, ` ${statusInWords(model.status || "no status")}${took && ` after ${took}`}`),
  ];
}

/**
 * The first row of each tool call among rows.
 * @param {import("../data/recording.js").Recording} recording
 * @param {Int32Array} shown
 * @returns {number[]}
 */
export function callsAmong(recording, shown) {
  const [calls, sessions] = [recording.codes("tool_call"), recording.codes("session")];
  const turns = recording.numbers("turn");
  const known = new Set();
  const firsts = [];
  for (const row of shown) {
    if (calls[row] === 0) continue;
    const key = `${calls[row]} ${sessions[row]} ${turns[row]}`;
    if (!known.has(key)) firsts.push(row);
    known.add(key);
  }
  return firsts;
}

/**
 * A card that is closed until it is asked for.
 * @param {State} state
 * @param {number} row
 * @returns {Promise<HTMLElement>}
 */
async function closedCard(state, row) {
  const {recording} = state;
  const turn = recording.numbers("turn")[row];
  const where = h("span", {class: "note"}, Number.isNaN(turn) ? " · outside of turns" : ` · turn ${turn}`);
  if (!recording.hasPayloads) return h("p", {class: "card"}, seqButton(state, row), " ", visibleText((await recording.cells(row)).text), where);
  const {model, rows} = await readCall(recording, row);
  const card = h("details", {class: "card"}, h("summary", {}, `#${recording.numbers("seq")[row]} `, callTitle(model), where));
  card.addEventListener("toggle", async () => card.append(await callElement(state, model, rows)), {once: true});
  return card;
}

export const callsView = {
  name: "calls",
  title: "Tool calls",
  key: "4",
  /**
   * @param {HTMLElement} container
   * @param {State} state
   */
  mount(container, state) {
    const box = h("div", {class: "cards"});
    container.append(box);
    /** @type {Int32Array | null} */
    let listed = null;
    const render = () => {
      const among = state.shown;
      if (container.hidden || listed === among) return;
      listed = among;
      const rows = callsAmong(state.recording, among);
      const within = rows.filter((row) => !Number.isNaN(state.recording.numbers("turn")[row])).length;
      const others = rows.length > within ? `, ${rows.length - within} more outside of turns, as in a replayed history` : "";
      clear(box, h("p", {class: "note"}, `${countInWords(within, "tool call")}${others}`));
      let shown = 0;
      addInParts(box, async (add) => {
        const cards = await Promise.all(rows.slice(shown, (shown += CARDS_AT_ONCE)).map((row) => closedCard(state, row)));
        if (listed === among) add(...cards);
        return shown < rows.length ? countInWords(rows.length - shown, "more tool call") : "";
      });
    };
    state.on("shown", render);
    return {show: render, hide: () => {}};
  },
};

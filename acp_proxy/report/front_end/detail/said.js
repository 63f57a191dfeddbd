// What a frame says to a person: its text, its question, its plan, its output; of a streamed message the whole text.
import {callElement, callTitle, permissionElement, readCall, seqButton} from "../cards/card.js";
import {blockElements, terminalElement} from "../cards/terminal.js";
import {h} from "../shell/dom.js";
import {contentBlocks} from "./blocks.js";
import {longText} from "./hex.js";
import {countInWords, durationInWords, isObject, objectAt, objectsAt, parsedLine, sizeInWords, updateOf, visibleText, wordAt} from "./values.js";

/** @typedef {import("../shell/state.js").State} State */
/** @typedef {import("../data/recording.js").Recording} Recording */
/** @typedef {import("./blocks.js").ContentBlock} ContentBlock */
/** @typedef {{key: string, text: string}} TextChunk */

// Lines that are read as values; larger ones are shown as bytes.
export const LARGEST_READ = 8_000_000;
const CHUNK_KINDS = new Set(["user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "thought_message_chunk", "compaction_summary_chunk"]);
const MOST_CHUNKS = 20_000;
const MOST_LINES_JOINED = 500;
const LONG_STRING = 160;
const MOST_STRINGS = 20;
const PLAN_SIGNS = new Map([["completed", "✓"], ["in_progress", "▸"], ["pending", "·"], ["cancelled", "✗"], ["failed", "✗"]]);

/**
 * A piece of a streamed message; null for anything else.
 * @param {unknown} message
 * @returns {TextChunk|null}
 */
export function chunkOf(message) {
  const {kind, update} = updateOf(message);
  const {content} = update;
  const text = isObject(content) ? (content.type === "text" ? content.text : null) : content;
  if (!CHUNK_KINDS.has(kind) || typeof text !== "string") return null;
  return {key: `${kind} ${wordAt(update, "messageId", "compactionId")}`, text};
}

/**
 * Whether a row does not end a message that is streamed around it: an answer to a request, or a blank line.
 * @param {Recording} recording
 * @param {number} row
 * @returns {boolean}
 */
function isBetweenChunks(recording, row) {
  const kind = recording.text("kind", row);
  if (kind === "blank") return true;
  const isAnswer = kind === "response" || kind === "error";
  return isAnswer && !Number.isNaN(recording.numbers("request_seq")[row]) && recording.text("method", row) !== "session/prompt";
}

/**
 * All pieces of the message that a row is a piece of, in order; an empty list if it is none.
 * @param {Recording} recording
 * @param {number} row
 * @returns {Promise<{rows: number[], text: string}>}
 */
export async function joinedChunks(recording, row) {
  const own = chunkOf(parsedLine(await recording.line(row)));
  if (own === null) return {rows: [], text: ""};
  const [updates, sessions, turns] = [recording.codes("update"), recording.codes("session"), recording.numbers("turn")];
  const rows = [row];
  const texts = [own.text];
  for (const step of [-1, 1]) {
    for (let at = row + step; at >= 0 && at < recording.rows && rows.length < MOST_CHUNKS; at += step) {
      if (isBetweenChunks(recording, at)) continue;
      if (updates[at] !== updates[row] || sessions[at] !== sessions[row] || !Object.is(turns[at], turns[row])) break;
      const chunk = chunkOf(parsedLine(await recording.line(at)));
      if (chunk === null || chunk.key !== own.key) break;
      if (step > 0) rows.push(at);
      else rows.unshift(at);
      if (step > 0) texts.push(chunk.text);
      else texts.unshift(chunk.text);
    }
  }
  return {rows, text: texts.join("")};
}

/**
 * The lines on stderr around a row, between which nothing else came.
 * @param {Recording} recording
 * @param {number} row
 * @returns {Promise<{rows: number[], text: string}>}
 */
export async function joinedLines(recording, row) {
  const isLine = (/** @type {number} */ at) => recording.text("stream", at) === "stderr";
  let [first, last] = [row, row];
  while (first > 0 && row - first < MOST_LINES_JOINED && isLine(first - 1)) first--;
  while (last < recording.rows - 1 && last - row < MOST_LINES_JOINED && isLine(last + 1)) last++;
  const rows = Array.from({length: last - first + 1}, (_, index) => first + index);
  const lines = await Promise.all(rows.map(async (at) => new TextDecoder().decode(await recording.line(at))));
  return {rows, text: lines.join("\n")};
}

/**
 * The long texts of a message of any shape, each with its place.
 * @param {unknown} value
 * @param {string} place
 * @param {number} depth
 * @returns {ContentBlock[]}
 */
export function longStrings(value, place = "", depth = 0) {
  if (depth > 40) return [];
  if (typeof value === "string") {
    const isLong = value.trimEnd().includes("\n") || (value.length > LONG_STRING && value.includes(" "));
    return isLong ? [{form: "text", text: value, label: place}] : [];
  }
  if (isObject(value) && typeof value.newText === "string") return contentBlocks({type: "diff", ...value});
  if (typeof value !== "object" || value === null) return [];
  /** @type {ContentBlock[]} */
  const found = [];
  for (const [name, inner] of Object.entries(value)) {
    if (found.length >= MOST_STRINGS) break;
    found.push(...longStrings(inner, `${place}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`, depth + 1));
  }
  return found;
}

/**
 * What a frame says as text blocks, where it needs no other frame.
 * @param {unknown} message
 * @param {string} method
 * @param {string} kind
 * @returns {ContentBlock[]}
 */
export function saidBlocks(message, method, kind) {
  const [params, result] = [objectAt(message, "params"), objectAt(message, "result")];
  if (kind === "request" && method === "session/prompt") {
    return [...contentBlocks(params.prompt ?? params.content), ...contentBlocks(params.attachments)];
  }
  if (method === "fs/write_text_file" && kind === "request") return contentBlocks(params.content, wordAt(params, "path"));
  if (method === "fs/read_text_file" && kind === "response") return contentBlocks(result.content, "content");
  if (method === "session/update") {
    const {kind: name, update} = updateOf(message);
    if (name.includes("message") || name.includes("thought")) return contentBlocks(update.content);
  }
  return longStrings(message);
}

/**
 * The steps of a plan; an empty list if the message is no plan.
 * @param {unknown} message
 * @returns {{text: string, detail: string, status: string}[]}
 */
export function planSteps(message) {
  const {kind, update} = updateOf(message);
  if (kind !== "plan" && kind !== "plan_update") return [];
  const inner = isObject(update.plan) ? update.plan : update;
  const entries = objectsAt(inner, "entries");
  return (entries.length > 0 ? entries : objectsAt(inner, "steps")).map((step) => ({
    text: wordAt(step, "content", "description"), detail: wordAt(step, "priority"), status: wordAt(step, "status"),
  }));
}

/**
 * What a row says, in the page.
 * @param {State} state
 * @param {number} row
 * @returns {Promise<(HTMLElement|string)[]>}
 */
export async function saidElements(state, row) {
  const {recording} = state;
  const cells = await recording.cells(row);
  const [kind, method] = [recording.text("kind", row) ?? "", recording.text("method", row) ?? ""];
  const preview = h("p", {class: "said-line"}, visibleText(cells.text) || h("span", {class: "note"}, "nothing"));
  if (!recording.hasPayloads) {
    return [h("p", {class: "note"}, "This report was made without payloads (--no-payloads): only a preview of each line is in it."), preview];
  }
  if (recording.text("stream", row) === "event") return [preview];
  if (recording.lineLength(row) > LARGEST_READ) {
    const size = sizeInWords(recording.lineLength(row));
    return [preview, h("p", {class: "note"}, `The line has ${size}; "bytes" shows it piece by piece.`)];
  }
  if (kind === "invalid" || kind === "blank" || kind === "stderr") {
    const {rows, text} = kind === "stderr" ? await joinedLines(recording, row)
      : {rows: [row], text: new TextDecoder().decode(await recording.line(row))};
    return [...runHeading(state, rows, "line"), text === "" ? h("p", {class: "note"}, "an empty line") : longText(text)];
  }
  const message = parsedLine(await recording.line(row));
  if (method === "session/update") {
    const found = await updateElements(state, row, message);
    if (found.length > 0) return found;
  }
  if (method === "session/request_permission") {
    const asked = kind === "request" ? row : recording.pair(row);
    const call = await readCall(recording, row);
    const isAlone = call.rows.length === 0;
    const question = asked < 0 ? preview : await permissionElement(state, asked, call.model.title, isAlone);
    return [question, ...(isAlone ? [] : await callElements(state, call))];
  }
  if (method.startsWith("terminal/")) {
    const id = recording.text("terminal", row) ?? recording.text("answer_terminal", row);
    if (id !== null) return [preview, await terminalElement(state, id, row)];
  }
  const blocks = await blockElements(state, saidBlocks(message, method, kind), row);
  return method === "session/prompt" && kind === "request" && blocks.length > 0 ? blocks : [preview, ...blocks];
}

/**
 * From where to where a joined text goes; nothing for a single row.
 * @param {State} state
 * @param {number[]} rows
 * @param {string} noun
 */
function runHeading(state, rows, noun) {
  const [first, last] = [rows[0], rows[rows.length - 1]];
  const times = state.recording.numbers("t_ns");
  if (first === last) return [];
  return [h("p", {class: "note"}, `${countInWords(rows.length, noun)}, `, seqButton(state, first), "–", seqButton(state, last), `, over ${durationInWords(times[last] - times[first])}`)];
}

/**
 * @param {State} state
 * @param {number} row
 * @param {unknown} message
 * @returns {Promise<(HTMLElement|string)[]>}
 */
async function updateElements(state, row, message) {
  const {recording} = state;
  const {rows, text} = await joinedChunks(recording, row);
  if (rows.length > 0) {
    return [...runHeading(state, rows, "piece"), text === "" ? h("p", {class: "note"}, "an empty text") : longText(text)];
  }
  const steps = planSteps(message);
  if (steps.length > 0) {
    return [h("ul", {class: "choices"}, ...steps.map((step) => h("li", {},
      `${PLAN_SIGNS.get(step.status) ?? "·"} ${visibleText(step.text)} `, h("span", {class: "note"}, [step.status, step.detail].filter(Boolean).map(visibleText).join(", ")))))];
  }
  const terminal = recording.text("terminal", row);
  if (recording.text("tool_call", row) !== null) return callElements(state, await readCall(recording, row));
  return terminal === null ? [] : [await terminalElement(state, terminal, row)];
}

/**
 * @param {State} state
 * @param {{model: import("../cards/card.js").CallModel, rows: number[]}} call
 * @returns {Promise<HTMLElement[]>}
 */
async function callElements(state, {model, rows}) {
  if (rows.length === 0) return [];
  const title = h("h4", {class: "card-heading"}, ...callTitle(model));
  return [h("section", {class: "card", "aria-label": "tool call"}, title, await callElement(state, model, rows))];
}

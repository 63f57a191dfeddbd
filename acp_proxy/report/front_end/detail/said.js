// What a frame says to a person: its text, its question, its plan, its output; of a streamed
// message the whole text.
import { callElement, callTitle, permissionElement, readCall, seqButton, statusInWords } from "../cards/card.js";
import { blockElements, terminalElement } from "../cards/terminal.js";
import { markdownElements } from "../conversation/markdown.js";
import { h } from "../shell/dom.js";
import { contentBlocks } from "./blocks.js";
import { longText } from "./hex.js";
import { chunkOf, isObject, objectAt, objectsAt, parsedLine, updateOf, wordAt } from "../data/values.js";
import { countInWords, durationInWords, sizeInWords, visibleText } from "../shell/words.js";

/** @typedef {import("../shell/state.js").State} State */
/** @typedef {import("../data/recording.js").Recording} Recording */
/** @typedef {import("./blocks.js").ContentBlock} ContentBlock */

// Lines that are read as values; larger ones are shown as bytes.
const LARGEST_READ = 8_000_000;
const MOST_JOINED = 5000;
const LONGEST_RENDERED = 50_000;
const LONG_STRING = 160;
const MOST_STRINGS = 20;
const DEEPEST_PLACE = 20;

/**
 * Why the line of a row is not read; empty if it is.
 * @param {Recording} recording @param {number} row
 */
export function whyUnread(recording, row) {
  if (!recording.hasPayloads) return "This report was made without payloads (--no-payloads): it has no lines, only a preview of each.";
  const length = recording.lineLength(row);
  return length > LARGEST_READ ? `The line has ${sizeInWords(length)}; Bytes shows it piece by piece.` : "";
}

/**
 * Whether a row does not end a message that is streamed around it: the answer to a request within a
 * turn, or a blank line.
 * @param {Recording} recording @param {number} row
 */
function isBetweenChunks(recording, row) {
  const kind = recording.text("kind", row);
  return kind === "blank" || (kind !== "request" && recording.pair(row) >= 0 && recording.text("method", row) !== "session/prompt");
}

/**
 * All pieces of the message that a row is a piece of, in order; an empty list if it is none.
 * @param {Recording} recording @param {number} row
 * @returns {Promise<{rows: number[], text: string}>}
 */
export async function joinedChunks(recording, row) {
  const [updates, sessions, turns] = [recording.codes("update"), recording.codes("session"), recording.numbers("turn")];
  const read = async (/** @type {number} */ at) => {
    const isNear = updates[at] === updates[row] && sessions[at] === sessions[row] && Object.is(turns[at], turns[row]);
    return isNear ? chunkOf(parsedLine(await recording.line(at))) : null;
  };
  const own = await read(row);
  if (own === null) return { rows: [], text: "" };
  const chunks = [{ row, text: own.text }];
  for (const step of [-1, 1]) {
    for (let at = row + step; at >= 0 && at < recording.rows && chunks.length < MOST_JOINED; at += step) {
      if (isBetweenChunks(recording, at)) continue;
      const chunk = await read(at);
      if (chunk?.kind !== own.kind || chunk.id !== own.id) break;
      chunks.push({ row: at, text: chunk.text });
    }
  }
  chunks.sort((a, b) => a.row - b.row);
  return { rows: chunks.map((chunk) => chunk.row), text: chunks.map((chunk) => chunk.text).join("") };
}

/**
 * The lines on stderr around a row, between which nothing else came.
 * @param {Recording} recording @param {number} row
 * @returns {Promise<{rows: number[], text: string}>}
 */
export async function joinedLines(recording, row) {
  const isLine = (/** @type {number} */ at) => recording.text("stream", at) === "stderr";
  const rows = [row];
  while (rows.length < MOST_JOINED && isLine(rows[0] - 1)) rows.unshift(rows[0] - 1);
  while (rows.length < MOST_JOINED && isLine(rows[rows.length - 1] + 1)) rows.push(rows[rows.length - 1] + 1);
  const lines = await Promise.all(rows.map(async (at) => new TextDecoder().decode(await recording.line(at))));
  return { rows, text: lines.join("\n") };
}

/**
 * The diffs and the long texts of a message of any shape, each with its place.
 * @param {unknown} value @param {string} place @returns {ContentBlock[]}
 */
export function longStrings(value, place = "") {
  if (typeof value === "string") {
    const isLong = value.trimEnd().includes("\n") || (value.length > LONG_STRING && value.includes(" "));
    return isLong ? [{ form: "text", text: value, label: place }] : [];
  }
  if (isObject(value) && typeof value.newText === "string") return contentBlocks({ ...value, type: "diff" });
  const isDeep = place.split("/").length > DEEPEST_PLACE;
  return Object.entries(value !== null && typeof value === "object" && !isDeep ? value : {}).flatMap(([name, inner]) => longStrings(inner, `${place}/${name}`)).slice(0, MOST_STRINGS);
}

/**
 * What a frame says as text blocks, where it needs no other frame.
 * @param {unknown} message @param {string} method @param {string} kind @returns {ContentBlock[]}
 */
export function saidBlocks(message, method, kind) {
  const params = objectAt(message, "params");
  const { kind: name, update } = updateOf(message);
  if (kind === "request" && method === "session/prompt") return contentBlocks([params.prompt ?? params.content, params.attachments]);
  if (method === "session/update" && /message|thought/.test(name)) return contentBlocks(update.content);
  return longStrings(message);
}

/**
 * The steps of a plan; an empty list if the message is no plan.
 * @param {unknown} message @returns {{text: string, detail: string, status: string}[]}
 */
export function planSteps(message) {
  const { kind, update } = updateOf(message);
  if (kind !== "plan" && kind !== "plan_update") return [];
  const plan = isObject(update.plan) ? update.plan : update;
  return [...objectsAt(plan, "entries"), ...objectsAt(plan, "steps")].map((step) => ({
    text: wordAt(step, "content", "description"), detail: wordAt(step, "priority"), status: wordAt(step, "status"),
  }));
}

/**
 * What a row says, in the page.
 * @param {State} state @param {number} row @returns {Promise<(HTMLElement | false)[]>}
 */
export async function saidElements(state, row) {
  const { recording } = state;
  const [kind, method] = [recording.text("kind", row) ?? "", recording.text("method", row) ?? ""];
  const preview = h("p", { class: "text" }, visibleText((await recording.cells(row)).text) || h("span", { class: "note" }, "nothing"));
  const obstacle = whyUnread(recording, row);
  if (obstacle !== "") return [h("p", { class: "note" }, obstacle), preview];
  if (recording.text("stream", row) === "event") return [preview];
  if (recording.text("stream", row) === "stderr") return joinedElements(state, await joinedLines(recording, row), "line");
  const message = parsedLine(await recording.line(row));
  if (message === null) return [longText(new TextDecoder().decode(await recording.line(row)))];
  const chunks = await joinedChunks(recording, row);
  if (chunks.rows.length > 0) return joinedElements(state, chunks, "piece");
  const steps = planSteps(message).map(({ status, text, detail }) => h("li", {}, `${statusInWords(status)}: ${visibleText(text)} `, h("span", { class: "note" }, visibleText(detail))));
  if (steps.length > 0) return [h("ul", { class: "choices" }, steps)];
  const call = await readCall(recording, row);
  const isAlone = call.rows.length === 0;
  const card = !isAlone && h("section", { class: "card", "aria-label": "tool call" }, h("h3", {}, callTitle(call.model, recording.isOpen)), await callElement(state, call.model, call.rows));
  const asked = kind === "request" ? row : recording.pair(row);
  // A card has the permissions of its call.
  if (!isAlone) return [card];
  if (method === "session/request_permission" && asked >= 0) return [await permissionElement(state, asked, "", true)];
  const terminal = recording.text("terminal", row) ?? recording.text("answer_terminal", row);
  if (terminal !== null) return [method !== "session/update" && preview, await terminalElement(state, terminal, row)];
  const blocks = await blockElements(state, saidBlocks(message, method, kind), row);
  return method === "session/prompt" && kind === "request" ? blocks : [preview, ...blocks];
}

/**
 * A text that was joined from rows.
 * @param {State} state @param {{rows: number[], text: string}} joined @param {string} noun
 */
function joinedElements(state, { rows, text }, noun) {
  const [first, last] = [rows[0], rows[rows.length - 1]];
  const times = state.recording.numbers("t_ns");
  const heading = h("p", { class: "note" }, `${countInWords(rows.length, noun)}, `, seqButton(state, first), "–", seqButton(state, last), durationInWords(times[last] - times[first], " over "));
  if (text === "") return [first !== last && heading, h("p", { class: "note" }, `an empty ${noun}`)];
  const isRendered = noun === "piece" && text.length <= LONGEST_RENDERED;
  return [first !== last && heading, isRendered ? h("div", { class: "markdown" }, markdownElements(text)) : longText(text)];
}

// What a frame says to a person: its text, its question, its plan, its output; of a streamed
// message the whole text.
import { callElement, permissionElement, seqButton, statusInWords } from "../cards/card.js";
import { blockElements, terminalElement } from "../cards/terminal.js";
import { markdownElements } from "../conversation/markdown.js";
import { decodeText } from "../data/source.js";
import { div, h, noteLine, span } from "../shell/dom.js";
import { contentBlocks } from "./blocks.js";
import { longText } from "./hex.js";
import { chunkOf, isObject, objectAt, objectsAt } from "../data/values.js";
import { parsedLine, updateOf, wordAt } from "../data/values.js";
import { countInWords, durationInWords, sizeInWords } from "../shell/words.js";

/** @typedef {import("../shell/state.js").State} State */
/** @typedef {import("../data/recording.js").Recording} Recording */
/** @typedef {import("./blocks.js").ContentBlock} ContentBlock */
/** @typedef {{rows: number[], text: string}} Joined a text that was joined from rows */

// Lines that are read as values; larger ones are shown as bytes.
const LARGEST_READ = 8_000_000;
const MOST_JOINED = 5000;
const LONGEST_RENDERED = 50_000;
const LONG_STRING = 160;
const MOST_STRINGS = 20;
const DEEPEST_PLACE = 20;
const NO_PAYLOADS =
  "This report was made without payloads (--no-payloads): it has no lines, only a preview of each.";

/**
 * Why the line of a row is not read; empty if it is.
 * @param {Recording} recording @param {number} row
 */
export function whyUnread(recording, row) {
  if (!recording.hasPayloads) return NO_PAYLOADS;
  const length = recording.lineLength(row);
  if (length <= LARGEST_READ) return "";
  return `The line has ${sizeInWords(length)}; Bytes shows it piece by piece.`;
}

/**
 * Whether a row does not end a message that is streamed around it: the answer to a request within
 * a turn, or a blank line.
 * @param {Recording} recording @param {number} row
 */
function isBetweenChunks(recording, row) {
  const [kind, method] = ["kind", "method"].map((name) => recording.text(name, row));
  const isAnswer = kind !== "request" && recording.pair(row) >= 0;
  return kind === "blank" || (isAnswer && method !== "session/prompt");
}

/**
 * All pieces of the message that a row is a piece of, in order; an empty list if it is none.
 * @param {Recording} recording @param {number} row @returns {Promise<Joined>}
 */
export async function joinedChunks(recording, row) {
  const [updates, sessions] = ["update", "session"].map((name) => recording.codes(name));
  const [turns, seqs] = ["turn", "seq"].map((name) => recording.numbers(name));
  const read = async (/** @type {number} */ at) => {
    const isNear = updates[at] === updates[row] && sessions[at] === sessions[row];
    if (!isNear || !Object.is(turns[at], turns[row])) return null;
    return chunkOf(parsedLine(await recording.line(at)));
  };
  const own = await read(row);
  if (own === null) return { rows: [], text: "" };
  const texts = new Map([[row, own.text]]);
  for (const step of [-1, 1]) {
    for (let at = row + step; seqs[at] >= 0 && texts.size < MOST_JOINED; at += step) {
      if (isBetweenChunks(recording, at)) continue;
      const chunk = await read(at);
      if (chunk?.kind !== own.kind || chunk.id !== own.id) break;
      texts.set(at, chunk.text);
    }
  }
  const rows = [...texts.keys()].sort((a, b) => a - b);
  return { rows, text: rows.map((at) => texts.get(at)).join("") };
}

/**
 * The lines on stderr around a row, between which nothing else came.
 * @param {Recording} recording @param {number} row @returns {Promise<Joined>}
 */
export async function joinedLines(recording, row) {
  const isLine = (/** @type {number} */ at) => recording.text("stream", at) === "stderr";
  let [first, last] = [row, row];
  while (last - first < MOST_JOINED && isLine(first - 1)) first--;
  while (last - first < MOST_JOINED && isLine(last + 1)) last++;
  const rows = Array.from({ length: last - first + 1 }, (_, at) => first + at);
  const lines = await Promise.all(rows.map((at) => recording.line(at)));
  return { rows, text: lines.map(decodeText).join("\n") };
}

/**
 * The diffs and the long texts of a message of any shape, each with its place.
 * @param {unknown} value @param {string} place @returns {ContentBlock[]}
 */
export function longStrings(value, place = "") {
  if (typeof value === "string") {
    const isLine = !value.trimEnd().includes("\n");
    if (isLine && (value.length <= LONG_STRING || !value.includes(" "))) return [];
    return [{ form: "text", text: value, label: place }];
  }
  if (typeof value !== "object" || place.split("/").length > DEEPEST_PLACE) return [];
  const newText = isObject(value) && value.newText;
  if (typeof newText === "string") return contentBlocks({ ...value, type: "diff" });
  const members = Object.entries(value ?? {});
  const found = members.flatMap(([name, inner]) => longStrings(inner, `${place}/${name}`));
  return found.slice(0, MOST_STRINGS);
}

/**
 * What a frame says as text blocks, where it needs no other frame.
 * @param {unknown} message @param {string} method @param {string} kind @returns {ContentBlock[]}
 */
export function saidBlocks(message, method, kind) {
  const { prompt, content, attachments } = objectAt(message, "params");
  const { kind: name, update } = updateOf(message);
  const isPrompt = kind === "request" && method === "session/prompt";
  if (isPrompt) return contentBlocks([prompt ?? content, attachments]);
  const isMessage = method === "session/update" && /message|thought/.test(name);
  return isMessage ? contentBlocks(update.content) : longStrings(message);
}

/**
 * The steps of a plan; an empty list if the message is no plan.
 * @param {unknown} message @returns {{text: string, detail: string, status: string}[]}
 */
export function planSteps(message) {
  const { kind, update } = updateOf(message);
  if (kind !== "plan" && kind !== "plan_update") return [];
  const plan = isObject(update.plan) ? update.plan : update;
  return ["entries", "steps"].flatMap((name) => objectsAt(plan, name)).map((step) => ({
    text: wordAt(step, "content", "description"),
    detail: wordAt(step, "priority"), status: wordAt(step, "status"),
  }));
}

/**
 * What a row says, in the page.
 * @param {State} state @param {number} row @returns {Promise<(HTMLElement | false)[]>}
 */
export async function saidElements(state, row) {
  const { recording } = state;
  const [kind, method, stream] = ["kind", "method", "stream"].map((name) =>
    recording.text(name, row) ?? "");
  const { text } = await recording.cells(row);
  const preview = h("p", { class: "text" }, text || span("note", "nothing"));
  const obstacle = whyUnread(recording, row);
  if (obstacle !== "") return [noteLine(obstacle), preview];
  if (stream === "event") return [preview];
  if (stream === "stderr") return joinedElements(state, await joinedLines(recording, row), "line");
  const line = await recording.line(row);
  const message = parsedLine(line);
  if (message === null) return [longText(decodeText(line))];
  const chunks = await joinedChunks(recording, row);
  if (chunks.rows.length > 0) return joinedElements(state, chunks, "piece");
  const steps = planSteps(message);
  if (steps.length > 0) return [h("ul", { class: "choices" }, steps.map(stepElement))];
  const card = await callElement(state, row);
  if (card !== null) return [card];
  const isPermission = method === "session/request_permission";
  const asked = !isPermission ? -1 : kind === "request" ? row : recording.pair(row);
  if (asked >= 0) return [await permissionElement(state, asked, "", true)];
  const terminal = recording.text("terminal", row) ?? recording.text("answer_terminal", row);
  const above = method !== "session/update" && preview;
  if (terminal !== null) return [above, await terminalElement(state, terminal, row)];
  const blocks = await blockElements(state, saidBlocks(message, method, kind), row);
  return method === "session/prompt" && kind === "request" ? blocks : [preview, ...blocks];
}

/** @param {{text: string, detail: string, status: string}} step of a plan */
const stepElement = ({ text, detail, status }) => h("li", null,
  `${statusInWords(status)}: ${text} `, span("note", detail));

/** @param {State} state @param {Joined} joined @param {string} noun */
function joinedElements(state, { rows, text }, noun) {
  const [first, last] = [rows[0], rows[rows.length - 1]];
  const times = state.recording.numbers("t_ns");
  const heading = first !== last && noteLine(`${countInWords(rows.length, noun)}, `,
    seqButton(state, first), "–", seqButton(state, last),
    durationInWords(times[last] - times[first], " over "));
  if (text === "") return [heading, noteLine(`an empty ${noun}`)];
  const isRendered = noun === "piece" && text.length <= LONGEST_RENDERED;
  return [heading, isRendered ? div("markdown", markdownElements(text)) : longText(text)];
}

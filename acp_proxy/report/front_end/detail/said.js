// Shows what a frame says to a person: its text, its question, its plan or its output. For a piece
// of a streamed message, this is the text of the whole message.
import { callElement, choicesElement, linkedText, permissionElement } from "../cards/card.js";
import { terminalElement } from "../cards/terminal.js";
import { decodeText } from "../data/source.js";
import { countInWords, durationInWords, h, noteLine, sizeInWords, span } from "../shell/dom.js";
import { blockElement, blockElements, contentBlocks, entryBlocks, longText } from "./blocks.js";
import { isObject, parsedLine, updateOf } from "../data/values.js";

/** @typedef {import("../shell/state.js").State} State */
/** @typedef {import("../data/recording.js").Recording} Recording */
/** @typedef {import("./blocks.js").ContentBlock} ContentBlock */
/** @typedef {import("../conversation/entries.js").Entry} Entry */
/** @typedef {import("../shell/dom.js").Child} Child */

/** The kinds of entries that contain everything that their frames say. */
const SAID = new Set(["message", "thought", "stderr", "plan"]);
const NO_PAYLOADS =
  "This report was made without payloads (--no-payloads): it has no lines, only a preview of each.";

/**
 * Returns why the line of a row is not read; empty if the line is read.
 * @param {Recording} recording @param {number} row
 */
export function whyUnread(recording, row) {
  if (!recording.hasPayloads) return NO_PAYLOADS;
  const length = recording.lineLength(row);
  // Larger lines are shown as bytes.
  if (length <= 8_000_000) return "";
  return `The line has ${sizeInWords(length)}; Bytes shows it piece by piece.`;
}

/**
 * The diffs and the long texts in a message of any shape, each with its path in the message.
 * @param {unknown} value @param {string} place @returns {ContentBlock[]}
 */
export function longStrings(value, place = "") {
  if (typeof value === "string") {
    const isLine = !value.trimEnd().includes("\n");
    if (isLine && (value.length <= 160 || !value.includes(" "))) return [];
    return [{ form: "text", text: value, label: place }];
  }
  if (typeof value !== "object" || place.split("/").length > 20) return [];
  const newText = isObject(value) && value.newText;
  if (typeof newText === "string") return contentBlocks({ ...value, type: "diff" });
  const members = Object.entries(value ?? {});
  return members.flatMap(([name, inner]) => longStrings(inner, `${place}/${name}`)).slice(0, 20);
}

/**
 * Returns what a frame says, as blocks, if no entry of the conversation contains it.
 * @param {unknown} message @returns {ContentBlock[]}
 */
export function saidBlocks(message) {
  const { content } = updateOf(message).update;
  return content ? contentBlocks(content) : longStrings(message);
}

/**
 * Makes the elements that show what a row says.
 * @param {State} state @param {number} row @returns {Promise<Child[]>}
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
  const entry = kind === "batch" ? null : await recording.entries.about([row]);
  const isWhole = entry?.kind === "prompt" ? kind === "request" : SAID.has(entry?.kind ?? "");
  if (entry && isWhole) return entryElements(state, entry, row);
  const line = await recording.line(row);
  const message = parsedLine(line);
  if (message === null) return [longText(decodeText(line))];
  const card = await callElement(state, row);
  if (card !== null) return [card];
  const asked = entry?.kind === "permission" ? recording.rowOf(entry.seq) : -1;
  if (asked >= 0) return [await permissionElement(state, asked, true)];
  const above = method !== "session/update" && preview;
  if (entry?.kind === "terminal") return [above, await terminalElement(state, entry.id, row)];
  return [preview, ...await blockElements(state, saidBlocks(message), row)];
}

/**
 * Makes the elements that show the content of an entry.
 * @param {State} state @param {Entry} entry @param {number} row of the entry
 */
function entryElements(state, entry, row) {
  const { entries } = state.recording;
  const { length } = entries.rowsOf(entries.ofRows[row]);
  const count = countInWords(length, entry.kind === "stderr" ? "line" : "piece");
  const took = durationInWords(entry.took_ns ?? NaN, " over ");
  const words = `${count}, #${entry.seq}–#${entry.last_seq}${took}`;
  const heading = length > 1 && noteLine(linkedText(state, words));
  const blocks = entryBlocks(entry).map((block) => blockElement(state, block));
  return [heading, choicesElement(entry.choices), ...blocks];
}

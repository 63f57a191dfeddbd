// A terminal of any dialect: its command, its end, and its output.
import { fromBase64, objectAt, parsedLine, rowsWith, updateOf } from "../data/values.js";
import { countInWords, div, h, noteLine, span } from "../shell/dom.js";
import { ansiLines, ansiPieces } from "./ansi.js";

/**
 * @typedef {import("../shell/state.js").State} State
 * @typedef {import("../data/recording.js").Recording} Recording
 * @typedef {object} ReadFrame
 * @property {number} row
 * @property {number} seq
 * @property {number} t_ns
 * @property {string} kind
 * @property {string} method
 * @property {unknown} message
 */

const MOST_LINES_SHOWN = 1000;

/**
 * The whole output of one terminal, in any dialect.
 * @param {ReadFrame[]} frames
 */
export function outputOf(frames) {
  let output = "";
  // A chunk may end within a character.
  let decoder = new TextDecoder();
  for (const { kind, method, message } of frames) {
    const { kind: name, update } = updateOf(message);
    const [isChunk, isRequest] = [name === "terminal_output_chunk", kind === "request"];
    const said = method === "session/update" ? update
      : objectAt(message, isRequest ? "params" : "result");
    const { data } = objectAt(said, "output");
    if (data !== undefined) decoder = new TextDecoder();
    const bytes = fromBase64(isChunk ? said.data : data);
    // In the 1.0 draft, the client pushes the output.
    const plain = isRequest ? said.data : said.output;
    const text = bytes === null ? plain : decoder.decode(bytes, { stream: true });
    if (typeof text === "string") output = isChunk || isRequest ? output + text : text;
  }
  return output;
}

/**
 * Reads the frames of rows.
 * @param {Recording} recording @param {number[]} rows @returns {Promise<ReadFrame[]>}
 */
export async function readFrames(recording, rows) {
  const frames = [];
  for (const row of rows) {
    const [seq, t_ns] = ["seq", "t_ns"].map((name) => recording.numbers(name).at(row));
    const [kind, method] = ["kind", "method"].map((name) => recording.text(name, row) ?? "");
    frames.push({ row, seq, t_ns, kind, method, message: parsedLine(await recording.line(row)) });
  }
  return frames;
}

/**
 * The element of a terminal. If several terminals have the id, the last one that existed at a row
 * is shown, or else the first one.
 * @param {State} state @param {string} id @param {number} row of the same session
 */
export async function terminalElement({ recording }, id, row) {
  const { entries } = recording;
  await entries.ready();
  const [terminals, sessions] = ["terminal", "session"].map((name) => recording.codes(name));
  const items = rowsWith(terminals, recording.code(id) || -1)
    .filter((at) => sessions.at(at) === sessions.at(row)).map((at) => entries.ofRows[at])
    .filter((item) => entries.kinds[item] === "terminal");
  const isThere = (/** @type {number} */ item) => recording.rowOf(entries.seqs[item]) <= row;
  const item = items.findLast(isThere) ?? items[0] ?? -1;
  const entry = await entries.get(item);
  const output = outputOf(await readFrames(recording, entries.rowsOf(item)));
  const { title, state, detail, is_failed, remarks = [] } = entry ?? {};
  const notes = [detail && `in ${detail}`, ...remarks];
  return div("terminal",
    div("terminal-head",
      span("mono", `$ ${title ?? id}`), span(is_failed ? "trouble" : "note", state)),
    notes.map((text) => text && noteLine(text)), output !== "" && outputElement(output));
}

/** The element of a terminal's output, whose end is visible at first. @param {string} output */
function outputElement(output) {
  const lines = ansiLines(output.slice(-1 << 20));
  const hidden = countInWords(lines.length - MOST_LINES_SHOWN, "earlier line");
  const box = h("div",
    { class: "terminal-output", role: "group", tabindex: "0", "aria-label": "output" },
    lines.length > MOST_LINES_SHOWN && noteLine(`${hidden} not shown`),
    lines.slice(-MOST_LINES_SHOWN).map((line) =>
      div("terminal-line", ansiPieces(line).map(({ text, classes }) => span(classes, text)))));
  requestAnimationFrame(() => (box.scrollTop = box.scrollHeight));
  return box;
}

// A terminal of any dialect: its command, its end, and its output as it grew, which can be played
// back.
import { fromBase64, objectAt, parsedLine, rowsWith, updateOf } from "../data/values.js";
import { clear, countInWords, div, durationInWords, h, noteLine, span } from "../shell/dom.js";
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
 * @typedef {{t_ns: number, seq: number, text: string, isWhole: boolean}} OutputStep
 */

const MOST_LINES_SHOWN = 1000;

/**
 * The steps in which the output of one terminal grew, in any dialect.
 * @param {ReadFrame[]} frames
 */
export function outputSteps(frames) {
  /** @type {OutputStep[]} */
  const steps = [];
  // A chunk may end within a character.
  let decoder = new TextDecoder();
  for (const { t_ns, seq, kind, method, message } of frames) {
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
    if (typeof text !== "string") continue;
    steps.push({ t_ns, seq, text, isWhole: !isChunk && !isRequest });
  }
  return steps;
}

/** The output of a terminal after a step. @param {OutputStep[]} steps @param {number} index */
export function outputAfter(steps, index = steps.length - 1) {
  const before = steps.slice(0, index + 1);
  const whole = Math.max(before.findLastIndex((step) => step.isWhole), 0);
  return before.slice(whole).map((step) => step.text).join("");
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
  const steps = outputSteps(await readFrames(recording, entries.rowsOf(item)));
  const { title, state, detail, is_failed, remarks = [] } = entry ?? {};
  const notes = [detail && `in ${detail}`, ...remarks];
  return div("terminal",
    div("terminal-head",
      span("mono", `$ ${title ?? id}`), span(is_failed ? "trouble" : "note", state)),
    notes.map((text) => text && noteLine(text)), steps.length > 0 && outputElements(steps));
}

/**
 * The elements of a terminal's output: the text, and a slider that plays the steps back.
 * @param {OutputStep[]} steps
 */
function outputElements(steps) {
  const last = steps.length - 1;
  const box = h("div",
    { class: "terminal-output", role: "group", tabindex: "0", "aria-label": "output" });
  const place = span("note");
  /** @param {number} index */
  const show = (index) => {
    const lines = ansiLines(outputAfter(steps, index).slice(-1 << 20));
    const hidden = countInWords(lines.length - MOST_LINES_SHOWN, "earlier line");
    clear(box, lines.length > MOST_LINES_SHOWN && noteLine(`${hidden} not shown`),
      lines.slice(-MOST_LINES_SHOWN).map((line) =>
        div("terminal-line", ansiPieces(line).map(({ text, classes }) => span(classes, text)))));
    // At first, the end of the output is visible.
    requestAnimationFrame(() => (box.scrollTop = box.scrollHeight));
    const { t_ns, seq } = steps[index];
    slider.value = String(index);
    const after = durationInWords(t_ns - steps[0].t_ns, ", after ");
    place.textContent = `change ${index + 1} of ${last + 1}, #${seq}${after}`;
    slider.setAttribute("aria-valuetext", place.textContent);
  };
  const slider = h("input", { type: "range", min: 0, max: last, "aria-label": "output over time",
    on: { input: () => show(Number(slider.value)) } });
  show(last);
  return [box, last > 0 && div("detail-line", slider, place)];
}

// A terminal of any dialect: its command, its end, and its output as it grew, which can be played
// back.
import { blockElement, exitInWords } from "../detail/blocks.js";
import { fromBase64, objectAt, parsedLine, updateOf, wordAt } from "../data/values.js";
import { countInWords, durationInWords, shellWord } from "../shell/words.js";
import { button, clear, div, h, noteLine, span } from "../shell/dom.js";
import { ansiLines, ansiPieces } from "./ansi.js";

/**
 * @typedef {import("../shell/state.js").State} State
 * @typedef {import("../data/recording.js").Recording} Recording
 * @typedef {import("../data/values.js").JsonObject} JsonObject
 * @typedef {object} ReadFrame
 * @property {number} row
 * @property {number} seq
 * @property {number} t_ns
 * @property {string} kind
 * @property {string} method
 * @property {unknown} message
 * @typedef {{t_ns: number, seq: number, text: string, isWhole: boolean}} OutputStep
 */

const LONGEST_PAUSE_NS = 2e9;
const MOST_OUTPUT = 1 << 20;
const MOST_LINES_SHOWN = 1000;
/** @type {Record<string, string>} */
const REMARKS = { "terminal/kill": "killed", "terminal/release": "released" };
const COLOURS = [
  "#9aa0a8", "#ff7b72", "#5fd068", "#e3c04f", "#7aa9ff", "#e58bea", "#4fd3d3", "#e6e6e6",
];
const TRUNCATED = "the client has left out the beginning of the output";

/** What is known of one terminal from its frames, which are added in order. */
export class TerminalModel {
  command = "";
  directory = "";
  ending = "";
  isFailed = false;
  /** @type {Set<string>} */
  remarks = new Set();
  /** @type {OutputStep[]} */
  steps = [];
  // A chunk may end within a character.
  decoder = new TextDecoder();

  /** @param {ReadFrame} frame */
  add(frame) {
    const { kind, method, message } = frame;
    const isRequest = kind === "request";
    const update = updateOf(message);
    const said = method === "session/update" ? update.update
      : objectAt(message, isRequest ? "params" : "result");
    const { data } = objectAt(said, "output");
    this.command = commandLine(said) || this.command;
    this.directory = wordAt(said, "cwd") || this.directory;
    if (update.kind === "terminal_output_chunk") this.addBytes(frame, said.data);
    else if (data !== undefined) {
      this.decoder = new TextDecoder();
      this.addBytes(frame, data, true);
    } else if (typeof said.output === "string") this.addText(frame, said.output, true);
    // In the 1.0 draft, the client pushes the output.
    else if (isRequest && typeof said.data === "string") this.addText(frame, said.data);
    if (isRequest && Object.hasOwn(REMARKS, method)) this.remarks.add(REMARKS[method]);
    if (said.truncated === true) this.remarks.add(TRUNCATED);
    if (isRequest) return;
    const refusal = method === "terminal/create" && kind === "error"
      && (wordAt(objectAt(message, "error"), "message") || "error");
    const status = "exitStatus" in said ? objectAt(said, "exitStatus") : said;
    const ending = refusal || exitInWords(status);
    if (ending) [this.ending, this.isFailed] = [ending, ending !== "exit 0"];
  }

  /** @param {ReadFrame} frame @param {unknown} data in base64 @param {boolean} [isWhole] */
  addBytes(frame, data, isWhole) {
    const bytes = fromBase64(data);
    if (bytes === null) this.remarks.add("output that is not base64");
    else this.addText(frame, this.decoder.decode(bytes, { stream: true }), isWhole);
  }

  /** @param {ReadFrame} frame @param {string} text @param {boolean} isWhole */
  addText = ({ t_ns, seq }, text, isWhole = false) => this.steps.push({ t_ns, seq, text, isWhole });

  /** The output after a step. @param {number} index */
  output(index = this.steps.length - 1) {
    const steps = this.steps.slice(0, index + 1);
    const whole = Math.max(steps.findLastIndex((step) => step.isWhole), 0);
    return steps.slice(whole).map((step) => step.text).join("");
  }
}

/** The command line in an object, quoted as for a shell. @param {JsonObject} value */
export function commandLine(value) {
  // A command that is one text may be a line for a shell, so it is not quoted.
  const line = wordAt(value, "command", "cmd", "commandLine", "script");
  const words = line === "" ? value.command : value.args;
  const quoted = Array.isArray(words) ? words.map((word) => shellWord(String(word))) : [];
  return [line, ...quoted].filter(Boolean).join(" ");
}

/**
 * Reads the frames of rows.
 * @param {Recording} recording @param {number[]} rows @returns {Promise<ReadFrame[]>}
 */
export async function readFrames(recording, rows) {
  const frames = [];
  for (const row of rows) {
    const [seq, t_ns] = ["seq", "t_ns"].map((name) => recording.numbers(name)[row]);
    const [kind, method] = ["kind", "method"].map((name) => recording.text(name, row) ?? "");
    frames.push({ row, seq, t_ns, kind, method, message: parsedLine(await recording.line(row)) });
  }
  return frames;
}

/**
 * The rows about a terminal; another terminal with the same id is created before or after them.
 * @param {Recording} recording @param {string} id
 * @param {number} row one of them, or one about its tool call
 */
export function rowsOfTerminal(recording, id, row) {
  const wanted = recording.code(id);
  const names = ["terminal", "answer_terminal", "tool_call", "session"];
  const [named, answered, calls, sessions] = names.map((name) => recording.codes(name));
  /** @type {number[]} */
  let rows = [];
  for (let at = 0; wanted > 0 && at < recording.rows; at++) {
    const isNamed = named[at] === wanted || answered[at] === wanted;
    if (!isNamed || calls[at] > 0 || sessions[at] !== sessions[row]) continue;
    const isCreation = recording.text("kind", at) === "request"
      && recording.text("method", at) === "terminal/create";
    if (isCreation && at > row) break;
    if (isCreation) rows = [];
    rows.push(at);
  }
  return rows;
}

/**
 * A terminal in the page.
 * @param {State} state @param {string} id
 * @param {number} row one that is about it
 */
export async function terminalElement({ recording }, id, row) {
  const model = new TerminalModel();
  const frames = await readFrames(recording, rowsOfTerminal(recording, id, row));
  frames.forEach((frame) => model.add(frame));
  const { command, directory, remarks, steps, isFailed } = model;
  const ending = model.ending || (remarks.size > 0 ? "" : "did not end");
  const notes = [directory && `in ${directory}`, ...remarks].filter(Boolean);
  return div("terminal",
    div("terminal-head",
      span("mono", `$ ${command || id}`), span(isFailed ? "trouble" : "note", ending)),
    notes.map((text) => noteLine(text)), steps.length > 0 && outputElements(model));
}

/** The output, and how it grew. @param {TerminalModel} model */
function outputElements(model) {
  const { steps } = model;
  const last = steps.length - 1;
  const box = h("div",
    { class: "terminal-output", role: "group", tabindex: "0", "aria-label": "output" });
  const place = span("note");
  let timer = 0;
  /** @param {number} index @param {boolean} isPlaying whether it goes on from there */
  const show = (index, isPlaying) => {
    const lines = ansiLines(model.output(index).slice(-MOST_OUTPUT));
    const hidden = countInWords(lines.length - MOST_LINES_SHOWN, "earlier line");
    clear(box, lines.length > MOST_LINES_SHOWN && noteLine(`${hidden} not shown`),
      lines.slice(-MOST_LINES_SHOWN).map((line) =>
        div("terminal-line", ansiPieces(line).map(pieceElement))));
    // The last screenful comes first.
    requestAnimationFrame(() => (box.scrollTop = box.scrollHeight));
    const { t_ns, seq } = steps[index];
    slider.value = String(index);
    const after = durationInWords(t_ns - steps[0].t_ns, ", after ");
    place.textContent = `change ${index + 1} of ${last + 1}, #${seq}${after}`;
    slider.setAttribute("aria-valuetext", place.textContent);
    clearTimeout(timer);
    const isOn = isPlaying && index < last && box.isConnected;
    const pause = isOn ? Math.min(steps[index + 1].t_ns - t_ns, LONGEST_PAUSE_NS) : 0;
    timer = isOn ? window.setTimeout(() => show(index + 1, true), pause / 1e6) : 0;
    play.textContent = isOn ? "⏸ pause" : "▶ play";
  };
  const input = () => show(Number(slider.value), false);
  const slider = h("input",
    { type: "range", min: 0, max: last, "aria-label": "output over time", on: { input } });
  const click = () => (timer > 0 ? input() : show(Number(slider.value) % last, true));
  const play = button("", click);
  show(last, false);
  // With reduced motion nothing moves by itself; the slider shows the same.
  const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  return [box, last > 0 && div("detail-line", !isCalm && play, slider, place)];
}

/** @param {import("./ansi.js").AnsiPiece} piece */
function pieceElement({ text, classes }) {
  const colour = COLOURS[Number(/-(\d)/.exec(classes)?.[1])] ?? "";
  return h("span", { class: classes || null, style: { "--colour": colour } }, text);
}

/**
 * Blocks in the page, with the terminals among them.
 * @param {State} state @param {import("../detail/blocks.js").ContentBlock[]} blocks
 * @param {number} row @returns {Promise<HTMLElement[]>}
 */
export const blockElements = (state, blocks, row) => Promise.all(blocks.map((block) =>
  block.form === "terminal" ? terminalElement(state, block.text, row) : blockElement(block)));

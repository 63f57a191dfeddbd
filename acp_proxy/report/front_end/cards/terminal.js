// A terminal of any dialect: its command, its end, and its output as it grew, which can be played
// back.
import { blockElement, exitInWords } from "../detail/blocks.js";
import { fromBase64, objectAt, parsedLine, updateOf, wordAt } from "../data/values.js";
import { countInWords, durationInWords, shellWord, visibleText } from "../shell/words.js";
import { clear, h } from "../shell/dom.js";
import { ansiLines, ansiPieces } from "./ansi.js";

/** @typedef {import("../shell/state.js").State} State */
/** @typedef {import("../data/recording.js").Recording} Recording */
/** @typedef {import("../data/values.js").JsonObject} JsonObject */
/** @typedef {{row: number, seq: number, t_ns: number, kind: string, method: string, message: unknown}} ReadFrame */
/** @typedef {{t_ns: number, seq: number, text: string, isWhole: boolean}} OutputStep */

const LONGEST_PAUSE_NS = 2e9;
const MOST_OUTPUT = 1 << 20;
const MOST_LINES_SHOWN = 1000;
const TERMINAL_ENDINGS = new Map([["terminal/kill", "killed"], ["terminal/release", "released"]]);
const COLOURS = ["#9aa0a8", "#ff7b72", "#5fd068", "#e3c04f", "#7aa9ff", "#e58bea", "#4fd3d3", "#e6e6e6"];
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
    const said = method === "session/update" ? update.update : objectAt(message, isRequest ? "params" : "result");
    const { data } = objectAt(said, "output");
    this.command = commandLine(said) || this.command;
    this.directory = wordAt(said, "cwd") || this.directory;
    // In the 1.0 draft, the client pushes the output.
    const pushed = isRequest && typeof said.data === "string" ? said.data : null;
    if (update.kind === "terminal_output_chunk") this.addOutput(frame, this.decoded(said.data), false);
    else if (data !== undefined) this.addOutput(frame, this.decoded(data, new TextDecoder()), true);
    else if (typeof said.output === "string") this.addOutput(frame, said.output, true);
    else this.addOutput(frame, pushed, false);
    if (isRequest && TERMINAL_ENDINGS.has(method)) this.remarks.add(TERMINAL_ENDINGS.get(method) ?? "");
    if (said.truncated === true) this.remarks.add(TRUNCATED);
    const status = "exitStatus" in said ? objectAt(said, "exitStatus") : said;
    const isRefused = method === "terminal/create" && kind === "error";
    const ending = isRefused ? wordAt(objectAt(message, "error"), "message") || "error" : exitInWords(status);
    if (!isRequest && ending !== "") [this.ending, this.isFailed] = [ending, ending !== "exit 0"];
  }

  /** @param {unknown} data in base64 @param {TextDecoder} [decoder] */
  decoded(data, decoder = this.decoder) {
    this.decoder = decoder;
    const bytes = fromBase64(data);
    if (bytes === null) this.remarks.add("output that is not base64");
    return bytes && decoder.decode(bytes, { stream: true });
  }

  /** @param {ReadFrame} frame @param {string | null} text @param {boolean} isWhole */
  addOutput({ t_ns, seq }, text, isWhole) {
    if (text !== null) this.steps.push({ t_ns, seq, text, isWhole });
  }

  /** The output after a step. @param {number} index */
  output(index = this.steps.length - 1) {
    const steps = this.steps.slice(0, index + 1);
    return steps.slice(Math.max(steps.findLastIndex((step) => step.isWhole), 0)).map((step) => step.text).join("");
  }
}

/** The command line in an object, quoted as for a shell. @param {JsonObject} value */
export function commandLine(value) {
  const quoted = (/** @type {unknown} */ words) => (Array.isArray(words) ? words.map((word) => shellWord(String(word))) : []);
  // A command that is one text may be a line for a shell, so it is not quoted.
  const line = wordAt(value, "command", "cmd", "commandLine", "script");
  return (line === "" ? quoted(value.command) : [line, ...quoted(value.args)]).join(" ");
}

/**
 * Reads the frames of rows.
 * @param {Recording} recording @param {number[]} rows @returns {Promise<ReadFrame[]>}
 */
export async function readFrames(recording, rows) {
  const frames = [];
  for (const row of rows) {
    const [seq, t_ns] = [recording.numbers("seq")[row], recording.numbers("t_ns")[row]];
    const [kind, method] = [recording.text("kind", row) ?? "", recording.text("method", row) ?? ""];
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
  const [named, answered, calls, sessions] = ["terminal", "answer_terminal", "tool_call", "session"].map((name) => recording.codes(name));
  /** @type {number[]} */
  let rows = [];
  for (let at = 0; wanted > 0 && at < recording.rows; at++) {
    if ((named[at] !== wanted && answered[at] !== wanted) || calls[at] > 0 || sessions[at] !== sessions[row]) continue;
    const isCreation = recording.text("kind", at) === "request" && recording.text("method", at) === "terminal/create";
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
export async function terminalElement(state, id, row) {
  const model = new TerminalModel();
  for (const frame of await readFrames(state.recording, rowsOfTerminal(state.recording, id, row))) model.add(frame);
  const { command, directory, remarks, steps, isFailed } = model;
  const ending = model.ending || (remarks.size > 0 ? "" : "did not end");
  const notes = [directory && `in ${visibleText(directory)}`, ...remarks].filter(Boolean);
  return h("div", { class: "terminal" },
    h("div", { class: "terminal-head" }, h("span", { class: "mono" }, `$ ${visibleText(command || id)}`),
      h("span", { class: isFailed ? "trouble" : "note" }, visibleText(ending))),
    notes.map((text) => h("p", { class: "note" }, text)), steps.length > 0 && outputElements(model));
}

/** The output, and how it grew. @param {TerminalModel} model */
function outputElements(model) {
  const { steps } = model;
  const last = steps.length - 1;
  const box = h("div", { class: "terminal-output", role: "group", tabindex: "0", "aria-label": "output" });
  const place = h("span", { class: "note" });
  let timer = 0;
  /** @param {number} index @param {boolean} isPlaying whether it goes on from there */
  const show = (index, isPlaying) => {
    const lines = ansiLines(model.output(index).slice(-MOST_OUTPUT));
    const hidden = lines.length - MOST_LINES_SHOWN;
    const shown = lines.slice(-MOST_LINES_SHOWN).map((line) => h("div", { class: "terminal-line" },
      ansiPieces(line).map(pieceElement)));
    clear(box, hidden > 0 && h("p", { class: "note" }, `${countInWords(hidden, "earlier line")} not shown`), shown);
    // The last screenful comes first.
    requestAnimationFrame(() => (box.scrollTop = box.scrollHeight));
    const { t_ns, seq } = steps[index];
    slider.value = String(index);
    clear(place, `change ${index + 1} of ${last + 1}, #${seq}${durationInWords(t_ns - steps[0].t_ns, ", after ")}`);
    slider.setAttribute("aria-valuetext", place.textContent ?? "");
    clearTimeout(timer);
    const isOn = isPlaying && index < last && box.isConnected;
    const pause = isOn ? Math.min(steps[index + 1].t_ns - t_ns, LONGEST_PAUSE_NS) : 0;
    timer = isOn ? window.setTimeout(() => show(index + 1, true), pause / 1e6) : 0;
    clear(play, isOn ? "⏸ pause" : "▶ play");
  };
  const input = () => show(Number(slider.value), false);
  const slider = h("input", { type: "range", min: 0, max: last, "aria-label": "output over time", on: { input } });
  const click = () => (timer > 0 ? input() : show(Number(slider.value) % last, true));
  const play = h("button", { type: "button", on: { click } });
  show(last, false);
  // With reduced motion nothing moves by itself; the slider shows the same.
  const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  return last > 0 ? [box, h("div", { class: "detail-line" }, !isCalm && play, slider, place)] : [box];
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
export function blockElements(state, blocks, row) {
  return Promise.all(blocks.map((block) => (block.form === "terminal" ? terminalElement(state, block.text, row) : blockElement(block))));
}

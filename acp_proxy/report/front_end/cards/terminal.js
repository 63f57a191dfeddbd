// A terminal of any dialect: its command, its end, and its output as it grew, which can be played back.
import {blockElement, exitInWords} from "../detail/blocks.js";
import {fromBase64, objectAt, parsedLine, updateOf, wordAt} from "../data/values.js";
import {countInWords, durationInWords, shellWord, visibleText} from "../shell/words.js";
import {clear, h} from "../shell/dom.js";
import {ansiLines} from "./ansi.js";

/** @typedef {import("../shell/state.js").State} State */
/** @typedef {import("../data/recording.js").Recording} Recording */
/** @typedef {import("../data/values.js").JsonObject} JsonObject */
/** @typedef {{row: number, seq: number, t_ns: number, kind: string, method: string, message: unknown}} ReadFrame */
/** @typedef {{t_ns: number, seq: number, text: string, isWhole: boolean}} OutputStep */

const LONGEST_PAUSE_NS = 2e9;
const MOST_OUTPUT = 1 << 20;
const MOST_LINES_SHOWN = 1000;
const TERMINAL_ENDINGS = new Map([["terminal/kill", "killed"], ["terminal/release", "released"]]);
const TRUNCATED = "the client has left out the beginning of the output";

/** What is known of one terminal from its frames, which are added in order. */
export class TerminalModel {
  command = "";
  directory = "";
  ending = "";
  isFailed = false;
  /** @type {string[]} */
  remarks = [];
  /** @type {OutputStep[]} */
  steps = [];
  // A chunk may end within a character.
  decoder = new TextDecoder();

  /** @param {ReadFrame} frame */
  add(frame) {
    const {kind, method, message} = frame;
    const isRequest = kind === "request";
    const update = updateOf(message);
    const said = method === "session/update" ? update.update : objectAt(message, isRequest ? "params" : "result");
    const {data} = objectAt(said, "output");
    this.command = commandLine(said) || this.command;
    this.directory = wordAt(said, "cwd") || this.directory;
    if (update.kind === "terminal_output_chunk") this.addBase64(frame, said.data, false);
    else if (data !== undefined) this.addBase64(frame, data, true);
    else if (typeof said.output === "string") this.addOutput(frame, said.output, true);
    // In the 1.0 draft, the client pushes the output.
    else if (isRequest && typeof said.data === "string") this.addOutput(frame, said.data, false);
    if (isRequest && TERMINAL_ENDINGS.has(method)) this.remarks.push(TERMINAL_ENDINGS.get(method) ?? "");
    if (said.truncated === true && !this.remarks.includes(TRUNCATED)) this.remarks.push(TRUNCATED);
    const status = "exitStatus" in said ? objectAt(said, "exitStatus") : said;
    const isRefused = method === "terminal/create" && kind === "error";
    const ending = isRefused ? wordAt(objectAt(message, "error"), "message") || "error" : exitInWords(status);
    if (!isRequest && ending !== "") [this.ending, this.isFailed] = [ending, ending !== "exit 0"];
  }

  /** @param {ReadFrame} frame @param {unknown} data @param {boolean} isWhole */
  addBase64(frame, data, isWhole) {
    const bytes = fromBase64(data);
    if (isWhole) this.decoder = new TextDecoder();
    if (bytes === null) this.remarks.push("output that is not base64");
    else this.addOutput(frame, this.decoder.decode(bytes, {stream: true}), isWhole);
  }

  /** @param {ReadFrame} frame @param {string} text @param {boolean} isWhole */
  addOutput({t_ns, seq}, text, isWhole) {
    this.steps.push({t_ns, seq, text, isWhole});
  }

  /** The output after a step. @param {number} index */
  output(index = this.steps.length - 1) {
    const steps = this.steps.slice(0, index + 1);
    return steps.slice(Math.max(steps.findLastIndex((step) => step.isWhole), 0)).map((step) => step.text).join("");
  }
}

/**
 * How long each step is shown when played back: as recorded, but long pauses are cut.
 * @param {OutputStep[]} steps
 * @returns {number[]} nanoseconds until the next step
 */
export function playedPauses(steps) {
  return steps.slice(1).map((step, index) => Math.min(step.t_ns - steps[index].t_ns, LONGEST_PAUSE_NS));
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
    frames.push({row, seq, t_ns, kind, method, message: parsedLine(await recording.line(row))});
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
  const ending = model.ending || (model.remarks.length > 0 ? "" : "did not end");
  return h("div", {class: "terminal"},
    h("div", {class: "terminal-head"}, h("span", {class: "mono"}, `$ ${visibleText(model.command || id)}`), h("span", {class: model.isFailed ? "trouble" : "note"}, visibleText(ending))),
    [model.directory && `in ${visibleText(model.directory)}`, ...model.remarks].filter(Boolean).map((text) => h("p", {class: "note"}, text)),
    model.steps.length > 0 && outputElements(model));
}

/** The output, and how it grew. @param {TerminalModel} model */
function outputElements(model) {
  const last = model.steps.length - 1;
  const box = h("div", {class: "terminal-output", role: "group", tabindex: "0", "aria-label": "output"});
  const slider = h("input", {type: "range", min: 0, max: last, "aria-label": "output over time"});
  const place = h("span", {class: "note"});
  const play = h("button", {type: "button"});
  let timer = 0;
  const show = (/** @type {number} */ index) => {
    const {count, line} = ansiLines(model.output(index).slice(-MOST_OUTPUT));
    const first = Math.max(0, count - MOST_LINES_SHOWN);
    clear(box, first > 0 && h("p", {class: "note"}, `${countInWords(first, "earlier line")} not shown`));
    for (let at = first; at < count; at++) {
      box.append(h("div", {class: "terminal-line"}, line(at).map(({text, classes}) => h("span", {class: classes || null}, text))));
    }
    // The last screenful comes first.
    requestAnimationFrame(() => (box.scrollTop = box.scrollHeight));
    const {t_ns, seq} = model.steps[index];
    slider.value = String(index);
    clear(place, `change ${index + 1} of ${last + 1}, #${seq}${durationInWords(t_ns - model.steps[0].t_ns, ", after ")}`);
    slider.setAttribute("aria-valuetext", place.textContent ?? "");
  };
  const stop = () => {
    clearTimeout(timer);
    timer = 0;
    clear(play, "▶ play");
  };
  const playFrom = (/** @type {number} */ index) => {
    show(index);
    if (index === last || !box.isConnected) return stop();
    timer = window.setTimeout(() => playFrom(index + 1), playedPauses(model.steps)[index] / 1e6);
    clear(play, "⏸ pause");
  };
  slider.addEventListener("input", () => {
    stop();
    show(Number(slider.value));
  });
  play.addEventListener("click", () => (timer > 0 ? stop() : playFrom(Number(slider.value) % last)));
  stop();
  show(last);
  // With reduced motion nothing moves by itself; the slider shows the same.
  const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  return last > 0 ? [box, h("div", {class: "detail-line"}, !isCalm && play, slider, place)] : [box];
}

/**
 * Blocks in the page, with the terminals among them.
 * @param {State} state @param {import("../detail/blocks.js").ContentBlock[]} blocks
 * @param {number} row @returns {Promise<HTMLElement[]>}
 */
export function blockElements(state, blocks, row) {
  return Promise.all(blocks.map((block) => (block.form === "terminal" ? terminalElement(state, block.text, row) : blockElement(block))));
}

// A terminal of any dialect: its command, its end, and its output as it grew, which can be played back.
import {blockElement, exitInWords} from "../detail/blocks.js";
import {fromBase64, durationInWords, objectAt, parsedLine, shellWord, sizeInWords, updateOf, visibleText, wordAt} from "../detail/values.js";
import {clear, h} from "../shell/dom.js";
import {ansiLines} from "./ansi.js";

/** @typedef {import("../shell/state.js").State} State */
/** @typedef {import("../data/recording.js").Recording} Recording */
/** @typedef {import("../detail/values.js").JsonObject} JsonObject */
/** @typedef {{row: number, seq: number, t_ns: number, kind: string, method: string, message: unknown}} ReadFrame */
/** @typedef {{t_ns: number, seq: number, text: string, isWhole: boolean}} OutputStep */

const LONGEST_PAUSE_NS = 2e9;
const SCREENFUL = 24;
const MOST_OUTPUT = 1 << 20;
const MOST_LINES_SHOWN = 2000;
const MOST_FRAMES = 5000;
const TERMINAL_ENDINGS = new Map([["terminal/kill", "killed"], ["terminal/release", "released"]]);

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
    const [params, result] = [objectAt(frame.message, "params"), objectAt(frame.message, "result")];
    const isRequest = frame.kind === "request";
    if (frame.method === "session/update") this.addUpdate(frame);
    else if (frame.method === "terminal/create" && isRequest) this.readCommand(params);
    else if (frame.method === "terminal/output" && isRequest) {
      // In the 1.0 draft, the client pushes the output.
      if (typeof params.data === "string") this.step(frame, params.data, false);
    } else if (typeof result.output === "string") {
      this.step(frame, result.output, true);
      if (result.truncated === true) this.remark("the client has left out the beginning of the output");
    } else if (isRequest) this.remark(TERMINAL_ENDINGS.get(frame.method) ?? "");
    else if (frame.method === "terminal/create" && frame.kind === "error") {
      [this.ending, this.isFailed] = [wordAt(objectAt(frame.message, "error"), "message") || "error", true];
    }
    this.readExit("exitStatus" in result ? objectAt(result, "exitStatus") : result);
  }

  /** @param {ReadFrame} frame */
  addUpdate(frame) {
    const {kind, update} = updateOf(frame.message);
    const output = objectAt(update, "output").data;
    if (kind === "terminal_output_chunk") this.addBase64(frame, update.data, false);
    else {
      this.readCommand(update);
      if (typeof output === "string") this.addBase64(frame, output, true);
      this.readExit(objectAt(update, "exitStatus"));
    }
  }

  /**
   * @param {ReadFrame} frame
   * @param {unknown} data
   * @param {boolean} isWhole
   */
  addBase64(frame, data, isWhole) {
    const bytes = fromBase64(data);
    if (isWhole) this.decoder = new TextDecoder();
    if (bytes === null) this.remark("output that is not base64");
    else this.step(frame, this.decoder.decode(bytes, {stream: true}), isWhole);
  }

  /**
   * @param {ReadFrame} frame
   * @param {string} text
   * @param {boolean} isWhole
   */
  step(frame, text, isWhole) {
    this.steps.push({t_ns: frame.t_ns, seq: frame.seq, text, isWhole});
  }

  /** @param {JsonObject} value */
  readCommand(value) {
    this.command = commandLine(value) || this.command;
    this.directory = wordAt(value, "cwd") || this.directory;
  }

  /** @param {JsonObject} status */
  readExit(status) {
    const found = exitInWords(status);
    if (found !== "") [this.ending, this.isFailed] = [found, found !== "exit 0"];
  }

  /** @param {string} text */
  remark(text) {
    if (text !== "" && !this.remarks.includes(text)) this.remarks.push(text);
  }

  /**
   * The output after a step.
   * @param {number} index
   * @returns {string}
   */
  output(index = this.steps.length - 1) {
    let first = index;
    while (first > 0 && !this.steps[first].isWhole) first--;
    return this.steps.slice(Math.max(first, 0), index + 1).map((step) => step.text).join("");
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

/**
 * The command line in an object, quoted as for a shell.
 * @param {JsonObject} value
 * @returns {string}
 */
export function commandLine(value) {
  const quotedWord = (/** @type {unknown} */ word) => shellWord(String(word));
  const command = [value.command, value.cmd, value.commandLine, value.script].find((one) => Array.isArray(one) || (typeof one === "string" && one !== ""));
  if (Array.isArray(command)) return command.slice(0, 1000).map(quotedWord).join(" ");
  const words = Array.isArray(value.args) ? value.args.slice(0, 1000).map(quotedWord) : [];
  // The command may itself be a line for a shell, so it is not quoted.
  return typeof command === "string" ? [command, ...words].join(" ") : "";
}

/**
 * Reads the frames of rows.
 * @param {Recording} recording
 * @param {number[]} rows
 * @returns {Promise<ReadFrame[]>}
 */
export async function readFrames(recording, rows) {
  const frames = [];
  for (const row of rows) {
    frames.push({
      row, seq: recording.numbers("seq")[row], t_ns: recording.numbers("t_ns")[row],
      kind: recording.text("kind", row) ?? "", method: recording.text("method", row) ?? "",
      message: parsedLine(await recording.line(row)),
    });
  }
  return frames;
}

/**
 * The rows about a terminal; another terminal with the same id is created before or after them.
 * @param {Recording} recording
 * @param {string} id
 * @param {number} row one of them, or one about its tool call
 * @returns {number[]}
 */
export function rowsOfTerminal(recording, id, row) {
  const wanted = recording.code(id);
  const [named, answered, calls, sessions] = ["terminal", "answer_terminal", "tool_call", "session"].map((name) => recording.codes(name));
  const kinds = recording.codes("kind");
  const [request, session] = [recording.code("request"), sessions[row]];
  /** @type {number[]} */
  let rows = [];
  for (let at = 0; wanted > 0 && at < recording.rows; at++) {
    if ((named[at] !== wanted && answered[at] !== wanted) || calls[at] > 0 || sessions[at] !== session) continue;
    if (kinds[at] === request && recording.text("method", at) === "terminal/create") {
      if (at > row) break;
      rows = [];
    }
    rows.push(at);
  }
  return rows;
}

/**
 * A terminal in the page.
 * @param {State} state
 * @param {string} id
 * @param {number} row one that is about it
 * @returns {Promise<HTMLElement>}
 */
export async function terminalElement(state, id, row) {
  const rows = rowsOfTerminal(state.recording, id, row);
  const model = new TerminalModel();
  // The last ones have all of the output in v1.
  const read = rows.length > MOST_FRAMES ? [...rows.slice(0, 10), ...rows.slice(10 - MOST_FRAMES)] : rows;
  if (read.length < rows.length) model.remark(`${rows.length - read.length} frames in the middle were left out`);
  for (const frame of await readFrames(state.recording, read)) model.add(frame);
  const ending = model.ending || (model.remarks.length > 0 ? "" : "did not end");
  const box = h("div", {class: "terminal"},
    h("div", {class: "terminal-head"},
      h("span", {class: "terminal-command"}, `$ ${visibleText(model.command || id)}`),
      h("span", {class: model.isFailed ? "trouble" : "note"}, visibleText(ending))));
  if (model.directory !== "") box.append(h("p", {class: "note"}, `in ${visibleText(model.directory)}`));
  for (const remark of model.remarks) box.append(h("p", {class: "note"}, remark));
  if (model.steps.length > 0) box.append(...outputElements(model));
  return box;
}

/**
 * @param {TerminalModel} model
 * @returns {HTMLElement[]}
 */
function outputElements(model) {
  const {steps} = model;
  const box = h("div", {class: "terminal-output", role: "group", tabindex: "0", "aria-label": "output"});
  let isWhole = false;
  const show = (/** @type {number} */ index) => {
    const text = model.output(index);
    const {count, dropped, line} = ansiLines(text.slice(-MOST_OUTPUT));
    const first = Math.max(0, count - (isWhole ? MOST_LINES_SHOWN : SCREENFUL));
    clear(box);
    if (text.length > MOST_OUTPUT || dropped > 0) box.append(h("p", {class: "note"}, `the last ${sizeInWords(MOST_OUTPUT)} of the output`));
    if (first > 0) box.append(earlierLines(first, isWhole, () => {
      isWhole = true;
      show(index);
    }));
    for (let at = first; at < count; at++) {
      const pieces = line(at).map((piece) => h("span", {class: piece.classes || null, title: piece.link || null}, piece.text));
      box.append(h("div", {class: "terminal-line"}, ...pieces, "\n"));
    }
  };
  show(steps.length - 1);
  return steps.length > 1 ? [box, scrubber(steps, show)] : [box];
}

/**
 * @param {number} count
 * @param {boolean} isWhole
 * @param {() => void} showAll
 */
function earlierLines(count, isWhole, showAll) {
  if (isWhole) return h("p", {class: "note"}, `${count.toLocaleString("en")} earlier lines are left out`);
  return h("button", {type: "button", class: "show-more", on: {click: showAll}}, `Show ${count.toLocaleString("en")} earlier lines`);
}

/**
 * A slider over the steps of the output, and a button that plays them.
 * @param {OutputStep[]} steps
 * @param {(index: number) => void} show
 */
function scrubber(steps, show) {
  const last = steps.length - 1;
  const slider = h("input", {type: "range", min: "0", max: String(last), value: String(last), "aria-label": "output over time"});
  const place = h("span", {class: "note"});
  const play = h("button", {type: "button"}, "▶ play");
  const pauses = playedPauses(steps);
  let timer = 0;
  const go = (/** @type {number} */ index) => {
    slider.value = String(index);
    const since = durationInWords(steps[index].t_ns - steps[0].t_ns);
    place.textContent = `change ${index + 1} of ${steps.length}, #${steps[index].seq}, after ${since}`;
    slider.setAttribute("aria-valuetext", place.textContent);
    show(index);
  };
  const stop = () => {
    window.clearTimeout(timer);
    timer = 0;
    play.textContent = "▶ play";
  };
  const next = (/** @type {number} */ index) => {
    if (!slider.isConnected) return stop();
    go(index);
    if (index < last) timer = window.setTimeout(() => next(index + 1), pauses[index] / 1e6);
    else stop();
  };
  slider.addEventListener("input", () => {
    stop();
    go(Number(slider.value));
  });
  play.addEventListener("click", () => {
    if (timer !== 0) return stop();
    play.textContent = "⏸ pause";
    next(Number(slider.value) === last ? 0 : Number(slider.value));
  });
  go(last);
  // With reduced motion nothing moves by itself; the slider shows the same.
  const isCalm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  return h("div", {class: "scrubber"}, isCalm ? null : play, slider, place);
}

/**
 * Blocks in the page, with the terminals among them.
 * @param {State} state
 * @param {import("../detail/blocks.js").ContentBlock[]} blocks
 * @param {number} row
 * @returns {Promise<HTMLElement[]>}
 */
export function blockElements(state, blocks, row) {
  return Promise.all(blocks.map((block) => (block.form === "terminal" ? terminalElement(state, block.text, row) : blockElement(block))));
}

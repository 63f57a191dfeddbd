// The waterfall: the steps of one turn in time, the requests of a tool call below it, each bar by
// who was waited for.
import {durationInWords} from "../shell/words.js";
import {clear, h} from "../shell/dom.js";
import {VirtualList} from "../shell/virtual_list.js";
import {tickStep} from "./time_axis.js";

/**
 * @typedef {import("../shell/state.js").State} State
 * @typedef {import("../shell/app.js").View} View
 * @typedef {object} Step
 * @property {string} kind
 * @property {number | null} seq
 * @property {number} start_ns
 * @property {number} duration_ns
 * @property {string} title
 * @property {string | null} method
 * @property {string | null} waits_for
 * @property {string | null} status
 * @property {string | null} answer
 * @property {number} frames
 * @property {boolean} open
 * @property {boolean} failed
 * @property {string | null} tool_call
 * @typedef {{turn: number, duration_ns: number, steps: Step[], left_out: number}} Turn
 */

const STEP_ROW = 28;
const MOST_TICKS = 6;
const TURN_WORDS = 60;
const WAITED_FOR = [
  ["agent", "agent works"], ["silent", "agent is silent"], ["person", "person"], ["terminals", "terminal"],
  ["files", "files"], ["other", "other of the client"],
];

/** @type {View} */
export const waterfallView = {
  name: "waterfall",
  title: "Waterfall",
  key: "3",
  mount(container, state) {
    const view = new WaterfallView(state);
    container.append(view.element);
    return view;
  },
};

/**
 * Orders steps so that requests follow the tool call that they belong to: the one that they name,
 * or the only one that was running.
 * @param {Step[]} steps in the order in which they began
 * @param {(seq: number) => string | null} callOf the tool call that a frame names
 * @returns {{step: Step, depth: number}[]}
 */
export function nestedSteps(steps, callOf) {
  const calls = steps.filter((step) => step.kind === "tool_call");
  /** @type {Map<Step, Step[]>} */
  const below = new Map(calls.map((call) => [call, []]));
  const top = [];
  for (const step of steps) {
    const call = step.kind === "request" ? callAround(step, calls, callOf) : undefined;
    if (call === undefined) top.push(step);
    else below.get(call)?.push(step);
  }
  return top.flatMap((step) => [
    {step, depth: 0}, ...(below.get(step) ?? []).map((request) => ({step: request, depth: 1}))]);
}

/**
 * @param {Step} request
 * @param {Step[]} calls
 * @param {(seq: number) => string | null} callOf
 */
function callAround(request, calls, callOf) {
  const named = request.seq === null ? null : callOf(request.seq);
  if (named !== null) return calls.find((call) => call.tool_call === named);
  const running = calls.filter((call) =>
    call.start_ns <= request.start_ns && request.start_ns <= call.start_ns + call.duration_ns);
  return running.length === 1 ? running[0] : undefined;
}

/**
 * Who is waited for during a step.
 * @param {Step} step
 */
function waitedFor(step) {
  if (step.kind === "request") return step.waits_for ?? "other";
  return step.kind === "silence" ? "silent" : "agent";
}

class WaterfallView {
  /** @param {State} state */
  constructor(state) {
    this.state = state;
    this.recording = state.recording;
    /** @type {Turn[]} */
    this.turns = this.recording.meta.waterfalls;
    /** @type {Turn | undefined} */
    this.turn = undefined;
    /** @type {{step: Step, depth: number}[]} */
    this.steps = [];
    this.isShown = false;
    this.scale = h("span", {class: "waterfall-field", role: "columnheader"}, h("span", {class: "visually-hidden"}, "When"));
    this.list = new VirtualList({
      label: "Steps of the turn",
      rowHeight: STEP_ROW,
      head: [h("span", {role: "columnheader"}, "Step"), this.scale,
        h("span", {class: "waterfall-time", role: "columnheader"}, "Took"), h("span", {role: "columnheader"}, "Outcome")],
      render: (item, node) => this.render(item, node),
      onActive: (item) => this.select(item),
    });
    this.chooser = h("select", {id: "waterfall-turn", on: {change: () => state.setTurn(Number(this.chooser.value))}},
      this.turns.map((turn) => h("option", {value: turn.turn}, this.turnWords(turn))));
    this.summary = h("span", {class: "faint"});
    this.element = this.turns.length ? h("div", {class: "waterfall"},
      h("div", {class: "waterfall-tools"},
        h("label", {for: "waterfall-turn"}, "Turn "), this.chooser, this.summary,
        h("span", {class: "waterfall-legend"}, "waiting for: ", WAITED_FOR.map(([name, words]) =>
          h("span", {class: "waterfall-key"}, h("i", {class: `waterfall-bar who-${name}`, "aria-hidden": "true"}), words)))),
      this.list.element) : h("p", {class: "list-empty"}, "There is no turn in this recording.");
    state.on("row", () => this.isShown && this.follow());
    state.on("turn", () => this.isShown && this.follow());
  }

  show() {
    this.isShown = true;
    this.follow();
  }

  hide() {
    this.isShown = false;
  }

  focus() {
    this.list.focus();
  }

  /** @param {number} step */
  move(step) {
    this.list.move(step);
  }

  /** @param {Turn} turn */
  turnWords(turn) {
    const prompt = turn.steps.find((step) => step.kind === "prompt")?.title ?? "";
    const text = prompt.length > TURN_WORDS ? `${prompt.slice(0, TURN_WORDS)}…` : prompt;
    return `${turn.turn}: ${text} (${durationInWords(turn.duration_ns)})`;
  }

  /** Shows the turn that was chosen, else that of the row, else the longest one. */
  follow() {
    if (!this.turns.length) return;
    const {row, turn} = this.state;
    const ofRow = row < 0 ? NaN : this.recording.numbers("turn")[row];
    const longest = () => this.turns.reduce((a, b) => (b.duration_ns > a.duration_ns ? b : a));
    const named = (/** @type {number | null} */ id) => this.turns.find((one) => one.turn === id);
    const found = named(turn) ?? named(ofRow) ?? this.turn ?? longest();
    if (found !== this.turn) this.showTurn(found);
    const {seq} = this.state;
    const active = this.list.active;
    if (seq === null || this.steps[active]?.step.seq === seq) return;
    this.list.setActive(this.steps.findIndex(({step}) => step.seq === seq));
  }

  /** @param {Turn} turn */
  showTurn(turn) {
    this.turn = turn;
    this.chooser.value = String(turn.turn);
    const rowOf = (/** @type {number} */ seq) => this.recording.rowOf(seq);
    this.steps = nestedSteps(turn.steps, (seq) => (rowOf(seq) < 0 ? null : this.recording.text("tool_call", rowOf(seq))));
    const more = turn.left_out ? ` · ${turn.left_out.toLocaleString("en")} shorter steps are left out` : "";
    this.summary.textContent = `${durationInWords(turn.duration_ns)}, ${turn.steps.length} steps${more}`;
    const step = tickStep(turn.duration_ns, MOST_TICKS);
    const ticks = [];
    for (let time = 0; time < turn.duration_ns * 0.95; time += step) ticks.push(time);
    const length = Math.max(1, turn.duration_ns);
    clear(this.scale, h("span", {class: "visually-hidden"}, "When"), ticks.map((time) =>
      h("span", {class: "waterfall-tick", style: {left: `${(time / length) * 100}%`}}, time ? durationInWords(time) : "0")));
    this.element.style.setProperty("--tick", `${(step / length) * 100}%`);
    this.list.setItems(new Int32Array(this.steps.length).map((_, at) => at), -1);
  }

  /** @param {number} item */
  select(item) {
    const {seq} = this.steps[item].step;
    const row = seq === null ? -1 : this.recording.rowOf(seq);
    if (row >= 0) this.state.select(row);
  }

  /**
   * @param {number} item
   * @param {HTMLElement} node
   */
  render(item, node) {
    const {step, depth} = this.steps[item];
    const length = Math.max(1, this.turn?.duration_ns ?? 1);
    const [left, width] = [(step.start_ns / length) * 100, (step.duration_ns / length) * 100];
    const isPoint = step.kind === "prompt" || step.kind === "end";
    const who = waitedFor(step);
    const name = step.kind === "request" ? step.method ?? "request" : step.kind.replace("_", " ");
    const waits = step.kind === "request" ? `, waits for ${who}` : "";
    node.classList.add("waterfall-row", `kind-${step.kind}`);
    if (step.failed) node.classList.add("waterfall-failed");
    node.append(
      h("span", {class: "waterfall-step", role: "gridcell", title: step.title, style: {"padding-left": `${depth * 1.4}em`}},
        h("b", null, `${depth ? "└ " : ""}${name}`), h("span", {class: "visually-hidden"}, waits),
        ` ${step.title}`, step.frames > 1 ? h("span", {class: "faint"}, ` ×${step.frames}`) : null),
      h("span", {class: "waterfall-field", role: "gridcell"},
        h("span", {class: "visually-hidden"}, `from ${durationInWords(step.start_ns)}`),
        h("i", {class: isPoint ? "waterfall-point" : `waterfall-bar who-${who}`, "aria-hidden": "true",
          style: isPoint ? {left: `${Math.min(left, 100)}%`} : {left: `${left}%`, width: `${width}%`}})),
      h("span", {class: "waterfall-time", role: "gridcell"}, isPoint ? "" : durationInWords(step.duration_ns)),
      h("span", {class: "waterfall-outcome", role: "gridcell", title: step.answer}, outcomeWords(step)));
  }
}

/** @param {Step} step */
function outcomeWords(step) {
  const words = [];
  if (step.failed) words.push("✗ failed");
  if (step.open) words.push(step.kind === "request" ? "never answered in the turn" : "not finished");
  if (step.status && !(step.failed && /^(failed|error)$/.test(step.status))) words.push(step.status);
  if (step.answer) words.push(step.answer);
  return words.join(": ");
}

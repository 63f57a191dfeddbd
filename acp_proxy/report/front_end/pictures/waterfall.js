// The waterfall: the steps of one turn in time, the requests of a tool call below it, each bar by
// who was waited for.
import { durationInWords } from "../shell/words.js";
import { clear, h } from "../shell/dom.js";
import { VirtualList } from "../shell/virtual_list.js";
import { tickStep } from "./time_axis.js";

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
const TICK_WIDTH = 64;
/** @type {Record<string, string>} */
const WAITED_FOR = { agent: "agent works", silent: "agent is silent", person: "person", terminals: "terminal", files: "files", other: "client" };

/** @type {View} */
export const waterfallView = { name: "waterfall", title: "Waterfall", key: "3", mount: (container, state) => new WaterfallView(container, state) };

/**
 * Orders steps so that requests follow the tool call that they belong to: the one that they name,
 * or the only one that was running.
 * @param {Step[]} steps in the order in which they began
 * @param {(seq: number) => string | null} callOf the tool call that a frame names
 * @returns {{step: Step, depth: number}[]}
 */
export function nestedSteps(steps, callOf) {
  const calls = steps.filter(({ kind }) => kind === "tool_call");
  const callAround = (/** @type {Step} */ { kind, seq, start_ns }) => {
    const named = kind === "request" && callOf(seq ?? -1);
    if (named || kind !== "request") return calls.find(({ tool_call }) => tool_call === named);
    const running = calls.filter((call) =>
      call.start_ns <= start_ns && start_ns <= call.start_ns + call.duration_ns);
    return running.length === 1 ? running[0] : undefined;
  };
  const around = new Map(steps.map((step) => [step, callAround(step)]));
  const below = (/** @type {Step} */ call) => steps.filter((step) => around.get(step) === call);
  return steps.filter((step) => !around.get(step)).flatMap((step) =>
    [{ step, depth: 0 }, ...below(step).map((request) => ({ step: request, depth: 1 }))]);
}

class WaterfallView {
  /** @param {HTMLElement} container @param {State} state */
  constructor(container, state) {
    this.state = state;
    this.recording = state.recording;
    /** @type {Turn[]} */
    this.turns = this.recording.meta.waterfalls;
    /** @type {Turn | undefined} */
    this.turn = undefined;
    /** @type {{step: Step, depth: number}[]} */
    this.steps = [];
    this.scale = h("span", { class: "waterfall-field", role: "columnheader" });
    const head = (/** @type {string} */ words) => h("span", { role: "columnheader" }, words);
    this.list = new VirtualList({
      label: "Steps of the turn",
      rowHeight: STEP_ROW,
      head: [head("Step"), this.scale, head("Took"), head("Outcome")],
      render: (item, node) => this.render(this.steps[item], node),
      onActive: (item) => state.select(this.recording.rowOf(this.steps[item].step.seq ?? -1)),
    });
    const change = () => state.setTurn(Number(this.chooser.value));
    const [min, max] = [this.turns[0]?.turn, this.turns[this.turns.length - 1]?.turn];
    this.chooser = h("input", { type: "number", min, max, on: { change } });
    this.summary = h("span", { class: "faint" });
    const keys = Object.entries(WAITED_FOR).map(([name, words]) =>
      h("span", null, h("i", { class: `waterfall-bar who-${name}` }), words));
    const chosen = h("label", null, "Turn ", this.chooser);
    const tools = h("div", { class: "waterfall-tools" }, chosen, this.summary, "waiting for:", keys);
    const none = this.recording.meta.why_no_times ?? "There is no turn in this recording.";
    const shown = this.turns.length ? [tools, this.list.element] : none;
    this.element = h("div", { class: "waterfall" }, shown);
    container.append(this.element);
  }

  /** @param {import("../shell/app.js").Change} change */
  update(change) {
    if (change === "turn") this.showTurn(this.named(this.state.turn) ?? this.turn);
    else if (change === "row" || change === "view") this.follow();
  }

  /** @param {number | null} id */
  named = (id) => this.turns.find(({ turn }) => turn === id);

  /** Shows the turn of the row, else the one that was chosen, else the longest one. */
  follow() {
    const { row, seq, turn } = this.state;
    const longest = () => this.turns.reduce((a, b) => (b.duration_ns > a.duration_ns ? b : a));
    if (!this.turns.length) return;
    this.showTurn(this.named(this.recording.numbers("turn")[row]) ?? this.turn ?? this.named(turn) ?? longest());
    if (seq === this.steps[this.list.active]?.step.seq) return;
    this.list.setActive(this.steps.findIndex(({ step }) => step.seq === seq));
  }

  /** @param {Turn | undefined} turn */
  showTurn(turn) {
    if (turn === undefined || turn === this.turn) return;
    this.turn = turn;
    this.chooser.value = String(turn.turn);
    this.steps = nestedSteps(turn.steps, (seq) => this.recording.text("tool_call", this.recording.rowOf(seq)));
    const more = turn.left_out ? `, ${turn.left_out} shorter ones are left out` : "";
    this.summary.textContent = `${durationInWords(turn.duration_ns)}, ${turn.steps.length} steps${more}`;
    const length = Math.max(1, turn.duration_ns);
    const step = tickStep(length, Math.max(1, this.scale.clientWidth / TICK_WIDTH));
    const [unit, name] = length < 1e10 ? [1e6, "ms"] : [1e9, "s"];
    clear(this.scale, h("span", { class: "visually-hidden" }, "When"));
    for (let time = 0; time < length * 0.95; time += step) {
      const style = { left: `${(time / length) * 100}%` };
      const words = `${Number((time / unit).toPrecision(3))} ${name}`;
      this.scale.append(h("span", { class: "waterfall-tick", style }, words));
    }
    this.element.style.setProperty("--tick", `${(step / length) * 100}%`);
    this.list.setItems(this.steps.map((_, at) => at));
  }

  /** @param {{step: Step, depth: number}} item @param {HTMLElement} node */
  render({ step, depth }, node) {
    const percent = (/** @type {number} */ time) => `${(100 * time) / Math.max(1, this.turn?.duration_ns ?? 1)}%`;
    const worker = step.kind === "silence" ? "silent" : "agent";
    const who = step.kind === "request" ? step.waits_for ?? "other" : worker;
    const isPoint = step.kind === "prompt" || step.kind === "end";
    const name = step.method ?? step.kind.replace("_", " ");
    const outcomes = [step.failed && "failed", step.open && "not finished", step.status, step.answer];
    const outcome = [...new Set(outcomes)].filter(Boolean).join(", ");
    const style = { left: percent(step.start_ns), width: percent(step.duration_ns) };
    const times = step.frames > 1 ? ` ×${step.frames}` : "";
    const cell = (/** @type {string} */ kind, /** @type {(Node | string)[]} */ ...children) =>
      h("span", { class: `waterfall-${kind}`, role: "gridcell" }, children);
    node.classList.add("waterfall-row", `kind-${step.kind}`);
    node.classList.toggle("waterfall-failed", step.failed);
    node.title = `${name} ${step.title}\n${outcome}`;
    node.append(
      cell("step", depth ? "└ " : "", h("b", null, step.failed ? "✗ " : "", name), ` ${step.title}${times}`),
      cell("field",
        h("span", { class: "visually-hidden" }, `${WAITED_FOR[who]} from ${durationInWords(step.start_ns)}`),
        h("i", { class: isPoint ? "waterfall-point" : `waterfall-bar who-${who}`, style })),
      cell("time", isPoint ? "" : durationInWords(step.duration_ns)),
      cell("outcome", outcome));
  }
}

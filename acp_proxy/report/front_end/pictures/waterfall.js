// The waterfall: the steps of one turn in time, with the requests of a tool call below the call.
// The colour of a bar shows who was waited for.
import { button, clear, countInWords, div, durationInWords, h } from "../shell/dom.js";
import { setAttribute, span } from "../shell/dom.js";
import { readable, VirtualList } from "../shell/virtual_list.js";
import { tickStep } from "./time_axis.js";

/**
 * @typedef {import("../shell/state.js").State} State
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
 * @property {boolean} open
 * @property {boolean} failed
 * @property {string | null} tool_call
 * @typedef {{turn: number, duration_ns: number, steps: Step[], left_out: number}} Turn
 */

/**
 * Kinds of steps without a duration. The last three kinds are events, not messages.
 * @type {Set<string | null>}
 */
const POINTS = new Set(["prompt", "end", "stderr", "signal", "exit"]);
/** Statuses that are not shown as words. */
const USUAL = new Set([null,
  "unanswered", "result", "completed", "failed", "in_progress", "pending"]);
/** @type {Record<string, string>} */
const WAITED_FOR = {
  agent: "agent works", silent: "agent is silent", person: "waits for a person",
  terminals: "waits for a terminal", files: "waits for files", other: "waits for the client",
  call: "tool call", open: "tool call without an end in the turn",
};

/**
 * Orders steps so that each request comes after its tool call: the call that the request names, or
 * the only call that was running.
 * @param {Step[]} steps in the order in which they began
 * @param {(seq: number) => string | null} callOf the tool call that a frame names
 * @returns {{step: Step, depth: number}[]}
 */
export function nestedSteps(steps, callOf) {
  const calls = steps.filter(({ kind }) => kind === "tool_call");
  const callAround = (/** @type {Step} */ { kind, seq, start_ns: at }) => {
    const named = callOf(seq ?? -1);
    const found = calls.filter(({ tool_call, start_ns, duration_ns }) => kind !== "request" ? false
      : named ? tool_call === named : start_ns <= at && at <= start_ns + duration_ns);
    return named || found.length === 1 ? found[0] : undefined;
  };
  const around = new Map(steps.map((step) => [step, callAround(step)]));
  const below = (/** @type {Step} */ call) => steps.filter((step) => around.get(step) === call);
  return steps.filter((step) => !around.get(step)).flatMap((step) =>
    [{ step, depth: 0 }, ...below(step).map((request) => ({ step: request, depth: 1 }))]);
}

export class WaterfallView {
  /** @param {HTMLElement} container @param {State} state */
  constructor(container, state) {
    this.state = state;
    this.recording = state.recording;
    /** @type {Turn | undefined} */
    this.turn = undefined;
    /** @type {{step: Step, depth: number}[]} */
    this.steps = [];
    this.scale = h("span", { class: "waterfall-field", role: "columnheader" });
    const head = (/** @type {string} */ words) => h("span", { role: "columnheader" }, words);
    this.list = new VirtualList({
      label: "Steps of the turn", head: [head("Step"), this.scale, head("Took")],
      render: (item, node) => this.render(this.steps[item], node),
      onActive: (item) => state.select(this.recording.rowOf(this.steps[item].step.seq ?? -1)),
    });
    const change = () => state.set("turn", Number(this.chooser.value));
    this.chooser = h("input", { type: "number", on: { change } });
    this.summary = span("faint");
    this.keys = span("waterfall-keys");
    const [previous, next] = [-1, 1].map((by) => button(by < 0 ? "‹" : "›",
      () => this.stepTurn(by), { "aria-label": by < 0 ? "Previous turn" : "Next turn" }));
    const chosen = span("", previous, h("label", null, "Turn ", this.chooser), next);
    this.tools = div("waterfall-tools", chosen, this.summary, this.keys);
    this.none = this.recording.meta.why_no_times ?? "There is no turn in this recording.";
    this.element = div("waterfall", this.none);
    container.append(this.element);
  }

  /** @returns {Turn[]} */
  get turns() { return this.recording.meta.waterfalls; }

  /** @param {import("../shell/app.js").Change} change */
  update(change) {
    if (change === "turn") this.showTurn(this.named(this.state.turn) ?? this.turn);
    else if (change === "row" || change === "view" || change === "grew") this.follow();
    else if (change === "loaded" || change === "shown") this.list.refresh();
  }

  /** Shows the previous or the next turn. @param {number} by -1 or 1 */
  stepTurn(by) {
    const next = this.turns[this.turns.findIndex((turn) => turn === this.turn) + by];
    if (next) this.state.set("turn", next.turn);
  }

  /** @param {number | null} id */
  named = (id) => this.turns.find(({ turn }) => turn === id);

  /** Shows the turn of the selected row, or else the chosen turn, or else the longest turn. */
  follow() {
    const { row, seq, turn } = this.state;
    const longest = () => this.turns.reduce((a, b) => (b.duration_ns > a.duration_ns ? b : a));
    if (!this.turns.length) return;
    if (!this.tools.isConnected) clear(this.element, this.tools, this.list.body);
    const ofRow = this.named(this.recording.numbers("turn").at(row));
    this.showTurn(ofRow ?? this.named(this.turn?.turn ?? null) ?? this.named(turn) ?? longest());
    if (seq === this.steps[this.list.active]?.step.seq) return;
    this.list.setActive(this.steps.findIndex(({ step }) => step.seq === seq));
  }

  /** @param {Turn | undefined} turn */
  showTurn(turn) {
    if (turn === undefined || turn === this.turn) return;
    this.turn = turn;
    Object.assign(this.chooser, { max: this.turns.at(-1)?.turn, min: 1, value: turn.turn });
    const all = [...turn.steps, ...this.eventsOf(turn)].sort((a, b) => a.start_ns - b.start_ns);
    this.steps = nestedSteps(all, (seq) =>
      this.recording.text("tool_call", this.recording.rowOf(seq)));
    const more = turn.left_out ? `, ${turn.left_out} more are left out` : "";
    const count = countInWords(this.steps.length, "step");
    clear(this.summary, durationInWords(turn.duration_ns), `, ${count}${more}`);
    const length = Math.max(1, turn.duration_ns);
    const step = tickStep(length, Math.max(1, this.scale.clientWidth / 56));
    const [unit, name] = length < 1e9 ? [1e6, "ms"] : [1e9, "s"];
    const cancel = this.cancelOf(turn) / length;
    const left = cancel <= 1 ? `${cancel * 100}%` : "-9px";
    clear(this.scale, span("visually-hidden", "When"),
      cancel <= 1 && h("b", { class: "waterfall-cancel", style: { left } }, "cancel"));
    this.element.style.setProperty("--cancel", left);
    const used = new Set(turn.steps.map((step) =>
      step.kind === "tool_call" ? (step.open ? "open" : "call") : whoIn(step)));
    const keys = Object.entries(WAITED_FOR).filter(([who]) => used.has(who));
    clear(this.keys, keys.map(([who, words]) =>
      span("", h("i", { class: `waterfall-bar who-${who}` }), words)));
    for (let time = 0; time < length * 0.97; time += step) {
      const attributes = { class: "waterfall-tick", style: { left: `${(time / length) * 100}%` } };
      this.scale.append(h("span", attributes, `${Number((time / unit).toPrecision(3))} ${name}`));
    }
    this.element.style.setProperty("--tick", `${(step / length) * 100}%`);
    this.list.setItems(this.steps.map((_, at) => at));
  }

  /**
   * The events of a turn: lines on stderr, signals and the agent's exit.
   * @param {Turn} turn @returns {any[]}
   */
  eventsOf({ steps: [{ seq: prompt }], duration_ns }) {
    const { recording, state: { everyRow } } = this;
    const [times, first] = [recording.numbers("t_ns"), recording.rowOf(prompt ?? -1)];
    const start = times.at(first);
    return Array.from(everyRow.subarray(first, recording.rowAt(start + duration_ns + 1)))
      .map((row) => ({ kind: recording.text("kind", row), seq: recording.numbers("seq").at(row),
        start_ns: times.at(row) - start, duration_ns: 0, failed: recording.problems.has(row) }))
      .filter(({ kind }) => POINTS.has(kind));
  }

  /**
   * The time from the start of a turn to its first cancel; NaN if it was not cancelled.
   * @param {Turn} turn
   */
  cancelOf({ turn }) {
    const [times, methods] = [this.recording.numbers("t_ns"), this.recording.codes("method")];
    const [first, last] = this.recording.rowsOfTurn(turn) ?? [0, -1];
    const row = methods.indexOf(this.recording.code("session/cancel") || -1, first);
    return row >= 0 && row <= last ? times.at(row) - times.at(first) : NaN;
  }

  /** The words for how a step ended; empty for a usual end. @param {Step} step */
  outcomeOf({ seq, failed, open, status, answer, tool_call }) {
    const row = answer ? this.recording.pair(this.recording.rowOf(seq ?? -1)) : -1;
    // The row names the option that was chosen.
    const told = row < 0 ? answer : this.recording.cellsNow(row)?.text ?? answer;
    const rows = tool_call ? this.recording.rowsAlike("call", this.recording.rowOf(seq ?? -1)) : [];
    const turns = this.recording.numbers("turn");
    const late = rows.slice(-1).some((n) => turns.at(n) !== this.turn?.turn);
    const unended = this.recording.isOpen ? "open" : late ? "ends after the turn" : "never ended";
    const words = [failed && "failed", open && unended, !USUAL.has(status) && status, told];
    return [...new Set(words)].filter(Boolean).join(", ");
  }

  /** @param {{step: Step, depth: number}} item @param {HTMLElement} node */
  render({ step, depth }, node) {
    const whole = Math.max(1, this.turn?.duration_ns ?? 1);
    const start = (100 * step.start_ns) / whole;
    const end = start + (100 * step.duration_ns) / whole;
    const who = whoIn(step);
    const isPoint = POINTS.has(step.kind);
    const row = this.recording.rowOf(step.seq ?? -1);
    const said = step.title === undefined ? this.recording.cellsNow(row)?.text : undefined;
    const name = step.method ?? step.kind.replace("_", " ");
    const outcome = said ?? this.outcomeOf(step);
    const style = { left: `${start}%`, width: `${end - start}%` };
    const [edge, at] = end < 70 ? ["left", end] : ["right", start > 30 ? 100 - start : 0];
    // The words of an event may use the empty cell beside the field.
    const room = `calc(${100 - at}% + ${said ? 3 : 0}rem - 6px)`;
    const side = { [edge]: `calc(${at}% + 6px)`, "--room": room };
    const cell = (/** @type {string} */ kind, /** @type {(Node | string)[]} */ ...children) =>
      h("span", { class: `waterfall-${kind}`, role: "gridcell" }, children);
    node.classList.add("waterfall-row", `kind-${step.kind}`);
    node.classList.toggle("waterfall-failed", step.failed);
    node.classList.toggle("waterfall-open", Boolean(step.open));
    node.classList.toggle("waterfall-left-out", row >= 0 && !this.state.isShown(row));
    setAttribute(node, "title", `${name} ${step.title ?? ""}\n${outcome}`);
    node.append(
      cell("step", depth ? "└ " : "", h("b", null, step.failed ? "✗ " : "", name),
        " ", ...readable(step.title ?? "")),
      cell("field",
        span("visually-hidden", `${WAITED_FOR[who]} from ${durationInWords(step.start_ns)}`),
        h("i", { class: isPoint ? "waterfall-point" : `waterfall-bar who-${who}`, style }),
        h("span", { class: "waterfall-outcome", style: side }, outcome)),
      cell("time", isPoint ? "" : durationInWords(step.duration_ns)));
  }
}

/** Who is waited for in a step. @param {Step} step */
const whoIn = ({ kind, waits_for }) =>
  kind === "request" ? waits_for ?? "other" : kind === "silence" ? "silent" : "agent";

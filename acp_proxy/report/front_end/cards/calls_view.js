// The tool calls as a table in the order of their start; the detail shows the chosen call's card.
import { rowsWith } from "../data/values.js";
import { clear, countInWords, div, durationInWords, h, secondsInWords } from "../shell/dom.js";
import { setAttribute, sign, span } from "../shell/dom.js";
import { VirtualList } from "../shell/virtual_list.js";
import { ENDED, statusInWords, UNALLOWED } from "./card.js";

/** @typedef {import("../shell/state.js").State} State */
/** @typedef {import("../data/recording.js").Recording} Recording */
/**
 * A tool call; `state` is "never ended" for a call whose end was not reported.
 * @typedef {import("../conversation/entries.js").Entry} ListedCall
 */

const CALL_COLUMNS = ["Frame", "Start", "Took", "Kind", "Title", "Status", "Turn"];

/**
 * Reads all tool calls. The key of a call is the number of the call's first frame.
 * @param {Recording} recording @param {string[]} kinds of all entries
 * @returns {Promise<Map<number, ListedCall>>}
 */
export async function listedCalls(recording, kinds) {
  const firsts = recording.numbers("call");
  const unended = recording.isOpen ? "open" : "never ended";
  /** @type {Map<number, ListedCall>} */
  const calls = new Map();
  for (const item of rowsWith(kinds, "tool_call")) {
    const entry = /** @type {ListedCall} */ (await recording.entries.get(item));
    const key = firsts.at(recording.rowOf(entry.seq));
    // Updates of a call after the end of its turn are another entry.
    const { seq, detail } = calls.get(key) ?? { seq: entry.seq, detail: "other" };
    const state = ENDED.test(entry.state) ? entry.state : unended;
    calls.set(key, { ...entry, seq, detail: entry.detail || detail, state });
  }
  return calls;
}

export class CallsView {
  /** @param {HTMLElement} container @param {State} state */
  constructor(container, state) {
    this.state = state;
    this.recording = state.recording;
    /** All tool calls; null until they are read. @type {Map<number, ListedCall> | null} */
    this.calls = null;
    /** The recording's `edition` when the calls were read; null before. */
    this.known = null;
    /** The calls that are shown: of each call, the first row that is shown. @type {Int32Array} */
    this.rows = new Int32Array(0);
    this.list = new VirtualList({
      label: "Tool calls",
      head: CALL_COLUMNS.map((title) => h("span", { role: "columnheader" }, title)),
      render: (row, node) => this.render(row, node), onActive: (row) => state.select(row),
    });
    // The event `change` would come when a row is pressed, and would remove this row.
    const on = { input: () => this.build() };
    this.selects = ["Kind", "Status"].map((name) => h("select", { "aria-label": name, on }));
    this.count = h("span", { role: "status" }, "Reading the tool calls…");
    container.append(div("calls-tools", this.selects, this.count), this.list.body);
  }

  async read() {
    // At first, a call is selected, except if the reader has already chosen another row.
    const given = this.calls === null ? this.state.row : NaN;
    this.known = this.recording.edition;
    const entries = this.recording.entries;
    await entries.ready();
    const calls = (this.calls = await listedCalls(this.recording, entries.kinds));
    this.selects.forEach((select, isStatus) => {
      const { value } = select;
      const named = [...calls.values()].map((call) => isStatus ? call.state : call.detail);
      const options = [...new Set(named.sort())].map((word) => h("option", { value: word }, word));
      clear(select, h("option", { value: "" }, isStatus ? "every status" : "every kind"), options);
      select.value = value;
    });
    this.build("kept");
    const failed = this.rows.find((row) => this.callAt(row)?.is_failed === true);
    const chosen = failed ?? this.rows[0] ?? -1;
    if (this.state.row === given && this.indexOf() < 0 && chosen >= 0) this.state.select(chosen);
  }

  /** @param {number} row of any of its frames @returns {ListedCall | undefined} */
  callAt = (row) => this.calls?.get(this.recording.numbers("call").at(row));

  /** @param {import("../shell/app.js").Change} change */
  update(change) {
    if (this.known !== this.recording.edition) void this.read();
    if (change === "row") this.list.setActive(this.indexOf(), { place: "nearest" });
    else if (change === "matched") this.list.refresh();
    else if (change === "shown" || change === "view") this.build();
  }

  indexOf() {
    const calls = this.recording.numbers("call");
    return this.rows.findIndex((row) => calls.at(row) === calls.at(this.state.row));
  }

  /** @param {"center" | "kept"} [place] of the chosen call */
  build(place = "center") {
    if (!this.calls) return;
    const [kind, status] = this.selects.map(({ value }) => value);
    const isChosen = (/** @type {number} */ row) => {
      const call = this.callAt(row);
      return call && [call.detail, ""].includes(kind) && [call.state, ""].includes(status);
    };
    const [calls, known] = [this.recording.numbers("call"), new Set()];
    const isFirst = (/** @type {number} */ row) => known.size < known.add(calls.at(row)).size;
    this.rows = this.state.shown.filter((row) =>
      calls.at(row) >= 0 && isFirst(row) && isChosen(row));
    this.list.setItems(this.rows, this.indexOf(), place);
    const shown = Array.from(this.rows, this.callAt);
    const failed = shown.filter((call) => call?.is_failed).length;
    const [unended, rejected] = ["never ended", "rejected"].map((state) =>
      shown.filter((call) => call?.state === state).length);
    const told = shown.filter((call) => call?.remarks.includes("history")).length;
    clear(this.count, countInWords(shown.length, "tool call"),
      told > 0 && `, ${told} of them told again as history`,
      failed > 0 && h("b", { class: "trouble" }, ` · ✗ ${failed} failed`),
      rejected > 0 && h("b", { class: "caution" }, ` · ${rejected} rejected`),
      unended > 0 && h("b", { class: "trouble" }, ` · ✗ ${unended} never ended`));
  }

  /** @param {number} row @param {HTMLElement} node */
  render(row, node) {
    const call = /** @type {ListedCall} */ (this.callAt(row));
    const { seq, last_seq, took_ns, detail, title, state, is_failed, remarks } = call;
    const [times, turns, calls] = this.recording.columns("t_ns", "turn", "call");
    const isFound = this.state.matched.some((one) => calls.at(one) === calls.at(row));
    const outside = remarks.includes("history") ? "history" : "outside";
    const at = (/** @type {number} */ one) => times.at(this.recording.rowOf(one));
    const isEndless = state === "never ended";
    const waited = isEndless && this.recording.steps.find((one) => one.seq === seq)?.duration_ns;
    const took = took_ns ?? (isEndless ? waited : at(last_seq) - at(seq));
    const tone = is_failed || isEndless ? "trouble" : UNALLOWED.test(state) ? "caution" : "";
    const cells = [
      `#${seq}`, secondsInWords(at(seq)), [durationInWords(took || NaN), waited && " ✗"], detail,
      [isFound && sign("sign-hit", "●", "found"), span("calls-title", title)],
      span(tone, isEndless ? "✗ never ended" : statusInWords(state)), turns.at(row) || outside,
    ];
    node.classList.add("calls-row", `calls-${tone || "usual"}`, `calls-${outside}`);
    setAttribute(node, "title", title);
    node.append(...cells.map((cell) => h("span", { role: "gridcell" }, cell)));
  }
}

// The card of a tool call: one picture of all frames about the call. Also the tool calls as a table
// in the order of their start; the detail shows the chosen call's card.
import { blockElements, contentBlocks, entryBlocks, outputBlocks } from "../detail/blocks.js";
import { objectAt, objectsAt, parsedLine, rowsWith, updateOf, wordAt } from "../data/values.js";
import { button, clear, countInWords, div, durationInWords, h, noteLine } from "../shell/dom.js";
import { secondsInWords, setAttribute, sign, span } from "../shell/dom.js";
import { readFrames } from "./terminal.js";
import { VirtualList } from "../shell/virtual_list.js";

/** @typedef {import("../shell/state.js").State} State */
/** @typedef {import("../data/recording.js").Recording} Recording */
/** @typedef {import("../data/values.js").JsonObject} JsonObject */
/** @typedef {import("../detail/blocks.js").ContentBlock} ContentBlock */
/** @typedef {import("../conversation/entries.js").Entry} Entry */
/** @typedef {import("../conversation/entries.js").EntryChoice} EntryChoice */
/** @typedef {import("../shell/dom.js").Child} Child */
/** @typedef {import("./terminal.js").ReadFrame} ReadFrame */
/** @typedef {ReadFrame & {status: string}} CallStatus */

const STATUS_SIGNS = new Map([
  ["completed", "✓"], ["failed", "✗"], ["denied", "✗"], ["cancelled", "✗"], ["in_progress", "▸"],
  ["rejected", "–"], ["chosen", "●"], ["", "○"],
]);
/** The states of a tool call that is over. */
export const ENDED = /^(completed|failed|cancelled|denied|rejected)$/;
/** The states of a tool call that a person did not allow. */
export const UNALLOWED = /^(rejected|denied)/;

/**
 * Reads the parts of a tool call from its frames: its statuses, its permission requests, the files
 * that it touched, and its content. Without content, its output takes the place of the content.
 * @param {ReadFrame[]} frames
 */
export function callParts(frames) {
  const [history, asked] = [/** @type {CallStatus[]} */ ([]), /** @type {ReadFrame[]} */ ([])];
  /** @type {JsonObject} */
  let call = {};
  let [streamed, others] = ["", /** @type {ContentBlock[]} */ ([])];
  for (const frame of frames) {
    const { kind, update } = updateOf(frame.message);
    const status = wordAt(update, "status");
    if (frame.method === "session/request_permission") {
      if (frame.kind === "request") asked.push(frame);
      call = { ...askedCall(frame.message), content: null, ...call };
    } else if (kind === "tool_call_content_chunk") {
      for (const block of contentBlocks(update.content)) {
        if (block.form === "text" && block.label === "") streamed += block.text;
        else others.push(block);
      }
    } else {
      if ((update.content ?? null) !== null) [streamed, others] = ["", []];
      if (status && status !== history.at(-1)?.status) history.push({ ...frame, status });
      // A member that is left out, or null, does not change what is known.
      for (const [name, value] of Object.entries(update)) if (value !== null) call[name] = value;
    }
  }
  const places = [...objectsAt(call, "locations"), objectAt(call, "location")].map(placeInWords);
  const { content, output, rawOutput, error } = call;
  const said = [content, streamed].flatMap((one) => contentBlocks(one, "output"));
  const shown = [[...said, ...others], outputBlocks(output), outputBlocks(rawOutput)];
  const failed = contentBlocks(typeof error === "string" ? error : null, "error");
  const blocks = [...(shown.find(({ length }) => length > 0) ?? []), ...failed];
  return { history, asked, locations: places.filter(Boolean).slice(0, 20), blocks };
}

/** The tool call that a permission request is about. @param {unknown} message */
function askedCall(message) {
  const params = objectAt(message, "params");
  return objectAt("toolCall" in params ? params : objectAt(params, "subject"), "toolCall");
}

/** @param {JsonObject} place */
function placeInWords(place) {
  const [path, line] = [wordAt(place, "path"), wordAt(place, "line")];
  // Some agents write 0 for a line that they do not know.
  return line === "" || line === "0" ? path : `${path}:${line}`;
}

/**
 * A permission request in the page: the question, the options and the answer.
 * @param {State} state
 * @param {number} row of the request
 * @param {boolean} isWhole whether to show the content, which the card of the call also shows
 */
export async function permissionElement(state, row, isWhole) {
  const { recording } = state;
  const pair = recording.pair(row);
  const entry = await recording.entries.about([row], "permission");
  const { title, state: outcome, is_failed, took_ns, remarks = [], choices = [] } = entry ?? {};
  const images = entry ? entryBlocks(entry) : [];
  const blocks = contentBlocks(askedCall(parsedLine(await recording.line(row))).content, "output");
  const quick = (took_ns ?? NaN) < recording.meta.at_once_ns ? ", so hardly by a person" : "";
  const took = durationInWords(took_ns ?? NaN, quick ? " — answered in " : " — the person took ");
  return div("permission",
    div("", "asked for permission: ", h("b", null, title), " ", seqButton(state, row)),
    remarks.map((reason) => h("p", null, reason)), choicesElement(choices),
    h("p", { class: is_failed && "trouble" }, h("b", null, outcome), took, took && quick, " ",
      pair >= 0 && seqButton(state, pair)),
    await blockElements(state, isWhole ? [...blocks, ...images] : images, row));
}

/**
 * A button that selects a frame; a click has no effect on the elements around the button.
 * @param {State} state @param {number} row @param {string} [words] in place of the number
 */
export function seqButton(state, row, words) {
  const seq = state.recording.numbers("seq").at(row);
  const click = (/** @type {Event} */ event) => {
    event.stopPropagation();
    state.select(row);
  };
  return button(words ?? `#${seq}`, click, { class: "seq", "aria-label": `frame ${seq}` });
}

/**
 * A sentence in which the number of a frame, such as #6, is a button that selects this frame.
 * @param {State} state @param {string} text
 */
export const linkedText = (state, text) => text.split(/(\(?#\d+[).,:;]*)/).map((piece) => {
  const [before, number = "", after] = piece.split(/(#\d+)/);
  const row = state.recording.rowOf(Number(number.slice(1) || -1));
  return row < 0 ? piece : span("linked", before, seqButton(state, row), after);
});

/**
 * The findings about some rows, one line for each finding.
 * @param {State} state @param {number[]} rows @param {RegExp} [cut] out of the texts
 */
export function findingLines(state, rows, cut) {
  const problems = rows.flatMap((row) => state.recording.problems.get(row) ?? []);
  const severities = new Map(problems.map(({ text, severity }) => [text, severity]));
  return [...severities].map(([text, severity]) => {
    const [tone, shape] = severity === "warning" ? ["caution", "⚠"] : ["trouble", "✗"];
    return h("p", { class: `${tone} finding` },
      sign("", shape, severity), " ", linkedText(state, cut ? text.replace(cut, "") : text));
  });
}

/**
 * The card of the tool call in a row; null for a row without a tool call.
 * @param {State} state @param {number} row
 */
export async function callElement(state, row) {
  const { recording } = state;
  const rows = recording.rowsAlike("call", row);
  if (rows.length === 0) return null;
  const { history, asked, locations, blocks } = callParts(await readFrames(recording, rows));
  const entry = await recording.entries.about(rows, "tool_call");
  const last = rows[rows.length - 1];
  const statuses = history.map(({ status, row: at, t_ns }) => {
    const after = durationInWords(t_ns - history[0].t_ns, " +");
    const when = t_ns === history[0].t_ns ? secondsInWords(t_ns, " at ", " s") : after;
    return h("li", null, `${statusInWords(status)} `, seqButton(state, at), span("note", when));
  });
  const images = entry ? entryBlocks(entry) : [];
  return h("section", { class: "card", "aria-label": "tool call" },
    entry && h("h3", null, headWords(recording, entry)),
    noteLine(entry && `${entry.id} · `, `${countInWords(rows.length, "frame")} `,
      seqButton(state, rows[0]), rows.length > 1 && ["–", seqButton(state, last)]),
    h("ol", { class: "statuses", "aria-label": "status over time" }, statuses),
    h("ul", { class: "choices mono" }, locations.map((place) => h("li", null, place))),
    await Promise.all(asked.map((one) => permissionElement(state, one.row, false))),
    // Its terminals were made before its last frame.
    await blockElements(state, [...blocks, ...images], last));
}

/**
 * The options of a permission request, or the steps of a plan. @param {EntryChoice[]} choices
 */
export const choicesElement = (choices) => choices.length > 0 && h("ul", { class: "choices" },
  choices.map(({ name, detail, state }) => h("li", { class: state === "chosen" && state },
    `${STATUS_SIGNS.get(state) ?? "·"} ${name} `,
    span("note", [detail, state].filter(Boolean).join(", ")))));

/** A status with its sign. @param {string} status */
export const statusInWords = (status) => `${STATUS_SIGNS.get(status) ?? "·"} ${status}`;

/** Words such as " after 3 s" for a duration. @param {number | null} ns null if it is not known */
export const tookWords = (ns) => durationInWords(ns ?? NaN, " after ");

/**
 * The heading of an entry: its title, its kind, and how it ended.
 * @param {Recording} recording @param {Entry} entry @returns {Child[]}
 */
export function headWords({ isOpen }, { kind, title, state, detail, is_failed, took_ns, remarks }) {
  const isLate = remarks?.some((one) => one.startsWith("ended after the turn"));
  const isEndless = kind === "tool_call" && !ENDED.test(state) && !isOpen && !isLate;
  const outcome = [state, isEndless && "never ended"].filter(Boolean).join(", ");
  const isAsked = kind === "request" || kind === "notice";
  const isBad = is_failed || isEndless;
  const mark = isBad ? "✗ " : isAsked && state ? "→ "
    : kind === "tool_call" ? `${STATUS_SIGNS.get(state) ?? ""} ` : "";
  const tone = isBad ? "trouble" : UNALLOWED.test(state) ? "caution" : "note";
  return [
    h("b", null, isAsked ? detail : title), isAsked && span("entry-title", title),
    kind === "tool_call" && detail !== "" && span("badge", detail),
    outcome !== "" && span(tone, mark + outcome + tookWords(took_ns)),
  ];
}

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
    this.count = h("p", { class: "calls-count", role: "status" }, "Reading the tool calls…");
    container.append(this.count, this.list.body);
  }

  async read() {
    // At first, a call is selected, except if the reader has already chosen another row.
    const given = this.calls === null ? this.state.row : NaN;
    this.known = this.recording.edition;
    const entries = this.recording.entries;
    await entries.ready();
    this.calls = await listedCalls(this.recording, entries.kinds);
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
    const [calls, known] = [this.recording.numbers("call"), new Set()];
    const isFirst = (/** @type {number} */ row) => known.size < known.add(calls.at(row)).size;
    this.rows = this.state.shown.filter((row) => this.callAt(row) && isFirst(row));
    this.list.setItems(this.rows, this.indexOf(), place);
    const shown = Array.from(this.rows, this.callAt);
    const failed = shown.filter((call) => call?.is_failed).length;
    const [unended, rejected] = ["never ended", "rejected"].map((state) =>
      shown.filter((call) => call?.state === state).length);
    clear(this.count, countInWords(shown.length, "tool call"),
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

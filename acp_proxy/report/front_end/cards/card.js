// The card of a tool call: one picture of all frames about the call.
import { blockElements, contentBlocks, entryBlocks, outputBlocks } from "../detail/blocks.js";
import { objectAt, objectsAt, parsedLine, updateOf, wordAt } from "../data/values.js";
import { button, countInWords, div, durationInWords, h, noteLine } from "../shell/dom.js";
import { secondsInWords, sign, span } from "../shell/dom.js";
import { readFrames } from "./terminal.js";

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
 * @param {State} state @param {number[]} rows
 */
export function findingLines(state, rows) {
  const problems = rows.flatMap((row) => state.recording.problems.get(row) ?? []);
  const severities = new Map(problems.map(({ text, severity }) => [text, severity]));
  return [...severities].map(([text, severity]) => {
    const [tone, shape] = severity === "warning" ? ["caution", "⚠"] : ["trouble", "✗"];
    return h("p", { class: `${tone} finding` },
      sign("", shape, severity), " ", linkedText(state, text));
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

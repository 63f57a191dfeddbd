// One section or entry of the conversation in the page. What a call, a terminal or a request has is
// read when it is opened; calls that failed are open, and so are terminals that failed and
// that no call has.
import { linkedText, statusInWords } from "../cards/card.js";
import { longText } from "../detail/hex.js";
import { saidElements } from "../detail/said.js";
import { clear, div, h, noteLine, picture, span } from "../shell/dom.js";
import { messageOf } from "../shell/state.js";
import { countInWords, durationInWords, secondsInWords, visibleText } from "../shell/words.js";
import { markdownElements } from "./markdown.js";

/**
 * @typedef {import("../shell/state.js").State} State
 * @typedef {import("./entries.js").Entry} Entry
 * @typedef {import("./entries.js").EntryBlock} EntryBlock
 * @typedef {import("../shell/dom.js").Child} Child
 */

/** Entries that are always open. @type {Record<string, string>} */
const OPEN = { prompt: "Prompt", message: "Agent", plan: "Plan", event: "Event", end: "" };
/** Entries of one line that opens. @type {Record<string, string>} */
const FOLDED = {
  thought: "Thought", tool_call: "Call", terminal: "Terminal", permission: "Permission",
  request: "Request", notice: "Notice", "not-acp": "Not ACP", stderr: "stderr",
};
/** Entries whose texts are in messages or in entries of their own. */
const OWN_TEXTS = new Set(["thought", "not-acp", "stderr"]);
const BEGINNING = 120;

/**
 * @param {HTMLElement} node to be filled @param {State} state @param {Entry} entry
 * @param {Set<number>} toggled frames of entries that are not open or closed as at first
 */
export function fillEntry(node, state, entry, toggled) {
  const { kind = "section", by, is_failed, remarks = [] } = entry;
  node.classList.add("entry", `entry-${kind}`, `by-${by}`);
  node.classList.toggle("failed", Boolean(is_failed));
  node.classList.toggle("child", remarks.some((remark) => remark.startsWith("subagent ")));
  clear(node, kind === "section" ? sectionParts(entry)
    : kind in OPEN ? openParts(state, entry) : foldedParts(state, entry, toggled));
}

/** @param {Entry} section @returns {Child[]} */
function sectionParts({ turn, seq, heading, session, state, took_ns, is_failed }) {
  const name = session ? `Session ${visibleText(session)}` : "Session without a name";
  const outside = seq <= 1 ? "Before the first turn" : "Outside of turns";
  const ended = visibleText(state) + tookWords(took_ns);
  const words = turn === null ? outside : `Turn ${turn}: ${ended}`;
  return [
    heading !== "" && h("h3", null, name, heading === "continued" && ", continued"),
    h("h4", { class: is_failed && "trouble" }, is_failed && "✗ ", words),
  ];
}

/** @param {State} state @param {Entry} entry @returns {Child[]} */
function openParts(state, entry) {
  const { kind = "", by, title, detail, is_failed, took_ns, remarks, choices, blocks } = entry;
  const name = kind === "message" && by === "client" ? "Client" : OPEN[kind];
  const end = entry.state === "never answered" ? `Prompt #${entry.seq} was ${entry.state}`
    : title || entry.state;
  const ended = visibleText(end) + tookWords(took_ns);
  const steps = choices.map((step) => h("li", null,
    `${statusInWords(step.state)}: ${visibleText(step.name)} `, note(step.detail)));
  return [
    h("p", { class: "entry-head" }, is_failed && "✗ ", h("b", null, name || ended),
      kind === "event" && visibleText(`${detail}: ${title}`), note(remarks.join(" · ")),
      place(state, entry)),
    steps.length > 0 && h("ul", { class: "choices" }, steps),
    ...blocks.flatMap((block) => blockParts(state, block, entry)),
  ];
}

/** @param {State} state @param {Entry} entry @param {Set<number>} toggled @returns {Child[]} */
function foldedParts(state, entry, toggled) {
  const { kind = "", seq, is_failed, remarks, choices } = entry;
  const isLoud = kind === "tool_call" || (kind === "terminal" && !isInCard(state, entry));
  const isOpen = (is_failed && isLoud) !== toggled.has(seq);
  const box = div("entry-content");
  const fill = () => contentOf(state, entry).then((parts) => clear(box, parts), (error) => {
    clear(box, h("p", { class: "trouble" }, `This cannot be shown: ${messageOf(error)}`));
  });
  const toggle = () => {
    if (made.open === isOpen) return void toggled.delete(seq);
    toggled.add(seq);
    if (made.open) void fill();
  };
  const made = h("details", { open: isOpen, on: { toggle } }, h("summary", null,
    span("entry-kind", FOLDED[kind] ?? kind), summaryWords(state, entry),
    note(remarks.join(" · "))), box);
  if (isOpen) void fill();
  const options = choices.map((one) =>
    span(one.state && "chosen", `${one.state ? "●" : "○"} ${visibleText(one.name)} `));
  return [
    div("entry-line", made, place(state, entry)),
    options.length > 0 && h("p", { class: "options" }, options),
  ];
}

/** Whether the card of a call has a terminal. @param {State} state @param {Entry} terminal */
function isInCard({ recording }, { id }) {
  const [calls, terminals] = ["tool_call", "terminal"].map((name) => recording.codes(name));
  const wanted = recording.code(id);
  return terminals.some((code, row) => code === wanted && calls[row] > 0);
}

/** What a line that opens says. @param {State} state @param {Entry} entry @returns {Child[]} */
function summaryWords({ recording: { isOpen } }, entry) {
  const { kind, title, detail, is_failed, took_ns, blocks } = entry;
  const start = blocks[0]?.text.start ?? "";
  if (kind === "stderr") return [countInWords(start.split("\n").length, "line")];
  if (kind === "thought") {
    return [span("entry-title", visibleText(start.slice(0, BEGINNING).replace(/\s+/g, " ")))];
  }
  const isLost = kind === "tool_call" && /^(pending|in_progress|)$/.test(entry.state) && !isOpen;
  const outcome = [entry.state, isLost && "never ended"].filter(Boolean).join(", ");
  const isAsked = kind === "request" || kind === "notice";
  const sign = is_failed ? "✗ " : outcome === "completed" ? "✓ " : isAsked && outcome ? "→ " : "";
  return [
    h("b", null, visibleText(isAsked ? detail : title)),
    isAsked && span("entry-title", visibleText(title)),
    kind === "tool_call" && detail !== "" && span("badge", visibleText(detail)),
    outcome !== "" && span(is_failed || isLost ? "trouble" : "note",
      sign + visibleText(outcome) + tookWords(took_ns)),
  ];
}

/** @param {State} state @param {Entry} entry @returns {Promise<Child[]>} what a line opens */
async function contentOf(state, entry) {
  const row = state.recording.rowOf(entry.seq);
  const own = entry.blocks.flatMap((block) => blockParts(state, block, entry));
  if (OWN_TEXTS.has(entry.kind ?? "")) return own;
  const gone = [note(`#${entry.seq} is not in this report.`)];
  return [...(row < 0 ? gone : await saidElements(state, row)), ...own];
}

/** What leads to the frames of an entry. @param {State} state @param {Entry} entry */
function place(state, { seq, t_ns }) {
  const time = t_ns ? secondsInWords(t_ns, "", " s ") : "";
  return span("note entry-place", span("entry-time", time), linkedText(state, `#${seq}`));
}

/** @param {State} state @param {EntryBlock} block @param {Entry} entry @returns {Child[]} */
function blockParts(state, { form, label, text, image }, { kind, by }) {
  const { start, end, characters } = text;
  if (image !== undefined) return [imageElement(state, image, start)];
  if (form === "note") return [h("p", { class: "note media" }, visibleText(start))];
  const isMarkdown = label === "" && (kind === "thought" || (kind === "message" && by === "agent"));
  const left = characters - start.length - end.length;
  const show = (/** @type {string} */ piece) => (isMarkdown
    ? div("markdown", markdownElements(piece)) : longText(piece));
  return [
    label !== "" && h("p", { class: "block-label" }, visibleText(label)), show(start),
    left > 0 && noteLine(`… ${countInWords(left, "character")} left out …`),
    end !== "" && show(end),
  ];
}

/** @param {State} state @param {number} number @param {string} name */
function imageElement({ recording }, number, name) {
  const [type, width, height] = recording.meta.images[number];
  const style = { "aspect-ratio": `${width} / ${height}`, width: `${width}px` };
  const box = h("figure", { class: "image", style });
  const error = () => clear(box, note(name));
  recording.source.bytes(`g${number}`).then((bytes) => {
    const words = `${visibleText(name)}, ${width} × ${height}`;
    clear(box, picture(type, bytes, { alt: words, title: words, on: { error } }));
  }, error);
  return box;
}

/** @param {string} text */
const note = (text) => text !== "" && span("note", visibleText(text));

/** @param {number | null} ns */
const tookWords = (ns) => durationInWords(ns ?? NaN, " after ");

// One section or entry of the conversation in the page. The content of a folded entry is read when
// the entry is opened. Failed calls, and failed terminals without a call, are open at first.
import { choicesElement, headWords, linkedText, tookWords } from "../cards/card.js";
import { rowsWith } from "../data/values.js";
import { columnTerm, termed, termText, verbTerm } from "../filter/term_text.js";
import { blockElement, entryBlocks, labelledBlock } from "../detail/blocks.js";
import { exchangedParts } from "../detail/detail.js";
import { saidElements, whyUnread } from "../detail/said.js";
import { clear, countInWords, div, h, secondsInWords, span } from "../shell/dom.js";

/**
 * @typedef {import("../shell/state.js").State} State
 * @typedef {import("./entries.js").Entry} Entry
 * @typedef {import("../shell/dom.js").Child} Child
 */

/** Entries that are always open. @type {Record<string, string>} */
const OPEN = { prompt: "Prompt", message: "Agent", plan: "Plan", event: "Event", end: "",
  note: "Note" };
/** Entries that are folded into one line at first. @type {Record<string, string>} */
const FOLDED = { thought: "Thought", tool_call: "Call", terminal: "Terminal",
  permission: "Permission", request: "Request", notice: "Notice", "not-acp": "Not ACP",
  stderr: "stderr" };
/** Kinds of entries whose content is only messages. The line of the entry shows all other facts. */
const EXCHANGES = new Set(["request", "permission", "notice"]);

/**
 * @param {HTMLElement} node to be filled @param {State} state @param {Entry} entry
 * @param {Set<number>} toggled the frames of entries that the reader has opened or closed
 * @param {() => Promise<Element | undefined>} read the content of the entry
 * @param {boolean} isPrinted whether the content of a folded entry is read, too
 */
export function fillEntry(node, state, entry, toggled, read, isPrinted) {
  const { kind = "section", by, is_failed, remarks = [] } = entry;
  node.classList.add("entry", `entry-${kind}`, remarks.includes("history") ? "past" : `by-${by}`);
  node.classList.toggle("failed", Boolean(is_failed));
  node.classList.toggle("child", remarks.some((remark) => remark.startsWith("subagent ")));
  clear(node, kind === "section" ? sectionParts(state, entry)
    : kind in OPEN ? openParts(state, entry) : foldedParts(state, entry, toggled, read, isPrinted));
}

/** @param {State} state @param {Entry} section @returns {Child[]} */
function sectionParts(state, { turn, seq, heading, session, is_failed, took_ns, ...section }) {
  const name = session ? `Session ${session}` : "Session without a name";
  const outside = seq <= 1 ? "Before the first turn" : "Outside of turns";
  const words = section.loaded_by ? linkedText(state, `History, loaded by #${section.loaded_by}`)
    : turn === null ? outside : `Turn ${turn}: ${section.state}${tookWords(took_ns)}`;
  return [
    heading !== "" && termed(h("h3", null, name, heading === "continued" && ", continued"),
      session && termText("session", session)),
    termed(h("h4", { class: is_failed && "trouble" }, is_failed && "✗ ", words),
      turn !== null && termText("turn", String(turn))),
  ];
}

/** @param {State} state @param {Entry} entry @returns {Child[]} */
function openParts(state, entry) {
  const { kind = "", by, title, detail, is_failed, took_ns, remarks } = entry;
  const name = kind === "message" && by === "client" ? "User" : OPEN[kind];
  const end = entry.state === "never answered" ? `Prompt #${entry.seq} was ${entry.state}`
    : (title || entry.state) + tookWords(took_ns);
  return [
    h("p", { class: "entry-head" }, is_failed && "✗ ",
      termed(h("b", null, name || end), entryTerm(state, entry)),
      kind === "event" && `${detail}: ${title}`, kind === "note" && span("row-note", title),
      note(...remarks), place(state, entry)),
    choicesElement(entry.choices), ...entryBlocks(entry).map((block) => blockElement(state, block)),
  ];
}

/**
 * @param {State} state @param {Entry} entry @param {Set<number>} toggled
 * @param {() => Promise<Element | undefined>} read @param {boolean} isPrinted @returns {Child[]}
 */
function foldedParts(state, entry, toggled, read, isPrinted) {
  const { kind = "", seq, is_failed, remarks, choices } = entry;
  const isAlone = kind === "tool_call" || (kind === "terminal" && !isInCard(state, entry));
  const isOpenAtFirst = Boolean(is_failed) && isAlone;
  const isOpen = isOpenAtFirst !== toggled.has(seq);
  const fill = () => read().then((node) => node && made.lastElementChild?.replaceWith(node));
  const toggle = () => {
    // Browsers also report that an element is made open.
    toggled[made.open === isOpenAtFirst ? "delete" : "add"](seq);
    if (made.open) void fill();
  };
  const made = h("details", { open: isOpen, on: { toggle } }, h("summary", null,
    termed(span("entry-kind", FOLDED[kind] ?? kind), entryTerm(state, entry)),
    summaryWords(state, entry),
    note(...remarks)), div("entry-content"));
  if (isOpen || isPrinted) void fill();
  return [div("entry-line", made, place(state, entry)), choicesElement(choices)];
}

/** The term for the call, the terminal, or the method. @param {State} state @param {Entry} entry */
function entryTerm({ recording }, { kind, seq }) {
  const row = recording.rowOf(seq);
  const [column] = ["tool_call", "terminal"].filter((name) => name === kind);
  return column ? columnTerm(recording, row, column) : verbTerm(recording, row);
}

/**
 * Whether a terminal is shown in the card of a tool call.
 * @param {State} state @param {Entry} terminal
 */
const isInCard = ({ recording }, { id }) =>
  rowsWith(recording.codes("terminal"), recording.code(id))
    .some((row) => recording.codes("tool_call").at(row) > 0);

/** The line of a folded entry. @param {State} state @param {Entry} entry @returns {Child[]} */
function summaryWords({ recording }, entry) {
  const { kind, blocks } = entry;
  const lines = (blocks[0]?.text.start ?? "").split("\n");
  const last = span("entry-title note mono", lines.at(-1));
  if (kind === "stderr") return [countInWords(lines.length, "line"), last];
  if (kind !== "thought") return headWords(recording, entry);
  return [span("entry-title", lines.join(" ").slice(0, 120).replace(/\*\*|\s+/g, " "))];
}

/**
 * Reads the content of a folded entry.
 * @param {State} state @param {any} entry @returns {Promise<Child[]>}
 */
export async function readContent(state, entry) {
  const [{ recording }, { kind = "", seq }] = [state, entry];
  const row = recording.rowOf(seq);
  if (row < 0) return [note(`#${seq} is not in this report.`)];
  if (!EXCHANGES.has(kind) || whyUnread(recording, row)) return saidElements(state, row);
  const rows = [row, recording.pair(row)].filter((one) => one >= 0);
  const parts = await Promise.all(rows.map((one) => exchangedParts(one, state)));
  const images = entryBlocks(entry).map((block) => blockElement(state, block));
  return [...parts.map((part, at) => labelledBlock(at ? "answer" : "sent", part)), ...images];
}

/** The time of an entry, and a link to its frame. @param {State} state @param {Entry} entry */
function place(state, { seq, t_ns }) {
  const time = t_ns ? secondsInWords(t_ns, "", " s ") : "";
  return span("note entry-place", span("entry-time", time), linkedText(state, `#${seq}`));
}

/** Remarks on an entry. A line at its left shows that it is history. @param {string[]} texts */
const note = (...texts) => span("note", texts.filter((one) => one !== "history").join(" · "));

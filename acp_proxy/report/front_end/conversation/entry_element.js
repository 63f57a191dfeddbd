// One section or entry of the conversation in the page. What a call, a terminal or a request consists of is read when
// it is opened; calls that failed are open.
import { seqButton, statusInWords } from "../cards/card.js";
import { longText } from "../detail/hex.js";
import { saidElements } from "../detail/said.js";
import { clear, h, picture } from "../shell/dom.js";
import { messageOf } from "../shell/state.js";
import { countInWords, durationInWords, secondsInWords, visibleText } from "../shell/words.js";
import { markdownElements } from "./markdown.js";

/**
 * @typedef {import("../shell/state.js").State} State
 * @typedef {import("./entries.js").Entry} Entry
 * @typedef {import("./entries.js").EntryBlock} EntryBlock
 * @typedef {import("../shell/dom.js").Child} Child
 */

/** @type {Record<string, string>} */
const ENTRY_NAMES = { prompt: "Prompt", thought: "Thought", tool_call: "Call", terminal: "Terminal", permission: "Permission", plan: "Plan", request: "Request", notice: "Notice", "not-acp": "Not ACP", stderr: "stderr", event: "Event" };
/** Entries whose parts are read from their lines. */
const FROM_LINES = new Set(["tool_call", "terminal", "permission", "request", "notice"]);
const BEGINNING = 120;
const NEVER_ENDED = "never ended";

/**
 * @param {State} state @param {Entry} entry @param {Set<number>} toggled entries that are not as they are at first
 * @returns {HTMLElement}
 */
export function entryElement(state, entry, toggled) {
  const { kind = "section", is_failed, by, remarks = [] } = entry;
  const isChild = remarks.some((remark) => remark.startsWith("subagent "));
  const made = h("article", { class: `entry entry-${kind} by-${by}${is_failed ? " failed" : ""}${isChild ? " child" : ""}` });
  made.append(...partsOf(state, entry, toggled).filter((part) => part instanceof Node));
  return made;
}

/** @param {State} state @param {Entry} entry @param {Set<number>} toggled @returns {Child[]} */
function partsOf(state, entry, toggled) {
  const { kind, blocks, title, state: outcome, choices } = entry;
  if (!kind) return sectionParts(entry);
  const took = durationInWords(entry.took_ns ?? NaN, " after ");
  const content = () => blocks.flatMap((block) => blockParts(state, block, entry));
  switch (kind) {
    case "prompt":
      return [headLine(state, entry, ENTRY_NAMES.prompt), ...content()];
    case "message":
      return [headLine(state, entry, entry.by === "agent" ? "Agent" : "Client", entry.detail.includes("/") ? "" : entry.detail), ...content()];
    case "plan":
      return [headLine(state, entry, ENTRY_NAMES.plan), h("ul", { class: "choices" }, choices.map((step) => h("li", null,
        `${statusInWords(step.state)}: ${visibleText(step.name)} `, h("span", { class: "note" }, visibleText(step.detail))))), ...content()];
    case "end":
      return [headLine(state, entry, `${visibleText(title || outcome)}${took}`)];
    case "thought":
      return [folded(state, entry, toggled, [visibleText(beginning(blocks))], content)];
    case "stderr":
      return [folded(state, entry, toggled, [countInWords((blocks[0]?.text.start.match(/\n/g)?.length ?? 0) + 1, "line")], content)];
    case "permission":
      return [folded(state, entry, toggled, summaryWords(entry, outcome || "answered", took), () => readParts(state, entry)),
        h("p", { class: "options" }, choices.map((one) => h("span", { class: one.state && "chosen" }, `${one.state ? "●" : "○"} ${visibleText(one.name)} `)))];
    case "event":
      return [headLine(state, entry, ENTRY_NAMES.event, `${entry.detail}: ${title}`)];
    default:
      return [folded(state, entry, toggled, summaryWords(entry, endedWords(state, entry), took), async () => [
        ...(FROM_LINES.has(kind) ? await readParts(state, entry) : []), ...content()])];
  }
}

/** How an entry ended, in words. @param {State} state @param {Entry} entry */
function endedWords({ recording: { meta } }, { kind, state }) {
  const isOver = kind !== "tool_call" || !/^(pending|in_progress|)$/.test(state) || meta.summary.live || meta.is_open;
  return isOver ? state : [state, NEVER_ENDED].filter(Boolean).join(", ");
}

/** @param {Entry} section @returns {Child[]} */
function sectionParts({ turn, seq, heading, session, state, took_ns, is_failed }) {
  const name = session ? `Session ${visibleText(session)}` : "Session without a name";
  const words = turn !== null ? `Turn ${turn}: ${visibleText(state)}${durationInWords(took_ns ?? NaN, " after ")}` : seq <= 1 ? "Before the first turn" : "Outside of turns";
  return [heading !== "" && h("h3", null, name, heading === "continued" && ", continued"), h("h4", { class: is_failed && "trouble" }, is_failed && "✗ ", words)];
}

/** @param {State} state @param {Entry} entry @param {string} name @param {string} [more] */
function headLine(state, entry, name, more = "") {
  return h("p", { class: "entry-head" }, entry.is_failed && "✗ ", h("b", null, name), more && ` ${visibleText(more)}`,
    entry.remarks.length > 0 && h("span", { class: "note" }, visibleText(entry.remarks.join(" · "))), place(state, entry));
}

/** What leads to the frames of an entry. @param {State} state @param {Entry} entry */
function place(state, { seq, t_ns }) {
  const row = state.recording.rowOf(seq);
  return h("span", { class: "note entry-place" }, t_ns ? h("span", { class: "entry-time" }, secondsInWords(t_ns, "", " s ")) : "", row >= 0 ? seqButton(state, row) : `#${seq}`);
}

/** @param {Entry} entry @param {string} outcome @param {string} took @returns {Child[]} */
function summaryWords({ kind, title, detail, is_failed }, outcome, took) {
  const sign = is_failed ? "✗" : outcome === "completed" ? "✓" : kind === "request" || kind === "permission" ? "→" : "";
  const isAsked = kind === "request" || kind === "notice";
  return [h("b", null, visibleText(isAsked ? detail : title)), " ", isAsked ? h("span", { class: "entry-title" }, visibleText(title))
    : detail && kind !== "terminal" && h("span", { class: "badge" }, visibleText(detail)),
    outcome && h("span", { class: is_failed || outcome.endsWith(NEVER_ENDED) ? "trouble" : "note" }, ` ${sign} ${visibleText(outcome)}${took}`)];
}

/**
 * A line that opens; a failure is open at first.
 * @param {State} state @param {Entry} entry @param {Set<number>} toggled @param {Child[]} words
 * @param {() => Promise<Child[]> | Child[]} content
 */
function folded(state, entry, toggled, words, content) {
  const { kind, seq, is_failed, remarks } = entry;
  const isOpen = (is_failed && (kind === "tool_call" || kind === "terminal")) !== toggled.has(seq);
  const box = h("div", { class: "entry-content" });
  const fill = async () => {
    try {
      clear(box, ...(await content()));
    } catch (error) {
      clear(box, h("p", { class: "trouble" }, `This cannot be shown: ${messageOf(error)}`));
    }
  };
  const made = h("details", { open: isOpen }, h("summary", null, h("span", { class: "entry-kind" }, ENTRY_NAMES[kind] ?? kind), " ", words, remarks.length > 0 && h("span", { class: "note" }, visibleText(remarks.join(" · ")))), box);
  if (isOpen) void fill();
  made.addEventListener("toggle", () => {
    if (made.open === isOpen) return void toggled.delete(seq);
    toggled.add(seq);
    if (made.open) void fill();
  });
  return h("div", { class: "entry-line" }, made, place(state, entry));
}

/** What the lines of an entry say. @param {State} state @param {Entry} entry @returns {Promise<Child[]>} */
async function readParts(state, { seq }) {
  const row = state.recording.rowOf(seq);
  return row < 0 ? [h("p", { class: "note" }, `#${seq} is not in this report.`)] : saidElements(state, row);
}

/** @param {State} state @param {EntryBlock} block @param {Entry} entry @returns {Child[]} */
function blockParts(state, { form, label, text, image }, entry) {
  if (image !== undefined) return [imageElement(state, image, text.start)];
  if (form === "note") return [h("p", { class: "note media" }, visibleText(text.start))];
  const isMarkdown = (entry.kind === "message" && entry.by === "agent") || entry.kind === "thought";
  const left = text.characters - text.start.length - text.end.length;
  const show = (/** @type {string} */ one) => (isMarkdown && label === "" ? h("div", { class: "markdown" }, markdownElements(one)) : longText(one));
  return [label !== "" && h("p", { class: "block-label" }, visibleText(label)), show(text.start),
    left > 0 && h("p", { class: "note" }, `… ${countInWords(left, "character")} of ${text.characters.toLocaleString("en")} left out; the frames have all …`),
    text.end !== "" && show(text.end)];
}

/** @param {State} state @param {number} number @param {string} name */
function imageElement({ recording }, number, name) {
  const [type, width, height] = recording.meta.images[number];
  const box = h("figure", { class: "image", style: { "aspect-ratio": `${width} / ${height}`, width: `${width}px` } });
  const fail = () => clear(box, h("p", { class: "note" }, visibleText(name)));
  recording.source.bytes(`g${number}`).then((bytes) => {
    const image = picture(type, bytes, { alt: visibleText(name), title: `${visibleText(name)}, ${width} × ${height}` });
    image.addEventListener("error", fail);
    clear(box, image);
  }, fail);
  return box;
}

/** The beginning of a text, on one line. @param {EntryBlock[]} blocks */
const beginning = (blocks) => (blocks[0]?.text.start ?? "").slice(0, BEGINNING).replace(/\s+/g, " ").trim();

// The view that reads like a chat: prompts, thoughts, messages, calls with cards, ends of turns.
// The content of a folded entry is read when the entry is opened. Failed calls, and failed
// terminals without a call, are open at first.
import { choicesElement, findingLines, headWords, linkedText, tookWords } from "../cards/card.js";
import { lowerBound } from "../data/columns.js";
import { BlockCache, rowsWith } from "../data/values.js";
import { pauseWords } from "../shell/virtual_list.js";
import { clear, countInWords, div, failureLine, h, messageOf, noteLine } from "../shell/dom.js";
import { secondsInWords, sign, span } from "../shell/dom.js";
import { SECTION } from "./entries.js";
import { FlowList } from "./flow_list.js";
import { columnTerm, termed, termText, verbTerm } from "../filter/term_text.js";
import { blockElement, entryBlocks, labelledBlock } from "../detail/blocks.js";
import { exchangedParts } from "../detail/detail.js";
import { saidElements, whyUnread } from "../detail/said.js";

/**
 * @typedef {import("../shell/state.js").State} State
 * @typedef {import("../data/recording.js").Pause} Pause
 */

/** The likely heights of entries in pixels. @type {Record<string, number>} */
const HEIGHTS = { section: 60, prompt: 90, message: 130, plan: 110, permission: 64 };
const PENDING_ENTRY = "entry-pending";
const MOST_FINDINGS = 3;

export class ConversationView {
  /** @param {HTMLElement} container @param {State} state */
  constructor(container, state) {
    this.state = state;
    this.entries = state.recording.entries;
    this.entries.blocks.onRead = () => this.list.refresh(`.${PENDING_ENTRY}`);
    /** The recording's `edition` when the entries were read; null before. */
    this.known = null;
    /**
     * Two maps from the item of an entry: to the pauses before the entry, and to those after it.
     * @type {Map<number, Pause[]>[]}
     */
    this.pauses = [new Map(), new Map()];
    /** The entries and sections that are shown. @type {number[]} */
    this.items = [];
    /** The frames of entries that the reader has opened or closed. @type {Set<number>} */
    this.toggled = new Set();
    /** The contents of folded entries, by item. */
    this.contents = new BlockCache(500, async (item) => div("entry-content",
      await readContent(state, await this.entries.get(Number(item))).catch(failureLine)));
    this.notes = div("conversation-notes");
    this.list = new FlowList({
      label: "Conversation", render: (item, node) => this.render(item, node),
      onActive: (item) => this.select(item),
    }, (item) => HEIGHTS[this.entries.kinds[item]] ?? 38);
    container.append(this.notes, this.list.body);
  }

  async read() {
    const { entries, state } = this;
    this.known = state.recording.edition;
    try {
      await entries.ready();
      const from = entries.undrawn;
      entries.undrawn = Infinity;
      const changed = [...this.contents.entries.keys()].filter((item) => Number(item) >= from);
      changed.forEach(this.contents.expire);
      // What is on the screen is read before it is replaced.
      const drawn = Array.from(this.list.nodes.keys(), (at) => String(this.items[at]));
      const seen = changed.filter((item) => drawn.includes(item));
      await Promise.all(seen.map((item) => this.contents.get(item)));
      this.placePauses();
      this.build(from);
    } catch (error) {
      this.say([`The conversation cannot be shown: ${messageOf(error)}`]);
    }
  }

  /** @param {import("../shell/app.js").Change} change */
  update(change) {
    const { entries, state: { recording, grewFrom } } = this;
    // An entry of earlier rows has a new finding, or its turn has changed.
    const changed = change === "grew" ? entries.ofRows[grewFrom] ?? -1 : -1;
    if (changed >= 0) entries.undrawn = Math.min(entries.undrawn, changed);
    if (changed >= 0 || this.known !== recording.edition) void this.read();
    if (change === "matched" || change === "view") this.list.refresh();
    if (change === "row" || change === "view") this.list.setActive(this.placeOf(this.state.row));
    else if (change === "shown") this.build();
  }

  /**
   * Finds an entry for each pause: the entry that ended the pause, or else the entry before the
   * pause.
   */
  placePauses() {
    const { entries: { kinds, seqs, ofRows }, state: { recording } } = this;
    const [before, after] = (this.pauses = [new Map(), new Map()]);
    for (const [row, pause] of recording.pauses) {
      let [item, rowBefore] = [ofRows[row] ?? -1, recording.rowOf(pause.before)];
      const isFirst = item >= 0 && recording.rowOf(seqs[item]) === row;
      while (isFirst && kinds[item - 1] === SECTION) item--;
      while (!isFirst && rowBefore > 0 && ofRows[rowBefore] < 0) rowBefore--;
      const [places, place] = isFirst ? [before, item] : [after, ofRows[rowBefore] ?? -1];
      places.set(place, [...(places.get(place) ?? []), pause]);
    }
  }

  /** @param {number} [from] the first entry that is new or has changed */
  build(from = 0) {
    const { entries: { kinds, ofRows }, state, list } = this;
    const isAll = state.shown.length === state.recording.rows;
    const isShown = new Uint8Array(kinds.length).fill(isAll ? 1 : 0);
    if (!isAll) for (const row of state.shown) isShown[ofRows[row]] = 1;
    // A section is shown if one of its entries is shown.
    for (let item = kinds.length - 1, isNeeded = 0; item >= 0; item--) {
      if (kinds[item] === SECTION) [isShown[item], isNeeded] = [isNeeded, 0];
      else isNeeded ||= isShown[item];
    }
    this.items = Array.from(kinds.keys()).filter((item) => isShown[item]);
    const hidden = kinds.filter((kind, item) => kind !== SECTION && !isShown[item]).length;
    const words = `${countInWords(hidden, "step")} hidden by what is chosen above.`;
    this.say([...unknowns(state.recording), hidden > 0 && words]);
    const place = list.isLeft || from > 0 ? "kept" : "center";
    // An entry shows the pauses after it.
    list.setItems(this.items, this.placeOf(state.row), place, lowerBound(this.items, from - 1));
  }

  /** Writes sentences above the conversation. @param {(string | false | undefined)[]} sentences */
  say = (sentences) => clear(this.notes, sentences.map((text) => text && noteLine(text)));

  /** The place of the entry that shows a row; -1 if no entry shows it. @param {number} row */
  placeOf(row) {
    const item = this.entries.ofRows[row] ?? -1;
    const place = lowerBound(this.items, item);
    return this.items[place] === item ? place : -1;
  }

  /** @param {number} item */
  select(item) {
    const { recording, row } = this.state;
    const first = recording.rowOf(this.entries.seqs[item]);
    if (first >= 0 && this.entries.ofRows[row] !== item) this.state.select(first);
  }

  /** @param {number} item @param {HTMLElement} node to be filled */
  render(item, node) {
    const entry = this.entries.now(item);
    if (entry === null) {
      node.className = `entry ${PENDING_ENTRY}`;
      node.style.setProperty("height", `${this.list.estimate(item)}px`);
      return;
    }
    fillEntry(node, this.state, entry, this.toggled, () => this.contents.get(String(item)));
    const steps = () => [...this.entries.kinds.slice(item + 1), SECTION].indexOf(SECTION);
    if (entry.loaded_by) node.querySelector("h4")?.append(` · ${countInWords(steps(), "step")}`);
    const head = node.querySelector(".entry-head, .entry-line");
    const isShown = (/** @type {number} */ row) => this.entries.ofRows[row] === item;
    if (this.state.matched.some(isShown)) head?.prepend(sign("sign-hit", "●", "found"));
    const lines = findingLines(this.state, [...this.state.problems.filter(isShown)]);
    const left = countInWords(lines.length - MOST_FINDINGS, "more finding");
    if (lines.length > MOST_FINDINGS) lines.splice(MOST_FINDINGS, Infinity, noteLine(left));
    head?.after(...lines);
    const [before, after] = this.pauses.map((places) => (places.get(item) ?? []).map((pause) =>
      h("p", { class: `entry-pause debt-${pause.debt}` }, pauseWords(pause))));
    node.prepend(...before);
    node.append(...after);
  }
}

/**
 * Sentences about the facts that are not known of a recording.
 * @param {import("../data/recording.js").Recording} recording
 */
function unknowns({ meta: { summary, why_no_times, partial }, hasPayloads }) {
  const { live, recording: { state, origin } } = summary;
  return [
    !hasPayloads && "This report was made without payloads: it has titles and outcomes, no texts.",
    live && partial === undefined && "The recording was still running when this page was made.",
    !live && state === "incomplete" && "The recorder was killed, so the end is not known.",
    origin && `Imported from ${origin.title}: what that log leaves out is not known.`, why_no_times,
  ];
}

/**
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
 * @param {() => Promise<Element>} read the content of the entry
 */
export function fillEntry(node, state, entry, toggled, read) {
  const { kind = "section", by, is_failed, remarks = [] } = entry;
  node.classList.add("entry", `entry-${kind}`, remarks.includes("history") ? "past" : `by-${by}`);
  node.classList.toggle("failed", Boolean(is_failed));
  node.classList.toggle("child", remarks.some((remark) => remark.startsWith("subagent ")));
  clear(node, kind === "section" ? sectionParts(state, entry)
    : kind in OPEN ? openParts(state, entry) : foldedParts(state, entry, toggled, read));
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
  const { kind = "", by, title, state: how, detail, is_failed, took_ns, remarks } = entry;
  const name = kind === "message" && by === "client" ? "User" : OPEN[kind];
  const unended = how === "open" ? "is open" : how === "never answered" && "was never answered";
  const end = unended ? `The prompt ${unended}` : (title || how) + tookWords(took_ns);
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
 * @param {() => Promise<Element>} read @returns {Child[]}
 */
function foldedParts(state, entry, toggled, read) {
  const { kind = "", seq, is_failed, remarks, choices } = entry;
  const isAlone = kind === "tool_call" || (kind === "terminal" && !isInCard(state, entry));
  const isOpenAtFirst = Boolean(is_failed) && isAlone;
  const isOpen = isOpenAtFirst !== toggled.has(seq);
  const fill = () => read().then((node) => made.lastElementChild?.replaceWith(node));
  const toggle = () => {
    // Browsers also report that an element is made open.
    toggled[made.open === isOpenAtFirst ? "delete" : "add"](seq);
    if (made.open) void fill();
  };
  const made = h("details", { open: isOpen, on: { toggle } }, h("summary", null,
    termed(span("entry-kind", FOLDED[kind] ?? kind), entryTerm(state, entry)),
    summaryWords(state, entry),
    note(...remarks)), div("entry-content"));
  if (isOpen) void fill();
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

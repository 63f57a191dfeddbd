// The view that reads like a chat: prompts, thoughts, messages, tool calls with their cards, permissions, ends of turns.
import { lowerBound } from "../data/recording.js";
import { clear, h } from "../shell/dom.js";
import { messageOf } from "../shell/state.js";
import { countInWords } from "../shell/words.js";
import { BLOCK_ENTRIES, Entries, SECTION } from "./entries.js";
import { entryElement } from "./entry_element.js";
import { FlowList } from "./flow_list.js";

/** @typedef {import("../shell/state.js").State} State */

/** The likely heights of entries in pixels; a line that opens has the last one. @type {Record<string, number>} */
const HEIGHTS = { section: 60, prompt: 90, message: 130, plan: 110, permission: 64 };
const FOLDED_HEIGHT = 38;
const PENDING_ENTRY = "entry-pending";

/** How many blocks are read ahead for a printer, which does not wait. */
const BLOCKS_AHEAD = 4;

/** @type {import("../shell/app.js").View} */
export const conversationView = { name: "conversation", title: "Conversation", key: "c", mount: (...place) => new ConversationView(...place) };

class ConversationView {
  /** @param {HTMLElement} container @param {State} state */
  constructor(container, state) {
    this.state = state;
    this.entries = new Entries(state.recording);
    this.entries.onLoaded = () => this.list.refresh((node) => node.classList.contains(PENDING_ENTRY));
    /** How many rows there were when the entries were read. */
    this.rows = -1;
    /** The entry of each row; empty until it is known. */
    this.ofRows = new Int32Array(0);
    /** The entries and sections that are shown. @type {number[]} */
    this.items = [];
    /** What was opened, or closed, by its frame. @type {Set<number>} */
    this.toggled = new Set();
    /** The entries in which the search has found something. @type {Set<number>} */
    this.hits = new Set();
    this.note = h("div", { class: "conversation-notes" });
    this.list = new FlowList({
      label: "Conversation",
      estimate: (item) => HEIGHTS[this.entries.kinds[item]] ?? FOLDED_HEIGHT,
      render: (item) => this.render(item),
      onActive: (item) => this.select(item),
    });
    this.list.element.addEventListener("click", (event) => this.onClick(event));
    container.append(this.note, this.list.element);
    this.read();
  }

  read() {
    this.readAll().catch((error) => clear(this.note, h("p", { class: "trouble" }, `The conversation cannot be shown: ${messageOf(error)}`)));
  }

  async readAll() {
    this.rows = this.state.recording.rows;
    await this.entries.read();
    this.build();
    for (let item = 0; item < this.entries.kinds.length && item < BLOCKS_AHEAD * BLOCK_ENTRIES; item += BLOCK_ENTRIES) this.entries.now(item);
    this.ofRows = await this.entries.ofRows();
    this.showHits();
    this.build();
  }

  /** @param {import("../shell/app.js").Change} change */
  update(change) {
    if (this.rows !== this.state.recording.rows) this.read();
    if (change === "row" || change === "view") this.list.setActive(this.placeOf(this.state.row));
    else if (change === "shown") this.build();
    else if (change === "matched") this.showHits();
  }

  /** Marks the entries in which the search has found something. */
  showHits() {
    this.hits = new Set([...this.state.matched].map((row) => this.ofRows[row]));
    for (const [place, node] of this.list.nodes) node.classList.toggle("hit", this.hits.has(this.items[place]));
  }

  build() {
    const { entries, state, ofRows } = this;
    const [count, isAll] = [entries.kinds.length, state.shown.length === state.recording.rows];
    const isShown = new Uint8Array(count).fill(isAll || ofRows.length === 0 ? 1 : 0);
    if (!isAll) for (const row of state.shown) isShown[ofRows[row]] = 1;
    this.items = [];
    let sections = 0;
    for (let item = count - 1, isNeeded = false; item >= 0; item--) {
      const isSection = entries.kinds[item] === SECTION;
      if (isSection ? isNeeded : isShown[item]) this.items.push(item);
      isNeeded = !isSection && (isNeeded || isShown[item] === 1);
      sections += Number(isSection);
    }
    this.items.reverse();
    const shown = this.items.filter((item) => entries.kinds[item] !== SECTION).length;
    const hidden = count - sections - shown;
    clear(this.note, [...unknowns(state.recording), hidden > 0 && `${countInWords(hidden, "more step")} hidden by the filter or the chosen time.`]
      .filter(Boolean).map((text) => h("p", { class: "note" }, text)));
    this.list.setItems(this.items, this.placeOf(state.row));
  }

  /** The place of the entry that shows a row, or of the last one before it; -1 for none. @param {number} row */
  placeOf(row) {
    const found = this.ofRows[row] ?? -1;
    const place = lowerBound(this.items, found);
    return found >= 0 && this.items[place] === found ? place : -1;
  }

  /** @param {number} item */
  select(item) {
    const { recording, row } = this.state;
    const first = recording.rowOf(this.entries.seqs[item]);
    if (first >= 0 && this.ofRows[row] !== item) this.state.select(first);
  }

  /** @param {MouseEvent} event */
  onClick({ target }) {
    if (!(target instanceof Element) || target.closest("button, a, input, summary") || String(window.getSelection())) return;
    const place = target.closest("[data-place]")?.getAttribute("data-place");
    if (place) this.list.move(Number(place) - this.list.active);
  }

  /** The conversation on paper, as far as it is in memory. @param {number} most how many entries */
  printed(most) {
    const ready = this.items.slice(0, most).filter((item) => this.entries.now(item) !== null);
    const left = this.items.length - ready.length;
    return h("div", { class: "view-conversation" }, ready.map((item) => this.render(item)), left > 0 && h("p", { class: "note" }, `${left.toLocaleString("en")} more not printed`));
  }

  /** @param {number} item */
  render(item) {
    const entry = this.entries.now(item);
    if (entry === null) return h("article", { class: `entry ${PENDING_ENTRY}`, style: { height: `${HEIGHTS[this.entries.kinds[item]] ?? FOLDED_HEIGHT}px` } });
    const made = entryElement(this.state, entry, this.toggled);
    made.classList.toggle("hit", this.hits.has(item));
    return made;
  }
}

/** What a recording does not say. @param {import("../data/recording.js").Recording} recording */
function unknowns({ meta, hasPayloads }) {
  const { live, recording: made } = meta.summary;
  return [
    !hasPayloads && "This report was made without payloads (--no-payloads): titles and outcomes are here, texts are not.",
    live && "The recording was still running when this page was made.",
    !live && made.state === "incomplete" && "The recorder was killed: what came after the last frame is not known.",
    made.origin && `Imported from ${made.origin.title}: what that log leaves out is not known.`,
    meta.why_no_times,
  ];
}

// The view that reads like a chat: prompts, thoughts, messages, calls with cards, ends of turns.
import { findingLines } from "../cards/card.js";
import { lowerBound } from "../data/columns.js";
import { BlockCache } from "../data/values.js";
import { pause } from "../data/source.js";
import { pauseWords } from "../shell/items.js";
import { clear, countInWords, div, failureLine, h, messageOf, noteLine } from "../shell/dom.js";
import { sign } from "../shell/dom.js";
import { SECTION } from "./entries.js";
import { fillEntry, readContent } from "./entry_element.js";
import { FlowList } from "./flow_list.js";

/**
 * @typedef {import("../shell/state.js").State} State
 * @typedef {import("../data/recording.js").Pause} Pause
 */

/** The likely heights of entries in pixels. @type {Record<string, number>} */
const HEIGHTS = { section: 60, prompt: 90, message: 130, plan: 110, permission: 64 };
const PENDING_ENTRY = "entry-pending";
const MOST_FINDINGS = 3;
/** The largest number of entries and sections that are printed. */
const MOST_PRINTED = 200;

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
    /** A promise that settles when everything that is printed was read. */
    this.prepared = Promise.resolve();
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
    const words = `${countInWords(hidden, "step")} hidden by ${state.hiding}.`;
    this.say([...unknowns(state.recording), hidden > 0 && words]);
    const place = list.isLeft || from > 0 ? "kept" : "center";
    // An entry shows the pauses after it.
    list.setItems(this.items, this.placeOf(state.row), place, lowerBound(this.items, from - 1));
    this.prepared = this.prepare(this.items);
  }

  /**
   * Reads the contents that are printed, since printing cannot wait for them.
   * @param {number[]} items
   */
  async prepare(items) {
    for (const item of items.slice(0, MOST_PRINTED)) {
      await pause();
      if (this.items !== items) return;
      const isCall = this.entries.kinds[item] === "tool_call";
      await (isCall ? this.contents.get(String(item)) : this.entries.get(item));
    }
  }

  /** The elements of the first entries, for a print, with the contents that were read. */
  printed = () => this.items.slice(0, MOST_PRINTED).map((item) => {
    const [node, content] = [h("article", null), this.contents.entries.get(String(item))?.value];
    this.render(item, node, async () => /** @type {any} */ (content?.cloneNode(true)), true);
    return node;
  });

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

  /**
   * @param {number} item @param {HTMLElement} node to be filled
   * @param {() => Promise<Element | undefined>} read the content @param {boolean} isPrinted
   */
  render(item, node, read = () => this.contents.get(String(item)), isPrinted = false) {
    const entry = this.entries.now(item);
    if (entry === null) {
      node.className = `entry ${PENDING_ENTRY}`;
      node.style.setProperty("height", `${this.list.estimate(item)}px`);
      return;
    }
    fillEntry(node, this.state, entry, this.toggled, read, isPrinted);
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

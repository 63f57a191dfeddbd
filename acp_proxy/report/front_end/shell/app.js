// Starts the page: reads the recording, lays out tools, overview, views and detail, and joins them
// by the state that they share.
import { EmbeddedSource, pause } from "../data/source.js";
import { Recording } from "../data/recording.js";
import { callsView } from "../cards/card.js";
import { mountDetail } from "../detail/detail.js";
import { listView } from "../list/list_view.js";
import { overview } from "../pictures/overview.js";
import { sequenceView } from "../pictures/sequence.js";
import { waterfallView } from "../pictures/waterfall.js";
import { applyFilter, search } from "../search/search.js";
import { clear, h, setAttribute } from "./dom.js";
import { keyTable, listenForKeys } from "./keyboard.js";
import { followLink, keepLink, readLink } from "./link.js";
import { State } from "./state.js";

/**
 * A view of the conversation; it is mounted when it is first chosen.
 * @typedef {object} View
 * @property {string} name
 * @property {string} title
 * @property {string} key
 * @property {(container: HTMLElement, state: State) => MountedView} mount
 *
 * @typedef {object} MountedView
 * @property {() => void} show
 * @property {() => void} hide
 * @property {import("./virtual_list.js").VirtualList} [list] what the keyboard moves in
 */

/** @type {View[]} */
const VIEWS = [listView, sequenceView, waterfallView, callsView];
/** @typedef {import("./state.js").TimeForm} TimeForm */
/** @type {[TimeForm, string][]} */
const TIME_FORMS = [["elapsed", "elapsed time"], ["delta", "time since row above"], ["clock", "clock time"]];
const FILTER_AFTER_MS = 150;
const SEARCH_AFTER_MS = 250;

class App {
  /** @param {HTMLElement} root @param {State} state */
  constructor(root, state) {
    this.state = state;
    /** @type {Map<string, {view: View, panel: HTMLElement, mounted: MountedView | null}>} */
    this.views = new Map();
    /** @type {Map<string, HTMLButtonElement>} */
    this.tabs = new Map();
    this.filter = field("filter", "e.g. method:prompt or is:failed", FILTER_AFTER_MS, (text) => state.setFilter(text));
    this.search = field("search", "text in any message", SEARCH_AFTER_MS, (text) => state.setQuery(text));
    this.shownCount = h("output", { class: "count", for: "filter" });
    this.stepCount = h("span", { class: "count" });
    /** @type {HTMLButtonElement[]} */
    this.stepButtons = [];
    this.hitCount = h("output", { class: "count", for: "search" });
    this.message = h("p", { class: "message", role: "status", "aria-live": "polite" });
    this.commands = this.makeCommands();
    this.help = h("dialog", { class: "help", "aria-label": "Keys", on: { close: () => clear(this.help) } });
    this.overview = h("div", { class: "overview" });
    this.main = h("div", { class: "main" });
    this.detail = h("section", { class: "detail", tabindex: -1, "aria-label": "Chosen frame" });
    clear(root, this.makeTools(), this.message, this.overview, h("div", { class: "panes" }, this.main, this.detail), this.help);
    this.root = root;
    mountDetail(this.detail, state);
    for (const view of VIEWS) {
      const panel = h("div", { class: `view view-${view.name}`, role: "tabpanel", id: `view-${view.name}`, "aria-labelledby": `tab-${view.name}`, hidden: true });
      this.main.append(panel);
      this.views.set(view.name, { view, panel, mounted: null });
    }
    state.on("view", () => this.showView());
    state.on("error", () => clear(this.message, state.error));
    state.on("shown", () => this.showCounts());
    state.on("matched", () => this.showCounts());
    state.on("row", () => this.showCounts());
    listenForKeys(this.commands, () => this.help.open);
    this.showView();
    this.showCounts();
  }

  /** The view that is seen. */
  get current() {
    return this.views.get(this.state.view) ?? this.views.get(VIEWS[0].name);
  }

  makeTools() {
    const { state } = this;
    const tabs = VIEWS.map((view) => {
      const tab = h(
        "button",
        { type: "button", role: "tab", id: `tab-${view.name}`, "aria-controls": `view-${view.name}`, on: { click: () => state.setView(view.name) } },
        view.title,
      );
      this.tabs.set(view.name, tab);
      return tab;
    });
    const times = h(
      "select",
      { id: "times", "aria-label": "Times", on: { change: () => state.setTimes(/** @type {TimeForm} */ (times.value)) } },
      TIME_FORMS.map(([value, words]) => h("option", { value }, words)),
    );
    const step = (/** @type {1 | -1} */ by, /** @type {string} */ shape, /** @type {string} */ words) =>
      h("button", { type: "button", title: words, "aria-label": words, on: { click: () => this.next(by) } }, shape);
    const back = step(-1, "↑", "Previous problem, or hit of the search (p)");
    const on = step(1, "↓", "Next problem, or hit of the search (n)");
    this.stepButtons = [back, on];
    return h(
      "div",
      { class: "tools" },
      h("div", { class: "tabs", role: "tablist", "aria-label": "Views", on: { keydown: (/** @type {KeyboardEvent} */ event) => this.onTabKey(event) } }, tabs),
      h("label", { class: "field" }, "Filter", this.filter, this.shownCount),
      h("label", { class: "field" }, "Search", this.search, this.hitCount),
      h("span", { class: "steps" }, back, this.stepCount, on),
      times,
      h("button", { type: "button", title: "Keys (?)", on: { click: () => this.showHelp() } }, "Keys"),
    );
  }

  /** @returns {import("./keyboard.js").Command[]} */
  makeCommands() {
    return [
      { keys: ["n"], words: "next problem, or hit of the search", run: () => this.next(1) },
      { keys: ["p"], words: "previous one", run: () => this.next(-1) },
      { keys: ["/"], words: "filter", run: () => this.filter.select() },
      { keys: ["f"], words: "search", run: () => this.search.select() },
      { keys: ["j", "ArrowDown"], words: "next row", run: () => this.move(1) },
      { keys: ["k", "ArrowUp"], words: "previous row", run: () => this.move(-1) },
      { keys: ["[", "]"], words: "the request of an answer, or its answer", run: () => this.goToPair() },
      { keys: ["Enter"], words: "read the chosen frame", run: () => this.detail.focus() },
      ...VIEWS.map((view) => ({ keys: [view.key], words: view.title.toLowerCase(), run: () => this.choose(view.name) })),
      { keys: ["Escape"], words: "back to the rows", run: () => this.current?.mounted?.list?.focus() },
      { keys: ["?"], words: "this help", run: () => this.showHelp() },
    ];
  }

  /** @param {string} name of the view that a key has asked for */
  choose(name) {
    this.state.setView(name);
    this.arrive();
  }

  showHelp() {
    clear(this.help, h("h2", null, "Keys"), keyTable(this.commands), h("button", { type: "button", on: { click: () => this.help.close() } }, "Close"));
    this.help.showModal();
  }

  showView() {
    const current = this.current;
    for (const entry of this.views.values()) {
      const isCurrent = entry === current;
      const tab = /** @type {HTMLButtonElement} */ (this.tabs.get(entry.view.name));
      setAttribute(tab, "aria-selected", String(isCurrent));
      tab.tabIndex = isCurrent ? 0 : -1;
      entry.panel.hidden = !isCurrent;
      if (!isCurrent) entry.mounted?.hide();
    }
    if (!current) return;
    current.mounted ??= current.view.mount(current.panel, this.state);
    current.mounted.show();
  }

  showCounts() {
    const { state } = this;
    const count = new Intl.NumberFormat("en").format;
    const all = state.recording.rows;
    clear(this.shownCount, state.shown.length === all ? `${count(all)} rows` : `${count(state.shown.length)} of ${count(all)}`);
    const found = `${count(state.hits)} ${state.hits === 1 ? "row" : "rows"}`;
    clear(this.hitCount, state.query === "" ? "" : state.isSearching ? `${found}…` : found);
    const steps = state.stops;
    const place = steps.indexOf(state.row) + 1;
    const noun = `${state.query === "" ? "problem" : "hit"}${steps.length === 1 || place ? "" : "s"}`;
    for (const button of this.stepButtons) button.disabled = steps.length === 0;
    clear(this.stepCount, place ? `${noun} ${count(place)}/${count(steps.length)}` : `${count(steps.length)} ${noun}`);
    // A link may have set them.
    if (document.activeElement !== this.filter) this.filter.value = state.filter;
    if (document.activeElement !== this.search) this.search.value = state.query;
  }

  /** @param {1 | -1} step */
  next(step) {
    this.state.selectNext(step);
    this.reveal();
  }

  /** @param {number} step */
  move(step) {
    const list = this.current?.mounted?.list;
    if (list) list.move(step);
    else this.state.selectShown(step > 0 ? 1 : -1);
    this.arrive();
  }

  goToPair() {
    const { row, recording } = this.state;
    const pair = row < 0 ? -1 : recording.pair(row);
    if (pair >= 0) this.state.select(pair);
  }

  /** Scrolls from the facts at the top of the page to what was chosen. */
  reveal() {
    const { top, bottom } = this.root.getBoundingClientRect();
    if (top > 1 || bottom < innerHeight / 2) this.root.scrollIntoView();
  }

  /** Shows what a link led to, and puts the keyboard there. */
  arrive() {
    this.reveal();
    this.current?.mounted?.list?.focus();
  }

  /** @param {KeyboardEvent} event */
  onTabKey(event) {
    /** @type {Record<string, number>} */
    const steps = { ArrowRight: 1, ArrowLeft: -1 };
    if (!(event.key in steps)) return;
    const names = [...this.tabs.keys()];
    const name = names[(names.indexOf(this.state.view) + steps[event.key] + names.length) % names.length];
    this.state.setView(name);
    this.tabs.get(name)?.focus();
    event.preventDefault();
  }
}

/**
 * A field that reports its text a little after the last key.
 * @param {string} id
 * @param {string} example
 * @param {number} afterMs
 * @param {(text: string) => void} onText
 */
function field(id, example, afterMs, onText) {
  let timer = 0;
  const report = () => {
    clearTimeout(timer);
    onText(input.value);
  };
  const input = h("input", {
    id, type: "search", placeholder: example, spellcheck: "false", autocomplete: "off",
    on: {
      input: () => {
        clearTimeout(timer);
        timer = window.setTimeout(report, afterMs);
      },
      change: report,
    },
  });
  return input;
}

/** Reads the recording and shows it; says what is wrong if that fails. */
async function startApp() {
  const root = /** @type {HTMLElement} */ (document.getElementById("app"));
  root.hidden = false;
  clear(root, h("p", { class: "message", role: "status" }, "Reading the recording…"));
  try {
    const recording = await Recording.read(new EmbeddedSource());
    const state = new State(recording, { applyFilter, search });
    const app = new App(root, state);
    await pause();
    overview.mount(app.overview, state);
    const names = VIEWS.map((view) => view.name);
    keepLink(state, names, () => app.arrive());
    Object.assign(window, { acpReport: { state, recording } });
    const link = readLink(location.hash);
    await followLink(state, link, names);
    if (link.seq !== null || link.turn !== null) app.arrive();
    await recording.decodeRest();
  } catch (error) {
    clear(root, h("p", { class: "message" }, `The data of this page cannot be shown: ${error instanceof Error ? error.message : error}`));
    throw error;
  }
}

void startApp();

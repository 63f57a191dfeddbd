// Starts the page: reads the recording, lays out tools, overview, views and detail, and joins them
// by the state that they share.
import { EmbeddedSource, pause } from "../data/source.js";
import { Recording } from "../data/recording.js";
import { callsView } from "../cards/calls_view.js";
import { conversationView } from "../conversation/conversation.js";
import { mountDetail } from "../detail/detail.js";
import { listView } from "../list/list_view.js";
import { OverviewStrip } from "../pictures/overview.js";
import { sequenceView } from "../pictures/sequence.js";
import { waterfallView } from "../pictures/waterfall.js";
import { applyFilter, search } from "../search/search.js";
import { button, clear, h } from "./dom.js";
import { keyTable, listenForKeys } from "./keyboard.js";
import { keepLink } from "./link.js";
import { State, messageOf } from "./state.js";
import { tabList } from "./tabs.js";
import { countInWords } from "./words.js";

/**
 * A view of the conversation; it is mounted when it is first chosen.
 * @typedef {object} View
 * @property {string} name
 * @property {string} title
 * @property {string} key
 * @property {(container: HTMLElement, state: State) => MountedView} mount
 *
 * @typedef {object} MountedView
 * @property {(change: Change) => void} update called while the view is seen; for "view" when it comes
 * @property {() => void} [hide]
 * @property {{move: (by: number) => void, focus: () => void}} [list] what the keyboard moves in
 * @property {(most: number) => HTMLElement} [printed] the view on paper; the list is printed without it
 */

/** @type {View[]} */
const VIEWS = [conversationView, listView, sequenceView, waterfallView, callsView];
/** @typedef {import("./state.js").TimeForm} TimeForm */
/** @typedef {import("./state.js").Change | "loaded"} Change */
/** @type {Record<TimeForm, string>} */
const TIME_FORMS = { elapsed: "elapsed time", delta: "time since row above", clock: "clock time" };
/** How many rows are printed. */
const PRINTED = 1000;
/** The texts of recordings with so many rows are read at once, since a print cannot wait for them. */
const READ_AT_ONCE = 8000;
/** As in shell.css: the detail is below the rows. */
const STACKED = "(max-width: 900px)";

class App {
  /** @param {HTMLElement} root @param {State} state */
  constructor(root, state) {
    this.root = root;
    this.state = state;
    /** @type {Map<string, MountedView>} */
    this.mounted = new Map();
    const setFilter = (/** @type {string} */ text) => text !== state.filter && state.setFilter(text);
    const setQuery = (/** @type {string} */ text) => text !== state.query && state.setQuery(text);
    this.filter = field("filter", "e.g. method:prompt or is:failed", setFilter);
    this.search = field("search", "text in any message", setQuery, () => this.next(1));
    this.shownCount = h("output", { class: "count", for: "filter" });
    this.hitCount = h("output", { class: "count", for: "search" });
    this.stepCount = h("span", { class: "count" });
    this.steps = [
      button("↑", () => this.next(-1), { title: "Previous finding, or hit of the search (p)" }),
      button("↓", () => this.next(1), { title: "Next finding, or hit of the search (n)" }),
    ];
    const ids = { tab: "tab-", panel: (/** @type {string} */ name) => `view-${name}` };
    this.tabs = tabList("Views", VIEWS, ids, state.setView);
    this.panels = VIEWS.map(({ name }) =>
      h("div", { class: `view view-${name}`, role: "tabpanel", id: `view-${name}`, "aria-labelledby": `tab-${name}` }));
    this.message = h("p", { class: "message", role: "status", "aria-live": "polite" });
    this.help = h("dialog", { class: "help", "aria-label": "Keys", on: { close: () => clear(this.help) } });
    this.overview = h("div", { class: "overview" });
    this.detail = h("section", { class: "detail", tabindex: -1, "aria-label": "Chosen frame" });
    this.commands = this.makeCommands();
    const onClick = (/** @type {MouseEvent} */ event) => this.onRowClick(event);
    this.paper = h("div", { class: "paper" });
    window.addEventListener("beforeprint", () => clear(this.paper, this.printed()));
    window.addEventListener("afterprint", () => clear(this.paper));
    clear(root, this.paper, this.makeTools(), this.message, this.overview,
      h("div", { class: "panes" }, h("div", { class: "main", on: { click: onClick } }, this.panels), this.detail), this.help);
    mountDetail(this.detail, state);
    state.on("view", () => this.showView());
    state.on("error", () => clear(this.message, state.error));
    for (const change of /** @type {const} */ (["shown", "matched", "row", "error", "times", "turn", "grew"])) {
      state.on(change, () => {
        this.current?.update(change);
        this.showCounts();
      });
    }
    state.recording.onLoaded(() => this.current?.update("loaded"));
    this.hasLetters = h("input", { type: "checkbox", checked: true });
    const isOff = (/** @type {string} */ key) => key.length === 1 && !this.hasLetters.checked;
    listenForKeys(this.commands, (key) => this.help.open || isOff(key));
    this.showView();
    this.showCounts();
  }

  /** The view that is seen. */
  get current() {
    return this.mounted.get(this.state.view);
  }

  makeTools() {
    const options = Object.entries(TIME_FORMS).map(([value, words]) => h("option", { value }, words));
    const setTimes = () => this.state.setTimes(/** @type {TimeForm} */ (times.value));
    const times = h("select", { id: "times", "aria-label": "Times", on: { change: setTimes } }, options);
    return h("div", { class: "tools" },
      this.tabs.element,
      h("label", { class: "field" }, "Filter", this.filter, this.shownCount),
      h("label", { class: "field" }, "Search", this.search, this.hitCount),
      h("span", { class: "steps" }, this.steps[0], this.stepCount, this.steps[1]),
      times,
      button("Keys", () => this.showHelp(), { title: "Keys (?)" }),
    );
  }

  /** @returns {import("./keyboard.js").Command[]} */
  makeCommands() {
    return [
      { keys: ["n"], words: "next finding, or hit of the search", run: () => this.next(1) },
      { keys: ["p"], words: "previous one", run: () => this.next(-1) },
      { keys: ["/"], words: "filter", run: () => this.filter.select() },
      { keys: ["f"], words: "search", run: () => this.search.select() },
      { keys: ["j", "ArrowDown"], words: "next row", run: () => this.move(1) },
      { keys: ["k", "ArrowUp"], words: "previous row", run: () => this.move(-1) },
      { keys: ["[", "]"], words: "the request of an answer, or its answer", run: () => this.goToPair() },
      { keys: ["Enter"], words: "read the chosen frame", run: () => this.detail.focus() },
      ...VIEWS.map(({ key, name, title }) => ({ keys: [key], words: title.toLowerCase(), run: () => this.choose(name) })),
      { keys: ["Escape"], words: "back to the rows", run: () => this.current?.list?.focus() },
      { keys: ["?"], words: "this help", run: () => this.showHelp() },
    ];
  }

  /** @param {string} name of the view that a key has asked for */
  choose(name) {
    this.state.setView(name);
    this.arrive();
  }

  showHelp() {
    const choice = h("p", null, h("label", null, this.hasLetters, " keys of one character work"));
    const close = button("Close", () => this.help.close());
    clear(this.help, h("h2", null, "Keys"), keyTable(this.commands), choice, close);
    this.help.showModal();
  }

  showView() {
    this.tabs.show(this.state.view);
    VIEWS.forEach((view, place) => {
      const isCurrent = view.name === this.state.view;
      this.panels[place].hidden = !isCurrent;
      if (!isCurrent) return this.mounted.get(view.name)?.hide?.();
      this.mount(view, place).update("view");
    });
  }

  /** @param {View} view @param {number} place @returns {MountedView} */
  mount(view, place) {
    const mounted = this.mounted.get(view.name) ?? view.mount(this.panels[place], this.state);
    this.mounted.set(view.name, mounted);
    return mounted;
  }

  /** The rows on paper, as the view shows them or else as a list. */
  printed() {
    const list = this.mount(listView, VIEWS.indexOf(listView));
    if (list !== this.current) list.update("view");
    const view = this.current?.printed ? this.current : list;
    return view.printed?.(PRINTED);
  }

  showCounts() {
    const { state } = this;
    const count = new Intl.NumberFormat("en").format;
    const [all, shown, { length }] = [state.recording.rows, state.shown.length, state.stops];
    const still = state.error ? "still " : "";
    clear(this.shownCount, still, shown === all ? `${count(all)} rows` : `${count(shown)} of ${count(all)}`);
    clear(this.hitCount, state.query === "" ? "" : `${countInWords(state.matched.length, "row")}${state.isSearching ? "…" : ""}`);
    for (const step of this.steps) step.disabled = length === 0;
    const place = state.stops.indexOf(state.row) + 1;
    const noun = state.query === "" ? "finding" : "hit";
    clear(this.stepCount, place ? `${noun} ${count(place)}/${count(length)}` : countInWords(length, noun));
    // A link may have set them.
    if (document.activeElement !== this.filter) this.filter.value = state.filter;
    if (document.activeElement !== this.search) this.search.value = state.query;
  }

  /** @param {1 | -1} step */
  next(step) {
    this.state.selectNext(step);
    this.reveal();
  }

  /** @param {1 | -1} step */
  move(step) {
    if (this.current?.list) this.current.list.move(step);
    else this.state.selectShown(step);
    this.arrive();
  }

  goToPair() {
    const { row, recording } = this.state;
    const pair = row < 0 ? -1 : recording.pair(row);
    if (pair >= 0) this.state.select(pair);
  }

  /** Shows the detail of a row that was clicked, where it is below the rows. @param {MouseEvent} event */
  onRowClick({ target }) {
    const isChosen = target instanceof Element && target.closest("[aria-selected=true]");
    if (isChosen && matchMedia(STACKED).matches) this.detail.scrollIntoView();
  }

  /** Scrolls from the facts at the top of the page to what was chosen. */
  reveal() {
    const { top, bottom } = this.root.getBoundingClientRect();
    if (top > 1 || bottom < innerHeight / 2) this.root.scrollIntoView();
  }

  /** Shows what a link led to, and puts the keyboard there. */
  arrive() {
    this.reveal();
    this.current?.list?.focus();
  }
}

/**
 * A field that reports its text whenever that changes.
 * @param {string} id @param {string} placeholder @param {(text: string) => void} onText
 * @param {() => void} [onEnter]
 */
function field(id, placeholder, onText, onEnter) {
  const keydown = (/** @type {KeyboardEvent} */ { key }) => key === "Enter" && onEnter?.();
  const report = () => onText(input.value);
  const on = { input: report, change: report, keydown };
  const attributes = { type: "search", spellcheck: "false", autocomplete: "off", on };
  const input = h("input", { id, placeholder, ...attributes });
  return input;
}

/** Reads the recording and shows it; says what is wrong if that fails. */
async function startApp() {
  const root = /** @type {HTMLElement} */ (document.getElementById("app"));
  root.classList.add("started");
  clear(root, h("p", { class: "message", role: "status" }, "Reading the recording…"));
  try {
    const recording = await Recording.read(new EmbeddedSource());
    const state = new State(recording, { applyFilter, search });
    state.view = VIEWS[0].name;
    const app = new App(root, state);
    await pause();
    new OverviewStrip(app.overview, state);
    const names = VIEWS.map((view) => view.name);
    await keepLink(state, names, () => app.arrive());
    Object.assign(window, { acpReport: { state, recording } });
    const { rows } = recording;
    if (rows <= READ_AT_ONCE) for (let row = 0; row < rows; row += PRINTED) recording.cellsNow(row);
  } catch (error) {
    clear(root, h("p", { class: "message" }, `The data of this page cannot be shown: ${messageOf(error)}`));
    throw error;
  }
}

void startApp();

// Starts the page: reads the recording, lays out tools, overview, views and detail, and joins them
// by the state that they share.
import { EmbeddedSource, pause } from "../data/source.js";
import { Recording } from "../data/recording.js";
import { CallsView } from "../cards/calls_view.js";
import { ConversationView } from "../conversation/conversation.js";
import { mountDetail } from "../detail/detail.js";
import { ListView } from "../list/list_view.js";
import { OverviewStrip } from "../pictures/overview.js";
import { SequenceView } from "../pictures/sequence.js";
import { WaterfallView } from "../pictures/waterfall.js";
import { misread } from "../filter/absence.js";
import { applyFilter, search } from "../search/search.js";
import { button, clear, div, h, span } from "./dom.js";
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
 * @property {new (container: HTMLElement, state: State) => MountedView} View
 *
 * @typedef {object} MountedView
 * @property {(change: Change) => void} update called while the view is seen; for "view" when it
 * comes
 * @property {() => void} [hide]
 * @property {{move: (by: number) => void, focus: () => void}} list what the keyboard moves in
 * @property {(most: number) => HTMLElement} [printed] the view on paper; the list is in place of it
 */

/** @type {View[]} */
const VIEWS = [
  { name: "conversation", title: "Conversation", key: "c", View: ConversationView },
  { name: "list", title: "List", key: "1", View: ListView },
  { name: "sequence", title: "Sequence", key: "2", View: SequenceView },
  { name: "waterfall", title: "Waterfall", key: "3", View: WaterfallView },
  { name: "calls", title: "Tool calls", key: "4", View: CallsView },
];
/** @typedef {import("./state.js").Change} Change */
/** The changes that views and counts follow. @type {Change[]} */
const FOLLOWED = ["shown", "matched", "row", "error", "times", "turn", "grew", "loaded"];
/** @type {Record<import("./state.js").TimeForm, string>} */
const TIME_FORMS = { elapsed: "elapsed time", delta: "time since row above", clock: "clock time" };
/** How many rows are printed. */
const PRINTED = 1000;
/** The texts of recordings with so many rows are read at once: a print cannot wait for them. */
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
    this.hasLetters = h("input", { type: "checkbox", checked: true });
    this.filter = field("filter", "is:failed", state.setFilter);
    this.search = field("search", "any text", state.setQuery);
    this.search.addEventListener("keydown", ({ key }) => key === "Enter" && this.next(1));
    this.shownCount = h("output", { class: "count", for: "filter" });
    this.hitCount = h("output", { class: "count", for: "search" });
    this.stepCount = span("count");
    this.steps = [
      button("↑", () => this.next(-1), { title: "Previous finding, or hit of the search (p)" }),
      button("↓", () => this.next(1), { title: "Next finding, or hit of the search (n)" }),
    ];
    const panel = (/** @type {string} */ name) => `view-${name}`;
    this.tabs = tabList("Views", VIEWS, { tab: "tab-", panel }, state.setView);
    this.panels = VIEWS.map(({ name }) => h("div", { class: `view ${panel(name)}`,
      role: "tabpanel", id: panel(name), "aria-labelledby": `tab-${name}` }));
    this.message = h("p", { class: "message", role: "status", "aria-live": "polite" });
    const choice = h("label", null, this.hasLetters, " keys of one character work");
    this.help = h("dialog", { class: "help", "aria-label": "Keys" }, h("h2", null, "Keys"),
      keyTable(this.commands), h("p", null, choice), button("Close", () => this.help.close()));
    this.overview = div("overview");
    this.detail = h("section", { class: "detail", tabindex: -1, "aria-label": "Chosen frame" });
    this.paper = div("paper");
    const fit = () =>
      root.style.setProperty("--head", `${window.scrollY > 0 ? 0 : root.offsetTop}px`);
    window.addEventListener("resize", fit);
    fit();
    window.addEventListener("beforeprint", () => clear(this.paper, this.printed()));
    window.addEventListener("afterprint", () => clear(this.paper));
    const click = (/** @type {MouseEvent} */ event) => this.onRowClick(event);
    const main = h("div", { class: "main", on: { click } }, this.panels);
    clear(root, this.paper, this.makeTools(), this.message, this.overview,
      div("panes", main, this.detail), this.help);
    mountDetail(this.detail, state);
    state.on("view", () => this.showView());
    FOLLOWED.forEach((change) => state.on(change, () => this.update(change)));
    const isOff = (/** @type {string} */ key) => key.length === 1 && !this.hasLetters.checked;
    listenForKeys(this.commands, (key) => this.help.open || isOff(key));
    this.showView();
    this.showCounts();
  }

  /** The view that is seen. */
  get current() { return this.mounted.get(this.state.view); }

  makeTools() {
    const change = () => this.state.set("times", times.value);
    const times = h("select", { id: "times", "aria-label": "Times", on: { change } },
      Object.entries(TIME_FORMS).map(([value, words]) => h("option", { value }, words)));
    return div("tools",
      this.tabs.element,
      h("label", { class: "field" }, "Filter", this.filter, this.shownCount),
      h("label", { class: "field" }, "Search", this.search, this.hitCount),
      span("steps", this.steps[0], this.stepCount, this.steps[1]),
      times,
      button("Keys", () => this.help.showModal(), { title: "Keys (?)" }),
    );
  }

  /** @type {import("./keyboard.js").Command[]} */
  commands = [
    { keys: ["n"], words: "next finding, or hit of the search", run: () => this.next(1) },
    { keys: ["p"], words: "previous one", run: () => this.next(-1) },
    { keys: ["/"], words: "filter", run: () => this.filter.select() },
    { keys: ["f"], words: "search", run: () => this.search.select() },
    { keys: ["j", "ArrowDown"], words: "next row", run: () => this.move(1) },
    { keys: ["k", "ArrowUp"], words: "previous row", run: () => this.move(-1) },
    { keys: ["[", "]"], words: "the request of an answer or its answer", run: () => this.toPair() },
    { keys: ["Enter"], words: "read the chosen frame", run: () => this.detail.focus() },
    ...VIEWS.map(({ key, name, title }) =>
      ({ keys: [key], words: title.toLowerCase(), run: () => this.arrive(name) })),
    { keys: ["Escape"], words: "back to the rows", run: () => this.current?.list.focus() },
    { keys: ["?"], words: "this help", run: () => this.help.showModal() },
  ];

  showView() {
    this.tabs.show(this.state.view);
    VIEWS.forEach(({ name }, place) => {
      this.panels[place].hidden = name !== this.state.view;
      if (this.panels[place].hidden) this.mounted.get(name)?.hide?.();
      else this.mount(name).update("view");
    });
  }

  /** @param {string} name of a view */
  mount(name) {
    const place = VIEWS.findIndex((one) => one.name === name);
    const { View } = VIEWS[place];
    const mounted = this.mounted.get(name) ?? new View(this.panels[place], this.state);
    this.mounted.set(name, mounted);
    return mounted;
  }

  /** The rows on paper, as the view shows them or else as a list. */
  printed() {
    const list = this.mount("list");
    if (list !== this.current) list.update("view");
    return (this.current?.printed ? this.current : list).printed?.(PRINTED);
  }

  /** @param {Change} change */
  update(change) {
    this.current?.update(change);
    this.showCounts();
    this.showMessage();
  }

  /** Says what is wrong, or that nothing is shown or found, and offers what leads out of it. */
  showMessage() {
    const { state } = this;
    const { error, filter, range, query, recording } = state;
    const isEmpty = state.shown.length === 0 && recording.rows > 0;
    const isLost = !isEmpty && query && !state.isSearching && state.matched.length === 0;
    const meant = isEmpty ? misread(recording, filter) : null;
    const within = filter ? ` matches the filter “${filter}”` : " is there";
    const offers = [
      isEmpty && `No frame${within}${range ? " in the chosen time" : ""}. ${meant?.words ?? ""}`,
      meant && button(["Search the words: ", h("code", null, meant.term)],
        () => state.setFilter(meant.instead)),
      isEmpty && filter && button("Clear filter", () => state.setFilter("")),
      isEmpty && range && button("Show all of the time", () => state.setRange(null)),
      isLost && `No frame has the text “${query}”.`,
      isLost && button("Clear search", () => state.setQuery("")),
    ];
    this.message.classList.toggle("trouble", error !== "");
    clear(this.message, error || offers);
  }

  showCounts() {
    const { state } = this;
    const [all, shown, { length }] = [state.recording.rows, state.shown.length, state.stops];
    const some = shown < all && `${shown.toLocaleString("en")} of `;
    clear(this.shownCount, state.error && "still ", some, countInWords(all, "frame"));
    const hits = countInWords(state.matched.length, "frame") + (state.isSearching ? "…" : "");
    const hidden = length < state.matched.length && `, ${length.toLocaleString("en")} shown`;
    clear(this.hitCount, state.query && [hits, hidden]);
    for (const step of this.steps) step.disabled = length === 0;
    const place = state.stops.indexOf(state.row) + 1;
    const noun = state.query ? "hit" : "finding";
    const which = `${noun} ${place.toLocaleString("en")}/${length.toLocaleString("en")}`;
    clear(this.stepCount, place ? which : countInWords(length, noun));
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
    this.current?.list.move(step);
    this.arrive();
  }

  /** Goes from a request to its answer, or back. */
  toPair() {
    const { row, recording } = this.state;
    const pair = row < 0 ? -1 : recording.pair(row);
    if (pair >= 0) this.state.select(pair);
  }

  /**
   * Shows the detail of a row that was clicked, where it is below the rows.
   * @param {MouseEvent} event
   */
  onRowClick({ target }) {
    const isChosen = target instanceof Element && target.closest("[aria-selected=true]");
    if (isChosen && matchMedia(STACKED).matches) this.detail.scrollIntoView();
  }

  /** Scrolls from the facts at the top of the page to what was chosen. */
  reveal() {
    const { top, bottom } = this.root.getBoundingClientRect();
    if (top <= 1 && bottom >= innerHeight / 2) return;
    this.root.style.setProperty("--head", "0px");
    this.root.scrollIntoView();
  }

  /** Shows what a link led to, or a view, and puts the keyboard there. @param {string} [view] */
  arrive(view = this.state.view) {
    this.state.setView(view);
    this.reveal();
    this.current?.list.focus();
  }
}

/**
 * A field that reports its text whenever that changes.
 * @param {string} id @param {string} example of a text @param {(text: string) => void} onText
 */
function field(id, example, onText) {
  // A narrow page has no room for labels.
  const placeholder = window.innerWidth > 700 ? example : id;
  const report = () => onText(input.value);
  const input = h("input", { id, placeholder, type: "search", spellcheck: "false",
    autocomplete: "off", on: { input: report, change: report } });
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
    const app = new App(root, state);
    await pause();
    new OverviewStrip(app.overview, state);
    await keepLink(state, VIEWS.map(({ name }) => name), () => app.arrive());
    Object.assign(window, { acpReport: { state, recording } });
    const early = recording.rows <= READ_AT_ONCE ? recording.rows : 0;
    for (let row = 0; row < early; row += PRINTED) recording.cellsNow(row);
  } catch (error) {
    const words = `The data of this page cannot be shown: ${messageOf(error)}`;
    clear(root, h("p", { class: "message" }, words));
    throw error;
  }
}

void startApp();

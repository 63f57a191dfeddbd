// The page of a recording: lays out tools, views and detail, and joins them by the state that they
// share.
import { CallsView } from "../cards/card.js";
import { ConversationView } from "../conversation/conversation.js";
import { mountDetail } from "../detail/detail.js";
import { FilterField } from "../filter/filter_field.js";
import { keepFoundMarked } from "../list/found.js";
import { ListView } from "../list/list_view.js";
import { SequenceView } from "../pictures/sequence.js";
import { WaterfallView } from "../pictures/waterfall.js";
import { OverviewStrip } from "../pictures/overview.js";
import { pause } from "../data/source.js";
import { button, clear, copyOf, countInWords, part, tabList } from "./dom.js";
import { keepLink } from "./link.js";

/**
 * A view of the conversation; it is mounted when it is first chosen.
 * @typedef {object} View
 * @property {string} name
 * @property {string} title
 * @property {string} key
 * @property {new (container: HTMLElement, state: State) => MountedView} View
 *
 * @typedef {object} MountedView
 * @property {(change: Change) => void} update called while the view is visible, and with "view"
 * when it becomes visible
 * @property {import("./virtual_list.js").VirtualList} list in which the keyboard moves
 */

/** @typedef {import("./state.js").State} State */

/** @type {View[]} */
export const VIEWS = [
  { name: "conversation", title: "Conversation", key: "c", View: ConversationView },
  { name: "list", title: "List", key: "1", View: ListView },
  { name: "sequence", title: "Sequence", key: "2", View: SequenceView },
  { name: "waterfall", title: "Waterfall", key: "3", View: WaterfallView },
  { name: "calls", title: "Tool calls", key: "4", View: CallsView },
];
/** @typedef {import("./state.js").Change} Change */
/** The changes after which the views and the counts are updated. @type {Change[]} */
const FOLLOWED = ["shown", "matched", "row", "error", "turn", "grew", "loaded"];

/** For some keys, the key that has the same effect. @type {Record<string, string>} */
const SAME_KEYS = { ArrowDown: "j", ArrowUp: "k", "]": "[" };

export class App {
  /** @param {HTMLElement} root @param {State} state */
  constructor(root, state) {
    this.root = root;
    this.state = state;
    /** @type {Map<string, MountedView>} */
    this.mounted = new Map();
    clear(root, copyOf("app-parts"));
    /** @type {HTMLInputElement} */
    this.filter = part("#filter");
    /** @type {HTMLInputElement} */
    this.search = part("#search");
    this.search.addEventListener("input", () => state.setQuery(this.search.value));
    this.search.addEventListener("keydown", ({ key }) => key === "Enter" && this.next(1));
    /** A searched text. When its first hit is found, this hit is selected. */
    this.awaited = "";
    /** The elements with counts: beside the filter, and between the two buttons that step. */
    this.counts = [...root.querySelectorAll(".count")];
    /** @type {HTMLButtonElement[]} */
    this.steps = [...part(".steps").querySelectorAll("button")];
    this.steps.forEach((step, at) => step.addEventListener("click", () => this.next(at ? 1 : -1)));
    this.tabs = tabList("Views", VIEWS, (one) => `view-${one}`, (one) => state.set("view", one));
    part(".tools").prepend(this.tabs.element);
    /** @type {HTMLElement[]} */
    this.panels = VIEWS.map(({ name }) => part(`#view-${name}`));
    part(".main").addEventListener("click", (/** @type {any} */ { target }) => {
      const isChosen = target.closest("[aria-selected=true]");
      // In shell.css, this is the condition under which the detail is below the rows.
      if (isChosen && matchMedia("(max-width: 900px)").matches) this.detail.scrollIntoView();
    });
    /** @type {HTMLElement} */
    this.message = part(".message");
    /** @type {HTMLElement} */
    this.detail = part(".detail");
    /** @type {HTMLDialogElement} */
    this.help = part(".help");
    part(".help-opener").addEventListener("click", () => this.help.showModal());
    part(".help-closer").addEventListener("click", () => this.help.close());
    /** Ends the app: aborted when another app takes its place. */
    this.life = new AbortController();
    const { signal } = this.life;
    this.fit = () => {
      root.style.setProperty("--top", `${root.offsetTop}px`);
      root.style.setProperty("--head", `${window.scrollY > 0 ? 0 : root.offsetTop}px`);
    };
    window.addEventListener("resize", this.fit, { signal });
    this.fit();
    new FilterField(root, state);
    mountDetail(this.detail, state);
    keepFoundMarked(state, part(".panes"));
    state.on("view", () => this.showView());
    FOLLOWED.forEach((change) => state.on(change, () => this.update(change)));
    /** Whether the keys of one character work. @type {HTMLInputElement} */
    this.letters = part(".help input");
    document.addEventListener("keydown", (event) => this.onKey(event), { signal });
    this.showView();
    this.showCounts();
  }

  /**
   * Draws the strip, follows the address of the page, and keeps the state in it.
   * @param {() => void} onArrival @param {string} [token] of the live window
   */
  async follow(onArrival, token) {
    const { state, state: { recording }, life: { signal } } = this;
    const overview = part(".overview");
    // The rows are drawn first.
    await pause();
    new OverviewStrip(overview, state);
    await keepLink(state, VIEWS.map(({ name }) => name), onArrival, { token, signal });
    if (!signal.aborted) Object.assign(window, { acpReport: { state, recording } });
  }

  /** Stops all that the app does. */
  end() {
    this.life.abort();
    this.state.filtering.abort();
    this.state.searching.abort();
  }

  /** The visible view. */
  get current() { return this.mounted.get(this.state.view); }

  /**
   * The keys of the page, which the help lists, as `KeyboardEvent.key` names them.
   * @type {Record<string, () => void>}
   */
  commands = {
    n: () => this.next(1), p: () => this.next(-1),
    ".": () => this.step(1), ",": () => this.step(-1),
    w: () => this.step(1, "pauses"), W: () => this.step(-1, "pauses"),
    "/": () => this.filter.select(), f: () => this.search.select(),
    j: () => this.move(1), k: () => this.move(-1),
    // From a request to its answer, or back.
    "[": () => {
      const pair = this.state.recording.pair(this.state.row);
      if (pair >= 0) this.state.select(pair);
    },
    Enter: () => this.detail.focus(),
    ...Object.fromEntries(VIEWS.map(({ key, name }) => [key, () => this.arrive(name)])),
    Escape: () => this.current?.list.focus(), "?": () => this.help.showModal(),
  };

  /**
   * Handles a key, unless it is typed into a field or belongs to the browser.
   * @param {KeyboardEvent} event
   */
  onKey(event) {
    const { key, target } = event;
    const isOn = (/** @type {string} */ selector) =>
      target instanceof HTMLElement && target.matches(selector);
    const isTyping = key !== "Escape" && isOn("input, textarea, select, [contenteditable]");
    const isPressing = key === "Enter" && isOn("button, a, summary, [role=tab]");
    const isOff = this.help.open || (key.length === 1 && !this.letters.checked);
    const isModified = event.ctrlKey || event.altKey || event.metaKey;
    const run = this.commands[SAME_KEYS[key] ?? key];
    if (!run || event.defaultPrevented || isModified || isTyping || isPressing || isOff) return;
    event.preventDefault();
    run();
  }

  showView() {
    const { view } = this.state;
    this.tabs.show(view);
    for (const panel of this.panels) panel.hidden = panel.id !== `view-${view}`;
    const place = VIEWS.findIndex(({ name }) => name === view);
    const mounted = this.mounted.get(view) ?? new VIEWS[place].View(this.panels[place], this.state);
    this.mounted.set(view, mounted);
    mounted.update("view");
  }

  /** @param {Change} change */
  update(change) {
    this.current?.update(change);
    if (change === "matched" && this.awaited && this.awaited === this.state.query) this.next(1);
    this.showCounts();
    if (change !== "row" && change !== "loaded") this.showMessage();
  }

  /**
   * Shows a message if there is an error, or if no row is shown or found. The message has buttons
   * that help.
   */
  showMessage() {
    const { state } = this;
    const { error, filter, range, query, recording } = state;
    const isEmpty = state.shown.length === 0 && recording.rows > 0;
    const isLost = !isEmpty && query && !state.isSearching && state.matched.length === 0;
    const within = filter ? ` matches the filter “${filter}”` : " is shown";
    const offers = [
      isEmpty && `No frame${within}${range ? " in the chosen time" : ""}.`,
      isEmpty && filter && button("Clear filter", () => state.setFilter("")),
      isLost && `No frame has the text “${query}”.`,
      isLost && button("Clear search", () => state.setQuery("")),
    ];
    this.message.classList.toggle("trouble", error !== "");
    clear(this.message, error || offers);
  }

  showCounts() {
    const { state } = this;
    const { stops, shown, recording } = state;
    const [ofFilter, ofSteps] = this.counts;
    const [noun, all] = state.query ? ["hit", state.matched] : ["finding", state.problems];
    for (const step of this.steps) step.hidden = stops.length === 0;
    const counts = [stops.indexOf(state.row) + 1, stops.length, shown.length];
    const [place, length, left] = counts.map((count) => count.toLocaleString("en"));
    const some = stops.length < all.length && `${length} of `;
    clear(ofSteps, place === "0" ? [some, countInWords(all.length, noun)]
      : `${noun} ${place} of ${length}`, state.isSearching && "…");
    const whole = recording.rows.toLocaleString("en", { notation: "compact" });
    clear(ofFilter, state.error && "still ", shown.length < recording.rows
      ? `${left} of ${whole}` : countInWords(recording.rows, "frame"));
    // A link may have set the filter and the search.
    [this.filter.value, this.search.value] = [state.filter, state.query];
  }

  /**
   * Selects the next or the previous stop. If the search has no hit yet, the first hit is selected
   * later.
   * @param {1 | -1} step
   */
  next(step) {
    const { state } = this;
    this.awaited = state.isSearching && state.stops.length === 0 ? state.query : "";
    state.selectNext(step);
    this.reveal();
  }

  /**
   * Selects the next or the previous message, or the row after the next or the previous pause.
   * @param {1 | -1} step @param {"shown" | "pauses"} [stops]
   */
  step(step, stops = "shown") {
    this.state.selectNext(step, this.state[stops]);
    this.reveal();
  }

  /** @param {1 | -1} step */
  move(step) {
    this.current?.list.move(step);
    this.arrive();
  }

  /** Scrolls to the selected row, if the facts at the top of the page leave it too little room. */
  reveal() {
    const { top, bottom } = this.root.getBoundingClientRect();
    // If the facts above take at most this part of the window, all tools and rows are in it.
    if (top <= 0.4 * innerHeight && bottom >= innerHeight / 2) return;
    this.root.style.setProperty("--head", "0px");
    this.root.scrollIntoView();
  }

  /** Shows the target of a link, or a view, and moves the focus there. @param {string} [view] */
  arrive(view = this.state.view) {
    this.state.set("view", view);
    this.reveal();
    this.current?.list.focus();
  }
}

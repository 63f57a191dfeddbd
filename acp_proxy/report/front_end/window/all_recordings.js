// The page of all recordings: the list, which follows the directory, filters, and the search in all.
import { button, clear, div, h, span } from "../shell/dom.js";
import { countInWords, messageOf } from "../shell/words.js";
import { AllSearch } from "./all_search.js";
import { Refusal, recordsOf } from "./connection.js";
import { LISTED_FACTS, ListRow } from "./list_row.js";
import { OUTCOMES, PERIODS, agentOf, fragmentOf, inOrder, isChosen, readChoice } from "./listed.js";
import { Task } from "./task.js";

/** The times between two attempts to connect: each is twice as long as the one before. */
const SOONEST_MS = 250;
const LATEST_MS = 4000;
const LISTED_AFTER_MS = 60;
const WRITTEN_AFTER_MS = 250;
const TICK_OF_LIST_MS = 1000;
/** The words "3 min ago" are written again after so many ticks. */
const TICKS_OF_AGE = 20;
/** Two recordings can be compared. */
const COMPARED = 2;
const REFUSED_TOKEN = 401;

export class AllRecordings {
  /** @type {Map<string, ListRow>} */
  rows = new Map();
  /** The ticked rows, in the order in which they were ticked. @type {ListRow[]} */
  ticked = [];
  /** Whether all recordings were read once. */
  isComplete = false;
  timers = { draw: 0, write: 0 };
  ticks = 0;
  choice = readChoice(location.hash);
  words = fieldFor("Filter by prompt, name or project", "Filter: prompt, name, project");
  query = fieldFor("Search in all recordings", "Search in all recordings");
  agents = selectFor("Agent", { "": "any agent" });
  problems = selectFor("Result", OUTCOMES);
  times = selectFor("Time", PERIODS);

  /**
   * @param {import("./connection.js").Connection} connection
   * @param {{root: HTMLElement, head: HTMLElement}} places empty elements
   */
  constructor(connection, { root, head }) {
    this.connection = connection;
    this.task = new Task(connection);
    this.count = h("span", { class: "faint", role: "status" });
    this.message = h("p", { class: "message trouble", role: "alert", hidden: true });
    this.search = new AllSearch(connection, (name) => this.titleOf(name),
      (text) => void this.task.copy(["acp-proxy", "search", "--", text, ...this.directory()]));
    this.comparing = button("", () => this.compare(), { class: "comparing" });
    this.empty = div("empty");
    const titles = LISTED_FACTS.map(([name, title]) =>
      h("span", { role: "columnheader", class: `chat-${name}` }, title));
    const corner = (/** @type {string} */ name, /** @type {string} */ words) =>
      h("span", { role: "columnheader", class: `chat-${name}` }, span("visually-hidden", words));
    this.top = h("div", { class: "chat chats-top", role: "row" },
      corner("box", "Compare"), titles, corner("menu", "Save or copy"));
    this.body = h("div", { role: "rowgroup" });
    this.table = h("div", { role: "table", "aria-label": "Recordings", class: "chats" },
      h("div", { role: "rowgroup" }, this.top), this.body);
    clear(head, h("h1", null, "Recordings ", this.count));
    clear(root, this.message, this.tools(), this.search.element, this.table, this.empty);
    root.classList.add("all");
    window.addEventListener("hashchange", () => this.follow());
    document.addEventListener("keydown", (event) => this.onKey(event));
    setInterval(() => this.tick(), TICK_OF_LIST_MS);
    this.follow();
  }

  tools() {
    this.words.addEventListener("input", () => this.change());
    const selects = [this.agents, this.problems, this.times];
    for (const one of selects) one.addEventListener("change", () => this.change());
    const start = () => {
      this.change();
      void this.search.run(this.choice.q);
    };
    this.query.addEventListener("keydown", ({ key }) => key === "Enter" && start());
    const search = h("span", { class: "field", role: "search" }, this.query,
      button("Search", start));
    return div("tools", span("field", this.words), selects, search, this.comparing, this.task.element);
  }

  /** Reads the stream of entries, and connects again when it breaks. */
  async run() {
    for (let wait = SOONEST_MS; ; wait = Math.min(2 * wait, LATEST_MS)) {
      let problem = "The connection is lost. Trying again…";
      try {
        await this.connection.prove();
        const response = await this.connection.get("/api/recordings", {});
        const seen = new Set();
        let isNew = true;
        for await (const line of recordsOf(response)) {
          wait = SOONEST_MS / 2;
          this.take(line);
          line.recordings.forEach((/** @type {Entry} */ { name }) => seen.add(name));
          if (!line.complete || !isNew) continue;
          isNew = false;
          this.isComplete = true;
          [...this.rows.keys()].filter((name) => !seen.has(name)).forEach((name) => this.drop(name));
        }
      } catch (error) {
        if (!(error instanceof TypeError)) problem = messageOf(error);
        if (error instanceof Refusal && error.status === REFUSED_TOKEN) return this.warn(problem);
      }
      this.warn(problem);
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }

  /** @param {string} problem empty if there is none */
  warn(problem) {
    this.message.textContent = problem;
    this.message.hidden = problem === "";
  }

  /** @param {{recordings: Entry[], removed: string[], unredacted: boolean}} line */
  take({ recordings, removed, unredacted }) {
    const banner = document.getElementById("banner");
    if (banner) banner.hidden = !unredacted;
    this.warn("");
    for (const entry of recordings) {
      const row = this.rows.get(entry.name);
      if (row) row.update(entry);
      else this.rows.set(entry.name, this.rowOf(entry));
    }
    removed.forEach((name) => this.drop(name));
    this.drawLater();
  }

  /** @param {Entry} entry */
  rowOf(entry) {
    return new ListRow(entry, this.connection.token, this.task, (row) => this.onTick(row));
  }

  /** @param {string} name */
  drop(name) {
    this.rows.get(name)?.element.remove();
    this.rows.delete(name);
    this.ticked = this.ticked.filter(({ entry }) => entry.name !== name);
    this.drawLater();
  }

  drawLater() {
    this.timers.draw ||= window.setTimeout(() => this.draw(), LISTED_AFTER_MS);
  }

  /** Puts the rows in order, and shows those that the reader has chosen. */
  draw() {
    this.timers.draw = 0;
    const rows = [...this.rows.values()].sort((a, b) => inOrder(a.entry, b.entry));
    const { activeElement } = document;
    let next = this.body.firstElementChild;
    for (const { element } of rows) {
      if (element === next) next = next.nextElementSibling;
      else this.body.insertBefore(element, next);
    }
    // An element that is moved loses the focus.
    if (activeElement instanceof HTMLElement && this.body.contains(activeElement)) {
      activeElement.focus({ preventScroll: true });
    }
    const now = Date.now();
    let shown = 0;
    for (const { element, entry } of rows) {
      const isShown = isChosen(entry, this.choice, now);
      if (element.hidden === isShown) element.hidden = !isShown;
      shown += Number(isShown);
    }
    const running = rows.filter(({ entry }) => entry.live).length;
    const all = countInWords(rows.length, "recording");
    const counts = [shown === rows.length ? all : `${shown.toLocaleString("en")} of ${all}`,
      running > 0 && `${running} running`, !this.isComplete && "reading…"];
    this.count.textContent = counts.filter(Boolean).join(" · ");
    document.title = `${running > 0 ? `● ${running} running · ` : ""}Recordings`;
    this.table.hidden = shown === 0;
    const hasTokens = rows.some(({ entry }) => entry.tokens_text !== "");
    this.table.classList.toggle("no-tokens", !hasTokens);
    this.drawAgents(rows);
    this.drawEmpty(rows.length, shown);
    this.drawComparing();
  }

  /** @param {ListRow[]} rows */
  drawAgents(rows) {
    const { agent } = this.choice;
    const names = new Set(rows.map(({ entry }) => agentOf(entry)).concat(agent).filter(Boolean));
    const sorted = [...names].sort();
    if (sorted.join("\n") !== [...this.agents.options].slice(1).map(({ value }) => value).join("\n")) {
      const choices = sorted.map((name) => [name, name]);
      clear(this.agents, optionsOf({ "": "any agent", ...Object.fromEntries(choices) }));
    }
    this.agents.value = agent;
  }

  /** @param {number} all @param {number} shown */
  drawEmpty(all, shown) {
    const isFiltered = all > 0;
    const kind = shown > 0 ? "" : isFiltered ? "filtered" : this.isComplete ? "none" : "reading";
    if (this.empty.dataset.kind === kind) return;
    this.empty.dataset.kind = kind;
    const words = ["acp-proxy", "record", "--"];
    const reset = () => this.set({ agent: "", problem: "", since: "", text: "" });
    clear(this.empty,
      kind === "filtered" && h("p", null, "No recording matches the filters. ",
        button("Clear the filters", reset)),
      kind === "none" && h("p", null, "There are no recordings here yet. Put ",
        h("code", null, words.join(" ")), " before the command of your agent, in the settings of ",
        "your editor, and talk to the agent. The chat appears here as soon as it begins. ",
        button("Copy", () => void this.task.copy(words))),
      kind === "none" && h("p", { class: "note" }, "Example: ",
        h("code", null, "acp-proxy record -- AGENT"), ". ",
        h("code", null, "acp-proxy setup"), " finds your editors, and writes their settings."));
  }

  drawComparing() {
    const { length } = this.ticked;
    this.comparing.disabled = length < COMPARED;
    this.comparing.textContent = length < COMPARED ? "Tick two to compare" : "Compare";
  }

  /** @param {ListRow} row */
  onTick(row) {
    this.ticked = this.ticked.filter((one) => one !== row).concat(row.box.checked ? row : []);
    for (const one of this.ticked.splice(0, this.ticked.length - COMPARED)) one.box.checked = false;
    this.drawComparing();
  }

  compare() {
    const entries = this.ticked.map(({ entry }) => entry).sort(inOrder).reverse();
    void this.task.compare(entries.map(({ name }) => name));
  }

  /** Takes what the reader has typed and chosen. */
  change() {
    this.set({ agent: this.agents.value, problem: this.problems.value, since: this.times.value,
      text: this.words.value.trim(), q: this.query.value.trim() });
  }

  /** @param {Partial<import("./listed.js").Choice>} some */
  set(some) {
    this.choice = { ...this.choice, ...some };
    this.fill();
    this.draw();
    const write = () => {
      this.timers.write = 0;
      const fragment = fragmentOf({ token: this.connection.token, ...this.choice });
      history.replaceState(history.state, "", fragment);
    };
    this.timers.write ||= window.setTimeout(write, WRITTEN_AFTER_MS);
  }

  /** Shows what the address says. */
  follow() {
    const before = this.search.text;
    this.set(readChoice(location.hash));
    if (this.choice.q !== before) void this.search.run(this.choice.q);
  }

  /** Writes the choice into the fields. */
  fill() {
    const { agent, problem, since, text, q } = this.choice;
    if (this.words.value.trim() !== text) this.words.value = text;
    if (this.query.value.trim() !== q) this.query.value = q;
    [this.agents.value, this.problems.value, this.times.value] = [agent, problem, since];
  }

  /** @param {string} name */
  titleOf(name) {
    const { prompt } = this.rows.get(name)?.entry ?? {};
    return prompt ? `${name}: ${prompt}` : name;
  }

  /** The directory of the recordings, for a command. */
  directory() {
    const [row] = this.rows.values();
    return row ? [row.entry.path.replace(/[/][^/]*$/, "") || "/"] : [];
  }

  tick() {
    if (document.hidden) return;
    const now = Date.now();
    const isEvery = this.ticks++ % TICKS_OF_AGE === 0;
    for (const row of this.rows.values()) if (isEvery || row.entry.live) row.keepTime(now);
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const { key, target } = event;
    const isTyping = target instanceof HTMLElement && target.matches("input, select, textarea");
    if (key === "Escape" && !this.search.element.hidden) {
      if (this.search.stopper.hidden) {
        this.search.clear();
        this.set({ q: "" });
      } else this.search.stop();
    } else if (event.ctrlKey || event.metaKey || event.altKey) return;
    else if (isTyping) return;
    else if (key === "/") this.words.select();
    else if (key === "f") this.query.select();
    else if (key in LINK_STEPS) this.step(LINK_STEPS[key]);
    else return;
    event.preventDefault();
  }

  /** Moves the focus to the next or the previous link. @param {number} by */
  step(by) {
    const links = [...document.querySelectorAll(".hits:not([hidden]) .hit, .chat:not([hidden]) a")];
    const at = links.findIndex((link) => link === document.activeElement);
    const next = links[at < 0 ? 0 : Math.min(Math.max(at + by, 0), links.length - 1)];
    if (next instanceof HTMLElement) next.focus();
  }
}

/** @type {Record<string, number>} */
const LINK_STEPS = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 };

/** @param {string} label @param {string} hint */
const fieldFor = (label, hint) => h("input", { type: "search", "aria-label": label,
  placeholder: hint, spellcheck: "false", autocomplete: "off" });

/** @param {string} label @param {Record<string, string>} choices */
const selectFor = (label, choices) => h("select", { "aria-label": label }, optionsOf(choices));

/** @param {Record<string, string>} choices */
const optionsOf = (choices) =>
  Object.entries(choices).map(([value, words]) => h("option", { value }, words));

/** @typedef {import("./listed.js").Entry} Entry */

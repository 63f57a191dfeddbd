// The page of all recordings: the list, which follows the directory, filters, and the search in
// all, whose hits come one by one, and are grouped by recording.
import { clear, copyOf, countInWords, h, part, secondsInWords, span } from "../shell/dom.js";
import { agentOf, fragmentOf, inOrder, isChosen, ListRow, pageOf, readChoice } from "./listed.js";
import { Task } from "./task.js";
import { endOf, recordsOf } from "./connection.js";

/** The search ends after this many hits; a reader needs other words then. */
const MOST_HITS = 1000;

/**
 * @typedef {object} Hit
 * @property {string} path of the recording
 * @property {number} seq
 * @property {number | null} t_ns
 * @property {string | null} stream
 * @property {string} kind
 * @property {string | null} method
 * @property {string | null} pointer to the text with the match
 * @property {string} before
 * @property {string} match
 * @property {string} after
 */

export class AllRecordings {
  /** @type {Map<string, ListRow>} */
  rows = new Map();
  /** The names of rows that have not come again since the connection was lost. */
  old = new Set();
  /** The ticked rows, in the order in which they were ticked. @type {ListRow[]} */
  ticked = [];
  /** Whether all recordings were read once. */
  isComplete = false;
  drawing = 0;
  /** The names in the field with the agents, one in a line. */
  agents = "";
  choice = readChoice("");
  /** Aborted to end the search. */
  searching = new AbortController();
  searched = "";
  hits = 0;
  /** For each recording with hits, the element for them. @type {Map<string, HTMLElement>} */
  groups = new Map();

  /** @param {import("./connection.js").Connection} connection */
  constructor(connection) {
    this.connection = connection;
    this.root = part("#app");
    clear(this.root, copyOf("list-parts"));
    this.root.classList.add("all");
    this.count = h("span", { class: "faint", role: "status" });
    clear(part("#head > div"), h("h1", null, "Recordings ", this.count));
    this.body = part(".chats-body");
    this.comparing = part(".comparing");
    const form = part("form.tools");
    /** The fields, by their names. */
    this.fields = form.elements;
    const task = (this.task = new Task(connection));
    this.stopper = part(".stopping");
    this.stopper.onclick = () => this.searching.abort();
    part(".closing").onclick = () => this.ask("");
    form.oninput = () => this.set(Object.fromEntries(new FormData(form)));
    form.onsubmit = () => this.ask(this.choice.q);
    this.comparing.onclick = () => task.compare(
      this.ticked.map(({ entry }) => entry).sort(inOrder).reverse().map(({ name }) => name));
    part(".resetting").onclick = () => this.set({ ...readChoice(""), q: this.choice.q });
    part(".copying").onclick = () => task.copy(["acp-proxy", "record", "--"]);
    part(".copying-search").onclick = () => task.copy(["acp-proxy", "search", "--",
      this.searched, ...[...this.rows.values()].slice(0, 1).map((row) => row.directory)]);
    window.addEventListener("hashchange", () => this.follow());
    document.addEventListener("keydown", (event) => this.onKey(event));
    setInterval(() => document.hidden || this.rows.forEach((row) => row.keepTime()), 1000);
    this.follow();
  }

  /** Reads the stream of entries. */
  run() {
    return this.connection.follow("/api/recordings", () => ({}), (line) => this.take(line),
      (problem) => {
        clear(part(".message"), problem);
        this.old = new Set(this.rows.keys());
      });
  }

  /**
   * @param {{recordings: Entry[], removed: string[], complete: boolean, unredacted: boolean}} line
   */
  take({ recordings, removed, complete, unredacted }) {
    part("#banner").hidden = !unredacted;
    clear(part(".message"));
    for (const entry of recordings) {
      this.old.delete(entry.name);
      const row = this.rows.get(entry.name)
        ?? new ListRow(entry.name, this.connection.token, this.task, this.onTick);
      row.update(entry);
      this.rows.set(entry.name, row);
    }
    this.isComplete ||= complete;
    for (const name of [...removed, ...(complete ? this.old : [])]) {
      this.rows.get(name)?.element.remove();
      this.rows.delete(name);
    }
    this.drawing ||= window.setTimeout(() => this.draw(), 60);
  }

  /** Puts the rows in order, and shows those that the reader has chosen. */
  draw() {
    this.drawing = 0;
    const rows = [...this.rows.values()].sort((a, b) => inOrder(a.entry, b.entry));
    const active = /** @type {HTMLElement | null} */ (document.activeElement);
    let next = this.body.firstElementChild;
    for (const { element, entry } of rows) {
      if (element === next) next = next.nextElementSibling;
      else this.body.insertBefore(element, next);
      element.toggleAttribute("hidden", !isChosen(entry, this.choice, Date.now()));
    }
    // An element that is moved loses the focus.
    active?.focus({ preventScroll: true });
    const shown = rows.filter(({ element }) => !element.hidden).length;
    const running = rows.filter(({ entry }) => entry.live).length;
    const all = `${rows.length.toLocaleString("en")} in all`;
    const live = running > 0 && `${running} running`;
    clear(this.count, [shown === rows.length ? all : `${shown.toLocaleString("en")} of ${all}`,
      live, !this.isComplete && "reading…"].filter(Boolean).join(" · "));
    document.title = [live && `● ${live}`, "Recordings"].filter(Boolean).join(" · ");
    this.root.dataset.shown = shown > 0 ? "some"
      : rows.length > 0 ? "filtered" : this.isComplete ? "none" : "";
    this.fill(new Set(rows.map(({ entry }) => agentOf(entry)).concat(this.choice.agent)));
    this.onTick();
  }

  /** Takes the tick of a row, and allows to compare if there are two. @param {ListRow} [changed] */
  onTick = (changed) => {
    const all = new Set([...this.ticked, ...(changed ? [changed] : [])]);
    this.ticked = [...all].filter(({ box }) => box.checked && box.isConnected);
    for (const { box } of this.ticked.splice(0, this.ticked.length - 2)) box.checked = false;
    this.comparing.disabled = this.ticked.length < 2;
    clear(this.comparing, this.comparing.disabled ? "Tick two to compare" : "Compare");
  };

  /** @param {Partial<import("./listed.js").Choice>} some */
  set(some) {
    this.choice = { ...this.choice, ...some };
    this.draw();
    const fragment = fragmentOf({ token: this.connection.token, ...this.choice });
    history.replaceState(history.state, "", fragment);
  }

  /** Searches in all recordings. @param {string} q empty to close the hits */
  ask(q) {
    this.set({ q });
    void this.search(q);
  }

  /** Shows what the address says. */
  follow() {
    const choice = readChoice(location.hash);
    this.set(choice);
    if (choice.q !== this.searched) this.ask(choice.q);
  }

  /** Writes the choice into the fields. @param {Set<string>} agents to choose from */
  fill(agents) {
    const { agent } = this.fields;
    const known = [...agents].filter(Boolean).sort();
    if (known.join("\n") !== this.agents) {
      this.agents = known.join("\n");
      clear(agent, agent.children[0], known.map((value) => h("option", { value }, value)));
    }
    for (const [name, value] of Object.entries(this.choice)) {
      if (this.fields[name].value !== value) this.fields[name].value = value;
    }
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const { key, target, ctrlKey, metaKey, altKey } = event;
    const isTyping = target instanceof HTMLElement && target.matches("input[type=search], select");
    // This key stops the search if it runs, and otherwise closes its hits.
    const ending = part(".hits:not([hidden]) :is(.stopping, .closing):not([hidden])");
    if (key === "Escape" && ending) ending.click();
    else if (isTyping || ctrlKey || metaKey || altKey) return;
    else if (key === "/") this.fields.text.focus();
    else if (key === "f") this.fields.q.focus();
    else if (key === "ArrowDown" || key === "ArrowUp") {
      const seen = ".hits:not([hidden]) .hit, .chat:not([hidden]) a";
      const links = /** @type {any[]} */ ([...document.querySelectorAll(seen)]);
      links[links.indexOf(document.activeElement) + (key === "ArrowDown" ? 1 : -1)]?.focus();
    }
    else return;
    event.preventDefault();
  }

  /** Ends the search, and searches for another text, if there is one. @param {string} text */
  async search(text) {
    this.searching.abort();
    const { signal } = (this.searching = new AbortController());
    Object.assign(this, { searched: text, hits: 0, groups: new Map() });
    clear(part(".hits-list"));
    part(".hits").hidden = text === "";
    if (text === "") return;
    this.stopper.hidden = false;
    this.say("searching… ");
    let end = "";
    try {
      const response = await this.connection.ask("/api/search", { q: text }, signal);
      for await (const hit of recordsOf(response)) {
        if (signal.aborted || this.hits === MOST_HITS) break;
        this.add(hit);
        this.say("searching… ");
      }
      if (this.hits === MOST_HITS) end = "; there may be more";
    } catch (error) {
      end = `; ${endOf(error)}`;
    }
    if (signal !== this.searching.signal) return;
    this.stopper.hidden = true;
    this.say("", signal.aborted ? "; stopped" : end);
  }

  /** @param {string} before @param {string} [after] */
  say(before, after = "") {
    const where = this.hits > 0 ? ` in ${countInWords(this.groups.size, "recording")}` : "";
    clear(part(".hits-top > [role=status]"), before, countInWords(this.hits, "hit"), where, after);
  }

  /** @param {Hit} hit */
  add({ path, seq, t_ns, stream, method, kind, pointer, before, match, after }) {
    const name = path.slice(path.lastIndexOf("/") + 1);
    const known = this.groups.get(name);
    const group = known ?? h("ol", null);
    const { prompt = "" } = this.rows.get(name)?.entry ?? {};
    const title = h("b", null, h("bdi", null, name.replace(/\.db$/, "")));
    if (!known) part(".hits-list").append(h("h2", null, title, h("bdi", null, prompt)), group);
    this.groups.set(name, group);
    this.hits += 1;
    const link = h("a", { class: "hit" },
      span("hit-place", `#${seq} `, t_ns !== null && secondsInWords(t_ns, "", " s")),
      // The last name in the pointer says what was found, such as the title of a call.
      span("hit-method", [method ?? kind, pointer?.split("/").pop()].filter(Boolean).join(" · ")),
      span(stream ?? "", before.slice(-60), h("mark", null, match), after));
    link.href = pageOf(this.connection.token, name, { seq, q: this.searched });
    group.append(h("li", null, link));
  }
}

/** @typedef {import("./listed.js").Entry} Entry */

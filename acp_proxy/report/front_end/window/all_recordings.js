// The page of all recordings: the list, which follows the directory, filters, and the search in all.
import { clear, h } from "../shell/dom.js";
import { countInWords, messageOf } from "../shell/words.js";
import { AllSearch } from "./all_search.js";
import { Refusal, recordsOf } from "./connection.js";
import { ListRow } from "./list_row.js";
import { agentOf, fragmentOf, inOrder, isChosen, readChoice } from "./listed.js";
import { Task } from "./task.js";

/** The times between two attempts to connect: each is twice as long as the one before. */
const SOONEST_MS = 250;
const LATEST_MS = 4000;
/** Changes are drawn, and the address is written, this long after the first of them. */
const LISTED_AFTER_MS = 60;
const WRITTEN_AFTER_MS = 250;
const TICK_OF_LIST_MS = 1000;
/** The words "3 min ago" are written again after so many ticks. */
const TICKS_OF_AGE = 20;
/** Two recordings can be compared. */
const COMPARED = 2;
const REFUSED_TOKEN = 401;
const NO_FILTERS = { agent: "", problem: "", since: "", text: "" };
/** @type {Record<string, number>} */
const LINK_STEPS = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 };

export class AllRecordings {
  /** @type {Map<string, ListRow>} */
  rows = new Map();
  /** The ticked rows, in the order in which they were ticked. @type {ListRow[]} */
  ticked = [];
  /** Whether all recordings were read once. */
  isComplete = false;
  drawing = 0;
  writing = 0;
  ticks = 0;
  /** The names in the field with the agents, one in a line. */
  agents = "";
  choice = readChoice("");

  /**
   * @param {import("./connection.js").Connection} connection
   * @param {{root: HTMLElement, head: HTMLElement}} places empty elements
   */
  constructor(connection, { root, head }) {
    const parts = /** @type {HTMLTemplateElement} */ (document.getElementById("list-parts"));
    clear(root, parts.content.cloneNode(true));
    root.classList.add("all");
    /** @type {(selector: string) => any} */
    const part = (selector) => root.querySelector(selector);
    /** The fields, by their names. @type {Record<string, HTMLInputElement | HTMLSelectElement>} */
    this.fields = {};
    root.querySelectorAll("input, select").forEach((/** @type {any} */ field) => {
      this.fields[field.name] = field;
      field.oninput = () => this.change();
    });
    this.connection = connection;
    const task = (this.task = new Task(connection, part(".task")));
    this.search = new AllSearch(connection, part(".hits"), (name) => this.titleOf(name),
      (text) => void task.copy(["acp-proxy", "search", "--", text, ...this.directory()]));
    this.search.onClose = () => this.set({ q: "" });
    this.count = h("span", { class: "faint", role: "status" });
    clear(head, h("h1", null, "Recordings ", this.count));
    this.message = part(".message");
    this.comparing = part(".comparing");
    this.table = part(".chats");
    this.body = part(".chats-body");
    this.empty = ["filtered", "none"].map((kind) => part(`[data-kind="${kind}"]`));
    const [reset, copy] = this.empty.map((element) => element.querySelector("button"));
    reset.onclick = () => this.set(NO_FILTERS);
    copy.onclick = () => task.copy(["acp-proxy", "record", "--"]);
    this.comparing.onclick = () => task.compare(
      this.ticked.map(({ entry }) => entry).sort(inOrder).reverse().map(({ name }) => name));
    const start = () => this.search.run(this.choice.q);
    part(".searching").onclick = start;
    this.fields.q.addEventListener("keydown", (event) => {
      if (/** @type {KeyboardEvent} */ (event).key === "Enter") void start();
    });
    window.addEventListener("hashchange", () => this.follow());
    document.addEventListener("keydown", (event) => this.onKey(event));
    setInterval(() => this.tick(), TICK_OF_LIST_MS);
    this.follow();
  }

  /** Reads the stream of entries, and connects again when it breaks. */
  async run() {
    for (let wait = SOONEST_MS; ; wait = Math.min(2 * wait, LATEST_MS)) {
      let problem = "The connection is lost. Trying again…";
      try {
        await this.connection.prove();
        /** The rows of an earlier connection. */
        const old = new Set(this.rows.keys());
        for await (const line of recordsOf(await this.connection.get("/api/recordings", {}))) {
          wait = SOONEST_MS / 2;
          this.take(line);
          for (const { name } of line.recordings) old.delete(name);
          this.isComplete ||= line.complete;
          if (line.complete) old.forEach((name) => this.drop(name));
        }
      } catch (error) {
        if (!(error instanceof TypeError)) problem = messageOf(error);
        if (error instanceof Refusal && error.status === REFUSED_TOKEN) wait = Infinity;
      }
      clear(this.message, problem);
      if (wait === Infinity) return;
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }

  /** @param {{recordings: Entry[], removed: string[], unredacted: boolean}} line */
  take({ recordings, removed, unredacted }) {
    document.getElementById("banner")?.toggleAttribute("hidden", !unredacted);
    clear(this.message);
    for (const entry of recordings) {
      const row = this.rows.get(entry.name);
      if (row) row.update(entry);
      else {
        const made = new ListRow(entry, this.connection.token, this.task, (one) => this.onTick(one));
        this.rows.set(entry.name, made);
      }
    }
    removed.forEach((name) => this.drop(name));
    this.drawing ||= window.setTimeout(() => this.draw(), LISTED_AFTER_MS);
  }

  /** @param {string} name */
  drop(name) {
    this.rows.get(name)?.element.remove();
    this.rows.delete(name);
    this.ticked = this.ticked.filter(({ entry }) => entry.name !== name);
  }

  /** Puts the rows in order, and shows those that the reader has chosen. */
  draw() {
    this.drawing = 0;
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
    for (const { element, entry } of rows) {
      const isHidden = !isChosen(entry, this.choice, now);
      if (element.hidden !== isHidden) element.hidden = isHidden;
    }
    const shown = rows.filter(({ element }) => !element.hidden).length;
    const running = rows.filter(({ entry }) => entry.live).length;
    const all = countInWords(rows.length, "recording");
    const live = running > 0 && `${running} running`;
    clear(this.count, [shown === rows.length ? all : `${shown.toLocaleString("en")} of ${all}`,
      live, !this.isComplete && "reading…"].filter(Boolean).join(" · "));
    document.title = [live && `● ${live}`, "Recordings"].filter(Boolean).join(" · ");
    const hasTokens = rows.some(({ entry }) => entry.tokens_text !== "");
    this.table.classList.toggle("no-tokens", !hasTokens);
    this.table.hidden = shown === 0;
    this.empty.forEach((element, at) => (element.hidden =
      shown > 0 || (rows.length === 0) !== (at > 0) || (at > 0 && !this.isComplete)));
    this.fill(new Set(rows.map(({ entry }) => agentOf(entry)).concat(this.choice.agent)));
    this.onTick();
  }

  /** Takes the tick of a row, and allows to compare if there are two. @param {ListRow} [row] */
  onTick(row) {
    if (row) this.ticked = this.ticked.filter((one) => one !== row).concat(row.box.checked ? row : []);
    for (const one of this.ticked.splice(0, this.ticked.length - COMPARED)) one.box.checked = false;
    this.comparing.disabled = this.ticked.length < COMPARED;
    clear(this.comparing, this.comparing.disabled ? "Tick two to compare" : "Compare");
  }

  /** Takes what the reader has typed and chosen. */
  change() {
    const values = Object.entries(this.fields).map(([name, { value }]) => [name, value.trim()]);
    this.set(Object.fromEntries(values));
  }

  /** @param {Partial<import("./listed.js").Choice>} some */
  set(some) {
    this.choice = { ...this.choice, ...some };
    this.draw();
    this.writing ||= window.setTimeout(() => {
      this.writing = 0;
      const fragment = fragmentOf({ token: this.connection.token, ...this.choice });
      history.replaceState(history.state, "", fragment);
    }, WRITTEN_AFTER_MS);
  }

  /** Shows what the address says. */
  follow() {
    this.set(readChoice(location.hash));
    const { q } = this.choice;
    if (q !== this.search.text) void this.search.run(q);
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
      const field = this.fields[name];
      if (field.value.trim() !== value) field.value = value;
    }
  }

  /** @param {string} name */
  titleOf = (name) => [name, this.rows.get(name)?.entry.prompt].filter(Boolean).join(": ");

  /** The directory of the recordings, for a command. */
  directory() {
    const [row] = this.rows.values();
    return row ? [row.entry.path.replace(/[/][^/]*$/, "") || "/"] : [];
  }

  tick() {
    if (document.hidden) return;
    const isEvery = this.ticks++ % TICKS_OF_AGE === 0;
    for (const row of this.rows.values()) if (isEvery || row.entry.live) row.keepTime(Date.now());
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const { key, target, ctrlKey, metaKey, altKey } = event;
    const isTyping = target instanceof HTMLElement && target.matches("input[type=search], select");
    if (key === "Escape" && !this.search.element.hidden) this.search.leave();
    else if (isTyping || ctrlKey || metaKey || altKey) return;
    else if (key === "/") this.fields.text.focus();
    else if (key === "f") this.fields.q.focus();
    else if (key in LINK_STEPS) this.step(LINK_STEPS[key]);
    else return;
    event.preventDefault();
  }

  /** Moves the focus to the next or the previous link. @param {number} by */
  step(by) {
    const seen = ".hits:not([hidden]) .hit, .chat:not([hidden]) a";
    const links = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(seen)]);
    const at = links.findIndex((link) => link === document.activeElement);
    links[at < 0 ? 0 : Math.min(Math.max(at + by, 0), links.length - 1)]?.focus();
  }
}

/** @typedef {import("./listed.js").Entry} Entry */

// One recording in the list of all: its elements stay, and only what has changed is written.
import { clear, copyOf, h, setAttribute, span } from "../shell/dom.js";
import { dayOf, pageOf, timeAgo } from "./listed.js";
import { waitInWords } from "./waits_bar.js";

/** @type {("agent" | "client" | "project" | "turns" | "took" | "tokens_text")[]} */
const TEXT_COLUMNS = ["agent", "client", "project", "turns", "took", "tokens_text"];

export class ListRow {
  entry = /** @type {Entry} */ ({});

  /**
   * @param {string} name @param {string} token @param {import("./task.js").Task} task
   * @param {(row: ListRow) => void} tick called when the row was ticked or unticked
   */
  constructor(name, token, task, tick) {
    this.element = copyOf("chat-parts").firstElementChild;
    this.box = this.element.querySelector("input");
    this.link = this.element.querySelector("a");
    this.words = this.element.querySelector(".words");
    setAttribute(this.box, "aria-label", `Choose ${name} to compare`);
    this.box.onchange = () => tick(this);
    this.link.href = pageOf(token, name);
    /** The elements of the cells, by the names of their columns. @type {Record<string, Element>} */
    this.cells = {};
    for (const cell of this.element.children) this.cells[cell.className.slice(5)] = cell;
    this.cells.menu.append(task.menu(`Save or copy ${name}`, () => this.entry));
  }

  /** The directory of the recording, for a command. */
  get directory() { return this.entry.path.replace(/[/][^/]*$/, "") || "/"; }

  /** @param {Entry} entry */
  update(entry) {
    this.entry = entry;
    const { name, live, severity, result, prompt, problem, findings, started_at } = entry;
    Object.assign(this.element.dataset, { live, severity });
    clear(this.words, live && "running: ", result);
    clear(this.link, span(prompt ? "" : "faint", h("bdi", null, prompt || name)));
    // The link covers the row, so its title has what the columns cut.
    const why = (findings ?? []).map(({ text }) => text);
    const clock = started_at && new Date(started_at).toLocaleString("sv");
    const full = [name, clock, entry.note, entry.agent, entry.client, entry.recording?.cwd,
      problem, ...why];
    setAttribute(this.link, "title", full.filter(Boolean).join("\n"));
    for (const column of TEXT_COLUMNS) {
      const text = entry[column];
      clear(this.cells[column], text ? h("bdi", null, text) : "");
    }
    this.keepTime();
  }

  /** Writes the times that depend on the present. */
  keepTime() {
    const { live, started_at, is_imported } = this.entry;
    if (started_at === "") return;
    const began = new Date(started_at);
    const past = Date.now() - began.getTime();
    const words = `${is_imported ? "imported " : ""}${timeAgo(past) || dayOf(began)}`;
    if (this.cells.when.textContent !== words) clear(this.cells.when, words);
    if (live) clear(this.cells.took, waitInWords(past * 1e6));
  }
}

/** @typedef {import("./listed.js").Entry} Entry */

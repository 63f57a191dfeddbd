// One recording in the list of all: its elements stay, and only what has changed is written.
import { clear, h, setAttribute, sign, span } from "../shell/dom.js";
import { dayOf, pageOf, timeAgo } from "./listed.js";
import { waitInWords } from "./waits_bar.js";

/** The columns with recorded facts, and their titles. @type {[string, string][]} */
export const LISTED_FACTS = [
  ["result", "What happened"], ["prompt", "Prompt"], ["agent", "Agent"], ["client", "Client"],
  ["project", "Project"], ["turns", "Turns"], ["took", "Took"], ["tokens", "Tokens"], ["when", "When"],
];
/** The sign and the words for a severity. @type {Record<string, [string, string, string]>} */
const SEVERITY_SIGNS = { error: ["trouble", "✗", "failed"], warning: ["caution", "!", "with a warning"] };

export class ListRow {
  /**
   * @param {Entry} entry @param {string} token @param {import("./task.js").Task} task
   * @param {(row: ListRow) => void} tick called when the row was ticked or unticked
   */
  constructor(entry, token, task, tick) {
    const { name } = entry;
    this.entry = entry;
    this.box = h("input", { type: "checkbox", "aria-label": `Choose ${name} to compare`,
      on: { change: () => tick(this) } });
    this.link = h("a", { class: "chat-link" });
    this.link.href = pageOf(token, name);
    /** @type {Record<string, HTMLElement>} */
    this.cells = Object.fromEntries(LISTED_FACTS.map(([column]) =>
      [column, h("span", { role: "cell", class: `chat-${column}` })]));
    const menu = task.menu(`Save or copy ${name}`, () => this.entry);
    this.element = h("div", { role: "row", class: "chat" },
      h("span", { role: "cell", class: "chat-box" }, h("label", null, this.box)),
      Object.values(this.cells), h("span", { role: "cell", class: "chat-menu" }, menu));
    this.cells.prompt.append(this.link);
    this.update(entry);
  }

  /** @param {Entry} entry */
  update(entry) {
    this.entry = entry;
    const { name, live, severity, result, prompt, problem, findings, note } = entry;
    const { agent, client, project, turns = 0, took, tokens_text: tokens } = entry;
    const mark = SEVERITY_SIGNS[severity];
    const isBad = severity !== "";
    clear(this.cells.result,
      live && sign(`mark ${isBad ? "" : "good"}`, "●", "running"),
      mark ? sign(...mark) : !live && span(""), " ",
      span(mark?.[0] ?? (live ? "good" : "faint"), live ? `running: ${result}` : result));
    // The link covers the row, so its title has what the columns cut.
    const why = (findings ?? []).map(({ text }) => text);
    const clock = entry.started_at && new Date(entry.started_at).toLocaleString();
    const full = [name, clock, note, agent, client, entry.recording?.cwd, problem, ...why];
    clear(this.link, prompt ? h("bdi", null, prompt) : span("faint", h("bdi", null, name)));
    setAttribute(this.link, "title", full.filter(Boolean).join("\n"));
    for (const [column, text] of Object.entries({ agent, client, project, took, tokens })) {
      clear(this.cells[column], h("bdi", null, text));
    }
    this.cells.turns.textContent = turns > 0 ? String(turns) : "";
    this.keepTime(Date.now());
  }

  /** Writes the times that depend on the present. @param {number} now since 1970 */
  keepTime(now) {
    const { live, started_at, is_imported } = this.entry;
    if (started_at === "") return;
    const began = new Date(started_at);
    const past = now - began.getTime();
    const words = `${is_imported ? "imported " : ""}${timeAgo(past) || dayOf(began)}`;
    const { when, took } = this.cells;
    if (when.textContent !== words) clear(when, h("time", { datetime: started_at }, words));
    if (live) took.textContent = waitInWords(past * 1e6);
  }
}

/** @typedef {import("./listed.js").Entry} Entry */

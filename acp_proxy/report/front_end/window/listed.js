// The recordings of the list: their order, the filters, links and commands, and the elements of
// one recording, which stay; only what has changed is written.
import { linkOf } from "../shell/link.js";
import { clear, copyOf, h, setAttribute, shellWord, span, visibleText } from "../shell/dom.js";
import { waitInWords } from "./waits_bar.js";

/**
 * @typedef {object} Entry a recording, as the server describes it
 * @property {string} name of its file, by which the server knows it
 * @property {string} path
 * @property {any} recording its row; null if it cannot be read
 * @property {boolean} live
 * @property {string | null} problem
 * @property {any[] | null} findings
 * @property {string} result what happened, in words
 * @property {"error" | "warning" | ""} severity
 * @property {string} agent
 * @property {string} client
 * @property {string} project
 * @property {string} prompt
 * @property {number} [turns]
 * @property {string} took
 * @property {string} tokens_text
 * @property {string} started_at
 * @property {boolean} [is_imported] whether only the time of its import is known
 * @property {string} note
 *
 * @typedef {{agent: string, problem: string, since: string, text: string, q: string}} Choice what
 * the reader has chosen, by the names of the fields; an empty text is no choice. `q` is searched
 * for in all recordings.
 */

const DAY_MS = 86_400_000;
/** @type {[number, string][]} */
const UNITS = [[DAY_MS, "d"], [3_600_000, "h"], [60_000, "min"]];
const CHOICES = ["text", "agent", "problem", "since", "q"];

/**
 * Running ones first, then the newest, and unreadable ones last.
 * @param {Entry} a @param {Entry} b
 */
export function inOrder(a, b) {
  if (a.live !== b.live) return a.live ? -1 : 1;
  if (a.started_at !== b.started_at) return a.started_at > b.started_at ? -1 : 1;
  return a.name < b.name ? -1 : 1;
}

/** The name of an agent, without its version. @param {Entry} entry */
export const agentOf = ({ agent, recording }) => recording?.agent_name || agent;

/** A value of the field with the results. @param {Entry} entry */
const problemOf = ({ live, severity }) =>
  severity === "error" ? "failed" : severity === "warning" ? "warned" : live ? "" : "fine";

/**
 * Whether a recording is one of those that the reader has chosen.
 * @param {Entry} entry @param {Choice} choice @param {number} now in milliseconds since 1970
 */
export function isChosen(entry, { agent, problem, since, text }, now) {
  const start = { today: new Date(now).setHours(0, 0, 0, 0), week: now - 7 * DAY_MS }[since];
  if (start !== undefined && !(Date.parse(entry.started_at) >= start)) return false;
  if (agent !== "" && agentOf(entry) !== agent) return false;
  if (problem === "running" ? !entry.live : problem && problemOf(entry) !== problem) return false;
  const { prompt, name, project, note, recording } = entry;
  const searched = [prompt, name, recording?.name, project, note].join("\n").toLowerCase();
  return text.toLowerCase().split(/\s+/).every((word) => searched.includes(word));
}

/** How long ago a time was, as `acp-proxy list` says it. @param {number} past in milliseconds */
export function timeAgo(past) {
  const [size, unit] = UNITS.find(([ms]) => past >= ms) ?? [];
  if (!(past >= 0 && past < 7 * DAY_MS)) return "";
  return size ? `${Math.floor(past / size)} ${unit} ago` : "just now";
}

/**
 * A time in the reader's zone: 06-15 14:05 in this year, and 2025-06-15 in another.
 * @param {Date} time
 */
export const dateOf = (time) => time.getFullYear() === new Date().getFullYear()
  ? time.toLocaleString("sv").slice(5, 16) : time.toLocaleDateString("sv");

/** @param {string} hash @returns {Choice} */
export function readChoice(hash) {
  const values = new URLSearchParams(hash.slice(1));
  return /** @type {any} */ (
    Object.fromEntries(CHOICES.map((name) => [name, values.get(name) ?? ""])));
}

/**
 * A fragment of an address, with the members that are not empty.
 * @param {Record<string, string | number>} values
 */
export const fragmentOf = (values) => `#${linkOf(values)}`;

/**
 * The address of the page of a recording.
 * @param {string} token @param {string} name @param {Record<string, string | number>} [place]
 */
export const pageOf = (token, name, place = {}) =>
  `/r/${encodeURIComponent(name)}${fragmentOf({ token, ...place })}`;

/**
 * A command for a POSIX shell; null if a word has characters that cannot be seen, since a terminal
 * might act on them.
 * @param {string[]} words
 */
export const commandLine = (words) =>
  words.some((word) => /[\n\t]/.test(word) || visibleText(word) !== word) ? null
    : words.map(shellWord).join(" ");

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
    clear(this.words, result);
    const title = name.replace(/\.db$/, "");
    clear(this.link, h("bdi", null, prompt), " ",
      title !== prompt && span("faint", h("bdi", null, title)));
    // The link covers the row, so its title has what the columns cut.
    const clock = started_at && new Date(started_at).toLocaleString("sv");
    const full = [name, clock, entry.note, entry.agent, entry.client, entry.recording?.cwd,
      problem, ...(findings ?? []).map(({ text }) => text)];
    setAttribute(this.link, "title", full.filter(Boolean).join("\n"));
    for (const column of TEXT_COLUMNS) {
      clear(this.cells[column], entry[column] ? h("bdi", null, entry[column]) : "");
    }
    // Not at each tick, so that it goes with the wait, which comes with the entry.
    if (live) clear(this.cells.took, waitInWords((Date.now() - Date.parse(started_at)) * 1e6));
    this.keepTime();
  }

  /** Writes how long ago the recording began. */
  keepTime() {
    const { live, started_at, is_imported } = this.entry;
    if (started_at === "") return;
    const at = new Date(started_at);
    const ago = (is_imported ? "imported " : "") + (timeAgo(Date.now() - Number(at)) || dateOf(at));
    const when = live ? "running" : ago;
    if (this.cells.when.textContent !== when) clear(this.cells.when, when);
  }
}


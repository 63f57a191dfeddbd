// The bar of who is waited for: it ticks from the last byte, and is red when somebody takes too
// long. The title and the icon of the tab say the same, and so does a notification.
import { linkedText } from "../cards/card.js";
import { button, clear, div, h, span } from "../shell/dom.js";
import { durationInWords } from "../shell/words.js";

/**
 * @typedef {import("../shell/state.js").State} State
 * @typedef {object} Wait somebody who is waited for
 * @property {number} seq
 * @property {"agent" | "client" | "person" | "program"} party
 * @property {number | null} limit_ns
 * @property {string} before the words before the duration
 * @property {number} since_ns
 * @property {string} after the words after it
 * @property {string} streaming the words while bytes arrive; may be empty
 *
 * @typedef {{now_ns: number, live: boolean, waits: Wait[]}} Waits
 * @typedef {"agent" | "call" | "person"} Limited
 */

const LIMITS_KEY = "acp-proxy limits";
/**
 * After how many seconds each wait is too long; null: never.
 * @type {Record<Limited, number | null>}
 */
const LIMITS = { agent: 60, call: 600, person: null };
/** @type {Record<Limited, string>} */
const LIMITED = {
  agent: "The agent or the client is silent", call: "A call runs", person: "A person is waited for",
};
/** The smallest limit that the server sends for a running call. */
const LEAST_OF_CALLS_NS = 600e9;
const STREAMING_NS = 2e9;
const TICK_MS = 500;
/** For each tone, its shape in the icon of the tab. @type {Record<string, string>} */
const SHAPES = {
  good: "<circle cx='8' cy='8' r='6'/>", person: "<path d='M8 1l7 7-7 7-7-7z'/>",
  faint: "<circle cx='8' cy='8' r='5' fill='none' stroke-width='3'/>",
  trouble: "<rect x='1' y='1' width='14' height='14' rx='2'/>",
};

export class WaitsBar {
  /** @type {Waits} */
  waits = { now_ns: 0, live: true, waits: [] };
  /** When `waits` came. */
  at = performance.now();
  /** Why there is no connection; empty if there is one. */
  problem = "";
  errors = 0;
  name = "";
  /** @type {State | null} */
  state = null;
  /** The waits of which the reader was notified. @type {Set<string>} */
  notified = new Set();
  /** What is shown, except the durations. */
  shown = "";
  /** @type {HTMLElement[]} */
  clocks = [];

  /** @param {HTMLElement} bar an empty element @param {HTMLElement} tool a button for the bar */
  constructor(bar, tool) {
    this.bar = bar;
    this.words = div("waits");
    try {
      this.limits = { ...LIMITS, ...JSON.parse(window.localStorage.getItem(LIMITS_KEY) ?? "{}") };
    } catch {
      this.limits = { ...LIMITS };
    }
    this.asking = button("Notify me", () => this.askPermission(), {
      title: "Notify me on the desktop when the agent alone is silent for too long" });
    this.asking.hidden = window.Notification?.permission !== "default";
    const inputs = Object.entries(LIMITED).map(([name, words]) => this.limitInput(name, words));
    const form = div("limits-form", "Red after this many seconds, empty for never:", inputs);
    const limits = h("details", { class: "limits" }, h("summary", null, "Limits"), form);
    /** Buttons that are of use only while the recording grows. */
    this.tools = span("bar-tools", this.asking, limits);
    clear(bar, this.words, div("bar-tools", tool, this.tools));
    setInterval(() => this.tick(), TICK_MS);
  }

  /** @param {string} name @param {string} words */
  limitInput(name, words) {
    const own = /** @type {Limited} */ (name);
    const change = () => {
      this.limits[own] = input.value === "" ? null : Number(input.value);
      window.localStorage.setItem(LIMITS_KEY, JSON.stringify(this.limits));
      this.tick();
    };
    const input = h("input", { type: "number", min: 1, value: this.limits[own], on: { change } });
    return h("label", null, words, input);
  }

  async askPermission() {
    this.asking.hidden = (await window.Notification.requestPermission()) !== "default";
  }

  /** @param {Partial<WaitsBar>} members that have changed */
  update(members) {
    if (members.waits) this.at = performance.now();
    Object.assign(this, members);
    this.shown = "";
    this.tick();
  }

  /** The present time since the start of the recording. */
  get nowNs() { return this.waits.now_ns + (performance.now() - this.at) * 1e6; }

  /** @param {Wait} wait */
  lengthOf = ({ since_ns }) => Math.max(0, this.nowNs - since_ns);

  /** @param {Wait} wait */
  isStreaming = (wait) => wait.streaming !== "" && this.lengthOf(wait) < STREAMING_NS;

  /** @param {Wait} wait */
  isLate = (wait) => this.lengthOf(wait) >= (this.limits[limitOf(wait)] ?? Infinity) * 1e9;

  /** The colour of the bar and of the icon. */
  get tone() {
    const { live, waits } = this.waits;
    if (this.problem !== "" || waits.some((wait) => this.isLate(wait))) return "trouble";
    return waits.some(({ party }) => party === "person") ? "person" : live ? "good" : "faint";
  }

  /** Draws what has changed since the last tick. */
  tick() {
    const { live, waits } = this.waits;
    const [tone, lengths] = [this.tone, waits.map((wait) => waitInWords(this.lengthOf(wait)))];
    const flags = waits.map((wait) => [this.isStreaming(wait), this.isLate(wait)]);
    const shown = JSON.stringify([tone, flags, this.problem, live]);
    if (shown !== this.shown) this.draw(tone);
    this.shown = shown;
    this.clocks.forEach((clock, at) => (clock.textContent = lengths[at]));
    const [first] = waits;
    const brief = first && !this.isStreaming(first) && `${briefWords(first)} ${lengths[0]}`;
    const facts = [this.errors > 0 && `✗ ${this.errors}`, this.problem ? "not connected" : brief];
    const title = [...facts, this.name].filter(Boolean).join(" · ");
    if (title !== document.title) document.title = title;
    this.notify(lengths[0]);
  }

  /** @param {string} tone */
  draw(tone) {
    const { live, waits } = this.waits;
    const linked = (/** @type {string} */ text) =>
      this.state ? linkedText(this.state, text) : [text];
    this.clocks = waits.map(() => span("clock"));
    const parts = waits.map((wait, at) => {
      const words = this.isStreaming(wait) ? linked(wait.streaming)
        : [linked(wait.before.trimEnd()), " ", this.clocks[at], linked(wait.after)].flat();
      return span(`wait ${this.isLate(wait) ? "trouble" : wait.party}`, words);
    });
    const idle = live ? "running, nobody is waited for" : "the recording has ended";
    this.bar.dataset.tone = tone;
    this.tools.hidden = !live;
    const said = this.problem ? [span("wait trouble", this.problem)] : parts;
    const mark = span(`mark ${tone}`, "●");
    clear(this.words, mark, said.length > 0 ? said : span("faint", idle));
    const colour = getComputedStyle(mark).color;
    const shape = `<g fill='${colour}' stroke='${colour}' stroke-width='0'>${SHAPES[tone]}</g>`;
    const icon = `<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'>${shape}</svg>`;
    const link = /** @type {HTMLLinkElement | null} */ (document.getElementById("icon"));
    if (link) link.href = `data:image/svg+xml,${encodeURIComponent(icon)}`;
  }

  /** Notifies once when the agent alone is silent for too long. @param {string} length */
  notify(length) {
    const { waits } = this.waits;
    const isAlone = waits.length > 0 && waits.every(({ party }) => party === "agent");
    if (!isAlone || !this.isLate(waits[0]) || this.problem !== "") return;
    const key = `${waits[0].seq} ${waits[0].since_ns}`;
    if (this.notified.has(key) || window.Notification?.permission !== "granted") return;
    this.notified.add(key);
    const body = `${waits[0].before.trimEnd()} ${length}${waits[0].after}`;
    const note = new window.Notification(this.name, { body, tag: this.name });
    note.onclick = () => window.focus();
  }
}

/** The limit that applies to a wait. @param {Wait} wait @returns {Limited} */
const limitOf = ({ limit_ns }) =>
  limit_ns === null ? "person" : limit_ns < LEAST_OF_CALLS_NS ? "agent" : "call";

/** The words for the title of the tab. @param {Wait} wait */
const briefWords = (wait) => limitOf(wait) === "call" ? "call"
  : wait.party === "agent" ? "silent" : wait.party === "person" ? "a person" : wait.party;

/** A duration in whole seconds, which tick. @param {number} ns */
export const waitInWords = (ns) => ns < 120e9 ? `${Math.floor(ns / 1e9)} s` : durationInWords(ns);

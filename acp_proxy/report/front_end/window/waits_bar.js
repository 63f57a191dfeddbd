// The head of the live page, with the same facts as the head of a report, and the bar of who is
// waited for: it ticks from the last byte, and is red when somebody takes too long. The title and
// the icon of the tab say the same, and so does a notification.
import { linkedText } from "../cards/card.js";
import { clear, copyOf, countInWords, durationInWords, h, part, span } from "../shell/dom.js";

/**
 * @typedef {import("../shell/state.js").State} State
 * @typedef {object} Wait somebody who is waited for
 * @property {number} seq
 * @property {"agent" | "client" | "person" | "program"} party
 * @property {number | null} limit_ns
 * @property {{before: string, since_ns: number, after: string, streaming: string}} words before
 * and after the duration, and while bytes arrive; these may be empty
 *
 * @typedef {{now_ns: number, live: boolean, waits: Wait[]}} Waits
 * @typedef {Wait["words"] & {tone: string, isStreaming: boolean, time: string}} Seen
 */

const LIMITS_KEY = "acp-proxy seconds of waits";

export class WaitsBar {
  /** @type {Waits} */
  waits = { now_ns: 0, live: false, waits: [] };
  /** When `waits` came; NaN before they came. */
  at = NaN;
  /** Why there is no connection; empty if there is one. */
  problem = "";
  /** @type {State | null} */
  state = null;
  /** When the wait began of which the reader was last notified. */
  notified = NaN;
  /** What is shown, except the durations. */
  shown = "";
  /** @type {HTMLElement[]} */
  clocks = [];

  /** @param {string} name of the recording */
  constructor(name) {
    this.name = name;
    this.bar = part("#bar");
    this.bar.append(copyOf("bar-parts"));
    this.words = part(".waits");
    this.asking = part(".asking");
    this.asking.hidden = window.Notification?.permission !== "default";
    this.asking.onclick = async () => {
      this.asking.hidden = (await window.Notification.requestPermission()) !== "default";
    };
    const form = part(".limits-form");
    /** For each kind of wait, the field with its limit in seconds; it is empty for no limit. */
    this.limits = form.elements;
    const kept = new URLSearchParams(window.localStorage.getItem(LIMITS_KEY) ?? "");
    kept.forEach((value, kind) => (this.limits[kind].value = value));
    form.oninput = () => {
      const values = /** @type {any} */ (new FormData(form));
      window.localStorage.setItem(LIMITS_KEY, String(new URLSearchParams(values)));
      this.tick();
    };
    setInterval(() => this.tick(), 500);
    this.tick();
  }

  /** @param {Partial<WaitsBar>} members that have changed */
  update(members) {
    if (members.waits) this.at = performance.now();
    Object.assign(this, members);
    this.shown = "";
    this.tick();
  }

  /** Draws what has changed since the last tick. */
  tick() {
    const { waits: { now_ns, live, waits }, problem } = this;
    const now = now_ns + (performance.now() - this.at) * 1e6;
    const seen = waits.map(({ words, ...wait }) => {
      const ns = Math.max(0, now - words.since_ns);
      const isLate = ns >= 1e9 * (Number(this.limits[limitOf(wait)].value) || Infinity);
      const isStreaming = words.streaming !== "" && ns < 2e9;
      const ink = isLate ? "trouble" : wait.party;
      return { ...words, tone: ink, isStreaming, time: waitInWords(ns) };
    });
    const tone = ["trouble", "person"].find((name) => seen.some((one) => one.tone === name));
    this.draw(seen, problem ? "trouble" : tone ?? (live ? "good" : "faint"));
    this.clocks.forEach((clock, at) => (clock.textContent = seen[at].time));
    const [first] = seen;
    part("main").style.setProperty("--wait", `"${first ? `${first.time} so far` : "now"}"`);
    const brief = first && !first.isStreaming && `${briefWords(waits[0])} ${first.time}`;
    const { error = 0 } = this.state?.recording.meta.summary.severities ?? {};
    const facts = [error > 0 && `✗ ${error}`, problem ? "not connected" : brief];
    const title = [...facts, this.name].filter(Boolean).join(" · ");
    if (title !== document.title) document.title = title;
    const isAlone = first?.tone === "trouble" && waits.every(({ party }) => party === "agent");
    const body = `${first?.before} ${first?.time}${first?.after}`;
    if (isAlone && !problem) this.notify(body, first.since_ns);
  }

  /** Draws all but the times. @param {Seen[]} seen @param {string} tone of the bar and the icon */
  draw(seen, tone) {
    const { bar, problem, state, waits: { live } } = this;
    const shown = JSON.stringify([tone, problem, live, seen.map((one) => ({ ...one, time: "" }))]);
    if (shown === this.shown) return;
    this.shown = shown;
    const linked = (/** @type {string} */ text) => state ? linkedText(state, text) : [text];
    this.clocks = seen.map(() => span("clock"));
    const parts = seen.map(({ before, after, streaming, isStreaming, tone: ink }, at) =>
      span(`wait ${ink}`, isStreaming ? linked(streaming)
        : [...linked(before), " ", this.clocks[at], ...linked(after)]));
    const idle = Number.isNaN(this.at) ? "reading…"
      : live ? "running, nobody is waited for" : "the recording has ended";
    const said = problem ? [span("wait trouble", problem)] : parts;
    clear(this.words, span(`mark ${tone}`, "●"), said.length > 0 ? said : span("faint", idle));
    bar.dataset.tone = tone;
    bar.classList.toggle("live", live);
    const icon = part("#icon");
    icon.href = icon.dataset[tone];
  }

  /** Notifies once of a wait. @param {string} body @param {number} since */
  notify(body, since) {
    if (since === this.notified || window.Notification?.permission !== "granted") return;
    this.notified = since;
    new window.Notification(this.name, { body, tag: this.name }).onclick = () => window.focus();
  }
}

/** The name of the limit that applies to a wait. @param {Pick<Wait, "limit_ns">} wait */
const limitOf = ({ limit_ns }) =>
  // The smallest limit that the server sends for a running call is ten minutes.
  limit_ns === null ? "person" : limit_ns < 600e9 ? "agent" : "call";

/** The words for the title of the tab. @param {Wait} wait */
const briefWords = (wait) => limitOf(wait) === "call" ? "call"
  : wait.party === "agent" ? "silent" : wait.party === "person" ? "a person" : wait.party;

/** A duration in whole seconds, which tick. @param {number} ns */
export const waitInWords = (ns) => ns < 120e9 ? `${Math.floor(ns / 1e9)} s` : durationInWords(ns);

/** @typedef {{rule: string, severity: string, by: string, seq: number, text: string}} Finding */
/** @typedef {{text: string, tone: string}} Fact of the line of facts */

/** @type {Record<string, string>} */
const TONES = { error: "trouble", warning: "caution" };

/** What was drawn last in the head, as JSON. */
let drawnHead = "";

/**
 * Draws what has changed.
 * @param {State} state @param {Wait[]} waits which the bar shows, so that the head leaves them out
 * @returns {boolean} whether anything has changed
 */
export function drawHead(state, waits) {
  const { name, started_at, summary, verdict, facts } = state.recording.meta;
  const { recording, stderr_tail = [], turns: [turn] } = summary;
  const problems = summary.problems.filter((/** @type {Finding} */ { rule, seq }) =>
    rule !== "wait.unanswered" || !waits.some((wait) => wait.seq === seq));
  const stderr = stderr_tail.filter((/** @type {string} */ line) => line.trim() !== "");
  const drawn = JSON.stringify([name, recording, turn?.prompt, verdict, facts, problems, stderr]);
  if (drawn === drawnHead) return false;
  drawnHead = drawn;
  const linked = (/** @type {string} */ text) => h("bdi", null, linkedText(state, text));
  const line = (/** @type {Finding} */ { severity, by, seq, text, rule }) =>
    h("li", { class: TONES[severity] }, span("sign"),
      span("", by && span(`badge ${by}`, by), " ", linkedText(state, `#${seq} `), linked(text),
        " ", h("code", { class: "faint" }, rule)));
  const sides = [["client", " ⇄ "], ["agent", " "]].flatMap(([side, after]) => {
    const title = [recording[`${side}_name`], recording[`${side}_version`]].filter(Boolean);
    return title.length > 0
      ? [span(`badge ${side}`, side), " ", h("bdi", null, title.join(" ")), after] : [];
  });
  const [found, hint] = [verdict?.finding, verdict?.hint];
  const others = problems.filter((/** @type {Finding} */ { seq, text }) =>
    seq !== found?.seq || text !== found?.text);
  const serious = others.filter((/** @type {Finding} */ { severity }) => severity !== "info");
  const seen = serious.slice(0, 2);
  const rest = others.filter((/** @type {Finding} */ one) => !seen.includes(one));
  const isTrouble = facts.some((/** @type {Fact} */ { tone }) => tone === "trouble");
  const tone = found?.severity === "error" && found.by !== "fault" ? "trouble"
    : found ? "caution" : isTrouble ? "neutral" : "good";
  clear(part("#head > div"),
    h("h1", null, h("bdi", null, name),
      turn?.prompt && [" ", span("asked", "“", h("bdi", null, turn.prompt), "”")]),
    verdict && h("p", { class: `verdict ${tone}` }, span("sign"), " ",
      found && h("strong", null, verdict.words, ", at frame ",
        linkedText(state, `#${found.seq}: `)),
      linked(found?.text ?? verdict.text), hint && linked(` A note: ${hint.text}.`)),
    h("p", { class: "line known" }, facts.map((/** @type {Fact} */ { text, tone: ink }) =>
      h("span", { class: ink || null }, linked(text)))),
    h("ul", { class: "findings others" }, seen.map(line)),
    h("p", { class: "line" }, sides,
      span("faint", started_at && new Date(started_at).toLocaleString("sv"))));
  clear(part(".more-findings > summary"),
    countInWords(rest.length, serious.length > seen.length ? "more finding" : "note"));
  clear(part(".more-findings > ul"), rest.map(line));
  clear(part(".stderr-tail > summary"), `stderr: ${stderr.at(-1) ?? ""}`);
  clear(part(".stderr-tail > pre"), stderr.join("\n"));
  return true;
}

// The head of the live page, with the same facts as the head of a report.
import { linkedText } from "../cards/card.js";
import { clear, h, span } from "../shell/dom.js";
import { countInWords } from "../shell/words.js";

/** @typedef {import("../shell/state.js").State} State */
/** @typedef {{rule: string, severity: string, by: string, seq: number, text: string}} Finding */
/** @typedef {{text: string, tone: string}} Fact of the line of facts */

const SIDES = ["client", "agent"];
const MOST_SEEN = 2;
/** The tone and the sign of a finding. @type {Record<string, [string, string]>} */
const LOOKS = { error: ["trouble", "✗"], warning: ["caution", "!"], info: ["", "–"] };
/** @type {Record<string, string>} */
const VERDICT_SIGNS = { trouble: "✗", caution: "!", neutral: "–", good: "✓" };

export class LiveHead {
  /** What was drawn last, as JSON. */
  drawn = "";

  /** @param {HTMLElement} box an empty element */
  constructor(box) {
    this.parts = h("div", null);
    this.more = folded("");
    this.stderr = folded("faint mono");
    clear(box, this.parts, this.more.element, this.stderr.element);
  }

  /** Draws what has changed. @param {State} state @returns {boolean} whether anything has */
  draw(state) {
    const { name, started_at, summary, verdict, facts } = state.recording.meta;
    const { problems: findings, stderr_tail = [] } = summary;
    const stderr = stderr_tail.filter((/** @type {string} */ line) => line.trim() !== "");
    const drawn = JSON.stringify([name, verdict, facts, findings, stderr, summary.live]);
    if (drawn === this.drawn) return false;
    this.drawn = drawn;
    const linked = (/** @type {string} */ text) => h("bdi", null, linkedText(state, text));
    const line = (/** @type {Finding} */ { severity, by, seq, text, rule }) => h("li",
      { class: LOOKS[severity][0] || null }, span("sign", LOOKS[severity][1]),
      span("", by && span(`badge ${by}`, by), " ", linkedText(state, `#${seq} `), linked(text),
        " ", h("code", { class: "faint" }, rule)));
    const { recording, turns: [turn] } = summary;
    const titles = ["client", "agent"].map((side) =>
      [recording[`${side}_name`], recording[`${side}_version`]].filter(Boolean).join(" "));
    const sides = titles.map((title, at) => title && [span(`badge ${SIDES[at]}`, SIDES[at]), " ",
      h("bdi", null, title), at ? " · " : " ⇄ "]);
    const [found, hint] = [verdict?.finding, verdict?.hint];
    const others = findings.filter((/** @type {Finding} */ { seq, text }) =>
      seq !== found?.seq || text !== found?.text);
    const serious = others.filter((/** @type {Finding} */ { severity }) => severity !== "info");
    const seen = serious.slice(0, MOST_SEEN);
    const rest = others.filter((/** @type {Finding} */ one) => !seen.includes(one));
    const isTrouble = facts.some((/** @type {Fact} */ { tone }) => tone === "trouble");
    const tone = found?.severity === "error" && found.by !== "fault" ? "trouble"
      : found ? "caution" : isTrouble ? "neutral" : "good";
    clear(this.parts,
      h("h1", null, h("bdi", null, name),
        turn?.prompt && [" ", span("asked", "“", h("bdi", null, turn.prompt), "”")]),
      verdict && h("p", { class: `verdict ${tone}` }, span("sign", VERDICT_SIGNS[tone]), " ",
        found && h("strong", null, verdict.words, ", at frame ",
          linkedText(state, `#${found.seq}: `)),
        linked(found?.text ?? verdict.text), hint && linked(` A note: ${hint.text}.`)),
      facts.length > 0 && h("p", { class: "line known" }, facts.flatMap(
        (/** @type {Fact} */ { text, tone: ink }, /** @type {number} */ at) =>
          [at > 0 && " · ", h("span", { class: ink || null }, linked(text))])),
      h("ul", { class: "findings others" }, seen.map(line)),
      h("p", { class: "line" }, sides.flat(),
        span("faint", started_at && new Date(started_at).toLocaleString())));
    this.more.fill(countInWords(rest.length, serious.length > 0 ? "more finding" : "note"),
      rest.map(line));
    const tail = stderr.length > 0 && h("pre", null, stderr.join("\n"));
    this.stderr.fill(`stderr: ${stderr.at(-1) ?? ""}`, tail);
    return true;
  }
}

/** An element that can be opened; it is hidden while it has no content. @param {string} name */
function folded(name) {
  const summary = h("summary", { class: name || null });
  const content = h("ul", { class: "findings" });
  const element = h("details", { hidden: true }, summary, content);
  /** @param {string} title @param {HTMLElement | HTMLElement[] | false} children */
  const fill = (title, children) => {
    element.hidden = [children].flat().filter(Boolean).length === 0;
    clear(summary, title);
    clear(content, children);
  };
  return { element, fill };
}

// The head of the live page, with the same facts as the head of a report.
import { linkedText } from "../cards/card.js";
import { clear, h, part, span } from "../shell/dom.js";
import { countInWords } from "../shell/words.js";

/** @typedef {import("../shell/state.js").State} State */
/** @typedef {{rule: string, severity: string, by: string, seq: number, text: string}} Finding */
/** @typedef {{text: string, tone: string}} Fact of the line of facts */

/** @type {Record<string, string>} */
const TONES = { error: "trouble", warning: "caution" };

export class LiveHead {
  /** What was drawn last, as JSON. */
  drawn = "";

  /** Draws what has changed. @param {State} state @returns {boolean} whether anything has */
  draw(state) {
    const { name, started_at, summary, verdict, facts } = state.recording.meta;
    const { problems, recording, stderr_tail = [], turns: [turn] } = summary;
    const stderr = stderr_tail.filter((/** @type {string} */ line) => line.trim() !== "");
    const drawn = JSON.stringify([name, recording, turn?.prompt, verdict, facts, problems, stderr]);
    if (drawn === this.drawn) return false;
    this.drawn = drawn;
    const linked = (/** @type {string} */ text) => h("bdi", null, linkedText(state, text));
    const line = (/** @type {Finding} */ { severity, by, seq, text, rule }) =>
      h("li", { class: TONES[severity] }, span("sign"),
        span("", by && span(`badge ${by}`, by), " ", linkedText(state, `#${seq} `), linked(text),
          " ", h("code", { class: "faint" }, rule)));
    const sides = [["client", " ⇄ "], ["agent", " · "]].flatMap(([side, after]) => {
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
      countInWords(rest.length, serious.length > 0 ? "more finding" : "note"));
    clear(part(".more-findings > ul"), rest.map(line));
    clear(part(".stderr-tail > summary"), `stderr: ${stderr.at(-1) ?? ""}`);
    clear(part(".stderr-tail > pre"), stderr.join("\n"));
    return true;
  }
}

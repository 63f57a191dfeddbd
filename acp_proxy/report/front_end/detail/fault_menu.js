// The menu that shows a plan of faults for the chosen message, and the command that plays the plan.
import { termText } from "../filter/term_text.js";
import { DIRECTIONS } from "../filter/terms.js";
import { button, clear, div, h, noteLine, shellWord } from "../shell/dom.js";

/** @typedef {import("../data/recording.js").Recording} Recording */

/** The kinds of faults, what they do, and their own settings. */
export const FAULTS = [
  ["drop", "drop it", ""], ["latency", "delay it", "latency_ms = 10000"],
  ["replace", "change a member", ""],
];
/** The keys of the terms and the columns that a plan names. */
const PLAN_COLUMNS = { dir: "stream", kind: "kind", method: "method", session: "session" };
/** For each kind of message, the member that a plan changes. @type {Record<string, string>} */
const CHANGED = {
  request: "/params", notification: "/params", response: "/result", error: "/error",
};

/** Whether a plan can name a row. @param {Recording} recording @param {number} row */
export const canFail = ({ meta, rows, text }, row) => (meta.rows_in_recording ?? 0) <= rows
  && DIRECTIONS.includes(text("stream", row) ?? "") && text("fate", row) !== "dropped";

/**
 * A plan, as TOML, that fires once: at the message of a row.
 * @param {Recording} recording @param {number} row @param {string} kind @param {string} settings
 */
export function planText(recording, row, kind, settings) {
  const terms = Object.entries(PLAN_COLUMNS).map(([key, name]) => {
    const value = recording.text(name, row);
    return value === null ? `not ${key}:*` : termText(key, value);
  });
  const columns = Object.values(PLAN_COLUMNS).map((name) => recording.codes(name));
  let after = 0;
  for (let at = 0; at < row; at++) {
    const isAlike = columns.every((codes) => codes.at(at) === codes.at(row));
    if (isAlike && recording.text("fate", at) !== "dropped") after += 1;
  }
  const member = CHANGED[recording.text("kind", row) ?? ""];
  const change = member ? `set = { "${member}" = "changed" }` : 'frame = "changed"';
  const where = JSON.stringify(terms.join(" ")).replaceAll("\x7f", "\\u007f");
  return [
    `# Only frame #${recording.numbers("seq").at(row)}.`, "[[fault]]", `kind = "${kind}"`,
    `where = ${where}`, `after = ${after}`, "times = 1", kind === "replace" ? change : settings, "",
  ].join("\n");
}

/**
 * @param {import("../shell/state.js").State} state
 * @param {(name: string, text: () => string) => HTMLElement} copyButton
 */
export function faultMenu(state, copyButton) {
  const { recording } = state;
  let shown = -1;
  const plan = h("textarea", { rows: 7, "aria-label": "Plan of faults", spellcheck: "false" });
  const command = () => `acp-proxy replay ${shellWord(recording.meta.name)} --faults plan.toml`;
  const commandLine = h("code", { class: "text" });
  const box = div("fault-plan", noteLine("Save this plan as plan.toml. You may change it first."),
    plan, copyButton("copy plan", () => plan.value), h("p", null, commandLine),
    copyButton("copy command", command));
  const buttons = FAULTS.map(([kind, words, settings]) => button(words, () => {
    plan.value = planText(recording, state.row, kind, settings);
    box.hidden = false;
    clear(commandLine, command());
  }));
  const menu = h("details", { class: "copies" }, h("summary", null, "As a fault"), buttons);
  const update = () => {
    menu.hidden = !canFail(recording, state.row);
    box.hidden ||= menu.hidden || shown !== state.row;
    shown = state.row;
  };
  box.hidden = true;
  return { menu, box, update };
}

// The menu that shows a plan of faults for the chosen message, and the command that plays the plan.
import { button, clear, div, h, noteLine } from "../shell/dom.js";
import { messageOf, shellWord } from "../shell/words.js";
import { canFail, planText } from "./fault_plan.js";

/** The kinds of faults, and what they do. */
const FAULTS = /** @type {const} */ ([
  ["drop", "drop it"], ["latency", "delay it"], ["replace", "change a member"],
]);

/**
 * @param {import("../shell/state.js").State} state
 * @param {(name: string, text: () => string) => HTMLElement} copyButton
 */
export function faultMenu(state, copyButton) {
  const { recording } = state;
  let shown = -1;
  const plan = h("textarea", { rows: 7, "aria-label": "Plan of faults", spellcheck: "false" });
  const command = () =>
    `acp-proxy replay ${shellWord(recording.meta.name)} --faults plan.toml`;
  const commandLine = h("code", { class: "text" });
  const problem = h("p", { class: "trouble" });
  const box = div("fault-plan", noteLine("Save this plan as plan.toml. You may change it first."),
    plan, copyButton("copy plan", () => plan.value), h("p", null, commandLine),
    copyButton("copy command", command), problem);
  const buttons = FAULTS.map(([kind, words]) => button(words, async () => {
    const { row } = state;
    const [text, failure] = await planText(recording, row, kind).then(
      (text) => [text, ""], (error) => ["", messageOf(error)]);
    // The reader may have selected another row meanwhile.
    if (row !== state.row) return;
    [plan.value, box.hidden] = [text, false];
    clear(commandLine, command());
    clear(problem, failure);
  }));
  const menu = h("details", { class: "copies" }, h("summary", null, "As a fault"), buttons);
  const update = () => {
    menu.hidden = !canFail(recording, state.row);
    buttons[FAULTS.length - 1].hidden = !recording.hasPayloads;
    box.hidden = menu.hidden || (box.hidden || shown !== state.row);
    shown = state.row;
  };
  box.hidden = true;
  return { menu, box, update };
}

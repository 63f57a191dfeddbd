// The keys of the page, in one list that the help shows. No key is taken from a field that is typed
// in, or from the browser.
import { h } from "./dom.js";

/**
 * @typedef {object} Command
 * @property {string[]} keys as `KeyboardEvent.key` names them
 * @property {string} words what they do
 * @property {() => void} run
 */

/** @type {Record<string, string>} */
const NAMES = { ArrowDown: "↓", ArrowUp: "↑", Enter: "Enter", Escape: "Esc" };
/** Keys that lists handle themselves while the keyboard is on them. */
const LIST_KEYS = [
  ["↑ ↓ PgUp PgDn Home End", "move in a list"],
  ["→ ←", "open or close a run of chunks"],
];

/** @param {Command[]} commands @param {(key: string) => boolean} isOff */
export const listenForKeys = (commands, isOff) => document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  /** @type {(selector: string) => boolean} */
  const isOn = (selector) => target instanceof HTMLElement && target.matches(selector);
  const isTyping = key !== "Escape" && isOn("input, textarea, select, [contenteditable]");
  const isPressing = key === "Enter" && isOn("button, a, summary, [role=tab]");
  const command = commands.find(({ keys }) => keys.includes(key));
  const isModified = event.ctrlKey || event.altKey || event.metaKey;
  if (event.defaultPrevented || isModified || isTyping || isPressing || isOff(key)) return;
  if (command) event.preventDefault();
  command?.run();
});

/** The table of the help. @param {Command[]} commands */
export function keyTable(commands) {
  /** @type {(words: string[]) => string} */
  const named = (keys) => keys.map((key) => NAMES[key] ?? key).join(" ");
  const rows = [...commands.map(({ keys, words }) => [named(keys), words]), ...LIST_KEYS];
  const lines = rows.map(([keys, words]) => h("tr", null,
    h("th", { scope: "row" }, keys.split(" ").map((key) => h("kbd", null, key))),
    h("td", null, words)));
  const head = ["Key", "What it does"].map((title) => h("th", { scope: "col" }, title));
  return h("table", { class: "keys" },
    h("thead", null, h("tr", null, head)), h("tbody", null, lines));
}

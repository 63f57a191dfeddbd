// Listens for the keys of the page. Keys that are typed into a field, and keys of the browser, are
// left alone.

/**
 * @typedef {object} Command
 * @property {string[]} keys as `KeyboardEvent.key` names them
 * @property {() => void} run
 */

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

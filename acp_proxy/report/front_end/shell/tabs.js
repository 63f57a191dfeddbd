// A row of tabs with one chosen tab; the arrow keys move between the tabs.
import { button, h, setAttribute } from "./dom.js";

/**
 * @param {string} label
 * @param {{name: string, title: string}[]} tabs whose names no other tab of the page has
 * @param {(name: string) => string} panelOf the id of the panel of a tab
 * @param {(name: string) => void} choose
 */
export function tabList(label, tabs, panelOf, choose) {
  const buttons = tabs.map(({ name, title }) => button(title, () => choose(name), {
    role: "tab", id: `tab-${name}`, "aria-controls": panelOf(name) }));
  const keydown = (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const seen = buttons.filter(({ hidden }) => !hidden);
    const current = seen.findIndex(({ tabIndex }) => tabIndex === 0);
    const next = seen[(current + step + seen.length) % seen.length];
    choose(tabs[buttons.indexOf(next)].name);
    next.focus();
    event.preventDefault();
    event.stopPropagation();
  };
  /**
   * Marks the chosen tab, and hides the tabs whose panels are empty.
   * @param {string} chosen @param {string[]} empty
   */
  const show = (chosen, empty = []) => tabs.forEach(({ name }, place) => {
    buttons[place].hidden = empty.includes(name);
    setAttribute(buttons[place], "aria-selected", String(name === chosen));
    buttons[place].tabIndex = name === chosen ? 0 : -1;
  });
  const attributes = { class: "tabs", role: "tablist", "aria-label": label, on: { keydown } };
  return { element: h("div", attributes, buttons), show };
}

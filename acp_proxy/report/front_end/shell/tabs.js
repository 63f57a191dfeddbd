// A row of tabs with one chosen tab; the arrow keys move between the tabs.
import { button, h, setAttribute } from "./dom.js";

/**
 * @param {string} label @param {{name: string, title: string}[]} tabs
 * @param {{tab: string, panel: (name: string) => string}} ids how ids of tabs begin; ids of panels
 * @param {(name: string) => void} choose
 */
export function tabList(label, tabs, ids, choose) {
  const buttons = tabs.map(({ name, title }) => button(title, () => choose(name), {
    role: "tab", id: `${ids.tab}${name}`, "aria-controls": ids.panel(name) }));
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
   * Marks the chosen tab, and hides tabs that have nothing to show.
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

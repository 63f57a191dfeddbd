// A list of any length whose rows have heights of their own. Only rows near the screen are in the
// page; the heights of others are estimates until they are seen, and then nothing that is looked at
// moves.
import { lowerBound } from "../data/recording.js";
import { h, setAttribute } from "../shell/dom.js";

/**
 * @typedef {object} FlowOptions
 * @property {(item: number) => number} estimate the likely height of an item in pixels
 * @property {(item: number) => HTMLElement} render
 * @property {(item: number) => void} onActive the reader has moved to an item
 */

/** How far beyond the screen rows are drawn, in pixels. */
const FLOW_MARGIN = 200;
/** How often rows are drawn until their heights are known. */
const MOST_TRIES = 5;

export class FlowList {
  /** @param {string} label what the list is, for screen readers @param {FlowOptions} options */
  constructor(label, options) {
    this.options = options;
    /** @type {ArrayLike<number>} */
    this.items = [];
    /** Where each item begins, and where the last one ends. */
    this.offsets = new Float64Array(1);
    /** By item. @type {Map<number, number>} */
    this.heights = new Map();
    /** By place. @type {Map<number, HTMLElement>} */
    this.nodes = new Map();
    this.active = -1;
    this.width = 0;
    this.flow = h("div", { class: "flow-drawn" });
    this.space = h("div", { class: "flow-space" }, this.flow);
    const attributes = { class: "flow", role: "feed", "aria-label": label, tabindex: 0 };
    this.element = h("div", { ...attributes, on: { scroll: () => this.draw() } }, this.space);
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.element);
  }

  /** Shows other items. @param {ArrayLike<number>} items @param {number} active its place */
  setItems(items, active) {
    this.items = items;
    this.layOut();
    this.refresh();
    this.setActive(active);
  }

  /** Draws rows anew. @param {string} [name] of the class of these rows; all without it */
  refresh(name = "entry") {
    const hasFocus = this.element.contains(document.activeElement);
    for (const [place, node] of this.nodes) if (node.classList.contains(name)) this.remove(place);
    this.draw();
    if (hasFocus) this.focus();
  }

  /** Makes an item the active one and shows it. @param {number} active its place; -1 for none */
  setActive(active) {
    this.active = active;
    this.draw();
    // Where it is known exactly only after it and what is above it were drawn.
    for (let tries = 0; active >= 0 && tries < MOST_TRIES && !this.isSeen(active); tries++) {
      const space = this.element.clientHeight - this.offsets[active + 1] + this.offsets[active];
      this.element.scrollTop = this.offsets[active] - Math.max(0, space / 3);
      this.draw();
    }
  }

  /** @param {number} place */
  isSeen(place) {
    const { scrollTop, clientHeight } = this.element;
    const [top, end] = [this.offsets[place] - scrollTop, this.offsets[place + 1] - scrollTop];
    return this.nodes.has(place) && top >= 0 && (end <= clientHeight || top < clientHeight / 2);
  }

  /** @param {number} by */
  move(by) {
    const place = Math.max(0, Math.min(this.active + by, this.items.length - 1));
    if (place === this.active || this.items.length === 0) return;
    this.setActive(place);
    this.options.onActive(this.items[place]);
  }

  /** Puts the keyboard on the active row, or on the list where that is not on the screen. */
  focus() {
    (this.nodes.get(this.active) ?? this.element).focus({ preventScroll: true });
  }

  /** The place of the item at an offset; -1 without items. @param {number} offset */
  placeAt(offset) {
    const { length } = this.items;
    return Math.min(Math.max(lowerBound(this.offsets, offset + 1), 1), length) - 1;
  }

  /** Draws what is near the screen; the active row stays, or the first one that is seen. */
  draw() {
    for (let tries = 0, isNew = true; isNew && tries < MOST_TRIES; tries++) {
      const { scrollTop, clientHeight } = this.element;
      const first = this.placeAt(scrollTop - FLOW_MARGIN);
      const last = this.placeAt(scrollTop + clientHeight + FLOW_MARGIN);
      for (const place of this.nodes.keys()) if (place < first || place > last) this.remove(place);
      for (let place = last; place >= first && place >= 0; place--) {
        if (!this.nodes.has(place)) this.add(place);
      }
      const kept = this.isSeen(this.active) ? this.active : this.placeAt(scrollTop);
      const within = scrollTop - this.offsets[kept];
      isNew = this.measure();
      this.flow.style.setProperty("top", `${this.offsets[first]}px`);
      if (isNew) this.element.scrollTop = this.offsets[kept] + within;
    }
    for (const [place, node] of this.nodes) this.mark(place, node);
  }

  /** Takes the heights of the drawn rows. @returns {boolean} whether any has changed */
  measure() {
    const { items, heights } = this;
    if (this.width !== this.element.clientWidth) heights.clear();
    this.width = this.element.clientWidth;
    let isNew = false;
    for (const [place, { offsetHeight }] of this.nodes) {
      if (offsetHeight === 0 || heights.get(items[place]) === offsetHeight) continue;
      heights.set(items[place], offsetHeight);
      isNew = true;
    }
    if (isNew) this.layOut();
    return isNew;
  }

  layOut() {
    const { items, heights, options } = this;
    const offsets = (this.offsets = new Float64Array(items.length + 1));
    for (let place = 0; place < items.length; place++) {
      const item = items[place];
      offsets[place + 1] = offsets[place] + (heights.get(item) ?? options.estimate(item));
    }
    this.space.style.setProperty("height", `${offsets[items.length]}px`);
  }

  /** @param {number} place whose next one is drawn, or is the last one */
  add(place) {
    const node = this.options.render(this.items[place]);
    setAttribute(node, "aria-posinset", place + 1);
    setAttribute(node, "aria-setsize", this.items.length);
    setAttribute(node, "data-place", place);
    this.nodes.set(place, node);
    this.flow.insertBefore(node, this.nodes.get(place + 1) ?? null);
    this.observer.observe(node);
  }

  /** @param {number} place */
  remove(place) {
    const node = this.nodes.get(place);
    if (node && this.nodes.delete(place)) this.observer.unobserve(node);
    node?.remove();
  }

  /** @param {number} place @param {HTMLElement} node */
  mark(place, node) {
    const isActive = place === this.active;
    setAttribute(node, "aria-current", isActive && "true");
    // The tabulator goes into the active row alone; else it would go through all of them.
    const controls = [node, ...node.querySelectorAll("button, summary, [tabindex]")];
    for (const one of controls) setAttribute(one, "tabindex", isActive ? 0 : -1);
  }
}

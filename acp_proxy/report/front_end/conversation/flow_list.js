// A list of any length whose rows have heights of their own. Only rows near the screen are in the page; the heights
// of others are estimated until they are seen, and what is seen stays where it is when they turn out to be different.
import { lowerBound } from "../data/recording.js";
import { h, setAttribute } from "../shell/dom.js";

/**
 * @typedef {object} FlowOptions
 * @property {string} label what the list is, for screen readers
 * @property {(item: number) => number} estimate the likely height of an item in pixels
 * @property {(item: number) => HTMLElement} render
 * @property {(item: number) => void} onActive the reader has moved to an item
 */

/** How far beyond the screen rows are drawn, in pixels. */
const MARGIN = 200;
/** How often rows are drawn until their heights are known. */
const MOST_TRIES = 5;

export class FlowList {
  /** @param {FlowOptions} options */
  constructor(options) {
    this.options = options;
    /** @type {ArrayLike<number>} */
    this.items = [];
    /** The place of each item, and of the end. */
    this.offsets = new Float64Array(1);
    /** By item. @type {Map<number, number>} */
    this.heights = new Map();
    /** By place. @type {Map<number, HTMLElement>} */
    this.nodes = new Map();
    this.active = -1;
    this.width = 0;
    this.flow = h("div", { class: "flow-drawn" });
    this.space = h("div", { class: "flow-space" }, this.flow);
    this.element = h("div", { class: "flow", role: "feed", "aria-label": options.label, tabindex: 0 }, this.space);
    this.element.addEventListener("scroll", () => this.draw());
    this.element.addEventListener("keydown", (event) => this.onKey(event));
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.element);
  }

  /** Shows other items. @param {ArrayLike<number>} items @param {number} active the place of the active one */
  setItems(items, active) {
    this.items = items;
    for (const [place, node] of this.nodes) this.remove(place, node);
    this.layOut();
    this.draw();
    this.setActive(active);
  }

  /** Draws rows anew. @param {(node: HTMLElement) => boolean} [isStale] which ones; all without this */
  refresh(isStale = () => true) {
    const hasFocus = this.element.contains(document.activeElement);
    for (const [place, node] of this.nodes) if (isStale(node)) this.remove(place, node);
    this.draw();
    if (hasFocus) this.focus();
  }

  /** Makes an item the active one and shows it. @param {number} place -1 for none */
  setActive(place) {
    const before = this.nodes.get(this.active);
    if (before) this.mark(before, false);
    this.active = place;
    const node = this.nodes.get(place);
    if (node) this.mark(node, true);
    if (place < 0) return;
    // Where it is known exactly only after it and what is above it were drawn.
    for (let tries = 0; tries < MOST_TRIES && !this.isSeen(place); tries++) {
      const { clientHeight } = this.element;
      const height = this.offsets[place + 1] - this.offsets[place];
      this.element.scrollTop = this.offsets[place] - Math.max(0, (clientHeight - height) / 3);
      this.draw();
    }
  }

  /** @param {number} place */
  isSeen(place) {
    const { scrollTop, clientHeight } = this.element;
    const [top, end] = [this.offsets[place], this.offsets[place + 1]];
    return clientHeight === 0 || (this.nodes.has(place) && top >= scrollTop && (end <= scrollTop + clientHeight || top < scrollTop + clientHeight / 2));
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

  /** The place of the item at an offset. @param {number} offset */
  placeAt = (offset) => Math.max(0, Math.min(lowerBound(this.offsets, offset + 1) - 1, this.items.length - 1));

  /** Draws what is near the screen; the active row stays where it is, or the first one that is seen. */
  draw() {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const { scrollTop, clientHeight } = this.element;
      const first = this.placeAt(scrollTop - MARGIN);
      const isActiveSeen = this.offsets[this.active] >= scrollTop && this.offsets[this.active] < scrollTop + clientHeight;
      const seen = isActiveSeen ? this.active : this.placeAt(scrollTop);
      const last = this.items.length === 0 ? -1 : this.placeAt(scrollTop + clientHeight + MARGIN);
      for (const [place, node] of this.nodes) if (place < first || place > last) this.remove(place, node);
      for (let place = last; place >= first; place--) if (!this.nodes.has(place)) this.add(place);
      const within = scrollTop - this.offsets[seen];
      const isNew = this.measure();
      this.flow.style.setProperty("top", `${this.offsets[first]}px`);
      if (!isNew) break;
      this.element.scrollTop = this.offsets[seen] + within;
    }
  }

  /** Takes the heights of the drawn rows, and lays out all if any has changed. @returns {boolean} whether one has */
  measure() {
    const { items, heights } = this;
    const width = this.element.clientWidth;
    if (width !== this.width) heights.clear();
    this.width = width;
    let isNew = false;
    for (const [place, node] of this.nodes) {
      const height = node.offsetHeight;
      isNew ||= height > 0 && heights.get(items[place]) !== height;
      if (height > 0) heights.set(items[place], height);
    }
    if (isNew) this.layOut();
    return isNew;
  }

  layOut() {
    const { items, heights, options } = this;
    this.offsets = new Float64Array(items.length + 1);
    for (let place = 0; place < items.length; place++) {
      this.offsets[place + 1] = this.offsets[place] + (heights.get(items[place]) ?? options.estimate(items[place]));
    }
    this.space.style.setProperty("height", `${this.offsets[items.length]}px`);
  }

  /** @param {number} place whose next one is drawn, or is the last one */
  add(place) {
    const node = this.options.render(this.items[place]);
    setAttribute(node, "aria-posinset", place + 1);
    setAttribute(node, "aria-setsize", this.items.length);
    setAttribute(node, "data-place", place);
    this.mark(node, place === this.active);
    this.nodes.set(place, node);
    this.flow.insertBefore(node, this.nodes.get(place + 1) ?? null);
    this.observer.observe(node);
  }

  /** @param {number} place @param {HTMLElement} node */
  remove(place, node) {
    this.observer.unobserve(node);
    this.nodes.delete(place);
    node.remove();
  }

  /** @param {HTMLElement} node @param {boolean} isActive */
  mark(node, isActive) {
    // What is within other rows is not on the way of the tabulator, which would go through all of them.
    for (const one of [node, ...node.querySelectorAll("button, summary")]) setAttribute(one, "tabindex", isActive ? 0 : -1);
    setAttribute(node, "aria-current", isActive && "true");
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    /** @type {Record<string, number>} */
    const moves = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity };
    if (!(event.key in moves) || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.target !== this.element && event.target !== this.nodes.get(this.active)) return;
    this.move(moves[event.key]);
    this.focus();
    event.preventDefault();
    event.stopPropagation();
  }
}

// A list of any length whose rows differ in height. The height of a row is estimated until the row
// is drawn; when the real height is known, the rows on the screen do not move.
import { lowerBound } from "../data/columns.js";
import { h, setAttribute } from "../shell/dom.js";
import { ScrollGeometry, VirtualList } from "../shell/virtual_list.js";

/** @typedef {import("../shell/virtual_list.js").ListOptions} ListOptions */

const LINE_PIXELS = 24;

/** Computes the positions of rows that differ in height. */
class FlowGeometry extends ScrollGeometry {
  /** @param {number[]} heights @param {number} viewport */
  constructor(heights, viewport) {
    super(heights.length, LINE_PIXELS, viewport);
    this.offsets = new Float64Array(heights.length + 1);
    heights.forEach((height, at) => (this.offsets[at + 1] = this.offsets[at] + height));
  }

  /** @param {number} index */
  topOf = (index) => this.offsets[index];

  /** @param {number} offset */
  indexAt = (offset) => Math.max(0, lowerBound(this.offsets, offset + 1) - 1);
}

export class FlowList extends VirtualList {
  /** @param {ListOptions} options @param {(item: number) => number} estimate of a height */
  constructor(options, estimate) {
    super(options, { class: "list-body flow", role: "feed" });
    this.estimate = estimate;
    /** The measured height of each item. @type {Map<number, number>} */
    this.heights = new Map();
    this.width = 0;
    this.observer = new ResizeObserver(() => this.draw());
  }

  /** @param {number} viewport */
  newGeometry = (viewport) => new FlowGeometry(
    Array.from(this.items, (item) => this.heights.get(item) ?? this.estimate(item)), viewport);

  /**
   * Draws the rows near the screen. The active row stays visible until the reader scrolls; after
   * that, the first visible row keeps its position.
   */
  draw() {
    // Rows are drawn again until their heights no longer change, but at most this often.
    for (let tries = 0; tries < 5; tries++) {
      super.draw();
      const { geometry, offset, active } = this;
      const away = geometry.offsetFor(active, offset, "center") - offset;
      const kept = Math.abs(away) < 1 ? active : geometry.indexAt(offset);
      if (!this.measure()) break;
      this.layOut(geometry.viewport, "kept");
      // A list that is not laid out yet shows the active row later; see `onResize`.
      if (this.follows || !geometry.viewport) continue;
      const moved = this.geometry.topOf(kept) + offset - geometry.topOf(kept);
      const isFree = this.isLeft || active < 0;
      const near = isFree ? moved : this.geometry.offsetFor(active, moved, "nearest");
      // A list with the active row on its first screen is not scrolled by some pixels.
      const isFirst = this.geometry.topOf(active + 1) < geometry.viewport + LINE_PIXELS / 2;
      this.scrollTo(!isFree && isFirst ? 0 : near);
    }
  }

  /** Measures the drawn rows. @returns {boolean} whether any height has changed */
  measure() {
    const { items, heights } = this;
    if (this.width !== this.body.clientWidth) heights.clear();
    this.width = this.body.clientWidth;
    const changed = [...this.nodes].filter(([index, { offsetHeight }]) =>
      offsetHeight > 0 && heights.get(items[index]) !== offsetHeight);
    for (const [index, { offsetHeight }] of changed) heights.set(items[index], offsetHeight);
    return changed.length > 0;
  }

  /** @param {number} index */
  make(index) {
    const place = { "aria-posinset": index + 1, "aria-setsize": this.items.length };
    const node = h("article", { ...place, "data-index": index });
    this.options.render(this.items[index], node);
    this.observer.observe(node);
    return node;
  }

  /** @param {number} index @param {HTMLElement} node */
  remove(index, node) {
    this.observer.unobserve(node);
    super.remove(index, node);
  }

  /** @param {HTMLElement} node @param {boolean} isActive */
  mark(node, isActive) {
    setAttribute(node, "aria-current", isActive && "true");
    // The Tab key enters only the active row; otherwise it would go through all rows.
    const controls = [node, ...node.querySelectorAll("button, summary, [tabindex]")];
    for (const one of controls) setAttribute(one, "tabindex", isActive ? 0 : -1);
  }

  /** Does nothing: the browser scrolls by pages, and other keys of the page move between rows. */
  onKey() {}

  /** @param {MouseEvent} event */
  onClick(event) {
    const { target } = event;
    const own = "button, a, input, summary, [data-index]";
    const node = target instanceof Element ? target.closest(own) : null;
    const isOther = !node?.hasAttribute("data-index") || node === this.nodes.get(this.active);
    if (!isOther && !String(window.getSelection())) super.onClick(event);
  }
}

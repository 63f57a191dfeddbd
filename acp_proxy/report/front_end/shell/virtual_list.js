// A list of any length that keeps only the rows on the screen in the page. Browsers give up on
// elements of some 16 million pixels, so a longer list is scaled: its scroll bar moves in larger
// steps, while the wheel and the keyboard move by rows as ever.
import { clear, h, setAttribute } from "./dom.js";

/**
 * @typedef {object} ListOptions
 * @property {string} label what the list is, for screen readers
 * @property {"grid" | "treegrid"} [role] `treegrid` where rows can be opened
 * @property {number} [rowHeight] in pixels
 * @property {HTMLElement[]} [head] the cells above the columns
 * @property {(item: number, node: HTMLElement, index: number) => void} render fills an empty row
 * @property {(item: number, index: number) => void} [onActive] the reader has moved to a row
 * @property {(item: number, index: number) => void} [onOpen] Enter, or a double click
 * @property {(item: number, index: number, isOpen: boolean) => void} [onFold] right and left arrow
 * @property {(item: number) => boolean} [isStop] whether arrows stop at a row; at every one without this
 */

const LARGEST_HEIGHT = 8_000_000;
const ROW_HEIGHT = 24;
/** Rows beyond each edge, so that a little scrolling shows no gap. */
const MARGIN_ROWS = 4;
/** A higher screen than this shows no more rows. */
const MOST_ROWS = 100;

/** Where rows are: arithmetic without a page. Offsets count from the first row, unscaled. */
export class ScrollGeometry {
  /**
   * @param {number} count
   * @param {number} rowHeight
   * @param {number} viewport the height of what is seen
   */
  constructor(count, rowHeight, viewport) {
    this.count = count;
    this.rowHeight = rowHeight;
    this.viewport = viewport;
    this.height = Math.min(count * rowHeight, LARGEST_HEIGHT);
    this.isScaled = count * rowHeight > LARGEST_HEIGHT;
  }

  /** The largest offset. */
  get lastOffset() {
    return Math.max(0, this.count * this.rowHeight - this.viewport);
  }

  /** @param {number} offset */
  within(offset) {
    return Math.min(Math.max(offset, 0), this.lastOffset);
  }

  /** @param {number} scrollTop of the element that scrolls */
  offsetOf(scrollTop) {
    if (!this.isScaled) return scrollTop;
    return this.within((scrollTop / (this.height - this.viewport)) * this.lastOffset);
  }

  /** @param {number} offset */
  scrollTopOf(offset) {
    if (!this.isScaled) return offset;
    return (offset / this.lastOffset) * (this.height - this.viewport);
  }

  /**
   * The first and the last row to be drawn at an offset; the last one is below the first if there
   * are no rows.
   * @param {number} offset
   * @returns {[number, number]}
   */
  drawn(offset) {
    const first = Math.max(0, Math.floor(offset / this.rowHeight) - MARGIN_ROWS);
    const last = Math.ceil((offset + this.viewport) / this.rowHeight) + MARGIN_ROWS - 1;
    return [first, Math.min(last, first + MOST_ROWS - 1, this.count - 1)];
  }

  /**
   * The offset at which a row is seen.
   * @param {number} index
   * @param {number} offset the one now
   * @param {"nearest" | "center"} place `nearest` moves no further than it must
   */
  offsetFor(index, offset, place) {
    const top = index * this.rowHeight;
    const highest = top + this.rowHeight - this.viewport;
    if (place === "nearest") return this.within(Math.min(Math.max(offset, highest), top));
    return top >= offset && highest <= offset ? offset : this.within((top + highest) / 2);
  }

  /** How many rows a page key moves. */
  get page() {
    return Math.max(1, Math.floor(this.viewport / this.rowHeight) - 1);
  }
}

export class VirtualList {
  /** @param {ListOptions} options */
  constructor(options) {
    this.options = options;
    /** @type {ArrayLike<number>} */
    this.items = [];
    this.geometry = new ScrollGeometry(0, options.rowHeight ?? ROW_HEIGHT, 0);
    this.offset = 0;
    this.setTop = 0;
    /** The index of the row that the keyboard moves; -1 is none. */
    this.active = -1;
    /** @type {Map<number, HTMLElement>} */
    this.nodes = new Map();
    this.space = h("div", { class: "list-space", role: "presentation" });
    this.body = h("div", { class: "list-body", role: "rowgroup", tabindex: 0 }, this.space);
    const head = options.head && h("div", { class: "list-head", role: "rowgroup" }, h("div", { class: "list-row", role: "row", "aria-rowindex": 1 }, options.head));
    this.headRows = head ? 1 : 0;
    this.element = h("div", { class: "list", role: options.role ?? "grid", "aria-label": options.label, "aria-readonly": "true" }, head, this.body);
    this.body.addEventListener("scroll", () => this.onScroll());
    this.body.addEventListener("keydown", (event) => this.onKey(event));
    this.body.addEventListener("click", (event) => this.onClick(event));
    this.body.addEventListener("dblclick", (event) => this.onClick(event, true));
    this.onWheel = this.onWheel.bind(this);
    new ResizeObserver(() => this.measure()).observe(this.body);
  }

  /**
   * Shows other items; the row at the top stays unless there are fewer.
   * @param {ArrayLike<number>} items
   * @param {number} [active]
   */
  setItems(items, active = Math.min(this.active, items.length - 1)) {
    this.items = items;
    this.active = active;
    setAttribute(this.element, "aria-rowcount", items.length + this.headRows);
    this.measure(true);
  }

  /** @param {number} rowHeight in pixels */
  setRowHeight(rowHeight) {
    if (rowHeight === this.geometry.rowHeight) return;
    this.offset = (this.offset / this.geometry.rowHeight) * rowHeight;
    this.geometry = new ScrollGeometry(this.items.length, rowHeight, this.geometry.viewport);
    this.measure(true);
  }

  /**
   * Makes a row the active one, and shows it.
   * @param {number} index
   * @param {{focus?: boolean, place?: "nearest" | "center"}} [options]
   */
  setActive(index, { focus = false, place = "center" } = {}) {
    const hadFocus = focus || this.hasFocus();
    this.active = index;
    if (index >= 0) this.moveTo(this.geometry.offsetFor(index, this.offset, place));
    else this.draw();
    if (hadFocus) this.focus();
  }

  /**
   * Moves the active row by some rows, on to the next one at which arrows stop.
   * @param {number} by
   */
  move(by) {
    const stops = this.options.isStop ?? (() => true);
    const last = this.items.length - 1;
    const step = by < 0 ? -1 : 1;
    let index = Math.min(Math.max(this.active + by, 0), last);
    while (index >= 0 && index <= last && !stops(this.items[index])) index += step;
    if (index < 0 || index > last) {
      // Beyond the end: back to the last one that is a stop.
      index = Math.min(Math.max(index, 0), last);
      while (index >= 0 && index <= last && !stops(this.items[index])) index -= step;
    }
    if (index < 0 || index > last || index === this.active) return;
    this.setActive(index, { place: "nearest" });
    this.options.onActive?.(this.items[index], index);
  }

  /** Draws the rows on the screen anew. */
  refresh() {
    const hadFocus = this.hasFocus();
    for (const node of this.nodes.values()) node.remove();
    this.nodes.clear();
    this.draw();
    if (hadFocus) this.focus();
  }

  /** Puts the keyboard on the active row, or on the list where that is not on the screen. */
  focus() {
    (this.nodes.get(this.active) ?? this.body).focus({ preventScroll: true });
  }

  /** The first and the last index on the screen. @returns {[number, number]} */
  get onScreen() {
    return this.geometry.drawn(this.offset);
  }

  hasFocus() {
    return this.body.contains(document.activeElement);
  }

  measure(isNew = false) {
    const { rowHeight, viewport } = this.geometry;
    const height = this.body.clientHeight;
    if (!isNew && viewport === height) return;
    this.geometry = new ScrollGeometry(this.items.length, rowHeight, height);
    this.space.style.setProperty("height", `${this.geometry.height}px`);
    this.body.removeEventListener("wheel", this.onWheel);
    if (this.geometry.isScaled) this.body.addEventListener("wheel", this.onWheel, { passive: false });
    this.scrollTo(this.geometry.within(this.offset));
    this.refresh();
  }

  /** @param {number} offset */
  moveTo(offset) {
    this.scrollTo(offset);
    this.draw();
  }

  /** @param {number} offset */
  scrollTo(offset) {
    this.offset = offset;
    this.body.scrollTop = this.geometry.scrollTopOf(offset);
    this.setTop = this.body.scrollTop;
    if (!this.geometry.isScaled) this.offset = this.setTop;
  }

  draw() {
    const [first, last] = this.geometry.drawn(this.offset);
    let focusLost = false;
    for (const [index, node] of this.nodes) {
      if (index >= first && index <= last) continue;
      focusLost ||= node.contains(document.activeElement);
      node.remove();
      this.nodes.delete(index);
    }
    for (let index = first; index <= last; index++) this.place(index);
    this.body.tabIndex = this.nodes.has(this.active) ? -1 : 0;
    if (focusLost) this.focus();
  }

  /** @param {number} index */
  place(index) {
    let node = this.nodes.get(index);
    if (node === undefined) {
      node = h("div", { class: "list-row", role: "row", "aria-rowindex": index + 1 + this.headRows, "data-index": index });
      this.options.render(this.items[index], node, index);
      this.nodes.set(index, node);
      // In their order, as a screen reader goes through them.
      const next = this.nodes.get(index + 1) ?? null;
      this.space.insertBefore(node, next ?? (this.nodes.has(index - 1) ? /** @type {Node} */ (this.nodes.get(index - 1)).nextSibling : this.space.firstChild));
    }
    const top = this.setTop + index * this.geometry.rowHeight - this.offset;
    node.style.setProperty("top", `${top}px`);
    const isActive = index === this.active;
    node.tabIndex = isActive ? 0 : -1;
    node.setAttribute("aria-selected", String(isActive));
  }

  onScroll() {
    const top = this.body.scrollTop;
    if (Math.abs(top - this.setTop) >= 1 || !this.geometry.isScaled) this.offset = this.geometry.offsetOf(top);
    this.setTop = top;
    this.draw();
  }

  /** @param {WheelEvent} event */
  onWheel(event) {
    if (event.ctrlKey || event.shiftKey) return;
    const step = [1, this.geometry.rowHeight, this.geometry.viewport][event.deltaMode];
    const offset = this.geometry.within(this.offset + event.deltaY * step);
    if (offset === this.offset) return;
    event.preventDefault();
    this.moveTo(offset);
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const { page } = this.geometry;
    /** @type {Record<string, number>} */
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    const item = this.items[this.active];
    if (event.key in moves) this.move(moves[event.key]);
    else if (this.active < 0) return;
    else if (event.key === "Enter" && event.target === event.currentTarget) this.options.onOpen?.(item, this.active);
    else if (event.key === "Enter" && event.target === this.nodes.get(this.active)) this.options.onOpen?.(item, this.active);
    else if (this.options.onFold && (event.key === "ArrowRight" || event.key === "ArrowLeft")) {
      this.options.onFold(item, this.active, event.key === "ArrowRight");
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * @param {MouseEvent} event
   * @param {boolean} [isDouble]
   */
  onClick(event, isDouble = false) {
    const node = event.target instanceof Element ? event.target.closest("[data-index]") : null;
    if (!(node instanceof HTMLElement)) return;
    const index = Number(node.dataset.index);
    const item = this.items[index];
    if (this.options.isStop?.(item) === false) return;
    this.setActive(index, { focus: true, place: "nearest" });
    this.options.onActive?.(item, index);
    if (isDouble) this.options.onOpen?.(item, index);
  }

  /** Empties the list. */
  remove() {
    clear(this.element);
  }
}

// A list of any length that keeps only the rows on the screen in the page. Browsers give up on
// elements of some 16 million pixels, so a longer list is scaled: its scroll bar moves in larger
// steps, while the wheel and the keyboard move by rows as ever.
import { h, setAttribute } from "./dom.js";
import { countInWords } from "./words.js";

/**
 * @typedef {object} ListOptions
 * @property {string} label what the list is, for screen readers
 * @property {"grid" | "treegrid"} [role] `treegrid` where rows can be opened
 * @property {number} [rowHeight] in pixels
 * @property {HTMLElement[]} [head] the cells above the columns
 * @property {(item: number, node: HTMLElement, index: number) => void} render fills an empty row
 * @property {(item: number, index: number) => void} [onActive] the reader has moved to a row
 * @property {(item: number, index: number, isOpen: boolean) => void} [onFold] right and left arrow
 */

const LARGEST_HEIGHT = 8_000_000;
const ROW_HEIGHT = 24;
/** Rows beyond each edge, so that a little scrolling shows no gap. */
const MARGIN_ROWS = 2;
/** A higher screen than this shows no more rows. */
const MOST_ROWS = 100;

/** Where rows are: arithmetic without a page. Offsets count from the first row, unscaled. */
export class ScrollGeometry {
  /**
   * @param {number} count @param {number} rowHeight
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
  within = (offset) => Math.round(Math.min(Math.max(offset, 0), this.lastOffset));

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
   * @param {number} offset @returns {[number, number]}
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
    /** What `scrollTop` was set to, or was when rows were drawn last. */
    this.scrollTop = 0;
    /** The index of the row that the keyboard moves; -1 is none. */
    this.active = -1;
    /** @type {Map<number, HTMLElement>} */
    this.nodes = new Map();
    this.space = h("div", { class: "list-space", role: "presentation" });
    this.body = h("div", { class: "list-body", role: "rowgroup", tabindex: 0 }, this.space);
    const head = options.head && h("div", { class: "list-head", role: "rowgroup" },
      h("div", { class: "list-row", role: "row", "aria-rowindex": 1 }, options.head));
    this.headRows = head ? 1 : 0;
    const { label, role = "grid" } = options;
    const attributes = { class: "list", role, "aria-label": label, "aria-readonly": "true" };
    this.element = h("div", attributes, head, this.body);
    this.body.addEventListener("scroll", () => this.onScroll());
    this.body.addEventListener("keydown", (event) => this.onKey(event));
    this.body.addEventListener("click", (event) => this.onClick(event));
    this.onWheel = this.onWheel.bind(this);
    new ResizeObserver(() => this.onResize()).observe(this.body);
  }

  /**
   * Shows other items. The offset stays, unless there is an active row that would not be seen.
   * @param {ArrayLike<number>} items
   * @param {number} [active] the index of the active row
   * @param {"nearest" | "center" | "kept"} [place] of that row; `kept` moves nothing
   */
  setItems(items, active = -1, place = "nearest") {
    this.items = items;
    this.active = active;
    setAttribute(this.element, "aria-rowcount", items.length + this.headRows);
    this.layOut(this.geometry.rowHeight, this.geometry.viewport, place);
  }

  /** @param {number} rowHeight in pixels */
  setRowHeight(rowHeight) {
    this.offset = (this.offset / this.geometry.rowHeight) * rowHeight;
    this.layOut(rowHeight, this.geometry.viewport);
  }

  /**
   * Makes a row the active one, and shows it.
   * @param {number} index -1 for none
   * @param {{focus?: boolean, place?: "nearest" | "center"}} [options]
   */
  setActive(index, { focus = false, place = "center" } = {}) {
    const hasFocus = focus || this.hasFocus();
    this.active = index;
    if (index >= 0) this.scrollTo(this.geometry.offsetFor(index, this.offset, place));
    this.draw();
    if (hasFocus) this.focus();
  }

  /** Moves the active row by some rows. @param {number} by */
  move(by) {
    const index = Math.max(0, Math.min(this.active + by, this.items.length - 1));
    if (index === this.active || this.items.length === 0) return;
    this.setActive(index, { place: "nearest" });
    this.options.onActive?.(this.items[index], index);
  }

  /**
   * Draws rows on the screen anew.
   * @param {(node: HTMLElement) => boolean} [isStale] which ones; all without this
   */
  refresh(isStale = () => true) {
    const hasFocus = this.hasFocus();
    for (const [index, node] of this.nodes) {
      if (isStale(node) && this.nodes.delete(index)) node.remove();
    }
    this.draw();
    if (hasFocus) this.focus();
  }

  /** The first rows in an element that scrolls nowhere, for paper. @param {number} most */
  printed(most) {
    const rows = Array.from({ length: Math.min(most, this.items.length) }, (_, index) => {
      const node = h("div", { class: "list-row" });
      this.options.render(this.items[index], node, index);
      return node;
    });
    const more = this.items.length - rows.length;
    const rest = more > 0 && h("p", null, `and ${countInWords(more, "more line")}`);
    return h("div", { class: "list" }, rows, rest);
  }

  /** Puts the keyboard on the active row, or on the list where that is not on the screen. */
  focus() {
    (this.nodes.get(this.active) ?? this.body).focus({ preventScroll: true });
  }

  hasFocus = () => this.body.contains(document.activeElement);

  /**
   * @param {number} rowHeight @param {number} viewport
   * @param {"nearest" | "center" | "kept"} [place] of the active row
   */
  layOut(rowHeight, viewport, place = "kept") {
    this.geometry = new ScrollGeometry(this.items.length, rowHeight, viewport);
    this.space.style.setProperty("height", `${this.geometry.height}px`);
    this.body.removeEventListener("wheel", this.onWheel);
    const { geometry, active, offset } = this;
    if (geometry.isScaled) this.body.addEventListener("wheel", this.onWheel, { passive: false });
    const isKept = place === "kept" || active < 0;
    this.scrollTo(isKept ? geometry.within(offset) : geometry.offsetFor(active, offset, place));
    this.refresh();
  }

  /**
   * Moves without drawing, and does not read the place back: that would lay out the page once more.
   * @param {number} offset
   */
  scrollTo(offset) {
    this.offset = offset;
    const top = Math.round(this.geometry.scrollTopOf(offset));
    if (top !== this.scrollTop) this.body.scrollTop = top;
    this.scrollTop = top;
  }

  draw() {
    const [first, last] = this.geometry.drawn(this.offset);
    const hasFocus = this.hasFocus();
    for (const [index, node] of this.nodes) {
      if ((index < first || index > last) && this.nodes.delete(index)) node.remove();
    }
    for (let index = first; index <= last; index++) this.place(index);
    this.body.tabIndex = this.nodes.has(this.active) ? -1 : 0;
    if (hasFocus && !this.hasFocus()) this.focus();
  }

  /** @param {number} index */
  place(index) {
    const before = this.nodes.get(index);
    const number = index + 1 + this.headRows;
    const attributes = { role: "row", "aria-rowindex": number, "data-index": index };
    const node = before ?? h("div", { class: "list-row", ...attributes });
    if (before === undefined || this.geometry.isScaled) {
      const top = this.scrollTop + index * this.geometry.rowHeight - this.offset;
      node.style.setProperty("top", `${top}px`);
    }
    const isActive = index === this.active;
    if (before === undefined || isActive !== (node.tabIndex === 0)) {
      node.tabIndex = isActive ? 0 : -1;
      node.setAttribute("aria-selected", String(isActive));
    }
    if (before !== undefined) return;
    this.options.render(this.items[index], node, index);
    this.nodes.set(index, node);
    // In their order, as a screen reader goes through them.
    const above = this.nodes.get(index - 1);
    this.space.insertBefore(node, above ? above.nextSibling : this.space.firstChild);
  }

  /**
   * Also when the list comes back after another view, where browsers forget how far it was
   * scrolled.
   */
  onResize() {
    const height = this.body.clientHeight;
    if (height === 0) return;
    const { rowHeight, viewport } = this.geometry;
    const nearest = this.geometry.offsetFor(this.active, this.offset, "nearest");
    const isSeen = nearest === this.offset;
    this.scrollTop = this.body.scrollTop;
    this.layOut(rowHeight, height, viewport === 0 ? "center" : isSeen ? "nearest" : "kept");
  }

  onScroll() {
    const top = this.body.scrollTop;
    // Else it is what this list has set and drawn itself.
    if (Math.abs(top - this.scrollTop) < 1) return;
    this.offset = this.geometry.offsetOf(top);
    this.scrollTop = top;
    this.draw();
  }

  /** @param {WheelEvent} event */
  onWheel(event) {
    const step = [1, this.geometry.rowHeight, this.geometry.viewport][event.deltaMode];
    const offset = this.geometry.within(this.offset + event.deltaY * step);
    if (event.ctrlKey || event.shiftKey || offset === this.offset) return;
    event.preventDefault();
    this.scrollTo(offset);
    this.draw();
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const { key, target } = event;
    const { page } = this.geometry;
    /** @type {Record<string, number>} */
    const moves = {
      ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity,
    };
    const { options, active } = this;
    const item = this.items[active];
    const isOnRow = active >= 0 && (target === this.body || target === this.nodes.get(active));
    if (key in moves) this.move(moves[key]);
    else if (isOnRow && ["ArrowRight", "ArrowLeft"].includes(key) && options.onFold) {
      options.onFold(item, active, key === "ArrowRight");
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {MouseEvent} event */
  onClick({ target }) {
    const node = target instanceof Element ? target.closest("[data-index]") : null;
    if (node === null) return;
    const index = Number(node.getAttribute("data-index"));
    this.setActive(index, { focus: true, place: "nearest" });
    this.options.onActive?.(this.items[index], index);
  }
}

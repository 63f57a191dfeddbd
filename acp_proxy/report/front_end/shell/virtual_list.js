// A list of any length. The page contains only the rows near the screen. Browsers cannot show
// elements of more than about 16 million pixels, so a longer list is scaled: its scroll bar and the
// wheel move in larger steps, but the keyboard moves by rows. Also the items of lists of rows: an
// item is a row, a run of chunks, or the line for a pause or a turn above a row.
import { durationInWords, h, setAttribute, span } from "./dom.js";
import { lowerBound } from "../data/columns.js";

/**
 * @typedef {object} ListOptions
 * @property {string} label what the list is, for screen readers
 * @property {"grid" | "treegrid"} [role] `treegrid` where rows can be opened
 * @property {HTMLElement[]} [head] the cells above the columns of a grid
 * @property {(item: number, node: HTMLElement) => void} render fills an empty row
 * @property {(item: number) => void} onActive the reader has moved to a row
 * @property {(item: number, isOpen: boolean) => void} [onFold] right and left arrow
 */

const LARGEST_HEIGHT = 8_000_000;
/** The number of rows that are drawn beyond each edge, so that a little scrolling shows no gap. */
const MARGIN_ROWS = 1;

/**
 * Computes the positions of rows, and does not use the page. An offset is the number of unscaled
 * pixels from the first row.
 */
export class ScrollGeometry {
  /**
   * @param {number} count @param {number} rowHeight
   * @param {number} viewport the height of the visible part
   */
  constructor(count, rowHeight, viewport) {
    this.count = count;
    this.rowHeight = rowHeight;
    this.viewport = viewport;
  }

  /**
   * The offset at which a row begins or, for the index after the last row, at which the list ends.
   * @param {number} index
   */
  topOf = (index) => index * this.rowHeight;

  /** The index of the row at an offset. @param {number} offset */
  indexAt = (offset) => Math.floor(offset / this.rowHeight);

  /** The height in pixels of the element that the scroll bar moves. */
  get height() { return Math.min(this.topOf(this.count), LARGEST_HEIGHT); }

  get isScaled() { return this.topOf(this.count) > LARGEST_HEIGHT; }

  /** The largest offset. */
  get lastOffset() { return Math.max(0, this.topOf(this.count) - this.viewport); }

  /** @param {number} offset */
  within = (offset) => Math.round(Math.min(Math.max(offset, 0), this.lastOffset));

  /** How many pixels the rows move if the scroll bar moves by one pixel. */
  get scale() { return this.isScaled ? this.lastOffset / (this.height - this.viewport) : 1; }

  /** @param {number} scrollTop of the element that scrolls */
  offsetOf = (scrollTop) => this.isScaled ? this.within(scrollTop * this.scale) : scrollTop;

  /** @param {number} offset */
  scrollTopOf = (offset) => offset / this.scale;

  /**
   * The first and the last row that are drawn at an offset. Without rows, the last number is
   * smaller than the first.
   * @param {number} offset @returns {[number, number]}
   */
  drawn(offset) {
    const first = Math.max(0, this.indexAt(offset) - MARGIN_ROWS);
    const last = this.indexAt(offset + this.viewport - 1) + MARGIN_ROWS;
    // However high the screen is, no more rows are drawn.
    return [first, Math.min(last, first + 100 - 1, this.count - 1)];
  }

  /**
   * The offset at which a row is visible.
   * @param {number} index
   * @param {number} offset the present offset
   * @param {"nearest" | "center"} place `nearest` moves the list as little as possible
   */
  offsetFor(index, offset, place) {
    const top = this.topOf(index);
    const highest = Math.min(top, this.topOf(index + 1) - this.viewport);
    if (place === "nearest") return this.within(Math.min(Math.max(offset, highest), top));
    return this.within(top >= offset && highest <= offset ? offset : (top + highest) / 2);
  }

  /** By how many rows the keys PageUp and PageDown move. */
  get page() { return Math.max(1, Math.floor(this.viewport / this.rowHeight) - 1); }
}

export class VirtualList {
  /** @param {ListOptions} options @param {Record<string, string>} [values] of what scrolls */
  constructor(options, values = { class: "list list-body", "aria-readonly": "true" }) {
    this.options = options;
    const { label, role = "grid", head } = options;
    /** @type {ArrayLike<number>} */
    this.items = [];
    this.geometry = new ScrollGeometry(0, 1, 0);
    this.offset = 0;
    /** The last `scrollTop` that this list has set, or that it had when rows were last drawn. */
    this.scrollTop = 0;
    /** The index of the active row, which the arrow keys change; -1 for no row. */
    this.active = -1;
    /** Whether the reader has scrolled since a row became the active one. */
    this.isLeft = false;
    /** Whether the end stays visible when there are more items. */
    this.follows = false;
    /** @type {Map<number, HTMLElement>} */
    this.nodes = new Map();
    this.drawn = h("div", { class: "list-drawn", role: "presentation" });
    const group = head ? "rowgroup" : "presentation";
    this.space = h("div", { class: "list-space", role: group }, this.drawn);
    /**
     * The head scrolls with the rows and stays above them, so that the columns of both are equally
     * wide.
     */
    this.head = head && h("div", { class: "list-head", role: group },
      h("div", { class: "list-row", role: "row", "aria-rowindex": 1 }, head));
    /** The element that scrolls. */
    this.body = h("div", { role, ...values, "aria-label": label, tabindex: 0, on: {
      scroll: () => this.onScroll(),
      keydown: (/** @type {KeyboardEvent} */ event) => this.onKey(event),
      click: (/** @type {MouseEvent} */ event) => this.onClick(event),
    } }, this.head, this.space);
    new ResizeObserver(() => this.onResize()).observe(this.body);
  }

  /**
   * Replaces the items. The list scrolls only if the active row would otherwise be invisible.
   * @param {ArrayLike<number>} items
   * @param {number} [active] the index of the active row
   * @param {"nearest" | "center" | "kept"} [place] of that row; `kept` moves nothing
   * @param {number} [from] the first index at which an item may have another content
   */
  setItems(items, active = -1, place = "nearest", from = 0) {
    const others = [...this.nodes.keys()].filter((at) => items[at] !== this.items[at]);
    this.items = items;
    this.active = active;
    if (this.head) setAttribute(this.body, "aria-rowcount", items.length + 1);
    this.layOut(this.geometry.viewport, place);
    this.refresh("*", Math.min(from, ...others));
  }

  /** Shows the end, and keeps it visible. */
  toEnd() {
    this.follows = this.isLeft = true;
    // A list that is not laid out yet shows the end when it is; see `onResize`.
    if (!this.geometry.viewport) return;
    this.scrollTo(this.geometry.lastOffset);
    this.draw();
  }

  /** Notes whether the reader is at the end, after a movement. */
  look() { this.follows = this.offset >= this.geometry.lastOffset - this.geometry.rowHeight; }

  /**
   * Makes a row the active row, and scrolls to it.
   * @param {number} index -1 for none
   * @param {{focus?: boolean, place?: "nearest" | "center"}} [options]
   */
  setActive(index, { focus = this.hasFocus(), place = "center" } = {}) {
    this.active = index;
    this.isLeft = false;
    // A list that is not laid out yet shows the row later; see `onResize`.
    const { geometry, offset } = this;
    if (index >= 0 && geometry.viewport) this.scrollTo(geometry.offsetFor(index, offset, place));
    if (index >= 0 && geometry.viewport) this.look();
    this.draw();
    if (focus) this.focus();
  }

  /** Moves the active row by some rows. @param {number} by */
  move(by) {
    const index = Math.max(0, Math.min(this.active + by, this.items.length - 1));
    if (index === this.active || this.items.length === 0) return;
    this.setActive(index, { place: "nearest" });
    this.options.onActive(this.items[index]);
  }

  /**
   * Draws rows on the screen again.
   * @param {string} [which] a selector; all rows without it
   * @param {number} [from] the index of the first row that is drawn again
   */
  refresh(which = "*", from = 0) {
    const hasFocus = this.hasFocus();
    for (const [at, node] of this.nodes) {
      if (at >= from && node.matches(which)) this.remove(at, node);
    }
    this.draw();
    if (hasFocus) this.focus();
  }

  /** Focuses the active row, or the list if the active row is not on the screen. */
  focus = () => (this.nodes.get(this.active) ?? this.body).focus({ preventScroll: true });

  hasFocus = () => this.body.contains(document.activeElement);

  /**
   * @param {number} viewport
   * @param {"nearest" | "center" | "kept"} place of the active row
   */
  layOut(viewport, place) {
    const geometry = this.newGeometry(viewport);
    const from = (this.offset / this.geometry.rowHeight) * geometry.rowHeight;
    this.geometry = geometry;
    this.space.style.setProperty("height", `${geometry.height}px`);
    if (place === "kept" && this.follows && viewport > 0) this.scrollTo(geometry.lastOffset);
    else if (place === "kept" || this.active < 0 || !viewport) this.scrollTo(geometry.within(from));
    else this.scrollTo(geometry.offsetFor(this.active, from, place));
  }

  /** The height of a row in pixels, as the styles set it. */
  get rowHeight() { return parseInt(getComputedStyle(this.body).getPropertyValue("--row-height")); }

  /** Makes the geometry of the present rows. @param {number} viewport */
  newGeometry = (viewport) => new ScrollGeometry(this.items.length, this.rowHeight, viewport);

  /**
   * Scrolls without drawing. The new position is not read back, since this would cause a layout.
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
    for (const [at, node] of this.nodes) if (at < first || at > last) this.remove(at, node);
    for (let index = last; index >= first; index--) {
      const node = this.nodes.get(index) ?? this.make(index);
      // Rows are inserted in their order, since a screen reader reads them in this order.
      if (!this.nodes.has(index)) this.drawn.insertBefore(node, this.nodes.get(index + 1) ?? null);
      this.nodes.set(index, node);
      this.mark(node, index === this.active);
    }
    const top = this.scrollTop - this.offset + this.geometry.topOf(first);
    this.drawn.style.setProperty("top", `${top}px`);
    this.body.tabIndex = this.nodes.has(this.active) ? -1 : 0;
    if (hasFocus && !this.hasFocus()) this.focus();
  }

  /** Makes a row. @param {number} index @returns {HTMLElement} */
  make(index) {
    const place = { "aria-rowindex": index + 2, "data-index": index };
    const node = h("div", { class: "list-row", role: "row", ...place });
    this.options.render(this.items[index], node);
    return node;
  }

  /** @param {number} index @param {HTMLElement} node */
  remove(index, node) {
    this.nodes.delete(index);
    node.remove();
  }

  /** @param {HTMLElement} node @param {boolean} isActive */
  mark(node, isActive) {
    node.tabIndex = isActive ? 0 : -1;
    setAttribute(node, "aria-selected", String(isActive));
  }

  /**
   * Lays the list out for its new size. This is also needed when the list is shown again, since
   * browsers forget the scroll position of a hidden element.
   */
  onResize() {
    const { clientHeight, scrollTop } = this.body;
    // A hidden list keeps no rows.
    if (clientHeight === 0) return this.nodes.forEach((node, at) => this.remove(at, node));
    const { geometry: { viewport }, active, offset } = this;
    const isSeen = this.geometry.offsetFor(active, offset, "nearest") === offset;
    this.scrollTop = scrollTop;
    const place = viewport === 0 ? "center" : isSeen ? "nearest" : "kept";
    this.layOut(clientHeight - (this.head?.offsetHeight ?? 0), this.follows ? "kept" : place);
    this.draw();
  }

  onScroll() {
    const top = this.body.scrollTop;
    // Otherwise the list itself has set this position and drawn the rows.
    if (Math.abs(top - this.scrollTop) < 1) return;
    this.isLeft = true;
    this.offset = this.geometry.offsetOf(top);
    this.scrollTop = top;
    this.look();
    this.draw();
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const { key, target, ctrlKey, altKey, metaKey } = event;
    const { geometry: { page }, options: { onFold }, active } = this;
    const rows = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    const by = { ...rows, Home: -Infinity, End: Infinity }[key];
    const isOnRow = active >= 0 && (target === this.body || target === this.nodes.get(active));
    const isFold = isOnRow && /^Arrow(Right|Left)$/.test(key);
    if (ctrlKey || altKey || metaKey) return;
    if (by) this.move(by);
    else if (isFold && onFold) onFold(this.items[active], key === "ArrowRight");
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {MouseEvent} event */
  onClick({ target }) {
    const node = target instanceof Element ? target.closest("[data-index]") : null;
    if (node === null) return;
    const index = Number(node.getAttribute("data-index"));
    this.setActive(index, { focus: true, place: "nearest" });
    this.options.onActive(this.items[index]);
  }
}

export const SILENCE = 0;
export const TURN = 1;
export const RUN = 2;
export const ROW = 3;
const ITEM_KINDS = 4;

/** @param {number} item */
export const rowOfItem = (item) => Math.floor(item / ITEM_KINDS);

/** @param {number} item */
export const kindOfItem = (item) => item % ITEM_KINDS;

/**
 * The items of the rows that are shown.
 * @param {import("../data/recording.js").Recording} recording
 * @param {Int32Array} shown rows, sorted
 * @param {{has: (run: number) => boolean}} opened the opened runs, by their first row; their rows
 * are also items
 * @param {Int32Array} [old] the items before the change @param {number} [from] the first row that
 * is new or has changed
 */
export function buildItems(recording, shown, opened, old = new Int32Array(0), from = 0) {
  const [runs, seqs, turns] = recording.columns("run", "seq", "turn");
  const tones = recording.codes("tone");
  const prompt = recording.code("prompt") || -1;
  const isPause = (/** @type {number} */ before, /** @type {number} */ row) =>
    recording.pauses.has(row) && recording.pauses.get(row)?.before === seqs.at(before);
  // The items of a row depend only on this row, the row before it, and the row after it.
  const start = shown[lowerBound(shown, from) - 1] ?? 0;
  const kept = old.subarray(0, lowerBound(old, start * ITEM_KINDS));
  /** @type {number[]} */
  const items = [];
  for (let place = lowerBound(shown, start); place < shown.length; place++) {
    const [before, row] = [shown[place - 1], shown[place]];
    // A pause has a line only if no frames between the two rows are left out.
    if (isPause(before, row)) items.push(row * ITEM_KINDS + SILENCE);
    const isPrompt = tones.at(row) === prompt && !Number.isNaN(turns.at(row));
    if (isPrompt) items.push(row * ITEM_KINDS + TURN);
    const run = runs.at(row);
    const isFirst = runs.at(before) !== run;
    const isRun = !isFirst || runs.at(shown[place + 1]) === run;
    if (isRun && isFirst) items.push(row * ITEM_KINDS + RUN);
    if (!isRun || opened.has(run)) items.push(row * ITEM_KINDS + ROW);
  }
  const { rows } = recording;
  if (isPause(shown[shown.length - 1], rows)) items.push(rows * ITEM_KINDS + SILENCE);
  return new Int32Array([...kept, ...items]);
}

/**
 * The index of the item that shows a row: the row's own item, or the run that contains the row; -1
 * if the row is before all items.
 * @param {Int32Array} items @param {number} row
 */
export const indexOfRow = (items, row) => lowerBound(items, row * ITEM_KINDS + ROW + 1) - 1;

/**
 * The extent of the shown rows of a run. `delay` is the time by which faults delayed these rows,
 * and `arrived` is the time when all of them had arrived. A row without a run is a run of one row.
 * @param {import("../data/recording.js").Recording} recording @param {Int32Array} shown
 * @param {number} first the first shown row of the run
 * @returns {{last: number, count: number, size: number, delay: number, arrived: number}}
 */
export function runExtent(recording, shown, first) {
  const [runs, sizes, times, delays] = recording.columns("run", "size", "t_ns", "delay_ns");
  const extent = { last: first, count: 0, size: 0, delay: 0, arrived: 0 };
  const [run, place] = [runs.at(first), lowerBound(shown, first)];
  for (let at = place; at === place || runs.at(shown[at]) === run; at++) {
    const late = delays.at(shown[at]) || 0;
    extent.last = shown[at];
    extent.count += 1;
    extent.size += sizes.at(extent.last);
    extent.delay = Math.max(extent.delay, late);
    if (late > 0) extent.arrived = Math.max(extent.arrived, times.at(extent.last) + late);
  }
  extent.arrived = Math.max(extent.arrived, times.at(extent.last));
  return extent;
}

const TEXT_CHARACTERS = 400;
const ESCAPES = /(\\x1b\[[0-9;?]*[A-Za-z]|(?<!\b[A-Za-z]:(?:\\\S*)?)(?:\\r)?\\n)/;

/**
 * The beginning of the joined text of some rows; null if their cells are not in memory yet.
 * @param {import("../data/recording.js").Recording} recording @param {Int32Array} shown
 * @param {number} first @param {number} last
 */
export function textOfRows(recording, shown, first, last) {
  let text = "";
  let place = lowerBound(shown, first);
  for (; shown[place] <= last && text.length < TEXT_CHARACTERS; place++) {
    const cells = recording.cellsNow(shown[place]);
    if (cells === null) return null;
    text += cells.text;
  }
  return text.slice(0, TEXT_CHARACTERS);
}

/**
 * A text in which escapes of line ends are shown as signs, and escapes of colours are hidden. A
 * copied text still has these escapes. Backslashes in a Windows path are not treated as escapes.
 * @param {string} text
 */
export const readable = (text) => text.split(ESCAPES).map((piece, place) => place % 2 === 0 ? piece
  : h("span", { class: piece.startsWith("\\x1b") ? "escape" : "escape newline" }, piece));

/**
 * The words for a pause. How long the present wait lasts is written by its clock.
 * @param {import("../data/recording.js").Pause} pause
 */
export const pauseWords = ({ ns, awaited, debt, isNow }) => [isNow ? span("now")
  : durationInWords(ns), " · waiting for ", awaited, debt === 2 && " · never ended"];

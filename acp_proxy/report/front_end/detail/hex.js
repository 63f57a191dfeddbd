// Shows bytes: as text in which nothing is invisible, or as hex with the characters beside it.
import { attempted } from "../data/values.js";
import { button, div, noteLine, span } from "../shell/dom.js";
import { countInWords, sizeInWords, visiblePieces } from "../shell/words.js";

/** @typedef {Iterator<Uint8Array> | AsyncIterator<Uint8Array>} Pieces */

const ROW_BYTES = 16;
const TEXT_AT_ONCE = 50_000;

/**
 * Rows of sixteen bytes: the position of the first byte, the bytes in hex, and their characters.
 * @param {Uint8Array} bytes
 * @param {number} base the place of the first of these bytes in the line
 */
export function hexRows(bytes, base = 0) {
  let rows = "";
  for (let start = 0; start < bytes.length; start += ROW_BYTES) {
    const some = [...bytes.subarray(start, start + ROW_BYTES)];
    const hex = some.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const text = String.fromCharCode(...some).replace(/[^ -~]/g, ".");
    const place = (base + start).toString(16).padStart(8, "0");
    rows += `${place}  ${hex.padEnd(ROW_BYTES * 3 - 1)}  ${text}\n`;
  }
  return rows;
}

/** Text in which escapes of invisible characters are marked. @param {string} text */
export const markedText = (text) =>
  span("", visiblePieces(text).map((piece) => piece.odd ? span("odd", piece.text) : piece.text));

/**
 * Fills a box part by part: the first part now, each further part when a button is pressed.
 * @param {Element} box
 * @param {(add: (...nodes: (Node | string)[]) => void) => string | Promise<string>} next adds a
 * part; returns in words how much is left, or an empty text if nothing is left
 */
export function addInParts(box, next) {
  let isBusy = false;
  const show = async () => {
    if (isBusy) return;
    isBusy = true;
    const left = await next((...nodes) => more.before(...nodes));
    isBusy = false;
    more.textContent = `Show more (${left})`;
    more.hidden = left === "";
  };
  const more = button("", show, { class: "show-more", hidden: true });
  box.append(more);
  void show();
}

/** Shows a text; a long text is shown part by part. @param {string} text */
export function longText(text) {
  let left = text;
  const box = div("text");
  addInParts(box, (add) => {
    // A part must not end between the halves of a surrogate pair.
    const isHalf = /[\ud800-\udbff]/.test(left[TEXT_AT_ONCE - 1] ?? "");
    add(markedText(left.slice(0, TEXT_AT_ONCE + Number(isHalf))));
    left = left.slice(TEXT_AT_ONCE + Number(isHalf));
    return left && countInWords(left.length, "character");
  });
  return box;
}

/**
 * Shows the bytes of a line as text, and from the first byte that is not UTF-8 on as hex. A large
 * line is shown piece by piece.
 * @param {Pieces} pieces @param {number} size of all pieces
 */
export function bytesElements(pieces, size) {
  const [facts, box] = [noteLine(countInWords(size, "byte")), div("mono")];
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let [base, isHex] = [0, false];
  addInParts(box, async (add) => {
    const { value: piece = new Uint8Array(0) } = await pieces.next();
    const isMore = base + piece.length < size;
    const text = isHex ? null : attempted(() => decoder.decode(piece, { stream: isMore }));
    if (text === null && !isHex) facts.append(", not all of them UTF-8: shown as hex");
    isHex = text === null;
    box.classList.toggle("hex", isHex);
    add(longText(text ?? hexRows(piece, base)));
    base += piece.length;
    return isMore && piece.length > 0 ? sizeInWords(size - base) : "";
  });
  return [facts, box];
}

// Shows bytes: as text in which nothing is invisible, or as hex with the characters beside it.
import {clear, h} from "../shell/dom.js";
import {countInWords, sizeInWords, visiblePieces} from "./values.js";

const ROW_BYTES = 16;
// Bytes that are shown at once.
const BYTES_AT_ONCE = 65_536;
const HEX_AT_ONCE = 4096;

/**
 * Rows of sixteen bytes, from a place on.
 * @param {Uint8Array} bytes
 * @param {number} from
 * @param {number} to
 * @param {number} base what is added to the places
 * @returns {{offset: string, hex: string, text: string}[]}
 */
export function hexRows(bytes, from = 0, to = bytes.length, base = 0) {
  const rows = [];
  for (let start = from; start < Math.min(to, bytes.length); start += ROW_BYTES) {
    const some = [...bytes.subarray(start, Math.min(start + ROW_BYTES, to))];
    rows.push({
      offset: (base + start).toString(16).padStart(8, "0"),
      hex: some.map((byte) => byte.toString(16).padStart(2, "0")).join(" "),
      text: some.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : ".")).join(""),
    });
  }
  return rows;
}

/**
 * The first place at which bytes are not UTF-8; -1 if all are.
 * @param {Uint8Array} bytes
 * @returns {number}
 */
export function notUtf8(bytes) {
  const isText = (/** @type {number} */ to) => {
    try {
      new TextDecoder("utf-8", {fatal: true}).decode(bytes.subarray(0, to), {stream: true});
      return true;
    } catch {
      return false;
    }
  };
  try {
    new TextDecoder("utf-8", {fatal: true}).decode(bytes);
    return -1;
  } catch {
    let [good, bad] = [0, bytes.length + 1];
    while (bad - good > 1) {
      const middle = (good + bad) >> 1;
      if (isText(middle)) good = middle;
      else bad = middle;
    }
    return Math.min(good, bytes.length - 1);
  }
}

/**
 * Where a piece of at most so many bytes ends, not within a character.
 * @param {Uint8Array} bytes
 * @param {number} from
 * @param {number} most
 * @returns {number}
 */
export function pieceEnd(bytes, from, most) {
  let end = Math.min(bytes.length, from + most);
  if (end === bytes.length) return end;
  for (let back = 0; back < 3 && end > from + 1 && (bytes[end] & 0xc0) === 0x80; back++) end--;
  return end;
}

/**
 * Text in spans, in which escapes of invisible characters are marked.
 * @param {string} text
 * @returns {HTMLElement}
 */
export function markedText(text) {
  const shown = h("span", {});
  for (const piece of visiblePieces(text)) {
    shown.append(piece.odd ? h("span", {class: "odd"}, piece.text) : piece.text);
  }
  return shown;
}

/**
 * A button that shows the next part, until there is none.
 * @param {() => Promise<string>} next appends a part; returns what is left in words, empty for nothing
 * @returns {HTMLElement}
 */
export function moreButton(next) {
  const button = h("button", {type: "button", class: "show-more"});
  const show = async () => {
    button.setAttribute("aria-disabled", "true");
    const left = await next();
    button.removeAttribute("aria-disabled");
    button.textContent = `Show more (${left})`;
    if (left === "") button.remove();
  };
  button.addEventListener("click", () => {
    if (!button.hasAttribute("aria-disabled")) void show();
  });
  void show();
  return button;
}

/**
 * Shows the bytes of a line, of a large one piece by piece.
 * @param {HTMLElement} container
 * @param {AsyncIterator<Uint8Array>} pieces
 * @param {number} size of all pieces
 */
export function showBytes(container, pieces, size) {
  const box = h("pre", {class: "bytes", tabindex: "0", "aria-label": "bytes of the line"});
  const facts = h("p", {class: "note"}, countInWords(size, "byte"));
  const choice = h("button", {type: "button", "aria-pressed": "false"}, "hex");
  /** @type {Uint8Array} */
  let piece = new Uint8Array(0);
  let [isHex, isHexAll, at, base] = [false, false, 0, 0];
  const append = async () => {
    if (at >= piece.length) {
      const {value, done} = await pieces.next();
      [base, at, piece] = [base + piece.length, 0, done || value === undefined ? new Uint8Array(0) : value];
      const odd = notUtf8(piece);
      const isCut = odd >= piece.length - 3 || (base > 0 && odd >= 0 && odd < 3);
      if (odd >= 0 && (!isCut || size <= piece.length)) {
        facts.textContent = `${countInWords(size, "byte")}; not UTF-8 at ${(base + odd).toLocaleString("en")}, so shown as hex`;
        isHex = true;
      }
    }
    const end = isHex ? Math.min(piece.length, at + HEX_AT_ONCE) : pieceEnd(piece, at, BYTES_AT_ONCE);
    if (isHex) {
      const rows = hexRows(piece, at, end, base);
      box.append(...rows.map((row) => `${row.offset}  ${row.hex.padEnd(ROW_BYTES * 3 - 1)}  ${row.text}\n`));
    } else box.append(markedText(new TextDecoder().decode(piece.subarray(at, end))));
    at = end;
    const left = size - base - at;
    return left > 0 && piece.length > 0 ? sizeInWords(left) : "";
  };
  let more = moreButton(append);
  choice.addEventListener("click", () => {
    // From here on in the other form; what came before in this piece is shown again.
    isHexAll = !isHexAll;
    [isHex, at] = [isHexAll, 0];
    choice.setAttribute("aria-pressed", String(isHexAll));
    clear(box);
    const next = moreButton(append);
    more.replaceWith(next);
    if (!more.isConnected) box.after(next);
    more = next;
  });
  container.append(facts, choice, box, more);
}

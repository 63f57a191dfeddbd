// The texts of rows in lists and pictures; the texts of a run of chunks are joined.
import { lowerBound } from "../data/columns.js";
import { h } from "../shell/dom.js";
import { durationInWords } from "../shell/words.js";

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
export const readable = (text) => text.split(ESCAPES).map((piece, place) =>
  place % 2 === 0 ? piece
    : h("span", { class: piece.startsWith("\\x1b") ? "escape" : "escape newline" }, piece));

/** @param {import("../data/recording.js").Pause} pause */
export const pauseWords = ({ ns, awaited, debt }) =>
  `${durationInWords(ns)} · waiting for ${awaited}${debt === 2 ? " · never ended" : ""}`;

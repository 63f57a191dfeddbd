// Writes texts, times, sizes and counts for people, in the words of the command line.

const EMOJI = "\\u2600-\\u27bf\\u{1f000}-\\u{1faff}";
// Controls, invisible characters and odd blanks; the joiner within an emoji is none of them.
const UNSEEN = new RegExp(
  `(?<![${EMOJI}\\ufe0f])\\u200d|\\u200d(?![${EMOJI}])|(?![ \\n\\t\\u200d])[\\p{C}\\p{Z}]`, "gu");

/**
 * The text in pieces; in odd ones, an invisible character is written as an escape.
 * @param {string} text @returns {{text: string, odd: boolean}[]}
 */
export function visiblePieces(text) {
  const pieces = [];
  let done = 0;
  for (const { 0: odd, index } of text.matchAll(UNSEEN)) {
    if (index > done) pieces.push({ text: text.slice(done, index), odd: false });
    done = index + odd.length;
    const code = odd.codePointAt(0) ?? 0;
    const [letter, digits] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
    pieces.push({ text: odd === "\r" ? "\\r" : `\\${letter}${code.toString(16).padStart(digits, "0")}`, odd: true });
  }
  if (done < text.length) pieces.push({ text: text.slice(done), odd: false });
  return pieces;
}

/**
 * The text with control, invisible and bidi characters as escapes; newlines and tabs are kept.
 * @param {string} text
 */
export const visibleText = (text) => visiblePieces(text).map((piece) => piece.text).join("");

/** The steps in which times were measured; 0 for finer ones than are written, NaN if there are no times. */
let stepNs = 0;

/** From now on no time is put into words more exactly than it is known. @param {number} ns NaN if none is */
export function setTimeStep(ns) {
  stepNs = ns;
}

/**
 * A time since the start, between two texts; empty without times.
 * @param {number} ns @param {string} [before] @param {string} [after]
 */
export function secondsInWords(ns, before = "", after = "") {
  return Number.isNaN(stepNs) ? "" : `${before}${(ns / 1e9).toFixed(3)}${after}`;
}

/**
 * A duration in a suitable unit after a text; empty for NaN, and without times.
 * @param {number} ns @param {string} [before]
 */
export function durationInWords(ns, before = "") {
  return Number.isNaN(ns + stepNs) ? "" : before + durationWithUnit(ns);
}

/** @param {number} ns */
function durationWithUnit(ns) {
  if (ns < stepNs) return `<${stepNs % 1e9 ? `${stepNs / 1e6} ms` : `${stepNs / 1e9} s`}`;
  if (stepNs >= 1e9 && ns < 120e9) return `${Math.floor(ns / 1e9)} s`;
  if (ns < 1e6) return ns < 1e3 ? "<1 µs" : `${(ns / 1e3).toFixed(0)} µs`;
  if (ns < 1e9) return `${(ns / 1e6).toFixed(0)} ms`;
  if (ns < 120e9) return `${(ns / 1e9).toFixed(1)} s`;
  const seconds = Math.floor(ns / 1e9);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** A number of bytes in a suitable unit. @param {number} count */
export function sizeInWords(count) {
  if (count < 1000) return `${count} B`;
  const units = ["kB", "MB", "GB"];
  const power = count < 1e6 ? 1 : count < 1e9 ? 2 : 3;
  const number = count / 1000 ** power;
  return `${number.toFixed(number >= 100 && power < 3 ? 0 : 1)} ${units[power - 1]}`;
}

/** A number with its noun, such as "1,200 frames". @param {number} count @param {string} noun */
export function countInWords(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

/** A word as a shell takes it. @param {string} word */
export function shellWord(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\"'\"'") + "'";
}

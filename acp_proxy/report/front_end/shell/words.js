// Writes texts, times, sizes and counts for people, in the words of the command line.

const EMOJI = "\\u2600-\\u27bf\\u{1f000}-\\u{1faff}";
// Control characters, invisible characters and unusual blanks, except a joiner within an emoji.
const JOINERS = `(?<![${EMOJI}\\ufe0f])\\u200d|\\u200d(?![${EMOJI}])`;
const UNSEEN = new RegExp(`(${JOINERS}|(?![ \\n\\t\\u200d])[\\p{C}\\p{Z}])`, "gu");

/**
 * Divides a text into pieces. A piece is `odd` if it is the escape of an invisible character.
 * @param {string} text @returns {{text: string, odd: boolean}[]}
 */
export const visiblePieces = (text) => text.split(UNSEEN).flatMap((piece, at) =>
  piece === "" ? [] : { text: at % 2 ? escapeOf(piece) : piece, odd: at % 2 > 0 });

/** @param {string} odd a character */
function escapeOf(odd) {
  const code = odd.codePointAt(0) ?? 0;
  const [letter, digits] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
  return odd === "\r" ? "\\r" : `\\${letter}${code.toString(16).padStart(digits, "0")}`;
}

/**
 * The text with control, invisible and bidi characters as escapes; newlines and tabs are kept.
 * @param {string} text
 */
export const visibleText = (text) => text.replace(UNSEEN, escapeOf);

/**
 * The resolution of the recorded times in nanoseconds: 0 if it is finer than times are written, and
 * NaN if there are no times.
 */
let stepNs = 0;

/**
 * Sets the resolution of all times that are written from now on.
 * @param {number} ns the resolution in nanoseconds; NaN if no times are known
 */
export const setTimeStep = (ns) => void (stepNs = ns);

/**
 * Writes the time since the start, with a text before and a text after it; empty if no times are
 * known.
 * @param {number} ns @param {string} [before] @param {string} [after]
 */
export const secondsInWords = (ns, before = "", after = "") =>
  Number.isNaN(stepNs) ? "" : `${before}${(ns / 1e9).toFixed(3)}${after}`;

/**
 * Writes a duration in a suitable unit, with a text before it. Empty for NaN, and if no times are
 * known.
 * @param {number} ns @param {string} [before]
 */
export const durationInWords = (ns, before = "") =>
  Number.isNaN(ns + stepNs) ? "" : before + durationWithUnit(ns);

/** @param {number} ns */
function durationWithUnit(ns) {
  if (ns < stepNs) return `<${stepNs % 1e9 ? `${stepNs / 1e6} ms` : `${stepNs / 1e9} s`}`;
  const seconds = Math.floor(ns / 1e9);
  if (stepNs >= 1e9 && ns < 120e9) return `${seconds} s`;
  if (ns < 1e3) return "<1 µs";
  if (ns < 1e6) return `${(ns / 1e3).toFixed(0)} µs`;
  if (ns < 1e9) return `${(ns / 1e6).toFixed(0)} ms`;
  if (ns < 120e9) return `${(ns / 1e9).toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Writes a number of bytes in a suitable unit. @param {number} count */
export function sizeInWords(count) {
  if (count < 1000) return `${count} B`;
  const power = count < 1e6 ? 1 : count < 1e9 ? 2 : 3;
  const number = count / 1000 ** power;
  return `${number.toFixed(number >= 100 && power < 3 ? 0 : 1)} ${"kMG"[power - 1]}B`;
}

/**
 * Writes a number with its noun, such as "1,200 frames".
 * @param {number} count @param {string} noun
 */
export const countInWords = (count, noun) =>
  `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

/** Quotes a word for a shell, if necessary. @param {string} word */
export const shellWord = (word) =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\"'\"'")}'`;

/** The message of an error. @param {unknown} error */
export const messageOf = (error) => error instanceof Error ? error.message : String(error);

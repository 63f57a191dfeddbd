// Reads the output of a program as lines, each in pieces of one style. Line ends, carriage returns,
// backspaces and erased lines have the same effect as in a terminal. Sequences that move the cursor
// to other places are left out.
import { visibleText } from "../shell/dom.js";

/** @typedef {{text: string, classes: string}} AnsiPiece */

const TOKENS = new RegExp([
  /([^\x00-\x1f\x7f]+)/,
  /\x1b\[([0-?]{0,256})[ -/]{0,4}([@-~])/,
  // Sequences that print nothing, such as titles and the addresses of links.
  /\x1b[\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)/,
  /\x1b(?:[ #%()*+\-./][0-~]|[0-Z\\\x60-~=>])|\x07/,
  /([^])/,
].map((pattern) => pattern.source).join("|"), "g");
const MARKS = ["", "bold", "faint", "italic", "underline", "", "", "inverse", "", "struck"];

/**
 * Changes a style, and returns its classes.
 * @param {Map<string, string>} style by "fg", "bg" or a mark
 * @param {string} parameters
 */
function styledBy(style, parameters) {
  // 38:2::r:g:b names a colour space, which is empty.
  const numbers = parameters.replaceAll("::", ":").split(/[;:]/, 32).map(Number);
  for (let at = 0; at < numbers.length; at++) {
    const code = numbers[at];
    const side = code % 60 < 40 ? "fg" : "bg";
    if (code === 0) style.clear();
    else if (code < 10) style.set(MARKS[code], "");
    else if (code < 30) [code - 20, code - 21].forEach((mark) => style.delete(MARKS[mark]));
    else if (code === 38 || code === 48) {
      // Of the 256 and the 16 million colours, only the sixteen basic ones are shown.
      const index = numbers[at + 1] === 5 ? numbers[at + 2] : 16;
      if (index < 16) style.set(side, `-${index % 8}`);
      else style.delete(side);
      at += numbers[at + 1] === 5 ? 2 : 4;
    } else if (code === 39 || code === 49) style.delete(side);
    else if (code < 50 || (code >= 90 && code < 108)) style.set(side, `-${code % 10}`);
  }
  const shown = [...style].filter(([name]) => name !== "fg" || !style.has("bg"));
  return shown.map(([name, colour]) => `ansi-${name}${colour}`).join(" ");
}

/**
 * The lines of a program's output as a terminal would show them.
 * @param {string} text @returns {AnsiPiece[][]}
 */
export function ansiLines(text) {
  const style = new Map();
  /** The characters of each line. @type {AnsiPiece[][]} */
  const lines = [[]];
  let [line, column, classes] = [lines[0], 0, ""];
  const print = (/** @type {string} */ characters) => {
    for (const one of characters) line[column++] = { text: one, classes };
  };
  for (const [, plain, parameters, final, character] of text.matchAll(TOKENS)) {
    if (plain) print(plain);
    else if (final === "m") classes = styledBy(style, parameters);
    else if (final === "K" && parameters !== "1") {
      if (parameters === "2") column = 0;
      line.length = column;
    } else if (character === "\n" || (final === "J" && parameters !== "1")) {
      // The text of a cleared screen is kept, as in a terminal that scrolls.
      [line, column] = [[], 0];
      lines.push(line);
    } else if (character === "\r") column = 0;
    else if (character === "\b") column = Math.max(0, column - 1);
    else if (character === "\t") print(" ".repeat(8 - (column % 8)));
    else if (character === "\x7f") print("␡");
    else if (character) print(String.fromCharCode(0x2400 + character.charCodeAt(0)));
  }
  if (line.length === 0 && lines.length > 1) lines.pop();
  return lines;
}

/** Joins the characters of a line to pieces of one style. @param {AnsiPiece[]} characters */
export function ansiPieces(characters) {
  /** @type {AnsiPiece[]} */
  const pieces = [];
  for (const { text, classes } of characters) {
    const last = pieces.at(-1);
    if (last?.classes === classes) last.text += text;
    else pieces.push({ text, classes });
  }
  return pieces.map(({ text, classes }) => ({ text: visibleText(text), classes }));
}

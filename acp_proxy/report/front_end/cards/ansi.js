// Reads the output of a program as the lines that a terminal would show, in pieces with a style; bounded for any input.
import {visibleText} from "../shell/words.js";

/** @typedef {{text: string, classes: string}} AnsiPiece */
/** @typedef {{characters: string[], classes: string[]}} AnsiLine */

const MOST_LINES = 20_000;
const WIDEST_LINE = 20_000;
// How far a program can move the cursor at once.
const FARTHEST = 500;
const PLAIN_RUN = /[^\x00-\x1f\x7f]+/y;
const CONTROL_SEQUENCE = /\x1b\[([0-?]{0,256})[ -/]{0,4}([@-~])/y;
// Titles, links and the like, which say nothing: of a link only its text is shown.
const STRING_SEQUENCE = /\x1b[\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)/y;
const SHORT_SEQUENCE = /\x1b(?:[ #%()*+\-./][0-~]|[0-Z\\\x60-~=>])/y;
/** @type {Map<number, string>} */
const MARKS = new Map([[1, "bold"], [2, "faint"], [3, "italic"], [4, "underline"], [7, "inverse"], [9, "struck"]]);
const PALETTE = [
  [0, 0, 0], [205, 0, 0], [0, 205, 0], [205, 205, 0], [0, 0, 238], [205, 0, 205], [0, 205, 205], [229, 229, 229],
  [127, 127, 127], [255, 0, 0], [0, 255, 0], [255, 255, 0], [92, 92, 255], [255, 0, 255], [0, 255, 255], [255, 255, 255],
];

/**
 * The one of sixteen colours that is nearest, so that every text can be read.
 * @param {number[]} colour red, green and blue
 * @returns {number}
 */
export function nearestColour(colour) {
  const far = PALETTE.map((known) => known.reduce((sum, level, index) => sum + (level - (colour[index] || 0)) ** 2, 0));
  return far.indexOf(Math.min(...far));
}

/**
 * One of 256 colours as one of sixteen.
 * @param {number} index
 * @returns {number}
 */
function basicColour(index) {
  if (index < 16) return index;
  if (index >= 232) return nearestColour(Array(3).fill(8 + (index - 232) * 10));
  const steps = [Math.floor((index - 16) / 36), Math.floor((index - 16) / 6) % 6, (index - 16) % 6];
  return nearestColour(steps.map((step) => (step === 0 ? 0 : 55 + step * 40)));
}

/** The lines, the cursor in them, and the style of what is printed next. */
class AnsiScreen {
  /** @type {AnsiLine[]} */
  lines = [{characters: [], classes: []}];
  row = 0;
  column = 0;
  /** @type {Map<string, string>} by "fg", "bg" or a mark */
  style = new Map();
  classes = "";

  /** @param {string} text */
  print(text) {
    for (const character of text) {
      if (this.column >= WIDEST_LINE) this.newline();
      const {characters, classes} = this.lines[this.row];
      for (; characters.length < this.column; classes.push("")) characters.push(" ");
      characters[this.column] = character;
      classes[this.column++] = this.classes;
    }
  }

  newline() {
    this.column = 0;
    this.row++;
    if (this.row === this.lines.length) this.lines.push({characters: [], classes: []});
    if (this.lines.length < MOST_LINES * 2) return;
    this.lines.splice(0, MOST_LINES);
    this.row -= MOST_LINES;
  }

  /**
   * @param {string} parameters
   * @param {string} final
   */
  control(parameters, final) {
    if (final === "m") return this.setStyle(parameters);
    const count = Math.min(parseInt(parameters, 10) || 1, FARTHEST);
    const {characters, classes} = this.lines[this.row];
    if (final === "A") this.row = Math.max(0, this.row - count);
    else if (final === "B") this.row = Math.min(this.row + count, this.lines.length - 1);
    else if (final === "C") this.column += count;
    else if (final === "D") this.column = Math.max(0, this.column - count);
    else if (final === "G") this.column = count - 1;
    else if (final === "K" && parameters !== "1") {
      const kept = parameters === "2" ? 0 : this.column;
      characters.splice(kept);
      classes.splice(kept);
    } else if (final === "J" && parameters !== "1") {
      // What was there before a screen was cleared stays, as in a terminal that scrolls.
      this.row = this.lines.length - 1;
      this.newline();
    }
  }

  /** @param {string} parameters */
  setStyle(parameters) {
    const {style} = this;
    const numbers = parameters.split(/[;:]/, 32).map(Number);
    for (let at = 0; at < numbers.length; at++) {
      const code = numbers[at];
      const side = code % 60 < 40 ? "fg" : "bg";
      if (code === 0) style.clear();
      else if (MARKS.has(code)) style.set(`${MARKS.get(code)}`, "");
      else if (code > 20 && code < 30) [code - 20, code - 21].forEach((mark) => style.delete(MARKS.get(mark) ?? ""));
      else if (code === 38 || code === 48) {
        const isIndex = numbers[at + 1] === 5;
        // 38:2::r:g:b names a colour space, which is empty.
        const skipped = !isIndex && parameters.includes("::") ? 3 : 2;
        style.set(side, `-${isIndex ? basicColour(numbers[at + 2]) : nearestColour(numbers.slice(at + skipped, at + skipped + 3))}`);
        at += isIndex ? 2 : skipped + 2;
      } else if (code === 39 || code === 49) style.delete(side);
      else if ((code >= 30 && code < 50) || (code >= 90 && code < 108)) style.set(side, `-${(code % 10) + (code >= 90 ? 8 : 0)}`);
    }
    this.classes = [...style].map(([name, colour]) => `ansi-${name}${colour}`).join(" ");
  }
}

/**
 * The lines of a program's output as a terminal would show them.
 * @param {string} text
 * @returns {{count: number, line: (index: number) => AnsiPiece[]}}
 */
export function ansiLines(text) {
  const screen = new AnsiScreen();
  for (let at = 0; at < text.length; ) {
    const patterns = text[at] === "\x1b" ? [CONTROL_SEQUENCE, STRING_SEQUENCE, SHORT_SEQUENCE] : [PLAIN_RUN];
    /** @type {RegExpExecArray | null} */
    let match = null;
    for (const pattern of patterns) {
      pattern.lastIndex = at;
      match ??= pattern.exec(text);
    }
    if (match === null) controlCharacter(screen, text[at]);
    else if (text[at] !== "\x1b") screen.print(match[0]);
    else if (match[2]) screen.control(match[1], match[2]);
    at += match === null ? 1 : match[0].length;
  }
  if (screen.lines.length > 1 && screen.lines.at(-1)?.characters.length === 0) screen.lines.pop();
  return {count: screen.lines.length, line: (index) => ansiPieces(screen.lines[index])};
}

/**
 * @param {AnsiScreen} screen
 * @param {string} character
 */
function controlCharacter(screen, character) {
  if (character === "\n") screen.newline();
  else if (character === "\r") screen.column = 0;
  else if (character === "\b") screen.column = Math.max(0, screen.column - 1);
  else if (character === "\t") screen.print(" ".repeat(8 - (screen.column % 8)));
  else if (character !== "\x07") screen.print(character === "\x7f" ? "␡" : String.fromCharCode(0x2400 + character.charCodeAt(0)));
}

/**
 * @param {AnsiLine} line
 * @returns {AnsiPiece[]}
 */
function ansiPieces({characters, classes}) {
  const pieces = [];
  for (let from = 0, to = 0; from < characters.length; from = to) {
    while (to < characters.length && classes[to] === classes[from]) to++;
    pieces.push({text: visibleText(characters.slice(from, to).join("")), classes: classes[from]});
  }
  return pieces;
}

// Reads the output of a program as the lines that a terminal would show, in pieces with a style; bounded for any input.
import {visibleText} from "../shell/words.js";

/** @typedef {{text: string, classes: string}} AnsiPiece */

const MOST_LINES = 20_000;
const WIDEST_LINE = 20_000;
// How far a program can move the cursor at once.
const FARTHEST = 500;
const TOKENS = new RegExp([
  /([^\x00-\x1f\x7f]+)/,
  /\x1b\[([0-?]{0,256})[ -/]{0,4}([@-~])/,
  // Titles, links and the like, which say nothing: of a link only its text is shown.
  /\x1b[\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)/,
  /\x1b(?:[ #%()*+\-./][0-~]|[0-Z\\\x60-~=>])/,
  /([^])/,
].map((pattern) => pattern.source).join("|"), "g");
/** @type {Map<number, string>} */
const MARKS = new Map([[1, "bold"], [2, "faint"], [3, "italic"], [4, "underline"], [7, "inverse"], [9, "struck"]]);

/** The one of eight colours that is most like a colour. @param {number[]} levels of red, green and blue */
export function nearestColour([red = 0, green = 0, blue = 0]) {
  const half = Math.max(red, green, blue) / 2;
  return (red > half ? 1 : 0) + (green > half ? 2 : 0) + (blue > half ? 4 : 0);
}

/** One of 256 colours as one of eight: after sixteen, a cube of six levels a side, and greys. @param {number} index */
function basicColour(index) {
  if (index < 16 || index > 231) return index < 16 ? index % 8 : 7;
  return nearestColour([36, 6, 1].map((step) => Math.floor((index - 16) / step) % 6));
}

/** The lines, the cursor in them, and the style of what is printed next. */
class AnsiScreen {
  /** By character. @type {AnsiPiece[][]} */
  lines = [[]];
  row = 0;
  column = 0;
  /** @type {Map<string, string>} by "fg", "bg" or a mark */
  style = new Map();
  classes = "";

  /** @param {string} characters */
  print(characters) {
    for (const text of characters) {
      if (this.column >= WIDEST_LINE) this.newline();
      const line = this.lines[this.row];
      while (line.length < this.column) line.push({text: " ", classes: ""});
      line[this.column++] = {text, classes: this.classes};
    }
  }

  newline() {
    this.column = 0;
    this.row++;
    if (this.row === this.lines.length) this.lines.push([]);
    if (this.lines.length < MOST_LINES * 2) return;
    this.lines.splice(0, MOST_LINES);
    this.row -= MOST_LINES;
  }

  /** @param {string} parameters @param {string} final */
  control(parameters, final) {
    const count = Math.min(parseInt(parameters, 10) || 1, FARTHEST);
    if (final === "m") this.setStyle(parameters);
    else if (final === "A") this.row = Math.max(0, this.row - count);
    else if (final === "B") this.row = Math.min(this.row + count, this.lines.length - 1);
    else if (final === "C") this.column += count;
    else if (final === "D") this.column = Math.max(0, this.column - count);
    else if (final === "G") this.column = count - 1;
    else if (final === "K" && parameters !== "1") this.lines[this.row].splice(parameters === "2" ? 0 : this.column);
    else if (final === "J" && parameters !== "1") {
      // What was there before a screen was cleared stays, as in a terminal that scrolls.
      this.row = this.lines.length - 1;
      this.newline();
    }
  }

  /** @param {string} parameters */
  setStyle(parameters) {
    const {style} = this;
    // 38:2::r:g:b names a colour space, which is empty.
    const numbers = parameters.replaceAll("::", ":").split(/[;:]/, 32).map(Number);
    for (let at = 0; at < numbers.length; at++) {
      const code = numbers[at];
      const side = code % 60 < 40 ? "fg" : "bg";
      if (code === 0) style.clear();
      else if (MARKS.has(code)) style.set(`${MARKS.get(code)}`, "");
      else if (code > 20 && code < 30) [code - 20, code - 21].forEach((mark) => style.delete(MARKS.get(mark) ?? ""));
      else if (code === 38 || code === 48) {
        const isIndex = numbers[at + 1] === 5;
        style.set(side, `-${isIndex ? basicColour(numbers[at + 2]) : nearestColour(numbers.slice(at + 2, at + 5))}`);
        at += isIndex ? 2 : 4;
      } else if (code === 39 || code === 49) style.delete(side);
      else if ((code >= 30 && code < 50) || (code >= 90 && code < 108)) style.set(side, `-${code % 10}`);
    }
    const shown = [...style].filter(([name]) => name !== "fg" || !style.has("bg"));
    this.classes = shown.map(([name, colour]) => `ansi-${name}${colour}`).join(" ");
  }

  /** @param {string} character */
  controlCharacter(character) {
    if (character === "\n") this.newline();
    else if (character === "\r") this.column = 0;
    else if (character === "\b") this.column = Math.max(0, this.column - 1);
    else if (character === "\t") this.print(" ".repeat(8 - (this.column % 8)));
    else if (character !== "\x07") this.print(character === "\x7f" ? "␡" : String.fromCharCode(0x2400 + character.charCodeAt(0)));
  }
}

/**
 * The lines of a program's output as a terminal would show them.
 * @param {string} text @returns {{count: number, line: (index: number) => AnsiPiece[]}}
 */
export function ansiLines(text) {
  const screen = new AnsiScreen();
  for (const [, plain, parameters, final, character] of text.matchAll(TOKENS)) {
    if (plain) screen.print(plain);
    else if (final) screen.control(parameters, final);
    else if (character) screen.controlCharacter(character);
  }
  const {lines} = screen;
  if (lines.length > 1 && lines.at(-1)?.length === 0) lines.pop();
  return {count: lines.length, line: (index) => ansiPieces(lines[index])};
}

/** @param {AnsiPiece[]} characters @returns {AnsiPiece[]} */
function ansiPieces(characters) {
  /** @type {AnsiPiece[]} */
  const pieces = [];
  for (const {text, classes} of characters) {
    const last = pieces.at(-1);
    if (last?.classes === classes) last.text += text;
    else pieces.push({text, classes});
  }
  return pieces.map(({text, classes}) => ({text: visibleText(text), classes}));
}

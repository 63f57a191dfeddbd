// Reads the output of a program as the lines that a terminal would show, in pieces with a style; bounded for any input.
import {visibleText} from "../detail/values.js";

/** @typedef {{text: string, classes: string, link: string}} AnsiPiece */
/** @typedef {{fg: number, bg: number, marks: string[], link: string}} AnsiStyle colours are -1 to 15 */
/** @typedef {{characters: string[], styles: number[]}} AnsiLine */

const MOST_LINES = 20_000;
const MOST_STYLES = 1000;
const MOST_NUMBERS = 32;
const WIDEST_LINE = 20_000;
// How far a program can move the cursor up, down or to the side at once.
const FARTHEST = 500;
const LONGEST_STRING_SEQUENCE = 4096;
const PLAIN_RUN = /[^\x00-\x1f\x7f]+/y;
const CONTROL_SEQUENCE = /\x1b\[([0-?]{0,256})[ -/]{0,4}([@-~])/y;
const STRING_SEQUENCE = new RegExp(`\\x1b([\\]PX^_])([^\\x07\\x1b]{0,${LONGEST_STRING_SEQUENCE}})(?:\\x07|\\x1b\\\\)`, "y");
const SHORT_SEQUENCE = /\x1b(?:[ #%()*+\-./][0-~]|[0-Z\\\x60-~=>])/y;
const NEW_PAGE = new Set(["?1049h", "?1049l", "?47h", "?47l"]);
/** @type {Map<number, string>} */
const MARKS = new Map([[1, "bold"], [2, "faint"], [3, "italic"], [4, "underline"], [7, "inverse"], [9, "struck"]]);
/** @type {Map<number, string[]>} */
const UNMARKS = new Map([[22, ["bold", "faint"]], [23, ["italic"]], [24, ["underline"]], [27, ["inverse"]], [29, ["struck"]]]);
const PALETTE = [
  [0, 0, 0], [205, 0, 0], [0, 205, 0], [205, 205, 0], [0, 0, 238], [205, 0, 205], [0, 205, 205], [229, 229, 229],
  [127, 127, 127], [255, 0, 0], [0, 255, 0], [255, 255, 0], [92, 92, 255], [255, 0, 255], [0, 255, 255], [255, 255, 255],
];
/** @type {AnsiStyle} */
const PLAIN_STYLE = {fg: -1, bg: -1, marks: [], link: ""};

/**
 * The one of sixteen colours that is nearest; so every colour can be read in light and in dark.
 * @param {number} red
 * @param {number} green
 * @param {number} blue
 * @returns {number}
 */
export function nearestColour(red, green, blue) {
  const far = PALETTE.map(([r, g, b]) => (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2);
  return far.indexOf(Math.min(...far));
}

/**
 * One of 256 colours as one of sixteen; -1 for no such colour.
 * @param {number} index
 * @returns {number}
 */
function basicColour(index) {
  if (!(index >= 0 && index <= 255)) return -1;
  if (index < 16) return index;
  if (index >= 232) return nearestColour(8 + (index - 232) * 10, 8 + (index - 232) * 10, 8 + (index - 232) * 10);
  const level = (/** @type {number} */ step) => (step === 0 ? 0 : 55 + step * 40);
  return nearestColour(level(Math.floor((index - 16) / 36)), level(Math.floor((index - 16) / 6) % 6), level((index - 16) % 6));
}

/** The lines, the cursor in them, and the style of what is printed next. */
class AnsiScreen {
  /** @type {AnsiLine[]} */
  lines = [{characters: [], styles: []}];
  /** @type {AnsiStyle[]} */
  styles = [PLAIN_STYLE];
  /** @type {Map<string, number>} */
  known = new Map();
  dropped = 0;
  row = 0;
  column = 0;
  // The line that the program takes for the first of the screen.
  top = 0;
  style = 0;

  /** @param {string} text */
  print(text) {
    for (const character of text) {
      if (this.column >= WIDEST_LINE) this.newline();
      this.put(this.lines[this.row], character);
    }
  }

  /**
   * @param {AnsiLine} line
   * @param {string} character
   */
  put(line, character) {
    while (line.characters.length < this.column) {
      line.characters.push(" ");
      line.styles.push(0);
    }
    line.characters[this.column] = character;
    line.styles[this.column++] = this.style;
  }

  newline() {
    this.column = 0;
    this.moveTo(this.row + 1);
  }

  /** @param {number} row */
  moveTo(row) {
    this.row = Math.max(this.top, row);
    while (this.lines.length <= this.row) this.lines.push({characters: [], styles: []});
    const excess = this.lines.length - MOST_LINES;
    if (excess < 1000) return;
    this.lines.splice(0, excess);
    this.dropped += excess;
    this.row = Math.max(0, this.row - excess);
    this.top = Math.max(0, this.top - excess);
  }

  /** What was printed before stays in the history, as it would in a terminal that scrolls. */
  newPage() {
    if (this.lines.slice(this.top).some((line) => line.characters.length > 0)) this.top = this.lines.length;
    this.column = 0;
    this.moveTo(this.top);
  }

  /**
   * @param {string} parameters
   * @param {string} final
   */
  control(parameters, final) {
    if (final === "m") this.setStyle(parameters);
    else if (NEW_PAGE.has(parameters + final)) this.newPage();
    if (final === "m" || /[<-?]/.test(parameters)) return;
    const [first, second] = parameters.split(";").map((one) => Math.min(Number(one) || 0, FARTHEST));
    const count = Math.max(1, first);
    const line = this.lines[this.row];
    if (final === "A" || final === "F") this.moveTo(this.row - count);
    else if (final === "B" || final === "E") this.moveTo(Math.min(this.row + count, this.lines.length - 1));
    else if (final === "C") this.column = Math.min(WIDEST_LINE - 1, this.column + count);
    else if (final === "D") this.column = Math.max(0, this.column - count);
    else if (final === "G" || final === "\x60") this.column = count - 1;
    else if (final === "H" || final === "f") this.moveTo(this.top + count - 1);
    else if (final === "J" && first >= 2) this.newPage();
    else if (final === "J" && first === 0) this.lines.length = this.row + 1;
    if (final === "H" || final === "f") this.column = Math.max(1, second ?? 1) - 1;
    if (final === "E" || final === "F") this.column = 0;
    if (final === "K" && first === 1) this.erase(line, 0, this.column + 1);
    else if (final === "K" && first === 2) this.erase(line, 0, Infinity);
    else if (final === "K" || (final === "J" && first === 0)) this.erase(line, this.column, Infinity);
    else if (final === "X") this.erase(line, this.column, this.column + count);
    else if (final === "P") [line.characters, line.styles].forEach((cells) => cells.splice(this.column, count));
  }

  /**
   * @param {AnsiLine} line
   * @param {number} from
   * @param {number} to
   */
  erase(line, from, to) {
    if (to >= line.characters.length) {
      line.characters.length = line.styles.length = Math.min(from, line.characters.length);
    } else {
      line.characters.fill(" ", from, to);
      line.styles.fill(0, from, to);
    }
  }

  /** @param {string} parameters */
  setStyle(parameters) {
    const numbers = parameters.split(/[;:]/, MOST_NUMBERS).map(Number);
    const {link} = this.styles[this.style];
    let {fg, bg, marks} = this.styles[this.style];
    for (let at = 0; at < numbers.length; at++) {
      const code = numbers[at];
      const mark = MARKS.get(code);
      const unmark = UNMARKS.get(code);
      if (code === 0) [fg, bg, marks] = [-1, -1, []];
      else if (mark !== undefined) marks = [...new Set([...marks, mark])].sort();
      else if (unmark !== undefined) marks = marks.filter((one) => !unmark.includes(one));
      else if (code === 38 || code === 48) {
        const isIndex = numbers[at + 1] === 5;
        // 38:2::r:g:b has an empty colour space, which became a zero.
        const skip = !isIndex && parameters.includes(`${code}:2::`) ? 1 : 0;
        const [r, g, b] = numbers.slice(at + 2 + skip);
        const colour = isIndex ? basicColour(r) : numbers[at + 1] === 2 ? nearestColour(r || 0, g || 0, b || 0) : -1;
        [fg, bg] = code === 38 ? [colour, bg] : [fg, colour];
        at += isIndex ? 2 : 4 + skip;
      } else if (code === 39) fg = -1;
      else if (code === 49) bg = -1;
      else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) fg = code < 40 ? code - 30 : code - 82;
      else if ((code >= 40 && code <= 47) || (code >= 100 && code <= 107)) bg = code < 50 ? code - 40 : code - 92;
    }
    this.use({fg, bg, marks, link});
  }

  /** @param {AnsiStyle} style */
  use(style) {
    const key = JSON.stringify(style);
    const known = this.known.get(key);
    if (known !== undefined) this.style = known;
    else if (this.styles.length < MOST_STYLES) {
      this.style = this.styles.push(style) - 1;
      this.known.set(key, this.style);
    } else this.style = 0;
  }
}

/**
 * The lines of a program's output as a terminal would show them.
 * @param {string} text
 * @returns {{count: number, dropped: number, line: (index: number) => AnsiPiece[]}} `dropped` counts lines that were
 *   left out at the beginning
 */
export function ansiLines(text) {
  const screen = new AnsiScreen();
  for (let at = 0; at < text.length; ) {
    const match = matchAt(PLAIN_RUN, text, at) ?? matchAt(CONTROL_SEQUENCE, text, at)
      ?? matchAt(STRING_SEQUENCE, text, at) ?? matchAt(SHORT_SEQUENCE, text, at);
    at += match === null ? 1 : match[0].length;
    if (match === null) controlCharacter(screen, text[at - 1]);
    else if (text[at - match[0].length] !== "\x1b") screen.print(match[0]);
    else if (match[0][1] === "[") screen.control(match[1], match[2]);
    else if (match[1] === "]" && match[2].startsWith("8;")) {
      screen.use({...screen.styles[screen.style], link: match[2].replace(/^8;[^;]*;?/, "").slice(0, 500)});
    } else if (match[0] === "\x1bc") screen.newPage();
  }
  while (screen.lines.length > 1 && screen.lines[screen.lines.length - 1].characters.length === 0) screen.lines.pop();
  return {
    count: screen.lines.length,
    dropped: screen.dropped,
    line: (index) => ansiPieces(screen.lines[index], screen.styles),
  };
}

/**
 * @param {RegExp} pattern a sticky one
 * @param {string} text
 * @param {number} at
 */
function matchAt(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/**
 * @param {AnsiScreen} screen
 * @param {string} character
 */
function controlCharacter(screen, character) {
  if (character === "\n" || character === "\v" || character === "\f") screen.newline();
  else if (character === "\r") screen.column = 0;
  else if (character === "\b") screen.column = Math.max(0, screen.column - 1);
  else if (character === "\t") screen.print(" ".repeat(8 - (screen.column % 8)));
  else if (character !== "\x07") screen.print(character === "\x7f" ? "␡" : String.fromCharCode(0x2400 + character.charCodeAt(0)));
}

/**
 * @param {AnsiLine} line
 * @param {AnsiStyle[]} styles
 * @returns {AnsiPiece[]}
 */
function ansiPieces(line, styles) {
  /** @type {AnsiPiece[]} */
  const pieces = [];
  for (let from = 0; from < line.styles.length; ) {
    const style = line.styles[from];
    let end = from + 1;
    while (end < line.styles.length && line.styles[end] === style) end++;
    const text = visibleText(line.characters.slice(from, end).join(""));
    pieces.push({text, classes: ansiClasses(styles[style]), link: visibleText(styles[style].link)});
    from = end;
  }
  return pieces;
}

/** @param {AnsiStyle} style */
function ansiClasses({fg, bg, marks, link}) {
  const names = marks.map((mark) => `ansi-${mark}`);
  if (fg >= 0) names.push(`ansi-fg-${fg}`);
  if (bg >= 0) names.push(`ansi-bg-${bg}`);
  if (link !== "") names.push("ansi-link");
  return names.join(" ");
}

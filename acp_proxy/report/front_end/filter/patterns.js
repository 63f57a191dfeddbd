// Patterns with *, ? and [...], as Python's fnmatchcase reads them.

/** @typedef {{negated: boolean, ranges: number[][]}} CharacterSet */
/** @typedef {number | CharacterSet | null} Place a character, a set of them, or any (null) */

/**
 * Compiles a pattern to a test of whole texts.
 * @param {string} pattern
 * @returns {(text: string) => boolean}
 */
export function patternTest(pattern) {
  return /[?[]/.test(pattern) ? anyPatternTest(pattern) : starPatternTest(pattern.split("*"));
}

/**
 * @param {string[]} parts of a pattern whose only special character is the star
 * @returns {(text: string) => boolean}
 */
function starPatternTest(parts) {
  const beginning = parts[0];
  const end = parts[parts.length - 1];
  const between = parts.slice(1, -1);
  if (parts.length === 1) return (text) => text === beginning;
  return (text) => {
    if (!text.startsWith(beginning) || !text.endsWith(end)) return false;
    let place = beginning.length;
    for (const part of between) {
      const found = text.indexOf(part, place);
      if (found < 0) return false;
      place = found + part.length;
    }
    return place + end.length <= text.length;
  };
}

/**
 * @param {string} pattern
 * @returns {(text: string) => boolean}
 */
function anyPatternTest(pattern) {
  const parts = partsOf(codePoints(pattern));
  const last = parts.length - 1;
  return (text) => {
    const characters = codePoints(text);
    const end = characters.length - parts[last].length;
    if (last === 0) {
      return end === 0 && matchesAt(parts[0], characters, 0);
    }
    let place = parts[0].length;
    if (place > end || !matchesAt(parts[0], characters, 0) || !matchesAt(parts[last], characters, end)) {
      return false;
    }
    for (let n = 1; n < last; n++) {
      while (place + parts[n].length <= end && !matchesAt(parts[n], characters, place)) {
        place++;
      }
      place += parts[n].length;
      if (place > end) {
        return false;
      }
    }
    return true;
  };
}

/** @param {string} text */
function codePoints(text) {
  return Array.from(text, (character) => /** @type {number} */ (character.codePointAt(0)));
}

const STAR = 0x2a;
const ANY_ONE = 0x3f;
const OPEN = 0x5b;
const CLOSE = 0x5d;
const NOT = 0x21;
const DASH = 0x2d;

/**
 * @param {Place[]} part
 * @param {number[]} characters
 * @param {number} at
 */
function matchesAt(part, characters, at) {
  return part.every((place, n) => {
    const found = characters[at + n];
    if (place === null || typeof place === "number") {
      return place === null || place === found;
    }
    return place.negated !== place.ranges.some(([first, last]) => first <= found && found <= last);
  });
}

/**
 * Splits a pattern at its stars.
 * @param {number[]} pattern
 * @returns {Place[][]}
 */
function partsOf(pattern) {
  /** @type {Place[][]} */
  const parts = [[]];
  for (let at = 0; at < pattern.length; at++) {
    const end = pattern[at] === OPEN ? endOfSet(pattern, at + 1) : -1;
    if (pattern[at] === STAR) {
      parts.push([]);
    } else if (end > 0) {
      parts[parts.length - 1].push(setOf(pattern.slice(at + 1, end)));
      at = end;
    } else {
      parts[parts.length - 1].push(pattern[at] === ANY_ONE ? null : pattern[at]);
    }
  }
  return parts;
}

/**
 * Where the bracket of a set is closed; -1 if it never is.
 * @param {number[]} pattern
 * @param {number} at
 */
function endOfSet(pattern, at) {
  const first = at + (pattern[at] === NOT ? 1 : 0);
  return pattern.indexOf(CLOSE, first + (pattern[first] === CLOSE ? 1 : 0));
}

/**
 * Reads what is in the brackets of a set; a range that is empty does not count.
 * @param {number[]} stuff
 * @returns {CharacterSet}
 */
function setOf(stuff) {
  const chunks = [];
  let from = 0;
  let dash = stuff.indexOf(DASH, stuff[0] === NOT ? 2 : 1);
  while (dash >= 0) {
    chunks.push(stuff.slice(from, dash));
    from = dash + 1;
    dash = stuff.indexOf(DASH, dash + 3);
  }
  if (from < stuff.length) {
    chunks.push(stuff.slice(from));
  } else {
    chunks[chunks.length - 1].push(DASH);
  }
  for (let n = chunks.length - 1; n > 0; n--) {
    const before = chunks[n - 1];
    if (before[before.length - 1] > chunks[n][0]) {
      chunks.splice(n - 1, 2, [...before.slice(0, -1), ...chunks[n].slice(1)]);
    }
  }
  const negated = chunks[0][0] === NOT;
  if (negated) {
    chunks[0].shift();
  }
  const ranges = chunks.flat().map((one) => [one, one]);
  for (let n = 1; n < chunks.length; n++) {
    ranges.push([/** @type {number} */ (chunks[n - 1].at(-1)), chunks[n][0]]);
  }
  return {negated, ranges};
}

// Words of messages about filters as Python writes them, and texts without their case.

const ALIKE = 0.6;
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Zs}]/u;
const CHANGES = /[\p{CWCF}\u01f0\u0390\u03b0\u1e96-\u1e99\u1f50-\u1f56\u1fb6-\u1fd7\u1fe2-\u1fe7\u1ff6]/gu;

/**
 * Writes a text as Python's `repr` does.
 * @param {string} text
 */
export function quoted(text) {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const written = Array.from(text, (one) => {
    if (one === "\\" || one === quote) return `\\${one}`;
    if (one === " " || !UNPRINTABLE.test(one)) return one;
    const short = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }[one];
    const code = /** @type {number} */ (one.codePointAt(0));
    const [mark, width] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
    return short ?? `\\${mark}${code.toString(16).padStart(Number(width), "0")}`;
  });
  return quote + written.join("") + quote;
}

/**
 * Returns a text in which differences of case are gone, such that two texts are equal where they
 * are equal for Python's `casefold`.
 * @param {string} text
 */
export function withoutCase(text) {
  const lower = (/** @type {string} */ one) => one.toLowerCase();
  return text.toLowerCase().replace(CHANGES, (one) => Array.from(one.toUpperCase(), lower).join(""));
}

/**
 * The most similar word, or else the only one that begins so; may be empty.
 * @param {string} word
 * @param {string[]} words
 */
export function nearestWord(word, words) {
  let [best, near] = [0, ""];
  for (const one of words) {
    const score = (2 * alike(one, word)) / (one.length + Array.from(word).length);
    if (score >= ALIKE && (score > best || (score === best && one > near))) [best, near] = [score, one];
  }
  const beginning = words.filter((one) => word !== "" && one.startsWith(word));
  return near || (beginning.length === 1 ? beginning[0] : "");
}

/**
 * Characters of the longest common texts of two words, then of what is before and after them.
 * @param {string} a
 * @param {string} b
 * @returns {number}
 */
function alike(a, b) {
  let [length, inA, inB] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    for (let j = 0; j < b.length; j++) {
      let n = 0;
      while (i + n < a.length && j + n < b.length && a[i + n] === b[j + n]) n++;
      if (n > length) [length, inA, inB] = [n, i, j];
    }
  }
  if (length === 0) return 0;
  return length + alike(a.slice(0, inA), b.slice(0, inB)) + alike(a.slice(inA + length), b.slice(inB + length));
}

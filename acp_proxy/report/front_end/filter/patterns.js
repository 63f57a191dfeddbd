// Patterns with *, ? and [...], as Python's fnmatchcase reads them.

const PART = /\*+|\?|\[(?=(?<set>!?\]?[^\]]*))\k<set>\]|[^]/gu;

/**
 * Compiles a pattern to a test of whole texts.
 * @param {string} pattern @returns {(text: string) => boolean}
 */
export function patternTest(pattern) {
  /** The regular expressions for the parts between the stars. */
  const sources = [""];
  for (const { 0: part, groups } of pattern.matchAll(PART)) {
    if (part[0] === "*") sources.push("");
    else sources[sources.length - 1] += sourceOf(part, groups?.set);
  }
  const [first, ...others] = sources;
  const end = others.length > 0 ? `.*${others.pop()}` : "";
  // Only the first place where a part matches needs to be tried. The groups prevent other attempts.
  const middle = others.map((source, n) => `(?=(?<part${n}>.*?${source}))\\k<part${n}>`);
  const compiled = new RegExp(`^${first}${middle.join("")}${end}$`, "su");
  return (text) => compiled.test(text);
}

/** @param {string} part @param {string | undefined} set what is in the brackets */
function sourceOf(part, set) {
  if (set === undefined) return part === "?" ? "." : part.replace(/[\\^$.*+?()[\]{}|/]/u, "\\$&");
  const isNegated = set.startsWith("!");
  // An empty range is ignored.
  const ranges = set.slice(isNegated ? 1 : 0).replace(/([^])-([^])|[^]/gu, (one, low, high) => {
    const [from, to = from] = low === undefined ? [one] : [low, high];
    if (Number(from.codePointAt(0)) > Number(to.codePointAt(0))) return "";
    return [...new Set([from, to])].map((end) => end.replace(/[\\^[\]-]/, "\\$&")).join("-");
  });
  return `[${isNegated ? "^" : ""}${ranges}]`;
}

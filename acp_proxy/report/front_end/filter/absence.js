// Finds out why a filter matches no frame, and which other filter the reader may have meant.

const CALL_TERM = /(?<=^|[\s(])call:"?([^\s"()*?[]+)"?/;

/**
 * Explains a term that no frame can match.
 * @param {import("../data/recording.js").Recording} recording @param {string} filter
 * @returns {{words: string, instead: string, term: string} | null} `instead` is a filter with
 * another term
 */
export function misread(recording, filter) {
  const [found, id] = CALL_TERM.exec(filter) ?? [];
  const isCall = (/** @type {number} */ code) => recording.texts[code - 1]?.startsWith(id);
  if (!found || Array.from(recording.codes("tool_call")).some(isCall)) return null;
  const term = `text:${id}`;
  const words = `No call has an id that begins with “${id}”.`;
  return { words, term, instead: filter.replace(found, term) };
}

// The pauses that `log` marks: where a conversation stood still, and who was waited for.
import { durationInWords } from "../shell/words.js";

/**
 * `before` is the number of the frame before it, `debt` as that of a gap of the time axis.
 * @typedef {{before: number, ns: number, awaited: string, debt: number}} Pause
 */

/**
 * Returns the pauses by the row that ended each; by the number of rows for one that did not end.
 * @param {import("../data/recording.js").Recording} recording @returns {Map<number, Pause>}
 */
export function pausesOf(recording) {
  /** @type {[number, number | null, number, string, boolean][]} */
  const known = recording.meta.pauses ?? [];
  const rowAfter = (/** @type {number | null} */ seq) =>
    seq === null ? recording.rows : recording.rowOf(seq);
  const pauses = new Map(known.map(([before, after, ns, awaited, isEndless]) =>
    [rowAfter(after), { before, ns, awaited, debt: isEndless ? 2 : 1 }]));
  pauses.delete(-1);
  return pauses;
}

/** @param {Pause} pause */
export const pauseWords = ({ ns, awaited, debt }) =>
  `${durationInWords(ns)} · waiting for ${awaited}${debt === 2 ? " · never ended" : ""}`;

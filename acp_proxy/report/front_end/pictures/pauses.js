// The pauses that `log` marks: where a conversation stood still, and who was waited for.
import { durationInWords } from "../shell/words.js";

/**
 * `before` is the number of the frame before the pause; `debt` is as in `Gap` of time_axis.js.
 * @typedef {{before: number, ns: number, awaited: string, debt: number}} Pause
 */

/**
 * Returns the pauses, each by the row that ended it. The key of a pause that has not ended is the
 * number of rows.
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

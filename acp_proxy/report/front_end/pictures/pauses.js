// The pauses that `log` marks: where a conversation stood still, and who was waited for. Pure.

/** @typedef {{before: number, ns: number, text: string}} Pause `before` is the number of the frame before it */

/**
 * Returns the pauses by the row that ended each; by the number of rows for one that did not end.
 * @param {import("../data/recording.js").Recording} recording @returns {Map<number, Pause>}
 */
export function pausesOf(recording) {
  /** @type {[number, number | null, number, string][]} */
  const known = recording.meta.pauses ?? [];
  const rowAfter = (/** @type {number | null} */ seq) => seq === null ? recording.rows : recording.rowOf(seq);
  const pauses = known.map(([before, after, ns, text]) => /** @type {const} */ ([rowAfter(after), { before, ns, text }]));
  return new Map(pauses.filter(([row]) => row >= 0));
}

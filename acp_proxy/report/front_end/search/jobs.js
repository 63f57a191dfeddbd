// Runs the long jobs of filters and searches, in the worker or in slices beside what the page does.
import { pause } from "../data/source.js";
import { placesOf } from "./lines.js";
import { findMatches } from "./matches.js";
import { answerQuestions } from "./questions.js";

/**
 * @typedef {import("./questions.js").Columns} Columns
 * @typedef {{type: "search", text: string, ignoreCase: boolean | null}} SearchRequest
 * @typedef {{type: "ask"} & import("./questions.js").Asked} AskRequest
 */

const BETWEEN_HITS_MS = 250;

/**
 * Runs a job to its end.
 * @param {Columns} columns
 * @param {SearchRequest | AskRequest} request
 * @param {import("./lines.js").LoadBlock} load
 * @param {() => boolean} isStopped
 * @param {(rows: Int32Array) => void} onHits called now and then with the rows found so far
 * @returns {Promise<Int32Array | Uint8Array[]>} the rows found, or the answers to each question
 */
export async function runJob(columns, request, load, isStopped, onHits) {
  let told = performance.now();
  const checkStopped = async () => {
    await pause();
    if (isStopped()) throw new Error("stopped");
  };
  if (request.type === "ask") return answerQuestions(columns, request, load, checkStopped);
  const hits = await findMatches(columns, request.text, request.ignoreCase, load, async (sofar) => {
    await checkStopped();
    if (performance.now() - told > BETWEEN_HITS_MS) {
      onHits(placesOf(sofar, 1));
      told = performance.now();
    }
  });
  return placesOf(hits, 1);
}

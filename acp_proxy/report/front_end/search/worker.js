// The worker of a report: reads lines for filters and searches, beside the page. It has no data of
// its own: the page sends columns first, and blocks as they are asked for.
import { decodeBase64, inflate } from "../data/source.js";
import { runJob } from "./jobs.js";

/** @type {Map<string, (text: string) => void>} */
const sentBlocks = new Map();
/** @type {Map<string, Promise<Uint8Array>>} */
const packedBlocks = new Map();
/** @type {Set<number>} */
const stoppedJobs = new Set();
/** @type {import("./jobs.js").Columns | null} */
let sentColumns = null;

self.onmessage = ({ data }) => {
  if (data.type === "columns") sentColumns = data.columns;
  else if (data.type === "block") sentBlocks.get(data.name)?.(data.text);
  else if (data.type === "stop") stoppedJobs.add(data.job);
  else void work(data.job, data.request);
};

/**
 * @param {number} job
 * @param {any} request
 */
async function work(job, request) {
  try {
    if (sentColumns === null) throw new Error("expected columns first");
    const onHits = (/** @type {Int32Array} */ rows) => self.postMessage({ type: "hits", job, rows });
    const result = await runJob(sentColumns, request, loadSent, () => stoppedJobs.has(job), onHits);
    self.postMessage({ type: "done", job, result });
  } catch (error) {
    self.postMessage({ type: "failed", job, message: error instanceof Error ? error.message : String(error) });
  }
  stoppedJobs.delete(job);
}

/** @param {string} name */
async function loadSent(name) {
  let packed = packedBlocks.get(name);
  if (packed === undefined) {
    packed = new Promise((resolve) => sentBlocks.set(name, (text) => resolve(decodeBase64(text))));
    packedBlocks.set(name, packed);
    self.postMessage({ type: "want", name });
  }
  return inflate(await packed);
}

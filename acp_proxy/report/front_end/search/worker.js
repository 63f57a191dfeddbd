// The worker of a report: reads lines for filters and searches in a thread of its own. The page
// sends questions first, and then blocks of lines, since the worker has no data of its own.
import { Scanner } from "./scanner.js";

/** @type {Scanner | null} */
let scanner = null;

self.onmessage = async ({ data }) => {
  if (scanner !== null) return self.postMessage(await scanner.take(data));
  scanner = new Scanner(data);
  self.postMessage(null);
};

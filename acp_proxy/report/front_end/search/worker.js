// The worker of a report: reads lines for filters and searches in a thread of its own. It contains
// no data: the page sends questions first, and then blocks of lines.
import { Scanner } from "./scanner.js";

/** @type {Scanner | null} */
let scanner = null;

self.onmessage = async ({ data }) => {
  if (scanner !== null) return self.postMessage(await scanner.take(data));
  scanner = new Scanner(data);
  self.postMessage(null);
};

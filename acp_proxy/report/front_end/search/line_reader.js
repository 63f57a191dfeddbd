// Sends long jobs to the worker, and the blocks that it asks for. Where there can be no worker, the
// same jobs run here, in slices.
import { runJob } from "./jobs.js";

/**
 * @typedef {import("../data/recording.js").Recording} Recording
 * @typedef {import("./jobs.js").SearchRequest | import("./jobs.js").AskRequest} Request
 * @typedef {object} Job
 * @property {Request} request
 * @property {(result: any) => void} resolve
 * @property {(error: Error) => void} reject
 * @property {(rows: Int32Array) => void} onHits
 */

const WORKER = "worker";
const POLICY = "acp-report-worker";
const NO_LINES = "this report was made without payloads, so nothing can be looked up in lines";

export class LineReader {
  /** @param {Recording} recording */
  constructor(recording) {
    this.recording = recording;
    this.columns = columnsOf(recording);
    /** @type {Map<number, Job>} */
    this.jobs = new Map();
    this.lastJob = 0;
    /** @type {Worker | null} */
    this.worker = null;
    this.started = this.start();
  }

  /**
   * Runs a job; rejects if it is stopped.
   * @param {Request} request
   * @param {AbortSignal} signal
   * @param {(rows: Int32Array) => void} [onHits] called now and then with the rows found so far
   * @returns {Promise<any>}
   */
  async run(request, signal, onHits = () => undefined) {
    const needsLines = request.type === "search" || request.questions.some(({ kind }) => kind !== "id");
    if (needsLines && this.recording.meta.payloads === null) throw new Error(NO_LINES);
    await this.started;
    return new Promise((resolve, reject) => {
      const number = ++this.lastJob;
      this.jobs.set(number, { request, resolve, reject, onHits });
      const stop = () => {
        this.worker?.postMessage({ type: "stop", job: number });
        this.end(number)?.reject(new Error("stopped"));
      };
      signal.addEventListener("abort", stop, { once: true });
      if (this.worker) this.worker.postMessage({ type: "run", job: number, request });
      else this.runHere(number);
      if (signal.aborted) stop();
    });
  }

  /** Starts the worker, whose text is a block of the page. */
  async start() {
    const { source } = this.recording;
    if (typeof Worker === "undefined" || !source.has(WORKER)) return;
    try {
      const text = new TextDecoder().decode(await source.bytes(WORKER));
      const worker = new Worker(trustedUrl(URL.createObjectURL(new Blob([text], { type: "text/javascript" }))));
      worker.onmessage = ({ data }) => this.take(data);
      worker.onerror = () => this.goOnHere();
      worker.postMessage({ type: "columns", columns: this.columns });
      this.worker = worker;
    } catch {
      // The jobs run here then.
    }
  }

  /** Runs all jobs here, since the worker was refused or has failed. */
  goOnHere() {
    this.worker?.terminate();
    this.worker = null;
    for (const number of this.jobs.keys()) this.runHere(number);
  }

  /** @param {any} message of the worker */
  take(message) {
    if (message.type === "want") {
      this.worker?.postMessage({ type: "block", name: message.name, text: this.recording.source.text(message.name) });
    } else if (message.type === "hits") this.jobs.get(message.job)?.onHits(message.rows);
    else if (message.type === "done") this.end(message.job)?.resolve(message.result);
    else this.end(message.job)?.reject(new Error(message.message));
  }

  /** @param {number} number */
  runHere(number) {
    const job = this.jobs.get(number);
    if (job === undefined) return;
    const load = (/** @type {string} */ name) => this.recording.source.bytes(name);
    runJob(this.columns, job.request, load, () => !this.jobs.has(number), job.onHits).then(
      (result) => this.end(number)?.resolve(result),
      (error) => this.end(number)?.reject(error),
    );
  }

  /** @param {number} number */
  end(number) {
    const job = this.jobs.get(number);
    this.jobs.delete(number);
    return job;
  }
}

/**
 * The address of the worker, as the page's policy wants it: only blobs of this page are scripts.
 * @param {string} url
 * @returns {string}
 */
function trustedUrl(url) {
  const types = /** @type {any} */ (window).trustedTypes;
  if (!types) return url;
  const onlyBlobs = (/** @type {string} */ wanted) => {
    if (!wanted.startsWith("blob:")) throw new TypeError("expected a blob");
    return wanted;
  };
  return types.createPolicy(POLICY, { createScriptURL: onlyBlobs }).createScriptURL(url);
}

/**
 * What a job has to know of all rows.
 * @param {Recording} recording
 * @returns {import("./questions.js").Columns}
 */
function columnsOf(recording) {
  const { rows } = recording;
  const [streams, event] = [recording.codes("stream"), recording.code("event")];
  const [lengths, calls] = [recording.numbers("length"), recording.codes("tool_call")];
  const methods = new Int32Array(recording.codes("method"));
  /** @type {import("./questions.js").Columns} */
  const columns = {
    payloads: recording.meta.payloads ?? [],
    lengths: new Uint32Array(lengths),
    isEvent: new Uint8Array(rows),
    eventKinds: new Map(),
    methods,
    sessions: new Int32Array(recording.codes("session")),
    hasCall: new Uint8Array(rows),
    methodTexts: new Map(Array.from(new Set(methods), (code) => [code, recording.texts[code - 1]])),
  };
  for (let row = 0; row < rows; row++) {
    if (calls[row] > 0) columns.hasCall[row] = 1;
    if (event === 0 || streams[row] !== event) continue;
    columns.isEvent[row] = 1;
    columns.eventKinds.set(row, recording.text("kind", row) ?? "");
  }
  return columns;
}

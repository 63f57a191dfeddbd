// Reads the blocks of a recording from the server of the live window.
import { EmbeddedSource, inflate } from "../data/source.js";
import { Refusal } from "./connection.js";

/** @typedef {{first: number, seq: number[], last_seq: number[], kind: string[]}} EntryIndex */

/** Blocks that are in the page. */
const CODE = new Set(["script", "worker"]);
/** Statuses of blocks that a page gets anew, since all rows follow again. */
const OUTDATED = [404, 410];
/** @type {Promise<never>} */
const NEVER = new Promise(() => {});

/** @implements {Source} */
export class HttpSource {
  /**
   * The index of the entries that are new or have changed since it was last read.
   * @type {EntryIndex}
   */
  entries = { first: 0, seq: [], last_seq: [], kind: [] };

  /** @param {Connection} connection @param {string} stream the id of the stream of rows */
  constructor(connection, stream) {
    this.connection = connection;
    this.stream = stream;
  }

  /**
   * The bytes of a block. Does not settle if the connection is lost or the stream has ended: then
   * another source takes the place of this one.
   * @param {string} name
   */
  async packed(name) {
    if (CODE.has(name)) return new EmbeddedSource().packed(name);
    const { connection, stream } = this;
    const response = await connection.get("/api/block", { stream, name }).catch((error) => {
      if (error instanceof Refusal && !OUTDATED.includes(error.status)) throw error;
      return NEVER;
    });
    return new Uint8Array(await response.arrayBuffer());
  }

  /** @param {string} name */
  async bytes(name) {
    if (name !== "entries") return inflate(await this.packed(name));
    const { entries } = this;
    const first = entries.first + entries.seq.length;
    this.entries = { first, seq: [], last_seq: [], kind: [] };
    return new TextEncoder().encode(JSON.stringify(entries));
  }

  /** Adds entries that are new or have changed. @param {EntryIndex} index */
  takeEntries(index) {
    const { first, seq, last_seq, kind } = this.entries;
    const kept = Math.max(0, index.first - first);
    this.entries = {
      first: Math.min(first, index.first),
      seq: seq.slice(0, kept).concat(index.seq),
      last_seq: last_seq.slice(0, kept).concat(index.last_seq),
      kind: kind.slice(0, kept).concat(index.kind),
    };
  }
}

/** @typedef {import("../data/source.js").Source} Source */
/** @typedef {import("./connection.js").Connection} Connection */

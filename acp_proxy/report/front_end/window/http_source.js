// Reads the blocks of a recording from the server of the live window.
import { EmbeddedSource, inflate } from "../data/source.js";

/** @implements {Source} */
export class HttpSource {
  /** @param {Connection} connection @param {string} stream the id of the stream of rows */
  constructor(connection, stream) {
    this.connection = connection;
    this.stream = stream;
  }

  /** @param {string} name */
  async packed(name) {
    // These blocks are in the page.
    if (name === "script" || name === "worker") return new EmbeddedSource().packed(name);
    const response = await this.connection.get("/api/block", { stream: this.stream, name });
    return new Uint8Array(await response.arrayBuffer());
  }

  /** @param {string} name */
  bytes = async (name) => inflate(await this.packed(name));
}

/** @typedef {import("../data/source.js").Source} Source */
/** @typedef {import("./connection.js").Connection} Connection */

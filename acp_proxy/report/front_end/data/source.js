// Where the data of a page come from: blocks of bytes by name, here out of the page itself.
// A live page will have a second source with the same methods.

/**
 * @typedef {object} Source
 * @property {(name: string) => boolean} has
 * @property {(name: string) => string} text
 * @property {(name: string) => Promise<Uint8Array>} bytes
 */

/** Reads blocks out of the inert `<script>` elements of the page. @implements {Source} */
export class EmbeddedSource {
  /** @param {Document} [page] */
  constructor(page = document) {
    this.page = page;
  }

  /** @param {string} name */
  has = (name) => this.page.getElementById(name) !== null;

  /** The text of a block as it stands in the page. @param {string} name */
  text(name) {
    const element = this.page.getElementById(name);
    if (element === null) throw new Error(`the page has no block ${name}; is the file complete?`);
    return element.textContent ?? "";
  }

  /** The inflated bytes of a block. @param {string} name */
  bytes = async (name) => inflate(decodeBase64(this.text(name)));
}

/** @param {string} text @returns {Uint8Array} */
export function decodeBase64(text) {
  const decoder = /** @type {any} */ (Uint8Array);
  return decoder.fromBase64?.(text) ?? Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
}

/** @param {Uint8Array} bytes deflated, with the header of zlib */
export async function inflate(bytes) {
  const blob = new Blob([/** @type {Uint8Array<ArrayBuffer>} */ (bytes)]);
  const stream = blob.stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Lets the browser paint and answer keys before more is computed. */
export function pause() {
  return new Promise((resolve) => {
    const { port1, port2 } = new globalThis.MessageChannel();
    port1.onmessage = () => resolve(port1.close());
    port2.postMessage(null);
  });
}

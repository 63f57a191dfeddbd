// Reads the data of a page: blocks of bytes by name, here from the page itself. The live window has
// another source with the same method.

/** @typedef {{bytes: (name: string) => Promise<Uint8Array>}} Source the decompressed blocks */

/** Reads blocks out of the inert `<script>` elements of the page. @type {Source} */
export const embeddedSource = { bytes: async (name) => {
  const text = document.getElementById(name)?.textContent;
  if (text) return inflate(decodeBase64(text));
  throw new Error(`the page has no block ${name}; is the file complete?`);
} };

/** @param {string} text @returns {Uint8Array} */
export function decodeBase64(text) {
  const decoder = /** @type {{fromBase64?: (text: string) => Uint8Array}} */ (
    /** @type {unknown} */ (Uint8Array));
  return decoder.fromBase64?.(text) ?? Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
}

/** Decompresses bytes in the zlib format. @param {Uint8Array} bytes */
export async function inflate(bytes) {
  const { body } = new Response(/** @type {Uint8Array<ArrayBuffer>} */ (bytes));
  const packedBytes = /** @type {ReadableStream} */ (body);
  const stream = packedBytes.pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Joins pieces of bytes. @param {Uint8Array[]} pieces */
export const joinedBytes = async (pieces) => pieces.length === 1 ? pieces[0]
  : new Uint8Array(await new Blob(/** @type {any} */ (pieces)).arrayBuffer());

/** Decodes UTF-8. @param {Uint8Array} bytes */
export const decodeText = (bytes) => new TextDecoder().decode(bytes);

/**
 * Reads a block that contains a JSON value.
 * @param {Source} source @param {string} name @returns {Promise<any>}
 */
export const readJson = async (source, name) => JSON.parse(decodeText(await source.bytes(name)));

/** Lets the browser paint and handle keys before the computation goes on. */
export const pause = () => new Promise((resolve) => {
  const { port1, port2 } = new globalThis.MessageChannel();
  port1.onmessage = () => resolve(port1.close());
  port2.postMessage(null);
});

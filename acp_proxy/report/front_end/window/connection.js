// The connection to the server of the live window. A request has the token of the address in a
// header. Before the token is sent, the server has to prove that it knows the token.
import { decodeText, inflate, joinedBytes } from "../data/source.js";
import { messageOf } from "../shell/dom.js";

const TOKEN_KEY = "acp-proxy token";
const NO_TOKEN =
  "This address has no token. Open the address that “acp-proxy web” prints in your terminal.";
const OTHER_PROGRAM =
  "Another program answers at this address, not acp-proxy. Nothing was sent to it.";
/** The times between two attempts to connect: each is twice as long as the one before. */
const FIRST_RETRY_MS = 250;

/** The error for an answer of the server. @param {string} words @param {number} status */
export const refusal = (words, status) => Object.assign(new Error(words), { status });

export class Connection {
  constructor() {
    const given = new URLSearchParams(location.hash.slice(1)).get("token");
    /** The token, which a tab keeps when its address loses it. */
    this.token = given ?? window.sessionStorage.getItem(TOKEN_KEY) ?? "";
    window.sessionStorage.setItem(TOKEN_KEY, this.token);
    /** Whether a stream is open, so that the server is still the program that gave the proof. */
    this.isProved = false;
  }

  /**
   * Asks the server to prove that it knows the token, without sending it. Rejects if it does not.
   * @param {AbortSignal} [signal]
   */
  async prove(signal) {
    if (this.token === "") throw refusal(NO_TOKEN, 401);
    const challenge = hexOf(window.crypto.getRandomValues(new Uint8Array(32)));
    const message = `acp-proxy web ${challenge} ${location.host}`;
    const response = await window.fetch(`/proof?challenge=${challenge}`, { ...ONLY_HERE, signal });
    const { proof } = await response.json().catch(() => ({}));
    if (proof !== await proofOf(this.token, message)) throw new Error(OTHER_PROGRAM);
  }

  /**
   * Requests a path with the token. Rejects with a `refusal` if the answer is an error.
   * @param {string} path @param {Record<string, string>} values @param {AbortSignal} [signal]
   */
  async get(path, values, signal) {
    const headers = { Authorization: `Bearer ${this.token}` };
    const address = `${path}?${new URLSearchParams(values)}`;
    const response = await window.fetch(address, { ...ONLY_HERE, headers, signal });
    if (response.ok) return response;
    const words = (await response.text()).trim();
    throw refusal(words || `the server answered ${response.status}`, response.status);
  }

  /**
   * Requests a path as `get` does, after the server has proved that it knows the token.
   * @param {string} path @param {Record<string, string>} values @param {AbortSignal} [signal]
   */
  async ask(path, values, signal) {
    await this.prove(signal);
    return this.get(path, values, signal);
  }

  /**
   * Takes the records of a stream, and connects again when it breaks. Ends when another attempt is
   * of no use.
   * @param {string} path @param {() => Record<string, string>} values
   * @param {(record: any) => unknown} take @param {(problem: string) => void} say
   */
  async follow(path, values, take, say) {
    for (let wait = FIRST_RETRY_MS; ; wait = Math.min(2 * wait, 4000)) {
      let problem = `${LOST} Trying again…`;
      try {
        for await (const record of recordsOf(await this.ask(path, values()))) {
          this.isProved = true;
          wait = FIRST_RETRY_MS / 2;
          await take(record);
        }
      } catch (/** @type {any} */ error) {
        if (!(error instanceof TypeError)) problem = messageOf(error);
        // After these statuses, another attempt is of no use.
        if ([401, 403, 404].includes(error.status)) return say(problem);
      } finally {
        this.isProved = false;
      }
      say(problem);
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
}

const LOST = "The connection is lost.";

/** What has ended a request, in words. @param {unknown} error */
export const endOf = (error) => error instanceof TypeError ? LOST : messageOf(error);

/** @type {RequestInit} */
const ONLY_HERE = { cache: "no-store", credentials: "omit", redirect: "error" };

/** The HMAC-SHA256 of a message in hexadecimal. @param {string} token @param {string} message */
export async function proofOf(token, message) {
  const [secret, bytes] = [token, message].map((text) => new TextEncoder().encode(text));
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await window.crypto.subtle.importKey("raw", secret, algorithm, false, ["sign"]);
  return hexOf(new Uint8Array(await window.crypto.subtle.sign("HMAC", key, bytes)));
}

/** @param {Uint8Array} bytes */
const hexOf = (bytes) => Array.from(bytes, (one) => one.toString(16).padStart(2, "0")).join("");

/**
 * Yields the records of a stream, each with its bytes. A record is a line of JSON and, after it, as
 * many bytes as its member `size` says; a line without this member has none.
 * @param {Response} response @returns {AsyncGenerator<any>}
 */
export async function* recordsOf(response) {
  let [rest, record] = /** @type {[Uint8Array, any]} */ ([new Uint8Array(0), null]);
  for await (const piece of /** @type {ReadableStream<Uint8Array>} */ (response.body)) {
    rest = rest.length > 0 ? await joinedBytes([rest, piece]) : piece;
    for (;;) {
      const end = record === null ? rest.indexOf(10) : -1;
      if (end >= 0) {
        record = JSON.parse(decodeText(rest.subarray(0, end)));
        rest = rest.subarray(end + 1);
      }
      const { size = 0 } = record ?? { size: Infinity };
      if (rest.length < size) break;
      yield { ...record, bytes: rest.slice(0, size) };
      [rest, record] = [rest.subarray(size), null];
    }
  }
}

/**
 * Reads the blocks of a recording from the server. The bytes of a block never come if the
 * connection is lost or the stream has ended: then another source takes the place of this one.
 * @param {Connection} connection @param {string} stream the id of the stream of rows
 * @returns {import("../data/source.js").Source}
 */
export const serverSource = (connection, stream) => ({ bytes: async (name) => {
  const never = /** @type {Promise<never>} */ (new Promise(() => {}));
  // The token is only sent to a program that has proved that it knows the token.
  if (!connection.isProved) return never;
  const response = connection.get("/api/block", { stream, name });
  return inflate(new Uint8Array(await response.then((one) => one.arrayBuffer()).catch((error) => {
    // A page gets these blocks anew, since all rows follow again.
    if (error.status && ![404, 410].includes(error.status)) throw error;
    return never;
  })));
} });

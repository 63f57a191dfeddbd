// What the window makes of recordings on demand: a saved copy, a comparison, a copied command. One
// line says how far it is, and a button cancels it.
import { clear, h, setAttribute, span } from "../shell/dom.js";
import { messageOf, sizeInWords } from "../shell/words.js";
import { commandLine, copyOf } from "./listed.js";

/** The browser has read a saved file after this time. */
const SAVED_AFTER_MS = 60_000;
const BROKEN = "The server stopped in the middle.";
const BUSY = "One at a time: cancel the other one, or wait for it.";
const UNSEEN_IN_NAME = "Not copied: a name has characters that a terminal may act on.";

export class Task {
  /** Aborted to cancel what runs; null if nothing runs. @type {AbortController | null} */
  life = null;

  /**
   * @param {import("./connection.js").Connection} connection
   * @param {HTMLElement} element with places for words and for a size, and a button that cancels
   */
  constructor(connection, element) {
    this.connection = connection;
    const [words, amount, cancel] = /** @type {HTMLElement[]} */ ([...element.children]);
    this.words = words;
    this.amount = amount;
    this.cancel = cancel;
    cancel.onclick = () => this.life?.abort();
  }

  /** @param {string} words @param {string} [tone] */
  say(words, tone = "") {
    clear(this.words, span(tone, words));
    clear(this.amount);
  }

  /**
   * Requests something and makes something of its bytes. Only one such task runs at a time.
   * @param {string} title @param {string} path @param {Record<string, string>} values
   * @param {(bytes: Uint8Array<ArrayBuffer>[], response: Response) => string} finish returns words
   * @returns {Promise<boolean>} whether it succeeded
   */
  async run(title, path, values, finish) {
    const { signal } = (this.life = new AbortController());
    this.cancel.hidden = false;
    this.say(`${title}…`);
    try {
      await this.connection.prove(signal);
      const response = await this.connection.get(path, values, signal);
      const reader = /** @type {ReadableStream} */ (response.body).getReader();
      const parts = [];
      for (let size = 0, read = await reader.read(); !read.done; read = await reader.read()) {
        parts.push(read.value);
        clear(this.amount, sizeInWords((size += read.value.length)));
      }
      this.say(finish(parts, response));
    } catch (error) {
      const words = error instanceof TypeError ? BROKEN : messageOf(error);
      this.say(signal.aborted ? "Cancelled." : words, signal.aborted ? "" : "trouble");
      return false;
    } finally {
      this.life = null;
      this.cancel.hidden = true;
    }
    return true;
  }

  /** Saves a copy of a recording. @param {string} rec its name @param {"report" | "text"} form */
  async save(rec, form) {
    if (this.life) return this.say(BUSY, "caution");
    const title = `Making the ${form === "text" ? "text form" : form} of ${rec}`;
    await this.run(title, "/api/save", { rec, form }, (bytes, response) => {
      const file = decodeURIComponent(response.headers.get("Acp-File") ?? rec);
      const link = h("a", { download: file });
      link.href = URL.createObjectURL(new Blob(bytes, { type: "application/octet-stream" }));
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), SAVED_AFTER_MS);
      return `Saved as ${file}.`;
    });
  }

  /** Shows a comparison in a new tab, or here if the browser opens none. @param {string[]} names */
  async compare([a, b]) {
    if (this.life) return this.say(BUSY, "caution");
    // A browser opens a tab only right after the click.
    const tab = window.open("about:blank");
    if (tab) tab.document.body.textContent = "Comparing the recordings…";
    const isDone = await this.run(`Comparing ${a} with ${b}`, "/api/compare", { a, b }, (bytes) => {
      const address = URL.createObjectURL(new Blob(bytes, { type: "text/html" }));
      if (tab && !tab.closed) tab.location.replace(address);
      else location.assign(address);
      return "The comparison is in another tab.";
    });
    if (!isDone) tab?.close();
  }

  /** Copies a command, or shows it if the browser forbids to copy. @param {string[]} words */
  async copy(words) {
    const command = commandLine(words);
    if (command === null) return this.say(UNSEEN_IN_NAME, "caution");
    const isCopied = await navigator.clipboard.writeText(command).then(() => true, () => false);
    this.say(`${isCopied ? "Copied" : "The browser forbids to copy"}: ${command}`);
  }

  /**
   * A menu of what can be made of a recording.
   * @param {string} label @param {() => {name: string, path: string}} entryOf
   */
  menu(label, entryOf) {
    const menu = copyOf("menu-parts");
    const [summary] = menu.children;
    setAttribute(summary, "title", label);
    setAttribute(summary, "aria-label", label);
    const close = () => {
      menu.open = false;
      summary.focus();
    };
    menu.onclick = (/** @type {any} */ { target: { value } }) => {
      if (!value) return;
      close();
      const { name, path } = entryOf();
      if (value === "report" || value === "text") void this.save(name, value);
      else void this.copy(["acp-proxy", value, path]);
    };
    menu.onkeydown = (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Escape" || !menu.open) return;
      event.stopPropagation();
      close();
    };
    return menu;
  }
}

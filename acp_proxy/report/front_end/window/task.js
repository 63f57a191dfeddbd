// What the window makes of recordings on demand: a saved copy, a comparison, a copied command. One
// line says how far it is, and a button cancels it.
import { clear, copyOf, h, part, setAttribute, sizeInWords, span } from "../shell/dom.js";
import { endOf } from "./connection.js";
import { commandLine } from "./listed.js";

const BUSY = "One at a time: cancel the other one, or wait for it.";
const UNSEEN_IN_NAME = "Not copied: a name has characters that a terminal may act on.";

export class Task {
  /** Aborted to cancel what runs; null if nothing runs. @type {AbortController | null} */
  life = null;

  /** @param {import("./connection.js").Connection} connection */
  constructor(connection) {
    this.connection = connection;
    this.words = part(".task > [role=status]");
    this.amount = part(".task > .faint");
    this.cancel = part(".task > button");
    this.cancel.onclick = () => this.life?.abort();
  }

  /** @param {string} words @param {string} [tone] */
  say(words, tone = "") {
    clear(this.words, span(tone, words));
    clear(this.amount);
  }

  /**
   * Requests something and makes something of its bytes. Only one such task runs at a time.
   * @param {string} title @param {string} path @param {Record<string, string>} values
   * @param {(address: string, response: Response) => string} finish gets the address of the bytes
   * in this browser; returns words @param {string} type of the bytes
   * @returns {Promise<boolean>} whether it succeeded
   */
  async run(title, path, values, finish, type) {
    const { signal } = (this.life = new AbortController());
    this.cancel.hidden = false;
    this.say(`${title}…`);
    try {
      const response = await this.connection.ask(path, values, signal);
      /** @type {BlobPart[]} */
      const parts = [];
      let size = 0;
      for await (const piece of /** @type {ReadableStream<any>} */ (response.body)) {
        parts.push(piece);
        clear(this.amount, sizeInWords((size += piece.length)));
      }
      this.say(finish(URL.createObjectURL(new Blob(parts, { type })), response));
      return true;
    } catch (error) {
      if (signal.aborted) this.say("Cancelled.");
      else this.say(endOf(error), "trouble");
      return false;
    } finally {
      this.life = null;
      this.cancel.hidden = true;
    }
  }

  /** Saves a copy of a recording. @param {string} rec its name @param {string} form */
  async save(rec, form) {
    if (this.life) return this.say(BUSY, "caution");
    const title = `Making the ${form === "text" ? "text form" : form} of ${rec}`;
    await this.run(title, "/api/save", { rec, form }, (address, { headers }) => {
      const file = decodeURIComponent(headers.get("Acp-File") ?? rec);
      const link = h("a", { download: file });
      link.href = address;
      link.click();
      // The browser has read a saved file after a minute.
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
      return `Saved as ${file}.`;
    }, "application/octet-stream");
  }

  /** Shows a comparison in a new tab, or here if the browser opens none. @param {string[]} names */
  async compare([a, b]) {
    if (this.life) return this.say(BUSY, "caution");
    // A browser opens a tab only right after the click.
    const tab = window.open("about:blank");
    if (tab) tab.document.body.textContent = "Comparing the recordings…";
    const title = `Comparing ${a} with ${b}`;
    const isDone = await this.run(title, "/api/compare", { a, b }, (address) => {
      (tab && !tab.closed ? tab : window).location.replace(address);
      return "The comparison is in another tab.";
    }, "text/html");
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
    const menu = copyOf("menu-parts").firstElementChild;
    const [summary] = menu.children;
    for (const name of ["title", "aria-label"]) setAttribute(summary, name, label);
    const close = () => {
      menu.open = false;
      summary.focus();
    };
    menu.onclick = (/** @type {any} */ { target: { value } }) => {
      if (!value) return;
      const { name, path } = entryOf();
      if (value === "report" || value === "text") void this.save(name, value);
      else void this.copy(["acp-proxy", value, path]);
      close();
    };
    menu.ontoggle = () => menu.open && menu.lastElementChild.scrollIntoView({ block: "nearest" });
    menu.onkeydown = (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Escape" || !menu.open) return;
      event.stopPropagation();
      close();
    };
    return menu;
  }
}

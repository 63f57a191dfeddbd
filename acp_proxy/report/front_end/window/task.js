// What the window makes of recordings on demand: a saved copy, a comparison, a copied command. One
// line says how far it is, and a button cancels it.
import { button, div, h, span } from "../shell/dom.js";
import { messageOf, sizeInWords } from "../shell/words.js";
import { commandLine } from "./listed.js";

/** The browser has read a saved file after this time. */
const SAVED_AFTER_MS = 60_000;
const BROKEN = "The server stopped in the middle.";
/** @type {Record<string, string>} */
const FORMS = { report: "report", text: "text form" };

export class Task {
  /** Aborted to cancel what runs; null if nothing runs. @type {AbortController | null} */
  life = null;

  /** @param {import("./connection.js").Connection} connection */
  constructor(connection) {
    this.connection = connection;
    this.words = h("span", { role: "status" });
    this.amount = span("faint");
    this.cancel = button("Cancel", () => this.life?.abort(), { hidden: true });
    this.element = div("task", this.words, this.amount, this.cancel);
  }

  /** @param {string} words @param {string} [tone] */
  say(words, tone = "") {
    this.words.textContent = words;
    this.words.className = tone;
    this.amount.textContent = "";
  }

  /**
   * Requests something and makes something of its bytes. Only one such task runs at a time.
   * @param {string} title @param {string} path @param {Record<string, string>} values
   * @param {(bytes: Uint8Array<ArrayBuffer>[], response: Response) => string} finish returns words
   * @returns {Promise<boolean>} whether it succeeded
   */
  async run(title, path, values, finish) {
    if (this.life) {
      this.say("One at a time: cancel the other one, or wait for it.", "caution");
      return false;
    }
    const { signal } = (this.life = new AbortController());
    this.cancel.hidden = false;
    this.say(`${title}…`);
    try {
      await this.connection.prove(signal);
      const response = await this.connection.get(path, values, signal);
      const [parts, reader] = [/** @type {Uint8Array<ArrayBuffer>[]} */ ([]), bodyReader(response)];
      for (let size = 0, read = await reader.read(); !read.done; read = await reader.read()) {
        parts.push(read.value);
        size += read.value.length;
        this.amount.textContent = sizeInWords(size);
      }
      this.say(finish(parts, response));
      return true;
    } catch (error) {
      const words = error instanceof TypeError ? BROKEN : messageOf(error);
      this.say(signal.aborted ? "Cancelled." : words, signal.aborted ? "" : "trouble");
      return false;
    } finally {
      this.life = null;
      this.cancel.hidden = true;
    }
  }

  /** Saves a copy of a recording. @param {string} name @param {string} form a key of `FORMS` */
  save(name, form) {
    const title = `Making the ${FORMS[form]} of ${name}`;
    return this.run(title, "/api/save", { rec: name, form }, (bytes, response) => {
      const file = decodeURIComponent(response.headers.get("Acp-File") ?? name);
      const link = h("a", { download: file });
      link.href = URL.createObjectURL(new Blob(bytes, { type: "application/octet-stream" }));
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), SAVED_AFTER_MS);
      return `Saved as ${file}.`;
    });
  }

  /** Shows a comparison in a new tab, or here if the browser opens none. @param {string[]} names */
  async compare([a, b]) {
    // A browser opens a tab only right after the click.
    const tab = this.life ? null : window.open("about:blank");
    if (tab) tab.document.body.textContent = "Comparing the recordings…";
    const title = `Comparing ${a} with ${b}`;
    const isDone = await this.run(title, "/api/compare", { a, b }, (bytes) => {
      const address = URL.createObjectURL(new Blob(bytes, { type: "text/html" }));
      const place = tab && !tab.closed ? tab.location : location;
      place[tab ? "replace" : "assign"](address);
      return "The comparison is in another tab.";
    });
    if (!isDone) tab?.close();
  }

  /** Copies a command, or shows it if the browser forbids to copy. @param {string[]} words */
  async copy(words) {
    const command = commandLine(words);
    if (command === null) {
      this.say("Not copied: a name has characters that a terminal may act on.", "caution");
      return;
    }
    const isCopied = await navigator.clipboard.writeText(command).then(() => true, () => false);
    this.say(isCopied ? `Copied: ${command}` : `The browser forbids to copy: ${command}`);
  }

  /**
   * A menu of what can be made of a recording; it is filled when it is first opened.
   * @param {string} label @param {() => {name: string, path: string, live: boolean}} entryOf
   */
  menu(label, entryOf) {
    const list = div("menu-list");
    const choose = (/** @type {string} */ words, /** @type {() => void} */ act) =>
      button(words, () => { close(); act(); });
    const close = () => {
      menu.open = false;
      summary.focus();
    };
    const command = (/** @type {string[]} */ ...words) =>
      choose(`Copy “acp-proxy ${words[0]}”`, () => {
        const { path, live } = entryOf();
        const more = live && words[0] === "log" ? ["--follow"] : words.slice(1);
        void this.copy(["acp-proxy", words[0], path, ...more]);
      });
    const toggle = () => {
      if (!menu.open || list.hasChildNodes()) return;
      list.append(
        choose("Save as report", () => void this.save(entryOf().name, "report")),
        choose("Save as text form", () => void this.save(entryOf().name, "text")),
        command("show"), command("log"), command("check"));
    };
    const keydown = (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Escape" || !menu.open) return;
      event.stopPropagation();
      close();
    };
    const summary = h("summary", { "aria-label": label, title: label }, "⋯");
    const menu = h("details", { class: "menu", name: "menu", on: { toggle, keydown } }, summary, list);
    return menu;
  }
}

/** @param {Response} response */
const bodyReader = (response) =>
  /** @type {ReadableStream<Uint8Array<ArrayBuffer>>} */ (response.body).getReader();

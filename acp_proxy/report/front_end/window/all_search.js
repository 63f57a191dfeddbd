// The search in all recordings. Hits come one by one, and are grouped by recording.
import { clear, h, span } from "../shell/dom.js";
import { countInWords, messageOf, secondsInWords } from "../shell/words.js";
import { recordsOf } from "./connection.js";
import { pageOf } from "./listed.js";

/** The search ends after this many hits; a reader needs other words then. */
const MOST_HITS = 1000;
/** How many characters before a match are shown. */
const BEFORE_MATCH = 60;

/**
 * @typedef {object} Hit
 * @property {string} path of the recording
 * @property {number} seq
 * @property {number | null} t_ns
 * @property {string | null} stream
 * @property {string} kind
 * @property {string | null} method
 * @property {string} before
 * @property {string} match
 * @property {string} after
 */

export class AllSearch {
  /** Aborted to end the search. */
  life = new AbortController();
  text = "";
  hits = 0;
  /** For each recording with hits, the element for them. @type {Map<string, HTMLElement>} */
  groups = new Map();

  /**
   * @param {import("./connection.js").Connection} connection
   * @param {any} element the part of the page for hits
   * @param {(name: string) => string} titleOf a recording, by the name of its file
   * @param {(text: string) => void} copy copies the command that searches for a text
   */
  constructor(connection, element, titleOf, copy) {
    const [top, list] = element.children;
    const [words, stopper, copier, closer] = top.children;
    this.connection = connection;
    this.element = element;
    this.titleOf = titleOf;
    this.list = list;
    this.words = words;
    this.stopper = stopper;
    stopper.onclick = () => this.life.abort();
    copier.onclick = () => copy(this.text);
    closer.onclick = () => this.close();
  }

  /** Ends the search, and removes its hits. */
  clear() {
    this.life.abort();
    Object.assign(this, { text: "", hits: 0, groups: new Map() });
    clear(this.list);
    this.element.hidden = true;
  }

  /** Called after the reader has closed the hits. */
  onClose = () => {};

  close() {
    this.clear();
    this.onClose();
  }

  /** Stops the search if it runs, and otherwise closes its hits. */
  leave() {
    if (this.stopper.hidden) this.close();
    else this.life.abort();
  }

  /** Searches for a text. @param {string} text */
  async run(text) {
    this.clear();
    if (text === "") return;
    const { signal } = (this.life = new AbortController());
    this.text = text;
    this.element.hidden = this.stopper.hidden = false;
    this.say("searching… ");
    let end = "";
    try {
      await this.connection.prove(signal);
      const response = await this.connection.get("/api/search", { q: text }, signal);
      for await (const hit of recordsOf(response)) {
        if (signal.aborted) break;
        this.add(hit);
        this.say("searching… ");
        if (this.hits === MOST_HITS) end = "; there may be more";
        if (end) break;
      }
    } catch (error) {
      end = `; ${error instanceof TypeError ? "the connection was lost" : messageOf(error)}`;
    }
    if (signal !== this.life.signal || this.element.hidden) return;
    this.stopper.hidden = true;
    this.say("", signal.aborted ? "; stopped" : end);
  }

  /** @param {string} before @param {string} [after] */
  say(before, after = "") {
    const where = this.hits > 0 ? ` in ${countInWords(this.groups.size, "recording")}` : "";
    clear(this.words, `${before}${countInWords(this.hits, "hit")}${where}${after}`);
  }

  /** @param {Hit} hit */
  add({ path, seq, t_ns, stream, method, kind, before, match, after }) {
    const name = path.slice(path.lastIndexOf("/") + 1);
    const known = this.groups.get(name);
    const group = known ?? h("ol", null);
    if (!known) this.list.append(h("h2", null, h("bdi", null, this.titleOf(name))), group);
    this.groups.set(name, group);
    this.hits += 1;
    const link = h("a", { class: "hit" },
      span("hit-place", `#${seq} `, t_ns !== null && secondsInWords(t_ns, "", " s")),
      span("hit-method", method ?? kind),
      span(stream ?? "", `…${before.slice(-BEFORE_MATCH)}`, h("mark", null, match), after));
    link.href = pageOf(this.connection.token, name, { seq, q: this.text });
    group.append(h("li", null, link));
  }
}

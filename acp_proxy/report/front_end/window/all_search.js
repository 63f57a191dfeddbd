// The search in all recordings. Hits come one by one, and are grouped by recording.
import { button, clear, div, h, span } from "../shell/dom.js";
import { countInWords, messageOf, secondsInWords } from "../shell/words.js";
import { recordsOf } from "./connection.js";
import { pageOf } from "./listed.js";

/** The search ends after this many hits; a reader needs other words then. */
const MOST_HITS = 1000;

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
  /** Aborted to end the search; null if none runs. @type {AbortController | null} */
  life = null;
  text = "";
  hits = 0;
  /** For each recording with hits, the element for them. @type {Map<string, HTMLElement>} */
  groups = new Map();

  /**
   * @param {import("./connection.js").Connection} connection
   * @param {(name: string) => string} titleOf a recording, by the name of its file
   * @param {(text: string) => void} copy copies the command that searches for a text
   */
  constructor(connection, titleOf, copy) {
    this.connection = connection;
    this.titleOf = titleOf;
    this.words = h("span", { role: "status" });
    this.stopper = button("Stop", () => this.stop());
    const closer = button("Close", () => this.clear());
    const copier = button("Copy command", () => copy(this.text));
    this.list = div("hits-list");
    const top = div("hits-top", this.words, this.stopper, copier, closer);
    this.element = h("section", { class: "hits", "aria-label": "Hits", hidden: true }, top, this.list);
  }

  stop() {
    this.life?.abort();
  }

  /** Ends the search, and removes its hits. */
  clear() {
    this.stop();
    this.text = "";
    this.element.hidden = true;
  }

  /** Searches for a text. @param {string} text */
  async run(text) {
    this.clear();
    if (text === "") return;
    const { signal } = (this.life = new AbortController());
    Object.assign(this, { text, hits: 0, groups: new Map() });
    clear(this.list);
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
        if (this.hits < MOST_HITS) continue;
        end = "; there may be more";
        break;
      }
    } catch (error) {
      const isBroken = error instanceof TypeError;
      end = `; ${isBroken ? "the connection was lost" : messageOf(error)}`;
    }
    if (signal !== this.life?.signal || this.element.hidden) return;
    this.stopper.hidden = true;
    this.say("", signal.aborted ? "; stopped" : end);
    this.life.abort();
  }

  /** @param {string} before @param {string} [after] */
  say(before, after = "") {
    const where = this.hits > 0 ? ` in ${countInWords(this.groups.size, "recording")}` : "";
    const words = `${before}${countInWords(this.hits, "hit")}${where}${after}`;
    if (this.words.textContent !== words) this.words.textContent = words;
  }

  /** @param {Hit} hit */
  add({ path, seq, t_ns, stream, method, kind, before, match, after }) {
    const name = path.slice(path.lastIndexOf("/") + 1);
    const known = this.groups.get(name);
    const group = known ?? h("ol", null);
    if (!known) this.list.append(h("h3", null, h("bdi", null, this.titleOf(name))), group);
    this.groups.set(name, group);
    this.hits += 1;
    const place = span("hit-place", `#${seq} `, t_ns !== null && secondsInWords(t_ns, "", " s"));
    const words = span(`hit-text ${stream ?? ""}`, `…${before.slice(-60)}`, h("mark", null, match),
      after);
    const link = h("a", { class: "hit" }, place, span("hit-method", method ?? kind), words);
    link.href = pageOf(this.connection.token, name, { seq, q: this.text });
    group.append(h("li", null, link));
  }
}

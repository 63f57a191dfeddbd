// The search in all recordings. Hits come one by one, and are grouped by recording.
import { clear, h, part, span } from "../shell/dom.js";
import { countInWords, secondsInWords } from "../shell/words.js";
import { endOf, recordsOf } from "./connection.js";
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
  /** Aborted to end the search. */
  life = new AbortController();
  text = "";
  hits = 0;
  /** For each recording with hits, the element for them. @type {Map<string, HTMLElement>} */
  groups = new Map();

  /**
   * @param {import("./connection.js").Connection} connection
   * @param {(name: string) => string} promptOf a recording, by the name of its file
   * @param {() => void} close called when the reader closes the hits
   */
  constructor(connection, promptOf, close) {
    this.connection = connection;
    this.promptOf = promptOf;
    this.close = close;
    this.element = part(".hits");
    this.list = part(".hits-list");
    this.words = part(".hits-top > [role=status]");
    this.stopper = part(".stopping");
    this.stopper.onclick = () => this.life.abort();
    part(".closing").onclick = close;
  }

  /** Stops the search if it runs, and otherwise closes its hits. */
  leave() {
    if (this.stopper.hidden) this.close();
    else this.life.abort();
  }

  /** Ends the search, and searches for another text, if there is one. @param {string} text */
  async run(text) {
    this.life.abort();
    const { signal } = (this.life = new AbortController());
    Object.assign(this, { text, hits: 0, groups: new Map() });
    clear(this.list);
    this.element.hidden = text === "";
    if (text === "") return;
    this.stopper.hidden = false;
    this.say("searching… ");
    let end = "";
    try {
      const response = await this.connection.ask("/api/search", { q: text }, signal);
      for await (const hit of recordsOf(response)) {
        if (signal.aborted || this.hits === MOST_HITS) break;
        this.add(hit);
        this.say("searching… ");
      }
      if (this.hits === MOST_HITS) end = "; there may be more";
    } catch (error) {
      end = `; ${endOf(error)}`;
    }
    if (signal !== this.life.signal) return;
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
    const title = [name, this.promptOf(name)].filter(Boolean).join(": ");
    if (!known) this.list.append(h("h2", null, h("bdi", null, title)), group);
    this.groups.set(name, group);
    this.hits += 1;
    const link = h("a", { class: "hit" },
      span("hit-place", `#${seq} `, t_ns !== null && secondsInWords(t_ns, "", " s")),
      span("hit-method", method ?? kind),
      span(stream ?? "", `…${before.slice(-60)}`, h("mark", null, match), after));
    link.href = pageOf(this.connection.token, name, { seq, q: this.text });
    group.append(h("li", null, link));
  }
}

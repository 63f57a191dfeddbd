// The conversation as a list, in the columns of `log`: one line for a frame or event, or for
// a run of chunks, which opens on demand. Silences and turns have lines of their own.
import { seqButton } from "../cards/card.js";
import { lowerBound } from "../data/columns.js";
import { columnTerm, termed, verbTerm } from "../filter/term_text.js";
import { durationInWords, h, secondsInWords, setAttribute, sign } from "../shell/dom.js";
import { sizeInWords, span, visibleText } from "../shell/dom.js";
import { buildItems, indexOfRow, kindOfItem, pauseWords, readable } from "../shell/virtual_list.js";
import { ROW, rowOfItem, RUN, runExtent, textOfRows, TURN } from "../shell/virtual_list.js";
import { VirtualList } from "../shell/virtual_list.js";

/**
 * @typedef {import("../shell/state.js").State} State
 * @typedef {import("../shell/dom.js").Child} Child
 */

const COLUMNS = {
  number: "Frame", time: "Time", method: "Method and answer", id: "Id", size: "Size", text: "Text",
};
/** @type {Record<string, [string, string]>} */
const ARROWS = {
  "to-agent": ["→", "to agent"], "to-client": ["←", "to client"],
  stderr: ["!", "stderr"], event: ["·", "event"],
};
/** The class of a row whose cells are not in memory yet. */
const PENDING = "list-pending";

export class ListView {
  /** @param {HTMLElement} container @param {State} state */
  constructor(container, state) {
    this.state = state;
    this.recording = state.recording;
    /** The opened runs of chunks, by the first row of each run. @type {Set<number>} */
    this.opened = new Set();
    /** @type {Int32Array} */
    this.items = new Int32Array(0);
    this.list = new VirtualList({
      label: "Frames and events", role: "treegrid",
      head: Object.entries(COLUMNS).map(([name, title]) =>
        h("span", { class: `list-${name}`, role: "columnheader" }, title)),
      render: (item, node) => this.render(item, node),
      onActive: (item) => state.select(rowOfItem(item)),
      onFold: (item, isOpen) => this.fold(item, isOpen),
    });
    container.append(this.list.body);
  }

  /** @param {import("../shell/app.js").Change} change */
  update(change) {
    if (change === "row") this.goTo(this.state.row);
    else if (change === "matched") this.list.refresh();
    else if (change === "loaded") this.list.refresh(`.${PENDING}`);
    else if (change !== "error") this.build(change === "grew");
  }

  /** @param {boolean} [hasGrown] whether only rows from `grewFrom` on have changed */
  build(hasGrown = false) {
    // The width that the two largest numbers of a run need, with marks.
    const numbers = String(this.recording.lastSeq).length;
    this.list.body.style.setProperty("--number-width", `${Math.max(numbers * 2 + 1, 5) + 2}ch`);
    const last = this.recording.numbers("t_ns").at(this.recording.rows - 1) || 0;
    this.list.body.style.setProperty("--time-width", `${secondsInWords(last).padStart(4).length}ch`);
    const from = !this.openFor(this.state.row) && hasGrown ? this.state.grewFrom : 0;
    this.items = buildItems(this.recording, this.state.shown, this.opened, this.items, from);
    const place = hasGrown ? "kept" : "center";
    // The row before may begin a run of the new rows.
    const first = from > 0 ? indexOfRow(this.items, from - 1) : 0;
    this.list.setItems(this.items, this.indexOf(this.state.row), place, first);
  }

  /** @param {number} row */
  goTo(row) {
    const { active } = this.list;
    if (active >= 0 && rowOfItem(this.items[active]) === row) return;
    if (this.openFor(row)) this.build();
    else this.list.setActive(this.indexOf(row));
  }

  /** The index of the item that begins with a row; -1 if there is none. @param {number} row */
  indexOf(row) {
    const index = indexOfRow(this.items, row);
    return rowOfItem(this.items[index]) === row ? index : -1;
  }

  /**
   * Opens the run that hides a row. The first row of a run is not hidden.
   * @param {number} row
   * @returns {boolean} whether the run was closed before
   */
  openFor(row) {
    const { shown } = this.state;
    const runs = this.recording.numbers("run");
    const place = lowerBound(shown, row);
    // NaN, which means no run, equals no other value.
    const isWithin = shown[place] === row && runs.at(shown[place - 1]) === runs.at(row);
    const isHidden = isWithin && !this.opened.has(runs.at(row));
    if (isHidden) this.opened.add(runs.at(row));
    return isHidden;
  }

  /**
   * Opens or closes the run of an item, and moves to its line.
   * @param {number} item @param {boolean} isOpen
   */
  fold(item, isOpen) {
    const run = this.recording.numbers("run").at(rowOfItem(item));
    if (Number.isNaN(run) || this.opened.has(run) === isOpen) return;
    if (isOpen && kindOfItem(item) !== RUN) return;
    if (isOpen) this.opened.add(run);
    else this.opened.delete(run);
    const { recording, state: { shown }, opened } = this;
    const first = shown[lowerBound(shown, run)];
    this.items = buildItems(recording, shown, opened);
    // The line of the run comes before its rows.
    this.list.setItems(this.items, indexOfRow(this.items, first) - (isOpen ? 1 : 0));
    this.state.select(first);
  }

  /** @param {number} item @param {HTMLElement} node */
  render(item, node) {
    const [row, kind] = [rowOfItem(item), kindOfItem(item)];
    if (kind < RUN) {
      const pause = kind === TURN ? undefined : this.recording.pauses.get(row);
      node.classList.add(...(pause ? ["list-silence", `debt-${pause.debt}`] : ["list-turn"]));
      const session = this.recording.text("session", row);
      const number = this.recording.numbers("turn").at(row);
      const turn = `turn ${number}${session ? ` · ${session}` : ""}`;
      const attributes = { role: "gridcell", "aria-colspan": Object.keys(COLUMNS).length };
      const cell = h("span", attributes, pause ? pauseWords(pause) : turn);
      node.append(termed(cell, !pause && columnTerm(this.recording, row, "session")));
      return;
    }
    const isOpen = this.opened.has(this.recording.numbers("run").at(row));
    setAttribute(node, "aria-level", kind === ROW && isOpen ? 2 : 1);
    if (kind === RUN) setAttribute(node, "aria-expanded", String(isOpen));
    const values = this.values(item);
    const classes = ["tone", "stream"].map((name) => `${name}-${this.recording.text(name, row)}`);
    node.classList.add(...classes);
    node.classList.toggle(PENDING, values.text === null);
    node.append(...Object.keys(COLUMNS).map((name) =>
      h("span", { class: `list-${name}`, role: "gridcell" }, values[name])));
  }

  /**
   * The contents of the columns of a row, or of the run that begins with the row.
   * @param {number} item @returns {Record<string, Child | Child[]>}
   */
  values(item) {
    const [row, isRun] = [rowOfItem(item), kindOfItem(item) === RUN];
    const { recording, state: { shown } } = this;
    const [seqs, times, sizes] = recording.columns("seq", "t_ns", "size");
    const isOpen = this.opened.has(recording.numbers("run").at(row));
    const click = (/** @type {Event} */ event) => {
      event.stopPropagation();
      this.fold(item, !isOpen);
      this.list.focus();
    };
    const alone = { last: row, count: 1, size: sizes.at(row) };
    const { last, count, size } = isRun ? runExtent(recording, shown, row) : alone;
    const text = textOfRows(recording, shown, row, last);
    const note = recording.meta.notes?.[seqs.at(row)];
    const id = isRun ? null : recording.cellsNow(row)?.rpc_id;
    const pair = isRun ? durationInWords(times.at(last) - times.at(row)) : this.pairWords(row);
    const [, verb, end] = /^(.*?)( [✓✗])?$/s.exec(recording.verb(row)) ?? [];
    const [shape, words] = ARROWS[recording.text("stream", row) ?? "event"] ?? ARROWS.event;
    return {
      number: [...this.marks(row, last), seqs.at(row) + (last > row ? `–${seqs.at(last)}` : "")],
      time: secondsInWords(times.at(row)),
      method: [
        termed(sign("list-arrow", shape, words), columnTerm(recording, row, "stream")),
        isRun && h("span", { class: "list-fold", "aria-hidden": "true", on: { click } },
          isOpen ? "▾" : "▸"),
        termed(span("list-verb", verb), verbTerm(recording, row)),
        end ?? (isRun && ` ×${count}`), pair && span("list-pair", pair),
      ],
      id: id && `#${id}`, size: !Number.isNaN(size) && sizeInWords(size),
      text: text === null ? null
        : [note && span("row-note", `✎ ${note} `), ...readable(visibleText(text))],
    };
  }

  /** @param {number} first @param {number} last */
  marks(first, last) {
    const { matched } = this.state;
    const sentences = this.recording.problems.get(first);
    const how = this.state.isWarned(first) ? "warning" : "problem";
    return [
      sentences && sign(`sign-${how}`, how === "warning" ? "⚠" : "✗",
        sentences.map(({ text }) => text).join("\n")),
      (this.recording.numbers("flags").at(first) & 7) > 0 && sign("sign-fault", "◆", "fault"),
      matched[lowerBound(matched, first)] <= last && sign("sign-hit", "●", "found"),
    ];
  }

  /** @param {number} row */
  pairWords(row) {
    const { recording } = this;
    const names = ["request_seq", "response_seq", "latency_ns"];
    const [request, answer, took] = names.map((name) => recording.numbers(name).at(row));
    if (Number.isNaN(request)) return null;
    const pair = recording.pair(row);
    // Users of the keyboard have the keys [ and ].
    const link = (/** @type {string} */ words) => pair < 0 ? words
      : Object.assign(seqButton(this.state, pair, words), { tabIndex: -1 });
    const isAnswer = recording.text("kind", row) !== "request";
    if (isAnswer) return [span("list-asked", link(`↩${request}`)), durationInWords(took, " ")];
    return Number.isNaN(answer) ? span("trouble", recording.unanswered) : link(`→${answer}`);
  }
}

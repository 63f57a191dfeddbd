// Follows a recording that grows: keeps the end in view for a reader who is there, and otherwise
// offers to go there. Also hides the rows that came before now.
import { button, countInWords, part } from "../shell/dom.js";

/**
 * @typedef {import("../shell/app.js").App} App
 * @typedef {import("../shell/state.js").State} State
 */

export class Following {
  /** @type {App | null} */
  app = null;
  /** Whether the end is kept in view. */
  isOn = false;
  /** How many rows were shown when the reader was last at the end. */
  seen = 0;
  /** The frame number of the first row that is not hidden; 0 if no row is hidden. */
  earliest = 0;

  constructor() {
    this.pill = button("", () => this.follow(), { class: "pill", hidden: true });
    this.hiding = part(".hiding");
    this.hiding.onclick = () => this.hide();
  }

  /** Follows in an app, which may have taken the place of another one. @param {App} app */
  attach(app) {
    const { state } = (this.app = app);
    Object.assign(app.commands, { G: () => this.follow(), End: () => this.follow() });
    const main = part(".main");
    main.append(this.pill);
    // Events of scrolling do not bubble.
    main.addEventListener("scroll", () => this.look(), { capture: true, passive: true });
    state.on("grew", () => this.look());
    state.on("shown", () => this.count(0));
    state.on("view", () => this.isOn && this.follow());
    if (this.earliest > 0) state.hideBefore(state.recording.nearest(this.earliest));
    this.count(0);
    if (this.isOn) this.follow();
  }

  /** Goes to the end and stays there. */
  follow() {
    this.isOn = true;
    this.list?.toEnd();
    this.count(0);
  }

  get state() { return /** @type {App} */ (this.app).state; }

  /** The list of the current view; undefined if its end is not the end of the recording. */
  get list() {
    const { state, current } = this.app ?? {};
    return /^(conversation|list|sequence)$/.test(state?.view ?? "") ? current?.list : undefined;
  }

  look() {
    if (!this.list) return;
    this.isOn = this.list.follows;
    this.count(this.isOn ? 0 : this.state.shown.length - this.seen);
  }

  /** Says how many rows are new. @param {number} fresh */
  count(fresh) {
    const { earliest, shown } = this.state;
    this.seen = shown.length - Math.max(0, fresh);
    this.pill.hidden = fresh <= 0 || !this.list;
    this.pill.textContent = `↓ ${fresh.toLocaleString("en")} new`;
    this.hiding.textContent = earliest > 0 ? `Show ${countInWords(earliest, "earlier frame")}`
      : "Hide earlier";
    this.hiding.ariaPressed = String(earliest > 0);
  }

  /** Hides all rows up to now, or shows them again. */
  hide() {
    const { earliest, recording } = this.state;
    this.earliest = earliest > 0 ? 0 : recording.lastSeq + 1;
    this.state.hideBefore(earliest > 0 ? 0 : recording.rows);
    this.follow();
  }
}

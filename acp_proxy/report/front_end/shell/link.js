// Keeps the state of the page in the part of the address after the `#`, so that the address is a
// link to this state. A change of the view, the filter or the range of time is a step in the
// browser's history, and so is a followed link such as `#12`. The selection of another row is no
// step, since the arrow keys select many rows.

/**
 * @typedef {import("./state.js").State} State
 * @typedef {object} Link the state in an address; members that it leaves out are null
 * @property {number | null} seq
 * @property {string | null} view
 * @property {string | null} filter
 * @property {string | null} query
 * @property {number | null} turn
 * @property {[number, number] | null} range nanoseconds since the start
 * @property {number} connection
 * @property {number} channel
 */

/**
 * The changes of the state after which the address is written.
 * @type {import("./state.js").Change[]}
 */
const WRITTEN = ["row", "shown", "matched", "turn"];
const AT_FIRST = { view: "", filter: "", query: "", turn: null, range: null };

/** @param {string} hash @returns {Link} */
export function readLink(hash) {
  const values = new URLSearchParams(hash.replace(/^#/, ""));
  const number = (/** @type {string} */ name) =>
    /^\d+$/.test(values.get(name) ?? "") ? Number(values.get(name)) : null;
  const [, from, to] = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(values.get("t") ?? "") ?? [];
  return {
    seq: number("seq"), turn: number("turn"), view: values.get("view"), filter: values.get("f"),
    query: values.get("q"), range: from ? [nanosecondsOf(from), nanosecondsOf(to)] : null,
    connection: number("c") ?? 0, channel: number("ch") ?? 0,
  };
}

/**
 * @param {Omit<Link, "connection" | "channel">} link @param {string} [token] of the live window
 * @returns {string} without the `#`; empty if nothing is chosen
 */
export function writeLink({ seq, view, filter, query, turn, range }, token = "") {
  const t = range?.map((ns) => (ns / 1e9).toFixed(9).replace(/\.?0+$/, "")).join("-");
  return linkOf({ token, seq, view, f: filter, q: query, turn, t });
}

/** A link with the members that are not empty, without the `#`. @param {object} values */
export const linkOf = (values) => String(new URLSearchParams(Object.entries(values)
  .map(([name, value]) => [name, String(value ?? "")]).filter(([, value]) => value !== "")));

/** @param {string} text seconds with up to nine decimals */
const nanosecondsOf = (text) => Math.round(Number(text) * 1e9);

/**
 * The row that is selected at the start: the row of the first finding, or else of the first prompt,
 * or else the first row.
 * @param {import("../data/recording.js").Recording} recording
 */
export function firstRow({ meta, nearest }) {
  const [problem, [turn]] = [meta.summary?.problems?.[0], meta.summary?.turns ?? []];
  const isSerious = problem !== undefined && problem.severity !== "info";
  return nearest((isSerious ? problem.seq : turn?.prompt_seq) ?? 0);
}

/**
 * Shows the state in a link. If the filter hides the frame of the link, the filter is removed,
 * unless it comes from the link.
 * @param {State} state @param {Link} link @param {string[]} views
 * @param {boolean} isWhole whether the state is reset for members that the link leaves out;
 * otherwise the state of these members stays
 * @param {() => boolean} [isStale] whether the page already follows another link
 */
export async function followLink(state, link, views, isWhole, isStale = () => false) {
  const { recording } = state;
  const { view, filter, query, turn, range } = isWhole ? AT_FIRST : state;
  state.set("view", views.find((name) => name === link.view) ?? (view || views[0]));
  await state.setFilter(link.filter ?? filter);
  if (isStale()) return;
  void state.setQuery(link.query ?? query);
  state.set("turn", link.turn ?? turn);
  state.setRange(link.range ?? range);
  const elsewhere = "This page has no other connection or channel than 0.";
  if (link.connection || link.channel) state.set("error", elsewhere);
  const [ofTurn] = recording.rowsOfTurn(link.turn ?? NaN) ?? [isWhole ? firstRow(recording) : -1];
  const row = link.seq === null ? ofTurn : recording.nearest(link.seq);
  if (row < 0) return;
  const isHidden = () => !state.shown.includes(row);
  if (link.filter === null && isHidden()) await state.setFilter("");
  if (isStale()) return;
  if (link.range === null && state.range !== null && isHidden()) state.setRange(null);
  state.select(link.seq === null ? state.rowAmongShown(row) : row);
}

/**
 * Follows the address now and whenever it changes, and writes it after every change of the state.
 * @param {State} state @param {string[]} views @param {() => void} onArrival at a frame or a turn
 * @param {{token?: string, signal?: AbortSignal}} [options] the token that the address of the live
 * window has, and a signal that ends this
 */
export async function keepLink(state, views, onArrival, { token = "", signal } = {}) {
  const bare = token && `token=${token}`;
  let [timer, latest, isFollowing] = [0, 0, false];
  const now = () => {
    const view = state.view === views[0] ? null : state.view;
    return writeLink({ ...state, seq: state.seq, view }, token);
  };
  const write = (/** @type {boolean} */ mayStep) => {
    const [before, after] = [location.hash.slice(1), now()];
    if (isFollowing || before === after || (before === bare && after === first)) return;
    const [old, next] = [before, after].map((hash) => new URLSearchParams(hash));
    const isStep = mayStep && ["view", "f", "t"].some((name) => old.get(name) !== next.get(name));
    history[isStep ? "pushState" : "replaceState"](true, "", `#${after}`);
  };
  const follow = async () => {
    const { hash } = location;
    const named = document.getElementById(hash.slice(1));
    if (named) return void named.closest("details")?.toggleAttribute("open", true);
    // An address that the page itself has written contains the whole state; any other is a link.
    const isBare = hash.slice(1) === bare;
    const isWhole = history.state !== null || isBare;
    const number = ++latest;
    isFollowing = true;
    await followLink(state, readLink(hash), views, isWhole, () => number !== latest);
    if (number !== latest) return;
    isFollowing = false;
    write(false);
    history.replaceState(true, "");
    if (!isBare) onArrival();
  };
  await followLink(state, readLink(""), views, true);
  const first = now();
  await follow();
  const writeLater = () => {
    clearTimeout(timer);
    if (signal?.aborted) return;
    // A word that is typed into the filter is one step in the history.
    const isTyped = document.activeElement?.id === "filter";
    timer = window.setTimeout(() => write(true), isTyped ? 1000 : 250);
  };
  for (const change of WRITTEN) state.on(change, writeLater);
  state.on("view", () => write(true));
  window.addEventListener("hashchange", follow, { signal });
  document.addEventListener("click", ({ target }) => {
    const link = target instanceof Element ? target.closest("a[href^='#']") : null;
    // A link to the present address causes no other event.
    if (link?.getAttribute("href") === location.hash) follow();
  }, { signal });
}

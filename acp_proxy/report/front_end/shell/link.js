// Keeps what is shown in the address behind the `#`, so that a link leads to it again.

/**
 * @typedef {import("./state.js").State} State
 * @typedef {{seq: number | null, view: string | null, filter: string | null, query: string | null, turn: number | null}} Link
 */

const WRITE_AFTER_MS = 250;

/** @param {string} hash @returns {Link} */
export function readLink(hash) {
  const values = new URLSearchParams(hash.replace(/^#/, ""));
  const [seq, turn] = ["seq", "turn"].map((name) => (/^\d+$/.test(values.get(name) ?? "") ? Number(values.get(name)) : null));
  return { seq, turn, view: values.get("view"), filter: values.get("f"), query: values.get("q") };
}

/** @param {Link} link @returns {string} without the `#`; empty if nothing is chosen */
export function writeLink({ seq, view, filter, query, turn }) {
  const values = Object.entries({ seq, view, f: filter, q: query, turn });
  return new URLSearchParams(values.filter(([, value]) => value !== null && value !== "").map(([name, value]) => [name, String(value)])).toString();
}

/**
 * Shows what a link says. A frame that the filter hides is shown without it, unless the link has one.
 * @param {State} state @param {Link} link @param {string[]} views
 */
export async function followLink(state, link, views) {
  if (link.view !== null && views.includes(link.view)) state.setView(link.view);
  if (link.filter !== null && link.filter !== state.filter) await state.setFilter(link.filter);
  if (link.query !== null && link.query !== state.query) void state.setQuery(link.query);
  if (link.turn !== null) state.setTurn(link.turn);
  const { recording } = state;
  const turnRows = link.seq === null && link.turn !== null ? recording.rowsOfTurn(link.turn) : null;
  const row = link.seq !== null && recording.rows > 0 ? recording.nearest(link.seq) : turnRows ? turnRows[0] : -1;
  if (row < 0) return;
  if (link.filter === null && state.filter !== "" && !state.shown.includes(row)) await state.setFilter("");
  if (state.range !== null && !state.shown.includes(row)) state.setRange(null);
  state.select(row);
}

/**
 * Writes the address after every change, and follows links.
 * @param {State} state @param {string[]} views @param {() => void} onArrival
 */
export function keepLink(state, views, onArrival) {
  let timer = 0;
  const write = () => {
    const { seq, view, filter, query, turn } = state;
    const hash = writeLink({ seq, view: view === views[0] ? null : view, filter, query, turn });
    // No history: going back would walk through every row.
    if (`#${hash}` !== (location.hash || "#")) history.replaceState(null, "", `#${hash}`);
  };
  for (const change of /** @type {const} */ (["row", "view", "shown", "matched", "turn"])) {
    state.on(change, () => {
      clearTimeout(timer);
      timer = window.setTimeout(write, WRITE_AFTER_MS);
    });
  }
  const follow = async () => {
    await followLink(state, readLink(location.hash), views);
    onArrival();
    write();
  };
  window.addEventListener("hashchange", follow);
  document.addEventListener("click", ({ target }) => {
    const link = target instanceof Element ? target.closest("a[href^='#']") : null;
    // For a link to where the page is already there is no other event.
    if (link?.getAttribute("href") === location.hash) follow();
  });
}

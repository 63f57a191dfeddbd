// Marks the words of the search, or else of the filter, in the views and in the detail. CSS
// highlights mark them, so no element is changed.

/** Elements whose texts are not from the recording. */
const OWN = ":is(button, .entry-section, .entry-kind, .entry-place, .finding, .list-number, "
  + ".list-time, .list-size, .sequence-when, .visually-hidden, .waterfall-time, .card > .note)";
const RECORDED =
  `:is(.calls-title, :is(.list-drawn, .detail-panel) :not(.calls-row *, ${OWN}, ${OWN} *))`;

/**
 * Marks the searched words in an element, now and whenever the element's content changes.
 * @param {import("../shell/state.js").State} state
 * @param {HTMLElement} root
 */
export function keepFoundMarked(state, root) {
  const mark = () => {
    const { query, applied: { texts = [] } } = state;
    const wanted = query === "" ? texts.filter(Boolean) : [query];
    // As in the search, case matters only if the query has a capital letter.
    const flags = query === query.toLowerCase() ? "giu" : "gu";
    const pattern = new RegExp(wanted.map((text) =>
      text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("|"), flags);
    const found = new window.Highlight();
    const walker = document.createTreeWalker(root, window.NodeFilter.SHOW_TEXT);
    while (wanted.length > 0 && found.size < 5000 && walker.nextNode()) {
      const text = /** @type {Text} */ (walker.currentNode);
      if (!text.parentElement?.matches(RECORDED)) continue;
      for (const { index: startOffset, 0: { length } } of text.data.matchAll(pattern)) {
        const [startContainer, endContainer, endOffset] = [text, text, startOffset + length];
        found.add(new window.StaticRange({ startContainer, startOffset, endContainer, endOffset }));
      }
    }
    CSS.highlights.set("found", found);
  };
  // Browsers without highlights mark nothing.
  if (!("Highlight" in window)) return;
  new window.MutationObserver(mark).observe(root, { childList: true, subtree: true });
  state.on("matched", mark);
  state.on("shown", mark);
}

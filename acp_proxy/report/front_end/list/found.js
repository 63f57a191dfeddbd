// Marks the words of the search in the views and in the detail. CSS highlights mark them, so no
// element is changed.

/** Elements whose texts are not from the recording. */
const OWN = ":is(button, .entry-section, .entry-kind, .entry-place, .finding, .list-number, "
  + ".list-time, .list-size, .sequence-when, .visually-hidden, .waterfall-time)";
const RECORDED =
  `:is(.calls-title, :is(.list-drawn, .detail-panel) :not(.calls-row *, ${OWN}, ${OWN} *))`;

/**
 * Marks the searched words in an element, now and whenever the element's content changes.
 * @param {import("../shell/state.js").State} state
 * @param {HTMLElement} root
 */
export function keepFoundMarked(state, root) {
  const mark = () => {
    const { query } = state;
    // As in the search, case matters only if the query has a capital letter.
    const flags = query === query.toLowerCase() ? "giu" : "gu";
    const pattern = new RegExp(query.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"), flags);
    const found = new window.Highlight();
    const texts = document.createTreeWalker(root, window.NodeFilter.SHOW_TEXT);
    while (query !== "" && found.size < 5000 && texts.nextNode()) {
      const text = /** @type {Text} */ (texts.currentNode);
      if (!text.parentElement?.matches(RECORDED)) continue;
      for (const { index, 0: words } of text.data.matchAll(pattern)) {
        const range = document.createRange();
        range.setStart(text, index);
        range.setEnd(text, index + words.length);
        found.add(range);
      }
    }
    CSS.highlights.set("found", found);
  };
  // Browsers without highlights mark nothing.
  if (!("Highlight" in window)) return;
  new window.MutationObserver(mark).observe(root, { childList: true, subtree: true });
  state.on("matched", mark);
}

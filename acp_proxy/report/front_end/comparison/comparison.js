// Moves from difference to difference in the page of a comparison, by key, button or link. Without
// this script, the page still shows all differences.

/** @type {HTMLElement[]} */
const changes = Array.from(document.querySelectorAll(".change"));
let current = -1;

/**
 * Goes to the next or the previous difference: after or before the marked difference or, without a
 * mark, the difference in sight. The address then names the difference, so the browser scrolls to
 * it.
 * @param {1 | -1} by
 */
function step(by) {
  const inSight = changes.findIndex((one) => one.getBoundingClientRect().top >= 0);
  const next = inSight < 0 ? changes.length : inSight;
  const { id } = changes[current >= 0 ? current + by : by > 0 ? next : next - 1] ?? {};
  if (id) location.replace(`#${id}`);
  followAddress();
}

/** Marks the difference that the address of the page names. */
function followAddress() {
  const named = document.getElementById(location.hash.slice(1));
  const index = changes.findIndex((one) => one === named || named?.contains(one));
  changes[current]?.removeAttribute("aria-current");
  if (index >= 0) current = index;
  changes[current]?.setAttribute("aria-current", "true");
  const [number, total] = [current + 1, changes.length].map((count) => count.toLocaleString("en"));
  const place = document.getElementById("place");
  if (place !== null) place.textContent = current < 0 ? `${total} shown` : `${number} of ${total}`;
}

if (changes.length > 0) {
  document.getElementById("steps")?.removeAttribute("hidden");
  document.getElementById("next")?.addEventListener("click", () => step(1));
  document.getElementById("previous")?.addEventListener("click", () => step(-1));
  document.addEventListener("keydown", ({ key, ctrlKey, metaKey, altKey }) => {
    if (!ctrlKey && !metaKey && !altKey && /^[np]$/.test(key)) step(key === "n" ? 1 : -1);
  });
  window.addEventListener("hashchange", followAddress);
  followAddress();
}

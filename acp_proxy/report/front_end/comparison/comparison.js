// Moves from difference to difference in the page of a comparison, by key, button or link. Without
// this script, the page still shows all differences.

/** @type {HTMLElement[]} */
const changes = Array.from(document.querySelectorAll(".change"));
let current = -1;

/**
 * Shows a difference, and names it in the address so that it can be linked to. The browser scrolls
 * to what the address names, and moves the focus there.
 * @param {number} index
 */
function showChange(index) {
  if (index < 0 || index >= changes.length) return;
  markChange(index);
  location.replace(`#${changes[index].id}`);
}

/** @param {number} index */
function markChange(index) {
  changes[current]?.removeAttribute("aria-current");
  changes[index]?.setAttribute("aria-current", "true");
  current = index;
  const [number, total] = [index + 1, changes.length].map((count) => count.toLocaleString("en"));
  const place = document.getElementById("place");
  if (place !== null) place.textContent = index < 0 ? `${total} shown` : `${number} of ${total}`;
}

/** Moves from the marked difference, or else from the first one in sight. @param {1 | -1} by */
function step(by) {
  const inSight = changes.findIndex((one) => one.getBoundingClientRect().top >= 0);
  const next = inSight < 0 ? changes.length : inSight;
  showChange(current >= 0 ? current + by : by > 0 ? next : next - 1);
}

/** Marks the difference whose number is in the address of the page. */
function followAddress() {
  const named = document.getElementById(location.hash.slice(1));
  const index = changes.findIndex((one) => one === named || named?.contains(one));
  if (index >= 0) markChange(index);
}

if (changes.length > 0) {
  document.getElementById("steps")?.removeAttribute("hidden");
  document.getElementById("next")?.addEventListener("click", () => step(1));
  document.getElementById("previous")?.addEventListener("click", () => step(-1));
  document.addEventListener("keydown", ({ key, ctrlKey, metaKey, altKey }) => {
    if (!ctrlKey && !metaKey && !altKey && /^[np]$/.test(key)) step(key === "n" ? 1 : -1);
  });
  window.addEventListener("hashchange", followAddress);
  markChange(-1);
  followAddress();
}

// Moves from difference to difference in the page of a comparison, by key, button or link. The
// page shows all of them without this script.

/** @type {HTMLElement[]} */
const changes = [...document.querySelectorAll(".change")].filter((one) => one instanceof HTMLElement);
let current = -1;

/**
 * Shows a difference, and names it in the address so that it can be linked to.
 * @param {number} index
 */
function showChange(index) {
  if (index < 0 || index >= changes.length) return;
  markChange(index);
  const shown = changes[index];
  history.replaceState(null, "", `#${shown.id}`);
  shown.scrollIntoView({ block: "start" });
  shown.focus({ preventScroll: true });
}

/** @param {number} index */
function markChange(index) {
  changes[current]?.classList.remove("current");
  changes[current]?.removeAttribute("aria-current");
  current = index;
  changes[index]?.classList.add("current");
  changes[index]?.setAttribute("aria-current", "true");
  const total = changes.length.toLocaleString("en");
  const text = index < 0 ? `${total} shown` : `${(index + 1).toLocaleString("en")} of ${total}`;
  const place = document.getElementById("place");
  if (place !== null) place.textContent = text;
}

/** Returns the difference that a step begins at: the marked one, or else the one in sight. */
function startOfStep() {
  if (current >= 0) return current;
  const next = changes.findIndex((one) => one.getBoundingClientRect().top >= 0);
  return (next < 0 ? changes.length : next) - 1;
}

/** Marks the difference that the address names. */
function followAddress() {
  const named = document.getElementById(location.hash.slice(1));
  const index = changes.findIndex((one) => one === named || named?.contains(one));
  if (named !== null && index >= 0) markChange(index);
}

/** @param {KeyboardEvent} event */
function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "n") showChange(startOfStep() + 1);
  else if (event.key === "p") showChange(current < 0 ? startOfStep() : current - 1);
  else return;
  event.preventDefault();
}

/** Begins; without differences there is nothing to move to. */
function beginComparison() {
  if (changes.length === 0) return;
  document.getElementById("steps")?.removeAttribute("hidden");
  document.getElementById("next")?.addEventListener("click", () => showChange(startOfStep() + 1));
  document.getElementById("previous")?.addEventListener("click", () => {
    showChange(current < 0 ? startOfStep() : current - 1);
  });
  document.addEventListener("keydown", onKey);
  window.addEventListener("hashchange", followAddress);
  markChange(-1);
  followAddress();
}

beginComparison();

// A page whose part #live changes by itself: asked for anew while it has data-busy, every data-every ms.

import { pause } from "./lib/live.js";

const POLL_MS = 1000;
const MOST_MS = 10000;

const live = () => document.getElementById("live");

async function look() {
  const response = await fetch(location.href);
  if (response.redirected || response.status === 404) location.reload();
  if (!response.ok) return false;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const found = page.getElementById("live");
  // Whoever is about to press a button in there is not disturbed, nor whoever has it read out where nothing is new.
  if (found && !live().contains(document.activeElement) && !isSame(live(), found)
      && !live().querySelector("details.confirm[open]")) live().replaceWith(keptOpen(live(), found));
  return true;
}

function isSame(old, found) {
  return old.textContent === found.textContent && "busy" in old.dataset === "busy" in found.dataset;
}

// What somebody has unfolded stays so.
function keptOpen(old, found) {
  const open = new Set([...old.querySelectorAll("details[open] > summary")].map((each) => each.textContent));
  for (const each of found.querySelectorAll("details > summary")) {
    if (open.has(each.textContent)) each.parentElement.open = true;
  }
  return found;
}

const every = () => Number(live()?.dataset.every) || POLL_MS;
let wait = every();
while (live() && "busy" in live().dataset) {
  await pause(wait);
  if (document.hidden) continue;
  wait = await look().catch(() => false) ? every() : Math.min(wait * 2, MOST_MS);
}

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
  // Whoever is about to press a button in there is not disturbed.
  if (found && !live().contains(document.activeElement)
      && !live().querySelector("details.confirm[open]")) live().replaceWith(found);
  return true;
}

const every = () => Number(live()?.dataset.every) || POLL_MS;
let wait = every();
while (live() && "busy" in live().dataset) {
  await pause(wait);
  if (document.hidden) continue;
  wait = await look().catch(() => false) ? every() : Math.min(wait * 2, MOST_MS);
}

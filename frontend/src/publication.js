// A publication's page: its steps as they are done, and its pull request until it is merged.

import { announce, ask, pause, whileHidden } from "./lib/live.js";

const live = document.getElementById("live");
const state = () => document.getElementById("live-state");

function update(html) {
  const before = document.title;
  const fresh = new DOMParser().parseFromString(html, "text/html");
  for (const part of fresh.querySelectorAll("[id^=live-]")) {
    const shown = document.getElementById(part.id);
    const isUsed = shown.contains(document.activeElement) || shown.querySelector("details.confirm[open]");
    if (!isUsed && shown.innerHTML !== part.innerHTML) shown.replaceWith(part);
    else shown.dataset.wait = part.dataset.wait;
  }
  document.title = state().dataset.title;
  if (document.title !== before) announce(document.title.replace(/ – PAIShare$/, ""));
}

for (;;) {
  const { final, wait } = state().dataset;
  if (final) break;
  await pause(Number(wait));
  await whileHidden();
  const answer = await ask(live.dataset.url);
  if (answer) update(await answer.text());
}

// Two versions compared: "n" and "p" go from change to change.

import { onKey } from "./lib/keys.js";

const rows = [...document.querySelectorAll(".diff .changed")];
const starts = rows.filter((row) => !row.previousElementSibling?.matches(".changed"));
let shown = -1;

function go(step) {
  shown = Math.max(0, Math.min(starts.length - 1, shown + step));
  for (const each of starts) each.classList.remove("here");
  starts[shown]?.classList.add("here");
  starts[shown]?.scrollIntoView({ block: "center" });
}

onKey("n", () => go(1));
onKey("p", () => go(-1));

// The list of jobs: rows change in place and never move; jobs that have come are offered, not pushed in.

import { onKey } from "./lib/keys.js";
import { ask, pause } from "./lib/live.js";
import { follow } from "./lib/stream.js";
import { _, ngettext } from "./lib/texts.js";

const BETWEEN_MS = 1000; // however much changes
const AGAIN_MS = 30_000; // how long jobs have lasted changes without a word
const byId = (id) => document.getElementById(id);
const rows = (root) => [...root.querySelectorAll("tr[id^=job-]")];
const boxes = () => [...document.querySelectorAll("input[name=job]")];

let fresh = null; // the newest list of the server, as a document
let come = 0; // jobs in it that this page does not show

/* --- choosing ------------------------------------------------------------------------------ */

function count() {
  const form = byId("chosen");
  if (!form) return;
  const chosen = boxes().filter((each) => each.checked);
  const live = chosen.filter((each) => ["WAITING", "RUNNING"].includes(each.closest("tr").dataset.state));
  byId("chosen-count").textContent = chosen.length ? ngettext("%(num)d chosen", "%(num)d chosen", chosen.length) : "";
  form.querySelector("[value=stop]").disabled = !live.length;
  form.querySelector("[value=compare]").disabled = chosen.length !== 2;
  const all = byId("choose-all");
  all.hidden = false;
  all.checked = chosen.length > 0 && chosen.length === boxes().length;
  all.indeterminate = chosen.length > 0 && !all.checked;
}

document.addEventListener("change", (event) => {
  if (event.target.id === "choose-all") for (const each of boxes()) each.checked = event.target.checked;
  count();
});

/* --- as it changes --------------------------------------------------------------------------- */

const isBusy = (element) => element.contains(document.activeElement) || element.querySelector("details[open]");

function replace(shown, part) {
  if (shown.innerHTML !== part.innerHTML && !isBusy(shown)) shown.replaceChildren(...part.cloneNode(true).childNodes);
}

function update() {
  const known = new Set(rows(document).map((row) => row.id));
  const told = rows(fresh);
  for (const part of told) {
    const shown = byId(part.id);
    if (!shown) continue;
    shown.dataset.state = part.dataset.state;
    [...shown.cells].forEach((cell, at) => { if (!cell.matches(".pick")) replace(cell, part.cells[at]); });
  }
  const last = told.findLastIndex((row) => known.has(row.id));
  come = told.slice(0, last + 1).filter((row) => !known.has(row.id)).length;
  const button = byId("show-new");
  if (button) {
    button.hidden = !come;
    button.textContent = ngettext("%(num)d new – show", "%(num)d new – show", come);
  }
  replace(byId("jobs-states"), fresh.getElementById("jobs-states"));
  document.title = fresh.getElementById("jobs-list").dataset.title;
  count();
}

async function look() {
  const url = new URL(location.href);
  if (come) url.searchParams.set("new", come);
  const answer = await ask(url, { headers: { "HX-Request": "true" } });
  const text = await answer?.text().catch(() => "");
  if (!text) return;
  fresh = new DOMParser().parseFromString(text, "text/html");
  if (!rows(document).length && rows(fresh).length) show();
  else update();
}

function show() {
  byId("jobs-list").replaceWith(fresh.getElementById("jobs-list"));
  come = 0;
  count();
}

document.addEventListener("click", (event) => { if (event.target.id === "show-new") show(); });
onKey("/", () => { byId("q").focus(); byId("q").select(); });

let isLooking = false;
let isDue = false;

async function lookSoon() {
  isDue = true;
  if (isLooking) return;
  isLooking = true;
  while (isDue) {
    isDue = false;
    await look();
    await pause(BETWEEN_MS);
  }
  isLooking = false;
}

setInterval(() => {
  if (!document.hidden && document.querySelector("tr[data-state=RUNNING]")) lookSoon();
}, AGAIN_MS);

count();
follow({
  path: byId("jobs-list").dataset.stream,
  hello: () => ({ all: byId("jobs-list").dataset.all === "yes" }),
  message: (news) => (news.type === "end" && news.code === "Unauthorized" ? location.reload() : lookSoon()),
  poll: look,
});

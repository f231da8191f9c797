// A job's page: its log as it is written, its charts, and its state, tasks and artifacts as they change.

import { Lines } from "./log/lines.js";
import { View } from "./log/view.js";
import { onKey } from "./lib/keys.js";
import { ask } from "./lib/live.js";
import { follow } from "./lib/stream.js";
import { _, ngettext } from "./lib/texts.js";

const MOST_LINES = 200_000;

const box = document.getElementById("log-text");
const logState = document.getElementById("log-state");
const live = document.getElementById("live");
const byId = (id) => document.getElementById(id);

/* --- the log ------------------------------------------------------------------------------- */

const lines = new Lines(MOST_LINES);
const view = new View(box, lines);
const following = byId("follow");
const search = byId("log-search");
const count = byId("log-count");
const more = byId("log-more");
let found = [];
let at = -1;
let unseen = 0;
const wasFinal = Boolean(byId("live-state").dataset.final); // then nothing that comes is new

const toEnd = () => { box.scrollTop = box.scrollHeight; };
const isAtEnd = () => box.scrollHeight - box.scrollTop - box.clientHeight < 30;

let wanted = 0; // the line that the address names, until it is there

function jump() {
  wanted = Number(location.hash.match(/^#L(\d+)/)?.[1] ?? wanted);
  if (!wanted || !view.show(wanted)) return;
  following.checked = false;
  wanted = 0;
}

function append(records) {
  const before = lines.dropped + lines.length;
  const first = lines.add(records);
  view.update(first);
  if (search.value) findNew(first);
  if (wanted) jump();
  if (following.checked) return toEnd();
  if (!wasFinal) unseen += lines.dropped + lines.length - before;
  more.textContent = ngettext("↓ %(num)d new line", "↓ %(num)d new lines", unseen);
  more.hidden = !unseen;
  return undefined;
}

function seen() {
  unseen = 0;
  more.hidden = true;
}

let offset = 0;
let isRead = false;

function takeLog(page) {
  ({ offset, is_complete: isRead } = page);
  if (page.records.length) append(page.records);
  if (!isRead) logState.textContent = lines.length ? "" : _("Nothing is written yet.");
  else logState.textContent = lines.length ? _("This is the end of the log.") : _("The task wrote nothing.");
}

function go(step) {
  if (!found.length) return;
  at = (at + step + found.length) % found.length;
  following.checked = false;
  view.show(found[at]);
  tellFound();
}

function tellFound() {
  count.textContent = search.value ? (at < 0 ? "" : `${at + 1}/`) + found.length : "";
}

function findNew(first) {
  const current = found[at];
  const { dropped } = lines;
  found = [...found.filter((line) => line > dropped && line <= dropped + first), ...view.matches(first)];
  at = found.indexOf(current);
  tellFound();
}

function find() {
  found = view.find(search.value);
  at = -1;
  tellFound();
}

let isMoving = 0;
box.addEventListener("scroll", () => {
  if (isAtEnd()) seen();
  else if (performance.now() - isMoving < 1000) following.checked = false;
});
for (const kind of ["wheel", "pointerdown", "keydown", "touchmove"]) {
  box.addEventListener(kind, () => { isMoving = performance.now(); }, { passive: true });
}
following.addEventListener("change", () => { if (following.checked) { toEnd(); seen(); } });
more.addEventListener("click", () => { following.checked = true; toEnd(); seen(); });
for (const name of ["wrap", "times"]) {
  const choice = byId(`log-${name}`);
  choice.checked = localStorage.getItem(`paishare-log-${name}`) === "yes";
  const apply = () => {
    box.classList.toggle(name, choice.checked);
    localStorage.setItem(`paishare-log-${name}`, choice.checked ? "yes" : "no");
    if (following.checked) toEnd();
  };
  choice.addEventListener("change", apply);
  apply();
}
search.addEventListener("input", (event) => { if (!event.isComposing) find(); });
search.addEventListener("compositionend", find);
search.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.isComposing) return;
  event.preventDefault();
  go(event.shiftKey ? -1 : 1);
});
byId("log-next").addEventListener("click", () => go(1));
byId("log-before").addEventListener("click", () => go(-1));
box.addEventListener("click", (event) => {
  const link = event.target.closest("a.at");
  if (!link) return;
  event.preventDefault();
  history.replaceState(null, "", link.hash);
  jump();
});
addEventListener("hashchange", jump);
onKey("/", () => { search.focus(); search.select(); });
onKey("f", () => following.click());

/* --- everything else ----------------------------------------------------------------------- */

function icon(state) {
  const colours = { RUNNING: "#1d57c2", SUCCEEDED: "#14703b", FAILED: "#b3202c", WAITING: "#855600" };
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="7" fill="${colours[state] ?? "#566172"}"/></svg>`;
  document.querySelector("link[rel=icon]").href = `data:image/svg+xml,${encodeURIComponent(svg)}`;
}

let told = byId("live-state").dataset.state;

function tell(state, name) {
  icon(state);
  if (state === told) return;
  told = state;
  document.title = document.title.replace(/ – .* – PAIShare$/, ` – ${byId("live-state").dataset.word} – PAIShare`);
  if (byId("live-state").dataset.final && window.Notification?.permission === "granted") {
    new Notification(`${name}: ${byId("live-state").dataset.word}`);
  }
}

function update(html) {
  const fresh = new DOMParser().parseFromString(html, "text/html");
  for (const part of fresh.querySelectorAll("[id^=live-]")) {
    const shown = byId(part.id);
    const isUsed = shown.contains(document.activeElement);
    if (!isUsed && shown.outerHTML !== part.outerHTML) shown.replaceWith(part);
  }
  const state = byId("live-state");
  tell(state.dataset.state, live.dataset.name);
  if (state.dataset.final) for (const each of [byId("stop"), byId("bell")]) each?.remove();
  return Boolean(state.dataset.final);
}

let isFinal = wasFinal;

// What the stream would have told, for as long as there is none.
async function poll() {
  const page = isRead ? null : await (await ask(`${box.dataset.url}&offset=${offset}`))?.json();
  if (page) takeLog(page);
  const answer = isFinal ? null : await ask(live.dataset.url);
  if (answer) isFinal = update(await answer.text());
}

function hear(news) {
  if (news.type === "log") takeLog(news);
  else if (news.type === "page") isFinal = update(news.html);
  else if (["Unauthorized", "NotFound", "Forbidden"].includes(news.code)) location.reload();
  else if (news.type === "end") logState.textContent = news.message || logState.textContent;
}

const bell = byId("bell");
if (bell && window.Notification) {
  bell.hidden = Notification.permission === "denied";
  bell.setAttribute("aria-pressed", String(Notification.permission === "granted"));
  bell.addEventListener("click", async () => {
    bell.setAttribute("aria-pressed", String(await Notification.requestPermission() === "granted"));
  });
}

const charts = byId("charts");
new IntersectionObserver(async (entries, observer) => {
  if (!entries.some((each) => each.isIntersecting)) return;
  observer.disconnect();
  const { draw } = await import("./log/charts.js");
  draw(charts, () => Boolean(byId("live-state").dataset.final));
}, { rootMargin: "200px" }).observe(charts);

icon(told);
box.replaceChildren();
byId("log-tools").hidden = false;
jump();
follow({
  path: live.dataset.stream, message: hear, poll,
  hello: () => ({ task: live.dataset.task, attempt: live.dataset.attempt, offset }),
});

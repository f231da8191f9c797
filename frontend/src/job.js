// A job's page: its log as it is written, its charts, and its state, tasks and artifacts as they change.

import { panel } from "./log/panel.js";
import { announce, ask } from "./lib/live.js";
import { follow } from "./lib/stream.js";
import { _ } from "./lib/texts.js";

const box = document.getElementById("log-text");
const live = document.getElementById("live");
const byId = (id) => document.getElementById(id);

/* --- the log ------------------------------------------------------------------------------- */

const wasFinal = Boolean(byId("live-state").dataset.final);
const log = panel({ wasOver: wasFinal, nothing: _("The task wrote nothing.") });
let offset = 0;
let isRead = false;

function takeLog(page) {
  ({ offset, is_complete: isRead } = page);
  log.take(page.records, isRead);
}

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
  announce(`${byId("live-state").dataset.word}. ${byId("reason").textContent}`);
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
  log.say(news.type === "end" ? news.message : "");
  if (news.type === "log") takeLog(news);
  else if (news.type === "page") isFinal = update(news.html);
  else if (["Unauthorized", "NotFound", "Forbidden"].includes(news.code)) location.reload();
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
follow({
  path: live.dataset.stream, message: hear, poll,
  hello: () => ({ task: live.dataset.task, attempt: live.dataset.attempt, offset }),
});

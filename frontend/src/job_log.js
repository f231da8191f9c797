// The log of all tasks of a job: goes on where the page ended, line by line in the order of time.

import { ask } from "./lib/live.js";
import { follow } from "./lib/stream.js";
import { _ } from "./lib/texts.js";

const MAX_LINES = 20_000;
const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])/g;

const log = document.getElementById("all-log");
const state = document.getElementById("all-log-state");
const following = document.getElementById("follow");

function shown(line) {
  const piece = document.createElement("span");
  const text = line.text.replace(ESCAPES, "").replace(/\r$/, "");
  const task = `${line.attempt}/${line.role}-${line.index}`;
  piece.className = line.stream;
  piece.textContent = `${line.time.slice(11, 23)} ${task} | ${text.slice(text.lastIndexOf("\r") + 1)}\n`;
  return piece;
}

let { cursor } = log.dataset;
let isRead = Boolean(log.dataset.complete);

function take(page) {
  ({ cursor, is_complete: isRead } = page);
  log.append(...page.lines.map(shown));
  while (log.childElementCount > MAX_LINES) log.firstElementChild.remove();
  if (following.checked) log.scrollTop = log.scrollHeight;
  if (isRead) state.textContent = _("This is the end of the log.");
  else state.textContent = log.textContent ? "" : _("Nothing is written yet.");
}

async function poll() {
  const page = await (await ask(`${log.dataset.url}?${new URLSearchParams({ cursor })}`))?.json();
  if (page) take(page);
}

function hear(news) {
  if (news.type === "lines") take(news);
  else if (["Unauthorized", "NotFound", "Forbidden"].includes(news.code)) location.reload();
}

log.addEventListener("scroll", () => {
  if (log.scrollHeight - log.scrollTop - log.clientHeight > 30) following.checked = false;
});
following.addEventListener("change", () => {
  if (following.checked) log.scrollTop = log.scrollHeight;
});
document.getElementById("follow-box").hidden = false;
if (isRead) state.textContent = _("This is the end of the log.");
else follow({ path: log.dataset.stream, hello: () => ({ cursor }), message: hear, poll });

// The log of all tasks of a job: goes on where the page ended, line by line in the order of time.

import { ask, pause, whileHidden } from "./lib/live.js";
import { _ } from "./lib/texts.js";

const WAIT_S = 15;
const MAX_LINES = 20_000;
const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])/g;

const log = document.getElementById("all-log");
const state = document.getElementById("all-log-state");
const follow = document.getElementById("follow");

function shown(line) {
  const piece = document.createElement("span");
  const text = line.text.replace(ESCAPES, "").replace(/\r$/, "");
  const task = `${line.attempt}/${line.role}-${line.index}`;
  piece.className = line.stream;
  piece.textContent = `${line.time.slice(11, 23)} ${task} | ${text.slice(text.lastIndexOf("\r") + 1)}\n`;
  return piece;
}

async function read() {
  let { cursor } = log.dataset;
  let wait = 1000;
  while (!log.dataset.complete) {
    await whileHidden();
    const page = await (await ask(`${log.dataset.url}?${new URLSearchParams({ cursor, wait_s: WAIT_S })}`))?.json();
    if (!page) {
      await pause(wait);
      wait = Math.min(wait * 2, 10_000);
      continue;
    }
    wait = 1000;
    const isStuck = page.cursor === cursor;
    cursor = page.cursor;
    log.append(...page.lines.map(shown));
    while (log.childElementCount > MAX_LINES) log.firstElementChild.remove();
    if (follow.checked) log.scrollTop = log.scrollHeight;
    state.textContent = log.textContent ? "" : _("Nothing is written yet.");
    if (page.is_complete) break;
    if (isStuck && !page.lines.length) await pause(1000);
  }
  state.textContent = _("This is the end of the log.");
}

log.addEventListener("scroll", () => {
  if (log.scrollHeight - log.scrollTop - log.clientHeight > 30) follow.checked = false;
});
follow.addEventListener("change", () => {
  if (follow.checked) log.scrollTop = log.scrollHeight;
});
document.getElementById("follow-box").hidden = false;
read();

// A job's page: its log as it is written, and its state, tasks and artifacts as they change.

const POLL_MS = 1500;
const WAIT_S = 15;
const MAX_PIECES = 5000;

const log = document.getElementById("log-text");
const logState = document.getElementById("log-state");
const follow = document.getElementById("follow");
const live = document.getElementById("live");
const offline = document.getElementById("offline");

const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });

async function whileHidden() {
  while (document.hidden) {
    await new Promise((done) => {
      document.addEventListener("visibilitychange", done, { once: true });
    });
  }
}

// The answer, or nothing when the server is away; an expired login leads to the login page.
async function ask(url) {
  try {
    const response = await fetch(url);
    offline.hidden = response.status < 500;
    if (response.status === 401 || response.redirected) location.reload();
    return response.ok && !response.redirected ? response : null;
  } catch {
    offline.hidden = false;
    return null;
  }
}

/* --- the log ------------------------------------------------------------------------------- */

const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])/g;
const UNFINISHED = /\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]*)?$/;
const held = { stdout: "", stderr: "", notice: "" };

// Text without colours; an escape sequence that is cut in two waits for its other half.
function plain(stream, text) {
  let whole = held[stream] + text;
  held[stream] = whole.match(UNFINISHED)?.[0].slice(0, 200) ?? "";
  if (held[stream]) whole = whole.slice(0, -held[stream].length);
  const lines = whole.replace(ESCAPES, "").replaceAll("\r\n", "\n").split("\n");
  return lines.map((line) => line.slice(line.lastIndexOf("\r") + 1)).join("\n");
}

function append(records) {
  const pieces = records.map((record) => {
    const piece = document.createElement("span");
    piece.className = record.stream;
    piece.textContent = plain(record.stream, record.text);
    return piece;
  });
  log.append(...pieces);
  while (log.childElementCount > MAX_PIECES) log.firstElementChild.remove();
  if (follow.checked) log.scrollTop = log.scrollHeight;
}

async function readLog() {
  let { offset } = log.dataset;
  for (let wait = 1000; ;) {
    await whileHidden();
    const url = `${log.dataset.url}&offset=${offset}&wait_s=${WAIT_S}`;
    const asked = performance.now();
    const answer = await (await ask(url))?.json();
    if (!answer) {
      await pause(wait);
      wait = Math.min(wait * 2, 10_000);
      continue;
    }
    wait = 1000;
    offset = answer.offset;
    if (answer.records.length) append(answer.records);
    if (answer.is_complete) break;
    logState.textContent = log.textContent ? "" : "Nothing is written yet.";
    if (!answer.records.length && performance.now() - asked < 1000) await pause(1000);
  }
  logState.textContent = log.textContent ? "This is the end of the log."
    : "The task wrote nothing.";
}

log.addEventListener("scroll", () => {
  const isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 30;
  if (!isAtEnd) follow.checked = false;
});
follow.addEventListener("change", () => {
  if (follow.checked) log.scrollTop = log.scrollHeight;
});
follow.closest("label").hidden = false;
log.scrollTop = log.scrollHeight;

/* --- everything else ----------------------------------------------------------------------- */

function update(html) {
  const fresh = new DOMParser().parseFromString(html, "text/html");
  for (const part of fresh.querySelectorAll("[id^=live-]")) {
    const shown = document.getElementById(part.id);
    const isUsed = shown.contains(document.activeElement);
    if (!isUsed && shown.outerHTML !== part.outerHTML) shown.replaceWith(part);
  }
  const isFinal = Boolean(document.getElementById("live-state").dataset.final);
  if (isFinal) document.getElementById("stop")?.remove();
  return isFinal;
}

async function watch() {
  let isFinal = Boolean(document.getElementById("live-state").dataset.final);
  while (!isFinal) {
    await pause(POLL_MS);
    await whileHidden();
    const answer = await ask(live.dataset.url);
    if (answer) isFinal = update(await answer.text());
  }
}

readLog();
watch();

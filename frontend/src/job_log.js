// The log of all tasks of a job: line by line in the order of time, each with the task that wrote it.

import { panel } from "./log/panel.js";
import { ask } from "./lib/live.js";
import { follow } from "./lib/stream.js";
import { _ } from "./lib/texts.js";

const box = document.getElementById("log-text");
const log = panel({ wasOver: Boolean(box.dataset.complete), nothing: _("The tasks wrote nothing.") });
const hasAttempts = Number(box.dataset.attempts) > 1;
let { cursor } = box.dataset; // where the page begins
let isRead = false;

const record = ({ role, index, attempt, stream, time, text }) => ({
  stream, time, text: `${text}\n`, from: `${hasAttempts ? `${attempt}/` : ""}${role}-${index}`,
});

function take(page) {
  ({ cursor, is_complete: isRead } = page);
  log.take(page.lines.map(record), isRead);
}

async function poll() {
  const page = isRead ? null : await (await ask(`${box.dataset.url}?${new URLSearchParams({ cursor })}`))?.json();
  if (page) take(page);
}

function hear(news) {
  log.say(news.type === "end" ? news.message : "");
  if (news.type === "lines") take(news);
  else if (["Unauthorized", "NotFound", "Forbidden"].includes(news.code)) location.reload();
}

follow({ path: box.dataset.stream, hello: () => ({ cursor }), message: hear, poll });

// A publication's page: its steps as they are done, and its pull request until it is merged.

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

function update(html) {
  const fresh = new DOMParser().parseFromString(html, "text/html");
  for (const part of fresh.querySelectorAll("[id^=live-]")) {
    const shown = document.getElementById(part.id);
    const isUsed = shown.contains(document.activeElement)
      || shown.querySelector("details.confirm[open]");
    if (!isUsed && shown.innerHTML !== part.innerHTML) shown.replaceWith(part);
    else shown.dataset.wait = part.dataset.wait;
  }
  document.title = document.getElementById("live-state").dataset.title;
}

async function watch() {
  for (;;) {
    const { final, wait } = document.getElementById("live-state").dataset;
    if (final) return;
    await pause(Number(wait));
    await whileHidden();
    const answer = await ask(live.dataset.url);
    if (answer) update(await answer.text());
  }
}

watch();

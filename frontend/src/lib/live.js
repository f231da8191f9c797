// What pages that change by themselves have in common: waiting, asking, saying that the server is away.

export const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });

export async function whileHidden() {
  while (document.hidden) {
    await new Promise((done) => {
      document.addEventListener("visibilitychange", done, { once: true });
    });
  }
}

// The answer, or nothing when the server is away; an expired login leads to the login page.
export async function ask(url, options) {
  const offline = document.getElementById("offline");
  try {
    const response = await fetch(url, options);
    offline.hidden = response.status < 500;
    if (response.status === 401 || response.redirected) location.reload();
    return response.ok && !response.redirected ? response : null;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    offline.hidden = false;
    return null;
  }
}

// What a screen reader is told of a change: it may pass over a part of the page that is swapped in.
export function announce(text) {
  document.getElementById("announced").textContent = text.replace(/\s+/g, " ").trim();
}

export const token = () => document.querySelector("meta[name=csrf-token]")?.content ?? "";

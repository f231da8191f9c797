// The page of notifications: what this browser allows, asked for by a button alone.

const state = document.getElementById("notify-state");
const ask = document.getElementById("notify-ask");
const once = document.getElementById("notify-try");

function show() {
  const word = window.Notification && window.isSecureContext ? Notification.permission : "unable";
  state.textContent = state.dataset[word];
  state.className = `alert ${{ granted: "good", denied: "warn", unable: "warn" }[word] ?? ""}`;
  ask.hidden = word !== "default";
  once.hidden = word !== "granted";
}

ask.addEventListener("click", () => Notification.requestPermission().then(show));
once.addEventListener("click", () => new Notification("PAIShare", { body: once.dataset.text }));
show();

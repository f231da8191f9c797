// Keyboard shortcuts of one key, or of "g" and another; a page adds its own with onKey.

import { token } from "./live.js";

const OFF = "paishare-keys-off";
const account = document.documentElement.dataset.keys; // as it is kept there; nothing where nobody is logged in
const actions = new Map();
let prefix = "";

// `keys` as the help sheet writes them: "/", "g h", "?". An action that returns false leaves the key alone.
export function onKey(keys, action) {
  actions.set(keys, action);
}

let isChosen = account ? account === "on" : localStorage.getItem(OFF) !== "yes";

export const areOn = () => isChosen;

export function turn(isOn) {
  isChosen = isOn;
  if (account) {
    const chosen = new URLSearchParams({ csrf_token: token(), boxes: "has_keys", ...isOn && { has_keys: "1" } });
    fetch("/appearance", { method: "POST", body: chosen, redirect: "manual" }).catch(() => {});
  } else if (isOn) localStorage.removeItem(OFF);
  else localStorage.setItem(OFF, "yes");
}

const TYPING = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable], .cm-editor";

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.target.closest(TYPING) || document.querySelector("dialog[open]") || !areOn()) return;
  const keys = prefix + event.key;
  prefix = event.key === "g" && !prefix ? "g " : "";
  const action = actions.get(keys);
  if (action && action(event) !== false) event.preventDefault();
});

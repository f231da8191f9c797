// Keyboard shortcuts of one key, or of "g" and another; a page adds its own with onKey.

const OFF = "paishare-keys-off";
const actions = new Map();
let prefix = "";

// `keys` as the help sheet writes them: "/", "g h", "?". An action that returns false leaves the key alone.
export function onKey(keys, action) {
  actions.set(keys, action);
}

export const areOn = () => localStorage.getItem(OFF) !== "yes";

export function turn(isOn) {
  if (isOn) localStorage.removeItem(OFF);
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

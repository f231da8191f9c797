// A component's page: its shortcuts, and the dialog with the badge.

import { onKey } from "./lib/keys.js";

for (const button of document.querySelectorAll("[data-dialog]")) {
  button.hidden = false;
  button.addEventListener("click", () => document.getElementById(button.dataset.dialog).showModal());
}

const press = (id) => () => document.getElementById(id)?.click() ?? false;
onKey("u", press("use"));
onKey("y", press("copy-yaml"));
onKey("d", press("before"));

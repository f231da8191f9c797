// What would run: the commands with parameters put in, whether this machine has room, and when it would start.

import { h } from "../lib/dom.js";
import { _, ngettext } from "../lib/texts.js";

const box = document.getElementById("will-run");
const commands = document.getElementById("commands");
const fit = document.getElementById("fit");

export function clear() {
  box.hidden = true;
  fit.replaceChildren();
}

// `found`: { roles, fit, free_gpus } as the server answers.
export function show(found) {
  box.hidden = false;
  commands.replaceChildren(...found.roles.flatMap(role));
  fit.replaceChildren(verdict(found));
}

const role = (each) => [
  h("h3", {}, each.name, each.instances > 1 ? ` × ${each.instances} ` : " ", h("small", { class: "wrap" }, each.image)),
  h("pre", { class: "commands", tabindex: 0, "aria-label": _("Commands of %(role)s", { role: each.name }) }, each.commands.join("\n"))];

function verdict({ roles, fit: found, free_gpus: free }) {
  if (!found) return h("p", { class: "alert warn" }, _("The runner does not answer, so nobody can say whether the job fits, and nothing can be submitted now."));
  const words = { now: _("Fits this machine now."), later: _("Fits this machine, but has to wait."), never: _("This machine can never run it.") };
  const kinds = { now: "good", later: "warn", never: "bad" };
  const gpus = roles.reduce((sum, each) => sum + each.gpus, 0);
  const room = Number.isInteger(free) ? ngettext("It wants %(num)d GPU; free now: %(free)s.", "It wants %(num)d GPUs; free now: %(free)s.", gpus, { free }) : "";
  return h("p", { class: `alert ${kinds[found.fit]}` }, h("b", {}, words[found.fit]), ` ${found.reason.replaceAll("`", "")} ${room}`);
}

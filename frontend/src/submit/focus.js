// A link may point at one field: it gets the focus, and a note that says so.

import { h } from "../lib/dom.js";
import { _ } from "../lib/texts.js";
import { list } from "./values.js";

// `taskRoles.train.resourcePerInstance.memoryMB` names a field as a finished job does; `parameters.lr` works, too.
export function pathOf(word, job) {
  const [, holder, rest] = /^(taskRoles|tasks)\.(.+)$/.exec(word) ?? [];
  if (!holder) return word.split(".");
  const at = list(job?.tasks).findIndex((each) => rest.startsWith(`${each?.role}.`));
  if (at < 0) return word.split(".");
  const inner = rest.slice(job.tasks[at].role.length + 1).split(".");
  return ["tasks", at, ...(["resourcePerInstance", "instances"].includes(inner[0]) ? ["resource"] : []), ...inner];
}

export function focusOn(word, form, note) {
  const control = form.focus(pathOf(word, form.job));
  if (!control) { note("", _("The link points at %(field)s, which this job does not have.", { field: word })); return; }
  const twice = control.dataset.kind === "whole" && /MB$/.test(word) && Number(control.value) * 2;
  control.select?.();
  control.closest("p").append(h("span", { class: "hint", role: "status" }, _("Change this value, then submit."), " ",
    twice > 0 && h("button", { class: "btn btn-quiet btn-sm", type: "button", onclick: () => { control.value = twice; form.typed(control); control.focus(); } }, _("Double it: %(value)s", { value: twice }))));
  control.scrollIntoView({ block: "center" });
}

// The parameters of a job in its form: their values, and adding, renaming and removing them.

import { apply, remove, rename, set } from "../editor/edits.js";
import { h } from "../lib/dom.js";
import { _ } from "../lib/texts.js";
import { isPlainMap, kindOf } from "./values.js";

const NAME = /^[A-Za-z0-9._-]+$/;

export const parametersOf = (job) => (isPlainMap(job.parameters) ? job.parameters : {});

export function drawParameters(form) {
  const found = Object.keys(parametersOf(form.job));
  if (!found.length) return [h("p", { class: "faint" }, _("The job has no parameters."))];
  return found.map((name) => {
    const element = form.field(["parameters", name], name, form.kinds.get(name), { mark: form.page.linked.has(name) && _("set by the link") });
    element.querySelector(".head").append(menu(form, name));
    return element;
  });
}

export function addParameter(form) {
  const used = Object.keys(parametersOf(form.job));
  let number = 1;
  while (used.includes(`parameter${number}`)) number += 1;
  const name = `parameter${number}`;
  form.take(set(form.page.text(), ["parameters", name], null));
  const control = form.focus(["parameters", name]);
  const box = control?.closest("p").querySelector("details");
  if (!box) return;
  box.open = true;
  box.querySelector("input").focus();
  box.querySelector("input").select();
}

function menu(form, name) {
  const wrong = h("strong", { class: "wrong", role: "alert", hidden: true });
  const field = h("input", { class: "form-control", value: name, maxlength: 255, autocomplete: "off", autocapitalize: "none", spellcheck: "false" });
  field.addEventListener("input", (event) => event.stopPropagation());
  const take = () => {
    const problem = problemOf(form, name, field.value);
    wrong.textContent = problem;
    wrong.hidden = !problem;
    field.toggleAttribute("aria-invalid", Boolean(problem));
    if (!problem && field.value !== name) renameParameter(form, name, field.value);
    return !problem;
  };
  field.addEventListener("change", take);
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    if (take()) form.focus(["parameters", field.value]);
  });
  return h("details", { class: "menu more parameter" }, h("summary", { class: "btn btn-plain btn-sm" }, h("span", { class: "visually-hidden" }, _("Change %(name)s", { name }))),
    h("div", { class: "inside" }, h("label", { class: "title" }, _("Name"), field), wrong, h("button", { class: "item", type: "button", onclick: () => dropParameter(form, name) }, _("Remove %(name)s", { name }))));
}

function problemOf(form, old, name) {
  if (!NAME.test(name)) return _("A name is made of letters, digits, dots, _ and -.");
  return name !== old && name in parametersOf(form.job) ? _("Another parameter is called so.") : "";
}

// What names the parameter follows.
function renameParameter(form, old, name) {
  const change = rename(form.page.text(), ["parameters", old], name);
  if (change) form.page.change(apply(form.page.text(), change).replaceAll(`$$${old}$$`, () => `$$${name}$$`));
}

function dropParameter(form, name) {
  form.take(remove(form.page.text(), ["parameters", name]), _("%(name)s was removed.", { name }));
  document.getElementById("add-parameter").focus();
}

// The kinds of their fields: as the template has them, else as the text has them; not as a half-typed value looks.
export function kindsNow(form, isTyped) {
  return new Map(Object.entries(parametersOf(form.job)).map(([name, value]) => {
    const kind = form.page.kinds.get(name) ?? (isTyped ? form.kinds.get(name) : null) ?? kindOf(value);
    return [name, kind === "choice" && typeof value !== "boolean" ? "text" : kind];
  }));
}

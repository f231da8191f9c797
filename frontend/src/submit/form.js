// The form beside the YAML: drawn from the text, and each change in it is a change of one range of the text.

import { isMap } from "yaml";
import { pathText, placeOf, read } from "../editor/document.js";
import { Typed, apply, append, remove, set, setList } from "../editor/edits.js";
import { h, icon } from "../lib/dom.js";
import { _ } from "../lib/texts.js";

const KINDS = ["dockerimage", "data", "script", "storage", "output"];
const TASK = { resource: { instances: 1, resourcePerInstance: { cpu: 1, memoryMB: 1024, gpu: 0 } }, command: ["echo hello"] };

const kindNames = () => ({ dockerimage: _("Docker image"), data: _("Data"), script: _("Script"), storage: _("Storage"), output: _("Output") });

export class Form {
  // `page`: { text(), change(text, words), choose(type) → {type, name, version} | "hand" | null, linked: Set,
  // kinds: of the parameters that the template has, which a wrong value does not change }
  constructor(page) {
    this.page = page;
    this.fields = document.getElementById("fields");
    this.name = document.getElementById("name");
    this.parameters = document.getElementById("parameters");
    this.blocks = document.getElementById("blocks");
    this.waits = document.getElementById("waits");
    this.open = new Set();
    this.shape = "";
    this.name.dataset.path = "name";
    this.name.dataset.kind = "text";
    this.fields.addEventListener("input", (event) => this.typed(event.target));
    this.fields.addEventListener("change", (event) => { if (event.target.matches("select")) this.typed(event.target); });
    this.fields.addEventListener("toggle", ({ target }) => {
      if (target.open) this.open.add(target.dataset.path);
      else this.open.delete(target.dataset.path);
    }, true);
  }

  /* --- text → form ------------------------------------------------------------------------- */

  update(text) {
    const found = read(text);
    const line = found.firstError ? found.lineOf(found.firstError.pos[0]) : null;
    this.freeze(line);
    if (line || !isMap(found.doc.contents)) return;
    this.job = found.doc.toJS();
    const shape = JSON.stringify(shapeOf(this.job));
    if (shape !== this.shape) this.draw(shape);
    else this.refresh(found.doc);
    this.refreshTitles();
  }

  freeze(line) {
    this.waits.hidden = !line;
    this.fields.classList.toggle("frozen", Boolean(line));
    for (const control of this.fields.querySelectorAll("input, select, textarea, button")) control.disabled = Boolean(line);
    const link = this.waits.querySelector("a");
    link.textContent = _("line %(line)s", { line });
    link.dataset.line = line;
  }

  refresh(doc) {
    for (const control of this.fields.querySelectorAll("[data-path]")) {
      if (control.tagName === "DETAILS" || control === document.activeElement) continue;
      const value = doc.getIn(JSON.parse(control.dataset.at ?? '["name"]'));
      const shown = textOf(value);
      if (control.value !== shown) control.value = shown;
    }
  }

  draw(shape) {
    const focused = document.activeElement?.dataset?.path;
    const caret = document.activeElement?.selectionStart;
    this.shape = shape;
    this.name.value = textOf(this.job.name);
    this.parameters.replaceChildren(...this.drawParameters());
    this.blocks.replaceChildren(...this.drawBlocks());
    if (!focused) return;
    const again = this.fields.querySelector(`[data-path="${CSS.escape(focused)}"]:is(input, select, textarea)`);
    again?.focus({ preventScroll: true });
    if (again?.setSelectionRange && Number.isInteger(caret)) again.setSelectionRange(caret, caret);
  }

  drawParameters() {
    const found = Object.entries(isPlainMap(this.job.parameters) ? this.job.parameters : {});
    if (!found.length) return [h("p", { class: "faint" }, _("The job has no parameters."))];
    return found.map(([name, value]) => this.field(["parameters", name], name, this.kindOf(name, value), {
      mark: this.page.linked.has(name) && _("set by the link") }));
  }

  kindOf(name, value) {
    const kind = this.page.kinds.get(name) ?? kindOf(value);
    return kind === "choice" && typeof value !== "boolean" ? "text" : kind;
  }

  drawBlocks() {
    const tasks = list(this.job.tasks);
    const needed = list(this.job.prerequisites);
    const add = (label, work) => h("button", { class: "btn btn-quiet btn-sm", type: "button", onclick: work }, label);
    return [
      h("div", { class: "spread" }, h("h2", {}, _("Tasks")), add(_("Add a task"), () => this.addTask())),
      ...tasks.map((task, at) => this.task(task, at)),
      h("div", { class: "spread" }, h("h2", {}, _("Images, data, scripts, storage"))),
      ...needed.map((item, at) => this.prerequisite(item, at)),
      h("div", { class: "gap mt-2" }, ["dockerimage", "data", "script", "storage"].map((kind) => add(
        { dockerimage: _("Add an image"), data: _("Add data"), script: _("Add a script"), storage: _("Add storage") }[kind], () => this.addPrerequisite(kind)))),
    ];
  }

  task(task, at) {
    const path = ["tasks", at];
    const each = [...path, "resource", "resourcePerInstance"];
    const number = (place, label) => this.field(place, label, "whole");
    return this.block(path, "job", [
      this.field([...path, "role"], _("Role"), "text"),
      h("div", { class: "measures wide" }, KINDS.filter((kind) => kind !== "output" || task?.output).map((kind) => this.reference([...path, kind], kind))),
      h("div", { class: "measures" }, number([...path, "resource", "instances"], _("Instances")), number([...each, "cpu"], "CPU"),
        number([...each, "memoryMB"], _("Memory, MB")), number([...each, "gpu"], "GPU"), number([...each, "shmMB"], _("Shared memory, MB"))),
      this.lines([...path, "command"], _("Commands"), _("Add a command")),
      this.ports([...path, "resource", "portList"]),
    ], () => this.take(remove(this.page.text(), path), _("Task %(name)s was removed.", { name: task?.role ?? at + 1 })));
  }

  ports(path) {
    const found = list(valueAt(this.job, path));
    const rows = found.map((port, at) => h("div", { class: "measures" },
      this.field([...path, at, "label"], _("Port label"), "text"), this.field([...path, at, "beginAt"], _("First port"), "whole"),
      this.field([...path, at, "portNumber"], _("Ports"), "whole"),
      h("p", {}, h("button", { class: "btn btn-plain btn-sm", type: "button", onclick: () => this.take(remove(this.page.text(), [...path, at])) }, _("Remove")))));
    return h("div", {}, rows, h("button", { class: "btn btn-plain btn-sm", type: "button", onclick: () => this.take(
      append(this.page.text(), path, { label: found.length ? `port${found.length}` : "web", beginAt: 0, portNumber: 1 })) }, _("Add a port")));
  }

  prerequisite(item, at) {
    const path = ["prerequisites", at];
    const gone = () => this.take(remove(this.page.text(), path), _("It was removed."));
    if (typeof item === "string") return this.block(path, typeOf(item), [this.field(path, _("Reference to the marketplace"), "text"), this.swap(path, typeOf(item))], gone);
    const type = item?.type;
    return this.block(path, type, [
      this.field([...path, "name"], _("Name"), "text"),
      Array.isArray(item?.uri) ? this.lines([...path, "uri"], _("Addresses"), _("Add an address"))
        : this.field([...path, "uri"], type === "dockerimage" ? _("Image") : _("Address"), "text"),
      this.field([...path, "version"], _("Version"), "text"),
      this.field([...path, "description"], _("Description"), "text"),
      this.swap(path, type)], gone);
  }

  swap(path, type) {
    if (!["dockerimage", "data", "script"].includes(type)) return null;
    return h("button", { class: "btn btn-quiet btn-sm", type: "button", onclick: () => this.replace(path, type) }, _("Choose from the marketplace…"));
  }

  block(path, type, inner, gone) {
    const key = pathText(path);
    return h("details", { class: "block", "data-path": key, open: this.open.has(key) },
      h("summary", {}, icon(type), h("span", { class: "grow" }, h("b", { class: "wrap" }), h("small", { class: "wrap" }))),
      h("div", { class: "inner" }, inner, h("p", { class: "mt-3 mb-0" }, h("button", { class: "btn btn-bad btn-sm", type: "button", onclick: gone }, _("Remove")))));
  }

  refreshTitles() {
    for (const block of this.blocks.querySelectorAll("details.block")) {
      const [, list_, at] = /^(\w+)\[(\d+)\]$/.exec(block.dataset.path);
      const item = this.job[list_]?.[at];
      const [title, line] = list_ === "tasks" ? taskTitle(item, at) : prerequisiteTitle(item);
      block.querySelector("summary b").textContent = title;
      block.querySelector("summary small").textContent = line;
    }
  }

  /* --- fields ------------------------------------------------------------------------------ */

  field(path, label, kind, { mark, options } = {}) {
    const id = `f-${pathText(path).replaceAll(/[^\w-]/g, "_")}`;
    const value = textOf(valueAt(this.job, path));
    const common = { id, "data-path": pathText(path), "data-at": JSON.stringify(path), "data-kind": kind, autocomplete: "off", autocapitalize: "none", spellcheck: "false", "aria-describedby": `${id}-about` };
    const control = kind === "choice" ? h("select", { ...common, class: "form-select" }, ["true", "false"].map((each) => h("option", { value: each }, each)))
      : kind === "long" ? h("textarea", { ...common, class: "form-control", rows: 3 })
        : h("input", { ...common, class: "form-control", inputmode: { whole: "numeric", number: "decimal" }[kind], list: options && `${id}-list`, readonly: kind === "fixed" });
    control.value = value;
    return h("p", {}, h("span", { class: "head" }, h("label", { class: "form-label", for: id }, label, mark && " ", mark && h("span", { class: "from-link" }, mark))), control,
      options && h("datalist", { id: `${id}-list` }, options.map((each) => h("option", { value: each }))),
      h("span", { id: `${id}-about` }, kind === "fixed" && h("small", {}, _("A list or map: change it in the YAML."))));
  }

  reference(path, kind) {
    const options = list(this.job.prerequisites).map((each) => (typeof each === "string" ? typeOf(each) === kind && nameOf(each) : each?.type === kind && each.name)).filter(Boolean);
    const element = this.field(path, kindNames()[kind], "reference", { options });
    if (["dockerimage", "data", "script"].includes(kind)) {
      element.querySelector(".head").append(h("button", { class: "btn btn-plain btn-sm", type: "button", onclick: () => this.chooseFor(path, kind) },
        _("Choose…"), h("span", { class: "visually-hidden" }, kindNames()[kind])));
    }
    return element;
  }

  lines(path, label, more) {
    const found = list(valueAt(this.job, path)).map(textOf);
    const put = (values) => { const text = setList(this.page.text(), path, values); if (text !== null) this.page.change(text); };
    return h("div", {}, h("p", { class: "form-label mb-1" }, label), h("ol", { class: "lines-of" }, found.map((value, at) => {
      const place = [...path, at];
      const area = h("textarea", { class: "form-control font-monospace", rows: Math.min(8, value.split("\n").length), "data-path": pathText(place), "data-at": JSON.stringify(place), "data-kind": "text",
        "aria-label": `${label} ${at + 1}`, spellcheck: "false", autocapitalize: "none", wrap: "off" });
      area.value = value;
      return h("li", {}, area, h("button", { class: "btn btn-plain btn-sm", type: "button", "aria-label": _("Remove %(name)s", { name: `${label} ${at + 1}` }), onclick: () => put(found.toSpliced(at, 1)) }, "✕"));
    })), h("button", { class: "btn btn-plain btn-sm mb-2", type: "button", onclick: () => {
      const added = append(this.page.text(), path, "");
      this.take(added);
      this.fields.querySelector(`[data-path="${CSS.escape(pathText([...path, found.length]))}"]`)?.focus();
    } }, more));
  }

  /* --- form → text -------------------------------------------------------------------------- */

  typed(control) {
    const path = control === this.name ? ["name"] : control.dataset.at && JSON.parse(control.dataset.at);
    if (!path || control.readOnly) return;
    const before = this.page.text();
    const text = changed(before, path, control.value, control.dataset.kind);
    const about = document.getElementById(`${control.id}-about`);
    if (text === null) {
      about?.replaceChildren(h("strong", { class: "wrong" }, _("This value cannot be changed here; change it in the YAML.")));
      return;
    }
    this.page.change(path[0] === "prerequisites" && path[2] === "name" ? renamed(text, this.job.prerequisites[path[1]], control.value) : text);
  }

  take(change, words) {
    if (change) this.page.change(apply(this.page.text(), change), words);
  }

  addTask() {
    const tasks = list(this.job.tasks);
    const roles = tasks.map((each) => each?.role);
    const role = ["worker", "main", ...Array.from({ length: 100 }, (_each, at) => `task${at + 1}`)].find((each) => !roles.includes(each));
    const image = list(this.job.prerequisites).map((each) => (typeof each === "string" ? typeOf(each) === "dockerimage" && nameOf(each) : each?.type === "dockerimage" && each.name)).find(Boolean);
    this.open.add(`tasks[${tasks.length}]`);
    this.take(append(this.page.text(), ["tasks"], { role, ...(image ? { dockerimage: image } : {}), ...TASK }));
  }

  async addPrerequisite(kind) {
    const chosen = kind === "storage" ? "hand" : await this.page.choose(kind);
    if (!chosen) return;
    const at = list(this.job.prerequisites).length;
    this.open.add(`prerequisites[${at}]`);
    this.take(append(this.page.text(), ["prerequisites"], chosen === "hand" ? blank(kind, at) : referenceTo(chosen)));
    this.useEverywhere(kind, chosen === "hand" ? blank(kind, at).name : chosen.name);
  }

  // What is added is used by the tasks that have none of its kind: nothing else would name it.
  useEverywhere(kind, name) {
    list(this.job.tasks).forEach((task, at) => {
      if (task && !task[kind]) this.take(set(this.page.text(), ["tasks", at, kind], name));
    });
  }

  async replace(path, type) {
    const chosen = await this.page.choose(type);
    if (!chosen || chosen === "hand") return;
    const old = valueAt(this.job, path);
    const change = set(this.page.text(), path, referenceTo(chosen));
    if (change) this.page.change(renamed(apply(this.page.text(), change), typeof old === "string" ? { type, name: nameOf(old) } : old, chosen.name));
  }

  async chooseFor(path, kind) {
    const chosen = await this.page.choose(kind);
    if (!chosen) return;
    const made = chosen === "hand" ? blank(kind, list(this.job.prerequisites).length) : referenceTo(chosen);
    const name = chosen === "hand" ? made.name : chosen.name;
    this.take(append(this.page.text(), ["prerequisites"], made));
    this.take(set(this.page.text(), path, name));
  }

  /* --- problems ----------------------------------------------------------------------------- */

  mark(problems) {
    const wrong = new Set();
    for (const control of this.fields.querySelectorAll("[data-path]:not(details)")) {
      const own = problems.filter((each) => each.path === control.dataset.path);
      const about = document.getElementById(`${control.id}-about`);
      control.toggleAttribute("aria-invalid", false);
      if (own.some((each) => each.severity === "error")) control.setAttribute("aria-invalid", "true");
      if (control.dataset.kind !== "fixed") about?.replaceChildren(...own.map((each) => h("strong", { class: "wrong" }, each.message.replaceAll("`", ""))));
    }
    for (const { path, severity } of problems) if (severity === "error") wrong.add(/^\w+\[\d+\]/.exec(path)?.[0]);
    for (const block of this.blocks.querySelectorAll("details.block")) block.classList.toggle("is-wrong", wrong.has(block.dataset.path));
  }
}

/* --- values ----------------------------------------------------------------------------------- */

const list = (value) => (Array.isArray(value) ? value : []);
const isPlainMap = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
export const valueAt = (value, path) => path.reduce((found, part) => found?.[part], value);
const typeOf = (reference) => /(?:^|:)(\w+)\//.exec(reference)?.[1] ?? "dockerimage";
const nameOf = (reference) => reference.replace(/^.*[:/]/, "").replace(/@.*$/, "");
const referenceTo = ({ type, name, version }) => `${type}/${name}${version && !/[\s@]/.test(version) ? `@${version}` : ""}`;

export const kindsOf = (text) => {
  const job = read(text).doc.toJS();
  return new Map(Object.entries(isPlainMap(job?.parameters) ? job.parameters : {}).map(([name, value]) => [name, kindOf(value)]));
};

function textOf(value) {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function kindOf(value) {
  if (typeof value === "boolean") return "choice";
  if (typeof value === "number") return Number.isInteger(value) ? "whole" : "number";
  if (value !== null && typeof value === "object") return "fixed";
  if (value === null) return "any";
  return value.length > 80 || value.includes("\n") ? "long" : "text";
}

// The text with one value as it was typed; null where it cannot be put there.
export function changed(text, path, typed, kind) {
  const { item } = placeOf(read(text).doc, path);
  const isOptional = path[0] !== "parameters" && !["name", "role", "uri", "cpu", "memoryMB", "gpu", "label", "beginAt", "portNumber"].includes(path.at(-1)) && typeof path.at(-1) !== "number";
  if (!typed && isOptional) {
    const change = item === undefined ? null : remove(text, path);
    return item === undefined ? text : change && apply(text, change);
  }
  const change = set(text, path, parsed(typed, kind));
  return change && apply(text, change);
}

function parsed(typed, kind) {
  if (kind === "choice") return typed === "true";
  if (!typed && ["whole", "number", "any"].includes(kind)) return null;
  return ["whole", "number", "any"].includes(kind) ? Typed.of(typed.trim()) : typed;
}

// Tasks that name a prerequisite follow when its name changes.
function renamed(text, item, name) {
  const tasks = list(read(text).doc.toJS().tasks);
  return tasks.reduce((found, task, at) => {
    if (!item?.type || task?.[item.type] !== item.name || !name) return found;
    const change = set(found, ["tasks", at, item.type], name);
    return change ? apply(found, change) : found;
  }, text);
}

const blank = (kind, at) => ({ name: `${kind}${at + 1}`, type: kind, version: "1.0.0",
  uri: { dockerimage: "docker.io/library/python:3.11-slim", storage: "results", data: ["https://example.org/data.zip"], script: ["https://github.com/owner/repository"] }[kind] });

const taskTitle = (task, at) => {
  const each = task?.resource?.resourcePerInstance ?? {};
  return [task?.role ?? `${at}`, `${task?.resource?.instances ?? 1} × ${each.cpu ?? "?"} CPU, ${each.memoryMB ?? "?"} MB, ${each.gpu ?? "?"} GPU`];
};

const prerequisiteTitle = (item) => (typeof item === "string" ? [item, _("from the marketplace")]
  : [item?.name ?? "?", [item?.uri].flat().filter(Boolean).join(", ")]);

// What decides which fields there are; a change of values alone redraws nothing.
function shapeOf(job) {
  return [Object.entries(isPlainMap(job.parameters) ? job.parameters : {}).map(([name, value]) => [name, kindOf(value)]),
    list(job.tasks).map((task) => [list(task?.command).length, list(task?.command).map((each) => textOf(each).split("\n").length > 1), list(task?.resource?.portList).length, Boolean(task?.output)]),
    list(job.prerequisites).map((each) => (typeof each === "string" ? typeOf(each) : [each?.type, Array.isArray(each?.uri) ? each.uri.length : -1, each?.name]))];
}


// What a job is made of, as blocks of the form: its tasks, images, data, scripts and storage, and what it may use.

import { apply, append, remove, set, setList } from "../editor/edits.js";
import { pathText } from "../editor/document.js";
import { h, icon } from "../lib/dom.js";
import { _ } from "../lib/texts.js";
import { list, nameOf, referenceTo, renamed, textOf, typeOf, valueAt } from "./values.js";

const USED = ["dockerimage", "data", "script", "storage", "output"];
const CHOSEN = ["dockerimage", "data", "script"];
const TASK = { resource: { instances: 1, resourcePerInstance: { cpu: 1, memoryMB: 1024, gpu: 0 } }, command: ["echo hello"] };

const kindNames = () => ({ dockerimage: _("Docker image"), data: _("Data"), script: _("Script"), storage: _("Storage"), output: _("Output") });
const sections = () => [["dockerimage", _("Docker images"), _("Add an image")], ["data", _("Data"), _("Add data")],
  ["script", _("Scripts"), _("Add a script")], ["storage", _("Storage"), _("Add storage")]];

export function drawBlocks(form) {
  const tasks = list(form.job.tasks);
  const needed = list(form.job.prerequisites).map((item, at) => [kindOf(item), prerequisite(form, item, at)]);
  return [
    settings(form),
    ...section("task", _("Tasks"), _("Add a task"), () => addTask(form), tasks.map((each, at) => task(form, each, at))),
    ...sections().flatMap(([kind, title, label]) => section(kind, title, label, () => addPrerequisite(form, kind),
      needed.filter(([each]) => each === kind).map(([, block]) => block)))];
}

const section = (kind, title, label, add, blocks) => [
  h("div", { class: "spread" }, h("h2", {}, title), h("button", { class: "btn btn-quiet btn-sm", type: "button", onclick: add, "data-add": kind }, label)), ...blocks];

function settings(form) {
  const field = (name, label, kind) => form.field([name], label, kind);
  return block(form, ["settings"], null, [
    field("description", _("Description"), "long"),
    h("div", { class: "measures wide" }, field("retryCount", _("Further attempts when it fails"), "whole"), field("timeLimitMinutes", _("Time limit, minutes"), "whole"),
      field("priority", _("Priority"), "whole"), field("virtualCluster", _("Virtual cluster"), "text"), field("gpuType", _("GPU model"), "text"))]);
}

function task(form, found, at) {
  const path = ["tasks", at];
  const each = [...path, "resource", "resourcePerInstance"];
  const number = (place, label) => form.field(place, label, "whole");
  return block(form, path, "job", [
    form.field([...path, "role"], _("Role"), "text"),
    h("div", { class: "measures wide" }, USED.filter((kind) => kind !== "output" || found?.output).map((kind) => reference(form, [...path, kind], kind))),
    h("div", { class: "measures" }, number([...path, "resource", "instances"], _("Instances")), number([...each, "cpu"], "CPU"),
      number([...each, "memoryMB"], _("Memory, MiB")), number([...each, "gpu"], "GPU"), number([...each, "shmMB"], _("Shared memory, MiB"))),
    lines(form, [...path, "command"], _("Commands"), _("Add a command")),
    ports(form, [...path, "resource", "portList"]),
    h("div", { class: "measures wide" }, number([...path, "minFailedTaskCount"], _("Failures that fail the job")),
      number([...path, "minSucceededTaskCount"], _("Successes that end it well"))),
  ], () => drop(form, "task", remove(form.page.text(), path), _("Task %(name)s was removed.", { name: found?.role ?? at + 1 })));
}

function ports(form, path) {
  const found = list(valueAt(form.job, path));
  const rows = found.map((port, at) => h("div", { class: "measures" },
    form.field([...path, at, "label"], _("Port label"), "text"), form.field([...path, at, "beginAt"], _("First port"), "whole"),
    form.field([...path, at, "portNumber"], _("Ports"), "whole"),
    h("p", {}, h("button", { class: "btn btn-plain btn-sm", type: "button", "aria-label": _("Remove %(name)s", { name: port?.label ?? at + 1 }),
      onclick: () => form.take(remove(form.page.text(), [...path, at])) }, _("Remove")))));
  return h("div", {}, rows, h("button", { class: "btn btn-plain btn-sm", type: "button", onclick: () => {
    form.take(append(form.page.text(), path, { label: found.length ? `port${found.length}` : "web", beginAt: 0, portNumber: 1 }));
    form.focus([...path, found.length, "label"]);
  } }, _("Add a port")));
}

function prerequisite(form, item, at) {
  const path = ["prerequisites", at];
  const type = kindOf(item);
  const gone = () => dropPrerequisite(form, path, item);
  if (typeof item === "string") return block(form, path, type, [form.field(path, _("Reference to the marketplace"), "text"), swap(form, path, type)], gone);
  return block(form, path, type, [
    form.field([...path, "name"], _("Name"), "text"),
    Array.isArray(item?.uri) ? lines(form, [...path, "uri"], _("Addresses"), _("Add an address"))
      : form.field([...path, "uri"], type === "dockerimage" ? _("Image") : _("Address"), "text"),
    form.field([...path, "version"], _("Version"), "text"),
    form.field([...path, "description"], _("Description"), "text"),
    swap(form, path, type)], gone);
}

// A kind that has no section of its own stands among the storage.
function kindOf(item) {
  const kind = typeof item === "string" ? typeOf(item) : item?.type;
  return CHOSEN.includes(kind) ? kind : "storage";
}

function swap(form, path, type) {
  if (!CHOSEN.includes(type)) return null;
  return h("button", { class: "btn btn-quiet btn-sm", type: "button", onclick: () => replace(form, path, type) }, _("Choose from the marketplace…"));
}

function block(form, path, type, inner, gone) {
  const key = pathText(path);
  return h("details", { class: "block", "data-path": key, open: form.open.has(key) },
    h("summary", {}, type && icon(type), h("span", { class: "grow" }, h("b", { class: "wrap" }), h("small", { class: "text-truncate" }))),
    h("div", { class: "inner" }, inner, gone && h("p", { class: "mt-3 mb-0" }, h("button", { class: "btn btn-bad btn-sm", type: "button", onclick: gone }, _("Remove")))));
}

function reference(form, path, kind) {
  const options = list(form.job.prerequisites).map((each) => (typeof each === "string" ? typeOf(each) === kind && nameOf(each) : each?.type === kind && each.name)).filter(Boolean);
  const element = form.field(path, kindNames()[kind], "reference", { options });
  if (CHOSEN.includes(kind)) {
    element.querySelector(".head").append(h("button", { class: "btn btn-plain btn-sm", type: "button", onclick: () => chooseFor(form, path, kind) },
      _("Choose…"), h("span", { class: "visually-hidden" }, kindNames()[kind])));
  }
  return element;
}

function lines(form, path, label, more) {
  const found = list(valueAt(form.job, path)).map(textOf);
  const put = (values) => { const text = setList(form.page.text(), path, values); if (text !== null) form.page.change(text); };
  return h("div", {}, h("p", { class: "form-label mb-1" }, label), h("ol", { class: "lines-of" }, found.map((value, at) => {
    const place = [...path, at];
    const area = h("textarea", { class: "form-control font-monospace", rows: Math.min(8, value.split("\n").length), "data-path": pathText(place), "data-at": JSON.stringify(place), "data-kind": "text",
      "aria-label": `${label} ${at + 1}`, spellcheck: "false", autocapitalize: "none", wrap: "off" });
    area.value = value;
    return h("li", {}, area, h("button", { class: "btn btn-plain btn-sm", type: "button", "aria-label": _("Remove %(name)s", { name: `${label} ${at + 1}` }), onclick: () => put(found.toSpliced(at, 1)) }, "✕"));
  })), h("button", { class: "btn btn-plain btn-sm mb-2", type: "button", onclick: () => {
    form.take(append(form.page.text(), path, ""));
    form.focus([...path, found.length]);
  } }, more));
}

/* --- titles ------------------------------------------------------------------------------------ */

export function refreshTitles(form) {
  for (const each of form.blocks.querySelectorAll("details.block")) {
    const [title, line] = titleOf(form.job, each.dataset.path);
    each.querySelector("summary b").textContent = title;
    each.querySelector("summary small").textContent = line;
  }
}

function titleOf(job, path) {
  if (path === "settings") return [_("Settings of the job"), settingsLine(job)];
  const [, holder, at] = /^(\w+)\[(\d+)\]$/.exec(path);
  const item = job[holder]?.[at];
  if (holder === "tasks") return taskTitle(item, at);
  return typeof item === "string" ? [item, _("from the marketplace")] : [item?.name ?? "?", [item?.uri].flat().filter(Boolean).join(", ")];
}

const firstOf = (line) => (line.length > 80 ? `${line.slice(0, 79).trimEnd()}…` : line);

const settingsLine = (job) => [firstOf(textOf(job.description).split("\n")[0]), job.timeLimitMinutes && _("ends after %(minutes)s minutes", { minutes: textOf(job.timeLimitMinutes) }),
  job.virtualCluster && textOf(job.virtualCluster)].filter(Boolean).join(" · ") || _("attempts, time limit, priority");

const taskTitle = (task_, at) => {
  const each = task_?.resource?.resourcePerInstance ?? {};
  return [task_?.role ?? `${at}`, `${task_?.resource?.instances ?? 1} × ${each.cpu ?? "?"} CPU, ${each.memoryMB ?? "?"} MiB, ${each.gpu ?? "?"} GPU`];
};

/* --- changes ----------------------------------------------------------------------------------- */

function addTask(form) {
  const tasks = list(form.job.tasks);
  const roles = tasks.map((each) => each?.role);
  const role = ["worker", "main", ...Array.from({ length: 100 }, (_each, at) => `task${at + 1}`)].find((each) => !roles.includes(each));
  const image = list(form.job.prerequisites).map((each) => (typeof each === "string" ? typeOf(each) === "dockerimage" && nameOf(each) : each?.type === "dockerimage" && each.name)).find(Boolean);
  form.open.add(`tasks[${tasks.length}]`);
  form.take(append(form.page.text(), ["tasks"], { role, ...(image ? { dockerimage: image } : {}), ...TASK }));
  form.focus(["tasks", tasks.length, "role"]);
}

async function addPrerequisite(form, kind) {
  const chosen = kind === "storage" ? "hand" : await form.page.choose(kind);
  if (!chosen) return form.blocks.querySelector(`[data-add=${kind}]`)?.focus();
  const at = list(form.job.prerequisites).length;
  const made = chosen === "hand" ? blank(kind, at) : referenceTo(chosen);
  form.open.add(`prerequisites[${at}]`);
  form.take(append(form.page.text(), ["prerequisites"], made));
  useEverywhere(form, kind, made.name ?? chosen.name);
  form.focus(chosen === "hand" ? ["prerequisites", at, "name"] : ["prerequisites", at]);
}

// What is added is used by the tasks that have none of its kind: nothing else would name it.
function useEverywhere(form, kind, name) {
  list(form.job.tasks).forEach((each, at) => {
    if (each && !each[kind]) form.take(set(form.page.text(), ["tasks", at, kind], name));
  });
}

async function replace(form, path, type) {
  const chosen = await form.page.choose(type);
  if (!chosen || chosen === "hand") return;
  const old = valueAt(form.job, path);
  const change = set(form.page.text(), path, referenceTo(chosen));
  if (change) form.page.change(renamed(apply(form.page.text(), change), typeof old === "string" ? { type, name: nameOf(old) } : old, chosen.name));
  form.focus(path);
}

async function chooseFor(form, path, kind) {
  const chosen = await form.page.choose(kind);
  if (chosen) {
    const made = chosen === "hand" ? blank(kind, list(form.job.prerequisites).length) : referenceTo(chosen);
    form.take(append(form.page.text(), ["prerequisites"], made));
    form.take(set(form.page.text(), path, made.name ?? chosen.name));
  }
  form.focus(path);
}

function drop(form, kind, change, words) {
  form.take(change, words);
  form.blocks.querySelector(`[data-add=${kind}]`)?.focus();
}

// The tasks that used it name it no more.
function dropPrerequisite(form, path, item) {
  const kind = typeof item === "string" ? typeOf(item) : item?.type;
  const name = typeof item === "string" ? nameOf(item) : item?.name;
  const first = remove(form.page.text(), path);
  if (!first) return;
  let text = apply(form.page.text(), first);
  list(form.job.tasks).forEach((each, at) => {
    const change = each?.[kind] === name && name && remove(text, ["tasks", at, kind]);
    if (change) text = apply(text, change);
  });
  form.page.change(text, _("%(name)s was removed.", { name: name ?? "?" }));
  form.blocks.querySelector(`[data-add=${kindOf(item)}]`)?.focus();
}

const blank = (kind, at) => ({ name: `${kind}${at + 1}`, type: kind, version: "1.0.0",
  uri: { dockerimage: "docker.io/library/python:3.11-slim", storage: "results", data: ["https://example.org/data.zip"], script: ["https://github.com/owner/repository"] }[kind] });

// The submit page with its editor: form and text in step, problems as one types, drafts, import, sharing.

import { createEditor } from "../editor/editor.js";
import { read } from "../editor/document.js";
import * as problems from "../editor/problems.js";
import { call } from "../lib/api.js";
import { h } from "../lib/dom.js";
import { ask, token } from "../lib/live.js";
import { _ } from "../lib/texts.js";
import { Draft, packed, unpacked } from "./drafts.js";
import { Form, changed, kindsOf, valueAt } from "./form.js";
import { choose } from "./market.js";
import * as preview from "./preview.js";

const CHECK_AFTER_MS = 250;
const SAVE_AFTER_MS = 400;
const MAX_FILE = 256_000;
const LONG = 10_000;
const SMALL_JOB = `type: job
name: my_job
version: 1.0.0
description: what it does

parameters:
  greeting: hello

prerequisites:
  - {name: python, type: dockerimage, version: 1.0.0, uri: docker.io/library/python:3.11-slim}

tasks:
  - role: main
    dockerimage: python
    resource:
      instances: 1
      resourcePerInstance: {cpu: 1, memoryMB: 512, gpu: 0}
    command:
      - echo $$greeting$$
`;

const form = document.getElementById("submit");
const notes = document.getElementById("notes");
const state = document.getElementById("draft-state");
const template = form.dataset.again ? `again:${form.dataset.again}` : form.dataset.reference.replace(/@[0-9a-f]+$/, "") || "blank";
const draft = new Draft(form.dataset.user, template);

let schemas = null;
let isKept = true;

/* --- what the page came with ------------------------------------------------------------------ */

const original = form.elements.yaml.value;
const linked = new Set([...form.querySelectorAll("[name=linked]")].map((each) => each.value));
const given = new Map([...form.querySelectorAll("[name^='param.']")].map((each) => [each.name.slice(6), each.value]));
const before = new Map([...form.querySelectorAll("[name^='before.']")].map((each) => [each.name.slice(7), each.value]));

// The text with what a link or the job before has set put in.
function filledIn() {
  const job = read(original).doc.toJS();
  const isJob = job !== null && typeof job === "object";
  if (!isJob || read(original).firstError) return original;
  let text = original;
  for (const [name, value] of given) {
    if (value === before.get(name)) continue;
    const old = valueAt(job, ["parameters", name]);
    const kind = typeof old === "boolean" && ["true", "false"].includes(value) ? "choice" : typeof old === "number" && Number.isFinite(Number(value)) ? "number" : old === null ? "any" : "text";
    text = changed(text, ["parameters", name], value, kind) ?? text;
  }
  const name = form.elements.name.value;
  return name ? changed(text, ["name"], name, "text") ?? text : text;
}

const started = filledIn();

/* --- the editor and the form ------------------------------------------------------------------- */

const editor = createEditor(form.elements.yaml, {
  schemas: () => schemas,
  onChange: (text) => { follow(text); checkSoon(); keepSoon(); },
  onSubmit: () => form.requestSubmit(document.getElementById("run")),
});

// While one types in a long text, the form follows when there is a pause.
let following;

function follow(text) {
  clearTimeout(following);
  if (text.length > LONG && editor.view.hasFocus) following = setTimeout(() => fields.update(editor.text), CHECK_AFTER_MS);
  else fields.update(text);
}

const fields = new Form({
  text: () => editor.text,
  change: (text, words) => {
    editor.change(text);
    if (words) say(words);
  },
  choose: (type) => choose(type, neighbours()),
  linked,
  kinds: kindsOf(original),
});
problems.follow(editor);

const say = (words) => problems.say(editor, words);

// What the job is made of, as types and names in the marketplace.
function neighbours() {
  const own = /(?:^|:)(\w+)\/([^@]+)/.exec(form.elements.reference.value);
  const needed = (fields.job?.prerequisites ?? []).filter((each) => typeof each === "string").map((each) => /(?:^|:)(\w+)\/([^@]+)/.exec(each));
  return [own, ...needed].filter(Boolean).map(([, type, name]) => [type, name]);
}

/* --- problems, and what will run ---------------------------------------------------------------- */

let timer;
let asked = 0;

function checkSoon() {
  clearTimeout(timer);
  timer = setTimeout(check, CHECK_AFTER_MS);
}

async function check() {
  const number = ++asked;
  if (!editor.text.trim()) { show([]); return preview.clear(); }
  const answer = await asForm("/submit/check", sent());
  if (number !== asked || !answer) return;
  if (answer.roles.length) preview.show(answer);
  else preview.clear();
  show(answer.problems);
}

// The answer to what the page would send now, or nothing where the server is away: then nothing changes here.
async function asForm(address, { text, values, name }) {
  const body = new FormData();
  body.set("yaml", text);
  body.set("name", name);
  body.set("reference", form.elements.reference.value);
  for (const [key, value, old] of values) { body.set(`param.${key}`, value); body.set(`before.${key}`, old); }
  for (const each of linked) body.append("linked", each);
  const response = await ask(address, { method: "POST", body, headers: { "X-CSRFToken": token() } });
  return response?.json();
}

function show(found) {
  problems.show(editor, found, schemas);
  fields.mark(found);
}

/* --- drafts -------------------------------------------------------------------------------------- */

let keeping;

function keepSoon() {
  clearTimeout(keeping);
  keeping = setTimeout(keep, SAVE_AFTER_MS);
}

function keep() {
  clearTimeout(keeping);
  if (editor.text === started) { draft.drop(); state.textContent = ""; isKept = true; return; }
  isKept = draft.write(editor.text);
  const time = new Date().toLocaleTimeString(document.documentElement.lang, { hour: "2-digit", minute: "2-digit" });
  state.textContent = isKept ? ` ${_("draft saved %(time)s", { time })}` : ` ${_("This browser keeps no draft: save it as a file.")}`;
}

addEventListener("pagehide", () => { if (keeping && !form.dataset.going) keep(); });
addEventListener("beforeunload", (event) => { if (!isKept && !form.dataset.going) event.preventDefault(); });

function note(kind, ...content) {
  const element = h("div", { class: `alert ${kind}`, role: "status" }, ...content);
  notes.prepend(element);
  return element;
}

function offerDraft() {
  const found = draft.read();
  if (!found || found.text === started || form.dataset.isSent) return;
  const time = new Date(found.at).toLocaleString(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });
  if (linked.size) {
    const element = note("", _("There is a draft of yours from %(time)s.", { time }), " ", h("button", { class: "btn btn-quiet btn-sm", type: "button", onclick: () => { editor.change(found.text); element.remove(); } }, _("Bring it back")));
    return;
  }
  editor.change(found.text);
  const element = note("", _("Your draft of %(time)s was brought back.", { time }), " ", h("button", { class: "btn btn-quiet btn-sm", type: "button", onclick: () => { editor.change(started); element.remove(); } }, _("Drop the draft")));
}

document.getElementById("reset").addEventListener("click", () => {
  if (editor.text === started) return;
  editor.change(started);
  say(_("As it was in the beginning."));
});
document.getElementById("blank")?.addEventListener("click", () => { editor.change(SMALL_JOB); document.getElementById("begin").remove(); });

/* --- import ---------------------------------------------------------------------------------------- */

async function take(text, name) {
  if (text.length > MAX_FILE) { note("bad", _("%(name)s is larger than 256 kB. A job is a small text: keep data in a file of its own and give its address.", { name })); return; }
  const { ok, status, body } = await call("/convert", { text });
  if (!ok) {
    note("bad", status ? body.message.replaceAll("`", "") : _("The server does not answer, so nothing was imported. Try again."));
    return;
  }
  form.elements.reference.value = "";
  editor.change(body.yaml.replaceAll("\r\n", "\n"));
  document.getElementById("begin")?.remove();
  say(_("Imported %(name)s.", { name }));
  if (!body.form) return;
  note("warn", h("p", {}, _("This job was %(form)s. Below it stands in the form that runs here: look through it, then press Submit.", { form: body.form }),
    body.notes.length ? ` ${_("Not everything could be taken over:")}` : ""), body.notes.length > 0 && problems.listed(editor, body.notes.map((each) => ({ ...each, line: null }))));
}

async function takeFile(file) {
  if (file.size > MAX_FILE) { await take(" ".repeat(MAX_FILE + 1), file.name); return; }
  await take((await file.text()).replace(/^\ufeff/, ""), file.name);
}

document.getElementById("import-file").addEventListener("click", () => form.elements.file.click());
form.elements.file.addEventListener("change", async () => {
  const [file] = form.elements.file.files;
  if (file) await takeFile(file);
  form.elements.file.value = "";
});

const paste = document.getElementById("paste");
document.getElementById("import-text").addEventListener("click", () => { paste.returnValue = ""; paste.showModal(); });
paste.addEventListener("close", () => {
  const { value } = document.getElementById("pasted");
  if (paste.returnValue === "take" && value.trim()) take(value, _("the pasted text"));
});

// A whole job in JSON that is pasted over the text is converted too.
editor.view.contentDOM.addEventListener("paste", (event) => {
  const text = event.clipboardData.getData("text/plain").trim();
  const { from, to } = editor.view.state.selection.main;
  const isWhole = !editor.text.trim() || to - from >= editor.text.trimEnd().length;
  if (!isWhole || !text.startsWith("{") || !text.endsWith("}")) return;
  event.preventDefault();
  event.stopPropagation();
  take(text, _("the pasted text"));
}, true);

document.body.dataset.drop = _("Drop it to import the job");
const isFile = (event) => event.dataTransfer?.types.includes("Files");
addEventListener("dragover", (event) => { if (isFile(event)) { event.preventDefault(); document.body.classList.add("dropping"); } });
addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("dropping"); });
addEventListener("drop", (event) => {
  if (!isFile(event)) return;
  event.preventDefault();
  document.body.classList.remove("dropping");
  takeFile(event.dataTransfer.files[0]);
}, true);

/* --- sharing ----------------------------------------------------------------------------------------- */

document.getElementById("share-link").addEventListener("click", async () => {
  const link = `${location.origin}${form.getAttribute("action")}#yaml=${await packed(editor.text)}`;
  document.getElementById("share-menu").open = false;
  try {
    await navigator.clipboard.writeText(link);
    say(_("The link is copied."));
  } catch {
    note("", _("Copy this link:"), " ", h("code", { class: "wrap" }, link));
  }
});

document.getElementById("save-file").addEventListener("click", () => {
  const url = URL.createObjectURL(new Blob([editor.text], { type: "application/yaml" }));
  h("a", { href: url, download: `${String(fields.job?.name ?? "job").replaceAll(/[^\w.~-]/g, "_")}.yaml` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
  document.getElementById("share-menu").open = false;
});

async function takeShared(word) {
  try {
    editor.change(await unpacked(word));
  } catch {
    note("bad", _("The link is cut off or not one of this page, so nothing was taken from it."));
    return;
  }
  form.elements.reference.value = "";
  document.getElementById("begin")?.remove();
  editor.markLines(Array.from({ length: editor.view.state.doc.lines }, (_each, at) => at + 1));
  note("warn", h("b", {}, _("Check before running.")), " ", _("This job came with a link: whoever made the link wrote it. Read its commands below before you press Submit."));
}

/* --- submitting ---------------------------------------------------------------------------------------- */

// Where only parameters and the name differ from the template, it is sent as the template with these values:
// the receipt then names the version that ran, not a changed text.
function sent() {
  let text = editor.text;
  const values = [];
  const from = read(original).firstError ? {} : read(original).doc.toJS() ?? {};
  const now = read(text).firstError ? {} : read(text).doc.toJS() ?? {};
  for (const [name, old] of Object.entries(from.parameters ?? {})) {
    const value = now.parameters?.[name];
    if (value === undefined || typeof old === "object" && old !== null || (value === old && !linked.has(name))) continue;
    const wanted = value === null ? "" : String(value);
    values.push([name, wanted, old === null ? "" : String(old)]);
    const node = read(original).doc.getIn(["parameters", name], true);
    const source = node?.range ? original.slice(node.range[0], node.range[1]) : "";
    const at = read(text).doc.getIn(["parameters", name], true)?.range;
    if (at && value !== old) text = (source ? text.slice(0, at[0]) + source : text.slice(0, at[0]).trimEnd()) + text.slice(at[1]);
  }
  let name = "";
  if (now.name !== from.name && typeof now.name === "string" && from.name) {
    name = now.name;
    text = changed(text, ["name"], from.name, "text") ?? text;
  }
  return text === original && original ? { text, values, name } : { text: editor.text, values: [], name: "" };
}

form.addEventListener("submit", (event) => {
  const found = event.submitter?.value === "publish" ? { text: editor.text, values: [], name: "" } : sent();
  for (const each of form.querySelectorAll("#parameters [name], [data-added]")) each.remove();
  const add = (name, value) => form.append(h("input", { type: "hidden", name, value, "data-added": "yes" }));
  form.elements.yaml.value = found.text;
  form.elements.name.disabled = true;
  add("name", found.name);
  for (const [name, value, old] of found.values) {
    add(`param.${name}`, value);
    add(`before.${name}`, old);
    if (linked.has(name)) add("linked", name);
  }
  form.dataset.going = "yes";
  clearTimeout(keeping);
  if (event.submitter?.value === "submit" && !problems.isWrong()) draft.drop();
  else if (editor.text !== started) draft.write(editor.text);
});

addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  delete form.dataset.going;
  form.elements.name.disabled = false;
  editor.change(`${editor.text}`);
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.defaultPrevented || document.querySelector("dialog[open]")) return;
  event.preventDefault();
  form.requestSubmit(document.getElementById("run"));
});

/* --- beginning --------------------------------------------------------------------------------------------- */

form.elements.name.placeholder = "";
form.elements.file.hidden = true;
fields.update(editor.text);
editor.change(started);
if (linked.size) {
  const { doc } = read(started);
  editor.markLines([...linked].map((name) => doc.getIn(["parameters", name], true)?.range?.[0]).filter(Number.isInteger).map((at) => editor.view.state.doc.lineAt(at).number));
}
const shared = /^#yaml=([\w-]+)$/.exec(location.hash)?.[1];
if (shared) await takeShared(shared);
else offerDraft();
const answer = await call("/schemas");
schemas = answer.ok ? answer.body : null;
check();

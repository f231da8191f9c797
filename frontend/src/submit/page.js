// The submit page with its editor: form and text in step, problems as one types, drafts; the rest stands beside.

import { createEditor } from "../editor/editor.js";
import { read } from "../editor/document.js";
import * as problems from "../editor/problems.js";
import { call } from "../lib/api.js";
import { h } from "../lib/dom.js";
import { token } from "../lib/live.js";
import { _, gap } from "../lib/texts.js";
import { Draft } from "./drafts.js";
import { focusOn } from "./focus.js";
import { Form } from "./form.js";
import { importing } from "./importing.js";
import { choose } from "./market.js";
import * as preview from "./preview.js";
import { sending } from "./sending.js";
import { sentAs } from "./sent.js";
import { shared, sharing } from "./sharing.js";
import { changed, kindsOf, valueAt } from "./values.js";

const CHECK_AFTER_MS = 200;
const LOOK_AFTER_MS = 900;
const SAVE_AFTER_MS = 400;
const AGAIN_MS = [2000, 5000, 15_000, 30_000];
const LONG = 10_000;
// What the form writes into when there is no text yet.
const NO_JOB = "type: job\nname: my_job\nversion: 1.0.0\n";
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
// What came in a link has a draft of its own, so that nobody's link takes the place of what one wrote here.
const LINKED = "#linked";
let draft = new Draft(form.dataset.user, location.hash === LINKED ? "linked" : template);
const sent = () => sentAs(original, editor.text, linked);

let schemas = null;
let isKept = true;
let isFromLink = false;
let isTouched = false;

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
  onChange: (text) => { follow(text); checkSoon(); keepSoon(); isTouched = true; },
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
  text: () => (editor.text.trim() ? editor.text : NO_JOB),
  change: (text, words) => {
    editor.change(text);
    if (words) say(words);
  },
  choose: (type) => choose(type, neighbours()),
  linked,
  kinds: kindsOf(original),
});
problems.follow(editor);

const say = (words, isChange) => problems.say(editor, words, isChange);

// What the job is made of, as types and names in the marketplace.
function neighbours() {
  const own = /(?:^|:)(\w+)\/([^@]+)/.exec(form.elements.reference.value);
  const needed = (fields.job?.prerequisites ?? []).filter((each) => typeof each === "string").map((each) => /(?:^|:)(\w+)\/([^@]+)/.exec(each));
  return [own, ...needed].filter(Boolean).map(([, type, name]) => [type, name]);
}

/* --- problems, and what will run ---------------------------------------------------------------- */

let timer;
let looking;
let asked = 0;
let failed = 0;

function checkSoon(after = CHECK_AFTER_MS) {
  clearTimeout(timer);
  clearTimeout(looking);
  timer = setTimeout(check, after);
}

async function check() {
  const number = ++asked;
  if (!editor.text.trim()) { show([]); return preview.clear(); }
  const answer = await asForm("/submit/check", sent());
  if (number !== asked) return;
  // Where the server is away nothing changes here, and it is asked again.
  if (!answer) { checkSoon(AGAIN_MS[Math.min(failed++, AGAIN_MS.length - 1)]); return; }
  failed = 0;
  if (answer.roles.length) {
    preview.show(answer);
    looking = setTimeout(() => preview.look(request(), answer.roles), LOOK_AFTER_MS);
  } else preview.clear();
  show(answer.problems);
}

addEventListener("online", () => checkSoon());

async function asForm(address, { text, values, name }) {
  const body = new FormData();
  body.set("yaml", text);
  body.set("name", name);
  body.set("reference", form.elements.reference.value);
  for (const [key, value, old] of values) { body.set(`param.${key}`, value); body.set(`before.${key}`, old); }
  for (const each of linked) body.append("linked", each);
  const response = await fetch(address, { method: "POST", body, headers: { "X-CSRFToken": token() } }).catch(() => null);
  document.getElementById("offline").hidden = Boolean(response) && response.status < 500;
  if (response?.redirected) { keep(); leave(form.dataset.login); }
  return response?.ok && !response.redirected ? response.json() : null;
}

// The same as the API takes it.
function request() {
  const { text, values, name } = sent();
  return { reference: form.elements.reference.value, yaml: text, name: name || null,
    parameters: Object.fromEntries(values.map(([key, value]) => [key, value])) };
}

function show(found) {
  problems.show(editor, found, schemas);
  fields.mark(found);
  const errors = found.filter((each) => each.severity === "error");
  preview.tellErrors(errors.length);
  fields.waitFor(errors.find((each) => each.line)?.line);
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
  isKept = draft.write(editor.text, isFromLink);
  const time = new Date().toLocaleTimeString(document.documentElement.lang, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  const told = isKept ? _("draft saved %(time)s", { time }) : _("This browser keeps no draft: save it as a file.");
  state.textContent = form.dataset.reference ? ` · ${told}` : told;
}

addEventListener("pagehide", () => { if (keeping && !form.dataset.going) keep(); });
addEventListener("beforeunload", (event) => {
  if (!form.dataset.going && (!isKept || isTouched && editor.text !== started)) event.preventDefault();
});

// Without a question: the page has what it wants.
function leave(path) {
  form.dataset.going = "yes";
  clearTimeout(keeping);
  location.assign(path);
}

function note(kind, ...content) {
  const element = h("div", { class: `alert ${kind}`, role: "status" }, ...content);
  notes.prepend(element);
  return element;
}

const button = (words, work) => h("button", { class: "btn btn-quiet btn-sm", type: "button", onclick: work }, words);

function offerDraft() {
  const found = draft.read();
  if (!found || found.text === started || form.dataset.isSent) return;
  const time = new Date(found.at).toLocaleString(document.documentElement.lang, { day: "numeric", month: "long", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  if (linked.size) {
    const element = origin("", _("There is a draft of yours from %(time)s.", { time }), " ", button(_("Bring it back"), () => { editor.change(found.text); element.remove(); }));
    return;
  }
  begun();
  editor.change(found.text);
  if (found.isFromLink) warnOfLink();
  const element = origin("", _("Your draft of %(time)s was brought back.", { time }), " ", button(_("Drop the draft"), () => { editor.change(started); isFromLink = false; element.remove(); }));
}

document.getElementById("reset").addEventListener("click", () => {
  if (editor.text === started) return;
  editor.change(started);
  isFromLink = false;
  say(_("As it was in the beginning."));
});
document.getElementById("blank")?.addEventListener("click", () => { editor.change(SMALL_JOB); begun(); });

// Where the text came from is told until another one takes its place.
const origins = [];

function origin(...what) {
  origins.push(note(...what));
  return origins.at(-1);
}

function begun() {
  document.getElementById("begin")?.remove();
  for (const each of origins.splice(0)) each.remove();
  isFromLink = false;
}

/* --- a job in the link --------------------------------------------------------------------------- */

async function takeShared() {
  const text = await shared();
  if (text === undefined) return false;
  if (text === null) { note("bad", _("The link is cut off or not one of this page, so nothing was taken from it.")); return true; }
  if (editor.text !== started) keep();
  draft = new Draft(form.dataset.user, "linked");
  form.elements.reference.value = "";
  begun();
  isFromLink = true;
  editor.change(text);
  // A reload brings back what was made of it since.
  history.replaceState(null, "", `${location.pathname}${LINKED}`);
  editor.markLines(Array.from({ length: editor.view.state.doc.lines }, (_each, at) => at + 1));
  warnOfLink();
  return true;
}

function warnOfLink() {
  isFromLink = true;
  origin("warn", h("b", {}, _("Check before running.")), gap, _("This job came with a link: whoever made the link wrote it. Read its commands below before you press Submit."));
}

addEventListener("hashchange", takeShared);

/* --- submitting ------------------------------------------------------------------------------------ */

// Where the page itself is sent: to be published.
function fill(action) {
  const found = action === "publish" ? { text: editor.text, values: [], name: "" } : sent();
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
  if (editor.text !== started) draft.write(editor.text, isFromLink);
}

addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  delete form.dataset.going;
  form.elements.name.disabled = false;
  editor.change(`${editor.text}`);
});

/* --- beginning --------------------------------------------------------------------------------------------- */

form.elements.name.placeholder = "";
form.elements.file.hidden = true;
const page = { form, editor, note, say, begun, sent, request, original, leave, keep, show, fill, name: () => fields.job?.name, drop: () => draft.drop() };
sharing(page);
sending({ ...page, ...importing(page) });
editor.change(started);
fields.update(editor.text);
if (linked.size) {
  const { doc } = read(started);
  editor.markLines([...linked].map((name) => doc.getIn(["parameters", name], true)?.range?.[0]).filter(Number.isInteger).map((at) => editor.view.state.doc.lineAt(at).number));
}
if (!await takeShared()) offerDraft();
const wanted = new URLSearchParams(location.search).get("focus");
if (wanted) focusOn(wanted, fields, note);
isTouched = false;
const answer = await call("/schemas");
schemas = answer.ok ? answer.body : null;
check();

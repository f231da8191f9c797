// What would run: the commands with parameters put in, whether this machine has room, what must come here, and when it starts.

import { call } from "../lib/api.js";
import { h } from "../lib/dom.js";
import { _, gap, ngettext } from "../lib/texts.js";

const box = document.getElementById("will-run");
const commands = document.getElementById("commands");
const fit = document.getElementById("fit");
const bar = document.getElementById("verdict");
const outlook = document.getElementById("outlook");
const UNITS = ["kB", "MB", "GB", "TB"];

let asked = 0;

export function clear() {
  asked += 1;
  box.hidden = true;
  fit.replaceChildren();
  bar.replaceChildren();
}

// `found`: { roles, fit } as the server answers.
export function show(found) {
  box.hidden = false;
  commands.replaceChildren(...found.roles.flatMap(role));
  fit.replaceChildren(verdict(found));
  bar.replaceChildren(found.fit ? fits()[found.fit.fit] : _("The runner does not answer."));
}

// In the bar, which is in sight while one writes.
export function tellErrors(count) {
  if (count) bar.replaceChildren(h("a", { class: "wrong", href: "#problems" }, ngettext("%(num)d problem to solve first", "%(num)d problems to solve first", count)));
}

const fits = () => ({ now: _("Fits this machine now."), later: _("Fits this machine, but has to wait."), never: _("This machine can never run it.") });

const role = (each) => [
  h("h3", {}, each.name, each.instances > 1 ? ` × ${each.instances} ` : " ", h("small", { class: "wrap" }, each.image)),
  h("pre", { class: "commands", tabindex: 0, "aria-label": _("Commands of %(role)s", { role: each.name }) }, each.commands.join("\n"))];

function verdict({ fit: found }) {
  if (!found) return h("p", { class: "alert warn" }, _("The runner does not answer, so nobody can say whether the job fits, and nothing can be submitted now."));
  const kinds = { now: "good", later: "warn", never: "bad" };
  return h("p", { class: `alert ${kinds[found.fit]}` }, h("b", {}, fits()[found.fit]), gap, found.reason.replaceAll("`", ""));
}

/* --- what it would find ------------------------------------------------------------------------- */

// Some of it is asked of the web, so it is looked at when the text has been left alone for a while.
export async function look(request, roles) {
  const number = ++asked;
  outlook.setAttribute("aria-busy", "true");
  const { ok, body } = await call("/outlook", request);
  if (number !== asked) return;
  outlook.removeAttribute("aria-busy");
  outlook.replaceChildren(...(ok ? rows(body, roles) : []));
  const known = ok ? body.supplies.reduce((sum, each) => sum + (each.missing ?? 0), 0) : 0;
  if (known) bar.replaceChildren(fits()[body.fit], gap, h("span", { class: "faint" }, _("%(size)s to bring", { size: size(known) })));
}

function rows(found, roles) {
  const sum = (name) => roles.reduce((all, each) => all + each[name], 0);
  const part = (name, text = String) => _("%(free)s of %(whole)s", { free: text(found.free[name]), whole: text(found.whole[name]) });
  const memory = (megabytes) => (megabytes < 10_240 ? `${megabytes} MiB` : `${Math.round(megabytes / 1024)} GiB`);
  return [
    row(_("Wants"), amounts(sum("cpus"), memory(sum("memory_mb")), sum("gpus"))),
    row(_("Free now"), amounts(part("cpus"), part("memory_mb", memory), part("gpus"))),
    row(_("To bring"), bringing(found.supplies)),
    row(_("Start"), start(found))];
}

const row = (title, ...text) => h("div", {}, h("dt", {}, title), h("dd", {}, ...text));
const amounts = (cpus, memory, gpus) => `${cpus} CPU · ${memory} · ${gpus} GPU`;

function bringing(supplies) {
  const missing = supplies.filter((each) => each.missing !== 0);
  if (!missing.length) return supplies.length ? _("Nothing: image and inputs are here.") : _("Nothing.");
  const known = missing.reduce((sum, each) => sum + (each.missing ?? 0), 0);
  const unknown = missing.filter((each) => each.missing === null).length;
  const total = [known > 0 && size(known), unknown > 0 && ngettext("%(num)d of unknown size", "%(num)d of unknown size", unknown)].filter(Boolean).join(" + ");
  return h("details", {}, h("summary", {}, total), h("ul", {}, supplies.map((each) => h("li", {}, h("span", { class: "wrap" }, each.uri), " ", h("small", {}, state(each))))));
}

const state = ({ kind, missing }) => (missing === 0 ? _("here") : missing ? size(missing) : kind === "image" ? _("to be pulled, size unknown") : _("size unknown"));

function start({ fit: found, expected_start: expected, supplies }) {
  if (found === "never") return _("Never on this machine.");
  if (found === "now") return supplies.every((each) => each.missing === 0) ? _("At once.") : _("As soon as all of it is here.");
  if (!expected) return _("Nobody knows: a job before it has no time limit.");
  const at = new Date(expected);
  const time = at.toLocaleString(document.documentElement.lang, { weekday: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  const minutes = Math.max(1, Math.round((at - Date.now()) / 60e3));
  return [h("time", { datetime: expected }, time), `, ${ngettext("in about %(num)d minute", "in about %(num)d minutes", minutes)}`];
}

// As the server writes sizes.
function size(bytes) {
  if (bytes < 1000) return `${bytes} bytes`;
  let value = bytes;
  let unit = -1;
  while (value >= 1000 && unit < UNITS.length - 1) { value /= 1000; unit += 1; }
  return `${value.toFixed(1)} ${UNITS[unit]}`;
}

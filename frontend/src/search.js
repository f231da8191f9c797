// The search page: results follow what one types, names and filters are suggested, keys move and use.

import { onKey } from "./lib/keys.js";
import { announce } from "./lib/live.js";
import { _ } from "./lib/texts.js";

const form = document.getElementById("search");
const input = document.getElementById("q");
const list = document.getElementById("suggestions");
const SUGGEST_AFTER_MS = 120;
const SEARCH_AFTER_MS = 250;
const MAX_SHOWN = 6;
const TYPES = { job: _("Job"), data: _("Data"), script: _("Script"), dockerimage: _("Docker image") };

let timer = 0;
let typing = 0;
let running = null;
let chosen = -1;
let isComposing = false;
let sought = input.value;

input.setAttribute("role", "combobox");
input.setAttribute("aria-autocomplete", "list");
input.setAttribute("aria-controls", list.id);
input.setAttribute("aria-expanded", "false");

/* --- suggestions ------------------------------------------------------------------------- */

function pageOf({ type, name }) {
  return input.dataset.page.replace("TYPE", encodeURIComponent(type))
    .replace("NAME", encodeURIComponent(name));
}

function choose(number) {
  const options = [...list.children];
  options[chosen]?.setAttribute("aria-selected", "false");
  chosen = number;
  const option = options[chosen];
  option?.setAttribute("aria-selected", "true");
  option?.scrollIntoView({ block: "nearest" });
  if (option) input.setAttribute("aria-activedescendant", option.id);
  else input.removeAttribute("aria-activedescendant");
}

function close() {
  clearTimeout(timer);
  running?.abort();
  list.hidden = true;
  list.replaceChildren();
  input.setAttribute("aria-expanded", "false");
  choose(-1);
}

function optionOf({ label, kind, url = "", query = "" }, number) {
  const option = document.createElement("li");
  option.id = `suggestion-${number}`;
  option.setAttribute("role", "option");
  option.setAttribute("aria-selected", "false");
  Object.assign(option.dataset, { url, query });
  const name = document.createElement("span");
  name.textContent = label;
  const small = document.createElement("small");
  small.textContent = kind;
  option.append(name, " ", small);
  return option;
}

function show({ completions, filters }) {
  const names = completions.slice(0, MAX_SHOWN - Math.min(filters.length, MAX_SHOWN / 2));
  const found = [
    ...names.map((each) => (
      { label: each.name, kind: TYPES[each.type] ?? each.type, url: pageOf(each) })),
    ...filters.map((each) => ({ label: each.filter, kind: _("Filter"), query: each.query })),
  ];
  choose(-1);
  list.replaceChildren(...found.slice(0, MAX_SHOWN).map(optionOf));
  list.hidden = !found.length;
  input.setAttribute("aria-expanded", String(!list.hidden));
}

// A name leads to its page; a filter goes into the field, where one types on.
function take(option) {
  if (option.dataset.url) return location.assign(option.dataset.url);
  const { query } = option.dataset;
  input.value = query.endsWith(":") ? query : `${query} `;
  close();
  if (query.endsWith(":")) return suggest();
  return searchSoon();
}

async function suggest() {
  running?.abort();
  const text = input.value;
  if (!text.trim()) return close();
  running = new AbortController();
  try {
    const url = `${input.dataset.complete}?q=${encodeURIComponent(text)}`;
    const answer = await fetch(url, { signal: running.signal });
    if (!answer.ok) return close();
    const found = await answer.json();
    if (text === input.value && document.activeElement === input) show(found);
  } catch (error) {
    if (error.name !== "AbortError") close();
  }
}

/* --- results while one types --------------------------------------------------------------- */

function search() {
  clearTimeout(typing);
  if (input.value.trim() === sought.trim()) return;
  sought = input.value;
  window.htmx.trigger(form, "typed");
}

function searchSoon() {
  clearTimeout(typing);
  typing = setTimeout(search, SEARCH_AFTER_MS);
}

function typed() {
  // Letters that are still on their way to becoming Chinese are not asked for.
  if (isComposing) return;
  clearTimeout(timer);
  timer = setTimeout(suggest, SUGGEST_AFTER_MS);
  searchSoon();
}

input.addEventListener("input", typed);
input.addEventListener("compositionstart", () => {
  isComposing = true;
  clearTimeout(timer);
  clearTimeout(typing);
});
input.addEventListener("compositionend", () => { isComposing = false; typed(); });

document.addEventListener("htmx:afterSwap", () => {
  input.removeAttribute("aria-invalid");
  announce(document.getElementById("found")?.textContent ?? "");
});

// Past the suggestions there are the results.
function goDown(event) {
  if (!cards().length) return suggest();
  event.preventDefault();
  return move(1);
}

input.addEventListener("keydown", (event) => {
  if (event.isComposing) return;
  const count = list.children.length;
  if (event.key === "ArrowDown" && list.hidden) return goDown(event);
  else if (event.key === "Escape" && !list.hidden) close();
  else if (event.key === "Enter" && chosen >= 0) take(list.children[chosen]);
  else if (event.key === "ArrowDown") choose((chosen + 2) % (count + 1) - 1);
  else if (event.key === "ArrowUp" && count) choose((chosen + count + 1) % (count + 1) - 1);
  else return;
  event.preventDefault();
});

list.addEventListener("pointerdown", (event) => { event.preventDefault(); });
list.addEventListener("click", (event) => {
  const option = event.target.closest("[role=option]");
  if (option) take(option);
});
input.addEventListener("blur", close);
addEventListener("pageshow", close);

/* --- cards by keyboard ---------------------------------------------------------------------- */

const cards = () => [...document.querySelectorAll("#results .cards > li")];
const current = () => document.activeElement.closest("#results .cards > li");

function move(step) {
  const all = cards();
  const next = all[Math.max(0, Math.min(all.length - 1, all.indexOf(current()) + step))];
  next?.querySelector("h3 a").focus();
}

onKey("j", () => move(1));
onKey("k", () => move(-1));
// Beside a card, and where a search has just led here; else the key scrolls.
onKey("ArrowDown", () => (current() || (input.value.trim() && document.activeElement === document.body) ? move(1) : false));
onKey("ArrowUp", () => (current() ? move(-1) : false));
onKey("u", () => current()?.querySelector(".use")?.click());
onKey("y", async () => {
  const card = current();
  if (!card || !navigator.clipboard) return;
  await navigator.clipboard.writeText(card.dataset.name);
  const message = document.createElement("span");
  message.className = "tag";
  message.setAttribute("role", "status");
  card.querySelector(".foot .faint").append(" ", message);
  message.textContent = _("Copied");
  setTimeout(() => message.remove(), 2000);
});

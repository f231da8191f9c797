// The search field: names and filters are suggested while one types; arrows and Enter choose.

const input = document.getElementById("q");
const list = document.getElementById("suggestions");
const ASK_AFTER_MS = 120;
const MAX_SHOWN = 8;
const TYPES = { job: "Job", data: "Data", script: "Script", dockerimage: "Docker image" };

let timer = 0;
let running = null;
let chosen = -1;
let isComposing = false;

input.setAttribute("role", "combobox");
input.setAttribute("aria-autocomplete", "list");
input.setAttribute("aria-controls", list.id);
input.setAttribute("aria-expanded", "false");

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
    ...filters.map((each) => ({ label: each.filter, kind: "Filter", query: each.query })),
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
  return query.endsWith(":") && ask();
}

async function ask() {
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

function askSoon() {
  clearTimeout(timer);
  timer = setTimeout(ask, ASK_AFTER_MS);
}

input.addEventListener("input", () => { if (!isComposing) askSoon(); });
// Letters that are still on their way to becoming Chinese are not asked for.
input.addEventListener("compositionstart", () => { isComposing = true; clearTimeout(timer); });
input.addEventListener("compositionend", () => { isComposing = false; askSoon(); });

input.addEventListener("keydown", (event) => {
  if (event.isComposing) return;
  const count = list.children.length;
  if (event.key === "ArrowDown" && list.hidden) ask();
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

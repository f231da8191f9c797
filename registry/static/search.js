// The search field: names are suggested while one types; arrows choose, Enter opens the page.

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

function optionOf(completion, number) {
  const option = document.createElement("li");
  option.id = `suggestion-${number}`;
  option.setAttribute("role", "option");
  option.setAttribute("aria-selected", "false");
  option.dataset.url = pageOf(completion);
  const type = document.createElement("small");
  type.textContent = TYPES[completion.type] ?? completion.type;
  const name = document.createElement("span");
  name.textContent = completion.name;
  option.append(name, " ", type);
  return option;
}

function show(completions) {
  choose(-1);
  list.replaceChildren(...completions.slice(0, MAX_SHOWN).map(optionOf));
  list.hidden = !completions.length;
  input.setAttribute("aria-expanded", String(!list.hidden));
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
    const { completions } = await answer.json();
    if (text === input.value && document.activeElement === input) show(completions);
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
  else if (event.key === "Enter" && chosen >= 0) location.assign(list.children[chosen].dataset.url);
  else if (event.key === "ArrowDown") choose((chosen + 2) % (count + 1) - 1);
  else if (event.key === "ArrowUp" && count) choose((chosen + count + 1) % (count + 1) - 1);
  else return;
  event.preventDefault();
});

list.addEventListener("pointerdown", (event) => { event.preventDefault(); });
list.addEventListener("click", (event) => {
  const option = event.target.closest("[role=option]");
  if (option) location.assign(option.dataset.url);
});
input.addEventListener("blur", close);
addEventListener("pageshow", close);

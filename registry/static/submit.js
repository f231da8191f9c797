// The submit page: line numbers that follow the text, problems as one types, import at once.

const form = document.getElementById("submit");
const area = document.getElementById("yaml");
const gutter = document.getElementById("gutter");
const problems = document.getElementById("problems");
const token = form.elements.csrf_token.value;
const CHECK_AFTER_MS = 500;

function number() {
  const lines = Math.max(20, area.value.split("\n").length + 1);
  while (gutter.children.length > lines) gutter.lastChild.remove();
  while (gutter.children.length < lines) {
    const item = document.createElement("li");
    item.textContent = gutter.children.length + 1;
    item.id = `Y${item.textContent}`;
    gutter.append(item);
  }
  area.rows = lines;
}

function go(line) {
  const before = area.value.split("\n").slice(0, line - 1).join("\n").length;
  const start = line > 1 ? before + 1 : 0;
  const end = area.value.indexOf("\n", start);
  area.focus({ preventScroll: true });
  area.setSelectionRange(start, end < 0 ? area.value.length : end);
  gutter.children[line - 1]?.scrollIntoView({ block: "center" });
}

function item(problem) {
  const row = document.createElement("li");
  row.className = problem.severity;
  if (problem.line) {
    const link = document.createElement("a");
    link.href = `#Y${problem.line}`;
    link.dataset.line = problem.line;
    link.textContent = `Line ${problem.line}`;
    row.append(link, ": ");
  }
  row.append(problem.message.replaceAll("`", ""));
  return row;
}

function show(errors) {
  for (const mark of gutter.querySelectorAll(".marked")) mark.classList.remove("marked");
  for (const error of errors) gutter.children[error.line - 1]?.classList.add("marked");
  area.setAttribute("aria-invalid", errors.length > 0);
  const box = document.createElement("div");
  box.className = "notice bad";
  const title = document.createElement("h2");
  title.textContent = errors.length === 1 ? "1 problem to solve first"
    : `${errors.length} problems to solve first`;
  const list = document.createElement("ul");
  list.className = "problems";
  list.append(...errors.map(item));
  box.append(title, list);
  problems.replaceChildren(...(errors.length ? [box] : []));
}

let timer;
let asked = 0;

async function check() {
  const number = ++asked;
  if (!area.value.trim()) return show([]);
  try {
    const response = await fetch("/api/v3/validate", {
      method: "POST", body: JSON.stringify({ yaml: area.value }),
      headers: { "Content-Type": "application/json", "X-CSRFToken": token } });
    const answer = await response.json();
    if (response.ok && number === asked) show(answer.errors);
  } catch {
    // Without the server nothing is checked here; the button Check says so.
  }
}

area.addEventListener("input", () => {
  number();
  clearTimeout(timer);
  timer = setTimeout(check, CHECK_AFTER_MS);
});

document.addEventListener("click", (event) => {
  const line = event.target.closest("[data-line]")?.dataset.line;
  if (!line) return;
  event.preventDefault();
  go(Number(line));
});

form.elements.file.addEventListener("change", () => {
  if (form.elements.file.files.length) form.requestSubmit(form.querySelector("[value=import]"));
});

number();

// On every page: htmx, shortcuts, menus, copy buttons, and forms that are sent once.

import htmx from "htmx.org";
import { areOn, onKey, turn } from "./lib/keys.js";
import { token } from "./lib/live.js";
import { _ } from "./lib/texts.js";

window.htmx = htmx;

/* --- requests --------------------------------------------------------------------------- */

document.addEventListener("htmx:configRequest", ({ detail }) => {
  detail.headers["X-CSRFToken"] = token();
});

// What was only asked for is asked for again, less and less often, until the server answers.
const offline = document.getElementById("offline");
const SOON_MS = 1000;
const LATE_MS = 16_000;
let wait = SOON_MS;
let again = 0;

document.addEventListener("htmx:sendError", ({ detail: { elt, requestConfig: { verb, triggeringEvent } } }) => {
  offline.hidden = false;
  if (verb !== "get" || !triggeringEvent) return;
  clearTimeout(again);
  again = setTimeout(() => { if (elt.isConnected) htmx.trigger(elt, triggeringEvent.type); }, wait);
  wait = Math.min(wait * 2, LATE_MS);
});
document.addEventListener("htmx:afterOnLoad", () => { offline.hidden = true; wait = SOON_MS; });

document.addEventListener("submit", (event) => {
  if (event.target.method !== "post" || event.target.hasAttribute("hx-post")) return;
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = "yes";
});

// A job in a link stands after #, which no server sees: through the login it comes along.
const login = document.querySelector("form[action='/login']");
if (login) login.action += location.hash;

// Of a row of tabs that is wider than a phone the chosen one is in sight.
for (const tab of document.querySelectorAll(".nav-underline > [aria-current]")) {
  const row = tab.parentElement;
  row.scrollLeft = tab.offsetLeft - row.offsetLeft - (row.clientWidth - tab.offsetWidth) / 2;
}

// WebKit sets fields without autocompletion back to how they began when it shows a page that it kept for "back".
addEventListener("pagehide", () => {
  for (const each of document.querySelectorAll("input[autocomplete=off]:not([type=password])")) each.defaultValue = each.value;
});

// A page that the browser kept for "back" may be sent again.
addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
});

// An element with data-refresh asks for itself anew every so many ms, unless one is looking away or about to click.
setInterval(() => {
  const element = document.querySelector("[data-refresh]:not(:hover, :focus-within)");
  if (element && !document.hidden) htmx.trigger(element, "refresh");
}, Number(document.querySelector("[data-refresh]")?.dataset.refresh ?? 60_000));

/* --- copying: a button with data-copy="ID of the element", or data-copy-text="text" ------- */

async function copy(button) {
  const source = document.getElementById(button.dataset.copy);
  button.dataset.before ??= button.textContent; // pressed twice, it would stay "Copied"
  try {
    await navigator.clipboard.writeText(button.dataset.copyText ?? source.value ?? source.textContent);
    button.textContent = _("Copied");
  } catch {
    button.textContent = _("Not allowed here");
  }
  setTimeout(() => { button.textContent = button.dataset.before; }, 2000);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy], [data-copy-text]");
  if (button) copy(button);
});

function offerCopies(root) {
  for (const button of root.querySelectorAll("[data-copy], [data-copy-text]")) button.hidden = !navigator.clipboard;
}

document.addEventListener("htmx:load", (event) => offerCopies(event.target));

/* --- menus and questions close by Escape and by a click beside them ------------------------- */

const OPEN = "details.menu[open], details.confirm[open]";

document.addEventListener("click", (event) => {
  for (const each of document.querySelectorAll(OPEN)) if (!each.contains(event.target)) each.open = false;
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const each of document.querySelectorAll(OPEN)) {
    if (each.contains(document.activeElement)) each.querySelector("summary").focus();
    each.open = false;
  }
});

/* --- shortcuts ---------------------------------------------------------------------------- */

const sheet = document.getElementById("keys");
const box = document.getElementById("use-keys");
const links = [...document.querySelectorAll("header nav a")];
const THEMES = ["light", "dark", "system"];

box.checked = areOn();
box.addEventListener("change", () => turn(box.checked));
document.getElementById("show-keys").hidden = false;
document.getElementById("show-keys").addEventListener("click", () => sheet.showModal());
sheet.addEventListener("click", (event) => { if (event.target === sheet) sheet.close(); });

onKey("?", () => sheet.showModal());
onKey("/", () => {
  const search = document.querySelector("input[type=search]");
  if (!search) return location.assign(links[0].href);
  search.focus();
  return search.select();
});
["h", "s", "p", "j"].forEach((key, number) => onKey(`g ${key}`, () => location.assign(links[number].href)));
onKey("t", () => {
  const buttons = [...document.querySelectorAll("#appearance [name=theme]")];
  const now = buttons.findIndex((each) => each.getAttribute("aria-pressed") === "true");
  const next = THEMES[(now + 1) % THEMES.length];
  buttons.find((each) => each.value === next).click();
});

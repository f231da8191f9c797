// A log with its tools: follow, search, wrap, times, an address for each line. One a page; knows not whose log it is.

import { Lines } from "./lines.js";
import { View } from "./view.js";
import { onKey } from "../lib/keys.js";
import { _, ngettext } from "../lib/texts.js";

const MOST_LINES = 200_000;
const MOVED_MS = 1000; // so long after a hand was on the log, a scroll is the reader's
const byId = (id) => document.getElementById(id);

// `wasOver`: nothing that comes is new to the reader; `nothing`: what is said of a log without lines. Returns `take(records, isRead)` and `say(text)`.
export function panel({ wasOver, nothing }) {
  const box = byId("log-text");
  const state = byId("log-state");
  let told = state.textContent;
  let warning = ""; // holds until another one is said, however much is read meanwhile
  const tell = () => { state.textContent = [warning, told].filter(Boolean).join(" "); };
  const following = byId("follow");
  const search = byId("log-search");
  const more = byId("log-more");
  const lines = new Lines(MOST_LINES);
  const view = new View(box, lines);
  let found = [];
  let at = -1;
  let unseen = 0;
  let wanted = null; // the lines that the address names, first and last, until they are there

  const toEnd = () => { box.scrollTop = box.scrollHeight; };
  const isAtEnd = () => box.scrollHeight - box.scrollTop - box.clientHeight < 30;

  function jump() {
    const named = location.hash.match(/^#L(\d+)(?:-L(\d+))?$/);
    if (named) wanted = [Number(named[1]), Number(named[2] ?? named[1])].sort((a, b) => a - b);
    if (!wanted || !view.show(...wanted)) return;
    following.checked = false;
    wanted = null;
  }

  function append(records) {
    const before = lines.dropped + lines.length;
    const first = lines.add(records);
    view.update(first);
    if (search.value) findNew(first);
    if (wanted) jump();
    if (following.checked) return toEnd();
    if (!wasOver) unseen += lines.dropped + lines.length - before;
    more.textContent = ngettext("↓ %(num)d new line", "↓ %(num)d new lines", unseen);
    more.hidden = !unseen;
    return undefined;
  }

  function seen() {
    unseen = 0;
    more.hidden = true;
  }

  function take(records, isRead) {
    if (records.length) append(records);
    if (!isRead) told = lines.length ? "" : _("Nothing is written yet.");
    else told = lines.length ? _("This is the end of the log.") : nothing;
    tell();
  }

  function tellFound() {
    byId("log-count").textContent = search.value ? (at < 0 ? "" : `${at + 1}/`) + found.length : "";
  }

  function go(step) {
    if (!found.length) return;
    at = at < 0 && step < 0 ? found.length - 1 : (at + step + found.length) % found.length;
    following.checked = false;
    view.show(found[at]);
    tellFound();
  }

  function findNew(first) {
    const current = found[at];
    const { dropped } = lines;
    found = [...found.filter((line) => line > dropped && line <= dropped + first), ...view.matches(first)];
    at = found.indexOf(current);
    tellFound();
  }

  function find() {
    found = view.find(search.value);
    at = -1;
    tellFound();
  }

  let movedAt = -MOVED_MS;
  box.addEventListener("scroll", () => {
    if (isAtEnd()) seen();
    else if (performance.now() - movedAt < MOVED_MS) following.checked = false;
  });
  for (const kind of ["wheel", "pointerdown", "keydown", "touchmove"]) {
    box.addEventListener(kind, () => { movedAt = performance.now(); }, { passive: true });
  }
  following.addEventListener("change", () => { if (following.checked) { toEnd(); seen(); } });
  more.addEventListener("click", () => { following.checked = true; toEnd(); seen(); });
  for (const name of ["wrap", "times"]) {
    const choice = byId(`log-${name}`);
    const key = choice.dataset.key; // what is chosen for one kind of log stays with it
    choice.checked = (localStorage.getItem(key) ?? (choice.defaultChecked ? "yes" : "no")) === "yes";
    const apply = () => {
      box.classList.toggle(name, choice.checked);
      if (following.checked) toEnd();
    };
    choice.addEventListener("change", () => {
      localStorage.setItem(key, choice.checked ? "yes" : "no");
      apply();
    });
    apply();
  }
  search.addEventListener("input", (event) => { if (!event.isComposing) find(); });
  search.addEventListener("compositionend", find);
  search.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "Escape" && !search.value) box.focus();
    if (event.key !== "Enter") return;
    event.preventDefault();
    go(event.shiftKey ? -1 : 1);
  });
  byId("log-next").addEventListener("click", () => go(1));
  byId("log-before").addEventListener("click", () => go(-1));
  box.addEventListener("click", (event) => {
    const link = event.target.closest("a.at");
    if (!link) return;
    event.preventDefault();
    const first = event.shiftKey && location.hash.match(/^#L\d+/)?.[0]; // up to the line that is pressed with Shift
    history.replaceState(null, "", first && first !== link.hash ? `${first}-${link.hash.slice(1)}` : link.hash);
    jump();
  });
  addEventListener("hashchange", jump);
  onKey("/", () => { search.focus(); search.select(); });
  onKey("f", () => following.click());

  box.replaceChildren();
  byId("log-tools").hidden = false;
  jump();
  return { take, say: (text) => { warning = text ?? ""; tell(); } };
}

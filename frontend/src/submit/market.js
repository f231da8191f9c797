// A component chosen from the marketplace in a dialog: what goes with the job, what one used last, what is used most,
// what is new, or a search.

import { call } from "../lib/api.js";
import { h, icon } from "../lib/dom.js";
import { _, ngettext } from "../lib/texts.js";

const dialog = document.getElementById("market");
const ASK_AFTER_MS = 200;

const titles = () => ({ dockerimage: _("Choose a Docker image"), data: _("Choose data"), script: _("Choose a script") });

// The chosen component, "hand" for one that is written by hand, or null. `near` are references of what is in the job.
export function choose(type, near) {
  return new Promise((done) => {
    const finish = (value) => { done(value); dialog.close(); };
    const results = h("div", { id: "market-found", "aria-live": "polite" });
    const search = h("input", { class: "form-control", type: "search", id: "market-search", autocomplete: "off", spellcheck: "false" });
    const pick = (each) => h("li", {}, h("button", { type: "button", onclick: () => finish(each) }, icon(type),
      h("span", {}, h("b", {}, each.name), h("small", {}, [each.version, each.contributor].filter(Boolean).join(" · ")),
        each.description && h("small", {}, each.description.split("\n")[0].slice(0, 120)), each.why && h("small", {}, each.why))));
    const section = (title, found) => found.length > 0 && h("section", {}, h("h3", {}, title), h("ul", { class: "found" }, found.map(pick)));
    let asked = 0;
    const show = async () => {
      const number = ++asked;
      const sections = search.value.trim() ? await matching(type, search.value.trim()) : await suggested(type, near);
      if (number !== asked) return;
      const shown = sections.map(([title, found]) => section(title, found)).filter(Boolean);
      results.replaceChildren(...(shown.length ? shown : [h("p", { class: "faint" }, search.value.trim()
        ? _("Nothing in the marketplace matches. Try other words, or write it by hand.") : _("The marketplace has none yet. Write it by hand."))]));
    };
    let timer;
    search.addEventListener("input", (event) => {
      if (event.isComposing) return;
      clearTimeout(timer);
      timer = setTimeout(show, ASK_AFTER_MS);
    });
    search.addEventListener("compositionend", () => search.dispatchEvent(new Event("input")));
    search.addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });
    dialog.replaceChildren(
      h("div", { class: "spread" }, h("h2", { id: "market-title" }, titles()[type]),
        h("button", { class: "btn btn-quiet btn-sm", type: "button", onclick: () => finish(null) }, _("Close"))),
      h("p", { class: "with-button" }, h("span", { class: "grow" }, h("label", { class: "form-label", for: "market-search" }, _("Search the marketplace")), search),
        h("button", { class: "btn btn-quiet", type: "button", onclick: () => finish("hand") }, _("Write it by hand"))),
      results);
    dialog.onclose = () => done(null);
    show();
    dialog.showModal();
    search.focus();
  });
}

async function matching(type, words) {
  const { body } = await call(`/components?page_size=24&type=${type}&q=${encodeURIComponent(words)}`);
  return [[_("Found"), body?.components ?? []]];
}

async function suggested(type, near) {
  const [most, ...together] = await Promise.all([call(`/recommendations?limit=6&type=${type}`),
    ...near.slice(0, 4).map(([kind, name]) => call(`/components/${kind}/${encodeURIComponent(name)}/together?limit=20`))]);
  const seen = new Set();
  const once = (found) => found.filter((each) => !seen.has(each.name) && seen.add(each.name));
  const with_ = together.flatMap(({ body }) => body?.together ?? []).filter((each) => each.version.type === type)
    .map((each) => ({ ...each.version, why: each.runs ? ngettext("in %(num)d job with it", "in %(num)d jobs with it", each.runs) : "" }));
  const ran = (found, why) => (found ?? []).map((each) => ({ ...each.version, why: why(each.runs) }));
  const own = ran(most.body?.recent, (num) => ngettext("in %(num)d job of yours", "in %(num)d jobs of yours", num));
  const used = ran(most.body?.most_used, (num) => ngettext("ran in %(num)d job", "ran in %(num)d jobs", num));
  return [[_("Others use with this job"), once(with_).slice(0, 6)], [_("You used last"), once(own)], [_("Used most"), once(used)], [_("New"), once(most.body?.newest ?? [])]];
}

// Problems as a list: each leads to its line, and has a button where it can be mended.

import { h } from "../lib/dom.js";
import { _, colon, ngettext } from "../lib/texts.js";
import { undo } from "@codemirror/commands";

const box = document.getElementById("problems");
const mended = document.getElementById("mended");

export function follow(editor) {
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-line]");
    if (!link) return;
    event.preventDefault();
    editor.goTo(Number(link.dataset.line), Number(link.dataset.column ?? 1));
  });
}

// What was done to the text can be undone.
export function say(editor, words, isChange = true) {
  mended.replaceChildren(words, " ", isChange && h("button", { class: "btn btn-plain btn-sm", type: "button", onclick: () => { undo(editor.view); mended.replaceChildren(); } }, _("Undo")) || "");
}

export function show(editor, problems, schemas) {
  const found = editor.show(problems, schemas);
  const errors = found.filter((each) => each.severity === "error");
  const advice = found.filter((each) => each.severity !== "error");
  box.replaceChildren(...[errors.length > 0 && h("div", { class: "alert bad" },
    h("h2", {}, ngettext("%(num)d problem to solve first", "%(num)d problems to solve first", errors.length)), listed(editor, errors)),
  advice.length > 0 && h("details", { class: "alert warn", open: advice.some((each) => each.fix) },
    h("summary", {}, ngettext("%(num)d piece of advice", "%(num)d pieces of advice", advice.length)), listed(editor, advice))].filter(Boolean));
}

export const listed = (editor, problems) => h("ul", { class: "problems" }, problems.map((problem) => h("li", { class: problem.severity },
  problem.line && h("a", { href: `#Y${problem.line}`, "data-line": problem.line, "data-column": problem.column ?? 1 }, _("Line %(line)s", { line: problem.line })), problem.line && colon,
  problem.message.replaceAll("`", ""),
  problem.fix && h("button", { class: "btn btn-quiet btn-sm", type: "button", onclick: () => { editor.change(problem.fix.text, { scroll: true }); say(editor, _("Mended.")); } }, problem.fix.label))));

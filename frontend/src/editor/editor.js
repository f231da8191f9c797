// The YAML editor: CodeMirror over a textarea, which keeps the text for the form that it is in.

import { acceptCompletion, autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentLess, indentMore } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, drawSelection, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view";
import { tagHighlighter, tags } from "@lezer/highlight";
import { _ } from "../lib/texts.js";
import { complete } from "./completion.js";
import { markOf, pathOf, read } from "./document.js";
import { apply, between } from "./edits.js";
import { fixOf } from "./fixes.js";

// Colours are classes, so that the page's style decides them in light and dark.
const colours = tagHighlighter([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], class: "tok-key" },
  { tag: [tags.string, tags.special(tags.string)], class: "tok-string" },
  { tag: [tags.lineComment, tags.comment], class: "tok-comment" },
  { tag: [tags.keyword, tags.labelName, tags.typeName, tags.meta], class: "tok-mark" },
  { tag: [tags.punctuation, tags.separator, tags.brace, tags.squareBracket], class: "tok-sign" },
]);

const marked = StateEffect.define();
const markedLines = StateField.define({
  create: () => Decoration.none,
  update: (lines, transaction) => transaction.effects.filter((each) => each.is(marked)).reduce(
    (_lines, each) => each.value, lines.map(transaction.changes)),
  provide: (field) => EditorView.decorations.from(field),
});

const FROM_LINK = Decoration.line({ class: "from-link-line" });

// `schemas` a function, since they may come later than the editor; `onChange` hears of each text.
export function createEditor(area, { schemas, onChange, onSubmit }) {
  const box = area.closest(".editor");
  const label = document.querySelector(`label[for=${area.id}]`);
  label.id ||= `${area.id}-label`;
  const source = (context) => {
    const found = schemas() && complete(context.state.doc.toString(), context.pos, schemas());
    if (!found || (!context.explicit && found.from === context.pos && !/^\s*(?:- )?$|:\s$|[{,]\s?$/.test(context.state.doc.lineAt(context.pos).text.slice(0, context.pos - context.state.doc.lineAt(context.pos).from)))) return null;
    return { from: found.from, validFor: /^[\w$.-]*$/, options: found.options.map((each) => ({
      label: each.label, apply: each.insert, type: each.type, detail: each.detail, info: each.info || undefined })) };
  };
  const view = new EditorView({
    parent: box,
    state: EditorState.create({ doc: area.value, extensions: [
      lineNumbers(), highlightActiveLineGutter(), lintGutter(), history(), drawSelection(), indentOnInput(), bracketMatching(),
      closeBrackets(), highlightActiveLine(), highlightSelectionMatches(), EditorState.tabSize.of(2), indentUnit.of("  "),
      yaml(), syntaxHighlighting(colours), autocompletion({ override: [source], icons: false }), markedLines,
      EditorState.phrases.of(phrases()),
      EditorView.cspNonce.of(box.dataset.nonce),
      EditorView.contentAttributes.of({ "aria-labelledby": label.id, "aria-describedby": "leave problems", tabindex: "0", autocapitalize: "none", spellcheck: "false" }),
      EditorView.domEventHandlers({ beforeinput: replaceAtOnce }),
      EditorView.updateListener.of((update) => {
        if (!update.docChanged) return;
        box.querySelector("input[type=hidden]").value = update.state.doc.toString();
        onChange(update.state.doc.toString());
      }),
      keymap.of([
        { key: "Mod-Enter", run: () => { onSubmit?.(); return true; } },
        { key: "Tab", run: (target) => acceptCompletion(target) || indentMore(target), shift: indentLess },
        ...closeBracketsKeymap, ...searchKeymap, ...historyKeymap, ...completionKeymap, ...defaultKeymap]),
    ] }),
  });
  const hadFocus = document.activeElement === area;
  const kept = Object.assign(document.createElement("input"), { type: "hidden", name: area.name, id: area.id, value: area.value });
  area.replaceWith(kept);
  label.removeAttribute("for");
  label.addEventListener("click", () => view.focus());
  box.classList.add("live");
  document.body.classList.add("live");
  if (hadFocus) view.focus();
  return new Editor(view);
}

// Many lines at once do not go through the page's elements: browsers are slow there, and write styles into them.
function replaceAtOnce(event, view) {
  const { main } = view.state.selection;
  const isLarge = event.data?.includes("\n") || view.state.doc.lineAt(main.from).to < main.to;
  if (event.inputType !== "insertText" || event.data === null || view.composing || !isLarge) return false;
  event.preventDefault();
  view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type" });
  return true;
}

class Editor {
  constructor(view) { this.view = view; }

  get text() { return this.view.state.doc.toString(); }

  // One step of undo; only the range that differs is replaced.
  change(after, { scroll = false } = {}) {
    const before = this.text;
    if (after === before) return;
    const range = between(before, after);
    this.view.dispatch({ changes: range, userEvent: "input.form", ...(scroll ? { effects: EditorView.scrollIntoView(range.from, { y: "center" }) } : {}) });
  }

  edit(range) { this.change(apply(this.text, range)); }

  goTo(line, column = 1) {
    const { doc } = this.view.state;
    const found = doc.line(Math.min(Math.max(1, line), doc.lines));
    const at = Math.min(found.to, found.from + column - 1);
    this.view.dispatch({ selection: { anchor: found.from, head: found.to }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
    this.view.focus();
  }

  markLines(numbers) {
    const { doc } = this.view.state;
    const lines = [...new Set(numbers)].filter((each) => each >= 1 && each <= doc.lines).sort((a, b) => a - b);
    this.view.dispatch({ effects: marked.of(Decoration.set(lines.map((each) => FROM_LINK.range(doc.line(each).from)))) });
  }

  // Marks at names; gives each problem with its fix, if there is one.
  show(problems, schemas) {
    const text = this.text;
    const { doc } = read(text);
    const found = problems.map((problem) => ({ ...problem, line: problem.line ?? this.lineOf(problem.path, doc), fix: schemas && fixOf(text, problem, schemas, words()) }));
    const diagnostics = found.filter((each) => each.line).map((each) => ({
      ...this.place(each, doc), severity: each.severity === "error" ? "error" : "warning", message: each.message.replaceAll("`", ""),
      actions: each.fix ? [{ name: each.fix.label, apply: () => this.change(each.fix.text) }] : [] }));
    this.view.dispatch(setDiagnostics(this.view.state, diagnostics));
    this.view.contentDOM.setAttribute("aria-invalid", found.some((each) => each.severity === "error"));
    return found;
  }

  lineOf(path, doc) {
    const mark = path && !doc.errors.length ? markOf(doc, pathOf(path, doc)) : null;
    return mark?.isExact ? this.view.state.doc.lineAt(mark.from).number : null;
  }

  place(problem, doc) {
    const line = this.view.state.doc.line(Math.min(problem.line, this.view.state.doc.lines));
    const name = problem.path && !doc.errors.length ? markOf(doc, pathOf(problem.path, doc)) : null;
    if (name && name.from >= line.from - 1 && name.from <= line.to) return { from: name.from, to: name.to };
    const from = Math.min(line.to, line.from + (problem.column ?? 1) - 1);
    const word = /^[^\s:#,\]}]+/.exec(this.view.state.sliceDoc(from, line.to));
    return { from, to: word ? from + word[0].length : Math.min(line.to, from + 1) };
  }
}

const words = () => ({
  tabs: _("Replace tabs by spaces"), quote: _("Put it in quotes"), add: (name) => _("Add %(name)s", { name }),
  rename: (name) => _("Rename to %(name)s", { name }), set: (value) => _("Set to %(value)s", { value }),
});

const phrases = () => ({
  Find: _("Find"), Replace: _("Replace"), next: _("next"), previous: _("previous"), all: _("all"), "match case": _("match case"),
  regexp: _("regexp"), "by word": _("by word"), replace: _("replace"), "replace all": _("replace all"), close: _("close"),
  "Completions": _("Completions"), "Diagnostics": _("Problems"), "No diagnostics": _("No problems"),
});

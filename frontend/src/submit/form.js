// The form beside the YAML: drawn from the text, and each change in it is a change of one range of the text.

import { isMap } from "yaml";
import { pathText, read } from "../editor/document.js";
import { apply } from "../editor/edits.js";
import { h } from "../lib/dom.js";
import { _ } from "../lib/texts.js";
import { drawBlocks, refreshTitles } from "./blocks.js";
import { addParameter, drawParameters, kindsNow } from "./parameters.js";
import { changed, isNumber, renamed, shapeOf, textOf, valueAt } from "./values.js";

export class Form {
  // `page`: { text(), change(text, words), choose(type) → {type, name, version} | "hand" | null, linked: Set,
  // kinds: of the parameters that the template has, which a wrong value does not change }
  constructor(page) {
    this.page = page;
    this.fields = document.getElementById("fields");
    this.name = document.getElementById("name");
    this.parameters = document.getElementById("parameters");
    this.blocks = document.getElementById("blocks");
    this.waits = document.getElementById("waits");
    this.open = new Set();
    this.kinds = new Map();
    this.isTyping = false;
    this.shape = "";
    this.name.dataset.path = "name";
    this.name.dataset.kind = "text";
    // A click that went on to the page would close the menu that this opens.
    document.getElementById("add-parameter").addEventListener("click", (event) => { event.stopPropagation(); addParameter(this); });
    // Whoever types already, while the editor was on its way, goes on in the field that is drawn in this one's place.
    for (const each of this.parameters.querySelectorAll("[name^='param.']")) each.dataset.path = pathText(["parameters", each.name.slice(6)]);
    this.fields.addEventListener("input", (event) => this.typed(event.target));
    this.fields.addEventListener("change", (event) => { if (event.target.matches("select")) this.typed(event.target); });
    this.fields.addEventListener("toggle", ({ target }) => {
      if (target.open) this.open.add(target.dataset.path);
      else this.open.delete(target.dataset.path);
    }, true);
  }

  /* --- text → form ------------------------------------------------------------------------- */

  update(text) {
    const found = read(text);
    const line = found.firstError ? found.lineOf(found.firstError.pos[0]) : null;
    this.freeze(line);
    if (line || (text.trim() && !isMap(found.doc.contents))) return;
    this.job = found.doc.toJS() ?? {};
    this.kinds = kindsNow(this, this.isTyping);
    const shape = JSON.stringify(shapeOf(this.job));
    if (shape !== this.shape) this.draw(shape);
    else this.refresh(found.doc);
    refreshTitles(this);
  }

  freeze(line) {
    this.waits.hidden = !line;
    this.fields.classList.toggle("frozen", Boolean(line));
    for (const control of this.fields.querySelectorAll("input, select, textarea, button")) control.disabled = Boolean(line);
    this.waitFor(line);
  }

  // Browser and server may see one fault at two lines: what the list of problems says stands here, too.
  waitFor(line) {
    if (!line || this.waits.hidden) return;
    const link = this.waits.querySelector("a");
    link.textContent = _("line %(line)s", { line });
    link.dataset.line = line;
    link.href = `#Y${line}`;
  }

  refresh(doc) {
    for (const control of this.fields.querySelectorAll("[data-path]")) {
      if (control.tagName === "DETAILS" || control === document.activeElement) continue;
      const value = doc.getIn(JSON.parse(control.dataset.at ?? '["name"]'));
      const shown = textOf(value);
      if (control.value !== shown) control.value = shown;
    }
  }

  draw(shape) {
    const focused = document.activeElement?.dataset?.path;
    const caret = document.activeElement?.selectionStart;
    this.shape = shape;
    this.name.value = textOf(this.job.name);
    this.parameters.replaceChildren(...drawParameters(this));
    this.blocks.replaceChildren(...drawBlocks(this));
    if (!focused) return;
    const again = this.controlOf(focused);
    again?.focus({ preventScroll: true });
    if (again?.setSelectionRange && Number.isInteger(caret)) again.setSelectionRange(caret, caret);
  }

  // The control of a place, which may be in a block that is closed.
  focus(path) {
    const control = this.controlOf(pathText(path));
    const block = control?.closest("details.block");
    if (block) block.open = true;
    control?.focus();
    return control;
  }

  controlOf(path) {
    return this.fields.querySelector(`[data-path="${CSS.escape(path)}"]:not(details)`);
  }

  /* --- fields ------------------------------------------------------------------------------ */

  field(path, label, kind, { mark, options } = {}) {
    const id = `f-${pathText(path).replaceAll(/[^\w-]/g, "_")}`;
    const value = textOf(valueAt(this.job, path));
    const common = { id, "data-path": pathText(path), "data-at": JSON.stringify(path), "data-kind": kind, autocomplete: "off", autocapitalize: "none", spellcheck: "false", "aria-describedby": `${id}-about` };
    const control = kind === "choice" ? h("select", { ...common, class: "form-select" }, ["true", "false"].map((each) => h("option", { value: each }, each)))
      : kind === "long" ? h("textarea", { ...common, class: "form-control", rows: 3 })
        : h("input", { ...common, class: "form-control", inputmode: { whole: "numeric", number: "decimal" }[kind], list: options && `${id}-list`, readonly: kind === "fixed" });
    control.value = value;
    return h("p", {}, h("span", { class: "head" }, h("label", { class: "form-label", for: id }, label, mark && " ", mark && h("span", { class: "from-link" }, mark))), control,
      options && h("datalist", { id: `${id}-list` }, options.map((each) => h("option", { value: each }))),
      h("span", { id: `${id}-about` }, kind === "fixed" && h("small", {}, _("A list or map: change it in the YAML."))));
  }

  /* --- form → text -------------------------------------------------------------------------- */

  typed(control) {
    const path = control === this.name ? ["name"] : control.dataset.at && JSON.parse(control.dataset.at);
    if (!path || control.readOnly) return;
    const before = this.page.text();
    const text = changed(before, path, control.value, control.dataset.kind);
    const about = document.getElementById(`${control.id}-about`);
    if (text === null) {
      about?.replaceChildren(h("strong", { class: "wrong" }, _("This value cannot be changed here; change it in the YAML.")));
      return;
    }
    this.isTyping = true;
    this.page.change(path[0] === "prerequisites" && path[2] === "name" ? renamed(text, this.job.prerequisites[path[1]], control.value) : text);
    this.isTyping = false;
  }

  take(change, words) {
    if (change) this.page.change(apply(this.page.text(), change), words);
  }

  /* --- problems ----------------------------------------------------------------------------- */

  mark(problems) {
    const wrong = new Set();
    for (const control of this.fields.querySelectorAll("[data-path]:not(details)")) {
      const own = problems.filter((each) => each.path === control.dataset.path);
      const about = document.getElementById(`${control.id}-about`);
      control.toggleAttribute("aria-invalid", false);
      if (own.some((each) => each.severity === "error")) control.setAttribute("aria-invalid", "true");
      const told = own.map((each) => each.message.replaceAll("`", ""));
      if (!told.length && ["whole", "number"].includes(control.dataset.kind) && /^parameters\W/.test(control.dataset.path) && !isNumber(control.value)) told.push(_("This is no number: the job gets it as a text."));
      if (control.dataset.kind !== "fixed") about?.replaceChildren(...told.map((each) => h("strong", { class: "wrong" }, each)));
    }
    for (const { path, severity } of problems) if (severity === "error") wrong.add(/^\w+\[\d+\]/.exec(path)?.[0] ?? (this.controlOf(path)?.closest("[data-path=settings]") && "settings"));
    for (const block of this.blocks.querySelectorAll("details.block")) block.classList.toggle("is-wrong", wrong.has(block.dataset.path));
  }
}

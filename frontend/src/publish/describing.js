// What describes a component, as fields beside its text: each change of one is a change of one range of it.

import { isMap } from "yaml";
import { read } from "../editor/document.js";
import { changed } from "../submit/values.js";

const LISTED = /\s*[,，、\n]\s*/;

// The fields of `box`, each named after its place in the text by `data-field`.
export function describing(box, editor) {
  const fields = [...box.querySelectorAll("[data-field]")];

  function update(text) {
    const { doc, firstError } = read(text);
    box.disabled = Boolean(firstError) || !isMap(doc.contents);
    if (box.disabled) return;
    for (const field of fields) if (field !== document.activeElement) field.value = shown(doc.toJS()[field.dataset.field]);
  }

  box.addEventListener("input", ({ target }) => {
    const words = target.value.split(LISTED).filter(Boolean);
    const value = target.dataset.field === "tags" && words.length ? words : target.value.trim();
    const text = changed(editor.text, [target.dataset.field], value, "text");
    if (text !== null) editor.change(text);
  });
  update(editor.text);
  return update;
}

const shown = (value) => (Array.isArray(value) ? value.join(", ") : value === null || value === undefined ? "" : String(value));

// The editor of the publish pages: any type of component, checked by the server as one types.

import { call } from "../lib/api.js";
import { createEditor } from "../editor/editor.js";
import { follow, show } from "../editor/problems.js";
import { describing } from "./describing.js";

const CHECK_AFTER_MS = 250;
const form = document.getElementById("submit");
let schemas = null;
let timer;
let asked = 0;

const editor = createEditor(form.elements.yaml, {
  schemas: () => schemas,
  onChange: (text) => { describe(text); clearTimeout(timer); timer = setTimeout(check, CHECK_AFTER_MS); },
  onSubmit: () => form.requestSubmit(),
});
follow(editor);
const describe = describing(document.getElementById("describe"), editor);

async function check() {
  const number = ++asked;
  if (!editor.text.trim()) { show(editor, [], schemas); return; }
  const { ok, body } = await call("/validate", { yaml: editor.text });
  if (ok && number === asked) show(editor, [...body.errors, ...body.warnings], schemas);
}

form.elements.file.addEventListener("change", () => {
  if (form.elements.file.files.length) form.requestSubmit(form.querySelector("[value=import]"));
});

const answer = await call("/schemas");
schemas = answer.ok ? answer.body : null;
check();

// A job from elsewhere: a file, a drop, a paste, or an address that the server reads; whatever its form, in ours.

import { call } from "../lib/api.js";
import { h } from "../lib/dom.js";
import { _, gap } from "../lib/texts.js";
import * as problems from "../editor/problems.js";

const MAX_FILE = 256_000;

const wantsConversion = (text) => /^\s*\{/.test(text) || /^(protocolVersion|protocol_version)\s*:\s*["']?2/m.test(text);

// `page`: { form, editor, note(kind, …), say(words), begun(text) } → what else may hand in a text
export function importing(page) {
  const { form, editor } = page;
  const told = []; // of the last import alone

  const tell = (...what) => { told.push(page.note(...what)); };

  // `ask` gives the API's answer. Whether the text was taken.
  async function take(name, ask) {
    document.getElementById("import-menu").open = false;
    const { ok, status, body } = await ask();
    for (const each of told.splice(0)) each.remove();
    if (!ok) {
      tell("bad", status ? body.message.replaceAll("`", "") : _("The server does not answer, so nothing was imported. Try again."));
      return false;
    }
    form.elements.reference.value = "";
    editor.change(body.yaml.replaceAll("\r\n", "\n"));
    page.begun();
    page.say(_("Imported %(name)s.", { name }));
    if (body.form) tell("warn", h("p", {}, _("This job was %(form)s. Below it stands in the form that runs here: look through it, then press Submit.", { form: body.form }),
      body.notes.length ? gap + _("Not everything could be taken over:") : ""), body.notes.length > 0 && problems.listed(editor, body.notes.map((each) => ({ ...each, line: null }))));
    return true;
  }

  async function takeText(text, name) {
    if (text.length > MAX_FILE) { tell("bad", _("%(name)s is larger than 256 kB. A job is a small text: keep data in a file of its own and give its address.", { name })); return false; }
    return take(name, () => call("/convert", { text }));
  }

  async function takeFile(file) {
    if (file.size > MAX_FILE) return takeText(" ".repeat(MAX_FILE + 1), file.name);
    const text = await file.text();
    if (/[\0\ufffd]/.test(text)) return tell("bad", _("%(name)s is no text in UTF-8, so nothing was imported. Choose a YAML or JSON file.", { name: file.name }));
    return takeText(text.replace(/^\ufeff/, ""), file.name);
  }

  async function takeAddress(address) {
    const isTaken = await take(address, () => call("/fetch", { address }));
    if (isTaken) tell("warn", h("b", {}, _("Check before running.")), gap, _("This job came from %(address)s. Read its commands below before you press Submit.", { address }));
  }

  document.getElementById("import-file").addEventListener("click", () => form.elements.file.click());
  form.elements.file.addEventListener("change", async () => {
    const [file] = form.elements.file.files;
    if (file) await takeFile(file);
    form.elements.file.value = "";
  });
  asking("import-text", "paste", "pasted", (text) => takeText(text, _("the pasted text")));
  asking("import-address", "fetch", "address", takeAddress);

  // A whole job in JSON that is pasted over the text is converted too.
  editor.view.contentDOM.addEventListener("paste", (event) => {
    const text = event.clipboardData.getData("text/plain").trim();
    const { from, to } = editor.view.state.selection.main;
    const isWhole = !editor.text.trim() || to - from >= editor.text.trimEnd().length;
    if (!isWhole || !text.startsWith("{") || !text.endsWith("}")) return;
    event.preventDefault();
    event.stopPropagation();
    takeText(text, _("the pasted text"));
  }, true);
  dropping(takeFile);

  // A text in another form is shown in ours before it can be sent; whether it was one.
  return { convertFirst: async () => wantsConversion(editor.text) && takeText(editor.text, _("the pasted text")) };
}

// A dialog with one field; what is in it goes on when its button is pressed.
function asking(button, dialog, field, taken) {
  const box = document.getElementById(dialog);
  const control = document.getElementById(field);
  document.getElementById(button).addEventListener("click", () => { box.returnValue = ""; box.showModal(); control.focus(); });
  box.addEventListener("close", () => {
    const text = control.value;
    if (box.returnValue !== "take" || !text.trim()) return;
    control.value = "";
    taken(text);
  });
}

function dropping(takeFile) {
  document.body.dataset.drop = _("Drop it to import the job");
  const isFile = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragover", (event) => { if (isFile(event)) { event.preventDefault(); document.body.classList.add("dropping"); } });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("dropping"); });
  addEventListener("drop", (event) => {
    if (!isFile(event)) return;
    event.preventDefault();
    document.body.classList.remove("dropping");
    takeFile(event.dataTransfer.files[0]);
  }, true);
}

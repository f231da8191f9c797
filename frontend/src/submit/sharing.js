// The job as a link or a file, and a link that holds one.

import { h } from "../lib/dom.js";
import { _ } from "../lib/texts.js";
import { packed, unpacked } from "./drafts.js";

// `page`: { form, editor, note, say, sent(), name() }
export function sharing(page) {
  const { form, editor } = page;
  const menu = document.getElementById("share-menu");
  const base = `${location.origin}${form.getAttribute("action")}`;

  async function copy(link) {
    menu.open = false;
    try {
      await navigator.clipboard.writeText(link);
      page.say(_("The link is copied."), false);
    } catch {
      page.note("", _("Copy this link:"), " ", h("code", { class: "wrap" }, link));
    }
  }

  document.getElementById("share-link").addEventListener("click", async () => copy(`${base}#yaml=${await packed(editor.text)}`));
  document.getElementById("share-template")?.addEventListener("click", () => {
    const { values, text } = page.sent();
    if (text !== page.original) { menu.open = false; page.note("", _("More than parameters differ from the template, so such a link could not say it all. Copy the link that holds this job.")); return; }
    const query = [["use", form.elements.reference.value.replace(":", "/")], ...values.map(([name, value]) => [`p.${name}`, value])];
    copy(`${base}?${query.map((each) => each.map(word).join("=")).join("&")}`);
  });
  document.getElementById("save-file").addEventListener("click", () => {
    const url = URL.createObjectURL(new Blob([editor.text], { type: "application/yaml" }));
    h("a", { href: url, download: `${String(page.name() ?? "job").replaceAll(/[^\w.~-]/g, "_")}.yaml` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
    menu.open = false;
  });
}

const word = (text) => encodeURIComponent(text).replaceAll("%2F", "/").replaceAll("%40", "@");

// The text that a link to this page holds; nothing where it holds none, null where it is broken.
export async function shared() {
  const word = /^#yaml=(.*)$/.exec(location.hash)?.[1];
  if (!word) return undefined;
  try {
    return await unpacked(word);
  } catch {
    return null;
  }
}

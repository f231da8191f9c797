// Submitting over the API: a server that is away costs nothing, and trying again runs nothing twice.

import { call } from "../lib/api.js";
import { h } from "../lib/dom.js";
import { _ } from "../lib/texts.js";

// `page`: { form, request(), note, leave(), drop(), keep(), show(problems), convertFirst() }
export function sending(page) {
  const { form } = page;
  const button = document.getElementById("run");
  const away = document.getElementById("away");
  let last = "";
  let count = 0;
  let isGoing = false;

  // The same key for the same job, another after any change.
  function keyOf(body) {
    const text = JSON.stringify(body);
    if (text !== last) count += 1;
    last = text;
    return `${form.elements.key.value}.${count}`;
  }

  async function send() {
    if (isGoing || await page.convertFirst()) return;
    isGoing = true;
    button.setAttribute("aria-busy", "true");
    const body = page.request();
    const answer = await call("/jobs", body, { "Idempotency-Key": keyOf(body) });
    if (answer.ok) { page.drop(); page.leave(new URL(answer.body.url).pathname); return; }
    isGoing = false;
    button.removeAttribute("aria-busy");
    refused(answer);
  }

  function refused({ status, body }) {
    page.keep();
    if (status === 401) { page.leave(form.dataset.login); return; }
    away.hidden = status !== 0 && status < 500;
    if (!away.hidden) {
      away.querySelector("span").textContent = status ? body.message.replaceAll("`", "") : _("The server does not answer. Nothing was submitted; your text is kept in this browser.");
      away.querySelector("button").focus();
    } else if (body.errors?.length) {
      page.show(body.errors);
      document.getElementById("problems").focus();
    } else {
      page.note("bad", body.message.replaceAll("`", "")).scrollIntoView({ block: "center" });
    }
  }

  away.querySelector("button").addEventListener("click", () => { away.hidden = true; send(); });
  form.addEventListener("submit", (event) => {
    if (event.submitter?.value === "submit") {
      event.preventDefault();
      send();
      return;
    }
    page.fill(event.submitter?.value);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.defaultPrevented || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    form.requestSubmit(button);
  });
}

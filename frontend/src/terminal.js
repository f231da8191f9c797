// A terminal in a running task: what is typed goes there by WebSocket, what it shows comes back.

import { FitAddon } from "@xterm/addon-fit";
import { SearchAddon } from "@xterm/addon-search";
import { WebLinksAddon } from "@xterm/addon-web-links";
import { Terminal } from "@xterm/xterm";
import { call } from "./lib/api.js";
import { _ } from "./lib/texts.js";

const PIECE = 32_768; // bytes of one message
const SILENCE_MS = 50_000; // the server says something every 20 s
const READER = "paishare-terminal-reader";

const box = document.getElementById("terminal");
const state = document.getElementById("terminal-state");
const again = document.getElementById("terminal-again");
const reader = document.getElementById("terminal-reader");
const search = document.getElementById("terminal-search");

// xterm writes style elements and attributes of its own; in these ways it is allowed to.
const create = document.createElement.bind(document);
document.createElement = (name, ...rest) => {
  const element = create(name, ...rest);
  if (name === "style") element.nonce = box.dataset.nonce;
  return element;
};
const { setAttribute } = Element.prototype;
Element.prototype.setAttribute = function set(name, value) {
  if (name === "style") this.style.cssText = value;
  else setAttribute.call(this, name, value);
};

const { motion, terminal: kind } = document.documentElement.dataset; // as the account has it
reader.checked = (localStorage.getItem(READER) ?? (kind === "reader" ? "yes" : "no")) === "yes";
const terminal = new Terminal({
  cursorBlink: motion !== "less" && !matchMedia("(prefers-reduced-motion: reduce)").matches, fontSize: 14,
  fontFamily: getComputedStyle(document.documentElement).getPropertyValue("--bs-font-monospace"),
  minimumContrastRatio: 4.5, screenReaderMode: reader.checked, scrollback: 10_000,
  theme: { background: "#10151c", foreground: "#dfe5ec", cursor: "#dfe5ec", selectionBackground: "#3a5a86" },
});
const fit = new FitAddon();
const finder = new SearchAddon();
for (const each of [fit, finder, new WebLinksAddon()]) terminal.loadAddon(each);
terminal.open(box);
terminal.textarea.setAttribute("aria-label", box.dataset.label);
fit.fit();

const size = () => JSON.stringify({ columns: terminal.cols, rows: terminal.rows });
const encoder = new TextEncoder();
let socket = null;
let silence = 0;

function say(text) {
  state.textContent = text;
}

function type(bytes) {
  if (socket?.readyState !== WebSocket.OPEN) return;
  for (let at = 0; at < bytes.length; at += PIECE) socket.send(bytes.subarray(at, at + PIECE));
}

function heard() {
  clearTimeout(silence);
  silence = setTimeout(() => socket?.close(), SILENCE_MS);
}

function told({ type: kind, message, seconds }) {
  if (kind === "open") {
    say("");
    terminal.focus();
  } else if (kind === "warn") {
    say(_("Nobody has typed for a while: the shell is ended in %(minutes)s minutes. Press any key to keep it.", { minutes: Math.round(seconds / 60) }));
  } else if (kind === "awake") say("");
  else if (kind === "end") {
    say(message);
    again.hidden = false;
  }
}

async function open() {
  again.hidden = true;
  say(_("Opening…"));
  const { ok, body } = await call(`/jobs/${box.dataset.job}/terminals`, { role: box.dataset.role, index: Number(box.dataset.index) });
  if (!ok) return ended(body?.message ?? _("The server does not answer."));
  const address = new URL(body.path, location.href);
  address.protocol = address.protocol.replace("http", "ws");
  const made = new WebSocket(address);
  socket = made;
  made.binaryType = "arraybuffer";
  made.addEventListener("open", () => made.send(JSON.stringify({ ticket: body.ticket, columns: terminal.cols, rows: terminal.rows })));
  made.addEventListener("message", ({ data }) => {
    heard();
    if (typeof data === "string") told(JSON.parse(data));
    else terminal.write(new Uint8Array(data));
  });
  made.addEventListener("close", () => {
    clearTimeout(silence);
    if (again.hidden) ended(_("The connection was lost, and the shell has ended with it. The task itself goes on."));
  });
  return undefined;
}

function ended(message) {
  say(message);
  again.hidden = false;
}

terminal.onData((text) => type(encoder.encode(text)));
terminal.onBinary((text) => type(Uint8Array.from(text, (each) => each.charCodeAt(0))));
terminal.onResize(() => { if (socket?.readyState === WebSocket.OPEN) socket.send(size()); });
new ResizeObserver(() => fit.fit()).observe(box);

// Tab belongs to the shell, so another key leads out of it.
terminal.attachCustomKeyEventHandler((event) => {
  if (!event.ctrlKey || !event.shiftKey || event.type !== "keydown") return true;
  const key = event.key.toLowerCase();
  if (key === "e") document.getElementById("terminal-leave").focus();
  else if (key === "f") search.focus();
  else if (key === "c" && terminal.hasSelection()) navigator.clipboard?.writeText(terminal.getSelection());
  else return true;
  event.preventDefault();
  return false;
});
reader.addEventListener("change", () => {
  localStorage.setItem(READER, reader.checked ? "yes" : "no");
  terminal.options.screenReaderMode = reader.checked;
});
search.addEventListener("keydown", (event) => {
  if (event.isComposing) return;
  if (event.key === "Escape") terminal.focus();
  if (event.key !== "Enter") return;
  event.preventDefault();
  if (event.shiftKey) finder.findPrevious(search.value);
  else finder.findNext(search.value);
});
again.addEventListener("click", () => {
  terminal.reset();
  open();
});
addEventListener("pagehide", () => socket?.close());
open();

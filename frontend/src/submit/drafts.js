// Drafts: what was written on this page, kept in this browser for seven days, one for each template and user.

const PREFIX = "paishare-draft:";
const KEPT_MS = 7 * 86400e3;

export class Draft {
  constructor(user, template) {
    this.key = `${PREFIX}${user}:${template}`;
    sweep();
  }

  read() {
    try {
      return JSON.parse(localStorage.getItem(this.key));
    } catch {
      return null;
    }
  }

  // Whether it is kept.
  write(text, isFromLink) {
    try {
      localStorage.setItem(this.key, JSON.stringify({ text, at: Date.now(), isFromLink }));
      return true;
    } catch {
      return false;
    }
  }

  drop() { localStorage.removeItem(this.key); }
}

function sweep() {
  for (const key of Object.keys(localStorage).filter((each) => each.startsWith(PREFIX))) {
    let at = 0;
    try { ({ at } = JSON.parse(localStorage.getItem(key))); } catch { /* what is no draft goes */ }
    if (!(Date.now() - at < KEPT_MS)) localStorage.removeItem(key);
  }
}

/* --- a text in a link: deflate, then base64 for addresses ------------------------------------ */

const MAX_BYTES = 256_000;

async function through(bytes, stream) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const parts = [];
  let size = 0;
  for (let step = await reader.read(); !step.done; step = await reader.read()) {
    size += step.value.length;
    if (size > MAX_BYTES) { reader.cancel(); throw new RangeError("too large"); }
    parts.push(step.value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

export async function packed(text) {
  const bytes = await through(new TextEncoder().encode(text), new CompressionStream("deflate"));
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

// Throws where it is no such text, or one of more than 256 kB.
export async function unpacked(word) {
  const binary = atob(word.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (char) => char.charCodeAt(0));
  return new TextDecoder("utf-8", { fatal: true }).decode(await through(bytes, new DecompressionStream("deflate")));
}

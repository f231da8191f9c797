// A task's log as lines: bytes come in pieces of two streams, colours go on from line to line. Knows no page.

import Anser from "anser";

const UNFINISHED = /\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]*)?$/;
// What moves the cursor, sets titles and the like: everything but colours (…m).
const OTHERS = /\x1b(?:\[[0-?]*[ -/]*(?!m)[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_](?<!\[))/g;
// The usual font: changes nothing, but Anser forgets the colour of a text that begins without an escape.
const GOES_ON = "\x1b[10m";
const STATE = ["fg", "bg", "fg_truecolor", "bg_truecolor", "decorations"];

// One line: `text` without escapes, `spans` with their colours or null where it has none.
class Line {
  constructor({ stream, time, from }) {
    this.stream = stream;
    this.time = time;
    this.from = from; // who wrote it, where several write
    this.text = "";
    this.spans = null;
  }
}

class Stream {
  constructor() {
    this.ansi = new Anser();
    this.line = null;
    this.raw = "";
    this.held = "";
  }
}

export class Lines {
  constructor(most) {
    this.most = most;
    this.dropped = 0; // lines that are gone from the front
    this.all = [];
    this.streams = new Map();
    this.writers = new Map(); // who writes, by the order in which they began
  }

  get length() { return this.all.length; }

  // Takes records of the API; returns the first number of the lines that changed.
  add(records) {
    let first = this.all.length;
    for (const record of records) {
      const open = this.stream(`${record.from} ${record.stream}`);
      if (open.line) first = Math.min(first, this.all.lastIndexOf(open.line));
      this.write(open, record, open.held + record.text);
    }
    return Math.max(0, first - this.shorten());
  }

  stream(name) {
    if (!this.streams.has(name)) this.streams.set(name, new Stream());
    return this.streams.get(name);
  }

  write(open, record, text) {
    open.held = text.match(UNFINISHED)?.[0].slice(0, 200) ?? "";
    const whole = open.held ? text.slice(0, -open.held.length) : text;
    const parts = whole.replaceAll("\r\n", "\n").split("\n");
    parts.forEach((part, number) => {
      if (number) this.end(open);
      if (!part) {
        if (number < parts.length - 1 && !open.line) this.begin(open, record);
        return;
      }
      if (!open.line) this.begin(open, record);
      open.raw += part;
    });
    if (open.line) this.show(open, new Anser(), open.ansi);
  }

  begin(open, record) {
    if (!this.writers.has(record.from)) this.writers.set(record.from, this.writers.size);
    open.line = new Line(record);
    open.raw = "";
    this.all.push(open.line);
  }

  end(open) {
    if (!open.line) return;
    this.show(open, open.ansi, open.ansi);
    open.line = null;
  }

  // What a terminal shows of the line; `ansi` goes on from the colours of `from`.
  show(open, ansi, from) {
    for (const key of STATE) ansi[key] = key === "decorations" ? [...(from[key] ?? [])] : from[key];
    const plain = open.raw.replace(OTHERS, "");
    const shown = plain.slice(plain.replace(/\r+$/, "").lastIndexOf("\r") + 1).replace(/\r+$/, "");
    const isColoured = shown.includes("\x1b") || ansi.fg || ansi.bg || ansi.decorations.length;
    const spans = isColoured
      ? ansi.ansiToJson(GOES_ON + shown, { use_classes: true, remove_empty: true }) : null;
    open.line.spans = spans?.map(({ content, fg, bg, fg_truecolor, bg_truecolor, decorations }) => (
      { content, fg, bg, fg_truecolor, bg_truecolor, decorations })) ?? null;
    open.line.text = spans ? spans.map((each) => each.content).join("") : shown;
  }

  shorten() {
    const gone = this.all.length - this.most;
    if (gone <= 0) return 0;
    this.all.splice(0, gone);
    this.dropped += gone;
    return gone;
  }
}

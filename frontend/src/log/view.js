// Lines as a page shows them, a hundred thousand of them: blocks of lines, only those near the window are drawn.

const BLOCK = 100;
const LINE_PX = 20;
const MARGIN = "1500px";
const HUES = 6;

function colour(element, name, value, truecolor, property) {
  if (!value) return;
  if (value === "ansi-truecolor") element.style[property] = `rgb(${truecolor})`;
  else if (value.startsWith("ansi-palette-")) element.style[property] = palette(Number(value.slice(13)));
  else element.classList.add(`${name}-${value}`);
}

// The 256 colours of xterm: a cube of 216, then greys; the first 16 have classes.
function palette(number) {
  if (number >= 232) return `rgb(${Array(3).fill(8 + (number - 232) * 10).join(",")})`;
  const level = (each) => (each ? 55 + each * 40 : 0);
  const cube = number - 16;
  return `rgb(${[Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map(level).join(",")})`;
}

function spanOf({ content, fg, bg, fg_truecolor, bg_truecolor, decorations }) {
  const span = document.createElement("span");
  span.textContent = content;
  colour(span, "fg", fg, fg_truecolor, "color");
  colour(span, "bg", bg, bg_truecolor, "backgroundColor");
  for (const each of decorations ?? []) span.classList.add(`ansi-${each}`);
  return span;
}

export class View {
  // `box` scrolls; `lines` is what it shows.
  constructor(box, lines) {
    this.box = box;
    this.lines = lines;
    this.blocks = [];
    this.marked = [0, 0]; // the first and the last one
    this.pattern = "";
    this.seen = new IntersectionObserver((entries) => this.onSeen(entries), { root: box, rootMargin: `${MARGIN} 0px` });
  }

  // Draw what changed from line `first` on; fewer lines than before mean that some are gone in front.
  update(first) {
    const needed = Math.ceil(this.lines.length / BLOCK);
    while (this.blocks.length > needed) this.drop(this.blocks.pop());
    while (this.blocks.length < needed) this.add();
    const from = this.lines.dropped === this.wasDropped ? Math.floor(first / BLOCK) : 0;
    this.wasDropped = this.lines.dropped;
    for (let number = from; number < needed; number += 1) this.size(this.blocks[number]);
  }

  add() {
    const element = document.createElement("div");
    element.className = "block";
    const block = { element, number: this.blocks.length, isNear: false };
    element.block = block;
    this.blocks.push(block);
    this.box.append(element);
    this.seen.observe(element);
  }

  drop({ element }) {
    this.seen.unobserve(element);
    element.remove();
  }

  size(block) {
    if (block.isNear) return this.draw(block);
    const count = Math.min(BLOCK, this.lines.length - block.number * BLOCK);
    block.element.style.height = `${count * LINE_PX}px`;
    return undefined;
  }

  onSeen(entries) {
    for (const { target, isIntersecting } of entries) {
      const { block } = target;
      if (block.isNear === isIntersecting) continue;
      block.isNear = isIntersecting;
      if (isIntersecting) this.draw(block);
      else {
        target.style.height = `${target.offsetHeight}px`;
        target.replaceChildren();
      }
    }
  }

  draw(block) {
    const start = block.number * BLOCK;
    const rows = this.lines.all.slice(start, start + BLOCK).map((line, at) => this.row(line, start + at));
    block.element.replaceChildren(...rows);
    block.element.style.height = "";
  }

  row(line, at) {
    const number = this.lines.dropped + at + 1;
    const row = document.createElement("div");
    row.className = `row-line ${line.stream}`;
    if (number >= this.marked[0] && number <= this.marked[1]) row.classList.add("marked");
    if (this.pattern && line.text.toLowerCase().includes(this.pattern)) row.classList.add("found");
    const link = document.createElement("a");
    link.className = "at";
    link.href = `#L${number}`;
    link.textContent = number;
    link.tabIndex = -1;
    const time = document.createElement("time");
    time.textContent = line.time ? line.time.slice(11, 19) : "";
    const text = document.createElement("span");
    text.className = "text";
    if (line.spans) text.append(...line.spans.map(spanOf));
    else text.textContent = line.text;
    row.append(link, time, ...this.writer(line), text, "\n");
    return row;
  }

  writer({ from }) {
    if (from === undefined) return [];
    const element = document.createElement("span");
    element.className = `from from-${this.lines.writers.get(from) % HUES}`;
    element.textContent = from;
    return [element, " "];
  }

  redraw() {
    for (const block of this.blocks) if (block.isNear) this.draw(block);
  }

  // Bring a line, counted from 1 in the whole log, into sight, and mark all up to `last`.
  show(number, last = number) {
    const at = number - this.lines.dropped - 1;
    if (at < 0 || at >= this.lines.length) return false;
    this.marked = [number, last];
    const block = this.blocks[Math.floor(at / BLOCK)];
    block.isNear = true;
    this.draw(block);
    this.redraw();
    block.element.children[at % BLOCK].scrollIntoView({ block: "center" });
    return true;
  }

  // The numbers of the lines with `text` in them, capitals or not.
  find(text) {
    this.pattern = text.toLowerCase();
    this.redraw();
    return this.matches(0);
  }

  // The same of the lines that are there now, from the one with this place on.
  matches(first) {
    const found = [];
    for (let at = first; this.pattern && at < this.lines.length; at += 1) {
      if (this.lines.all[at].text.toLowerCase().includes(this.pattern)) found.push(this.lines.dropped + at + 1);
    }
    return found;
  }
}

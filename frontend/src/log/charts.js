// What a task used, as charts: CPU, memory, GPU, disk and network over the time that it ran.

import uPlot from "uplot";
import { ask, pause, whileHidden } from "../lib/live.js";
import { _ } from "../lib/texts.js";

const EVERY_MS = 4000;
const HEIGHT = 140;
// Memory is told as the kernel counts it and `memoryMB` asks for it; disks and networks by thousands, as files are.
const BINARY = { step: 1024, units: ["B", "KiB", "MiB", "GiB", "TiB"] };
const DECIMAL = { step: 1000, units: ["B", "kB", "MB", "GB", "TB"] };
const SHORTEST_S = 900; // of what a part is worth choosing
const NEEDED = 2; // samples: one says nothing of what happens by second
// How far lines of the scale are apart: whole numbers, and of memory what is whole in MiB and GiB.
const TENS = Array.from({ length: 16 }, (_each, power) => power).flatMap((power) => [1, 2, 5].map((each) => each * 10 ** power));
const TWOS = Array.from({ length: 50 }, (_each, power) => 2 ** power);

function size(bytes, { step, units }) {
  let [value, unit] = [bytes, 0];
  for (; Math.abs(value) >= step && unit < units.length - 1; unit += 1) value /= step;
  return `${value.toFixed(value < 10 && unit ? 1 : 0)} ${units[unit]}`;
}
const memory = (bytes) => size(bytes, BINARY);
const clock = (time) => new Date(time * 1000).toTimeString().slice(0, 8);
const percent = (value) => `${Math.round(value)} %`;
const rate = (value) => `${size(value, DECIMAL)}/s`;

// What grew between two samples, by second.
const grown = (samples, key) => samples.map((each, at) => {
  const before = samples[at - 1];
  if (!before || each[key] == null || before[key] == null || each.time <= before.time) return null;
  return Math.max(0, each[key] - before[key]) / (each.time - before.time);
});
const mean = (gpus, key) => (gpus.length ? gpus.reduce((sum, each) => sum + (each[key] ?? 0), 0) / gpus.length : null);

function panels(samples) {
  const found = [
    { title: _("CPU"), format: percent, series: { [_("CPU")]: grown(samples, "cpu_s").map((each) => each && each * 100) } },
    { title: _("Memory"), format: memory, series: { [_("Memory")]: samples.map((each) => each.memory) } },
    { title: _("Disk"), format: rate, series: { [_("read")]: grown(samples, "read"), [_("written")]: grown(samples, "written") } },
  ];
  if (samples.some((each) => each.received != null)) {
    found.push({ title: _("Network"), format: rate, series: { [_("received")]: grown(samples, "received"), [_("sent")]: grown(samples, "sent") } });
  }
  if (samples.some((each) => each.gpus.length)) {
    found.unshift(
      { title: _("GPU"), format: percent, series: { [_("GPU")]: samples.map((each) => mean(each.gpus, "percent")) } },
      { title: _("GPU memory"), format: memory, series: { [_("GPU memory")]: samples.map((each) => each.gpus.reduce((sum, gpu) => sum + (gpu.memory ?? 0), 0)) } },
    );
  }
  return found;
}

function summary({ title, format, series }, isOver) {
  const values = Object.entries(series).map(([name, all]) => {
    const known = all.filter((each) => each != null);
    const last = known.at(-1);
    if (last == null) return null;
    const most = format(known.reduce((a, b) => Math.max(a, b)));
    const text = isOver ? _("at most %(most)s", { most })
      : _("now %(now)s, at most %(most)s", { now: format(last), most });
    return Object.keys(series).length > 1 ? _("%(what)s %(amount)s", { what: name, amount: text }) : text;
  }).filter(Boolean);
  const amount = values.length > 1 ? _("%(first)s; %(second)s", { first: values[0], second: values[1] }) : values[0] ?? "–";
  return _("%(what)s: %(amount)s", { what: title, amount });
}

function plot(place, { format, series }, times) {
  const style = getComputedStyle(document.documentElement);
  const line = (name) => style.getPropertyValue(name).trim();
  const colours = [line("--busy"), line("--warn")];
  const axis = { stroke: line("--bs-body-color"), grid: { stroke: line("--line"), width: 1 }, ticks: { show: false }, font: "11px sans-serif" };
  return new uPlot({
    width: place.clientWidth, height: HEIGHT, legend: { show: false }, cursor: { drag: { x: false, y: false } },
    scales: { y: { range: (_plot, _low, high) => [0, Math.max(high * 1.1, 1)] } },
    axes: [{ ...axis, space: 70, size: 28, values: (_plot, all) => all.map(clock) },
      { ...axis, size: 64, incrs: format === memory ? TWOS : TENS, values: (_plot, all) => all.map(format) }],
    series: [{}, ...Object.keys(series).map((label, at) => ({ label, stroke: colours[at], width: 1.5, spanGaps: true, points: { show: times.length < 3 } }))],
  }, [times, ...Object.values(series)], place);
}

function table(samples, found) {
  const element = document.createElement("table");
  element.className = "table";
  const names = found.flatMap(({ title, series }) => (
    Object.keys(series).map((name) => (name === title ? title : `${title}, ${name}`))));
  const head = element.createTHead().insertRow();
  for (const name of [_("Time"), ...names]) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.textContent = name;
    head.append(cell);
  }
  const body = element.createTBody();
  samples.slice(-60).forEach((sample, at, all) => {
    const row = body.insertRow();
    const number = samples.length - all.length + at;
    row.insertCell().textContent = new Date(sample.time * 1000).toLocaleTimeString();
    for (const { format, series } of found) {
      for (const values of Object.values(series)) row.insertCell().textContent = values[number] == null ? "–" : format(values[number]);
    }
  });
  return element;
}

export async function draw(section, isOver) {
  const place = section.querySelector(".charts");
  const rows = section.querySelector(".as-table");
  const range = section.querySelector("select");
  let plots = [];
  let known = [];
  function show() {
    const from = known.at(-1).time - Number(range.value || Infinity);
    const samples = known.filter((each) => each.time >= from);
    const found = panels(samples);
    const times = samples.map((each) => each.time);
    const titles = found.map((each) => each.title).join();
    if (place.dataset.titles !== titles) {
      for (const each of plots) each.destroy();
      place.dataset.titles = titles;
      place.replaceChildren(...found.map(() => {
        const figure = document.createElement("figure");
        figure.append(document.createElement("figcaption"), document.createElement("div"));
        figure.lastChild.setAttribute("aria-hidden", "true");
        return figure;
      }));
      plots = found.map((each, at) => plot(place.children[at].lastChild, each, times));
    } else plots.forEach((each, at) => each.setData([times, ...Object.values(found[at].series)]));
    found.forEach((each, at) => { place.children[at].firstChild.textContent = summary(each, isOver()); });
    rows.replaceChildren(table(samples, found));
  }
  range.addEventListener("change", show);
  addEventListener("resize", () => {
    for (const each of plots) each.setSize({ width: each.root.parentElement.clientWidth, height: HEIGHT });
  });
  for (;;) {
    const wasOver = isOver();
    const answer = await (await ask(section.dataset.url))?.json();
    const isEnough = answer?.samples.length >= NEEDED;
    section.querySelector(".nothing").hidden = isEnough;
    section.querySelector("details").hidden = !isEnough;
    if (isEnough) {
      known = answer.samples;
      range.parentElement.hidden = known.at(-1).time - known[0].time < SHORTEST_S;
      show();
    }
    if (wasOver) return;
    await pause(EVERY_MS);
    await whileHidden();
  }
}

// A table that a job left, as a plot: one column across, one up; the address holds which.

import { ask } from "./lib/live.js";
import { _ } from "./lib/texts.js";

const HEIGHT = 280;
const STEPS = /^(step|epoch|iter|iteration|round|time|seconds?|x|n)$/i;
const section = document.getElementById("plot");
const [caption, place] = section.querySelector("figure").children;
const [across, up] = ["x", "y"].map((name) => document.getElementById(`plot-${name}`));
const address = new URL(location.href).searchParams;

const short = (value) => String(Number(value.toPrecision(5)));

function fill(select, names, wanted) {
  select.replaceChildren(...names.map((name, at) => new Option(name, at, false, at === wanted)));
}

function chosen(names, key, usual) {
  const at = names.indexOf(address.get(key));
  return at < 0 ? usual : at;
}

// Points in the order of x: a plot has no place for those without.
function points(xs, ys) {
  const found = xs.map((x, at) => [x, ys[at]]).filter(([x]) => x !== null).sort(([a], [b]) => a - b);
  return [found.map(([x]) => x), found.map(([, y]) => y)];
}

async function draw({ names, values, is_cut: isCut }) {
  const { default: UPlot } = await import("uplot");
  const columns = [{ name: _("number of the row"), values: values[0].map((_value, at) => at + 1) },
    ...names.map((name, at) => ({ name, values: values[at] }))];
  const titles = columns.map((each) => each.name);
  const step = names.findIndex((name) => STEPS.test(name)) + 1;
  const x = chosen(titles, "x", step);
  fill(across, titles, x);
  fill(up, names, chosen(names, "y", names.findIndex((_name, at) => at + 1 !== x)));
  if (up.selectedIndex < 0) up.selectedIndex = 0;
  let plot = null;

  function show() {
    const [first, second] = [columns[across.value], columns[Number(up.value) + 1]];
    const data = points(first.values, second.values);
    const known = data[1].filter((value) => value !== null);
    const [least, most] = [Math.min, Math.max].map((of) => known.reduce((a, b) => of(a, b), known[0]));
    caption.textContent = _("%(y)s by %(x)s: first %(first)s, last %(last)s, between %(least)s and %(most)s", {
      x: first.name, y: second.name, first: short(known[0]), last: short(known.at(-1)), least: short(least), most: short(most) })
      + (isCut ? ` ${_("(the first rows of a longer table)")}` : "");
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const axis = { stroke: colour("--bs-body-color"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "11px sans-serif" };
    plot?.destroy();
    plot = new UPlot({
      width: place.clientWidth, height: HEIGHT, legend: { show: false }, scales: { x: { time: false } },
      axes: [{ ...axis, label: first.name, labelSize: 18 }, { ...axis, size: 64 }],
      series: [{}, { stroke: colour("--busy"), width: 1.5, spanGaps: true, points: { show: data[0].length < 60 } }],
    }, data, place);
  }

  function change() {
    const url = new URL(location.href);
    url.searchParams.set("x", columns[across.value].name);
    url.searchParams.set("y", names[up.value]);
    history.replaceState(null, "", url);
    show();
  }

  section.hidden = false;
  show();
  for (const select of [across, up]) select.addEventListener("change", change);
  addEventListener("resize", () => plot.setSize({ width: place.clientWidth, height: HEIGHT }));
}

const answer = await ask(section.dataset.url);
const found = await answer?.json().catch(() => null);
if (found?.names.length) draw(found);

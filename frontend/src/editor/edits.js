// Changes of one place in a YAML text as ranges of that text: all else stays as its author wrote it.
//
// Each function gives { from, to, insert }, or null where the place cannot be changed so; the result has been
// read again, and says what was asked for.

import { Document, isCollection, isMap, isPair, isScalar, isSeq, parseDocument, stringify } from "yaml";
import { placeOf, read } from "./document.js";

export const apply = (text, { from, to, insert }) => text.slice(0, from) + insert + text.slice(to);

const load = (text) => read(text).doc;
const json = (value) => JSON.stringify(value);

// Sets a value; what is missing on the way to it is added.
export function set(text, path, value) {
  const doc = load(text);
  if (doc.errors.length) return null;
  const { parent, item } = placeOf(doc, path);
  const change = item === undefined ? added(text, doc, path, value, parent) : replaced(text, item, value, parent);
  return change && checked(text, change, path, value);
}

// Takes out a field of a map or an item of a list, with its line where it has one.
export function remove(text, path) {
  const doc = load(text);
  if (doc.errors.length) return null;
  const { parent, item } = placeOf(doc, path);
  if (item === undefined) return null;
  const change = parent.flow ? cutFromFlow(text, parent, item) : cutLines(text, parent, item);
  const wanted = doc.toJS();
  const holder = path.slice(0, -1).reduce((value, part) => value[part], wanted);
  if (Array.isArray(holder)) holder.splice(path[path.length - 1], 1);
  else delete holder[path[path.length - 1]];
  const after = load(apply(text, change));
  return after.errors.length || json(emptied(after.toJS())) !== json(emptied(wanted)) ? null : change;
}

// Gives a field of a map another name.
export function rename(text, path, name) {
  const doc = load(text);
  const { item } = placeOf(doc, path);
  if (doc.errors.length || !isPair(item)) return null;
  const value = doc.getIn(path);
  const change = { from: item.key.range[0], to: item.key.range[1], insert: written(name, 0, true) };
  return checked(text, change, [...path.slice(0, -1), name], value?.toJSON?.() ?? value);
}

export function append(text, path, value) {
  const list = load(text).getIn(path);
  return set(text, [...path, isSeq(list) ? list.items.length : 0], value);
}

// Changes a list of texts into another one by as few edits as possible; gives the new text, or null.
export function setList(text, path, values) {
  let found = text;
  const before = load(text).getIn(path)?.toJSON?.() ?? [];
  const start = before.findIndex((value, at) => value !== values[at]);
  let first = start < 0 ? Math.min(before.length, values.length) : start;
  let tail = 0;
  const most = Math.min(before.length, values.length) - first;
  while (tail < most && before[before.length - 1 - tail] === values[values.length - 1 - tail]) tail += 1;
  const kept = Math.min(before.length, values.length) - tail;
  const steps = [];
  for (; first < kept; first += 1) { const at = first; steps.push((now) => set(now, [...path, at], values[at])); }
  for (let at = before.length - tail - 1; at >= values.length - tail; at -= 1) steps.push((now) => remove(now, [...path, at]));
  for (let at = before.length - tail; at < values.length - tail; at += 1) steps.push((now) => inserted(now, path, at, values[at]));
  for (const step of steps) {
    const change = step(found);
    if (!change) return null;
    found = apply(found, change);
  }
  return found;
}

// The smallest range in which two texts differ.
export function between(before, after) {
  let from = 0;
  while (from < before.length && from < after.length && before[from] === after[from]) from += 1;
  let to = before.length;
  let end = after.length;
  while (to > from && end > from && before[to - 1] === after[end - 1]) { to -= 1; end -= 1; }
  return { from, to, insert: after.slice(from, end) };
}

/* --- writing ------------------------------------------------------------------------------ */

const isFloat = (text) => /^[-+]?(\.\d+|\d+(\.\d*)?)(e[-+]?\d+)?$/i.test(text);

// A number that was typed keeps its form: 1e-3 does not become 0.001.
export class Typed {
  constructor(text) { this.text = text; this.value = Number(text); }

  static of(text) { return isFloat(text) && Number.isFinite(Number(text)) ? new Typed(text) : text; }

  toJSON() { return this.value; }
}

const OPTIONS = { lineWidth: 0, version: "1.2", schema: "core" };
const isDeep = (value) => typeof value === "object" && value !== null && !(value instanceof Typed) && Object.keys(value).length > 0;

// A value as it stands below a place whose name or dash is `indent` columns in.
function written(value, indent, isFlow) {
  if (value instanceof Typed) return value.text;
  if (isFlow) return inFlow(value);
  const isLong = typeof value === "string" && value.includes("\n");
  const text = isLong ? stringify({ k: value }, OPTIONS).slice(3) : stringify(value, OPTIONS);
  return text.replace(/\n$/, "").replaceAll(/\n(?=[^\n])/g, `\n${" ".repeat(indent)}`);
}

function inFlow(value) {
  if (typeof value === "string" && value.includes("\n")) return json(value);
  const doc = new Document([value], OPTIONS);
  doc.contents.flow = true;
  const found = doc.toString({ lineWidth: 0, flowCollectionPadding: false }).trim();
  return found.includes("\n") ? json(value) : found.slice(1, -1);
}

const columnOf = (text, offset) => offset - (text.lastIndexOf("\n", offset - 1) + 1);
const lineEnd = (text, offset) => { const at = text.indexOf("\n", offset); return at < 0 ? text.length : at; };

function replaced(text, item, value, parent) {
  const node = isPair(item) ? item.value : item;
  const start = isPair(item) ? item.key.range[0] : node.range[0];
  const indent = isPair(item) ? columnOf(text, start) : Math.max(0, columnOf(text, start) - 2);
  if (!node?.range || (isScalar(node) && node.range[0] === node.range[1])) return filled(text, item, node, value, parent, indent);
  const [from, end] = node.range;
  const isBlock = isCollection(node) ? !node.flow : node.type?.startsWith("BLOCK_");
  const to = isBlock ? from + text.slice(from, end).trimEnd().length : end;
  const isBelow = isDeep(value) && !parent.flow;
  let insert = written(value, isBelow ? indent + 2 : indent, parent.flow);
  if (isBelow && !isBlock) insert = `\n${" ".repeat(indent + 2)}${insert}`;
  const tag = /(?:[!&]\S* )+$/.exec(text.slice(0, from));
  const isPlain = !isBlock && !insert.includes("\n");
  if (isPlain || isBlock || /^[ \t]*$/.test(text.slice(to, lineEnd(text, to)))) return { from: tag && !isCollection(node) ? from - tag[0].length : from, to, insert };
  return { from, to, insert: inFlow(value) };
}

// A value after `name:` or `-` where none stands.
function filled(text, item, node, value, parent, indent) {
  const mark = isPair(item) ? item.srcToken?.sep?.find((token) => token.type === "map-value-ind") : null;
  const at = mark ? mark.offset + 1 : node?.range?.[0] ?? item.key?.range?.[1];
  const colon = isPair(item) && !mark ? ":" : "";
  const body = written(value, isDeep(value) ? indent + 2 : indent, parent.flow);
  const hasRoom = !body.includes("\n") || /^[ \t]*$/.test(text.slice(at, lineEnd(text, at)));
  if (!isDeep(value) || parent.flow) return { from: at, to: at, insert: `${colon} ${hasRoom ? body : inFlow(value)}` };
  const end = lineEnd(text, at);
  return { from: end, to: end, insert: `${colon}\n${" ".repeat(indent + 2)}${body}` };
}

function added(text, doc, path, value, parent) {
  const last = path[path.length - 1];
  if (!isCollection(parent)) {
    if (parent !== undefined && parent !== null && !(isScalar(parent) && parent.value === null)) return null;
    const around = typeof last === "number" ? [value] : { [last]: value };
    if (path.length > 1) {
      const holder = path.slice(0, -1);
      const { parent: above, item } = placeOf(doc, holder);
      return item === undefined ? added(text, doc, holder, around, above) : replaced(text, item, around, above);
    }
    const gap = text && !text.endsWith("\n") ? "\n" : "";
    return { from: text.length, to: text.length, insert: `${gap}${written(around, 0, false)}\n` };
  }
  return insertedInto(text, parent, isMap(parent) ? last : null, value, parent.items.length);
}

function inserted(text, path, at, value) {
  const doc = load(text);
  const list = doc.getIn(path, true);
  if (!isSeq(list) || !list.items.length || at >= list.items.length) return set(text, [...path, at], value);
  const change = insertedInto(text, list, null, value, at);
  return change && checked(text, change, [...path, at], value);
}

function insertedInto(text, parent, key, value, at) {
  const name = key === null ? "" : `${written(String(key), 0, parent.flow)}:`;
  if (parent.flow) {
    const inner = `${name}${name && " "}${inFlow(value)}`;
    if (!parent.items.length) return { from: parent.range[0] + 1, to: parent.range[1] - 1, insert: inner };
    if (at < parent.items.length) { const from = startOf(parent.items[at]); return { from, to: from, insert: `${inner}, ` }; }
    const end = endOf(parent.items[parent.items.length - 1]);
    return { from: end, to: end, insert: `, ${inner}` };
  }
  const column = isMap(parent) ? columnOf(text, startOf(parent.items[0])) : columnOf(text, parent.range[0]);
  const body = key === null ? `- ${written(value, column + (isDeep(value) ? 2 : 0), false)}`
    : isDeep(value) ? `${name}\n${" ".repeat(column + 2)}${written(value, column + 2, false)}` : `${name} ${written(value, column, false)}`;
  if (at < parent.items.length) {
    const dash = text.lastIndexOf("-", startOf(parent.items[at]) - 1);
    return { from: dash, to: dash, insert: `${body}\n${" ".repeat(column)}` };
  }
  const item = parent.items[parent.items.length - 1];
  const end = lastLineEnd(text, item);
  return { from: end, to: end, insert: `\n${" ".repeat(column)}${body}` };
}

/* --- places -------------------------------------------------------------------------------- */

const startOf = (item) => (isPair(item) ? item.key.range[0] : item.range[0]);

function endOf(item) {
  const node = isPair(item) ? item.value ?? item.key : item;
  return node.range ? Math.max(node.range[1], isPair(item) ? item.key.range[1] : 0) : item.key.range[1];
}

// The end of the last line that a value has text in; comments behind it on that line stay with it.
function lastLineEnd(text, item) {
  const end = endOf(item);
  const mark = isPair(item) ? item.srcToken?.sep?.find((token) => token.type === "map-value-ind") : null;
  const content = Math.max(startOf(item) + text.slice(startOf(item), end).trimEnd().length, mark ? mark.offset + 1 : 0);
  return lineEnd(text, content);
}

function cutLines(text, parent, item) {
  const at = parent.items.indexOf(item);
  const start = isSeq(parent) ? dashBefore(text, parent, at) : startOf(item);
  const indent = text.lastIndexOf("\n", start - 1) + 1;
  const end = lastLineEnd(text, item);
  if (/^ *$/.test(text.slice(indent, start))) return { from: indent, to: Math.min(text.length, end + 1), insert: "" };
  // The first field of a list's item: what follows moves up to its place.
  const next = parent.items[at + 1];
  if (next) return { from: start, to: isSeq(parent) ? dashBefore(text, parent, at + 1) : startOf(next), insert: "" };
  return { from: start, to: end, insert: isMap(parent) ? "{}" : "[]" };
}

function dashBefore(text, parent, at) {
  const token = parent.srcToken?.items?.filter((each) => each.start?.some((part) => part.type === "seq-item-ind"))[at];
  const dash = token?.start.find((part) => part.type === "seq-item-ind");
  return dash ? dash.offset : text.lastIndexOf("-", startOf(parent.items[at]) - 1);
}

function cutFromFlow(text, parent, item) {
  const at = parent.items.indexOf(item);
  const next = parent.items[at + 1];
  if (next) return { from: startOf(item), to: startOf(next), insert: "" };
  const before = parent.items[at - 1];
  return { from: before ? endOf(before) : startOf(item), to: endOf(item), insert: "" };
}

/* --- proof --------------------------------------------------------------------------------- */

// An emptied list or map may stand as nothing.
const emptied = (value) => {
  if (Array.isArray(value)) return value.length ? value.map(emptied) : null;
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  return entries.length ? Object.fromEntries(entries.map(([key, each]) => [key, emptied(each)])) : null;
};

function checked(text, change, path, value) {
  const after = parseDocument(apply(text, change), { version: "1.2", schema: "core", logLevel: "silent" });
  if (after.errors.length) return null;
  const found = after.getIn(path);
  const plain = found?.toJSON ? found.toJSON() : found;
  return json(plain) === json(value) || (value instanceof Typed && plain === value.value) ? change : null;
}

// Values of a job as fields show them, and what is typed into a field as a change of the text. Pure.

import { placeOf, read } from "../editor/document.js";
import { Typed, apply, remove, set } from "../editor/edits.js";

export const list = (value) => (Array.isArray(value) ? value : []);
export const isPlainMap = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
export const valueAt = (value, path) => path.reduce((found, part) => found?.[part], value);
export const typeOf = (reference) => /(?:^|:)(\w+)\//.exec(reference)?.[1] ?? "dockerimage";
export const nameOf = (reference) => reference.replace(/^.*[:/]/, "").replace(/@.*$/, "");
export const referenceTo = ({ type, name, version }) => `${type}/${name}${version && !/[\s@]/.test(version) ? `@${version}` : ""}`;

export const kindsOf = (text) => {
  const job = read(text).doc.toJS();
  return new Map(Object.entries(isPlainMap(job?.parameters) ? job.parameters : {}).map(([name, value]) => [name, kindOf(value)]));
};

export function textOf(value) {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

export function kindOf(value) {
  if (typeof value === "boolean") return "choice";
  if (typeof value === "number") return Number.isInteger(value) ? "whole" : "number";
  if (value !== null && typeof value === "object") return "fixed";
  if (value === null) return "any";
  return value.length > 80 || value.includes("\n") ? "long" : "text";
}

export const isNumber = (typed) => !typed.trim() || Typed.of(typed.trim()) instanceof Typed;

// The text with one value as it was typed; null where it cannot be put there.
export function changed(text, path, typed, kind) {
  const { item } = placeOf(read(text).doc, path);
  const isOptional = path[0] !== "parameters" && !["name", "role", "uri", "cpu", "memoryMB", "gpu", "label", "beginAt", "portNumber"].includes(path.at(-1)) && typeof path.at(-1) !== "number";
  if (!typed && isOptional) {
    const change = item === undefined ? null : remove(text, path);
    return item === undefined ? text : change && apply(text, change);
  }
  const change = set(text, path, parsed(typed, kind));
  return change && apply(text, change);
}

function parsed(typed, kind) {
  if (kind === "choice") return typed === "true";
  if (!typed && ["whole", "number", "any"].includes(kind)) return null;
  return ["whole", "number", "any"].includes(kind) ? Typed.of(typed.trim()) : typed;
}

// Tasks that name a prerequisite follow when its name changes.
export function renamed(text, item, name) {
  const tasks = list(read(text).doc.toJS().tasks);
  return tasks.reduce((found, task, at) => {
    if (!item?.type || task?.[item.type] !== item.name || !name) return found;
    const change = set(found, ["tasks", at, item.type], name);
    return change ? apply(found, change) : found;
  }, text);
}

// What decides which fields there are; a change of values alone redraws nothing.
export function shapeOf(job) {
  return [Object.entries(isPlainMap(job.parameters) ? job.parameters : {}).map(([name, value]) => [name, kindOf(value)]),
    list(job.tasks).map((task) => [list(task?.command).length, list(task?.command).map((each) => textOf(each).split("\n").length > 1), list(task?.resource?.portList).length, Boolean(task?.output)]),
    list(job.prerequisites).map((each) => (typeof each === "string" ? typeOf(each) : [each?.type, Array.isArray(each?.uri) ? each.uri.length : -1, each?.name]))];
}

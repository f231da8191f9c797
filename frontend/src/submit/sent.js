// What is sent of a text: where only parameters and the name differ from the template, the template with these
// values: the receipt then names the version that ran, not a changed text. Pure.

import { read } from "../editor/document.js";
import { changed } from "./values.js";

// { text, values: [[name, value, old]], name }
export function sentAs(original, written, linked) {
  let text = written;
  const values = [];
  const from = read(original).firstError ? {} : read(original).doc.toJS() ?? {};
  const now = read(text).firstError ? {} : read(text).doc.toJS() ?? {};
  for (const [name, old] of Object.entries(from.parameters ?? {})) {
    const value = now.parameters?.[name];
    if (value === undefined || typeof old === "object" && old !== null || (value === old && !linked.has(name))) continue;
    const wanted = value === null ? "" : String(value);
    values.push([name, wanted, old === null ? "" : String(old)]);
    const node = read(original).doc.getIn(["parameters", name], true);
    const source = node?.range ? original.slice(node.range[0], node.range[1]) : "";
    const at = read(text).doc.getIn(["parameters", name], true)?.range;
    if (at && value !== old) text = (source ? text.slice(0, at[0]) + source : text.slice(0, at[0]).trimEnd()) + text.slice(at[1]);
  }
  let name = "";
  if (now.name !== from.name && typeof now.name === "string" && from.name) {
    name = now.name;
    text = changed(text, ["name"], from.name, "text") ?? text;
  }
  return text === original && original ? { text, values, name } : { text: written, values: [], name: "" };
}

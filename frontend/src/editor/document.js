// A YAML text read with its places: paths as the server writes them, and where each stands in the text.

import { LineCounter, isCollection, isMap, isPair, isScalar, parseDocument } from "yaml";

export function read(text) {
  const lines = new LineCounter();
  const doc = parseDocument(text, { keepSourceTokens: true, lineCounter: lines, version: "1.2", schema: "core", logLevel: "silent" });
  return { text, doc, lineOf: (offset) => lines.linePos(offset).line, firstError: doc.errors[0] ?? null };
}

// `tasks[0].resource.gpu` ↔ ["tasks", 0, "resource", "gpu"]; a name with a dot in it is found by `has`.
export function pathOf(text, doc) {
  const path = [];
  let rest = text;
  while (rest) {
    const index = /^\[(\d+)\]\.?/.exec(rest);
    if (index) {
      path.push(Number(index[1]));
      rest = rest.slice(index[0].length);
      continue;
    }
    const names = keysAt(doc, path).filter((name) => rest === name || rest.startsWith(`${name}.`) || rest.startsWith(`${name}[`));
    const name = names.sort((a, b) => b.length - a.length)[0] ?? /^[^.[]+|^./.exec(rest)[0];
    path.push(name);
    rest = rest.slice(name.length).replace(/^\./, "");
  }
  return path;
}

const keysAt = (doc, path) => {
  const node = doc.getIn(path, true);
  return isMap(node) ? node.items.map((pair) => String(pair.key?.value ?? pair.key)) : [];
};

export const pathText = (path) => path.reduce((text, part) => (
  typeof part === "number" ? `${text}[${part}]` : text ? `${text}.${part}` : part), "");

// The pair of a map, or the item of a list, at a path; and the collection that it is in.
export function placeOf(doc, path) {
  const parent = path.length > 1 ? doc.getIn(path.slice(0, -1), true) : doc.contents;
  if (!isCollection(parent)) return { parent, item: undefined };
  const last = path[path.length - 1];
  const item = isMap(parent) ? parent.items.find((pair) => isPair(pair) && isScalar(pair.key) && String(pair.key.value) === String(last))
    : parent.items[last];
  return { parent, item };
}

// Where the name of a path stands, else its value, else the nearest thing around it that does stand there.
export function markOf(doc, path) {
  for (let length = path.length; length > 0; length -= 1) {
    const { item } = placeOf(doc, path.slice(0, length));
    const node = isPair(item) ? item.key : isScalar(item) ? item : null;
    if (node?.range) return { from: node.range[0], to: node.range[1], isExact: length === path.length };
  }
  return null;
}

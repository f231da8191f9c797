// What would mend a problem that the server names, as the text afterwards; from the same schemas. Pure.

import { isMap, isScalar } from "yaml";
import { apply, set } from "./edits.js";
import { placeOf, pathOf, read } from "./document.js";
import { prerequisite } from "./completion.js";

// { label: "Set to 0", text } or null. `words` are the labels in the page's language.
export function fixOf(text, problem, schemas, words) {
  const { doc } = read(text), said = problem.message_en ?? problem.message;
  const tabs = /^(?: *\t)/m;
  if (doc.errors.length) return tabs.test(text) && /tab/i.test(said) ? { label: words.tabs, text: text.replaceAll(/^[ \t]+/gm, (space) => space.replaceAll("\t", "  ")) } : null;
  const path = pathOf(problem.path, doc);
  const { parent, item } = placeOf(doc, path);
  const meant = /Did you mean `([^`]+)`\?/.exec(said)?.[1];
  const schema = schemaOf(schemas, doc, path);
  if (item === undefined) return missing(text, path, schema, words);
  const node = item.value ?? item;
  if (meant && isScalar(item.key) && /is no field/.test(said)) return renamed(text, item.key, meant, parent, words);
  const wanted = instead(schema, isScalar(node) ? node.value : undefined, path, meant);
  if (wanted === undefined) return null;
  const change = set(text, path, wanted);
  return change && { label: label(wanted, words), text: apply(text, change) };
}

function missing(text, path, schema, words) {
  const example = schema?.const ?? schema?.examples?.[0];
  if (example === undefined) return null;
  const change = set(text, path, example);
  return change && { label: words.add(path[path.length - 1]), text: apply(text, change) };
}

function renamed(text, key, name, parent, words) {
  const isThere = isMap(parent) && parent.has(name);
  const [from, to] = key.range;
  return isThere ? null : { label: words.rename(name), text: apply(text, { from, to, insert: name }) };
}

function instead(schema, value, path, meant) {
  if (meant !== undefined) return meant;
  if (!schema) return undefined;
  if (schema.const !== undefined) return schema.const;
  const types = [schema.type].flat();
  if (typeof value === "number" && types.includes("string") && !types.includes("integer")) return String(value);
  if (typeof value === "string" && types.includes("integer") && /^-?\d+$/.test(value)) return Number(value);
  if (typeof value !== "number") return undefined;
  // The schema lets older forms of retryCount in; the format asks for 0 or more.
  const least = path[path.length - 1] === "retryCount" ? 0 : schema.minimum;
  if (least !== undefined && value < least) return least;
  if (schema.maximum !== undefined && value > schema.maximum) return schema.maximum;
  return types.includes("integer") && !Number.isInteger(value) ? Math.ceil(value) : undefined;
}

const label = (value, words) => (typeof value === "string" && /^-?[\d.]+$/.test(value) ? words.quote : words.set(value));

export function schemaOf(schemas, doc, path) {
  let schema = schemas[doc.get?.("type")] ?? schemas.job;
  path.forEach((part, at) => {
    schema = typeof part === "number" ? schema?.items : schema?.properties?.[part];
    if (schema?.allOf) schema = prerequisite(schemas, schema, doc.getIn([...path.slice(0, at + 1), "type"]));
  });
  return schema;
}

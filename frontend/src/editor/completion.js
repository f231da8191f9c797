// What may stand at a place of a component's text, from the JSON Schemas that the server checks it with.
//
// Works on text that is no YAML yet: the lines around the cursor tell where it is. Pure.

import { parseDocument } from "yaml";

const KINDS = ["data", "script", "storage", "output", "dockerimage"];
const LINE = /^(\s*)((?:- +|-$)*)(.*)$/;
const FIELD = /^("[^"]*"|'[^']*'|[^\s:{}[\],#&*!|>'"%@`][^:{}[\],#]*?)\s*:(?:\s+|$)/;

// { from, options: [{ label, insert, type, detail, info }], path } for the cursor at `pos`.
export function complete(text, pos, schemas) {
  const place = placeAt(text, pos);
  if (!place) return null;
  const schema = schemaAt(schemas, text, place);
  const options = place.isValue ? values(text, place, schema, Object.keys(schemas)) : fields(place, schema);
  return options.length ? { from: pos - place.typed.length, options, path: place.path } : null;
}

/* --- where the cursor is -------------------------------------------------------------------- */

// { path, isValue, typed, siblings, isItem }: `path` is of the value, or of the map whose field is being written.
export function placeAt(text, pos) {
  const lines = text.slice(0, pos).split("\n");
  const head = lines.pop();
  const [, space, dashes, rest] = LINE.exec(head);
  if (/(^|\s)#/.test(rest) && !/["']/.test(rest)) return null;
  const column = space.length + dashes.length;
  const items = dashes.replaceAll(/\s/g, "").length;
  const around = parents(lines, items ? space.length : column, items > 0);
  const path = [...around, ...Array(items).fill(0)];
  const below = text.slice(pos).split("\n");
  const field = FIELD.exec(rest);
  const flow = /[{[]/.test(field ? rest.slice(field[0].length, field[0].length + 1) : rest[0] ?? "");
  if (flow) return inFlow(field ? [...path, name(field)] : path, field ? rest.slice(field[0].length) : rest);
  if (field) return { path: [...path, name(field)], isValue: true, typed: rest.slice(field[0].length), siblings: beside(lines, below, column, items > 0) };
  const isText = items > 0 && below[0].trim() === "" && rest.includes(" ");
  return isText ? null : { path, isValue: false, typed: rest, isItem: items > 0, siblings: beside(lines, below, column, items > 0) };
}

const name = (field) => field[1].replace(/^["']|["']$/g, "");

function parents(lines, column, isItem) {
  const path = [];
  let at = column;
  let wantsKey = isItem;
  for (let number = lines.length - 1; number >= 0 && (at > 0 || wantsKey); number -= 1) {
    const [, space, dashes, rest] = LINE.exec(lines[number]);
    if (!rest && !dashes.trim() || rest.startsWith("#")) continue;
    const field = FIELD.exec(rest);
    const fieldAt = space.length + dashes.length;
    if (field && (fieldAt < at || (wantsKey && fieldAt === at && !dashes))) {
      if (/^(#.*)?$/.test(rest.slice(field[0].length))) { path.unshift(name(field)); at = fieldAt; wantsKey = false; } else if (fieldAt < at) return path;
    }
    for (let dash = dashes.lastIndexOf("-"); dash >= 0; dash = dashes.lastIndexOf("-", dash - 1)) {
      if (space.length + dash < at) { path.unshift(0); at = space.length + dash; wantsKey = true; }
      if (dash === 0) break;
    }
  }
  return path;
}

// The fields of the same map above and below the cursor, with their values.
function beside(above, below, column, isFirst) {
  const found = {};
  const note = (line, isUp) => {
    const [, space, dashes, rest] = LINE.exec(line);
    if (!line.trim() || rest.startsWith("#")) return true;
    const at = space.length + dashes.length;
    const field = FIELD.exec(rest);
    if (field && at === column) found[name(field)] = rest.slice(field[0].length).replace(/\s+#.*$/, "").replace(/^["']|["']$/g, "");
    return at > column ? !(dashes && space.length < column) : at === column && (isUp ? !dashes : true);
  };
  if (!isFirst) for (let at = above.length - 1; at >= 0 && note(above[at], true); at -= 1);
  for (const line of below.slice(1)) {
    const [, space, dashes] = LINE.exec(line);
    if ((dashes && space.length < column) || !note(line, false)) break;
  }
  return found;
}

// Inside `{a: 1, b: ` or `[x, `: the last opened bracket counts.
function inFlow(path, text) {
  const stack = [];
  let typed = "";
  let at = path;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|'[^']*'|[{}[\],]|:(?=\s|$)|[^{}[\],:"']+|:/g)) {
    if (token === "{" || token === "[") {
      stack.push({ path: at, isMap: token === "{", siblings: {}, key: null });
      if (token === "[") at = [...at, 0];
      typed = "";
    } else if (token === "}" || token === "]") {
      stack.pop();
      typed = "";
    } else if (token === ",") {
      const top = stack[stack.length - 1];
      if (top?.isMap) { top.siblings[top.key ?? typed.trim()] = typed.trim(); top.key = null; at = top.path; }
      typed = "";
    } else if (token === ":" && stack[stack.length - 1]?.isMap) {
      const top = stack[stack.length - 1];
      top.key = typed.trim();
      at = [...top.path, top.key];
      typed = "";
    } else typed += token;
  }
  const top = stack[stack.length - 1];
  if (!top) return null;
  const isValue = !top.isMap || top.key !== null;
  return { path: isValue ? at : top.path, isValue, typed: typed.trimStart(), siblings: top.siblings, isFlow: true };
}

/* --- what its schema is --------------------------------------------------------------------- */

function schemaAt(schemas, text, { path, siblings, isValue }) {
  const type = /^type:\s*["']?(\w+)/m.exec(text)?.[1];
  let schema = schemas[type] ?? schemas.job;
  const own = isValue ? path.slice(0, -1) : path;
  path.forEach((part, at) => {
    schema = (typeof part === "number" ? schema?.items : schema?.properties?.[part]);
    if (schema?.allOf && own.length === at + 1) schema = prerequisite(schemas, schema, siblings.type);
  });
  return schema;
}

export function prerequisite(schemas, item, type) {
  const found = schemas[type] ?? schemas.job.$defs[type];
  return found ? { ...found, properties: { ...found.properties, type: item.properties.type } }
    : { ...item, properties: { ...schemas.data.properties, ...item.properties } };
}

/* --- what may stand there ------------------------------------------------------------------- */

function fields({ siblings, typed, isItem, isFlow }, schema) {
  if (schema?.items && !isItem) return [];
  if (!schema?.properties) return isItem ? plain(schema?.examples?.filter((each) => typeof each === "string")) : [];
  const required = schema.required ?? [];
  const rank = (key) => (required.includes(key) ? 0 : 1);
  return Object.entries(schema.properties).filter(([key]) => !(key in siblings) || key === typed)
    .sort(([a], [b]) => rank(a) - rank(b))
    .map(([key, each]) => ({ label: key, insert: `${key}:${isBlock(each) && !isFlow ? "" : " "}`, type: "property",
      detail: each.title?.replaceAll("`", "") ?? "", info: each.description ?? "" }));
}

const isBlock = (schema) => [schema.type].flat().some((each) => each === "object" || each === "array") && ![schema.type].flat().includes("string");

function values(text, { path, siblings }, schema, types) {
  const last = path[path.length - 1];
  if (path.length === 1 && last === "type") return plain(types);
  if (KINDS.includes(last) && path[0] === "tasks") return names(text, last);
  if (!schema) return [];
  if (schema.const !== undefined) return plain([schema.const]);
  if (schema.enum) return plain(schema.enum.filter((each) => each !== "" && each !== null));
  if (schema.type === "boolean") return plain([true, false]);
  const references = [schema.type].flat().includes("integer") ? parameters(text) : [];
  return [...plain((schema.examples ?? []).filter((each) => typeof each !== "object")), ...references].filter((each) => !(each.label in siblings));
}

const plain = (found = []) => found.map((each) => ({ label: String(each), insert: String(each), type: "constant" }));

const whole = (text) => { try { return parseDocument(text, { logLevel: "silent" }).toJS() ?? {}; } catch { return {}; } };

// The names of the job's own prerequisites of one kind.
export function names(text, kind) {
  const list = whole(text).prerequisites;
  return plain([...new Set((Array.isArray(list) ? list : []).map((each) => (
    typeof each === "string" ? referred(each, kind) : each?.type === kind && each.name)).filter(Boolean))]);
}

const referred = (text, kind) => {
  const [, type, found] = /^(?:[^/:@]+(?:\/[^/:@]+)?:)?(?:(\w+)\/)?([^@/]+)/.exec(text) ?? [];
  return !type || type === kind ? found : null;
};

function parameters(text) {
  const found = whole(text).parameters;
  return plain(Object.keys(found && typeof found === "object" ? found : {}).map((each) => `$$${each}$$`));
}

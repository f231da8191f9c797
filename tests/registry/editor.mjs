// Answers JSON lines on stdin with what the editor's pure modules say: [kind, …] → JSON.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const folder = pathToFileURL(`${process.argv[2]}/src/editor/`);
const edits = await import(new URL("edits.js", folder));
const { complete } = await import(new URL("completion.js", folder));
const { fixOf } = await import(new URL("fixes.js", folder));
const { markOf, pathOf, read } = await import(new URL("document.js", folder));

const words = { tabs: "tabs", quote: "quote", add: (name) => `add ${name}`, rename: (name) => `rename ${name}`, set: (value) => `set ${value}` };
const answers = {
  set: (text, path, value) => edits.set(text, path, value),
  remove: (text, path) => edits.remove(text, path),
  append: (text, path, value) => edits.append(text, path, value),
  setList: (text, path, values) => edits.setList(text, path, values),
  complete: (text, pos, schemas) => complete(text, pos, schemas)?.options.map((each) => each.label) ?? [],
  mark: (text, path) => { const { doc } = read(text); const found = markOf(doc, pathOf(path, doc)); return found && text.slice(found.from, found.to); },
  fix: (text, problem, schemas) => fixOf(text, problem, schemas, words),
};
const asked = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(asked.map(([kind, ...rest]) => answers[kind](...rest))));

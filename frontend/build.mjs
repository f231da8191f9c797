// Builds what the pages load: src/*.js and src/*.scss → one folder, each file named by its content.
//
//   node build.mjs [FOLDER]     FOLDER: ../registry/static/dist, which is emptied once all is built
//
// manifest.json says for each source which file it became, which scripts that one imports, and its style.

import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { compile } from "sass";

const here = dirname(fileURLToPath(import.meta.url));
const folder = resolve(process.argv[2] ?? join(here, "../registry/static/dist"));
const entries = readdirSync(join(here, "src")).filter((name) => /\.(js|scss)$/.test(name));

// Bootstrap 5 is written for Sass's older module system; what it warns of is not ours to mend.
const scss = {
  name: "scss",
  setup(plugin) {
    plugin.onLoad({ filter: /\.scss$/ }, ({ path }) => ({
      loader: "css",
      contents: compile(path, {
        loadPaths: [join(here, "node_modules")], quietDeps: true,
        silenceDeprecations: ["import", "global-builtin", "color-functions", "if-function"],
      }).css,
    }));
  },
};

const { metafile, outputFiles } = await build({
  absWorkingDir: here, entryPoints: entries.map((name) => join("src", name)), outdir: folder,
  bundle: true, minify: true, splitting: true, format: "esm", target: "es2022", metafile: true,
  entryNames: "[name]-[hash]", chunkNames: "part-[hash]", legalComments: "linked", charset: "utf8",
  plugins: [scss], logLevel: "warning", write: false, preserveSymlinks: true,
  inject: ["src/site.js"], // every page has it, so what scripts share lies with it: one file, not many small ones
});
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
for (const { path, contents } of outputFiles) writeFileSync(path, contents);

const manifest = {};
for (const [path, output] of Object.entries(metafile.outputs)) {
  if (!output.entryPoint) continue;
  manifest[basename(output.entryPoint)] = {
    file: basename(path),
    imports: output.imports.filter((each) => each.kind === "import-statement").map((each) => basename(each.path)),
    style: output.cssBundle ? basename(output.cssBundle) : null,
  };
}
const sorted = Object.fromEntries(Object.entries(manifest).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(join(folder, "manifest.json"), `${JSON.stringify(sorted, null, 2)}\n`);

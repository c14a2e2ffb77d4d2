// SPDX-License-Identifier: MIT
// Builds the console: web/src into a folder of files whose names carry their hash, each with its gzip and brotli form beside it. Fails over the budgets.
//   node web/build.mjs --out DIR [--watch]
import { build, context } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, extname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { png, svg } from "./icon.mjs";

const web = dirname(fileURLToPath(import.meta.url));
const argument = (name) => (process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : undefined);
const out = resolve(argument("--out") ?? join(web, "..", "build", "web", "dist"));
const kB = 1000;
const budgets = { loader: 8 * kB, first: 60 * kB, terminal: 125 * kB, chunk: 40 * kB, all: 700 * kB };

const common = { bundle: true, minify: true, target: ["es2022"], legalComments: "none", logLevel: "warning", absWorkingDir: web };
const pages = {
  ...common, entryPoints: { main: "src/main.tsx", style: "src/style.css" }, outdir: join(out, "assets"), format: "esm", splitting: true, metafile: true,
  jsx: "automatic", jsxImportSource: "preact", entryNames: "[name]-[hash]", chunkNames: "[name]-[hash]", assetNames: "[name]-[hash]",
};

function walk(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((e) => (e.isDirectory() ? walk(join(folder, e.name)) : [join(folder, e.name)]));
}

function put(path, text) {
  mkdirSync(dirname(join(out, path)), { recursive: true });
  writeFileSync(join(out, path), text);
}

/* The licence of every package of which something is in the bundle. */
function licences(metafile) {
  const packages = new Set();
  for (const input of Object.keys(metafile.inputs)) {
    const found = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input);
    if (found) packages.add(found[1]);
  }
  const parts = [...packages].sort().map((name) => {
    const folder = join(web, "node_modules", name);
    const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((f) => /^licen[cs]e/i.test(f));
    if (!file) throw new Error(`${name} has no licence file`);
    return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
  });
  return `The console of muster is under the MIT licence. It contains:\n\n${parts.join("\n----\n\n")}`;
}

/* What the page loads before anybody does anything: its entry, the style sheet, and all that they import at once. */
function firstLoad(metafile, entries) {
  const seen = new Set();
  const visit = (path) => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const i of metafile.outputs[path].imports) if (i.kind === "import-statement" && metafile.outputs[i.path]) visit(i.path);
  };
  entries.forEach(visit);
  return seen;
}

/* The loader of a tunnel is one file: its script stands in it, and its policy allows this script and blobs, which only a script that runs already can make. */
async function loader() {
  const folder = join(web, "src", "connect");
  const made = async (name) => (await build({ ...common, entryPoints: [join(folder, name)], format: "iife", write: false })).outputFiles[0].text.trim();
  const [script, style] = [await made("main.ts"), await made("connect.css")];
  const hash = createHash("sha256").update(script).digest("base64");
  const policy = `default-src 'none'; script-src 'sha256-${hash}' blob:; style-src 'unsafe-inline'; img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'`;
  const parts = { POLICY: policy, STYLE: style, SCRIPT: script };
  put("connect.html", readFileSync(join(folder, "connect.html"), "utf8").replace(/%(POLICY|STYLE|SCRIPT)%/g, (_, name) => parts[name]));
}

/* In a tunnel scripts are blobs, and src/connect/files.ts puts the names of blobs where they name each other: the forms that it looks for have to be all there are. */
function checkImports(metafile) {
  for (const [path, output] of Object.entries(metafile.outputs)) {
    if (!path.endsWith(".js")) continue;
    const text = readFileSync(resolve(web, path), "utf8");
    const found = [...text.matchAll(/(?:(?:from|import)"|import\(")\.\/([\w.-]+\.js)"/g)].map((m) => m[1]);
    const said = output.imports.filter((i) => !i.external).map((i) => basename(i.path));
    if (new Set(found).size !== new Set(said).size || said.some((name) => !found.includes(name))) throw new Error(`${basename(path)} imports ${said}, and the loader would find ${found}`);
  }
}

/* Files of views that are loaded late: fetched when the browser has nothing else to do, so that a page which is open goes on when a newer daemon has others. */
function later(metafile, first) {
  return Object.keys(metafile.outputs).filter((p) => p.endsWith(".js") && !first.has(p) && !/addon-webgl/.test(p));
}

function putIcons() {
  put("assets/icon.svg", svg());
  put("assets/icon-192.png", png(192));
  put("assets/icon-512.png", png(512));
  put("assets/icon-whole-512.png", png(512, true));
  put("assets/icon-touch.png", png(180, true));
}

function compress() {
  let all = 0;
  const zipped = new Map();
  for (const path of walk(out)) {
    const data = readFileSync(path);
    const gz = gzipSync(data, { level: 9 });
    const br = brotliCompressSync(data, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: data.length } });
    if (extname(path) !== ".png") {
      writeFileSync(`${path}.gz`, gz);
      writeFileSync(`${path}.br`, br);
      all += gz.length + br.length + (data.length <= 16384 ? data.length : 0);
    } else all += data.length;
    zipped.set(relative(out, path), gz.length);
  }
  return { all, zipped };
}

function check(result, first) {
  const { all, zipped } = compress();
  const relativeTo = (path) => relative(out, resolve(web, path));
  const problems = [];
  const firstBytes = [...first, join(out, "index.html")].reduce((n, p) => n + (zipped.get(relativeTo(p)) ?? 0), 0);
  if (firstBytes > budgets.first) problems.push(`the first load has ${firstBytes} bytes, ${budgets.first} are allowed`);
  const lines = [`first load ${(firstBytes / kB).toFixed(1)} kB gz`];
  for (const path of Object.keys(result.metafile.outputs)) {
    if (first.has(path) || path.endsWith(".map")) continue;
    const n = zipped.get(relativeTo(path)) ?? 0;
    const limit = /^xterm/.test(basename(path)) ? budgets.terminal : budgets.chunk;
    if (n > limit) problems.push(`${basename(path)} has ${n} bytes, ${limit} are allowed`);
    if (n > 5 * kB) lines.push(`${basename(path)} ${(n / kB).toFixed(1)}`);
  }
  const loaderBytes = zipped.get("connect.html");
  lines.push(`loader ${(loaderBytes / kB).toFixed(1)}`);
  if (loaderBytes > budgets.loader) problems.push(`the loader has ${loaderBytes} bytes, ${budgets.loader} are allowed`);
  if (all > budgets.all) problems.push(`all embedded files have ${all} bytes, ${budgets.all} are allowed`);
  console.log(`${lines.join(", ")}; all ${(all / kB).toFixed(0)} kB`);
  if (problems.length) throw new Error(problems.join("; "));
}

async function main() {
  rmSync(out, { recursive: true, force: true });
  const result = await build(pages);
  const output = (entry) => Object.keys(result.metafile.outputs).find((p) => result.metafile.outputs[p].entryPoint === entry);
  const script = output("src/main.tsx");
  const style = output("src/style.css");
  const first = firstLoad(result.metafile, [script, style]);
  const href = (path) => `/${relative(out, resolve(web, path))}`;
  const early = [...first].filter((p) => p !== script && p !== style).map((p) => `<link rel="modulepreload" href="${href(p)}">`).join("")
    + later(result.metafile, first).map((p) => `<link rel="prefetch" href="${href(p)}">`).join("");
  put("index.html", readFileSync(join(web, "src", "index.html"), "utf8").replace("%SCRIPT%", href(script)).replace("%STYLE%", href(style)).replace("%EARLY%", early));
  for (const name of readdirSync(join(web, "static"))) put(name === "manifest.webmanifest" ? name : `assets/${name}`, readFileSync(join(web, "static", name)));
  putIcons();
  await loader();
  checkImports(result.metafile);
  const shell = ["/", "/connect", ...[...first].map(href)];
  const version = createHash("sha256").update(shell.join()).update(readFileSync(join(out, "index.html"))).update(readFileSync(join(out, "connect.html"))).digest("hex").slice(0, 12);
  await build({ ...common, entryPoints: ["src/sw.ts"], outfile: join(out, "sw.js"), format: "iife",
    define: { SHELL_FILES: JSON.stringify(shell), SHELL_VERSION: JSON.stringify(version) } });
  put("assets/licences.txt", licences(result.metafile));
  check(result, first);
}

async function watch() {
  const watcher = await context({ ...pages, entryNames: "[name]", minify: false, sourcemap: true });
  put("index.html", readFileSync(join(web, "src", "index.html"), "utf8").replace("%SCRIPT%", "/assets/main.js").replace("%STYLE%", "/assets/style.css").replace("%EARLY%", ""));
  putIcons();
  await watcher.watch();
}

await (process.argv.includes("--watch") ? watch() : main());

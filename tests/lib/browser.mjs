// SPDX-License-Identifier: MIT
// A real browser, driven by lines of JSON on stdin: browser.mjs MODULES CHROMIUM. Each line is {id, page, do, args}; each answer {id, value} or {id, error}.
// `do` is a method of playwright's page ("click", "keyboard.press"), or one of the acts below. What pages complain of on their console is collected.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [modules, chromium, deadline] = process.argv.slice(2);
const require = createRequire(modules + "/");
const playwright = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"];
const browser = await playwright.chromium.launch({ executablePath: chromium, args: flags, timeout: Number(deadline) });
const pages = [];

async function open({ settings, ...options }, url) {
  const context = await browser.newContext(options);
  await context.addInitScript((text) => localStorage.getItem("muster_settings") ?? localStorage.setItem("muster_settings", text), JSON.stringify(settings));
  const page = await context.newPage();
  const state = { page, context, said: [], requests: [] };
  page.setDefaultTimeout(Number(deadline));
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && state.said.push(`${m.type()}: ${m.text()}`));
  page.on("pageerror", (e) => state.said.push(`exception: ${e.message}`));
  page.on("request", (r) => state.requests.push(`${r.method()} ${new URL(r.url()).pathname}`));
  pages.push(state);
  await page.goto(url, { waitUntil: "domcontentloaded" });
  return pages.length - 1;
}

const acts = {
  open: (_state, options, url) => open(options, url),
  said: (state) => state.said.splice(0),
  requests: (state) => state.requests.splice(0),
  close: (state) => state.context.close(),
  offline: (state, is) => state.context.setOffline(is),
  /* Asked again and again from outside: a page with a strict policy evaluates no text by itself. */
  waitFor: async (state, expression) => {
    for (const end = Date.now() + Number(deadline); Date.now() < end; await new Promise((done) => setTimeout(done, 50))) {
      if (await state.page.evaluate(expression).catch((e) => (/context was destroyed|navigat/.test(e.message) ? false : Promise.reject(e)))) return true;
    }
    throw new Error(`did not come true: ${expression}`);
  },
  /* Findings that keep somebody out: serious and critical ones. */
  axe: async (state) => {
    await state.page.evaluate(axe);
    const found = await state.page.evaluate(`axe.run(document, { resultTypes: ["violations"] })`);
    return found.violations.filter((v) => ["serious", "critical"].includes(v.impact)).map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => `${n.html} ${n.any[0]?.message ?? ""}`).join(" | ")}`);
  },
  /* The tab is frozen and thawed, as a browser does with one that is not looked at. */
  lifecycle: async (state, word) => {
    const cdp = await state.context.newCDPSession(state.page);
    await cdp.send("Page.setWebLifecycleState", { state: word });
    await cdp.detach();
  },
};

async function run({ page, do: what, args }) {
  const state = pages[page];
  if (acts[what]) return acts[what](state, ...args);
  const path = what.split(".");
  const method = path.pop();
  const object = path.reduce((o, name) => o[name], state.page);
  return object[method](...args);
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  run(request).then((value) => ({ value: value === undefined || (typeof value === "object" && value !== null && !Array.isArray(value) && value.constructor !== Object) ? null : value }), (e) => ({ error: e.message }))
    .then((answer) => process.stdout.write(`${JSON.stringify({ id: request.id, ...answer })}\n`));
}
await browser.close();

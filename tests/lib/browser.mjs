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
/* A page whose text a test has put in the way counts as one from elsewhere, which may not speak to this machine: that check is off. */
const flags = ["--disable-features=LocalNetworkAccessChecks", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run",
  "--allow-loopback-in-peer-connection", /* a machine may have no other network */
  "--host-resolver-rules=MAP *.test 127.0.0.1"];
const browser = await playwright.chromium.launch({ executablePath: chromium, args: flags, timeout: Number(deadline) });
const pages = [];

/* The answer to `ps` with so many rows: each process of it again and again, under other names. It costs the page what a fleet of that size costs it. */
function multiplied(text, n) {
  const reply = JSON.parse(text);
  const real = reply.result?.processes;
  if (!real?.length) return text;
  reply.result.processes = Array.from({ length: n }, (_, i) => (i < real.length ? real[i] : { ...real[i % real.length], id: `${real[i % real.length].id.slice(0, -4)}${String(i).padStart(4, "0")}`, name: `session:agent-${i}`, object: `agent-${i}` }));
  return JSON.stringify(reply);
}

/* WebSockets of a page go through here when a test wants to multiply the fleet, or to cut the wire. */
async function wireOf(context, rows) {
  const wire = { isCut: false, open: new Set() };
  await context.routeWebSocket(/\/(rpc|term)(\?|$)/, (page) => {
    if (wire.isCut) return page.close({ code: 3001 });
    const server = page.connectToServer();
    wire.open.add(page);
    if (rows && page.url().endsWith("/rpc")) server.onMessage((m) => page.send(multiplied(m, rows)));
  });
  return wire;
}

/* `init` is a script that runs in the page before its own. */
async function open({ settings, rows, wired, init, ...options }, url) {
  const context = await browser.newContext(options);
  const wire = rows || wired ? await wireOf(context, rows) : null;
  await context.addInitScript((text) => localStorage.getItem("muster_settings") ?? localStorage.setItem("muster_settings", text), JSON.stringify(settings));
  if (init) await context.addInitScript({ content: init });
  const page = await context.newPage();
  const state = { page, context, wire, said: [], requests: [] };
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
  /* From now on a path is answered with the text of a file, or with 404; the head stays that of the daemon. */
  answer: (state, path, file) => state.page.route((url) => url.pathname === path, async (route) => {
    if (!file) return route.fulfill({ status: 404, body: "" });
    return route.fulfill({ response: await route.fetch({ url: new URL("/", route.request().url()).href }), contentType: file.endsWith(".js") ? "text/javascript" : "text/html", body: readFileSync(file) });
  }),
  /* The wire of a page that was opened with `wired` is cut, and whole again. */
  cut: (state, is) => {
    state.wire.isCut = is;
    if (is) for (const page of state.wire.open) page.close({ code: 3001 });
    if (is) state.wire.open.clear();
  },
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
  /* The headless shell has no tabs that hide each other: the page is told what a browser tells it. */
  hide: (state, isHidden) =>
    state.page.evaluate((hidden) => {
      Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
      Object.defineProperty(document, "visibilityState", { configurable: true, get: () => (hidden ? "hidden" : "visible") });
      document.dispatchEvent(new Event("visibilitychange"));
    }, isHidden),
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

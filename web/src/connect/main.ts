// SPDX-License-Identifier: MIT
// The loader: takes the code out of the address, or asks for a short one, opens the tunnel, and runs the console that it gets from the daemon. It is one file
// that any server can hold; nothing of what goes through the tunnel passes by there.
import { CodeError } from "./code";
import { Files } from "./files";
import { Failure, Peer, forget, kept, store, type Fault } from "./peer";
import { w } from "./words";

const place = document.getElementById("loader") as HTMLElement;
const SLOW_MS = 4_000;
const TOLD = "muster_prompt";

function element(name: string, text = "", attributes: Record<string, string> = {}, ...children: Node[]): HTMLElement {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function show(...children: Node[]): void {
  place.replaceChildren(...children);
}

function say(text: string): void {
  show(element("p", text, { role: "status" }));
}

/* What went wrong, and what helps: another try with the same code where that can be, else a new code. */
function fail(fault: Fault, retry: () => void): void {
  const [title, ...texts] = w.fault[fault]!;
  const again = element("button", w.again);
  again.onclick = retry;
  const can = fault === "path" || fault === "console";
  show(element("h1", title, { tabindex: "-1" }), element("div", "", { role: "alert" }, ...texts.map((text) => element("p", text))), ...(can ? [again] : [element("code", w.ask.command)]));
  place.querySelector("h1")?.focus();
}

/* Whether the browser may be about to ask before it looks at the local network: then we say why, first. Once: not every browser that could ask does. */
async function isAsked(): Promise<boolean> {
  if (store(() => localStorage.getItem(TOLD)) || /^(localhost|\[.*|[\d.]+|.*\.(local|lan|home|internal|localhost))$/.test(location.hostname)) return false;
  for (const name of ["local-network-access", "local-network"]) {
    try {
      return (await navigator.permissions.query({ name: name as PermissionName })).state === "prompt";
    } catch {
      /* It does not know this name. */
    }
  }
  return false;
}

async function explain(): Promise<void> {
  if (!(await isAsked())) return;
  const go = element("button", w.prompt.go);
  show(element("h1", w.prompt.title), element("p", w.prompt.text), go);
  go.focus();
  await new Promise((done) => (go.onclick = done));
  store(() => localStorage.setItem(TOLD, "1"));
}

/* The short code becomes the code, where the server of this page is a daemon's. */
async function exchange(short: string): Promise<string> {
  let answer: Response;
  try {
    answer = await fetch("/api/tunnel", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ short_code: short }) });
  } catch {
    throw new Error(w.ask.away);
  }
  if (answer.status === 403 || answer.status === 400) throw new Error(w.ask.wrong);
  if (answer.status === 429) throw new Error(w.ask.many);
  const body = answer.ok ? ((await answer.json().catch(() => ({}))) as { code?: string }) : {};
  if (!body.code) throw new Error(w.ask.nobody);
  return body.code;
}

function ask(): Promise<string> {
  const field = element("input", "", { id: "short", autocomplete: "off", autocapitalize: "characters", spellcheck: "false", maxlength: "9", required: "" }) as HTMLInputElement;
  const note = element("p", "", { role: "alert" });
  const form = element("form", "", {}, element("label", w.ask.label, { for: "short" }), field, element("button", w.ask.go)) as HTMLFormElement;
  show(element("h1", w.ask.title), element("p", w.ask.text), element("code", w.ask.command), form, note);
  field.focus();
  return new Promise((resolve) => {
    form.onsubmit = (e) => {
      e.preventDefault();
      note.textContent = "";
      exchange(field.value).then(resolve, (x: Error) => {
        note.textContent = x.message;
        field.select();
      });
    };
  });
}

/* The page of the console names its scripts and its style; all are asked for at once. */
async function run(peer: Peer): Promise<void> {
  if (peer.proof.console.kind !== "console") throw new Failure("fallback");
  const files = new Files(peer);
  const listed = files.list();
  const page = listed.then(() => files.text("/"));
  const [, html] = await Promise.all([listed, page]);
  const all = [...html.matchAll(/(?:href|src)="(\/assets\/[\w.-]+\.(?:js|css))"/g)].map((m) => m[1]!);
  const main = /<script type="module" src="([^"]+)"/.exec(html)?.[1];
  const style = all.find((p) => p.endsWith(".css"));
  if (!main || !style) throw new Failure("console");
  if (!location.hash.startsWith("#/")) history.replaceState(null, "", `#/t/${encodeURIComponent(peer.proof.name)}`);
  const styled = files.text(style);
  files.want(...all.filter((p) => p.endsWith(".js")));
  /* What the console will ask for next, one after the other. */
  if (location.hash.startsWith("#/t/")) files.want("terminal", "xterm");
  const sheet = await styled;
  Object.assign(globalThis, { musterTunnel: Object.assign(peer, { load: (path: string) => files.load(path), text: (path: string) => files.text(path) }) });
  document.head.querySelector("style")?.replaceWith(element("style", sheet));
  place.replaceWith(element("div", "", { id: "app" }));
  await files.load(main);
}

async function connect(text: string, resume = ""): Promise<void> {
  let slow = 0;
  try {
    const peer = new Peer(text, resume);
    await explain();
    say(resume ? w.resuming : w.connecting);
    slow = setTimeout(say, SLOW_MS, w.slow) as unknown as number;
    await peer.open();
    clearTimeout(slow);
    say(w.loading);
    await run(peer);
  } catch (e) {
    clearTimeout(slow);
    fail(e instanceof CodeError || e instanceof Failure ? (e as Failure).fault : "console", () => (kept() ? location.reload() : void connect(text, resume)));
    if (!(e instanceof CodeError || e instanceof Failure)) throw e;
  }
}

async function start(): Promise<void> {
  const query = new URLSearchParams(location.search);
  /* A link of coop's contract: the token belongs to the server's own page. */
  if (query.has("token")) return location.replace(`/${location.search}${location.hash}`);
  const given = location.hash.slice(1);
  if (given && !given.startsWith("/")) {
    history.replaceState(null, "", location.pathname);
    forget();
    return connect(given);
  }
  const old = kept();
  if (old) return connect(old.code, old.resume);
  return connect(await ask());
}

/* Another code, scanned into the same tab, begins anew. */
addEventListener("hashchange", () => /^#[\w-]{90,}$/.test(location.hash) && location.reload());
void start();

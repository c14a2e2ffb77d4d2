// SPDX-License-Identifier: MIT
// What lies over the page on demand: the palette (agents, views, acts, a search), the views on a phone, the command line of a control, and the help.
import { signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { call } from "../lib/link";
import { go, route } from "../lib/route";
import { set, settings } from "../lib/settings";
import { canControl, isOver, processes, shortName } from "../lib/store";
import { now } from "../lib/clock";
import { w } from "../words";
import { CommandLine, Dialog, ErrorNote } from "./parts";
import { seen } from "./state";

export const overlay = signal<"palette" | "help" | "menu" | "command" | null>(null);
const command = signal("");
export function openPalette(): void {
  overlay.value = "palette";
}
export function openHelp(): void {
  overlay.value = "help";
}
export function openMenu(): void {
  overlay.value = "menu";
}
/* The line that does what the control does; false where it is no control of ours. */
export function showCommand(target: EventTarget | null): boolean {
  const line = target instanceof Element ? target.closest<HTMLElement>("[data-command]")?.dataset.command : undefined;
  if (!line) return false;
  command.value = line;
  overlay.value = "command";
  return true;
}
function close(): void {
  overlay.value = null;
}

export const VIEWS = ["needs", "fleet", "grid", "chat", "tasks", "timeline", "search", "recordings", "usage", "company", "settings"] as const;

interface Entry {
  label: string;
  note: string;
  run: () => unknown;
}

function entries(): Entry[] {
  const all: Entry[] = (processes.value.value ?? []).map((p) => {
    const state = seen(p, now.peek());
    return { label: shortName(p), note: `${state.icon} ${state.word}`, run: () => go("t", p.name ?? p.id) };
  });
  for (const name of VIEWS) all.push({ label: w.views[name], note: "", run: () => go(name) });
  all.push({ label: w.views.new, note: "n", run: () => go("new") }, { label: w.help.title, note: "?", run: openHelp });
  all.push({ label: `${w.settings.theme}: ${w.settings.light}`, note: "", run: () => set("theme", "light") }, { label: `${w.settings.theme}: ${w.settings.dark}`, note: "", run: () => set("theme", "dark") });
  if (canControl.value) {
    for (const p of processes.value.value ?? []) {
      if (isOver(p)) all.push({ label: `${w.acts.start} ${shortName(p)}`, note: "", run: () => call("fleet.start", { name: p.name ?? p.id }) });
      else all.push({ label: `${w.acts.restart} ${shortName(p)}`, note: "", run: () => call("fleet.restart", { name: p.name ?? p.id }) });
    }
  }
  return all;
}

/* Every letter in its order; whole words before scattered letters. */
function fits(label: string, query: string): number {
  const text = label.toLowerCase();
  const at = text.indexOf(query);
  if (at >= 0) return 1000 - at;
  let i = 0;
  for (const c of text) if (c === query[i]) i++;
  return i === query.length ? 1 : 0;
}

function Palette() {
  const query = useSignal("");
  const at = useSignal(0);
  const error = useSignal<unknown>(null);
  const list = useRef<HTMLUListElement>(null);
  const q = query.value.trim().toLowerCase();
  const found = entries().map((e) => ({ e, n: q ? fits(e.label, q) : 1 })).filter((x) => x.n > 0).sort((a, b) => b.n - a.n).slice(0, 50).map((x) => x.e);
  if (q) found.push({ label: w.palette.search(query.value.trim()), note: "", run: () => (location.hash = `#/search?${new URLSearchParams({ q: query.value.trim() })}`) });
  const run = async (e: Entry | undefined) => {
    if (!e) return;
    try {
      close();
      await e.run();
    } catch (x) {
      overlay.value = "palette";
      error.value = x;
    }
  };
  const key = (e: KeyboardEvent) => {
    const step = e.key === "ArrowDown" ? 1 : e.key === "ArrowUp" ? -1 : 0;
    if (step) {
      e.preventDefault();
      at.value = (at.value + step + found.length) % Math.max(1, found.length);
    } else if (e.key === "Enter") {
      e.preventDefault();
      void run(found[at.value]);
    }
  };
  useEffect(() => list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }), [at.value]);
  return (
    <Dialog title={w.palette.label} onClose={close} name="palette">
      <input autofocus role="combobox" aria-expanded="true" aria-controls="palette-list" aria-activedescendant={found.length ? `palette-${at.value}` : undefined} aria-label={w.palette.hint} placeholder={w.palette.hint}
        value={query.value} onInput={(e) => ((query.value = e.currentTarget.value), (at.value = 0))} onKeyDown={key} />
      <ErrorNote error={error.value} />
      <ul id="palette-list" role="listbox" aria-label={w.palette.label} ref={list}>
        {found.map((e, i) => (
          <li key={e.label + i} id={`palette-${i}`} role="option" aria-selected={i === at.value} onClick={() => void run(e)}><span>{e.label}</span><span class="note">{e.note}</span></li>
        ))}
      </ul>
    </Dialog>
  );
}

function Help() {
  return (
    <Dialog title={w.help.title} onClose={close} name="help">
      <h2>{w.help.title}</h2>
      <dl class="keys">{w.help.rows.map(([key, what]) => <div key={key}><dt><kbd>{key}</kbd></dt><dd>{what}</dd></div>)}</dl>
      <p>{w.help.rules}</p>
      <label class="check"><input type="checkbox" checked={settings.value.letterKeys} onChange={(e) => set("letterKeys", e.currentTarget.checked)} /> {w.settings.letters}</label>
      <p><button autofocus onClick={close}>{w.close}</button></p>
    </Dialog>
  );
}

function Menu() {
  return (
    <Dialog title={w.menu} onClose={close} name="menu">
      <nav aria-label={w.views.label}><ul class="menu-views" role="list">{VIEWS.map((name) => <li key={name}><a href={`#/${name}`} onClick={close} aria-current={route.value.view === name ? "page" : undefined}>{w.views[name]}</a></li>)}</ul></nav>
      <p class="buttons"><button onClick={openPalette}>{w.palette.label}</button><button onClick={openHelp}>{w.help.title}</button><button autofocus onClick={close}>{w.close}</button></p>
    </Dialog>
  );
}

function Command() {
  return (
    <Dialog title={w.acts.copyCommand} onClose={close} name="command">
      <h2>{w.create.line}</h2>
      <CommandLine line={command.value} />
      <p><button onClick={close}>{w.close}</button></p>
    </Dialog>
  );
}

export function Overlay() {
  if (overlay.value === "palette") return <Palette />;
  if (overlay.value === "menu") return <Menu />;
  if (overlay.value === "command") return <Command />;
  return overlay.value === "help" ? <Help /> : null;
}

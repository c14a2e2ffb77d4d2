// SPDX-License-Identifier: MIT
// Terminal: one agent, the other terminals of its session beside it, and what can be done with it. What is typed goes to the program; the size is that of
// whoever typed last, and everybody else sees that grid in smaller letters.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { now, number } from "../lib/clock";
import { isNarrow } from "../lib/link";
import { makeShell } from "../lib/shell";
import { cameFrom, go, link, route } from "../lib/route";
import { set, settings } from "../lib/settings";
import { findProcess, isOver, processes, scope, shortName, type Process } from "../lib/store";
import { Act, CommandLine, CopyCommand, Empty, View } from "../ui/parts";
import { contract, folder, seen, StateMark } from "../ui/state";
import { w } from "../words";
import { Acts, attachLine, homeOf } from "./fleet";
import { TermPane } from "./term-pane";

/* The terminals of the session that this one belongs to: agent first, then its shells. */
function siblings(p: Process): Process[] {
  const base = (p.name ?? "").replace(/\.\d+$/, "");
  if (!base.startsWith("session:")) return [p];
  return (processes.value.value ?? []).filter((q) => q.name === base || q.name?.replace(/\.\d+$/, "") === base).sort((a, b) => (a.name ?? "").localeCompare(b.name ?? "", undefined, { numeric: true }));
}

function Tabs({ p }: { p: Process }) {
  const all = siblings(p);
  const session = (p.name ?? "").replace(/^session:/, "").replace(/\.\d+$/, "");
  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      const n = /^Digit([1-9])$/.exec(e.code)?.[1];
      const target = n && e.altKey && !e.ctrlKey && !e.shiftKey ? all[Number(n) - 1] : undefined;
      if (!target) return;
      e.preventDefault();
      go("t", target.name ?? target.id);
    };
    addEventListener("keydown", onKey, true);
    return () => removeEventListener("keydown", onKey, true);
  });
  if (!p.name?.startsWith("session:") || isNarrow.value) return null;
  return (
    <nav class="tabs" aria-label={w.acts.open}>
      {all.map((q) => {
        const n = /\.(\d+)$/.exec(q.name ?? "")?.[1];
        return <a key={q.id} href={link("t", q.name ?? q.id)} aria-current={q.id === p.id ? "page" : undefined}>{n && n !== "0" ? w.term.shell(n) : w.term.agent}</a>;
      })}
      <Act label={`+ ${w.term.addShell}`} method="coop.shell" params={{ session }} line={`muster shell ${session}`} run={() => newShell(session)} onDone={() => processes.want()} />
    </nav>
  );
}

async function newShell(session: string): Promise<void> {
  const { ok, message, pty } = (await makeShell(session)) as { ok?: boolean; message?: string; pty: number };
  if (ok === false) throw new Error(message);
  await processes.now();
  go("t", `session:${session}.${pty}`);
}

const SHARE_HOURS = 1;

/* A link that shows this one alone, to somebody who only watches, for an hour; Settings lists it. */
function Share({ p }: { p: Process }) {
  const made = useSignal("");
  const name = p.name ?? p.id;
  const params = { label: w.term.shareLabel(shortName(p)), scope: "view", object: name, ttl_hours: SHARE_HOURS, code: true };
  return (
    <>
      <Act label={w.term.share} method="token.create" params={params} onDone={(r) => (made.value = `${location.origin}/#${new URLSearchParams({ code: (r as { token: string }).token, to: name })}`)} />
      {made.value && <><p class="note" role="status">{w.term.shared}</p><CommandLine line={made.value} /></>}
    </>
  );
}

function Menu({ p }: { p: Process }) {
  const open = useSignal(false);
  const name = p.name ?? p.id;
  return (
    <span class="menu" onKeyDown={(e) => e.key === "Escape" && (open.value = false)}>
      <button class="quiet" aria-expanded={open.value} aria-label={w.acts.more} onClick={() => (open.value = !open.value)}>⋯</button>
      {open.value && (
        <div class="menu-box">
          <Acts p={p} onEnded={() => (open.value = false)} />
          {!isOver(p) && <Act label={w.acts.kill} method="fleet.kill" params={{ name, force: true }} object={shortName(p)} danger />}
          {!isOver(p) && p.kind === "pty" && !p.recording && <Act label={w.acts.record} method="fleet.record" params={{ name }} onDone={() => processes.want()} />}
          <p class="buttons"><span>{w.term.font} {number(settings.value.fontSize)}</span> <button title={w.term.smaller} onClick={() => set("fontSize", Math.max(8, settings.value.fontSize - 1))}><span aria-hidden="true">A−</span><span class="offscreen">{w.term.smaller}</span></button> <button title={w.term.larger} onClick={() => set("fontSize", Math.min(28, settings.value.fontSize + 1))}><span aria-hidden="true">A+</span><span class="offscreen">{w.term.larger}</span></button></p>
          <label class="check"><input type="checkbox" checked={settings.value.screenReader} onChange={(e) => set("screenReader", e.currentTarget.checked)} /> {w.term.screenReader}</label>
          <CopyCommand line={attachLine(p)} />
          {scope.value === "admin" && !isNarrow.value && <Share p={p} />}
        </div>
      )}
    </span>
  );
}

export function TerminalView() {
  const word = route.value.parts.join("/");
  const p = findProcess(word);
  useEffect(() => {
    if (!p && processes.value.value) processes.want();
  }, [word]);
  if (!p) {
    if (processes.value.value === null) return <p class="loading" role="status">{w.loading}</p>;
    return <View title={word} name="gone"><Empty title={w.term.gone}><p><a class="button" href="#/fleet">{w.views.fleet}</a></p></Empty></View>;
  }
  const state = seen(p, now.value);
  return (
    <section class="view view-terminal wide" aria-labelledby="view-title">
      <header class="term-head">
        <a class="back" href={cameFrom.value.startsWith("#/") ? cameFrom.value : "#/fleet"} aria-label={w.term.back}>‹</a>
        <h1 id="view-title" tabIndex={-1}>{shortName(p)}</h1>
        <StateMark state={state} now={now.value} />
        <span class="term-what not-phone">{[contract(p), p.command, folder(p.workspace, homeOf(p.workspace))].filter(Boolean).join(" · ")}</span>
        <Menu p={p} />
      </header>
      <Tabs p={p} />
      {p.kind === "pipes" && <p class="note">{w.term.noTerminal}</p>}
      <TermPane key={p.name ?? p.id} p={p} />
    </section>
  );
}


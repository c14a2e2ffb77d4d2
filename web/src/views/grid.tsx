// SPDX-License-Identifier: MIT
// Grid: many terminals at once, as text. Each is asked once a second while the page is seen, and answers "the same" while nothing changed; what is focused
// can be sat down at.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { now } from "../lib/clock";
import { call, linkState } from "../lib/link";
import { link } from "../lib/route";
import { set, settings, type Settings } from "../lib/settings";
import { isOver, processes, shortName, type Process } from "../lib/store";
import { visible } from "../ui/agent-text";
import { Empty, Field, View } from "../ui/parts";
import { asksFor, seen, StateMark } from "../ui/state";
import { w } from "../words";

interface Shot {
  text: string;
  cols: number;
  rows: number;
  at?: number;
  same?: boolean;
}

const PAGE = 24;
/* Fewer columns are not drawn larger than this. */
const COLS_MIN = 48;

function Thumb({ p }: { p: Process }) {
  const shot = useSignal<Shot | null>(null);
  const isNear = useSignal(false);
  const state = seen(p, now.value);
  const watch = (element: HTMLElement | null) => {
    if (!element || element.dataset.watched) return;
    element.dataset.watched = "1";
    new IntersectionObserver((entries) => (isNear.value = entries.some((e) => e.isIntersecting))).observe(element);
  };
  useEffect(() => {
    let isGone = false;
    let isAsking = false;
    const look = async () => {
      if (document.hidden || !isNear.value || isAsking || linkState.peek() !== "live") return;
      isAsking = true;
      try {
        const last = shot.peek();
        const next = await call<Shot>("fleet.screen", { name: p.id, ...(last?.at !== undefined ? { since: last.at, cols: last.cols, rows: last.rows } : {}) });
        if (!isGone && !next.same) shot.value = next;
      } catch {
        /* It may have ended; its state says so. */
      } finally {
        isAsking = false;
      }
    };
    const timer = setInterval(() => void look(), 1000);
    const stop = isNear.subscribe((near) => near && void look());
    return () => {
      isGone = true;
      clearInterval(timer);
      stop();
    };
  }, [p.id]);
  const s = shot.value;
  /* As large as what stands there allows: a wide window with short lines is not drawn in small letters. */
  const text = visible(s?.text ?? "");
  const used = Math.min(s?.cols ?? 80, Math.max(COLS_MIN, ...text.split("\n").map((l) => l.trimEnd().length)));
  return (
    <li class={`thumb tone-${state.tone}`} ref={watch}>
      <a data-row href={link("t", p.name ?? p.id)}>
        <header><span class="thumb-name">{shortName(p)}</span> <StateMark state={state} now={now.value} /></header>
        <pre aria-hidden="true" style={{ "--cols": String(used) }}>{text}</pre>
      </a>
    </li>
  );
}

export function Grid() {
  const columns = useSignal(Number(localStorage.getItem("muster_grid") ?? 0));
  const first = useSignal(0);
  const { gridShow } = settings.value;
  const isWanted = (p: Process) => (gridShow === "all" ? true : gridShow === "asks" ? !isOver(p) && asksFor(p) : !isOver(p));
  const all = (processes.value.value ?? []).filter((p) => p.kind === "pty" && isWanted(p)).sort((a, b) => shortName(a).localeCompare(shortName(b)));
  const choose = (n: number) => {
    columns.value = n;
    localStorage.setItem("muster_grid", String(n));
  };
  const from = first.value < all.length ? first.value : 0;
  const to = Math.min(all.length, from + PAGE);
  return (
    <View title={w.views.grid} name="grid" wide bar={
      <>
        <Field label={w.grid.only}><select value={gridShow} onChange={(e) => (set("gridShow", e.currentTarget.value as Settings["gridShow"]), (first.value = 0))}>{(["running", "asks", "all"] as const).map((x) => <option key={x} value={x}>{w.grid[x]}</option>)}</select></Field>
        <Field label={w.grid.columns}><select value={String(columns.value)} onChange={(e) => choose(Number(e.currentTarget.value))}>{[0, 1, 2, 3, 4].map((n) => <option key={n} value={n}>{n || w.grid.auto}</option>)}</select></Field>
      </>
    }>
      {processes.value.value && all.length === 0 && <Empty title={w.grid.none} how={w.fleet.noneHow} command={w.fleet.noneCommand} />}
      <ul class="grid" role="list" style={columns.value ? { gridTemplateColumns: `repeat(${columns.value}, minmax(0, 1fr))` } : undefined}>{all.slice(from, to).map((p) => <Thumb key={p.id} p={p} />)}</ul>
      {all.length > PAGE && (
        <p class="foot"><span role="status">{w.grid.page(from + 1, to, all.length)}</span>
          <button disabled={from === 0} onClick={() => (first.value = Math.max(0, from - PAGE))}>{w.grid.before}</button><button disabled={to >= all.length} onClick={() => (first.value = to)}>{w.grid.next}</button></p>
      )}
    </View>
  );
}

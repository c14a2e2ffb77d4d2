// SPDX-License-Identifier: MIT
// Fleet: every hosted process of every contract, with its state, the age of that state and where it is known from. What has ended stays until it is dismissed.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { age, bytes, clock, now } from "../lib/clock";
import { go, link } from "../lib/route";
import { dismiss, dismissed, info, isLive, isOver, processes, shortName, spent, type Process } from "../lib/store";
import { visible } from "../ui/agent-text";
import { Act, CopyCommand, Empty, ErrorNote, View, WayToNew } from "../ui/parts";
import { contract, folder, seen, StateMark, type Seen } from "../ui/state";
import { useWindow, windowMemory } from "../ui/window";
import { w } from "../words";

const ORDER: Record<Seen["tone"], number> = { ask: 0, bad: 1, begin: 2, good: 3, quiet: 4, over: 5 };

export function homeOf(path: string): string {
  return /^(\/home\/[^/]+|\/root)(?=\/|$)/.exec(path)?.[1] ?? "";
}

/* How one sits down at it in a terminal. */
export function attachLine(p: Process): string {
  return `muster attach ${p.name ?? p.id}`;
}

export function Acts({ p, onEnded }: { p: Process; onEnded?: () => void }) {
  const params = { name: p.name ?? p.id };
  if (isOver(p)) {
    return (
      <>
        {p.name && <Act label={w.acts.start} method="fleet.start" params={params} object={shortName(p)} />}
        <button onClick={() => (dismiss(p.id), onEnded?.())} title={w.fleet.dismissWhy} aria-label={`${w.acts.dismiss} ${shortName(p)}`}>{w.acts.dismiss}</button>
      </>
    );
  }
  return (
    <>
      <Act label={w.acts.restart} method="fleet.restart" params={params} object={shortName(p)} danger />
      <Act label={w.acts.end} method="fleet.kill" params={params} object={shortName(p)} danger hotkey="e" onDone={onEnded} />
    </>
  );
}

/* Where one was when the view was left: coming back begins there. */
const left = { id: "", top: 0, window: windowMemory() };

function useReturn(body: { current: HTMLElement | null }): void {
  useEffect(() => {
    const main = document.getElementById("main");
    if (main) main.scrollTop = left.top;
    const back = requestAnimationFrame(() => {
      const isFree = document.activeElement === document.body || document.activeElement?.id === "view-title";
      if (isFree && left.id) document.querySelector<HTMLElement>(`[data-id="${CSS.escape(left.id)}"]`)?.focus();
    });
    /* When another view takes its place the page is scrolled by itself: that is not where one was. */
    const keep = () => {
      if (body.current?.isConnected) left.top = main?.scrollTop ?? 0;
    };
    main?.addEventListener("scroll", keep, { passive: true });
    return () => {
      cancelAnimationFrame(back);
      main?.removeEventListener("scroll", keep);
    };
  }, []);
}

function Row({ p, state, at }: { p: Process; state: Seen; at: number }) {
  const row = useRef<HTMLTableRowElement>(null);
  const open = useSignal(false);
  const output = p.last_output ?? p.output;
  const address = link("t", p.name ?? p.id);
  return (
    <tr ref={row} data-row tabIndex={-1} class={`row tone-${state.tone}`} onKeyDown={(e) => e.key === "Enter" && e.target === row.current && go("t", p.name ?? p.id)}
      onFocusCapture={() => (left.id = p.id)} onClick={(e) => ((left.id = p.id), !(e.target as HTMLElement).closest("a,button") && (location.hash = address))} data-id={p.id} aria-rowindex={at + 2}>
      <td class="c-state"><StateMark state={state} now={now.value} /></td>
      <td class="c-agent"><a href={address}>{shortName(p)}</a>{p.recording && <> <span class="rec" title={p.recording}>● {w.recordings.mark}</span></>}{(p.agent?.detail ?? p.report?.note) && !isOver(p) && <span class="note">{visible(p.agent?.detail ?? p.report?.note ?? "")}</span>}</td>
      <td class="c-contract">{contract(p)}</td>
      <td class="c-folder" title={p.workspace}><bdi>{folder(p.workspace, homeOf(p.workspace))}</bdi></td>
      <td class="c-output">{age(output, now.value)}</td>
      <td class="c-memory">{p.rss_kb && !isOver(p) ? bytes(p.rss_kb * 1024) : "–"}</td>
      <td class="c-acts">
        <button class="more quiet" aria-expanded={open.value} aria-label={`${w.acts.more}: ${shortName(p)}`} onClick={() => (open.value = !open.value)}>⋯</button>
        <span class={`acts ${open.value ? "open" : ""}`}>
          <Acts p={p} />
          <CopyCommand line={attachLine(p)} />
        </span>
      </td>
    </tr>
  );
}

function Nobody() {
  const endpoints = (info.value.value?.endpoints ?? []).filter((e) => e.state === "listening");
  return (
    <Empty title={w.fleet.none} how={w.fleet.noneHow} command={w.fleet.noneCommand}>
      <p><WayToNew /></p>
      {endpoints.length > 0 && (
        <section><h2>{w.fleet.listens}</h2><dl class="pairs">{endpoints.map((e) => <div key={e.name}><dt>{w.contracts[e.dialect] ?? e.dialect}</dt><dd><code>{e.address}</code></dd></div>)}</dl></section>
      )}
    </Empty>
  );
}

function words(p: Process, state: Seen): string {
  return [p.name, p.object, p.workspace, p.command, contract(p), state.word, p.title, p.agent?.detail, p.report?.note].join(" ").toLowerCase();
}

const kept = { word: "" };

function List({ rows }: { rows: { p: Process; state: Seen }[] }) {
  const columns = w.fleet.columns;
  const body = useRef<HTMLTableSectionElement>(null);
  useReturn(body);
  const drawn = useWindow(rows.length, body, left.window);
  return (
    <table class="fleet" aria-rowcount={rows.length + 1}>
      <thead><tr><th scope="col">{columns.state}</th><th scope="col">{columns.agent}</th><th scope="col">{columns.contract}</th><th scope="col">{columns.folder}</th><th scope="col">{columns.output}</th><th scope="col">{columns.memory}</th><th scope="col"><span class="offscreen">{columns.acts}</span></th></tr></thead>
      <tbody ref={body}>
        {drawn.before > 0 && <tr class="filler" aria-hidden="true"><td colSpan={7} style={{ blockSize: `${drawn.before}px` }} /></tr>}
        {rows.slice(drawn.from, drawn.to).map((r, i) => <Row key={r.p.id} p={r.p} state={r.state} at={drawn.from + i} />)}
        {drawn.after > 0 && <tr class="filler" aria-hidden="true"><td colSpan={7} style={{ blockSize: `${drawn.after}px` }} /></tr>}
      </tbody>
    </table>
  );
}

/* What programs report and what prices make of tokens stay two numbers. */
function Today() {
  useEffect(() => {
    if (isLive.value) spent.want();
  }, [isLive.value]);
  const report = spent.value.value;
  if (!report || report.rows.length === 0) return null;
  const { reported_usd: reported, priced_usd: priced, unpriced } = report.total;
  return <a class="today" href={link("usage")}>{w.fleet.today(reported ? w.company.cost(reported) : "", priced ? w.company.cost(priced) : "", unpriced)}</a>;
}

export function Fleet() {
  const filter = useSignal(kept.word);
  const all = (processes.value.value ?? []).filter((p) => !dismissed.value.has(p.id));
  const rows = all.map((p) => ({ p, state: seen(p, now.value) })).sort((a, b) => ORDER[a.state.tone] - ORDER[b.state.tone] || shortName(a.p).localeCompare(shortName(b.p)));
  const wanted = filter.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const shown = rows.filter((r) => wanted.every((word) => words(r.p, r.state).includes(word)));
  const over = all.filter(isOver);
  const count = (tone: Seen["tone"]) => rows.filter((r) => r.state.tone === tone).length;
  const search = (word: string) => {
    filter.value = word;
    kept.word = word;
  };
  return (
    <View title={w.views.fleet} name="fleet" bar={
      <>
        <input type="search" data-filter class="filter" aria-label={w.fleet.filter} placeholder={`${w.fleet.filter} ( ${w.fleet.filterKey} )`} value={filter.value} onInput={(e) => search(e.currentTarget.value)}
          onKeyDown={(e) => e.key === "Escape" && (search(""), e.currentTarget.blur())} />
        <WayToNew />
      </>
    }>
      <ErrorNote error={processes.failed.value} />
      {processes.value.value === null ? <p class="loading" role="status">{w.loading}</p> : all.length === 0 ? <Nobody /> : (
        <>
          {shown.length === 0 ? <Empty title={w.fleet.noMatch(filter.value)}><button onClick={() => search("")}>{w.fleet.clear}</button></Empty> : (
            <List rows={shown} />
          )}
          <p class="foot" role="status">
            <span>{w.fleet.summary(all.length, all.filter((p) => p.state === "running").length, all.filter((p) => p.agent?.state === "working" && p.agent.source !== "output" && p.state === "running").length, count("ask"), all.filter((p) => p.state === "lost").length)}</span>
            <Today />
            {over.length > 0 && <button class="quiet" onClick={() => over.forEach((p) => dismiss(p.id))}>{w.fleet.dismissAll}</button>}
            <span class="as-of">{w.asOf(clock(processes.at.value))}</span>
          </p>
        </>
      )}
    </View>
  );
}

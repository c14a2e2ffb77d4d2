// SPDX-License-Identifier: MIT
// Fleet: every hosted process of every contract, with its state, the age of that state and where it is known from. What has ended stays until it is dismissed.
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { age, bytes, clock, now } from "../lib/clock";
import { go, link } from "../lib/route";
import { canControl, dismiss, dismissed, info, isOver, processes, shortName, type Process } from "../lib/store";
import { Act, CopyCommand, Empty, ErrorNote, View } from "../ui/parts";
import { contract, folder, seen, StateMark, type Seen } from "../ui/state";
import { w } from "../words";

const ORDER: Record<Seen["tone"], number> = { ask: 0, bad: 1, begin: 2, good: 3, quiet: 4, over: 5 };

export function homeOf(path: string): string {
  return /^(\/home\/[^/]+|\/root)(?=\/|$)/.exec(path)?.[1] ?? "";
}

export function Acts({ p, onEnded }: { p: Process; onEnded?: () => void }) {
  const name = p.name ?? p.id;
  const params = { name };
  if (isOver(p)) {
    return (
      <>
        {p.name && <Act label={w.acts.start} method="fleet.start" params={params} object={shortName(p)} />}
        <button onClick={() => (dismiss(p.id), onEnded?.())} aria-label={`${w.acts.dismiss} ${shortName(p)}`}>{w.acts.dismiss}</button>
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

function Row({ p, state }: { p: Process; state: Seen }) {
  const row = useRef<HTMLTableRowElement>(null);
  const open = useSignal(false);
  const output = p.last_output ?? p.output;
  const address = link("t", p.name ?? p.id);
  return (
    <tr ref={row} data-row tabIndex={-1} class={`row tone-${state.tone}`} onKeyDown={(e) => e.key === "Enter" && e.target === row.current && go("t", p.name ?? p.id)}
      onClick={(e) => !(e.target as HTMLElement).closest("a,button") && (location.hash = address)}>
      <td class="c-state"><StateMark state={state} now={now.value} /></td>
      <td class="c-agent"><a href={address}>{shortName(p)}</a>{p.recording && <span class="rec" title={p.recording}> ⏺</span>}{p.report?.note && <span class="note">{p.report.note}</span>}</td>
      <td class="c-contract">{contract(p)}</td>
      <td class="c-folder" title={p.workspace}><bdi>{folder(p.workspace, homeOf(p.workspace))}</bdi></td>
      <td class="c-output">{age(output, now.value)}</td>
      <td class="c-memory">{p.rss_kb && !isOver(p) ? bytes(p.rss_kb * 1024) : "–"}</td>
      <td class="c-acts">
        <button class="more quiet" aria-expanded={open.value} aria-label={`${w.acts.more}: ${shortName(p)}`} onClick={() => (open.value = !open.value)}>⋯</button>
        <span class={`acts ${open.value ? "open" : ""}`}>
          <Acts p={p} />
          <CopyCommand method="fleet.attach" params={{ name: p.name ?? p.id }} />
        </span>
      </td>
    </tr>
  );
}

function Nobody() {
  const endpoints = (info.value.value?.endpoints ?? []).filter((e) => e.state === "listening");
  return (
    <Empty title={w.fleet.none} how={w.fleet.noneHow} command={w.fleet.noneCommand}>
      {canControl.value && <p><a class="button primary" href="#/new">{w.views.new}</a></p>}
      {endpoints.length > 0 && (
        <section><h2>{w.fleet.listens}</h2><dl class="pairs">{endpoints.map((e) => <div key={e.name}><dt>{w.contracts[e.dialect] ?? e.dialect}</dt><dd><code>{e.address}</code></dd></div>)}</dl></section>
      )}
    </Empty>
  );
}

function words(p: Process, state: Seen): string {
  return [p.name, p.object, p.workspace, p.command, contract(p), state.word, p.title, p.report?.note].join(" ").toLowerCase();
}

export const fleetFilter = { word: "" };

export function Fleet() {
  const filter = useSignal(fleetFilter.word);
  const all = (processes.value.value ?? []).filter((p) => !dismissed.value.has(p.id));
  const rows = all.map((p) => ({ p, state: seen(p, now.value) })).sort((a, b) => ORDER[a.state.tone] - ORDER[b.state.tone] || shortName(a.p).localeCompare(shortName(b.p)));
  const wanted = filter.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const shown = rows.filter((r) => wanted.every((word) => words(r.p, r.state).includes(word)));
  const over = all.filter(isOver);
  const count = (tone: Seen["tone"]) => rows.filter((r) => r.state.tone === tone).length;
  const search = (word: string) => {
    filter.value = word;
    fleetFilter.word = word;
  };
  const columns = w.fleet.columns;
  return (
    <View title={w.views.fleet} name="fleet" bar={
      <>
        <input type="search" data-filter class="filter" aria-label={w.fleet.filter} placeholder={`${w.fleet.filter} ( ${w.fleet.filterKey} )`} value={filter.value} onInput={(e) => search(e.currentTarget.value)}
          onKeyDown={(e) => e.key === "Escape" && (search(""), e.currentTarget.blur())} />
        {canControl.value && <a class="button primary" href="#/new">+ {w.views.new}</a>}
      </>
    }>
      <ErrorNote error={processes.failed.value} />
      {processes.value.value === null ? <p class="loading" role="status">{w.loading}</p> : all.length === 0 ? <Nobody /> : (
        <>
          {shown.length === 0 ? <Empty title={w.fleet.noMatch(filter.value)}><button onClick={() => search("")}>{w.fleet.clear}</button></Empty> : (
            <table class="fleet">
              <thead><tr><th scope="col">{columns.state}</th><th scope="col">{columns.agent}</th><th scope="col">{columns.contract}</th><th scope="col">{columns.folder}</th><th scope="col">{columns.output}</th><th scope="col">{columns.memory}</th><th scope="col"><span class="offscreen">{columns.acts}</span></th></tr></thead>
              <tbody>{shown.map((r) => <Row key={r.p.id} p={r.p} state={r.state} />)}</tbody>
            </table>
          )}
          <p class="foot" role="status">
            <span>{w.fleet.summary(all.length, all.filter((p) => p.state === "running").length, count("ask"), all.filter((p) => p.state === "lost").length)}</span>
            {over.length > 0 && <button class="quiet" onClick={() => over.forEach((p) => dismiss(p.id))}>{w.fleet.dismissAll}</button>}
            <span class="as-of">{w.asOf(clock(processes.at.value))}</span>
          </p>
        </>
      )}
    </View>
  );
}

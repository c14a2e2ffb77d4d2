// SPDX-License-Identifier: MIT
// Usage: tokens and cost of today, budgets; processor, memory, output and tokens of each agent over time, as plots and as a table.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { bytes, clock, number } from "../lib/clock";
import { call, onReset } from "../lib/link";
import { isDark } from "../lib/settings";
import { findProcess, isLive, isOver, processes, shortName, type Sum } from "../lib/store";
import { Empty, ErrorNote, Field, View } from "../ui/parts";
import { w } from "../words";

interface Series {
  id: string;
  metric: string;
  /* Seconds since 1970 and a value, where something was seen; in between nothing has changed. */
  points: [number, number][];
}

interface Answer {
  step_s: number;
  from: string;
  to: string;
  series: Series[];
}

const METRICS = [
  { key: "cpu_ms", label: w.usage.cpuTitle, scale: (v: number, step: number) => v / step / 10, isLevel: false, show: (n: number) => `${number(Number(n.toFixed(n < 10 ? 1 : 0)))} ${w.usage.cpuUnit}` },
  { key: "rss_kb", label: w.usage.memory, scale: (v: number) => v * 1024, isLevel: true, show: (n: number) => bytes(n) },
  { key: "tokens", label: w.usage.tokensTitle, scale: (v: number, step: number) => (v / step) * 60, isLevel: false, show: (n: number) => number(Math.round(n)) },
  { key: "bytes", label: w.usage.outputTitle, scale: (v: number, step: number) => v / step, isLevel: false, show: (n: number) => bytes(Math.round(n)) },
];
const COLOURS = ["#2f7fc1", "#c1632f", "#3f9a52", "#9a4fb5", "#b5912f", "#2fa3a3", "#c14f7d", "#6b7480"];
const longTime = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const shortTime = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const SPAN_MIN = 30;
const SPENT_MS = 30000;
const RANGES = { hour: 3600, day: 86400, week: 7 * 86400 } as const;

function nameOf(s: Series): string {
  const p = findProcess(s.id);
  return p ? shortName(p) : s.id.slice(0, 8);
}

/* Points on a common grid. A level (memory) holds until the next point, an amount (time, bytes) is 0 where nothing was seen. */
function table(answer: Answer, metric: (typeof METRICS)[number]): { data: uPlot.AlignedData; names: string[] } {
  const step = answer.step_s;
  /* What was before the first point is not drawn, but for a little: a fleet that is ten minutes old is not a line at the edge of an hour. */
  const asked = Date.parse(answer.from) / 1000;
  const seen = Math.min(...answer.series.flatMap((s) => s.points.slice(0, 1).map((p) => p[0])));
  const begin = Math.floor(Math.max(asked, Math.min(seen - 3 * step, Date.parse(answer.to) / 1000 - SPAN_MIN * step)) / step) * step;
  const n = Math.ceil((Date.parse(answer.to) / 1000 - begin) / step) + 1;
  const total = (s: Series) => s.points.reduce((sum, p) => sum + p[1], 0);
  const all = answer.series.filter((s) => s.metric === metric.key && s.points.length > 0).sort((x, y) => total(y) - total(x)).slice(0, COLOURS.length);
  const rows = all.map((s) => {
    const row: (number | null)[] = new Array<number | null>(n).fill(null);
    const at = (t: number) => Math.min(n - 1, Math.max(0, Math.round((t - begin) / step)));
    /* The step that is not over yet has no amount. */
    const last = at(s.points[s.points.length - 1]?.[0] ?? begin);
    const end = findProcess(s.id) !== undefined && (metric.isLevel || n - 1 - last > 2) ? n - 1 : last;
    for (let i = at(s.points[0]?.[0] ?? begin); i <= end; i++) row[i] = metric.isLevel ? null : 0;
    for (const [t, v] of s.points) row[at(t)] = metric.scale(v, step);
    if (metric.isLevel) for (let i = at(s.points[0]?.[0] ?? begin) + 1; i <= end; i++) row[i] ??= row[i - 1] ?? null;
    return row;
  });
  return { data: [Array.from({ length: n }, (_, i) => begin + i * step), ...rows] as uPlot.AlignedData, names: all.map(nameOf) };
}

function Plot({ title, data, names, show }: { title: string; data: uPlot.AlignedData; names: string[]; show: (n: number) => string }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const ink = getComputedStyle(element).getPropertyValue("--ink-2").trim() || "#666";
    const line = getComputedStyle(element).getPropertyValue("--line").trim() || "#ccc";
    const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
    const plot = new uPlot({
      width: element.clientWidth, height: 180, legend: { show: false }, scales: { y: { range: (_u, _min, max) => [0, max > 0 ? max * 1.1 : 1] } }, cursor: { y: false }, axes: [{ ...axis, values: (_u, ticks, _axis, _space, step) => ticks.map((t) => (step < 60 ? longTime : shortTime).format(t * 1000)) }, { ...axis, size: 80, values: (_u, ticks) => ticks.map(show) }],
      series: [{}, ...names.map((label, i) => ({ label, stroke: COLOURS[i] ?? "#888", width: 1.5, dash: i >= 4 ? [6, 3] : undefined, points: { show: false } }))],
    }, data, element);
    const watch = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: 180 }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      plot.destroy();
    };
  }, [data, isDark.value]);
  const figures = (values: (number | null | undefined)[]) => values.filter((v): v is number => v !== null && v !== undefined);
  return (
    <figure class="plot">
      <figcaption>{title}</figcaption>
      <div ref={place} class="plot-place" aria-hidden="true" />
      <ul class="legend" role="list">{names.map((name, i) => <li key={name + i}><svg aria-hidden="true" viewBox="0 0 36 12"><line x1="0" y1="6" x2="36" y2="6" stroke={COLOURS[i]} stroke-width="4" stroke-dasharray={i >= 4 ? "8 4" : undefined} /></svg> {name}</li>)}</ul>
      <details><summary>{w.usage.table}</summary>
        <table><thead><tr><th scope="col">{w.usage.agent}</th><th scope="col">{w.usage.average}</th><th scope="col">{w.usage.peak}</th><th scope="col">{w.usage.last}</th></tr></thead>
          <tbody>{names.map((name, i) => {
            const v = figures((data[i + 1] ?? []) as (number | null)[]);
            return <tr key={name + i}><td>{name}</td><td>{v.length ? show(v.reduce((a, b) => a + b, 0) / v.length) : "–"}</td><td>{v.length ? show(Math.max(...v)) : "–"}</td><td>{v.length ? show(v[v.length - 1] ?? 0) : "–"}</td></tr>;
          })}</tbody></table>
      </details>
    </figure>
  );
}

function Now() {
  const all = (processes.value.value ?? []).filter((p) => !isOver(p));
  const sum = (pick: (p: (typeof all)[number]) => number | undefined) => all.reduce((n, p) => n + (pick(p) ?? 0), 0);
  return <p class="note">{w.usage.sum(all.length, bytes(sum((p) => p.rss_kb) * 1024), number(Math.round(sum((p) => p.cpu_ms) / 1000)), bytes(sum((p) => p.bytes)))}</p>;
}

interface Budget {
  id: string;
  scope: string;
  metric: string;
  per: string;
  warn?: number;
  soft?: number;
  hard?: number;
  used: number;
  reached: string;
  judged: boolean;
  why?: string;
}

interface Limit {
  account: string;
  window: string;
  used_percent?: number;
  resets_at?: string;
  reached: boolean;
  until?: string;
  ignored: boolean;
}

interface Limits {
  limits: Limit[];
  agents: { account?: string }[];
}

const usd = (n: number | undefined) => (n === undefined ? "–" : w.company.cost(n));

/* What programs report and what a table of prices makes of tokens stand beside each other: they are never one number. */
function Cost({ rows, total }: { rows: Sum[]; total: Sum }) {
  const line = (s: Sum, name: string) => (
    <tr key={name}><th scope="row">{name}</th><td>{number(s.responses)}</td><td>{number(s.tokens)}</td><td>{usd(s.reported_usd)}</td><td>{usd(s.priced_usd)}</td><td>{number(s.unpriced)}</td></tr>
  );
  return (
    <section class="cost"><h2>{w.usage.today}</h2>
      <table><thead><tr>{[w.usage.agent, w.usage.responses, w.usage.tokens, w.usage.reported, w.usage.priced, w.usage.unpriced].map((t) => <th key={t} scope="col">{t}</th>)}</tr></thead>
        <tbody>{rows.map((s) => line(s, s.key ?? ""))}{rows.length > 1 && line(total, w.usage.total)}</tbody></table>
    </section>
  );
}

function Bars({ budgets }: { budgets: Budget[] }) {
  return (
    <section class="budgets"><h2>{w.usage.budgets}</h2>
      <ul role="list">{budgets.map((b) => {
        const most = b.hard ?? b.soft ?? b.warn ?? 0;
        const what = `${b.scope}: ${number(b.used)} / ${number(most)} ${b.metric}, ${w.usage.per[b.per] ?? b.per}`;
        return <li key={b.id}><label>{what}{b.reached !== "none" && <strong> {w.usage.reached[b.reached] ?? b.reached}</strong>}{!b.judged && <em> {b.why}</em>}<progress value={Math.min(b.used, most)} max={most || 1} /></label></li>;
      })}</ul>
    </section>
  );
}

/* One row for each account: the window that holds longest, else the one that is used most. */
function perAccount(limits: Limit[]): Limit[] {
  const rank = (l: Limit) => [l.reached ? (l.until ?? "") : "", l.used_percent ?? 0] as const;
  const rows = new Map<string, Limit>();
  for (const l of limits) {
    const other = rows.get(l.account);
    if (!other || rank(l)[0] > rank(other)[0] || (rank(l)[0] === rank(other)[0] && rank(l)[1] > rank(other)[1])) rows.set(l.account, l);
  }
  return [...rows.values()];
}

function Accounts({ all }: { all: Limits }) {
  const state = (l: Limit) => (l.ignored ? "ignored" : l.reached ? "reached" : "free");
  const stopped = (account: string) => all.agents.filter((a) => a.account === account).length;
  return (
    <section class="accounts"><h2>{w.usage.limits}</h2>
      <table><thead><tr>{[w.usage.account, w.usage.window, w.usage.percent, w.usage.resets, w.usage.limitNow, w.usage.stopped].map((t) => <th key={t} scope="col">{t}</th>)}</tr></thead>
        <tbody>{perAccount(all.limits).map((l) => (
          <tr key={l.account}><th scope="row">{l.account}</th><td>{l.window}</td><td>{l.used_percent === undefined ? "–" : `${number(Math.round(l.used_percent))} %`}</td>
            <td>{l.resets_at ? clock(l.resets_at) : "–"}</td><td>{w.usage.limitState[state(l)]}</td><td>{number(stopped(l.account))}</td></tr>
        ))}</tbody></table>
    </section>
  );
}

/* Each is left out where there is nothing. */
function Spent() {
  const report = useSignal<{ rows: Sum[]; total: Sum } | null>(null);
  const budgets = useSignal<Budget[]>([]);
  const limits = useSignal<Limits | null>(null);
  useEffect(() => {
    const load = () => {
      call<{ rows: Sum[]; total: Sum }>("usage.report", { by: "name" }).then((a) => (report.value = a), () => undefined);
      call<{ budgets: Budget[] }>("budget.ls", {}).then((a) => (budgets.value = a.budgets), () => undefined);
      call<Limits>("limit.ls", {}).then((a) => (limits.value = a), () => undefined);
    };
    if (isLive.peek()) load();
    const again = setInterval(() => isLive.peek() && load(), SPENT_MS);
    const stop = onReset(load);
    return () => {
      clearInterval(again);
      stop();
    };
  }, []);
  return <>{report.value && report.value.rows.length > 0 && <Cost rows={report.value.rows} total={report.value.total} />}{budgets.value.length > 0 && <Bars budgets={budgets.value} />}{limits.value && limits.value.limits.length > 0 && <Accounts all={limits.value} />}</>;
}

export function Usage() {
  const range = useSignal<keyof typeof RANGES>("hour");
  const answer = useSignal<Answer | null>(null);
  const error = useSignal<unknown>(null);
  useEffect(() => {
    const load = () => {
      const to = Math.floor(Date.now() / 1000);
      const from = to - RANGES[range.value];
      call<Answer>("usage.series", { from: new Date(from * 1000).toISOString(), to: new Date(to * 1000).toISOString(), step_s: range.value === "hour" ? 10 : 300 })
        .then((a) => ((answer.value = a), (error.value = null)), (e: unknown) => (error.value = e));
    };
    if (isLive.peek()) load();
    return onReset(load);
  }, [range.value]);
  const x = answer.value;
  const isEmpty = x && x.series.every((s) => s.points.length === 0);
  return (
    <View title={w.views.usage} name="usage" bar={
      <Field label={w.usage.range}><select value={range.value} onChange={(e) => (range.value = e.currentTarget.value as keyof typeof RANGES)}>{(Object.keys(RANGES) as (keyof typeof RANGES)[]).map((r) => <option key={r} value={r}>{w.usage[r]}</option>)}</select></Field>
    }>
      <Now />
      <Spent />
      <ErrorNote error={error.value} />
      {isEmpty && <Empty title={w.usage.none} />}
      {x && !isEmpty && METRICS.map((m) => {
        const t = table(x, m);
        return t.names.length > 0 && <Plot key={m.key} title={m.label} data={t.data} names={t.names} show={m.show} />;
      })}
    </View>
  );
}

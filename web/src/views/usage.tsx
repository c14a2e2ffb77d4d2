// SPDX-License-Identifier: MIT
// Usage: processor, memory and output of each agent over time, as plots and as a table.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { bytes } from "../lib/clock";
import { call, onReset } from "../lib/link";
import { isDark } from "../lib/settings";
import { findProcess, isLive, isOver, processes, shortName } from "../lib/store";
import { Empty, ErrorNote, Field, View } from "../ui/parts";
import { w } from "../words";

interface Series {
  id: string;
  name?: string;
  metric: string;
  points: (number | null)[] | [number, number][];
}

interface Answer {
  step_s: number;
  from?: string | number;
  series: Series[];
}

const METRICS = [
  { key: "cpu", label: w.usage.cpuTitle, show: (n: number) => `${n.toFixed(n < 10 ? 1 : 0)} ${w.usage.cpuUnit}` },
  { key: "memory", label: w.usage.memory, show: (n: number) => bytes(n) },
  { key: "output", label: w.usage.output, show: (n: number) => bytes(n) },
];
const COLOURS = ["#2f7fc1", "#c1632f", "#3f9a52", "#9a4fb5", "#b5912f", "#2fa3a3", "#c14f7d", "#6b7480"];
const shortTime = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const RANGES = { hour: 3600, day: 86400, week: 7 * 86400 } as const;

function nameOf(s: Series): string {
  const p = findProcess(s.id);
  return s.name?.replace(/^\w+:/, "") ?? (p ? shortName(p) : s.id.slice(0, 8));
}

/* Points come as values on a common step, or as pairs of time and value. */
function table(answer: Answer, metric: string, fromS: number): { data: uPlot.AlignedData; names: string[] } {
  const all = answer.series.filter((s) => s.metric === metric).slice(0, COLOURS.length);
  const times = new Set<number>();
  const maps = all.map((s) => {
    const map = new Map<number, number>();
    s.points.forEach((p, i) => {
      const [t, v] = Array.isArray(p) ? p : [fromS + i * answer.step_s, p];
      if (v !== null && v !== undefined) map.set(t, v);
      times.add(t);
    });
    return map;
  });
  const xs = [...times].sort((a, b) => a - b);
  return { data: [xs, ...maps.map((m) => xs.map((x) => m.get(x) ?? null))] as uPlot.AlignedData, names: all.map(nameOf) };
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
      width: element.clientWidth, height: 180, legend: { show: false }, cursor: { y: false }, axes: [{ ...axis, values: (_u, ticks) => ticks.map((t) => shortTime.format(t * 1000)) }, { ...axis, size: 80, values: (_u, ticks) => ticks.map(show) }],
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
  return <p class="note">{w.usage.sum}: {bytes(sum((p) => p.rss_kb) * 1024)} {w.usage.memory}, {(sum((p) => p.cpu_ms) / 1000).toFixed(1)} s {w.usage.cpu}, {bytes(sum((p) => p.bytes))} {w.usage.output}</p>;
}

export function Usage() {
  const range = useSignal<keyof typeof RANGES>("hour");
  const answer = useSignal<{ a: Answer; from: number } | null>(null);
  const error = useSignal<unknown>(null);
  useEffect(() => {
    const load = () => {
      const to = Math.floor(Date.now() / 1000);
      const from = to - RANGES[range.value];
      call<Answer>("usage.series", { from: new Date(from * 1000).toISOString(), to: new Date(to * 1000).toISOString(), step_s: range.value === "hour" ? 10 : 300 })
        .then((a) => ((answer.value = { a, from }), (error.value = null)), (e: unknown) => (error.value = e));
    };
    if (isLive.peek()) load();
    return onReset(load);
  }, [range.value]);
  const x = answer.value;
  const isEmpty = x && x.a.series.every((s) => s.points.length === 0);
  return (
    <View title={w.views.usage} name="usage" bar={
      <Field label={w.usage.range}><select value={range.value} onChange={(e) => (range.value = e.currentTarget.value as keyof typeof RANGES)}>{(Object.keys(RANGES) as (keyof typeof RANGES)[]).map((r) => <option key={r} value={r}>{w.usage[r]}</option>)}</select></Field>
    }>
      <Now />
      <ErrorNote error={error.value} />
      {isEmpty && <Empty title={w.usage.none} />}
      {x && !isEmpty && METRICS.map((m) => {
        const t = table(x.a, m.key, x.from);
        return t.names.length > 0 && <Plot key={m.key} title={m.label} data={t.data} names={t.names} show={m.show} />;
      })}
    </View>
  );
}

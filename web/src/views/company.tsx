// SPDX-License-Identifier: MIT
// Company: workspaces of AgentCompany that are open, their projects, what waits for a decision, runs, and the plan of one project as bars.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { age, clock, day, now, number } from "../lib/clock";
import { call, onItem, onReset } from "../lib/link";
import { go, link, route } from "../lib/route";
import { isLive, isOver, processes } from "../lib/store";
import { visible } from "../ui/agent-text";
import { Act, Empty, ErrorNote, Field, View } from "../ui/parts";
import { StateMark, type Seen } from "../ui/state";
import { w } from "../words";

interface ProjectRow {
  project_id: string;
  name: string;
  task_count: number;
  progress_pct: number;
  blocked_tasks: number;
  active_runs: number;
  pending_reviews: number;
}

interface Bar {
  task_id: string;
  title?: string;
  status?: string;
  start_at: string;
  end_at: string;
  slack_days?: number;
  critical?: boolean;
}

interface Chart {
  cpm_status: string;
  tasks: Bar[];
}

interface RunRow {
  project_id: string;
  run_id: string;
  run_status: string;
  created_at?: string;
  agent_id?: string;
  provider?: string;
  live_status?: string;
  live_error?: string;
  session_started_at_ms?: number;
  session_ended_at_ms?: number;
  last_event?: { type: string; ts_wallclock: string | null };
  token_usage?: { total_tokens?: number; cost_usd?: number };
}

interface Pending {
  project_id: string;
  artifact_id: string;
  artifact_type: string;
  title: string | null;
  produced_by: string | null;
  created_at: string | null;
}

interface Decision {
  review_id: string;
  decision: string;
  actor_id?: string;
  created_at?: string;
  subject_artifact_id?: string;
  artifact_id?: string;
}

interface Shown {
  at: number;
  projects: ProjectRow[];
  chart: Chart | null;
  runs: RunRow[];
  pending: Pending[];
  decided: Decision[];
  names: Map<string, string>;
}

const TONES: Record<string, [string, Seen["tone"]]> = { running: ["●", "good"], created: ["◌", "quiet"], ended: ["■", "over"], stopped: ["■", "over"], failed: ["✕", "bad"], orphaned: ["✕", "bad"], unknown: ["?", "quiet"] };
const iso = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString());

/* What the workspace says of a run, and what the session of this daemon does where there is one. */
function runState(r: RunRow): Seen {
  const word = r.live_status ?? r.run_status;
  const [icon, tone] = TONES[word] ?? ["?", "quiet"];
  const since = word === "running" ? iso(r.session_started_at_ms) : iso(r.session_ended_at_ms);
  return { icon, tone, word: w.company.states[word] ?? word, since: since ?? r.last_event?.ts_wallclock ?? r.created_at, source: r.live_status ? w.company.fromSession : w.company.fromFiles };
}

function Gantt({ chart }: { chart: Chart }) {
  const bars = chart.tasks;
  if (bars.length === 0) return <p class="note">{w.company.noPlan}</p>;
  const begin = Math.min(...bars.map((b) => Date.parse(b.start_at)));
  const end = Math.max(...bars.map((b) => Date.parse(b.end_at)), begin + 1);
  const percent = (at: number) => ((at - begin) / (end - begin)) * 100;
  const today = percent(now.value);
  return (
    <>
      {chart.cpm_status !== "ok" && <p class="bar bar-warn">{w.company.cycle}</p>}
      <table class="gantt"><thead><tr><th scope="col">{w.company.task}</th><th scope="col">{w.company.status}</th><th scope="col">{w.company.begin}</th><th scope="col">{w.company.end}</th><th scope="col">{w.company.slack}</th><th scope="col" class="gantt-lane">{w.company.plan}</th></tr></thead>
        <tbody>{bars.map((b) => (
          <tr key={b.task_id}><td class="g-task">{visible(b.title ?? b.task_id)}</td><td class="g-status">{w.company.taskStates[b.status ?? ""] ?? b.status}</td><td class="g-begin">{day(b.start_at)}</td><td class="g-end">{day(b.end_at)}</td><td class="g-slack">{b.critical ? w.company.critical : w.company.days(number(b.slack_days ?? 0))}</td>
            <td class="gantt-lane"><span class={`gantt-bar ${b.critical ? "critical" : ""}`} style={{ insetInlineStart: `${percent(Date.parse(b.start_at))}%`, inlineSize: `${Math.max(1, percent(Date.parse(b.end_at)) - percent(Date.parse(b.start_at)))}%` }} />
              {today > 0 && today < 100 && <span class="gantt-now" style={{ insetInlineStart: `${today}%` }} />}</td></tr>
        ))}</tbody></table>
    </>
  );
}

function Projects({ dir, project, rows }: { dir: string; project: string; rows: ProjectRow[] }) {
  if (rows.length === 0) return <p class="note">{w.company.noProjects}</p>;
  return (
    <ul class="cards" role="list">{rows.map((p) => (
      <li key={p.project_id} class="card"><a data-row href={p.project_id === project ? link("company", dir) : link("company", dir, p.project_id)} aria-current={p.project_id === project ? "true" : undefined}>
        <strong>{visible(p.name)}</strong> <span class="card-bar"><progress max={100} value={p.progress_pct} aria-label={w.company.progress} /> {number(Math.round(p.progress_pct))} %</span>
        <span class="note">{w.company.counts(p.task_count, p.blocked_tasks, p.active_runs, p.pending_reviews)}</span></a></li>
    ))}</ul>
  );
}

function Reviews({ dir, s, onDone }: { dir: string; s: Shown; onDone: () => void }) {
  const params = (p: Pending, decision: string) => ({ workspace_dir: dir, project_id: p.project_id, artifact_id: p.artifact_id, decision, actor_id: "human", actor_role: "human" });
  return (
    <>
      {s.pending.length === 0 && <p class="note">{w.company.noReviews}</p>}
      <ul class="reviews" role="list">{s.pending.map((p) => (
        <li key={p.artifact_id} class="need"><header><strong>{visible(p.title ?? p.artifact_id)}</strong> <span class="note">{[w.company.artifacts[p.artifact_type] ?? p.artifact_type, s.names.get(p.produced_by ?? "") ?? p.produced_by].filter(Boolean).join(" · ")}</span>{p.created_at && <span class="age">{age(p.created_at, now.value)}</span>}</header>
          <p class="buttons">
            <Act label={w.company.approve} method="agentcompany.inbox.resolve" params={params(p, "approved")} object={visible(p.title ?? p.artifact_id)} primary onDone={onDone} />
            <Act label={w.company.deny} method="agentcompany.inbox.resolve" params={params(p, "denied")} object={visible(p.title ?? p.artifact_id)} danger onDone={onDone} />
          </p></li>
      ))}</ul>
      {s.decided.length > 0 && <p class="note">{w.company.decided}: {s.decided.slice(0, 5).map((d) => `${w.company.decisions[d.decision] ?? d.decision} ${d.created_at ? w.ago(age(d.created_at, now.value)) : ""}`).join(", ")}</p>}
    </>
  );
}

function Runs({ s, project }: { s: Shown; project: string }) {
  const rows = project ? s.runs.filter((r) => r.project_id === project) : s.runs;
  if (rows.length === 0) return <p class="note">{w.company.noRuns}</p>;
  const hosted = (r: RunRow) => processes.value.value?.find((p) => p.owner === "company" && p.name?.endsWith(`/${r.run_id}`) && (p.bytes > 0 || !isOver(p)));
  return (
    <table class="runs"><thead><tr><th scope="col">{w.company.status}</th><th scope="col">{w.company.run}</th><th scope="col">{w.company.agent}</th><th scope="col">{w.company.last}</th><th scope="col">{w.company.tokens}</th></tr></thead>
      <tbody>{rows.map((r) => {
        const p = hosted(r);
        const name = r.run_id.length > 16 ? `${r.run_id.slice(0, 4)}…${r.run_id.slice(-8)}` : r.run_id;
        return (
          <tr key={r.run_id}><td><StateMark state={runState(r)} now={now.value} />{r.live_error && <span class="error">{visible(r.live_error)}</span>}</td>
            <td title={r.run_id}>{p ? <a data-row href={link("t", p.name ?? p.id)}>{name}</a> : name}</td><td>{visible(s.names.get(r.agent_id ?? "") ?? r.agent_id ?? "–")}</td><td>{r.last_event?.type ?? "–"}</td>
            <td class="c-number">{r.token_usage?.total_tokens === undefined ? "–" : number(r.token_usage.total_tokens)}{r.token_usage?.cost_usd === undefined ? "" : ` · ${w.company.cost(r.token_usage.cost_usd)}`}</td></tr>
        );
      })}</tbody></table>
  );
}

async function load(dir: string, project: string): Promise<Shown> {
  const at = { workspace_dir: dir };
  const [pm, monitor, inbox, agents] = await Promise.all([
    call<{ workspace: { projects: ProjectRow[] }; project?: { gantt?: Chart } }>("agentcompany.pm.snapshot", project ? { ...at, scope: "project", project_id: project } : { ...at, scope: "workspace" }),
    call<{ rows: RunRow[] }>("agentcompany.monitor.snapshot", { ...at, limit: 50 }), call<{ pending: Pending[]; recent_decisions: Decision[] }>("agentcompany.inbox.snapshot", at),
    call<{ agent_id: string; name: string }[]>("agentcompany.workspace.agents.list", at),
  ]);
  return { at: Date.now(), projects: pm.workspace.projects, chart: pm.project?.gantt ?? null, runs: monitor.rows, pending: inbox.pending, decided: inbox.recent_decisions, names: new Map(agents.map((a) => [a.agent_id, a.name])) };
}

const AGAIN_MS = 500;

function Workspace({ dir, project }: { dir: string; project: string }) {
  const shown = useSignal<Shown | null>(null);
  const error = useSignal<unknown>(null);
  const again = useSignal(0);
  useEffect(() => {
    let timer: number | undefined;
    let isGone = false;
    const now_ = () => load(dir, project).then((s) => isGone || ((shown.value = s), (error.value = null)), (e: unknown) => isGone || (error.value = e));
    /* A run says much: several changes in a short time are one question. */
    const want = () => {
      timer ??= setTimeout(() => ((timer = undefined), void now_()), AGAIN_MS) as unknown as number;
    };
    if (isLive.peek()) void now_();
    const stops = [onItem((i) => i.domain === "company" && i.owner === dir && want()), onReset(want)];
    return () => {
      isGone = true;
      clearTimeout(timer);
      stops.forEach((stop) => stop());
    };
  }, [dir, project, again.value]);
  const s = shown.value;
  const chosen = s?.projects.find((p) => p.project_id === project);
  return (
    <>
      <ErrorNote error={error.value} />
      {!s && !error.value && <p class="loading" role="status">{w.loading}</p>}
      {s && (
        <>
          <section aria-labelledby="co-projects"><h2 id="co-projects">{w.company.projects}</h2><Projects dir={dir} project={project} rows={s.projects} /></section>
          <section aria-labelledby="co-plan"><h2 id="co-plan">{w.company.planOf(visible(chosen?.name ?? ""))}</h2>{s.chart ? <Gantt chart={s.chart} /> : <p class="note">{w.company.pickProject}</p>}</section>
          <section aria-labelledby="co-reviews"><h2 id="co-reviews">{w.company.reviews}</h2><Reviews dir={dir} s={s} onDone={() => again.value++} /></section>
          <section aria-labelledby="co-runs"><h2 id="co-runs">{w.company.runs}</h2><Runs s={s} project={project} /></section>
          <p class="foot"><bdi>{dir}</bdi> <span class="as-of">{w.asOf(clock(s.at))}</span></p>
        </>
      )}
    </>
  );
}

function OpenOther() {
  const path = useSignal("");
  return (
    <form class="form inline" onSubmit={(e) => (e.preventDefault(), path.value.startsWith("/") && go("company", path.value))}>
      <Field label={w.company.other}><input placeholder={w.create.needFolder} value={path.value} onInput={(e) => (path.value = e.currentTarget.value)} /></Field>
      <button disabled={!path.value.startsWith("/")}>{w.acts.open}</button>
    </form>
  );
}

export function Company() {
  const all = useSignal<{ workspace_dir: string }[] | null>(null);
  const error = useSignal<unknown>(null);
  useEffect(() => {
    const ask = () => void call<{ workspaces: { workspace_dir: string }[] }>("company.workspaces").then((r) => ((all.value = r.workspaces), (error.value = null)), (e: unknown) => (error.value = e));
    if (isLive.peek()) ask();
    const stops = [onReset(ask), onItem((i) => i.domain === "company" && !all.peek()?.some((x) => x.workspace_dir === i.owner) && ask())];
    return () => stops.forEach((stop) => stop());
  }, []);
  const [chosen, project] = route.value.parts;
  const dir = chosen || all.value?.[0]?.workspace_dir;
  const choices = [...new Set([...(all.value ?? []).map((x) => x.workspace_dir), ...(chosen ? [chosen] : [])])];
  return (
    <View title={w.views.company} name="company" bar={choices.length > 1 && <Field label={w.company.workspaces}><select value={dir} onChange={(e) => go("company", e.currentTarget.value)}>{choices.map((x) => <option key={x} value={x}>{x}</option>)}</select></Field>}>
      <ErrorNote error={error.value} />
      {all.value && !dir && <Empty title={w.company.none} how={w.company.noneHow} command={w.company.noneCommand}><OpenOther /></Empty>}
      {dir && <Workspace key={dir} dir={dir} project={project ?? ""} />}
    </View>
  );
}

// SPDX-License-Identifier: MIT
// Company: workspaces of AgentCompany that are open, their projects, runs, what waits for a review, and the plan of one project as bars.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { age, clock } from "../lib/clock";
import { call, onReset } from "../lib/link";
import { go, link, route } from "../lib/route";
import { isLive } from "../lib/store";
import { visible } from "../ui/agent-text";
import { Empty, ErrorNote, Field, View } from "../ui/parts";
import { w } from "../words";

interface ProjectRow {
  project_id: string;
  name: string;
  task_count: number;
  progress_pct: number;
  blocked_tasks: number;
  active_runs: number;
  pending_reviews: number;
  risk_flags: string[];
}

interface Bar {
  task_id: string;
  title?: string;
  status?: string;
  start_at: string;
  end_at: string;
  critical?: boolean;
}

interface RunRow {
  project_id: string;
  run_id: string;
  run_status: string;
  created_at?: string;
  agent_id?: string;
  provider?: string;
}

interface Pending {
  artifact_id: string;
  artifact_type: string;
  title: string | null;
  produced_by: string | null;
  created_at: string | null;
}

interface Shown {
  projects: ProjectRow[];
  runs: RunRow[];
  pending: Pending[];
}

function Gantt({ bars }: { bars: Bar[] }) {
  if (bars.length === 0) return <Empty title={w.company.noPlan} />;
  const begin = Math.min(...bars.map((b) => Date.parse(b.start_at)));
  const end = Math.max(...bars.map((b) => Date.parse(b.end_at)), begin + 1);
  const percent = (at: string) => ((Date.parse(at) - begin) / (end - begin)) * 100;
  return (
    <table class="gantt"><thead><tr><th scope="col">{w.company.task}</th><th scope="col">{w.company.status}</th><th scope="col">{w.company.begin}</th><th scope="col">{w.company.end}</th><th scope="col" class="gantt-lane">{w.company.plan}</th></tr></thead>
      <tbody>{bars.map((b) => (
        <tr key={b.task_id}><td>{visible(b.title ?? b.task_id)}</td><td>{b.status}</td><td>{clock(b.start_at)}</td><td>{clock(b.end_at)}</td>
          <td class="gantt-lane"><span class={`gantt-bar ${b.critical ? "critical" : ""}`} style={{ insetInlineStart: `${percent(b.start_at)}%`, inlineSize: `${Math.max(1, percent(b.end_at) - percent(b.start_at))}%` }} /></td></tr>
      ))}</tbody></table>
  );
}

function Workspace({ dir, project }: { dir: string; project: string }) {
  const shown = useSignal<Shown | null>(null);
  const bars = useSignal<Bar[]>([]);
  const error = useSignal<unknown>(null);
  useEffect(() => {
    const at = { workspace_dir: dir };
    const load = async () => {
      try {
        const [pm, monitor, inbox] = await Promise.all([
          call<{ workspace: { projects: ProjectRow[] }; project?: { gantt?: { tasks: Bar[] } } }>("agentcompany.pm.snapshot", project ? { ...at, scope: "project", project_id: project } : { ...at, scope: "workspace" }),
          call<{ rows: RunRow[] }>("agentcompany.monitor.snapshot", { ...at, limit: 50 }), call<{ pending: Pending[] }>("agentcompany.inbox.snapshot", at),
        ]);
        shown.value = { projects: pm.workspace.projects, runs: monitor.rows, pending: inbox.pending };
        bars.value = pm.project?.gantt?.tasks ?? [];
        error.value = null;
      } catch (e) {
        error.value = e;
      }
    };
    void load();
    return onReset(() => void load());
  }, [dir, project]);
  const s = shown.value;
  return (
    <>
      <ErrorNote error={error.value} />
      {s && (
        <>
          <section><h2>{w.company.projects}</h2>
            <ul class="cards" role="list">{s.projects.map((p) => <li key={p.project_id} class="card"><a data-row href={link("company", dir, p.project_id)} aria-current={p.project_id === project ? "true" : undefined}><strong>{visible(p.name)}</strong> <progress max={100} value={p.progress_pct} aria-label={w.company.progress} /> {Math.round(p.progress_pct)} %</a> <span class="note">{p.risk_flags.join(", ")}</span></li>)}</ul></section>
          {project && <section><h2>{w.company.plan}</h2><Gantt bars={bars.value} /></section>}
          <section><h2>{w.company.reviews}</h2>{s.pending.length === 0 ? <p class="note">{w.company.noReviews}</p> : <ul role="list">{s.pending.map((p) => <li key={p.artifact_id}><strong>{visible(p.title ?? p.artifact_id)}</strong> <span class="note">{p.artifact_type} · {p.produced_by} · {p.created_at ? w.ago(age(p.created_at)) : ""}</span></li>)}</ul>}</section>
          <section><h2>{w.company.runs}</h2>{s.runs.length === 0 ? <p class="note">{w.company.noRuns}</p> : (
            <table><thead><tr><th scope="col">{w.tasks.columns.id}</th><th scope="col">{w.company.status}</th><th scope="col">{w.company.agent}</th><th scope="col">{w.tasks.columns.since}</th></tr></thead>
              <tbody>{s.runs.map((r) => <tr key={r.run_id}><td><a href={link("t", r.run_id)}>{r.run_id}</a></td><td>{r.run_status}</td><td>{r.agent_id ?? "–"}</td><td>{r.created_at ? w.ago(age(r.created_at)) : "–"}</td></tr>)}</tbody></table>
          )}</section>
        </>
      )}
    </>
  );
}

export function Company() {
  const all = useSignal<{ workspace_dir: string }[] | null>(null);
  const error = useSignal<unknown>(null);
  useEffect(() => {
    const load = () => void call<{ workspaces: { workspace_dir: string }[] }>("company.workspaces").then((r) => ((all.value = r.workspaces), (error.value = null)), (e: unknown) => (error.value = e));
    if (isLive.peek()) load();
    return onReset(load);
  }, []);
  const [chosen, project] = route.value.parts;
  const dir = chosen || all.value?.[0]?.workspace_dir;
  return (
    <View title={w.views.company} name="company" bar={all.value && all.value.length > 1 && <Field label={w.company.workspaces}><select value={dir} onChange={(e) => go("company", e.currentTarget.value)}>{all.value.map((x) => <option key={x.workspace_dir} value={x.workspace_dir}>{x.workspace_dir}</option>)}</select></Field>}>
      <ErrorNote error={error.value} />
      {all.value && !dir && <Empty title={w.company.none} how={w.company.noneHow} command={w.company.noneCommand} />}
      {dir && <Workspace key={dir} dir={dir} project={project ?? ""} />}
    </View>
  );
}

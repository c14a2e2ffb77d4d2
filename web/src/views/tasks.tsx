// SPDX-License-Identifier: MIT
// Tasks: projects, their queue and history, one task with its output, and rules with what they did last.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { age, clock, now } from "../lib/clock";
import { call, onItem, onReset } from "../lib/link";
import { go, link, route } from "../lib/route";
import { canControl, isLive } from "../lib/store";
import { AgentText, visible } from "../ui/agent-text";
import { Act, Empty, ErrorNote, Field, View } from "../ui/parts";
import { homeOf } from "./fleet";
import { folder } from "../ui/state";
import { w } from "../words";

interface Project {
  dir: string;
  state: string;
  reason?: string;
  running: number;
  queued: number;
  untrusted?: boolean;
}

interface Task {
  id: string;
  prompt: string;
  agent: string | null;
  state: "queued" | "running" | "completed" | "failed" | "cancelled";
  createdAt: string;
  startedAt: string | null;
  completedAt: string | null;
  result: string | null;
  error: string | null;
  output: string;
}

interface Rule {
  id: string;
  enabled: boolean;
  fired: number;
  lastFired?: string;
  nextRun?: string;
  lastError?: string;
  trigger: Record<string, unknown>;
}

const ICONS: Record<Task["state"], [string, string]> = { queued: ["◌", "quiet"], running: ["●", "good"], completed: ["✓", "over"], failed: ["✕", "bad"], cancelled: ["■", "over"] };

function since(t: Task): string {
  return t.completedAt ?? t.startedAt ?? t.createdAt;
}

function took(t: Task): string {
  return t.startedAt ? age(t.startedAt, t.completedAt ? Date.parse(t.completedAt) : now.value) : "–";
}

function Submit({ project }: { project: string }) {
  const prompt = useSignal("");
  if (!canControl.value) return <p class="note">{w.scopeTooSmall}</p>;
  return (
    <form class="composer" onSubmit={(e) => (e.preventDefault(), e.currentTarget.querySelector("button")?.click())}>
      <textarea rows={2} aria-label={w.tasks.prompt} placeholder={w.tasks.prompt} value={prompt.value} onInput={(e) => (prompt.value = e.currentTarget.value)} />
      <Act label={w.tasks.go} method="aiwg.task.submit" params={{ project, prompt: prompt.value }} primary onDone={() => (prompt.value = "")} />
    </form>
  );
}

function One({ project, task }: { project: string; task: Task }) {
  const isOpen = task.state === "queued" || task.state === "running";
  return (
    <article class="task" aria-label={task.id}>
      <header><h2>{task.id}</h2> <span class={`state tone-${ICONS[task.state][1]}`}><span aria-hidden="true">{ICONS[task.state][0]}</span> {w.states[task.state]}</span> <span class="age">{age(since(task), now.value)}</span> <a href={link("tasks", project)} aria-label={w.close}>✕</a></header>
      <AgentText text={task.prompt} />
      {task.error && <><h3>{w.tasks.error}</h3><pre tabIndex={0}>{visible(task.error)}</pre></>}
      {task.result && <><h3>{w.tasks.result}</h3><AgentText text={task.result} /></>}
      {task.output && <><h3>{w.tasks.output}</h3><pre tabIndex={0} class="output">{visible(task.output)}</pre></>}
      <p class="buttons">
        {isOpen && <Act label={w.tasks.cancel} method="aiwg.task.cancel" params={{ project, taskId: task.id }} object={task.id} danger />}
        {!isOpen && <Act label={w.tasks.again} method="aiwg.task.submit" params={{ project, prompt: task.prompt, ...(task.agent ? { agent: task.agent } : {}) }} />}
      </p>
    </article>
  );
}

function Rules({ project }: { project: string }) {
  const status = useSignal<{ rules: Rule[]; deadLetters: unknown } | null>(null);
  const load = () => void call<{ rules: Rule[]; deadLetters: unknown }>("aiwg.automation.status", { project }).then((r) => (status.value = r), () => {});
  useEffect(load, [project]);
  if (!status.value || status.value.rules.length === 0) return null;
  const dead = Array.isArray(status.value.deadLetters) ? status.value.deadLetters.length : Number(status.value.deadLetters) || 0;
  return (
    <section><h2>{w.tasks.rules}</h2>
      {dead > 0 && <p class="error">{w.tasks.dead(dead)}</p>}
      <ul class="rules" role="list">{status.value.rules.map((r) => (
        <li key={r.id}><strong>{r.id}</strong> <span>{w.tasks.fired(r.fired)}</span> {r.lastFired && <span>{w.tasks.lastFired} {clock(r.lastFired)}</span>} {r.nextRun && <span>{w.tasks.nextRun} {clock(r.nextRun)}</span>} {r.lastError && <span class="error">{r.lastError}</span>}
          <Act label={r.enabled ? w.tasks.disable : w.tasks.enable} method={r.enabled ? "aiwg.automation.disable" : "aiwg.automation.enable"} params={{ project, ruleId: r.id }} object={r.id} onDone={load} /></li>
      ))}</ul>
    </section>
  );
}

function ProjectView({ project, taskId }: { project: Project; taskId: string }) {
  const tasks = useSignal<Task[] | null>(null);
  const error = useSignal<unknown>(null);
  const dir = project.dir;
  useEffect(() => {
    let timer: number | undefined;
    const load = () => call<Task[]>("aiwg.task.list", { project: dir, limit: 200 }).then((r) => ((tasks.value = r), (error.value = null)), (e: unknown) => (error.value = e));
    const want = () => {
      clearTimeout(timer);
      timer = setTimeout(() => void load(), 150) as unknown as number;
    };
    void load();
    const stops = [onItem((i) => i.domain === "tasks" && i.owner === dir && want()), onReset(want)];
    return () => {
      clearTimeout(timer);
      stops.forEach((stop) => stop());
    };
  }, [dir]);
  const one = tasks.value?.find((t) => t.id === taskId);
  const columns = w.tasks.columns;
  return (
    <div class="project">
      {project.untrusted && <p class="bar bar-warn">{w.tasks.untrusted}</p>}
      {project.reason && <p class="error">{project.reason}</p>}
      <Submit project={dir} />
      <ErrorNote error={error.value} />
      {one && <One project={dir} task={one} />}
      {tasks.value?.length === 0 && <Empty title={w.tasks.empty} />}
      {tasks.value && tasks.value.length > 0 && (
        <table class="tasks">
          <thead><tr><th scope="col">{columns.state}</th><th scope="col">{columns.id}</th><th scope="col">{columns.prompt}</th><th scope="col">{columns.agent}</th><th scope="col">{columns.took}</th></tr></thead>
          <tbody>{tasks.value.map((t) => (
            <tr key={t.id} data-row tabIndex={-1} class="row" onClick={() => go("tasks", dir, t.id)} onKeyDown={(e) => e.key === "Enter" && go("tasks", dir, t.id)}>
              <td><span class={`state tone-${ICONS[t.state][1]}`}><span class="icon" aria-hidden="true">{ICONS[t.state][0]}</span> <span class="word">{w.states[t.state]}</span> <span class="age">{age(since(t), now.value)}</span></span></td>
              <td><a href={link("tasks", dir, t.id)}>{t.id}</a></td><td class="c-prompt">{visible(t.prompt.slice(0, 160))}</td><td>{t.agent ?? "–"}</td><td>{took(t)}</td>
            </tr>
          ))}</tbody>
        </table>
      )}
      <Rules project={dir} />
    </div>
  );
}

export function Tasks() {
  const projects = useSignal<Project[] | null>(null);
  const error = useSignal<unknown>(null);
  const [chosen, taskId] = route.value.parts;
  useEffect(() => {
    const load = () => call<{ projects: Project[] }>("project.ls").then((r) => ((projects.value = r.projects), (error.value = null)), (e: unknown) => (error.value = e));
    if (isLive.peek()) void load();
    const stops = [onReset(() => void load()), onItem((i) => i.domain === "tasks" && void load())];
    return () => stops.forEach((stop) => stop());
  }, []);
  const project = projects.value?.find((p) => p.dir === chosen) ?? projects.value?.[0];
  return (
    <View title={w.views.tasks} name="tasks" bar={projects.value && projects.value.length > 1 && (
      <Field label={w.tasks.projects}><select value={project?.dir} onChange={(e) => go("tasks", e.currentTarget.value)}>{projects.value.map((p) => <option key={p.dir} value={p.dir}>{folder(p.dir, homeOf(p.dir))} ({w.tasks.counts(p.running, p.queued)})</option>)}</select></Field>
    )}>
      {!projects.value && <ErrorNote error={error.value} />}
      {projects.value?.length === 0 && <Empty title={w.tasks.none} how={w.tasks.noneHow} command={w.tasks.noneCommand} />}
      {project && <><p class="note"><bdi>{folder(project.dir, homeOf(project.dir))}</bdi> · {w.tasks.counts(project.running, project.queued)}</p><ProjectView key={project.dir} project={project} taskId={taskId ?? ""} /></>}
    </View>
  );
}

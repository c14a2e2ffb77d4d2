// SPDX-License-Identifier: MIT
// New agent: one form, three kinds (session, actor, task). It shows the line of the command line that does the same.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { commandLine } from "../lib/copy";
import { call } from "../lib/link";
import { go } from "../lib/route";
import { processes } from "../lib/store";
import { Act, CommandLine, ErrorNote, Field, View } from "../ui/parts";
import { w } from "../words";

type Kind = "session" | "actor" | "task";

/* A command as a shell would cut it: blanks, quotes, backslashes. */
export function cut(line: string): string[] {
  const words: string[] = [];
  for (const m of line.matchAll(/(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+/g)) {
    words.push(m[0].replace(/\\(.)|"((?:[^"\\]|\\.)*)"|'([^']*)'/g, (_all, one?: string, two?: string, three?: string) => one ?? two?.replace(/\\(.)/g, "$1") ?? three ?? ""));
  }
  return words;
}

interface Known {
  folders: string[];
  runtimes: { name: string; display_name: string; available: boolean }[];
  groups: { group_id?: string; title?: string }[];
  projects: { dir: string }[];
}

function useKnown(): Known {
  const known = useSignal<Known>({ folders: [], runtimes: [], groups: [], projects: [] });
  useEffect(() => {
    const load = async <T,>(method: string, pick: (r: T) => Partial<Known>) => {
      try {
        known.value = { ...known.value, ...pick(await call<T>(method)) };
      } catch {
        /* What cannot be had is typed by hand. */
      }
    };
    void load<{ runtimes: Known["runtimes"] }>("runtime.ls", (r) => ({ runtimes: r.runtimes }));
    void load<{ groups: Known["groups"] }>("cccc.groups", (r) => ({ groups: r.groups }));
    void load<{ projects: Known["projects"] }>("project.ls", (r) => ({ projects: r.projects }));
  }, []);
  return { ...known.value, folders: [...new Set((processes.value.value ?? []).map((p) => p.workspace).filter(Boolean))].sort() };
}

export function Create() {
  const kind = useSignal<Kind>("session");
  const form = useSignal({ folder: "", command: "claude", name: "", sandbox: "", group: "", runtime: "", project: "", prompt: "" });
  const problem = useSignal<unknown>(null);
  const known = useKnown();
  const f = form.value;
  const text = (key: keyof typeof f) => ({ value: f[key], onInput: (e: Event) => (form.value = { ...form.value, [key]: (e.currentTarget as HTMLInputElement).value }) });
  const group = f.group || known.groups[0]?.group_id || "";
  const project = f.project || known.projects[0]?.dir || "";
  const runtime = f.runtime || known.runtimes.find((r) => r.available)?.name || "";
  const request: Record<Kind, { method: string; params: Record<string, unknown>; isWhole: boolean }> = {
    session: {
      method: "fleet.start", params: { ...(f.name ? { name: f.name } : {}), workspace: f.folder, command: cut(f.command), ...(f.sandbox ? { sandbox: f.sandbox } : {}) }, isWhole: f.folder.startsWith("/") && f.command.trim() !== "",
    },
    actor: { method: "cccc.actor_add", params: { group_id: group, actor_id: f.name, runtime }, isWhole: group !== "" && f.name !== "" && runtime !== "" },
    task: { method: "aiwg.task.submit", params: { project, prompt: f.prompt }, isWhole: project !== "" && f.prompt.trim() !== "" },
  };
  const { method, params, isWhole } = request[kind.value];
  const start = async () => {
    problem.value = null;
    const result = await call<{ name?: string; taskId?: string }>(method, params);
    if (kind.value === "actor") await call("cccc.actor_start", { group_id: group, actor_id: f.name });
    await processes.now();
    if (kind.value === "session") go("t", result.name ?? "");
    else if (kind.value === "actor") go("t", `actor:${group}/${f.name}`);
    else go("tasks");
  };
  const line = kind.value === "session" ? ["muster new -d", f.name && `--name ${f.name}`, f.sandbox && `--sandbox ${f.sandbox}`, f.folder || w.create.folderWord, "--", f.command].filter(Boolean).join(" ") : commandLine(method, params);
  return (
    <View title={w.create.title} name="create">
      <div class="tabs" role="tablist" aria-label={w.create.title}>
        {(["session", "actor", "task"] as const).map((k) => (
          <button key={k} role="tab" id={`tab-${k}`} aria-selected={kind.value === k} aria-controls="create-form" tabIndex={kind.value === k ? 0 : -1} onClick={() => (kind.value = k)}
            onKeyDown={(e) => {
              const all: Kind[] = ["session", "actor", "task"];
              const step = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? 2 : 0;
              if (!step) return;
              kind.value = all[(all.indexOf(kind.value) + step) % 3] ?? "session";
              document.getElementById(`tab-${kind.value}`)?.focus();
            }}>{w.create[k]}</button>
        ))}
      </div>
      <div id="create-form" role="tabpanel" aria-labelledby={`tab-${kind.value}`}>
      <form class="form" onSubmit={(e) => (e.preventDefault(), e.currentTarget.querySelector<HTMLButtonElement>("button.primary")?.click())}>
        {kind.value === "session" && (
          <>
            <Field label={w.create.folder}><input required list="folders" placeholder={w.create.needFolder} {...text("folder")} /></Field>
            <datalist id="folders">{known.folders.map((x) => <option key={x} value={x} />)}</datalist>
            <Field label={w.create.command}><input required list="commands" {...text("command")} /></Field>
            <datalist id="commands">{known.runtimes.filter((r) => r.available).map((r) => <option key={r.name} value={r.name} />)}</datalist>
            <Field label={w.create.name}><input placeholder={w.create.nameHint} {...text("name")} /></Field>
            <Field label={w.create.sandbox}><select {...text("sandbox")}><option value="">{w.create.sandboxDefault}</option><option value="bwrap">{w.create.sandboxBwrap}</option><option value="none">{w.create.sandboxNone}</option></select></Field>
          </>
        )}
        {kind.value === "actor" && (
          <>
            <Field label={w.create.group}><select {...text("group")} value={group}>{known.groups.map((g) => <option key={g.group_id} value={g.group_id}>{g.title || g.group_id}</option>)}</select></Field>
            <Field label={w.create.name}><input required {...text("name")} /></Field>
            <Field label={w.create.runtime}><select {...text("runtime")} value={runtime}>{known.runtimes.map((r) => <option key={r.name} value={r.name}>{r.display_name}{r.available ? "" : ` (${w.create.missing})`}</option>)}</select></Field>
          </>
        )}
        {kind.value === "task" && (
          <>
            <Field label={w.create.project}><select {...text("project")} value={project}>{known.projects.map((x) => <option key={x.dir} value={x.dir}>{x.dir}</option>)}</select></Field>
            <Field label={w.create.prompt}><textarea required rows={4} {...text("prompt")} /></Field>
          </>
        )}
        <p class="buttons">{isWhole ? <Act label={w.create.go} method={method} params={params} primary run={start} /> : <button class="primary" disabled>{w.create.go}</button>}</p>
        <ErrorNote error={problem.value} />
      </form>
      </div>
      <p>{w.create.line}</p>
      <CommandLine line={line} />
    </View>
  );
}

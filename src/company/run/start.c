/* SPDX-License-Identifier: MIT */
/* From a recorded session to a running program: its files, what is said of it, its process. */
#define LOG_MODULE "company/run"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "company/draft.h"
#include "company/place.h"
#include "company/run/run.h"
#include "company/trail/mask.h"
#include "core/secret.h"
#include "core/tools.h"

/* ---- the record ------------------------------------------------------------------------------ */

static void start_write_end(JsonWriter *w, const Run *run, bool is_over) {
        const RunEnd *end = &run->end;

        if (is_over && end->has_exit)
                jw_field_int(w, "exit_code", end->exit_code);
        else
                jw_field_null(w, "exit_code");
        if (is_over && end->signal.n)
                jw_field_str(w, "signal", end->signal);
        else
                jw_field_null(w, "signal");
        if (is_over)
                draft_optional(w, "error", end->error);
}

void start_record(Edit *edit, const Run *run, Str status) {
        bool is_over = !str_is(status, "running");
        Draft draft;
        JsonWriter *w = draft_begin(&draft, "session_record");
        Json *json;

        jw_field_str(w, "session_ref", run->session_ref);
        jw_field_cstr(w, "workspace_dir", edit->workspace->path);
        jw_field_str(w, "project_id", run->spec.project_id);
        jw_field_str(w, "run_id", run->spec.run_id);
        jw_field_str(w, "status", status);
        start_write_end(w, run, is_over);
        jw_field_int(w, "started_at_ms", run->started_ms);
        if (is_over)
                jw_field_int(w, "ended_at_ms", edit->wall_us / 1000);
        jw_field_str(w, "mode", run->mode);
        if (run->pid > 0) {
                jw_field_int(w, "pid", run->pid);
                jw_field_int(w, "pid_claimed_at_ms", run->claimed_ms);
        }
        jw_field_str(w, "stop_marker_relpath",
                     place_run_of_project(edit->arena, run->spec.run_id, "outputs/stop_requested.flag"));
        draft_optional(w, "protocol_thread_id", run->thread_id);
        draft_optional(w, "protocol_turn_id", run->turn_id);
        json = draft_end(&draft, edit->arena);
        if (edit_try(edit, json ? 0 : -ENOMEM))
                draft_replace(edit, place_session(edit->arena, run->session_ref), json);
}

/* ---- its files ------------------------------------------------------------------------------- */

static const char *start_output(Edit *edit, const Run *run, const char *name) {
        const char *folder = place_run(edit->arena, run->spec.project_id, run->spec.run_id, "outputs");
        Str path = folder ? arena_printf(edit->arena, "%s/%s", folder, name) : STR_NULL;

        (void)edit_try(edit, path.data ? 0 : -ENOMEM);
        return path.data ? path.data : "";
}

static void start_put_texts(Edit *edit, const Run *run) {
        const char *marker = start_output(edit, run, "stop_requested.flag");

        (void)edit_replace(edit, start_output(edit, run, "stdout.txt"), STR(""));
        (void)edit_replace(edit, start_output(edit, run, "stderr.txt"), STR(""));
        if (run_is_app_server(run))
                (void)edit_replace(edit, start_output(edit, run, "last_message.md"), STR(""));
        if (edit_exists(edit, marker))
                (void)edit_remove(edit, marker); /* of an earlier session of this run */
}

/* An app server is told what it is asked. */
static bool start_has_stdin(const Run *run) {
        return run->spec.stdin_text.data && !run_is_app_server(run);
}

static Str start_stdin_relpath(Edit *edit, const Run *run) {
        return place_run_of_project(edit->arena, run->spec.run_id, "outputs/stdin.txt");
}

static Str start_prompt_relpath(Edit *edit, const Run *run) {
        return place_run_of_project(edit->arena, run->spec.run_id, "outputs/prompt.txt");
}

static void start_write_argv(JsonWriter *w, const StrList *argv) {
        jw_key(w, "argv");
        jw_begin_array(w);
        for (size_t i = 0; i < argv->n; i++)
                jw_str(w, argv->items[i]);
        jw_end_array(w);
}

static bool start_is_secret(const Config *config, Str name, Str value) {
        static const char *const forms[] = {"sk-",  "ghp_", "github_pat_", "xoxb-",
                                            "AKIA", "eyJ",  "Bearer ",     "bearer "};

        for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
                if (str_starts(value, str_from(forms[i])))
                        return true;
        return value.n && (secret_is_name(config, name) || mask_finds(value));
}

/* Values that look like a secret or hold one, by their name or their form, are not written. */
static void start_write_env(const Config *config, JsonWriter *w, const Json *env) {
        jw_begin_object(w);
        json_each (member, env) {
                jw_key_str(w, json_key(member));
                jw_str(w, start_is_secret(config, json_key(member), json_str(member)) ? STR("[REDACTED]")
                                                                                      : json_str(member));
        }
        jw_end_object(w);
}

static void start_write_command(Edit *edit, const Run *run, JsonWriter *w) {
        const RunSpec *spec = &run->spec;

        draft_optional(w, "worktree_relpath", run->worktree_relpath);
        draft_optional(w, "worktree_branch", run->worktree_branch);
        if (spec->env) {
                jw_key(w, "env");
                start_write_env(&edit->call->daemon->config, w, spec->env);
        }
        if (spec->stdin_text.data)
                jw_field_str(w, "stdin_relpath", start_stdin_relpath(edit, run));
}

static void start_write_spec(Edit *edit, const Run *run, JsonWriter *w) {
        const RunSpec *spec = &run->spec;

        jw_begin_object(w);
        if (run_is_app_server(run)) {
                jw_field_cstr(w, "kind", "codex_app_server");
                jw_field_str(w, "prompt_relpath", start_prompt_relpath(edit, run));
                draft_optional(w, "model", spec->model);
        } else {
                jw_field_cstr(w, "kind", "command");
                start_write_argv(w, spec->argv);
        }
        draft_optional(w, "repo_id", spec->repo_id);
        draft_optional(w, "workdir_rel", spec->workdir_rel);
        draft_optional(w, "task_id", spec->task_id);
        draft_optional(w, "milestone_id", spec->milestone_id);
        if (spec->budget)
                jw_field_value(w, "budget", spec->budget);
        if (!run_is_app_server(run))
                start_write_command(edit, run, w);
        jw_end_object(w);
}

static void start_put_spec(Edit *edit, const Run *run, Json *doc) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        Json *spec = NULL;
        Str copy;

        start_write_spec(edit, run, &w);
        copy = arena_str(edit->arena, buf_str(&text));
        if (edit_try(edit, w.failed || !copy.data
                                   ? -ENOMEM
                                   : json_parse(edit->arena, copy.data, copy.n, NULL, &spec, NULL)))
                (void)edit_try(edit, json_set(edit->arena, doc, STR("spec"), spec));
        draft_replace(edit, place_run(edit->arena, run->spec.project_id, run->spec.run_id, "run.yaml"), doc);
}

static void start_field_or_null(JsonWriter *w, const char *key, Str value) {
        if (value.n)
                jw_field_str(w, key, value);
        else
                jw_field_null(w, key);
}

static void start_tell_executing(Edit *edit, const Run *run) {
        const RunSpec *spec = &run->spec;
        EventOf of = run_event_of(run);
        bool is_server = run_is_app_server(run);
        JsonWriter *w = event_begin(edit, &of, "run.executing");

        jw_begin_object(w);
        if (is_server) {
                jw_field_str(w, "mode", run->mode);
                jw_field_str(w, "provider_bin", spec->argv->items[0]);
                jw_field_str(w, "prompt_relpath", start_prompt_relpath(edit, run));
                start_field_or_null(w, "model", spec->model);
                start_field_or_null(w, "repo_id", spec->repo_id);
                start_field_or_null(w, "workdir_rel", spec->workdir_rel);
        } else {
                start_write_argv(w, spec->argv);
                draft_optional(w, "repo_id", spec->repo_id);
                draft_optional(w, "workdir_rel", spec->workdir_rel);
        }
        start_field_or_null(w, "task_id", spec->task_id);
        start_field_or_null(w, "milestone_id", spec->milestone_id);
        if (!is_server) {
                start_field_or_null(w, "worktree_relpath", run->worktree_relpath);
                start_field_or_null(w, "worktree_branch", run->worktree_branch);
                start_field_or_null(w, "stdin_relpath",
                                    start_has_stdin(run) ? start_stdin_relpath(edit, run) : STR_NULL);
        }
        jw_end_object(w);
        event_end(edit);
}

/* ---- deciding -------------------------------------------------------------------------------- */

/* The session fails with what was noted; the run keeps its status (facts §6.2). */
static int start_give_up(Edit *edit, Run *run) {
        run->end.status = STR("failed");
        start_record(edit, run, run->end.status);
        return 0;
}

static bool start_has_argv(const Run *run) {
        return run->spec.argv && run->spec.argv->n;
}

/* What no program can be given. */
static bool start_has_nul(const Run *run) {
        json_each (member, run->spec.env) {
                if (memchr(json_key(member).data, 0, json_key(member).n) ||
                    (json_str(member).n && memchr(json_str(member).data, 0, json_str(member).n)))
                        return true;
        }
        for (size_t i = 0; i < run->spec.argv->n; i++)
                if (strlen(run->spec.argv->items[i].data) != run->spec.argv->items[i].n)
                        return true;
        return false;
}

int start_write(Edit *edit, Run *run, Json *doc) {
        Str status = json_text_of(doc, "status");
        int r;

        if (run->end.error.n)
                return start_give_up(edit, run); /* there was no memory to look at its repository */
        if (run_is_app_server(run) && (r = app_server_prepare(edit, run)))
                return r;
        if (run->end.error.n)
                return start_give_up(edit, run);
        if (!start_has_argv(run))
                finish_note(run, "argv must be non-empty");
        else if (start_has_nul(run))
                finish_note(run, "argv and env must not hold a NUL character");
        else if (!str_is(status, "running"))
                finish_note(run, "Run is not in running status (status=" STR_FMT ")", STR_ARG(status));
        if (run->end.error.n)
                return start_give_up(edit, run);
        start_put_texts(edit, run);
        run->folder = edit->workspace->path;
        tree_write(edit, run);
        if (run->end.error.n)
                return start_give_up(edit, run);
        if (run_is_app_server(run))
                (void)edit_replace(edit, start_output(edit, run, "prompt.txt"), run->dialog.prompt);
        else if (run->spec.stdin_text.data)
                (void)edit_replace(edit, start_output(edit, run, "stdin.txt"), run->spec.stdin_text);
        start_put_spec(edit, run, doc);
        start_tell_executing(edit, run);
        return 0;
}

static int start_decide(Edit *edit, const Carry *carry) {
        Run *run = run_of(carry);
        Json *doc = NULL;
        int r = launch_read_run(edit, run, &doc);

        return r ? r : start_write(edit, run, doc);
}

static void start_with_tree(Run *run) {
        run_step(run, start_decide, start_decided);
}

void start_prepare(Run *run) {
        tree_prepare(run, start_with_tree);
}

/* ---- the program ----------------------------------------------------------------------------- */

static int start_meta(const Run *run, Buf *out) {
        const Workspace *workspace = run->workspace;
        JsonWriter w = JSON_WRITER(out);

        jw_begin_object(&w);
        jw_field_int(&w, "v", 1);
        jw_field_cstr(&w, "workspace", workspace->path);
        jw_field_uint(&w, "dev", workspace->dev);
        jw_field_uint(&w, "ino", workspace->ino);
        jw_field_str(&w, "project", run->spec.project_id);
        jw_field_str(&w, "run", run->spec.run_id);
        jw_field_str(&w, "session_ref", run->session_ref);
        jw_field_str(&w, "task", run->spec.task_id);
        jw_field_str(&w, "job", run->spec.job_id);
        jw_field_uint(&w, "attempt", run->spec.attempt);
        jw_field_int(&w, "started_ms", run->started_ms);
        jw_field_int(&w, "limit_ms", run->spec.limit_ms);
        jw_end_object(&w);
        return w.failed ? error_origin(-ENOMEM) : 0;
}

/* NAME=VALUE over what stands there. */
static int start_env_set(StrVec *env, Str name, Str value) {
        char *text = NULL;
        int r;

        for (size_t i = 0; i < env->n; i++)
                if (!strncmp(env->items[i], name.data, name.n) && env->items[i][name.n] == '=') {
                        free(env->items[i]);
                        env->items[i] = env->items[--env->n];
                        break;
                }
        if (asprintf(&text, STR_FMT "=" STR_FMT, STR_ARG(name), STR_ARG(value)) < 0)
                return error_origin(-ENOMEM);
        r = strvec_push(env, text);
        free(text);
        return error_trace(r);
}

static int start_env(const Run *run, StrVec *env) {
        const RunSpec *spec = &run->spec;
        int r = spec->environment ? strvec_append(env, spec->environment) : program_env_base(env);

        for (const Json *member = json_first(spec->env); !r && member; member = member->next)
                r = start_env_set(env, json_key(member), json_str(member));
        return error_trace(r);
}

static int start_program(const Run *run, Program *program) {
        int r = program_set_place(program, run->folder, run->spec.argv->items[0].data);

        for (size_t i = 0; !r && i < run->spec.argv->n; i++)
                r = strvec_push(&program->argv, run->spec.argv->items[i].data);
        if (!r)
                r = start_env(run, &program->env);
        if (!r && !run_is_app_server(run)) /* that one is told by its protocol what it may use */
                r = tools_register(run->workspace->company->daemon, program, true);
        return error_trace(r ? r : start_meta(run, &program->meta));
}

static void start_give_reason(Run *run, int error) {
        const char *name = strerrorname_np(error);

        finish_note(run, "spawn " STR_FMT " %s", STR_ARG(run->spec.argv->items[0]), name ? name : "failed");
        run->state = RUN_OVER;
        run_soon(run);
}

static void start_on_started(Hosted *hosted, int error) {
        Run *run = hosted->user;

        if (hosted->is_adopted)
                return;
        if (error) {
                viewer_detach(&run->viewer);
                run->hosted = NULL;
                start_give_reason(run, error);
                return;
        }
        run->pid = hosted->pid;
        run->claimed_ms = loop_wall_us(run->workspace->company->daemon->loop) / 1000;
        run->state = RUN_RUNNING;
        run_soon(run);
}

static void start_on_ended(Hosted *hosted) {
        Run *run = hosted->user;

        run->is_program_over = true;
        run_soon(run);
}

static const HostedHandler start_handler = {.started = start_on_started, .ended = start_on_ended};

static void start_on_output(Viewer *viewer, HostOutput *output _unused_) {
        run_soon(container_of(viewer, Run, viewer));
}

static void start_on_change(Viewer *viewer) {
        run_soon(container_of(viewer, Run, viewer));
}

void start_attach(Run *run, Hosted *hosted) {
        run->hosted = hosted;
        hosted->handler = &start_handler;
        hosted->user = run;
        run->viewer.is_passive = true;
        run->viewer.output = start_on_output;
        run->viewer.room = start_on_change;
        run->viewer.closed = start_on_change;
        viewer_attach(&run->viewer, hosted);
}

static int start_host(Run *run) {
        Host *host = run->workspace->company->daemon->host;
        _cleanup_(program_deinit) Program program = {0};
        _cleanup_(freep) char *object = NULL, *input = NULL;
        HostedSpec spec = {.owner = "company",
                           .program = &program,
                           .sandbox = "none",
                           .kind = SHIM_PIPES,
                           .n_ring = RUN_RING,
                           .is_lossless = true};
        bool has_text = start_has_stdin(run);
        const char *text =
                place_run(&run->arena, run->spec.project_id, run->spec.run_id, "outputs/stdin.txt");
        Hosted *hosted;
        int r = start_program(run, &program);

        input = text ? path_join(run->workspace->path, text) : NULL;
        if (!r && (!input || asprintf(&object, STR_FMT "/" STR_FMT, STR_ARG(run->spec.project_id),
                                      STR_ARG(run->spec.run_id)) < 0))
                r = error_origin(-ENOMEM);
        if (r)
                return r;
        spec.object = object;
        spec.has_no_input = !has_text && !run_is_app_server(run);
        spec.stdin_path = has_text ? input : NULL;
        r = host_start(host, &spec, &start_handler, run, &hosted);
        if (!r)
                start_attach(run, hosted);
        return r;
}

void start_decided(Run *run, Edit *edit _unused_, int error) {
        int r;

        if (error)
                finish_note(run, STR_FMT, STR_ARG(run->call ? run->call->message : STR("out of memory")));
        if (error || run->end.error.n) {
                run->state = RUN_OVER;
                run->is_end_kept = !error;
                run_soon(run);
                return;
        }
        r = start_host(run);
        if (r)
                start_give_reason(run, r < 0 ? -r : ENOENT);
}

/* ---- its pid --------------------------------------------------------------------------------- */

static int start_pid_decide(Edit *edit, const Carry *carry) {
        const Run *run = run_of(carry);

        if (!run->is_estranged)
                start_record(edit, run, STR("running"));
        return 0;
}

static void start_pid_kept(Run *run, Edit *edit _unused_, int error) {
        if (error) {
                run_again(run);
                return;
        }
        run->is_pid_kept = true;
        run_tell_launched(run, 0, STR_NULL, STR_NULL);
        if (run_is_app_server(run))
                app_server_begin(run);
        run_soon(run);
}

void start_keep_pid(Run *run) {
        run_step(run, start_pid_decide, start_pid_kept);
}

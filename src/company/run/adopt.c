/* SPDX-License-Identifier: MIT */
/*
 * Runs that an earlier daemon has left: their workspaces are opened, what a crash has cut off is put right there, and then
 * each gets its Run again, before anybody can ask for it. Its program reads on where the files end; one that ended
 * meanwhile is finished with its true exit status.
 */
#define LOG_MODULE "company/run"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "company/place.h"
#include "company/run/run.h"
#include "company/run/runs.h"
#include "core/document.h"

typedef struct RunFound RunFound;
struct RunFound {
        RunFound *next;
        Company *company;
        char id[17]; /* of the process */
        Arena arena;
        const Json *meta;
        uint64_t dev, ino; /* of its workspace */
        Carry carry;
};

enum { ADOPT_READ = 64 << 10 };

/* ---- what stands on the disk ----------------------------------------------------------------- */

/* What was kept of a stream: as much is known of its usage as if this daemon had read it. */
static int adopt_read_stream(Edit *edit, Run *run, bool is_stderr) {
        const char *path = place_run(edit->arena, run->spec.project_id, run->spec.run_id,
                                     is_stderr ? "outputs/stderr.txt" : "outputs/stdout.txt");
        _cleanup_(closep) int fd =
                path ? path_open_beneath(edit->root, path, O_RDONLY | O_NONBLOCK, 0) : -ENOENT;
        char *bytes = arena_alloc(edit->arena, ADOPT_READ);
        ssize_t n = 0;

        if (!bytes)
                return error_origin(-ENOMEM);
        run->kept[is_stderr] = 0;
        while (fd >= 0 && (n = read(fd, bytes, ADOPT_READ)) > 0) {
                if (!is_stderr && run_is_app_server(run))
                        (void)app_server_feed_kept(run, (Str){bytes, (size_t)n});
                else
                        (void)usage_meter_feed(&run->meter, is_stderr ? USAGE_STDERR : USAGE_STDOUT,
                                               (Str){bytes, (size_t)n}, NULL);
                run->kept[is_stderr] += (uint64_t)n;
        }
        return n < 0 ? error_origin(-errno) : 0;
}

static void adopt_read_input(Edit *edit, Run *run) {
        const char *path = place_run(edit->arena, run->spec.project_id, run->spec.run_id,
                                     run_is_app_server(run) ? "outputs/prompt.txt" : "outputs/stdin.txt");
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        UsageUnits units = {0};

        if (path && document_bytes(edit->root, path, DOCUMENT_MAX, &text) == 0)
                usage_units_add(&units, buf_str(&text));
        run->n_input_units = usage_units_total(&units);
}

/* A record that is not the one which was written for this process is another's. */
static void adopt_read_record(Edit *edit, Run *run, const Json **ret) {
        const char *path = place_session(edit->arena, run->session_ref);
        int64_t started_ms = 0, pid = 0;
        Json *record = NULL;

        *ret = NULL;
        run->is_estranged = true;
        if (!path || document_load(edit->arena, edit->root, path, DOCUMENT_YAML, &record, NULL, NULL) ||
            !json_int64(json_get(record, "started_at_ms"), &started_ms) || started_ms != run->started_ms)
                return;
        *ret = record;
        run->is_estranged = false;
        if (json_int64(json_get(record, "pid"), &pid) && pid == run->pid) {
                run->is_pid_kept = true;
                (void)json_int64(json_get(record, "pid_claimed_at_ms"), &run->claimed_ms);
        }
}

/* The end that the last daemon has kept: who watches the run is told that one. */
static int adopt_take_end(Run *run, const Json *record) {
        int64_t exit_code = 0;
        RunEnd *end = &run->end;

        end->has_exit = json_int64(json_get(record, "exit_code"), &exit_code);
        end->exit_code = (int)exit_code;
        end->status = arena_str(&run->arena, json_text_of(record, "status"));
        end->signal = arena_str(&run->arena, json_text_of(record, "signal"));
        end->error = arena_str(&run->arena, json_text_of(record, "error"));
        run->is_end_kept = true;
        return end->status.data && end->signal.data && end->error.data ? 0 : error_origin(-ENOMEM);
}

static int adopt_decide(Edit *edit, const Carry *carry) {
        Run *run = run_of(carry);
        const Json *record;
        int r;

        usage_meter_deinit(&run->meter);
        run->meter = (UsageMeter){0};
        adopt_read_record(edit, run, &record);
        if (record && !str_is(json_text_of(record, "status"), "running"))
                return adopt_take_end(run, record); /* it died before it could forget the process */
        r = launch_look(edit, run);
        if (r)
                edit->call->error =
                        0; /* its document is gone or broken: the session has its end all the same */
        if (!run->mode.n)
                run->mode = str_is(json_text_of(record, "mode"), "codex_app_server")
                                    ? STR("codex_app_server")
                                    : STR("command");
        if (run_is_app_server(run) && (r = app_server_adopt(run)))
                return r;
        run->has_marker = place_has(edit->root, place_run(edit->arena, run->spec.project_id,
                                                          run->spec.run_id, "outputs/stop_requested.flag"));
        adopt_read_input(edit, run);
        r = adopt_read_stream(edit, run, false);
        return error_trace(r ? r : adopt_read_stream(edit, run, true));
}

static void adopt_decided(Run *run, Edit *edit _unused_, int error) {
        Company *company = run->workspace->company;

        if (error) {
                (void)timer_set(&run->again, RUN_AGAIN_MS);
                return; /* run_next() comes back here */
        }
        run->is_read = true;
        run->is_stop_wanted |= run->has_marker;
        for (int i = 0; i < 2 && run->hosted; i++)
                hosted_keep(run->hosted, i, run->kept[i]);
        if (run->is_end_kept)
                run->state = RUN_OVER;
        log_info(&company->daemon->log, run->hosted->id, "run adopted run=" STR_FMT,
                 STR_ARG(run->spec.run_id));
        if (run_is_app_server(run) && !run->is_end_kept)
                app_server_adopted(run);
        run_soon(run);
}

void adopt_read(Run *run) {
        run_step(run, adopt_decide, adopt_decided);
}

/* ---- its run again --------------------------------------------------------------------------- */

static int adopt_fill(Run *run, const RunFound *found, const Hosted *hosted) {
        const Json *meta = found->meta;
        int64_t attempt = 0;

        run->session_ref = arena_str(&run->arena, json_text_of(meta, "session_ref"));
        run->spec.project_id = arena_str(&run->arena, json_text_of(meta, "project"));
        run->spec.run_id = arena_str(&run->arena, json_text_of(meta, "run"));
        run->spec.task_id = arena_str(&run->arena, json_text_of(meta, "task"));
        run->spec.job_id = arena_str(&run->arena, json_text_of(meta, "job"));
        (void)json_int64(json_get(meta, "attempt"), &attempt);
        (void)json_int64(json_get(meta, "started_ms"), &run->started_ms);
        (void)json_int64(json_get(meta, "limit_ms"), &run->spec.limit_ms);
        run->spec.attempt = (unsigned)attempt;
        run->pid = hosted->pid;
        run->claimed_ms = hosted->started_us / 1000;
        run->state = RUN_RUNNING;
        run->is_told = true;
        return run->session_ref.data && run->spec.project_id.data && run->spec.run_id.data &&
                               run->spec.job_id.data && run->spec.task_id.data
                       ? 0
                       : error_origin(-ENOMEM);
}

static void adopt_set_limit(Run *run) {
        int64_t spent_ms = loop_wall_us(run->workspace->company->daemon->loop) / 1000 - run->started_ms;

        if (run->spec.limit_ms)
                (void)timer_set(&run->limit, MAX(run->spec.limit_ms - spent_ms, (int64_t)0));
}

static void adopt_one(Workspace *workspace, const RunFound *found) {
        Company *company = workspace->company;
        Hosted *hosted = host_find(company->daemon->host, str_from(found->id));
        Run *run = NULL;

        if (!hosted || hosted->handler || run_new(workspace, &run))
                return;
        if (adopt_fill(run, found, hosted)) {
                run_free(run);
                return;
        }
        start_attach(run, hosted);
        run->is_program_over = hosted->state != HOSTED_RUNNING && hosted->state != HOSTED_STARTING;
        run_add(run);
        if (!run_find(workspace, run->session_ref))
                run_hold_ref(run);
        adopt_set_limit(run);
        run_soon(run);
        if (company->run_found && run->spec.job_id.n)
                company->run_found(run);
}

static RunFound *adopt_free(RunFound *found) {
        arena_deinit(&found->arena);
        free(found);
        return NULL;
}

void runs_attach(Workspace *workspace) {
        RunFound **at = &workspace->company->found;

        while (*at) {
                RunFound *found = *at;

                if (found->dev != workspace->dev || found->ino != workspace->ino) {
                        at = &found->next;
                        continue;
                }
                *at = found->next;
                adopt_one(workspace, found);
                adopt_free(found);
        }
}

void runs_adopt_end(Company *company) {
        while (company->found) {
                RunFound *found = company->found;

                company->found = found->next;
                adopt_free(found);
        }
}

void runs_on_found(Company *company, void (*fn)(Run *run)) {
        company->run_found = fn;
}

/* ---- opening its workspace ------------------------------------------------------------------- */

static int adopt_opened(_unused_ Call *call, _unused_ Workspace *workspace, _unused_ const Carry *carry) {
        return 0; /* runs_attach() has done it */
}

static int adopt_lost(_unused_ Call *call, _unused_ const Carry *carry) {
        return 0; /* its program runs on; muster ps has it, and muster kill ends it */
}

static void adopt_over(Call *call) {
        daemon_release_stop(call->daemon);
}

static void adopt_open(Company *company, Str path) {
        Call *call = path.n ? call_of_ours(company->daemon, adopt_over) : NULL;
        int r;

        if (!call)
                return;
        daemon_hold_stop(company->daemon);
        r = workspace_target(call, path, WORKSPACE_FOLDER, adopt_opened, adopt_lost, NULL);
        if (r != CALL_LATER)
                call_finish(call, r);
}

void runs_adopt(Company *company, Hosted *hosted) {
        RunFound *found = calloc(1, sizeof(*found)), **last = &company->found;
        Str text = str_from(hosted->meta), copy;
        Json *meta = NULL;

        if (!found)
                return;
        copy = arena_str(&found->arena, text);
        if (!copy.data || json_parse(&found->arena, copy.data, copy.n, NULL, &meta, NULL) ||
            !json_uint64(json_get(meta, "dev"), &found->dev) ||
            !json_uint64(json_get(meta, "ino"), &found->ino)) {
                log_warning(&company->daemon->log, hosted->id,
                            "a run whose notes cannot be read is left alone");
                adopt_free(found);
                return;
        }
        memcpy(found->id, hosted->id, sizeof(found->id));
        found->company = company;
        found->meta = meta;
        while (*last)
                last = &(*last)->next;
        *last = found;
        adopt_open(company, json_text_of(meta, "workspace"));
}

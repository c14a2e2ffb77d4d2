/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "collab/runner"

/*
 * The state file of a runner, which other programs look at to see what runs. It is written and removed on
 * workers, one step at a time, until it is as wanted; so one that has ended never leaves its file behind.
 */
#include "collab/actor/runner.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json/json-writer.h"
#include "base/time.h"
#include "collab/actor/actor.h"
#include "collab/collab.h"
#include "collab/parts.h"
#include "core/sandbox/sandbox-job.h"

typedef struct FileJob {
        Runner *runner;
        char *path;
        Buf text; /* empty: the file goes */
} FileJob;

static void free_job(FileJob *job) {
        free(job->path);
        buf_deinit(&job->text);
        free(job);
}

static void runner_file_run(void *user) {
        FileJob *job = user;
        _cleanup_(freep) char *copy = NULL;

        if (!job->text.n) {
                (void)unlink(job->path);
                return;
        }
        copy = strdup(job->path);
        if (copy)
                (void)dir_make(dirname(copy), 0700);
        (void)file_replace(job->path, buf_str(&job->text), 0600, FILE_RUNTIME);
}

static void runner_sync_file(Runner *runner);

/* A file that could not be written is no reason not to run: it counts as there. */
static void runner_file_done(void *user) {
        FileJob *job = user;
        Runner *runner = job->runner;

        runner->is_writing = false;
        runner->has_file = job->text.n != 0;
        free_job(job);
        runner_sync_file(runner);
}

static void runner_file_write_text(const Runner *runner, Buf *out) {
        JsonWriter w = JSON_WRITER(out);
        char ts[TIME_TEXT_MAX];

        time_format_us(runner->started_us, ts);
        jw_begin_object(&w);
        jw_field_int(&w, "v", 1);
        jw_field_cstr(&w, "kind", runner->kind == RUNNER_PTY ? "pty" : "headless");
        jw_field_cstr(&w, "group_id", runner->group_id);
        jw_field_cstr(&w, "actor_id", runner->actor_id);
        if (runner->kind == RUNNER_PTY)
                jw_field_int(&w, "pid", runner->hosted ? runner->hosted->pid : 0);
        jw_field_cstr(&w, "started_at", ts);
        jw_end_object(&w);
}

static void runner_settle(Runner *runner);

/* makes the state file be as wanted, then runner_settle() */
static void runner_sync_file(Runner *runner) {
        FileJob *job;

        if (runner->is_writing)
                return;
        if (runner->has_file == runner->wants_file) {
                runner_settle(runner);
                return;
        }
        job = calloc(1, sizeof(*job));
        if (job) {
                *job = (FileJob){.runner = runner, .path = strdup(runner->file_path)};
                if (runner->wants_file)
                        runner_file_write_text(runner, &job->text);
        }
        runner->is_writing = true;
        if (job && job->path &&
            !loop_work(runner->collab->daemon->loop, runner_file_run, runner_file_done, job))
                return;
        if (job)
                free_job(job);
        runner->is_writing = false; /* without memory there is no file; what runs does not depend on it */
        runner->has_file = runner->wants_file;
        runner_settle(runner);
}

static const char *const kind_names[] = {[RUNNER_PTY] = "pty", [RUNNER_HEADLESS] = "headless"};

/* ---- table ----------------------------------------------------------------------------------- */

Runner *runner_find(const Collab *collab, Str group_id, Str actor_id) {
        for (Runner *runner = LIST_FIRST(&collab->runners); runner; runner = LIST_NEXT(runner, link))
                if (str_is(group_id, runner->group_id) && str_is(actor_id, runner->actor_id))
                        return runner;
        return NULL;
}

bool runner_is_running(const Runner *runner) {
        if (!runner || runner->state != RUNNER_UP || runner->is_over)
                return false;
        return runner->kind == RUNNER_PTY || strcmp(runner->headless.status, "stopped") != 0;
}

void runner_free(Runner *runner) {
        LIST_REMOVE(runner, link);
        free(runner->group_id);
        free(runner->actor_id);
        free(runner->file_path);
        strvec_deinit(&runner->notes);
        free(runner->headless.task_id);
        free(runner->headless.message_id);
        loop_defer_free(runner->collab->daemon->loop, runner);
}

static int runner_fill(Runner *runner, Str group_id, Str actor_id) {
        runner->group_id = str_dup(group_id);
        runner->actor_id = str_dup(actor_id);
        if (!runner->group_id || !runner->actor_id ||
            asprintf(&runner->file_path, "%s/%s/state/runners/%s/%s.json", runner->collab->groups_path,
                     runner->group_id, kind_names[runner->kind], runner->actor_id) < 0)
                return error_origin(-ENOMEM);
        return 0;
}

int runner_new(Runner **ret, Collab *collab, RunnerKind kind, Str group_id, Str actor_id) {
        Runner *runner = calloc(1, sizeof(*runner));
        int r;

        if (!runner)
                return error_origin(-ENOMEM);
        *runner = (Runner){.collab = collab, .kind = kind, .headless.status = "idle"};
        runner->started_us = runner->headless.updated_us = loop_wall_us(collab->daemon->loop);
        LIST_INSERT_HEAD(&collab->runners, runner, link);
        r = runner_fill(runner, group_id, actor_id);
        if (r)
                runner_free(runner);
        else {
                runner_drop_end(collab, group_id, actor_id);
                *ret = runner;
        }
        return error_trace(r);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void tell_parts(const Runner *runner) {
        for (const CollabPart *const *part = collab_parts; *part; part++)
                if ((*part)->actor_changed)
                        (*part)->actor_changed(runner->collab, str_from(runner->group_id),
                                               str_from(runner->actor_id));
}

static void runner_tell(RunnerWait *waiting, int error, const char *why) {
        for (RunnerWait *wait = waiting, *next; wait; wait = next) {
                next = wait->next;
                wait->why = why;
                wait->done(wait, error);
        }
}

void runner_join(Runner *runner, RunnerWait *wait) {
        RunnerWait **end = &runner->waiting;

        while (*end)
                end = &(*end)->next;
        wait->next = NULL;
        *end = wait;
}

/* goes on to the state that is due; may free it */
static void runner_settle(Runner *runner) {
        RunnerWait *waiting = runner->waiting;

        if (runner->is_writing || runner->has_file != runner->wants_file)
                return;
        runner->waiting = NULL;
        if (runner->state == RUNNER_STARTING && runner->wants_file) {
                runner->state = RUNNER_UP;
                log_notice(&runner->collab->daemon->log, runner->actor_id, "starting → up group=%s kind=%s",
                           runner->group_id, kind_names[runner->kind]);
                tell_parts(runner);
        } else if (runner->state == RUNNER_ENDING && runner->is_over) {
                log_notice(&runner->collab->daemon->log, runner->actor_id, "ending → gone group=%s",
                           runner->group_id);
                runner_free(runner);
        } else {
                runner->waiting = waiting;
                return;
        }
        runner_tell(waiting, 0, NULL);
}

/* ---- the end --------------------------------------------------------------------------------- */

void runner_over(Runner *runner) {
        RunnerWait *starting = runner->state == RUNNER_STARTING ? steal(&runner->waiting) : NULL;

        runner->state = RUNNER_ENDING;
        runner->is_over = true;
        runner->wants_file = false;
        tell_parts(runner);
        runner_sync_file(runner);
        runner_tell(starting, 0, NULL); /* it did start */
}

void runner_failed(Runner *runner, int error, const char *why) {
        RunnerWait *waiting = runner->waiting;

        if (!waiting)
                log_warning(&runner->collab->daemon->log, runner->actor_id,
                            "cannot be started: group=%s: %s", runner->group_id,
                            why ? why : strerror(error));
        runner_free(runner);
        runner_tell(waiting, error, why);
}

/* ---- the process ----------------------------------------------------------------------------- */

static void runner_on_started(Hosted *hosted, int error) {
        Runner *runner = hosted->user;

        if (error) {
                runner_failed(runner, error, NULL);
                return;
        }
        runner->started_us = hosted->started_us;
        if (runner->state == RUNNER_ENDING) { /* somebody changed his mind meanwhile */
                host_discard(hosted, RUNNER_GRACE_MS);
                return;
        }
        runner->wants_file = true;
        runner_sync_file(runner);
}

static void runner_on_ended(Hosted *hosted) {
        Runner *runner = hosted->user;

        if (runner->state != RUNNER_ENDING) {
                runner_note_end(runner, hosted);
                sandbox_note_end(runner->collab->daemon, hosted);
        }
        hosted->handler = NULL;
        runner->hosted = NULL;
        host_forget(hosted);
        runner_over(runner);
}

const HostedHandler runner_hosted_handler = {.standing = runner_standing,
                                             .stand = runner_stand,
                                             .started = runner_on_started,
                                             .ended = runner_on_ended};

/* The file is written again: its daemon may have been killed before it was there. */
void runner_claim(Runner *runner, Hosted *hosted) {
        runner->hosted = hosted;
        runner->started_us = hosted->started_us;
        runner->state = RUNNER_UP;
        runner->wants_file = true;
        hosted->handler = &runner_hosted_handler;
        hosted->user = runner;
        runner_sync_file(runner);
}

/* ---- starting and ending --------------------------------------------------------------------- */

int runner_begin(Group *group, const ActorView *actor, RunnerWait *wait) {
        Collab *collab = group->collab;
        RunnerKind kind = str_is(actor->runner, "headless") ? RUNNER_HEADLESS : RUNNER_PTY;
        Runner *runner = NULL;
        int r;

        if (!actor_id_is_valid(actor->id)) /* a document written by hand; it would become a path */
                return error_origin(-EINVAL);
        r = runner_new(&runner, collab, kind, str_from(group->id), actor->id);
        if (!r && kind == RUNNER_PTY)
                r = runner_spawn(runner, group->doc, actor);
        if (r) {
                if (runner)
                        runner_free(runner);
                return r;
        }
        if (wait)
                runner_join(runner, wait);
        runner->wants_file = kind == RUNNER_HEADLESS;
        if (kind == RUNNER_HEADLESS)
                runner_sync_file(runner);
        return 0;
}

void runner_end(Runner *runner, RunnerWait *wait) {
        RunnerWait *starting = runner->state == RUNNER_STARTING ? steal(&runner->waiting) : NULL;
        bool was_ending = runner->state == RUNNER_ENDING; /* saying it again would prolong the grace */

        runner->state = RUNNER_ENDING;
        if (wait)
                runner_join(runner, wait);
        runner_tell(starting, ECANCELED, NULL);
        if (!was_ending && runner->hosted && runner->hosted->state == HOSTED_RUNNING)
                host_discard(runner->hosted, RUNNER_GRACE_MS);
        if (runner->kind == RUNNER_HEADLESS && !runner->is_over)
                runner_over(runner);
}

typedef struct StopHold {
        RunnerWait wait;
        Daemon *daemon;
} StopHold;

static void on_held_end(RunnerWait *wait, _unused_ int error) {
        StopHold *hold = container_of(wait, StopHold, wait);

        daemon_release_stop(hold->daemon);
        free(hold);
}

void runners_end_all(Collab *collab) {
        collab->is_ending = true;
        for (Runner *runner = LIST_FIRST(&collab->runners), *next; runner; runner = next) {
                StopHold *hold = calloc(1, sizeof(*hold));

                next = LIST_NEXT(runner, link);
                if (hold) {
                        *hold = (StopHold){.wait.done = on_held_end, .daemon = collab->daemon};
                        daemon_hold_stop(collab->daemon);
                }
                runner_end(runner, hold ? &hold->wait : NULL);
        }
}

void runners_let_go(Collab *collab) {
        for (Runner *runner = LIST_FIRST(&collab->runners); runner; runner = LIST_NEXT(runner, link)) {
                if (runner->hosted)
                        runner->hosted->handler = NULL;
                runner->hosted = NULL;
        }
}

void runners_end_unlisted(const Group *group) {
        for (Runner *runner = LIST_FIRST(&group->collab->runners), *next; runner; runner = next) {
                next = LIST_NEXT(runner, link);
                if (!strcmp(runner->group_id, group->id) &&
                    !group_doc_actor(group->doc, str_from(runner->actor_id)))
                        runner_end(runner, NULL);
        }
}

/* ---- before the first start ------------------------------------------------------------------- */

bool runners_are_open(const Collab *collab) {
        return !collab->is_clearing;
}

void runners_join(Collab *collab, RunnerWait *wait) {
        wait->next = collab->cleared;
        collab->cleared = wait;
}

void runners_open(Collab *collab) {
        collab->is_clearing = false;
        runner_tell(steal(&collab->cleared), 0, NULL);
}

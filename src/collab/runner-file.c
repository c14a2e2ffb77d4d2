/* SPDX-License-Identifier: MIT */
/*
 * The state file of a runner, which other programs look at to see what runs. It is written and removed on
 * workers, one step at a time, until it is as wanted; so one that has ended never leaves its file behind.
 */
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json-writer.h"
#include "base/time.h"
#include "collab/collab.h"
#include "collab/runner.h"

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

void runner_sync_file(Runner *runner) {
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

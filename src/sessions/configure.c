/* SPDX-License-Identifier: MIT */
/*
 * Reading a session's coopfile, on a worker: its files may lie on a slow disk.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sessions/sessions.h"

typedef struct Job {
        Pty *pty;
        ConfiguredFn done;
        Coopfile config;
        char *workspace, *override;
        char wrong[256];
        int r;
} Job;

static void job_free(Job *job) {
        free(job->workspace);
        free(job->override);
        free(job);
}

static void run(void *user) {
        Job *job = user;

        job->r = coopfile_load(&job->config, job->workspace, str_from(job->override), job->wrong,
                               sizeof(job->wrong));
}

static int take(Pty *pty, Coopfile *config) {
        char *command = pty->id == 0 ? strdup(config->command) : strdup(pty->command);

        if (!command) {
                coopfile_deinit(config);
                return error_origin(-ENOMEM);
        }
        free(pty->command);
        pty->command = command;
        coopfile_deinit(&pty->session->config);
        pty->session->config = *config;
        return 0;
}

static void done(void *user) {
        Job *job = user;
        int r = job->r ? job->r : take(job->pty, &job->config);

        job->pty->is_configuring = false;
        job->done(job->pty, r, job->wrong);
        job_free(job);
}

int pty_configure(Pty *pty, ConfiguredFn fn) {
        Job *job = calloc(1, sizeof(*job));

        if (!job)
                return error_origin(-ENOMEM);
        *job = (Job){.pty = pty,
                     .done = fn,
                     .workspace = strdup(pty->session->workspace),
                     .override = strdup(pty->session->override)};
        if (!job->workspace || !job->override ||
            loop_work(pty->session->owner->daemon->loop, run, done, job)) {
                job_free(job);
                return error_origin(-ENOMEM);
        }
        pty->is_configuring = true; /* nobody frees the terminal meanwhile */
        return 0;
}

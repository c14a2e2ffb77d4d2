/* SPDX-License-Identifier: MIT */
/*
 * daemon.json decides what runs outside of sandboxes, and an agent in one may have the project for a
 * workspace: what it writes there waits until a person accepts it (core/trust.h).
 */
#define LOG_MODULE "tasks/trust"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sha256.h"
#include "tasks/project.h"

static Str config_content(const ProjectConfig *config) {
        if (config->is_missing)
                return STR_NULL;
        return config->text.n ? buf_str(&config->text) : STR("");
}

int project_config_judge(const Project *project, ProjectConfig *config) {
        int r = trust_judge(project->daemon->trust, project->config_path, config->real,
                            config_content(config));

        if (r != TRUST_E_HELD)
                return error_trace(r);
        snprintf(config->wrong, sizeof(config->wrong),
                 "%s: changed where an agent in a sandbox can write; look at it, then: muster project trust "
                 "%s",
                 project->config_path, project->dir);
        return PROJECT_E_UNTRUSTED;
}

/* ---- written down ----------------------------------------------------------------------------- */

typedef struct TrustKeep {
        Project *project;
        TrustNote note;
        int r;
} TrustKeep;

static void keep_run(void *user) {
        TrustKeep *keep = user;

        keep->r = trust_note_write(&keep->note);
}

static void keep_done(void *user) {
        TrustKeep *keep = user;

        if (keep->r)
                log_warning(&keep->project->daemon->log, keep->project->dir,
                            "not written down that daemon.json is accepted: %s", strerror(-keep->r));
        trust_note_deinit(&keep->note);
        free(keep);
}

/* Should we die before it is written, a person may be asked once more: that is the safe side. */
void project_config_keep(Project *project, const ProjectConfig *config) {
        TrustKeep *keep = calloc(1, sizeof(*keep));
        int r = keep ? trust_accept(project->daemon->trust, project->config_path, config->real,
                                    config->moment, config_content(config), &keep->note)
                     : -ENOMEM;

        if (!r && keep->note.path) {
                keep->project = project;
                r = loop_work(project->daemon->loop, keep_run, keep_done, keep);
                if (!r)
                        return;
        }
        if (r)
                log_warning(&project->daemon->log, project->dir,
                            "not written down that daemon.json is accepted: %s", strerror(-r));
        if (keep)
                trust_note_deinit(&keep->note);
        free(keep);
}

/* ---- by a person ------------------------------------------------------------------------------ */

typedef struct TrustJob {
        Project *project;
        char *path;
        char sha256[SHA256_HEX_MAX]; /* of what the person saw; "": whatever is there */
        ProjectConfig config;
        TrustNote note;
        ProjectTrustFn done;
        void *user;
        int r;
} TrustJob;

static void job_end(TrustJob *job, int r) {
        const char *wrong = r > 0 ? job->config.wrong : NULL;

        job->project->is_reloading = false;
        job->done(job->user, r, wrong);
        project_config_deinit(&job->config);
        trust_note_deinit(&job->note);
        free(job->path);
        free(job);
}

static void job_write(void *user) {
        TrustJob *job = user;

        job->r = trust_note_write(&job->note);
}

static void job_written(void *user) {
        TrustJob *job = user;
        int r = job->r;

        if (!r)
                r = project_use(job->project, &job->config, 0);
        if (!r)
                log_notice(&job->project->daemon->log, job->project->dir, "daemon.json accepted");
        job_end(job, r);
}

static int job_compare(TrustJob *job) {
        char digest[SHA256_HEX_MAX];
        int r = sha256_hex(config_content(&job->config), digest);

        if (r || !job->sha256[0] || !strcmp(digest, job->sha256))
                return error_trace(r);
        snprintf(job->config.wrong, sizeof(job->config.wrong),
                 "%s: changed again since you looked at it; look once more", job->path);
        return PROJECT_E_UNTRUSTED;
}

static void job_read(void *user) {
        TrustJob *job = user;

        job->r = project_config_read(&job->config, job->path, true);
        if (!job->r)
                job->r = job_compare(job);
}

static void job_was_read(void *user) {
        TrustJob *job = user;
        Project *project = job->project;
        int r = job->r;

        if (!r && !project->is_open) {
                snprintf(job->config.wrong, sizeof(job->config.wrong), "%s: no longer served", project->dir);
                r = PROJECT_E_UNTRUSTED;
        }
        if (!r)
                r = trust_accept(project->daemon->trust, project->config_path, job->config.real,
                                 job->config.moment, config_content(&job->config), &job->note);
        if (!r)
                r = loop_work(project->daemon->loop, job_write, job_written, job);
        if (r)
                job_end(job, r);
}

int project_trust(Project *project, Str sha256, ProjectTrustFn done, void *user) {
        TrustJob *job = calloc(1, sizeof(*job));
        int r = job ? 0 : -ENOMEM;

        if (job) {
                job->project = project;
                job->path = strdup(project->config_path);
                job->done = done;
                job->user = user;
                job->config.moment = trust_moment(project->daemon->trust);
                snprintf(job->sha256, sizeof(job->sha256), STR_FMT, STR_ARG(sha256));
                r = job->path ? loop_work(project->daemon->loop, job_read, job_was_read, job) : -ENOMEM;
        }
        if (!r) {
                project->is_reloading = true; /* a reload waits for it */
                return 0;
        }
        if (job)
                free(job->path);
        free(job);
        return error_origin(r);
}

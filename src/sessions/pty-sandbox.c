/* SPDX-License-Identifier: MIT */
/*
 * The sandbox around a terminal's command: what the coopfile asks for, in the words of core/host.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "sessions/pty-start.h"

/* Mounts of all kinds, until the job has copied them. */
typedef struct Asked {
        StrVec texts; /* host and inside of each that is not the coopfile's own */
        SandboxMount *mounts, *persist;
        size_t n_mounts, n_persist;
        StrVec hide;
} Asked;

static void asked_deinit(Asked *asked) {
        strvec_deinit(&asked->texts);
        strvec_deinit(&asked->hide);
        free(asked->mounts);
        free(asked->persist);
}

/* Folders below the home that outlive the session: ~/.coop/sessions/<name>/persist/<folder>. */
static int asked_persist(Asked *asked, const Session *session) {
        const StrVec *persist = &session->config.persist;

        for (size_t i = 0; i < persist->n; i++) {
                _cleanup_(freep) char *host = NULL, *inside = path_join("~", persist->items[i]);

                if (!inside ||
                    asprintf(&host, "~/.coop/sessions/%s/persist/%s", session->name, persist->items[i]) < 0)
                        return error_origin(-ENOMEM);
                if (strvec_push(&asked->texts, host) || strvec_push(&asked->texts, inside))
                        return error_origin(-ENOMEM);
        }
        for (size_t i = 0; i < persist->n; i++)
                asked->persist[asked->n_persist++] = (SandboxMount){.host = asked->texts.items[2 * i],
                                                                    .inside = asked->texts.items[2 * i + 1],
                                                                    .is_writable = true};
        return 0;
}

/* A volume takes the place of a persistent folder. */
static void asked_mounts(Asked *asked, const Coopfile *config) {
        for (size_t i = 0; i < config->n_mounts; i++) {
                const Mount *mount = &config->mounts[i];

                if (mount->is_volume)
                        asked->persist[asked->n_persist++] = (SandboxMount){.host = mount->host,
                                                                            .inside = mount->inside,
                                                                            .is_writable = true,
                                                                            .is_volume = true};
                else
                        asked->mounts[asked->n_mounts++] =
                                (SandboxMount){.host = mount->host,
                                               .inside = mount->inside,
                                               .shows_hidden = !mount->is_project};
        }
}

/* What is hidden anyway and what the project's file adds; or what a person said. */
static int asked_hide(Asked *asked, const Coopfile *config) {
        int r = config->hide_is_said ? 0 : sandbox_secrets(&asked->hide);

        return error_trace(r ? r : strvec_append(&asked->hide, &config->hide));
}

static int asked_fill(Asked *asked, const Session *session) {
        const Coopfile *config = &session->config;
        int r;

        asked->mounts = calloc(config->n_mounts + 1, sizeof(*asked->mounts));
        asked->persist = calloc(config->n_mounts + config->persist.n + 1, sizeof(*asked->persist));
        r = asked->mounts && asked->persist ? asked_persist(asked, session) : error_origin(-ENOMEM);
        if (r)
                return error_trace(r);
        asked_mounts(asked, config);
        return error_trace(asked_hide(asked, config));
}

/* ---- and what came of it --------------------------------------------------------------------- */

static void sandbox_done(SandboxJob *job) {
        PtyStart *start = job->user;
        Pty *pty = start->pty;

        pty->is_configuring = false;
        if (job->error) {
                if (job->report.command_errno)
                        pty_failed_errno(pty, job->report.command_errno);
                else
                        pty_failed(pty, job->error, job->problem);
                pty_start_free(start);
                return;
        }
        sandbox_job_take(job, &start->program, pty->session->name);
        if (pty->id == 0)
                (void)strvec_append(&pty->session->notes, &job->notes);
        pty_start_run(start);
}

/* What is built in gives way to what a runtime needs and to mounts, what was said does not. */
int pty_sandbox(PtyStart *start) {
        const Session *session = start->pty->session;
        const Coopfile *config = &session->config;
        Asked asked = {0};
        SandboxAsk ask = {.name = session->name,
                          .program = &start->program,
                          .command = config->command,
                          .has_no_login = !config->login};
        int r = asked_fill(&asked, session);
        size_t n_defaults = config->persist_is_said ? 0 : config->persist.n;

        if (!r) {
                ask.network = (SandboxNetwork)MAX(sandbox_network_from_name(config->network), 0);
                ask.defaults = asked.persist;
                ask.n_defaults = n_defaults;
                ask.mounts = asked.mounts;
                ask.n_mounts = asked.n_mounts;
                ask.persist = asked.persist + n_defaults;
                ask.n_persist = asked.n_persist - n_defaults;
                ask.hide = &asked.hide;
                r = sandbox_job_start(session->owner->daemon, &ask, sandbox_done, start);
        }
        asked_deinit(&asked);
        if (!r)
                start->pty->is_configuring = true;
        return error_trace(r);
}

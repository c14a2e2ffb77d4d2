/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "core/sandbox"

#include "core/sandbox/sandbox-job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "core/call.h"
#include "core/endpoint.h"
#include "core/host/host-internal.h"
#include "core/sandbox/sandbox-internal.h"
#include "core/runtimes.h"

enum { SANDBOX_QUICK_MS = 5000 };

static const char *const secrets[] = {
        "~/.ssh",
        "~/.gnupg",
        "~/.password-store",
        "~/.local/share/keyrings",
        "~/.aws",
        "~/.azure",
        "~/.config/gcloud",
        "~/.config/doctl",
        "~/.kube",
        "~/.docker/config.json",
        "~/.config/containers/auth.json",
        "~/.netrc",
        "~/.git-credentials",
        "~/.config/git/credentials",
        "~/.config/gh",
        "~/.config/glab-cli",
        "~/.config/hub",
        "~/.npmrc",
        "~/.pypirc",
        "~/.cargo/credentials",
        "~/.cargo/credentials.toml",
        "~/.gem/credentials",
        "~/.m2/settings.xml",
        "~/.pgpass",
        "~/.my.cnf",
        "~/.vault-token",
        "~/.terraform.d/credentials.tfrc.json",
        "~/.config/rclone/rclone.conf",
        "~/.config/op",
        "~/.mozilla",
        "~/.config/google-chrome",
        "~/.config/chromium",
};

int sandbox_secrets(StrVec *ret) {
        int r = 0;

        for (size_t i = 0; !r && i < ARRAY_SIZE(secrets); i++)
                r = strvec_push(ret, secrets[i]);
        for (const Runtime *runtime = runtime_first(); runtime->name; runtime++)
                for (const char *const *secret = runtime->secrets; !r && *secret; secret++)
                        r = strvec_push(ret, *secret);
        return error_trace(r);
}

void sandbox_note_end(Daemon *daemon, const Hosted *hosted) {
        bool was_quick = hosted->ended_us - hosted->started_us < SANDBOX_QUICK_MS * INT64_C(1000);

        if (was_quick && hosted_exit_code(hosted) && !hosted->is_killed &&
            strcmp(hosted->sandbox, "none") != 0)
                daemon->host->sandbox = (SandboxKnown){0};
}

static void sandbox_job_job_free(SandboxJob *job) {
        StrVec *vecs[] = {&job->argv, &job->notes,  &job->texts,  &job->command,
                          &job->env,  &job->hidden, &job->conceal};

        for (size_t i = 0; i < ARRAY_SIZE(vecs); i++)
                strvec_deinit(vecs[i]);
        free(job->mounts);
        free(job->helper);
        free(job->runtime);
        sandbox_report_deinit(&job->report);
        free(job);
}

/* ---- what goes into it ----------------------------------------------------------------------- */

/* Who works in it has to see it. */
static int job_hide(SandboxJob *job, const char *path, const char *workspace) {
        return sandbox_path_is_within(workspace, path) ? 0 : error_trace(strvec_push(&job->hidden, path));
}

/* Connecting works on a read-only file system: our own sockets are covered, or an agent could ask the daemon
 * for a session without a sandbox. So is what says who is to be in one, which may lie in a workspace; and
 * the state folder, with output, recordings and keys of others. */
static int job_hide_ours(SandboxJob *job, const char *workspace) {
        const Daemon *daemon = job->daemon;
        _cleanup_(freep) char *host = path_join(daemon->home, "host");
        _cleanup_(freep) char *trust = path_join(daemon->home, "trust");
        int r = host && trust ? strvec_push(&job->hidden, host) : error_origin(-ENOMEM);

        r = r ? r : strvec_push(&job->hidden, trust);
        r = r ? r : job_hide(job, daemon->home, workspace);
        if (!r && daemon->state_home)
                r = job_hide(job, daemon->state_home, workspace);
        for (const Endpoint *e = daemon->endpoints; !r && e; e = e->next) {
                if (e->state == ENDPOINT_LISTENING && e->bound.path)
                        r = strvec_push(&job->hidden, e->bound.path);
                if (!r && e->folder)
                        r = job_hide(job, e->folder, workspace);
        }
        return error_trace(r ? r : sandbox_terminate(&job->hidden));
}

/* Who may not see the keys may not have them used by the agent that holds them, either. */
static int job_conceal(SandboxJob *job, const StrVec *hide) {
        const char *agent = getenv("SSH_AUTH_SOCK");
        int r = hide ? strvec_append(&job->conceal, hide) : sandbox_secrets(&job->conceal);

        for (size_t i = 0; !r && agent && i < job->conceal.n; i++)
                if (!strcmp(job->conceal.items[i], "~/.ssh")) {
                        r = strvec_push(&job->conceal, agent);
                        break;
                }
        return error_trace(r ? r : sandbox_terminate(&job->conceal));
}

static int job_copy_texts(SandboxJob *job, const SandboxMount *mounts, size_t n) {
        int r = 0;

        for (size_t i = 0; !r && i < n; i++) {
                r = strvec_push(&job->texts, mounts[i].host);
                r = r ? r : strvec_push(&job->texts, mounts[i].inside);
        }
        return error_trace(r);
}

/* The texts no longer move: point into them. */
static const SandboxMount *job_place(SandboxJob *job, size_t *at, const SandboxMount *mounts, size_t n) {
        SandboxMount *first = job->mounts + *at;

        for (size_t i = 0; i < n; i++, ++*at) {
                job->mounts[*at] = mounts[i];
                job->mounts[*at].host = job->texts.items[2 * *at];
                job->mounts[*at].inside = job->texts.items[2 * *at + 1];
        }
        return first;
}

/* What the runtime needs stands before the mounts that were asked for, so that those win. */
static int job_copy_mounts(SandboxJob *job, const SandboxAsk *ask, const Runtime *runtime) {
        SandboxMount login[RUNTIME_ARGS_MAX] = {0};
        size_t n_login = 0, at = 0;
        int r;

        for (; !ask->has_no_login && n_login < ARRAY_SIZE(login) && runtime->login[n_login].path; n_login++)
                login[n_login] = (SandboxMount){.host = runtime->login[n_login].path,
                                                .inside = runtime->login[n_login].path,
                                                .is_writable = runtime->login[n_login].is_writable,
                                                .is_login = true};
        r = job_copy_texts(job, ask->defaults, ask->n_defaults);
        r = r ? r : job_copy_texts(job, login, n_login);
        r = r ? r : job_copy_texts(job, ask->mounts, ask->n_mounts);
        r = r ? r : job_copy_texts(job, ask->persist, ask->n_persist);
        job->mounts = calloc(job->texts.n / 2 + 1, sizeof(*job->mounts));
        if (r || !job->mounts)
                return r ? error_trace(r) : error_origin(-ENOMEM);
        job->spec.defaults = job_place(job, &at, ask->defaults, ask->n_defaults);
        job->spec.n_defaults = ask->n_defaults;
        job->spec.mounts = job_place(job, &at, login, n_login);
        (void)job_place(job, &at, ask->mounts, ask->n_mounts);
        job->spec.n_mounts = n_login + ask->n_mounts;
        job->spec.persist = job_place(job, &at, ask->persist, ask->n_persist);
        job->spec.n_persist = ask->n_persist;
        return 0;
}

static int job_copy_list(StrVec *to, const StrVec *from) {
        int r = strvec_append(to, from);

        return error_trace(r ? r : sandbox_terminate(to));
}

static char *helper_of(const Daemon *daemon) {
        _cleanup_(freep) char *folder = strdup(daemon->shim_path);
        char *slash = folder ? strrchr(folder, '/') : NULL;

        if (!slash)
                return NULL;
        *slash = 0;
        return path_join(folder, "muster-sandbox");
}

static int job_fill(SandboxJob *job, const SandboxAsk *ask) {
        const Runtime *runtime = runtime_of_command((Str){ask->command, strcspn(ask->command, " \t\n")});
        const char *home = getenv("HOME");
        int r;

        job->helper = helper_of(job->daemon);
        job->runtime = strdup(runtime->name);
        r = job->helper && job->runtime ? 0 : error_origin(-ENOMEM);
        r = r ? r : job_hide_ours(job, ask->program->workspace);
        r = r ? r : job_conceal(job, ask->hide);
        r = r ? r : job_copy_mounts(job, ask, runtime);
        r = r ? r : job_copy_list(&job->command, &ask->program->argv);
        r = r ? r : job_copy_list(&job->env, &ask->program->env);
        r = r ? r : strvec_push(&job->texts, ask->name);
        r = r ? r : strvec_push(&job->texts, ask->program->workspace);
        r = r ? r : strvec_push(&job->texts, home ? home : "/");
        if (r)
                return error_trace(r);
        job->spec.mode = SANDBOX_BWRAP;
        job->spec.helper = job->helper;
        job->spec.name = job->texts.items[job->texts.n - 3];
        job->spec.workspace = job->texts.items[job->texts.n - 2];
        job->spec.home = job->texts.items[job->texts.n - 1];
        job->spec.env = job->env.items;
        job->spec.hidden = job->hidden.items;
        job->spec.conceal = job->conceal.items;
        job->spec.network = ask->network;
        return 0;
}

/* ---- on a worker ----------------------------------------------------------------------------- */

static int job_error(int condition) {
        switch (condition) {
        case SANDBOX_E_WORKSPACE: return CALL_E_INVALID_WORKSPACE;
        case SANDBOX_E_MOUNT: return CALL_E_INVALID_COOPFILE;
        case SANDBOX_E_COMMAND: return CALL_E_SPAWN_FAILED;
        default: return CALL_E_INTERNAL;
        }
}

static int job_refuse(SandboxJob *job, const char *why) {
        snprintf(job->report.problem, sizeof(job->report.problem), "%s", why);
        job->error = CALL_E_NAMESPACE_ERROR;
        return 0;
}

static int job_wrap(SandboxJob *job, const SandboxProbe *probe) {
        int r;

        if (!probe->is_available)
                return job_refuse(job, probe->reason);
        if (!probe->has_network)
                return job_refuse(job, probe->network_reason);
        job->spec.bwrap = probe->program;
        job->spec.slirp = probe->slirp;
        r = sandbox_wrap(&job->spec, job->command.items, &job->argv, &job->report);
        if (r > 0)
                job->error = job_error(r);
        return r < 0 ? error_trace(r) : 0;
}

/* One line for what the runtime got, one for each thing that was left out. */
static int job_note(SandboxJob *job) {
        char line[512];
        int r = 0;

        if (job->report.login.n) {
                snprintf(line, sizeof(line), "mounted for %s to be logged in: %s", job->runtime,
                         buf_cstr(&job->report.login));
                r = strvec_push(&job->notes, line);
        }
        return error_trace(r ? r : strvec_append(&job->notes, &job->report.warnings));
}

static void sandbox_job_job_run(void *user) {
        SandboxJob *job = user;
        SandboxProbe probe = {0};

        job->r = sandbox_probe(job->helper, job->spec.network, &job->known, &probe);
        if (!job->r)
                job->r = job_wrap(job, &probe);
        if (!job->r && !job->error)
                job->r = job_note(job);
        sandbox_probe_deinit(&probe);
}

/* ---- on the loop ----------------------------------------------------------------------------- */

/* Of a command that is not there only the reason: who tells of it names it. */
static void sandbox_job_job_done(void *user) {
        SandboxJob *job = user;

        if (job->daemon->host)
                job->daemon->host->sandbox = job->known;
        job->problem = job->report.command_errno ? strerror(job->report.command_errno) : job->report.problem;
        if (job->r) {
                job->error = CALL_E_INTERNAL;
                job->problem = strerror(-job->r);
        }
        job->done(job);
        sandbox_job_job_free(job);
}

int sandbox_job_start(Daemon *daemon, const SandboxAsk *ask, void (*done)(SandboxJob *job), void *user) {
        SandboxJob *job = calloc(1, sizeof(*job));
        int r;

        if (!job)
                return error_origin(-ENOMEM);
        job->daemon = daemon;
        job->done = done;
        job->user = user;
        if (daemon->host)
                job->known = daemon->host->sandbox;
        r = job_fill(job, ask);
        if (!r)
                r = loop_work_slow(daemon->loop, sandbox_job_job_run, sandbox_job_job_done, job);
        if (r)
                sandbox_job_job_free(job);
        return error_trace(r);
}

void sandbox_job_take(SandboxJob *job, Program *program, const char *id) {
        strvec_deinit(&program->argv);
        program->argv = job->argv;
        job->argv = (StrVec){0};
        for (size_t i = 0; i < job->notes.n; i++)
                log_notice(&job->daemon->log, id, "%s", job->notes.items[i]);
}

/* SPDX-License-Identifier: MIT */
/*
 * The sandbox around a terminal's command. Looking for bubblewrap and checking mounts may take a while, so
 * it is done on a worker. A sandbox that was asked for and cannot be had is an error by name; there is no
 * fallback.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "core/host/sandbox.h"
#include "sessions/pty-start.h"

typedef struct Wrap {
        PtyStart *start;
        char *helper, *home, *name;
        StrVec hidden;
        SandboxMount *mounts, *persist;
        size_t n_mounts, n_persist;
        StrVec texts; /* that persist points into */
        SandboxNetwork network;
        SandboxKnown known; /* a copy of Sessions.sandbox: workers have their own */
        StrVec argv;        /* the sandboxed command */
        SandboxReport report;
        int error; /* CALL_E_*, with report.problem; 0: fine */
        int r;
} Wrap;

static void wrap_free(Wrap *wrap) {
        free(wrap->helper);
        free(wrap->home);
        free(wrap->name);
        strvec_deinit(&wrap->hidden);
        free(wrap->mounts);
        free(wrap->persist);
        strvec_deinit(&wrap->texts);
        strvec_deinit(&wrap->argv);
        sandbox_report_deinit(&wrap->report);
        free(wrap);
}

/* ---- what goes into it ----------------------------------------------------------------------- */

/* Connecting works on a read-only file system: our own sockets are covered, or an agent could ask the daemon
 * for a session without a sandbox. */
static int hide_sockets(Wrap *wrap, const Daemon *daemon) {
        _cleanup_(freep) char *host = path_join(daemon->home, "host");
        _cleanup_(freep) char *recordings = path_join(daemon->home, "recordings");
        int r = host && recordings ? strvec_push(&wrap->hidden, host) : -ENOMEM;

        if (!r)
                r = strvec_push(&wrap->hidden, recordings);

        for (const Endpoint *e = daemon->endpoints; !r && e; e = e->next)
                if (e->state == ENDPOINT_LISTENING && e->bound.path)
                        r = strvec_push(&wrap->hidden, e->bound.path);
        return error_trace(r);
}

static int add_mounts(Wrap *wrap, const Coopfile *config) {
        wrap->mounts = calloc(config->n_mounts + 1, sizeof(*wrap->mounts));
        if (!wrap->mounts)
                return error_origin(-ENOMEM);
        for (size_t i = 0; i < config->n_mounts; i++)
                if (strvec_push(&wrap->texts, config->mounts[i].host) ||
                    strvec_push(&wrap->texts, config->mounts[i].inside))
                        return error_origin(-ENOMEM);
        wrap->n_mounts = config->n_mounts;
        return 0;
}

/* Folders below the home that outlive the session: ~/.coop/sessions/<name>/persist/<folder>. */
static int add_persist(Wrap *wrap, const Coopfile *config) {
        wrap->persist = calloc(config->persist.n + 1, sizeof(*wrap->persist));
        if (!wrap->persist)
                return error_origin(-ENOMEM);
        for (size_t i = 0; i < config->persist.n; i++) {
                _cleanup_(freep) char *host = NULL,
                                      *inside = path_join(wrap->home, config->persist.items[i]);

                if (!inside || asprintf(&host, "%s/.coop/sessions/%s/persist/%s", wrap->home, wrap->name,
                                        config->persist.items[i]) < 0)
                        return error_origin(-ENOMEM);
                if (strvec_push(&wrap->texts, host) || strvec_push(&wrap->texts, inside))
                        return error_origin(-ENOMEM);
        }
        wrap->n_persist = config->persist.n;
        return 0;
}

/* The texts no longer move: point into them. */
static void point(Wrap *wrap) {
        char **text = wrap->texts.items;

        for (size_t i = 0; i < wrap->n_mounts; i++, text += 2)
                wrap->mounts[i] = (SandboxMount){.host = text[0], .inside = text[1]};
        for (size_t i = 0; i < wrap->n_persist; i++, text += 2)
                wrap->persist[i] = (SandboxMount){.host = text[0], .inside = text[1], .is_writable = true};
}

static int fill(Wrap *wrap, const Session *session) {
        const Daemon *daemon = session->owner->daemon;
        _cleanup_(freep) char *folder = strdup(daemon->shim_path);
        char *slash = folder ? strrchr(folder, '/') : NULL;
        const char *home = getenv("HOME");
        int r;

        if (!slash)
                return error_origin(-ENOMEM);
        *slash = 0;
        wrap->helper = path_join(folder, "muster-sandbox");
        wrap->home = strdup(home ? home : "/");
        wrap->name = strdup(session->name);
        wrap->network = session->config.network && !strcmp(session->config.network, "none")
                                ? SANDBOX_NETWORK_NONE
                                : SANDBOX_NETWORK_HOST;
        if (!wrap->helper || !wrap->home || !wrap->name)
                return error_origin(-ENOMEM);
        r = hide_sockets(wrap, daemon);
        if (!r)
                r = add_mounts(wrap, &session->config);
        if (!r)
                r = add_persist(wrap, &session->config);
        if (!r)
                point(wrap);
        return error_trace(r);
}

/* ---- on a worker ----------------------------------------------------------------------------- */

static int call_error(int condition) {
        switch (condition) {
        case SANDBOX_E_WORKSPACE: return CALL_E_INVALID_WORKSPACE;
        case SANDBOX_E_MOUNT: return CALL_E_INVALID_COOPFILE;
        case SANDBOX_E_COMMAND: return CALL_E_SPAWN_FAILED;
        default: return CALL_E_INTERNAL;
        }
}

static int refuse(Wrap *wrap, int error, const char *why) {
        snprintf(wrap->report.problem, sizeof(wrap->report.problem), "%s", why);
        wrap->error = error;
        return 0;
}

static int wrap_with(Wrap *wrap, const SandboxProbe *probe) {
        PtyStart *start = wrap->start;
        _cleanup_(freep) char **argv = strvec_list(&start->argv), **env = strvec_list(&start->env);
        _cleanup_(freep) char **hidden = strvec_list(&wrap->hidden);
        SandboxSpec spec = {.mode = SANDBOX_BWRAP,
                            .bwrap = probe->program,
                            .helper = wrap->helper,
                            .name = wrap->name,
                            .workspace = start->workspace,
                            .home = wrap->home,
                            .env = env,
                            .mounts = wrap->mounts,
                            .n_mounts = wrap->n_mounts,
                            .persist = wrap->persist,
                            .n_persist = wrap->n_persist,
                            .hidden = hidden,
                            .network = wrap->network};
        int r;

        if (!argv || !env || !hidden)
                return error_origin(-ENOMEM);
        if (wrap->network == SANDBOX_NETWORK_NONE && !probe->has_network_none)
                return refuse(wrap, CALL_E_NAMESPACE_ERROR, probe->network_reason);
        r = sandbox_wrap(&spec, argv, &wrap->argv, &wrap->report);
        if (r > 0)
                wrap->error = call_error(r);
        return r < 0 ? error_trace(r) : 0;
}

static void run(void *user) {
        Wrap *wrap = user;
        SandboxProbe probe = {0};

        wrap->r = sandbox_probe(wrap->helper, wrap->network, &wrap->known, &probe);
        if (!wrap->r && !probe.is_available)
                wrap->r = refuse(wrap, CALL_E_NAMESPACE_ERROR, probe.reason);
        else if (!wrap->r)
                wrap->r = wrap_with(wrap, &probe);
        sandbox_probe_deinit(&probe);
}

/* ---- on the loop ----------------------------------------------------------------------------- */

/* Of a command that is not there only the reason: the message names it already. */
static const char *problem(const Wrap *wrap) {
        if (!wrap->error)
                return strerror(-wrap->r);
        return wrap->report.command_errno ? strerror(wrap->report.command_errno) : wrap->report.problem;
}

static void done(void *user) {
        Wrap *wrap = user;
        PtyStart *start = wrap->start;
        Pty *pty = start->pty;

        pty->is_configuring = false;
        pty->session->owner->sandbox = wrap->known;
        if (!wrap->r && !wrap->error) {
                strvec_deinit(&start->argv);
                start->argv = wrap->argv;
                wrap->argv = (StrVec){0};
                pty_start_run(start);
        } else {
                pty_failed(pty, wrap->error ? wrap->error : CALL_E_INTERNAL, problem(wrap));
                pty_start_free(start);
        }
        wrap_free(wrap);
}

int pty_sandbox(PtyStart *start) {
        Wrap *wrap = calloc(1, sizeof(*wrap));
        int r;

        if (!wrap)
                return error_origin(-ENOMEM);
        wrap->start = start;
        wrap->known = start->pty->session->owner->sandbox;
        r = fill(wrap, start->pty->session);
        if (!r)
                r = loop_work_slow(start->pty->session->owner->daemon->loop, run, done, wrap);
        if (r) {
                wrap_free(wrap);
                return error_trace(r);
        }
        start->pty->is_configuring = true;
        return 0;
}

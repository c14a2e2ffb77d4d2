/* SPDX-License-Identifier: MIT */
/*
 * Reading a session's coopfile, on a worker: its files may lie on a slow disk. When the agent is in a
 * sandbox and its files are others than when somebody asked for the session, what they say about the sandbox
 * is not taken: the agent could have written them, and would widen its own sandbox at the next start.
 */
#define LOG_MODULE "sessions"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sessions/sessions.h"

typedef struct Configure {
        Pty *pty;
        ConfiguredFn done;
        Coopfile config;
        CoopfileTexts accepted;
        char *workspace, *override;
        bool is_held, has_changed;
        char wrong[256];
        int r;
} Configure;

static void configure_free(Configure *configure) {
        coopfile_texts_deinit(&configure->accepted);
        free(configure->workspace);
        free(configure->override);
        free(configure);
}

/* The files as they are, but for the sandbox as they were. */
static int configure_hold(Configure *configure) {
        Coopfile held = {0};
        int r = coopfile_load(&held, configure->workspace, str_from(configure->override),
                              &configure->accepted, configure->wrong, sizeof(configure->wrong));

        if (!r)
                coopfile_hold(&configure->config, &held);
        coopfile_deinit(&held);
        return error_trace(r);
}

static int configure_load(Configure *configure) {
        CoopfileTexts now = {0};
        int r = coopfile_load(&configure->config, configure->workspace, str_from(configure->override), &now,
                              configure->wrong, sizeof(configure->wrong));

        configure->has_changed = configure->accepted.is_kept && configure->is_held &&
                                 !coopfile_texts_eq(&now, &configure->accepted);
        if (!r && configure->has_changed) {
                r = configure_hold(configure);
                if (r)
                        coopfile_deinit(&configure->config);
        } else if (!r) {
                coopfile_texts_deinit(&configure->accepted);
                configure->accepted = now;
                configure->accepted.is_kept = true;
                return 0;
        }
        coopfile_texts_deinit(&now);
        return error_trace(r);
}

static void configure_run(void *user) {
        Configure *configure = user;

        configure->r = configure_load(configure);
}

/* ---- on the loop ----------------------------------------------------------------------------- */

static char *copy_or_null(const char *text) {
        return text ? strdup(text) : NULL;
}

static int configure_new(Configure **ret, const Session *session, bool is_held) {
        const CoopfileTexts *accepted = &session->accepted;
        Configure *configure = calloc(1, sizeof(*configure));

        if (!configure)
                return error_origin(-ENOMEM);
        *configure = (Configure){.workspace = strdup(session->workspace),
                                 .override = strdup(session->override),
                                 .accepted = {.is_kept = accepted->is_kept,
                                              .everybody = copy_or_null(accepted->everybody),
                                              .project = copy_or_null(accepted->project)},
                                 .is_held = is_held};
        if (!configure->workspace || !configure->override ||
            !configure->accepted.everybody != !accepted->everybody ||
            !configure->accepted.project != !accepted->project) {
                configure_free(configure);
                return error_origin(-ENOMEM);
        }
        *ret = configure;
        return 0;
}

/* Takes the configuration, which is good. */
static void session_take(Session *session, Configure *configure) {
        coopfile_deinit(&session->config);
        session->config = configure->config;
        coopfile_texts_deinit(&session->accepted);
        session->accepted = configure->accepted;
        configure->accepted = (CoopfileTexts){0};
        strvec_deinit(&session->notes);
        if (!configure->has_changed)
                return;
        log_warning(&session->owner->daemon->log, session->name,
                    "coop.toml has changed since the session was made; what it says about the sandbox is "
                    "not taken");
        (void)strvec_push(&session->notes,
                          "coop.toml has changed since the session was made: what it says about the sandbox "
                          "and [env] is not taken until the session is killed and made again");
}

static int configure_take(Pty *pty, Configure *configure) {
        char *command = pty->id == 0 ? strdup(configure->config.command) : strdup(pty->command);

        if (!command) {
                coopfile_deinit(&configure->config);
                return error_origin(-ENOMEM);
        }
        free(pty->command);
        pty->command = command;
        session_take(pty->session, configure);
        return 0;
}

static void configure_done(void *user) {
        Configure *configure = user;
        int r = configure->r ? configure->r : configure_take(configure->pty, configure);

        configure->pty->is_configuring = false;
        configure->done(configure->pty, r, configure->wrong);
        configure_free(configure);
}

int pty_configure(Pty *pty, ConfiguredFn fn) {
        Configure *configure = NULL;
        int r = configure_new(&configure, pty->session,
                              pty->session->config.command &&
                                      strcmp(session_sandbox_mode(pty->session), "none") != 0);

        if (r)
                return error_trace(r);
        configure->pty = pty;
        configure->done = fn;
        if (loop_work(pty->session->owner->daemon->loop, configure_run, configure_done, configure)) {
                configure_free(configure);
                return error_origin(-ENOMEM);
        }
        pty->is_configuring = true; /* nobody frees the terminal meanwhile */
        return 0;
}

int session_configure(Session *session, bool is_held, char *wrong, size_t n_wrong) {
        Configure *configure = NULL;
        int r = configure_new(&configure, session, is_held);

        if (r)
                return error_trace(r);
        r = configure_load(configure);
        if (!r)
                session_take(session, configure);
        else
                snprintf(wrong, n_wrong, "%s", configure->wrong);
        configure_free(configure);
        return error_trace(r);
}

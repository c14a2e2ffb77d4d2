/* SPDX-License-Identifier: MIT */
/*
 * Starting the process of a terminal: its command, its environment, its sandbox.
 */
#define LOG_MODULE "sessions/pty"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "sessions/sessions.h"

enum { COLS_DEFAULT = 120, ROWS_DEFAULT = 40 };

/* ---- environment ----------------------------------------------------------------------------- */

static int put(StrVec *env, const char *name, const char *value) {
        _cleanup_(freep) char *line = NULL;

        if (!value)
                return 0;
        if (asprintf(&line, "%s=%s", name, value) < 0)
                return error_origin(-ENOMEM);
        return error_trace(strvec_push(env, line));
}

static int put_path(StrVec *env, const char *home) {
        _cleanup_(freep) char *path = NULL;

        if (asprintf(&path,
                     "%s/.claude/local/bin:%s/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/"
                     "sbin:/bin",
                     home, home) < 0)
                return error_origin(-ENOMEM);
        return error_trace(put(env, "PATH", path));
}

/* What the contract lists, what a terminal program needs to know about the place, and then the coopfile's
 * own. */
static int build_env(const Session *session, StrVec *env) {
        static const char *const passed[] = {"LANG", "LC_ALL", "LC_CTYPE", "TZ", "SHELL", "SSH_AUTH_SOCK"};
        const char *home = getenv("HOME"), *user = getenv("USER");
        char created[32];
        int r;

        snprintf(created, sizeof(created), "%lld", (long long)session->created_s);
        r = put(env, "COOP_SESSION", session->name);
        r = r ? r : put(env, "COOP_WORKSPACE", session->workspace);
        r = r ? r : put(env, "COOP_CREATED", created);
        r = r ? r : put(env, "HOME", home ? home : "/");
        r = r ? r : put(env, "USER", user ? user : "user");
        r = r ? r : put(env, "TERM", "xterm-256color");
        r = r ? r : put_path(env, home ? home : "");
        for (size_t i = 0; !r && i < ARRAY_SIZE(passed); i++)
                r = put(env, passed[i], getenv(passed[i]));
        for (size_t i = 0; !r && i < session->config.env.n; i++)
                r = strvec_push(env, session->config.env.items[i]);
        return error_trace(r);
}

/* ---- command --------------------------------------------------------------------------------- */

static int build_argv(const Pty *pty, StrVec *argv) {
        const Coopfile *config = &pty->session->config;
        int r = strvec_push(argv, pty->command);

        for (size_t i = 0; !r && pty->id == 0 && i < config->args.n; i++)
                r = strvec_push(argv, config->args.items[i]);
        return error_trace(r);
}

static int build_meta(const Pty *pty, Buf *out) {
        const Session *session = pty->session;
        JsonWriter w = JSON_WRITER(out);

        jw_begin_object(&w);
        jw_field_cstr(&w, "session", session->name);
        jw_field_cstr(&w, "workspace", session->workspace);
        jw_field_int(&w, "created", session->created_s);
        jw_field_uint(&w, "pty", pty->id);
        jw_field_cstr(&w, "coopfile", session->override);
        jw_end_object(&w);
        return w.failed ? error_origin(-ENOMEM) : 0;
}

/* The workspace's own coop.toml can be written by the agent itself: it may ask for a sandbox, never for
 * none. */
static const char *sandbox_mode(const Session *session) {
        const char *wide = session->owner->daemon->config.sandbox, *said = session->config.sandbox_mode;

        if (said && session->config.sandbox_mode_layer == COOPFILE_PROJECT && !strcmp(said, "none"))
                said = NULL;
        return said ? said : wide ? wide : "bwrap";
}

/* A list as exec wants it: the strings stay the vector's. */
static char **as_list(const StrVec *vec) {
        char **list = calloc(vec->n + 1, sizeof(*list));

        if (list && vec->n)
                memcpy(list, vec->items, vec->n * sizeof(*list));
        return list;
}

static int start_with(Pty *pty, const StrVec *argv, const StrVec *env, Str meta, unsigned cols,
                      unsigned rows) {
        _cleanup_(freep) char **argv_list = as_list(argv), **env_list = as_list(env);
        HostedSpec spec = {.owner = "sessions",
                           .object = pty->session->name,
                           .workspace = pty->session->resolved,
                           .sandbox = sandbox_mode(pty->session),
                           .meta = meta,
                           .kind = SHIM_PTY,
                           .argv = argv_list,
                           .env = env_list,
                           .cols = cols ? cols : COLS_DEFAULT,
                           .rows = rows ? rows : ROWS_DEFAULT};

        if (!argv_list || !env_list)
                return error_origin(-ENOMEM);
        if (!pty->session->owner->daemon->host)
                return error_origin(-ENOSYS); /* a daemon that hosts nothing (fuzzers) */
        pty->started_ms = loop_now_ms(pty->session->owner->daemon->loop);
        return host_start(pty->session->owner->daemon->host, &spec, &pty_hosted_handler, pty, &pty->hosted);
}

int pty_start(Pty *pty, unsigned cols, unsigned rows) {
        StrVec argv = {0}, env = {0};
        Buf meta = BUF_NULL;
        int r = build_argv(pty, &argv);

        if (!r)
                r = build_env(pty->session, &env);
        if (!r)
                r = build_meta(pty, &meta);
        if (!r)
                r = start_with(pty, &argv, &env, buf_str(&meta), cols, rows);
        strvec_deinit(&argv);
        strvec_deinit(&env);
        buf_deinit(&meta);
        return r == HOST_E_WORKSPACE ? -ENOTDIR : error_fold(r);
}

int pty_fail(Call *call, int error, const char *command) {
        switch (error) {
        case ENOTDIR: return call_fail(call, CALL_E_INVALID_WORKSPACE, "the workspace is no folder");
        case EMFILE:
        case ENFILE:
        case ENOMEM:
        case ENOSPC:
        case EAGAIN:
        case EDQUOT:
                return call_fail(call, CALL_E_RESOURCE_LIMIT, "cannot start %s: %s", command,
                                 strerror(error));
        default:
                return call_fail(call, CALL_E_SPAWN_FAILED, "cannot start %s: %s", command, strerror(error));
        }
}

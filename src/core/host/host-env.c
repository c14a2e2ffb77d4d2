/* SPDX-License-Identifier: MIT */
/*
 * The environment of a hosted process: what the domain made, and in front of it what says where it is.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "core/host/host-internal.h"

/* Ours alone: what the domain's list says about them does not count. */
static const char *const host_env_own[] = {HOST_MARK, "MUSTER_SOCKET", "MUSTER_HOME", "MUSTER_SANDBOXED"};

static bool host_env_is_own(const char *line) {
        for (size_t i = 0; i < ARRAY_SIZE(host_env_own); i++) {
                size_t n = strlen(host_env_own[i]);

                if (!strncmp(line, host_env_own[i], n) && line[n] == '=')
                        return true;
        }
        return false;
}

static int host_env_put(StrVec *env, const char *name, const char *value) {
        _cleanup_(freep) char *line = NULL;

        if (asprintf(&line, "%s=%s", name, value) < 0) {
                line = NULL;
                return error_origin(-ENOMEM);
        }
        return error_trace(strvec_push(env, line));
}

/* Where `muster` finds the daemon from inside; NULL: it serves no native socket. */
static const char *host_env_socket(const Daemon *daemon) {
        for (const Endpoint *e = daemon->endpoints; e; e = e->next)
                if (!strcmp(e->type->name, "native"))
                        return e->where;
        return NULL;
}

/* The mark comes first, where tools that look into /proc/PID/environ find it soonest. */
static int host_env_fill(StrVec *env, const Hosted *hosted, const HostedSpec *spec) {
        const Daemon *daemon = hosted->host->daemon;
        const char *socket = host_env_socket(daemon);
        int r = host_env_put(env, HOST_MARK, hosted->dir);

        if (!r && socket)
                r = host_env_put(env, "MUSTER_SOCKET", socket);
        if (!r && socket)
                r = host_env_put(env, "MUSTER_HOME", daemon->home);
        if (!r && strcmp(spec->sandbox, "none") != 0)
                r = host_env_put(env, "MUSTER_SANDBOXED", spec->sandbox);
        for (char *const *line = spec->env; !r && *line; line++)
                if (!host_env_is_own(*line))
                        r = strvec_push(env, *line);
        return error_trace(r);
}

/* What leads the daemon, or says who somebody else is: not for those it starts. */
static bool host_env_is_daemons(const char *line) {
        static const char *const prefixes[] = {"MUSTER_",        "CCCC_",           "COOP_",
                                               "LISTEN_",        "NOTIFY_",         "WATCHDOG_",
                                               "INVOCATION_ID=", "JOURNAL_STREAM=", "SYSTEMD_EXEC_PID=",
                                               "MANAGERPID=",    "MEMORY_PRESSURE_"};

        for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
                if (!strncmp(line, prefixes[i], strlen(prefixes[i])))
                        return true;
        return false;
}

int host_env_base(StrVec *env) {
        int r = 0;

        for (char **line = environ; !r && *line; line++)
                if (!host_env_is_daemons(*line))
                        r = strvec_push(env, *line);
        return error_trace(r);
}

char **host_env(const Hosted *hosted, const HostedSpec *spec) {
        StrVec env = {0};
        char **list = host_env_fill(&env, hosted, spec) ? NULL : strvec_list(&env);

        if (!list) {
                strvec_deinit(&env);
                return NULL;
        }
        free(env.items); /* its strings are the list's now */
        return list;
}

/* SPDX-License-Identifier: MIT */
#include "core/host/program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "core/endpoint.h"
#include "core/environment.h"
#include "core/host/host-internal.h"

void program_deinit(Program *program) {
        strvec_deinit(&program->argv);
        strvec_deinit(&program->env);
        buf_deinit(&program->meta);
        free(program->workspace);
        free(program->command);
        *program = (Program){0};
}

int program_set_place(Program *program, const char *workspace, const char *command) {
        program->workspace = strdup(workspace);
        program->command = strdup(command);
        return program->workspace && program->command ? 0 : error_origin(-ENOMEM);
}

/* ---- for domains ----------------------------------------------------------------------------- */

static bool program_has_prefix(const char *line, const char *const *prefixes, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (!strncmp(line, prefixes[i], strlen(prefixes[i])))
                        return true;
        return false;
}

/* What leads the daemon, or says who somebody else is, is not for those it starts. */
int program_env_base(StrVec *env) {
        static const char *const daemons[] = {"MUSTER_",        "CCCC_",           "COOP_",
                                              "LISTEN_",        "NOTIFY_",         "WATCHDOG_",
                                              "INVOCATION_ID=", "JOURNAL_STREAM=", "SYSTEMD_EXEC_PID=",
                                              "MANAGERPID=",    "MEMORY_PRESSURE_"};
        int r = 0;

        for (char **line = environ; !r && *line; line++)
                if (!program_has_prefix(*line, daemons, ARRAY_SIZE(daemons)))
                        r = strvec_push(env, *line);
        return error_trace(r);
}

int program_env_over(StrVec *env, const Daemon *daemon, const StrVec *caller) {
        int r = environment_put_all(env, &daemon->env);

        return error_trace(r || !caller ? r : environment_put_caller(env, caller));
}

/* ---- for the host ---------------------------------------------------------------------------- */

char **program_list_free(char **list) {
        for (char **p = list; p && *p; p++)
                free(*p);
        free(list);
        return NULL;
}

char **program_exec_argv(const Program *program, const char *const *before, size_t n_before) {
        size_t n = n_before + program->argv.n;
        char **list = calloc(n + 1, sizeof(*list));

        for (size_t i = 0; list && i < n; i++) {
                list[i] = strdup(i < n_before ? before[i] : program->argv.items[i - n_before]);
                if (!list[i])
                        return program_list_free(list);
        }
        return list;
}

/* Where `muster` finds the daemon from inside; NULL: it serves no native socket. */
static const char *program_socket(const Daemon *daemon) {
        for (const Endpoint *e = daemon->endpoints; e; e = e->next)
                if (!strcmp(e->type->name, "native"))
                        return e->where;
        return NULL;
}

/* The mark comes first, where tools that look into /proc/PID/environ find it soonest. What the domain's list
 * says about these names does not count. */
char **program_exec_env(const Program *program, const Daemon *daemon, const ProgramMarks *marks) {
        static const char *const own[] = {
                HOST_MARK "=", "MUSTER_SOCKET=", "MUSTER_HOME=", "MUSTER_SANDBOXED=", HOST_TOKEN "="};
        const char *socket = program_socket(daemon);
        _cleanup_(strvec_deinit) StrVec env = {0};
        char **list;
        int r = environment_put(&env, HOST_MARK, marks->dir);

        r = r ? r : environment_put(&env, "MUSTER_SOCKET", socket);
        r = r ? r : environment_put(&env, "MUSTER_HOME", socket ? daemon->home : NULL);
        r = r ? r
              : environment_put(&env, "MUSTER_SANDBOXED",
                                strcmp(marks->sandbox, "none") ? marks->sandbox : NULL);
        r = r ? r : environment_put(&env, HOST_TOKEN, socket ? marks->token : NULL);
        for (size_t i = 0; !r && i < program->env.n; i++)
                if (!program_has_prefix(program->env.items[i], own, ARRAY_SIZE(own)))
                        r = strvec_push(&env, program->env.items[i]);
        list = r ? NULL : strvec_list(&env);
        if (list)
                env.n = 0; /* its strings are the list's now */
        return list;
}

/* SPDX-License-Identifier: MIT */
#include "cli/coop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "cli/cli.h"
#include "cli/native.h"
#include "cli/report.h"
#include "cli/start.h"

enum { START_MS = 10000, ANSWER_MS = 30000 };

int coop_open(Coop *coop, const char *command) {
        _cleanup_(start_deinit) Start start = START_NULL;
        int r = start_daemon(&start, NULL, 0, START_MS);

        coop->command = command;
        if (r)
                return r;
        if (!start.info)
                return complain(CLI_NO_DAEMON, "musterd runs, but does not listen at %s", start.socket);
        if (start.pid && isatty(STDERR_FILENO))
                advise("musterd started, pid %d", (int)start.pid);
        coop->socket = steal(&start.socket);
        return CLI_OK;
}

void coop_deinit(Coop *coop) {
        free(coop->socket);
        free(coop->session);
        link_deinit(&coop->link);
        arena_deinit(&coop->arena);
}

/* ---- which session --------------------------------------------------------------------------- */

bool names_actor(const char *operand) {
        return str_starts(str_from(operand), STR("g_")) && strchr(operand, '/');
}

static bool is_path(const char *operand) {
        return strchr(operand, '/') || !strcmp(operand, ".") || !strcmp(operand, "..") ||
               !strcmp(operand, "~");
}

/* A workspace that has gone may still have its session, under the path it had. */
static char *resolve(const char *path) {
        char *expanded = path_expand(path), *resolved = expanded ? realpath(expanded, NULL) : NULL;

        if (!resolved)
                return expanded;
        free(expanded);
        return resolved;
}

int coop_choose(Coop *coop, const char *operand) {
        free(coop->session);
        coop->is_here = !operand;
        coop->is_actor = operand && names_actor(operand);
        if (coop->is_actor || (operand && !is_path(operand)))
                coop->session = strdup(operand);
        else
                coop->session = resolve(operand ? operand : ".");
        if (!coop->session)
                return complain(CLI_FAILED, "%s: %s", coop->command, strerror(errno ? errno : ENOMEM));
        return CLI_OK;
}

/* ---- requests -------------------------------------------------------------------------------- */

static void set(Coop *coop, const char *key, Json *value) {
        if (!coop->args)
                coop->args = json_new(&coop->arena, JSON_OBJECT);
        if (!coop->args || json_set(&coop->arena, coop->args, str_from(key), value))
                coop->is_out_of_memory = true;
}

void coop_set_str(Coop *coop, const char *key, Str value) {
        set(coop, key, json_new_str(&coop->arena, value));
}

void coop_set_int(Coop *coop, const char *key, int64_t value) {
        set(coop, key, json_new_int(&coop->arena, value));
}

void coop_set_bool(Coop *coop, const char *key, bool value) {
        set(coop, key, json_new_bool(&coop->arena, value));
}

void coop_set_session(Coop *coop) {
        coop_set_str(coop, "session", str_from(coop->session));
}

void coop_set_pty(Coop *coop, int64_t pty) {
        if (pty >= 0)
                coop_set_int(coop, "pty", pty);
}

int coop_ask(Coop *coop, const char *op) {
        const Request request = {.dialect = "coop", .op = op, .args = coop->args};
        int r;

        if (coop->is_out_of_memory)
                return complain(CLI_FAILED, "out of memory");
        coop->args = NULL;
        link_deinit(&coop->link);
        r = link_open(&coop->link, coop->socket, clock_ms() + ANSWER_MS);
        if (!r)
                r = exchange(&coop->link, &request, &coop->arena, &coop->reply);
        return r ? exchange_complain(r, coop->socket) : CLI_OK;
}

int coop_call(Coop *coop, const char *op) {
        int r = coop_ask(coop, op);

        return r || !coop->reply.is_error ? r : coop_complain(coop);
}

bool coop_is_out_of_turn(const Coop *coop) {
        bool is_writer = true;

        (void)json_bool(json_get(coop->reply.result, "writer"), &is_writer);
        return !is_writer;
}

int coop_name(Coop *coop, const char **ret) {
        int r;

        coop_set_session(coop);
        r = coop_call(coop, "sessionls");
        if (r)
                return r;
        *ret = arena_str(&coop->arena, json_str(json_get(coop->reply.result, "session"))).data;
        return *ret ? CLI_OK : complain(CLI_FAILED, "out of memory");
}

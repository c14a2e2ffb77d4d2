/* SPDX-License-Identifier: MIT */
#include "cli/link/coop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "cli/cli.h"
#include "cli/link/native.h"
#include "cli/print/report.h"
#include "gen/errors.h"

int coop_open(Coop *coop, const char *command) {
        coop->command = command;
        return asking_find(&coop->socket);
}

int coop_begin(Coop *coop, const char *command) {
        coop->command = command;
        return asking_start(&coop->socket);
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
static char *coop_resolve(const char *path) {
        char *expanded = path_expand(path), *resolved = expanded ? realpath(expanded, NULL) : NULL;

        if (!resolved)
                return expanded;
        free(expanded);
        return resolved;
}

/* The group may be named by the beginning of its id. One that is not found is left to the request. */
static int coop_complete_actor(Coop *coop) {
        const Asking what = {coop->socket, "native", "group.find", &coop->link, &coop->arena};
        const char *slash = strchr(coop->session, '/');
        int64_t code;
        char *whole;
        Str id;
        int r;

        coop_set_str(coop, "group", (Str){coop->session, (size_t)(slash - coop->session)});
        r = asking(&what, &coop->args, &coop->reply);
        if (r)
                return r;
        if (json_int64(coop->reply.code, &code) && code == native_error_code(CALL_E_AMBIGUOUS_GROUP)) {
                reply_complain(coop->command, &coop->reply, coop->is_json);
                return CLI_FAILED;
        }
        id = json_str(json_get(coop->reply.result, "group_id"));
        if (!id.n)
                return CLI_OK;
        if (asprintf(&whole, STR_FMT "%s", STR_ARG(id), slash) < 0)
                return complain(CLI_FAILED, "out of memory");
        free(coop->session);
        coop->session = whole;
        return CLI_OK;
}

int coop_choose(Coop *coop, const char *operand) {
        free(coop->session);
        coop->is_here = !operand;
        coop->is_actor = operand && names_actor(operand);
        if (coop->is_actor || (operand && !is_path(operand)))
                coop->session = strdup(operand);
        else
                coop->session = coop_resolve(operand ? operand : ".");
        if (!coop->session)
                return complain(CLI_FAILED, "%s: %s", coop->command, strerror(errno ? errno : ENOMEM));
        return coop->is_actor && coop->socket ? coop_complete_actor(coop) : CLI_OK;
}

/* ---- requests -------------------------------------------------------------------------------- */

void coop_set_str(Coop *coop, const char *key, Str value) {
        arguments_set_str(&coop->args, &coop->arena, key, value);
}

void coop_set_int(Coop *coop, const char *key, int64_t value) {
        arguments_set_int(&coop->args, &coop->arena, key, value);
}

void coop_set_bool(Coop *coop, const char *key, bool value) {
        arguments_set(&coop->args, &coop->arena, key, json_new_bool(&coop->arena, value));
}

void coop_set_session(Coop *coop) {
        coop_set_str(coop, "session", str_from(coop->session));
}

void coop_set_pty(Coop *coop, int64_t pty) {
        if (pty >= 0)
                coop_set_int(coop, "pty", pty);
}

int coop_ask(Coop *coop, const char *op) {
        const Asking what = {coop->socket, "coop", op, &coop->link, &coop->arena};

        return asking(&what, &coop->args, &coop->reply);
}

int coop_call(Coop *coop, const char *op) {
        int r = coop_ask(coop, op);

        return r || !coop->reply.is_error ? r : coop_complain(coop);
}

int coop_print(const Coop *coop) {
        return json_print(stdout, coop->reply.result, false) ? complain(CLI_FAILED, "out of memory")
                                                             : CLI_OK;
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

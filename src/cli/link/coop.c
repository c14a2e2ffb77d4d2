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
#include "cli/print/nearest.h"
#include "cli/print/report.h"
#include "gen/errors.h"

/*
 * A terminal that is shown on itself shows what it shows, without end. Whoever works inside of a session is
 * kept from that; all other terminals of the session may be shown there.
 */

enum { TIMEOUT_MS = 10000 };

/* A hosted process leads the session, in the sense of the kernel, of its terminal. */
static bool coop_self_is_ours(const Json *row) {
        int64_t pid = 0;

        return json_int64(json_get(row, "pid"), &pid) && pid == getsid(0);
}

static bool shows_session(Coop *coop, int64_t pty) {
        int64_t id = -1;

        coop_set_session(coop);
        if (coop_ask(coop, "sessionls") || coop->reply.is_error)
                return false; /* whatever it is, what follows will say it */
        json_each (row, json_get(coop->reply.result, "ptys"))
                if (json_int64(json_get(row, "id"), &id) && id == MAX(pty, (int64_t)0) &&
                    coop_self_is_ours(row))
                        return true;
        return false;
}

static bool shows_actor(Coop *coop) {
        _cleanup_(link_deinit) Link link = LINK_NULL;
        const Request request = {.dialect = "native", .op = "ps"};
        Reply reply = {0};

        if (link_open(&link, coop->socket, clock_ms() + TIMEOUT_MS) ||
            exchange(&link, &request, &coop->arena, &reply))
                return false;
        json_each (row, json_get(reply.result, "processes"))
                if (coop->thing.id.n && str_eq(json_str(json_get(row, "id")), coop->thing.id) &&
                    coop_self_is_ours(row))
                        return true;
        return false;
}

int coop_refuse_itself(Coop *coop, int64_t pty) {
        if (!getenv(coop->is_other ? "CCCC_ACTOR_ID" : "COOP_SESSION") || !isatty(STDOUT_FILENO) ||
            !(coop->is_other ? shows_actor(coop) : shows_session(coop, pty)))
                return CLI_OK;
        complain(CLI_FAILED, "%s: this is the very terminal of %s: it would show itself without end",
                 coop->command, coop->session);
        advise("from another terminal it can be shown");
        return CLI_FAILED;
}

/*
 * What an error answer about sessions means to the person, and what to do next.
 */

bool coop_was_refused(const Coop *coop, int error) {
        return coop->reply.is_error && str_is(json_str(coop->reply.code), coop_error_code(error));
}

void coop_tell_notes(const Coop *coop) {
        json_each (note, json_get(coop->reply.result, "notes"))
                advise("  " STR_FMT, STR_ARG(json_str(note)));
}

/* The sessions that there are, or NULL. Uses a request of its own. */
static const Json *coop_complain_list(Coop *coop) {
        if (coop_ask(coop, "ls") || coop->reply.is_error)
                return NULL;
        return json_get(coop->reply.result, "sessions");
}

static void offer_nearest(Coop *coop, const Json *sessions) {
        Nearest nearest = NEAREST(coop->session);

        json_each (session, sessions) {
                const char *name = arena_str(&coop->arena, json_str(json_get(session, "name"))).data;

                if (name)
                        nearest_offer(&nearest, name);
        }
        if (nearest.best)
                advise("did you mean %s?", nearest.best);
}

static int complain_actor(const Coop *coop) {
        if (coop->thing.name.n)
                complain(CLI_FAILED, "%s: " STR_FMT " does not run", coop->command,
                         STR_ARG(coop->thing.name));
        else
                complain(CLI_FAILED, "%s: there is no session %s", coop->command, coop->session);
        if (coop->thing.name.n && !str_is(coop->thing.kind, "actor"))
                advise("what runs: muster ps; once more: muster restart " STR_FMT,
                       STR_ARG(coop->thing.name));
        else
                advise("actors that run: muster ps; start and stop them with: muster actor");
        return CLI_FAILED;
}

static int complain_session(Coop *coop) {
        const Json *sessions = coop->is_here ? NULL : coop_complain_list(coop);

        if (coop->is_here)
                complain(CLI_FAILED, "%s: this folder has no session (%s)", coop->command, coop->session);
        else
                complain(CLI_FAILED, "%s: there is no session %s", coop->command, coop->session);
        if (sessions)
                offer_nearest(coop, sessions);
        if (coop->is_here)
                advise("see which there are with: muster ls; make one with: muster new");
        else if (sessions && !json_count(sessions))
                advise("there are none at all; make one with: muster new");
        else
                advise("see which there are with: muster ls");
        return CLI_FAILED;
}

static int complain_pty(Coop *coop) {
        complain(CLI_FAILED, "%s: " STR_FMT, coop->command, STR_ARG(coop->reply.message));
        coop_set_session(coop);
        if (coop->is_other || coop_ask(coop, "sessionls") || coop->reply.is_error)
                return CLI_FAILED;
        json_each (pty, json_get(coop->reply.result, "ptys")) {
                int64_t id = 0;

                (void)json_int64(json_get(pty, "id"), &id);
                advise("  --pty %-3lld " STR_FMT " (" STR_FMT ")", (long long)id,
                       STR_ARG(json_str(json_get(pty, "command"))),
                       STR_ARG(json_str(json_get(pty, "role"))));
        }
        return CLI_FAILED;
}

int coop_complain(Coop *coop) {
        if (coop->is_json) {
                reply_complain(coop->command, &coop->reply, true);
                return CLI_FAILED;
        }
        if (coop->session && coop_was_refused(coop, CALL_E_SESSION_NOT_FOUND))
                return coop->is_other ? complain_actor(coop) : complain_session(coop);
        if (coop->session && coop_was_refused(coop, CALL_E_PTY_NOT_FOUND))
                return complain_pty(coop);
        reply_complain(coop->command, &coop->reply, false);
        if (coop_was_refused(coop, CALL_E_NAMESPACE_ERROR))
                advise("without a sandbox, if you trust it: --sandbox none");
        else if (json_is(coop->reply.code, JSON_NUMBER)) /* the native dialect answered: there is no coop */
                advise("this daemon was started without coop; see: muster status");
        return CLI_FAILED;
}

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

/* ---- what is named --------------------------------------------------------------------------- */

static bool coop_is_ambiguous(const Reply *reply) {
        int64_t code;

        return json_int64(reply->code, &code) && code == native_error_code(CALL_E_AMBIGUOUS_NAME);
}

static int coop_complain_ambiguous(const Coop *coop) {
        if (coop->is_json) {
                reply_complain(coop->command, &coop->reply, true);
                return CLI_FAILED;
        }
        complain(CLI_FAILED, "%s: " STR_FMT, coop->command, STR_ARG(coop->reply.message));
        advise("say one of these as it stands here");
        return CLI_FAILED;
}

static Str coop_thing_text(Coop *coop, const char *key) {
        return arena_str(&coop->arena, json_str(json_get(coop->reply.result, key)));
}

/* word NULL: the session of this folder, or of one above it. An error but that several are meant is none: what the word is
 * then said to be is left to the request. */
static int coop_look_up(Coop *coop, const char *word) {
        const Asking what = {coop->socket, "native", "fleet.find", &coop->link, &coop->arena};
        _cleanup_(freep) char *folder = realpath(".", NULL);
        int r;

        if (word)
                coop_set_str(coop, "name", str_from(word));
        if (folder)
                coop_set_str(coop, "path", str_from(folder));
        if (!word && !folder)
                return CLI_OK;
        r = asking(&what, &coop->args, &coop->reply);
        if (r || coop->reply.is_error)
                return !r && coop_is_ambiguous(&coop->reply) ? coop_complain_ambiguous(coop) : r;
        coop->thing.name = coop_thing_text(coop, "name");
        coop->thing.kind = coop_thing_text(coop, "kind");
        coop->thing.id = coop_thing_text(coop, "id");
        coop->thing.place = coop_thing_text(coop, "place");
        coop->thing.object = coop_thing_text(coop, "object");
        coop->thing.has_terminal = json_truth_of(coop->reply.result, "terminal");
        if (!json_int64(json_get(coop->reply.result, "number"), &coop->thing.number))
                coop->thing.number = 0;
        return CLI_OK;
}

/* How it is called in what people read, and in coop's own requests. */
static char *coop_thing_session(const Coop *coop) {
        Str alias = json_str(json_get(coop->reply.result, "alias"));
        char *text = NULL;

        if (str_is(coop->thing.kind, "session"))
                return str_dup(coop->thing.place);
        if (alias.n)
                return str_dup(alias);
        if (!str_is(coop->thing.kind, "actor"))
                return str_dup(coop->thing.name);
        return asprintf(&text, STR_FMT "/" STR_FMT, STR_ARG(coop->thing.place),
                        STR_ARG(coop->thing.object)) < 0
                       ? NULL
                       : text;
}

static int coop_take_thing(Coop *coop) {
        if (str_is(coop->thing.kind, "group") || str_is(coop->thing.kind, "project"))
                return complain(CLI_FAILED, "%s: " STR_FMT " is nothing that runs", coop->command,
                                STR_ARG(coop->thing.name));
        coop->is_other = !str_is(coop->thing.kind, "session");
        coop->session = coop_thing_session(coop);
        return coop->session ? CLI_OK : complain(CLI_FAILED, "out of memory");
}

/* What can be nothing but a path. */
static bool coop_is_folder(const char *operand) {
        return *operand == '/' || *operand == '.' || *operand == '~';
}

int coop_choose(Coop *coop, const char *operand) {
        bool is_here = !operand || !strcmp(operand, ".");
        int r = CLI_OK;

        free(coop->session);
        coop->session = NULL;
        coop->is_here = !operand;
        memset(&coop->thing, 0, sizeof(coop->thing));
        if (coop->socket && (is_here || !coop_is_folder(operand)))
                r = coop_look_up(coop, is_here ? NULL : operand);
        if (r || coop->thing.name.n)
                return r ? r : coop_take_thing(coop);
        coop->is_other = operand && names_actor(operand);
        if (coop->is_other || (operand && !is_path(operand)))
                coop->session = strdup(operand);
        else
                coop->session = coop_resolve(operand ? operand : ".");
        return coop->session
                       ? CLI_OK
                       : complain(CLI_FAILED, "%s: %s", coop->command, strerror(errno ? errno : ENOMEM));
}

int coop_call_fleet(Coop *coop, const char *method) {
        const Asking what = {coop->socket, "native", method, &coop->link, &coop->arena};
        int r;

        coop_set_str(coop, "name", coop->thing.name);
        r = asking(&what, &coop->args, &coop->reply);
        if (r || !coop->reply.is_error)
                return r;
        if (coop->is_json)
                reply_complain(coop->command, &coop->reply, true);
        else
                complain(CLI_FAILED, "%s: " STR_FMT, coop->command, STR_ARG(coop->reply.message));
        return CLI_FAILED;
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
        if (pty < 0 && coop->thing.number > 0)
                pty = coop->thing.number;
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

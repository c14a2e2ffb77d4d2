/* SPDX-License-Identifier: MIT */
/*
 * What an error answer about sessions means to the person, and what to do next.
 */
#include "cli/cli.h"
#include "cli/link/coop.h"
#include "cli/link/native.h"
#include "cli/print/nearest.h"
#include "cli/print/report.h"
#include "gen/errors.h"

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
        complain(CLI_FAILED, "%s: there is no session %s", coop->command, coop->session);
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
        if (coop->is_actor || coop_ask(coop, "sessionls") || coop->reply.is_error)
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
                return coop->is_actor ? complain_actor(coop) : complain_session(coop);
        if (coop->session && coop_was_refused(coop, CALL_E_PTY_NOT_FOUND))
                return complain_pty(coop);
        reply_complain(coop->command, &coop->reply, false);
        if (coop_was_refused(coop, CALL_E_NAMESPACE_ERROR))
                advise("without a sandbox, if you trust it: --sandbox none");
        else if (json_is(coop->reply.code, JSON_NUMBER)) /* the native dialect answered: there is no coop */
                advise("this daemon was started without coop; see: muster status");
        return CLI_FAILED;
}

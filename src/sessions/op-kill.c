/* SPDX-License-Identifier: MIT */
#include "gen/coop-ops.h"
#include "sessions/sessions.h"

int op_coop_kill(Call *call, const CoopKillArgs *args) {
        Sessions *sessions = call->daemon->sessions;
        Session *session = args->all ? NULL : session_find(sessions, args->session);

        if (!args->all && !session)
                return call_fail(call, CALL_E_SESSION_NOT_FOUND, "Session '" STR_FMT "' not found",
                                 STR_ARG(args->session));
        if (session)
                session_kill(session, args->force);
        for (Session *s = args->all ? sessions->first : NULL, *next; s; s = next) {
                next = s->next;
                if (s->is_listed)
                        session_kill(s, args->force);
        }
        return 0;
}

/* SPDX-License-Identifier: MIT */
#include "gen/coop-ops.h"
#include "sessions/sessions.h"

static void kill_all(Sessions *sessions, bool is_forced) {
        for (Session *s = sessions->first, *next; s; s = next) {
                next = s->next;
                if (s->is_listed)
                        session_kill(s, is_forced);
        }
}

int op_coop_kill(Call *call, const CoopKillArgs *args) {
        Session *session = NULL;
        int r;

        if (args->all) {
                kill_all(call->daemon->sessions, args->force);
                return 0;
        }
        r = session_require(call, args->session, &session);
        if (r)
                return r;
        session_kill(session, args->force);
        return 0;
}

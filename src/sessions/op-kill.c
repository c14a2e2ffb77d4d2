/* SPDX-License-Identifier: MIT */
#include "gen/coop-ops.h"
#include "sessions/sessions.h"

int op_coop_kill(Call *call, const CoopKillArgs *args) {
        Session *session = NULL;
        int r;

        if (args->all) {
                sessions_kill_all(call->daemon->sessions, args->force);
                return 0;
        }
        if (!args->session.data)
                return call_fail(call, CALL_E_INVALID_PARAMS, "session is required");
        r = session_require(call, args->session, &session);
        if (r)
                return r;
        session_kill(session, args->force);
        return 0;
}

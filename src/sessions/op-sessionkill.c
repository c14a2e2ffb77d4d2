/* SPDX-License-Identifier: MIT */
#include "gen/coop-ops.h"
#include "sessions/sessions.h"

int op_coop_sessionkill(Call *call, const CoopSessionkillArgs *args) {
        Session *session = session_find(call->daemon->sessions, args->session);
        Pty *pty = session ? pty_find(session, (uint64_t)args->pty) : NULL;

        if (!session)
                return call_fail(call, CALL_E_SESSION_NOT_FOUND, "Session '" STR_FMT "' not found",
                                 STR_ARG(args->session));
        if (!pty)
                return call_fail(call, CALL_E_PTY_NOT_FOUND, "No PTY %lld in session '%s'",
                                 (long long)args->pty, session->name);
        pty_kill(pty, false);
        return 0;
}

/* SPDX-License-Identifier: MIT */
#include "sessions/sessions.h"

int session_require(Call *call, Str name_or_path, Session **ret) {
        Session *session = session_find(call->daemon->sessions, name_or_path);

        if (!session)
                return call_fail(call, CALL_E_SESSION_NOT_FOUND, "Session '" STR_FMT "' not found",
                                 STR_ARG(name_or_path));
        *ret = session;
        return 0;
}

int pty_require(Call *call, Str name_or_path, int64_t id, Pty **ret) {
        Session *session = NULL;
        int r = session_require(call, name_or_path, &session);
        Pty *pty = r ? NULL : pty_find(session, (uint64_t)id);

        if (r)
                return r;
        if (!pty)
                return call_fail(call, CALL_E_PTY_NOT_FOUND, "No PTY %lld in session '%s'", (long long)id,
                                 session->name);
        *ret = pty;
        return 0;
}

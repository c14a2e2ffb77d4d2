/* SPDX-License-Identifier: MIT */
#include "sessions/sessions.h"

static int no_session(Call *call, Str name_or_path) {
        return call_fail(call, CALL_E_SESSION_NOT_FOUND, "Session '" STR_FMT "' not found",
                         STR_ARG(name_or_path));
}

int session_require(Call *call, Str name_or_path, Session **ret) {
        *ret = session_find(call->daemon->sessions, name_or_path);
        return *ret ? 0 : no_session(call, name_or_path);
}

int pty_require(Call *call, Str name_or_path, int64_t id, Pty **ret) {
        Session *session = session_find(call->daemon->sessions, name_or_path);

        if (!session)
                return no_session(call, name_or_path);
        *ret = pty_find(session, (uint64_t)id);
        if (!*ret)
                return call_fail(call, CALL_E_PTY_NOT_FOUND, "No PTY %lld in session '%s'", (long long)id,
                                 session->name);
        return 0;
}

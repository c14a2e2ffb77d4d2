/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "core/call.h"
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

/* Names of sessions have no slash, those of other domains' terminals have one. */
static Hosted *elsewhere(const Call *call, Str name) {
        Host *host = call->daemon->host;

        return host && name.n && memchr(name.data, '/', name.n) ? host_find_terminal(host, "sessions", name)
                                                                : NULL;
}

int terminal_require(Call *call, Str name_or_path, int64_t id, PtyTarget **ret) {
        PtyTarget *target = pty_target(call, NULL, 0, 0);
        bool is_session = session_find(call->daemon->sessions, name_or_path);

        if (!target)
                return -ENOMEM;
        *ret = target;
        target->hosted = is_session ? NULL : elsewhere(call, name_or_path);
        if (!target->hosted)
                return pty_require(call, name_or_path, id, &target->pty);
        if (id)
                return call_fail(call, CALL_E_PTY_NOT_FOUND, "No PTY %lld at '" STR_FMT "'", (long long)id,
                                 STR_ARG(name_or_path));
        return 0;
}

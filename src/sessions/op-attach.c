/* SPDX-License-Identifier: MIT */
#include "core/dialect.h"
#include "gen/coop-ops.h"
#include "sessions/sessions.h"

static void stream(Call *call) {
        call->client->dialect->stream(call->client, call->target, false);
}

int op_coop_attach(Call *call, const CoopAttachArgs *args) {
        Session *session = session_find(call->daemon->sessions, args->session);
        Pty *pty = session ? pty_find(session, (uint64_t)args->pty) : NULL;

        if (!session)
                return call_fail(call, CALL_E_SESSION_NOT_FOUND, "Session '" STR_FMT "' not found",
                                 STR_ARG(args->session));
        if (!pty)
                return call_fail(call, CALL_E_PTY_NOT_FOUND, "No PTY %lld in session '%s'",
                                 (long long)args->pty, session->name);
        if (pty->hosted)
                host_resize(pty->hosted, (unsigned)args->cols, (unsigned)args->rows);
        call->target = pty;
        call_after(call, stream);
        return 0;
}

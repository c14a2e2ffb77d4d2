/* SPDX-License-Identifier: MIT */
#include "gen/coop-ops.h"
#include "sessions/sessions.h"

/* The coopfile is read again first; a bad one leaves everything as it is. */
static void configured(Pty *pty, int r, const char *wrong) {
        Call *call = pty->waiting;

        if (!r) {
                pty_restart(pty);
                return;
        }
        pty->waiting = NULL;
        call_finish(call, r > 0 ? call_fail(call, CALL_E_INVALID_COOPFILE, "%s", wrong) : r);
        session_check_gone(pty->session);
}

static void write_answer(const Pty *pty, JsonWriter *w) {
        jw_field_int(w, "pid", pty->hosted ? pty->hosted->pid : 0);
        jw_field_uint(w, "pty", pty->id);
}

int op_coop_restart(Call *call, const CoopRestartArgs *args) {
        Session *session = session_find(call->daemon->sessions, args->session);
        Pty *pty = session ? pty_find(session, (uint64_t)args->pty) : NULL;
        int r;

        if (!session)
                return call_fail(call, CALL_E_SESSION_NOT_FOUND, "Session '" STR_FMT "' not found",
                                 STR_ARG(args->session));
        if (!pty)
                return call_fail(call, CALL_E_PTY_NOT_FOUND, "No PTY %lld in session '%s'",
                                 (long long)args->pty, session->name);
        if (pty->waiting || pty->is_configuring)
                return call_fail(call, CALL_E_RESOURCE_LIMIT, "a start of this PTY is under way");
        r = pty_configure(pty, configured);
        if (r)
                return r;
        pty->is_stopped = false;
        pty->n_quick = 0;
        pty->waiting = call;
        pty->write_answer = write_answer;
        return CALL_LATER;
}

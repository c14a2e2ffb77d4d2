/* SPDX-License-Identifier: MIT */
#include "gen/coop-ops.h"
#include "sessions/sessions.h"

/* Somebody ended the terminal while its coopfile was read. If its process is gone too, nobody else removes
 * it. */
static void restart_in_vain(Pty *pty) {
        Session *session = pty->session;

        if (!pty->hosted && (pty->id != 0 || !session->is_listed))
                pty_remove(pty);
        session_check_gone(session);
}

/* The coopfile is read again first; a bad one leaves everything as it is. */
static void restart_configured(Pty *pty, int r, const char *wrong) {
        Call *call = pty->waiting;

        if (!r && !pty->is_stopped) {
                pty_restart(pty);
                return;
        }
        pty->waiting = NULL;
        if (!call) { /* a start by itself was quicker, and has answered it */
                restart_in_vain(pty);
                return;
        }
        if (!r)
                r = call_fail(call, CALL_E_SESSION_NOT_FOUND, "it was ended while it was being restarted");
        else if (r > 0)
                r = call_fail(call, CALL_E_INVALID_COOPFILE, "%s", wrong);
        call_finish(call, r);
        restart_in_vain(pty);
}

static void restart_write_answer(const Pty *pty, JsonWriter *w) {
        jw_field_int(w, "pid", hosted_agent_pid(pty->hosted)); /* also of one that was quicker than we */
        jw_field_uint(w, "pty", pty->id);
        if (pty->id == 0)
                session_write_notes(pty->session, w);
}

int op_coop_restart(Call *call, const CoopRestartArgs *args) {
        Pty *pty = NULL;
        int r = pty_require(call, args->session, args->pty, &pty);

        if (r)
                return r;
        if (pty->waiting || pty->is_configuring)
                return call_fail(call, CALL_E_RESOURCE_LIMIT, "a start of this PTY is under way");
        r = pty_configure(pty, restart_configured);
        if (r)
                return r;
        pty->is_stopped = false;
        pty->n_quick = 0;
        pty->waiting = call;
        pty->write_answer = restart_write_answer;
        return CALL_LATER;
}

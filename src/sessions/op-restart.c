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
        jw_field_int(w, "pid", pty_pid(pty));
        jw_field_uint(w, "pty", pty->id);
}

int op_coop_restart(Call *call, const CoopRestartArgs *args) {
        Pty *pty = NULL;
        int r = pty_require(call, args->session, args->pty, &pty);

        if (r)
                return r;
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

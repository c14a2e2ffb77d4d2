/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gen/coop-ops.h"
#include "sessions/sessions.h"

/* The coopfile is read again first; a bad one leaves everything as it is. */
static int reread(Call *call, Session *session) {
        Coopfile fresh;
        char wrong[256];
        int r = coopfile_load(&fresh, session->workspace, str_from(session->override), wrong, sizeof(wrong));

        if (r > 0)
                return call_fail(call, CALL_E_INVALID_COOPFILE, "%s", wrong);
        if (r)
                return r;
        coopfile_deinit(&session->config);
        session->config = fresh;
        return 0;
}

static int set_command(Pty *pty) {
        char *command = pty->id == 0 ? strdup(pty->session->config.command) : strdup(pty->command);

        if (!command)
                return -ENOMEM;
        free(pty->command);
        pty->command = command;
        return 0;
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
        if (pty->waiting)
                return call_fail(call, CALL_E_RESOURCE_LIMIT, "a start of this PTY is under way");
        r = reread(call, session);
        r = r ? r : set_command(pty);
        if (r)
                return r;
        pty->is_stopped = false;
        pty->n_quick = 0;
        pty->waiting = call;
        pty->write_answer = write_answer;
        pty_restart(pty);
        return CALL_LATER;
}

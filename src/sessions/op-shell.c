/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "core/dialect.h"
#include "gen/coop-ops.h"
#include "sessions/sessions.h"

static void shell_stream(Call *call) {
        call->client->dialect->stream(call->client, call->target, false);
}

static Pty *live_shell(Session *session, const char *command) {
        for (Pty *pty = session->ptys; pty; pty = pty->next)
                if (pty->id != 0 && pty_is_live(pty) && !strcmp(pty->command, command))
                        return pty;
        return NULL;
}

static uint32_t next_id(const Session *session) {
        uint32_t highest = 0;

        for (const Pty *pty = session->ptys; pty; pty = pty->next)
                highest = pty->id > highest ? pty->id : highest;
        return highest + 1;
}

static void shell_write_answer(const Pty *pty, JsonWriter *w) {
        jw_field_uint(w, "pty", pty->id);
}

static int shell_reuse(Call *call, Pty *pty, const CoopShellArgs *args) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        shell_write_answer(pty, w);
        jw_end_object(w);
        call->target = pty_target(call, pty, args->cols, args->rows);
        return call->target ? 0 : -ENOMEM;
}

static int shell_start(Call *call, Session *session, const char *command, const CoopShellArgs *args) {
        Pty *pty;
        int r;

        call->target = pty_target(call, NULL, args->cols, args->rows);
        r = call->target ? pty_new(&pty, session, next_id(session), command) : -ENOMEM;
        if (r)
                return r;
        pty->waiting = call;
        pty->write_answer = shell_write_answer;
        r = pty_start(pty, (unsigned)args->cols, (unsigned)args->rows);
        if (!r)
                return CALL_LATER;
        pty->waiting = NULL;
        pty_remove(pty);
        return pty_fail(call, -r, command);
}

int op_coop_shell(Call *call, const CoopShellArgs *args) {
        Session *session = NULL;
        int r = session_require(call, args->session, &session);
        const char *command;
        Pty *pty;

        if (r)
                return r;
        if (args->command.n && memchr(args->command.data, 0, args->command.n))
                return call_fail(call, CALL_E_INVALID_PARAMS, "command holds a NUL");
        if (args->fallback.n && memchr(args->fallback.data, 0, args->fallback.n))
                return call_fail(call, CALL_E_INVALID_PARAMS, "fallback holds a NUL");
        command = args->command.n         ? args->command.data
                  : session->config.shell ? session->config.shell
                  : args->fallback.n      ? args->fallback.data
                                          : "/bin/sh";
        call_after(call, shell_stream);
        pty = args->has_force_new && !args->force_new ? live_shell(session, command) : NULL;
        return pty ? shell_reuse(call, pty, args) : shell_start(call, session, command, args);
}

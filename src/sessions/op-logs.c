/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/base64.h"
#include "core/dialect.h"
#include "gen/coop-ops.h"
#include "sessions/sessions.h"

static void stream(Call *call) {
        call->client->dialect->stream(call->client, call->target, true);
}

/* The last n lines; a last line without its end counts. */
static Str last_lines(Str text, int64_t n) {
        size_t at = text.n;

        if (n <= 0)
                return text;
        if (at && text.data[at - 1] == '\n')
                at--;
        for (; at; at--)
                if (text.data[at - 1] == '\n' && --n == 0)
                        break;
        return (Str){text.data + at, text.n - at};
}

int op_coop_logs(Call *call, const CoopLogsArgs *args) {
        Session *session = session_find(call->daemon->sessions, args->session);
        Pty *pty = session ? pty_find(session, (uint64_t)args->pty) : NULL;
        Buf text = BUF_NULL;
        JsonWriter *w;

        if (!session)
                return call_fail(call, CALL_E_SESSION_NOT_FOUND, "Session '" STR_FMT "' not found",
                                 STR_ARG(args->session));
        if (!pty)
                return call_fail(call, CALL_E_PTY_NOT_FOUND, "No PTY %lld in session '%s'",
                                 (long long)args->pty, session->name);
        if (base64_encode(&text, last_lines(pty_scrollback(pty), args->tail_lines)))
                return -ENOMEM;
        w = call_result(call);
        jw_begin_object(w);
        jw_field_str(w, "log_data", buf_str(&text));
        jw_end_object(w);
        buf_deinit(&text);
        call->target = pty;
        if (args->follow)
                call_after(call, stream);
        return 0;
}

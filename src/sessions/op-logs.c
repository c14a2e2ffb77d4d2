/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/base64.h"
#include "core/dialect.h"
#include "gen/coop-ops.h"
#include "sessions/sessions.h"

static void logs_stream(Call *call) {
        call->client->dialect->stream(call->client, call->target, true);
}

/* The last n lines; a last line without its end counts. */
static Str logs_last_lines(Str text, int64_t n) {
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

/* For who comes back and has the front of it. */
static void write_position(const PtyTarget *target, JsonWriter *w) {
        const Hosted *hosted = target->pty ? target->pty->hosted : target->hosted;

        if (!hosted)
                return;
        jw_field_cstr(w, "process", hosted->id);
        jw_field_uint(w, "end", hosted->shown_out);
}

int op_coop_logs(Call *call, const CoopLogsArgs *args) {
        PtyTarget *target = NULL;
        int r = terminal_require(call, args->session, args->pty, &target);
        Buf text = BUF_NULL;
        JsonWriter *w;

        if (r)
                return r;
        if (base64_encode(&text, logs_last_lines(pty_target_scrollback(target), args->tail_lines)))
                return -ENOMEM;
        w = call_result(call);
        jw_begin_object(w);
        jw_field_str(w, "log_data", buf_str(&text));
        if (args->position)
                write_position(target, w);
        jw_end_object(w);
        buf_deinit(&text);
        call->target = target;
        if (args->follow)
                call_after(call, logs_stream);
        return 0;
}

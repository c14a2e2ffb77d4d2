/* SPDX-License-Identifier: MIT */
#include "core/dialect.h"
#include "gen/coop-ops.h"
#include "sessions/sessions.h"

static void attach_stream(Call *call) {
        call->client->dialect->stream(call->client, call->target, false);
}

/* At a terminal with seats: whether this one is the first. The stream begins in the same turn, so with the
 * past that is counted here. */
static void attach_answer(Call *call, const PtyTarget *target, bool has_past) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        if (target->hosted)
                jw_field_bool(w, "writer", !target->hosted->seats);
        if (has_past)
                jw_field_uint(w, "past", pty_target_scrollback(target).n);
        jw_end_object(w);
}

int op_coop_attach(Call *call, const CoopAttachArgs *args) {
        PtyTarget *target = NULL;
        int r = terminal_require(call, args->session, args->pty, &target);

        if (r)
                return r;
        target->cols = (unsigned)args->cols;
        target->rows = (unsigned)args->rows;
        call->target = target;
        call_after(call, attach_stream);
        if (target->hosted || args->position)
                attach_answer(call, target, args->position);
        return 0;
}

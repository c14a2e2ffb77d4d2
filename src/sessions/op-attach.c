/* SPDX-License-Identifier: MIT */
#include "core/dialect.h"
#include "gen/coop-ops.h"
#include "sessions/sessions.h"

static void stream(Call *call) {
        call->client->dialect->stream(call->client, call->target, false);
}

/* At a terminal with seats: whether this one is the first. */
static void answer(Call *call, const Hosted *hosted) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_bool(w, "writer", !hosted->seats);
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
        call_after(call, stream);
        if (target->hosted)
                answer(call, target->hosted);
        return 0;
}

/* SPDX-License-Identifier: MIT */
#include "core/dialect.h"
#include "gen/coop-ops.h"
#include "sessions/sessions.h"

static void stream(Call *call) {
        call->client->dialect->stream(call->client, call->target, false);
}

int op_coop_attach(Call *call, const CoopAttachArgs *args) {
        Pty *pty = NULL;
        int r = pty_require(call, args->session, args->pty, &pty);

        if (r)
                return r;
        if (pty->hosted)
                host_resize(pty->hosted, (unsigned)args->cols, (unsigned)args->rows);
        call->target = pty;
        call_after(call, stream);
        return 0;
}

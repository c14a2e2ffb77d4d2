/* SPDX-License-Identifier: MIT */
#include <errno.h>

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
        call->target = pty_target(call, pty, args->cols, args->rows);
        if (!call->target)
                return -ENOMEM;
        call_after(call, stream);
        return 0;
}

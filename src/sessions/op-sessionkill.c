/* SPDX-License-Identifier: MIT */
#include "gen/coop-ops.h"
#include "sessions/sessions.h"

int op_coop_sessionkill(Call *call, const CoopSessionkillArgs *args) {
        Pty *pty = NULL;
        int r = pty_require(call, args->session, args->pty, &pty);

        if (r)
                return r;
        pty_kill(pty, false);
        return 0;
}

/* SPDX-License-Identifier: MIT */
#include "core/daemon.h"
#include "gen/coop-ops.h"

static void detach_leave(Call *call) {
        conn_finish(call->client->conn, "detached");
}

/* Outside a stream there is nothing to detach from: it is a polite way to hang up. */
int op_coop_detach(Call *call, _unused_ const CoopDetachArgs *args) {
        call_after(call, detach_leave);
        return 0;
}

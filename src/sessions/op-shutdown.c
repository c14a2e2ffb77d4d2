/* SPDX-License-Identifier: MIT */
#include "core/daemon.h"
#include "gen/coop-ops.h"

static void shutdown_stop(Call *call) {
        daemon_stop_endpoint(call->daemon, call->client->endpoint, client_pid(call->client));
}

int op_coop_shutdown(Call *call, _unused_ const CoopShutdownArgs *args) {
        call_after(call, shutdown_stop);
        return 0;
}

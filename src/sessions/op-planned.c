/* SPDX-License-Identifier: MIT */
#include "core/daemon.h"
#include "gen/coop-ops.h"

int op_coop_serve(Call *call, _unused_ const CoopServeArgs *args) {
        return call_fail(call, CALL_E_NOT_BUILT_YET, "the web server is not built yet");
}

int op_coop_tunnel(Call *call, _unused_ const CoopTunnelArgs *args) {
        return call_fail(call, CALL_E_NOT_BUILT_YET, "the tunnel is not built yet");
}

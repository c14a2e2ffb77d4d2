/* SPDX-License-Identifier: MIT */
#include "core/daemon.h"
#include "gen/coop-ops.h"
#include "sessions/sessions.h"

int op_coop_serve(Call *call, _unused_ const CoopServeArgs *args) {
        return call_fail(call, CALL_E_NOT_BUILT_YET, "the web server is not built yet");
}

int op_coop_tunnel(Call *call, const CoopTunnelArgs *args) {
        Session *session = NULL;
        int r = session_require(call, args->session, &session);

        return r ? r : call_fail(call, CALL_E_NOT_BUILT_YET, "the tunnel is not built yet");
}

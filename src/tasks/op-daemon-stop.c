/* SPDX-License-Identifier: MIT */
#include "core/daemon.h"
#include "gen/aiwg-ops.h"

static void stop(Call *call) {
        daemon_stop_endpoint(call->daemon, call->client->endpoint);
}

/* Nothing runs that could be waited for yet, so force changes nothing. */
int op_aiwg_daemon_stop(Call *call, _unused_ const AiwgDaemonStopArgs *args) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_bool(w, "stopping", true);
        jw_end_object(w);
        call_after(call, stop);
        return 0;
}

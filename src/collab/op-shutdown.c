/* SPDX-License-Identifier: MIT */
#include "collab/collab.h"
#include "collab/runner.h"
#include "gen/cccc-ops.h"

/* As the contract says: whoever runs ends with the daemon. */
static void stop(Call *call) {
        runners_end_all(call->daemon->collab);
        daemon_stop_endpoint(call->daemon, call->client->endpoint);
}

int op_cccc_shutdown(Call *call, _unused_ const CcccShutdownArgs *args) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_cstr(w, "message", "shutting down");
        jw_end_object(w);
        call_after(call, stop);
        return 0;
}

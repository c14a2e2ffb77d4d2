/* SPDX-License-Identifier: MIT */
#include "core/daemon.h"
#include "gen/native-ops.h"

static void stop(Call *call) {
        daemon_stop(call->daemon, "asked over the native socket");
}

int op_native_daemon_shutdown(Call *call, _unused_ const NativeDaemonShutdownArgs *args) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_bool(w, "stopping", true);
        jw_end_object(w);
        call_after(call, stop);
        return 0;
}

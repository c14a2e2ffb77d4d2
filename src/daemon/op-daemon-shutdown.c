/* SPDX-License-Identifier: MIT */
#include "collab/runner.h"
#include "core/daemon.h"
#include "core/host/host.h"
#include "gen/native-ops.h"
#include "sessions/sessions.h"

enum { GRACE_MS = 1000 }; /* within the bound of a stop */

static void all_ended(void *user) {
        daemon_release_stop(user);
}

/* The domains first, so that none of them restarts what ends; then whoever belongs to none. */
static void end_agents(Daemon *daemon) {
        sessions_kill_all(daemon->sessions, true);
        if (daemon->collab)
                runners_end_all(daemon->collab);
        daemon_hold_stop(daemon);
        host_end_all(daemon->host, GRACE_MS, all_ended, daemon);
}

static void stop(Call *call) {
        daemon_stop(call->daemon, "asked over the native socket");
}

static void stop_with_agents(Call *call) {
        if (!call->daemon->is_stopping)
                end_agents(call->daemon);
        stop(call);
}

int op_native_daemon_shutdown(Call *call, const NativeDaemonShutdownArgs *args) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_bool(w, "stopping", true);
        jw_end_object(w);
        call_after(call, args->stop_agents && call->daemon->host ? stop_with_agents : stop);
        return 0;
}

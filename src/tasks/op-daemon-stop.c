/* SPDX-License-Identifier: MIT */
#include "core/daemon.h"
#include "gen/aiwg-ops.h"
#include "tasks/project.h"

static void daemon_stop_stop(Call *call) {
        daemon_stop_endpoint(call->daemon, call->client->endpoint, client_pid(call->client), NULL);
}

int op_aiwg_daemon_stop(Call *call, const AiwgDaemonStopArgs *args) {
        Project *project = call->client->endpoint->context;
        JsonWriter *w = call_result(call);

        project->is_forced = args->force;
        jw_begin_object(w);
        jw_field_bool(w, "stopping", true);
        jw_end_object(w);
        call_after(call, daemon_stop_stop);
        return 0;
}

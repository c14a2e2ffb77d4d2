/* SPDX-License-Identifier: MIT */
/* Operations on the pulse: what is set, and how it stands. */
#include <errno.h>

#include "base/error.h"
#include "company/pulse/pulse.h"
#include "company/visit.h"
#include "company/workspace.h"
#include "core/hello.h"
#include "gen/agentcompany-ops.h"

static int pulse_read_config(Reading *reading, _unused_ const Carry *carry) {
        Json *config = NULL, *state = NULL;
        int r = pulse_read(reading->root, reading->arena, &config, &state);

        if (r)
                return error_trace(r);
        jw_value(reading->w, config);
        return 0;
}

int op_agentcompany_heartbeat_config_get(Call *call, Workspace *workspace,
                                         const AgentcompanyHeartbeatConfigGetArgs *args) {
        return workspace_read(call, workspace, pulse_read_config, &args->carry);
}

/* ---- heartbeat.status ------------------------------------------------------------------------ */

typedef struct PulseStatus {
        Carry carry;
        Str workspace_dir;
        bool is_observed;
} PulseStatus;

static int pulse_read_status(Reading *reading, const Carry *carry) {
        const PulseStatus *status = container_of(carry, PulseStatus, carry);
        Json *config = NULL, *state = NULL;
        JsonWriter *w = reading->w;
        int r = pulse_read(reading->root, reading->arena, &config, &state);

        if (r)
                return error_trace(r);
        jw_begin_object(w);
        jw_field_str(w, "workspace_dir", status->workspace_dir);
        jw_field_bool(w, "observed", status->is_observed);
        jw_field_value(w, "config", config);
        jw_field_value(w, "state", state);
        jw_key(w, "runtime");
        jw_begin_object(w);
        jw_field_bool(w, "loop_running", false); /* nothing ticks yet */
        jw_field_bool(w, "tick_in_progress", false);
        jw_end_object(w);
        jw_end_object(w);
        return 0;
}

/* A connection that only wants an answer says so in its hello, and nothing wakes up for it. */
static bool pulse_is_observed(const Client *client, const Workspace *workspace) {
        const Hello *hello = client ? client->hello : NULL;

        return visit_has(client, workspace) && (!hello || hello->observe);
}

int op_agentcompany_heartbeat_status(Call *call, Workspace *workspace,
                                     const AgentcompanyHeartbeatStatusArgs *args) {
        PulseStatus *status = arena_alloc(&call->arena, sizeof(*status));

        if (!status)
                return error_origin(-ENOMEM);
        *status = (PulseStatus){.workspace_dir = args->workspace_dir,
                                .is_observed = pulse_is_observed(call->client, workspace)};
        return workspace_read(call, workspace, pulse_read_status, &status->carry);
}

/* SPDX-License-Identifier: MIT */
/* Operations on the pulse: what is set, and how it stands. */
#include <errno.h>

#include "base/error.h"
#include "company/pulse/beat.h"
#include "company/pulse/pulse.h"
#include "company/pulse/tick.h"
#include "company/visit.h"
#include "company/workspace.h"
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
        Str runtime; /* as JSON */
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
        jw_raw(w, status->runtime);
        jw_end_object(w);
        return 0;
}

/* What is planned is known by now. */
static int pulse_tell_status(Call *call, Workspace *workspace, const Carry *carry) {
        PulseStatus *status = container_of(carry, PulseStatus, carry);
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        jw_begin_object(&w);
        beat_write(workspace, &w);
        jw_end_object(&w);
        status->runtime = w.failed ? STR_NULL : arena_str(&call->arena, buf_str(&text));
        return status->runtime.data ? workspace_read(call, workspace, pulse_read_status, carry)
                                    : error_origin(-ENOMEM);
}

int op_agentcompany_heartbeat_status(Call *call, Workspace *workspace,
                                     const AgentcompanyHeartbeatStatusArgs *args) {
        PulseStatus *status = arena_alloc(&call->arena, sizeof(*status));

        if (!status)
                return error_origin(-ENOMEM);
        *status = (PulseStatus){.workspace_dir = args->workspace_dir,
                                .is_observed = visit_is_observing(call->client, workspace)};
        return beat_ready(call, workspace, pulse_tell_status, &status->carry);
}

/* ---- heartbeat.tick -------------------------------------------------------------------------- */

int op_agentcompany_heartbeat_tick(Call *call, Workspace *workspace,
                                   const AgentcompanyHeartbeatTickArgs *args) {
        return tick_run(call, workspace,
                        &(TickSpec){.workspace_dir = args->workspace_dir,
                                    .reason = args->reason,
                                    .is_dry = args->dry_run});
}

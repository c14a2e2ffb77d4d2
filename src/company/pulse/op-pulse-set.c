/* SPDX-License-Identifier: MIT */
/* heartbeat.config.set: what is given goes over what is set, and all of it is written. */
#include <errno.h>
#include <stddef.h>

#include "base/error.h"
#include "company/edit.h"
#include "company/pulse/beat.h"
#include "company/pulse/pulse.h"
#include "core/document.h"
#include "gen/agentcompany-ops.h"

typedef AgentcompanyHeartbeatConfigSetArgs PulseSet;

#define PULSE_FIELD(name)                                                                                   \
        { #name, offsetof(PulseSet, has_##name), offsetof(PulseSet, name) }
static const struct {
        const char *name;
        size_t has, value;
} pulse_fields[] = {
        PULSE_FIELD(tick_interval_minutes),
        PULSE_FIELD(top_k_workers),
        PULSE_FIELD(min_wake_score),
        PULSE_FIELD(ok_suppression_minutes),
        PULSE_FIELD(due_horizon_minutes),
        PULSE_FIELD(max_auto_actions_per_tick),
        PULSE_FIELD(max_auto_actions_per_hour),
        PULSE_FIELD(quiet_hours_start_hour),
        PULSE_FIELD(quiet_hours_end_hour),
        PULSE_FIELD(stuck_job_running_minutes),
        PULSE_FIELD(idempotency_ttl_days),
        PULSE_FIELD(jitter_max_seconds),
};

/* What was given over what is there. */
static int pulse_merge(Edit *edit, Json *config, const PulseSet *args) {
        int r = args->has_enabled ? json_set(edit->arena, config, STR("enabled"),
                                             json_new_bool(edit->arena, args->enabled))
                                  : 0;

        for (size_t i = 0; !r && i < ARRAY_SIZE(pulse_fields); i++) {
                const char *base = (const char *)args;

                if (*(const bool *)(base + pulse_fields[i].has))
                        r = json_set(
                                edit->arena, config, str_from(pulse_fields[i].name),
                                json_new_int(edit->arena, *(const int64_t *)(base + pulse_fields[i].value)));
        }
        return error_trace(r);
}

static int pulse_set_decide(Edit *edit, const Carry *carry) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Json *config = NULL;
        Str before = STR("");
        int r = edit_read(edit, PULSE_CONFIG, 0, &before);

        if (r < 0)
                return error_trace(r);
        r = pulse_config(edit->arena, r ? STR("") : before, &config);
        if (!r)
                r = pulse_merge(edit, config, container_of(carry, PulseSet, carry));
        if (!r)
                r = document_text(config, DOCUMENT_YAML, STR_NULL, &text);
        edit->user = config;
        return r ? error_trace(r)
                 : error_trace(edit_replace(edit, PULSE_CONFIG, arena_str(edit->arena, buf_str(&text))));
}

/* What was planned by other settings is planned anew when somebody asks, or at once when somebody looks. */
static void pulse_set_reply(Call *call, Edit *edit, _unused_ const Carry *carry) {
        jw_value(call_result(call), edit->user);
        beat_forget(edit->workspace);
}

int op_agentcompany_heartbeat_config_set(Call *call, Workspace *workspace,
                                         const AgentcompanyHeartbeatConfigSetArgs *args) {
        return company_edit(call, workspace, pulse_set_decide, pulse_set_reply, &args->carry);
}

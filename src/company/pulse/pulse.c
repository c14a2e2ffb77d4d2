/* SPDX-License-Identifier: MIT */
#include "company/pulse/pulse.h"

#include <errno.h>

#include "base/error.h"
#include "base/macro.h"
#include "core/document.h"
#include "core/shape.h"
#include "gen/shapes.h"

static const char first_config[] =
        "{\"schema_version\":1,\"type\":\"heartbeat_config\",\"enabled\":true,\"tick_interval_minutes\":20,"
        "\"top_k_workers\":2,\"min_wake_score\":3,\"ok_suppression_minutes\":60,\"due_horizon_minutes\":120,"
        "\"max_auto_actions_per_tick\":10,\"max_auto_actions_per_hour\":60,\"quiet_hours_start_hour\":22,"
        "\"quiet_hours_end_hour\":7,\"stuck_job_running_minutes\":30,\"idempotency_ttl_days\":14,"
        "\"jitter_max_seconds\":90}";
static const char first_state[] =
        "{\"schema_version\":1,\"type\":\"heartbeat_state\",\"running\":false,\"run_event_cursors\":{},"
        "\"worker_state\":{},\"idempotency\":{},\"hourly_action_counters\":{},\"stats\":{\"ticks_total\":0,"
        "\"workers_woken_total\":0,\"reports_ok_total\":0,\"reports_actions_total\":0,"
        "\"actions_executed_total\":0,\"approvals_queued_total\":0,\"deduped_actions_total\":0}}";

/* The tree that a text has if it fits, else the first one. */
static int pulse_or_first(Arena *arena, Json *json, const Shape *shape, const char *first, Json **ret) {
        if (json && shape_fits(shape, json)) {
                *ret = shape_ordered(arena, shape, json);
                return *ret ? 0 : error_origin(-ENOMEM);
        }
        return error_fold(json_parse(arena, first, str_from(first).n, NULL, ret, NULL));
}

int pulse_config(Arena *arena, Str text, Json **config) {
        Json *json = NULL;
        int r = document_parse(arena, text, DOCUMENT_YAML, &json, NULL, NULL);

        return r < 0 ? error_trace(r)
                     : error_trace(pulse_or_first(arena, r ? NULL : json, &shape_heartbeat_config,
                                                  first_config, config));
}

int pulse_state(Arena *arena, Str text, Json **state) {
        Json *json = NULL;
        int r = document_parse(arena, text, DOCUMENT_YAML, &json, NULL, NULL);

        return r < 0 ? error_trace(r)
                     : error_trace(pulse_or_first(arena, r ? NULL : json, &shape_heartbeat_state,
                                                  first_state, state));
}

static int pulse_load(int root, Arena *arena, const char *path, const Shape *shape, const char *first,
                      Json **ret) {
        Json *json = NULL;
        int r = document_load(arena, root, path, DOCUMENT_YAML, &json, NULL, NULL);

        return r == -ENOMEM ? error_trace(r)
                            : error_trace(pulse_or_first(arena, r ? NULL : json, shape, first, ret));
}

int pulse_read(int root, Arena *arena, Json **config, Json **state) {
        int r = pulse_load(root, arena, PULSE_CONFIG, &shape_heartbeat_config, first_config, config);

        return r ? error_trace(r)
                 : error_trace(
                           pulse_load(root, arena, PULSE_STATE, &shape_heartbeat_state, first_state, state));
}

int pulse_edit_state(Edit *edit, Json **ret) {
        Str text = STR("");
        int r = edit_read(edit, PULSE_STATE, 0, &text);

        return r < 0 ? error_trace(r) : error_trace(pulse_state(edit->arena, r ? STR("") : text, ret));
}

int pulse_edit_write(Edit *edit, Json *state) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Json *ordered = shape_ordered(edit->arena, &shape_heartbeat_state, state);
        int r = ordered ? document_text(ordered, DOCUMENT_YAML, STR_NULL, &text) : error_origin(-ENOMEM);

        return r ? error_trace(r)
                 : error_trace(edit_replace(edit, PULSE_STATE, arena_str(edit->arena, buf_str(&text))));
}

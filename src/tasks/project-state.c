/* SPDX-License-Identifier: MIT */
/*
 * heartbeat and state.json: what clients read when the socket does not answer.
 */
#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "tasks/project.h"

static void project_state_field_off(JsonWriter *w, const char *key) {
        jw_key(w, key);
        jw_begin_object(w);
        jw_field_bool(w, "enabled", false);
        jw_end_object(w);
}

void project_write_supervisor(const Project *project, JsonWriter *w) {
        supervisor_write(project, w, "maxConcurrency");
}

void project_write_load(ProjectLoad load, bool are_ended, JsonWriter *w) {
        jw_begin_object(w);
        jw_field_uint(w, "running", load.n_running);
        jw_field_uint(w, "queued", load.n_waiting);
        jw_field_bool(w, "ended", are_ended);
        jw_end_object(w);
}

static void write_agents(const Project *project, JsonWriter *w) {
        jw_key(w, "agents");
        supervisor_write(project, w, "max_concurrency");
        jw_key(w, "task_stats");
        supervisor_write_stats(project, w);
}

static void write_health(JsonWriter *w, int64_t now_us) {
        jw_key(w, "health");
        jw_begin_object(w);
        jw_field_cstr(w, "status", "healthy");
        jw_field_time_ms(w, "last_check", now_us);
        jw_key(w, "issues");
        jw_begin_array(w);
        jw_end_array(w);
        jw_end_object(w);
}

static void project_state_write_state(const Project *project, JsonWriter *w, int64_t now_us) {
        jw_begin_object(w);
        jw_field_int(w, "pid", project_pid(project));
        jw_field_time_ms(w, "started_at", project->started_us);
        jw_field_time_ms(w, "last_heartbeat", now_us);
        jw_field_int(w, "uptime_seconds", project_uptime_s(project));
        jw_field_int(w, "restart_count", 0);
        jw_key(w, "ipc");
        jw_begin_object(w);
        jw_field_cstr(w, "socket", ".aiwg/daemon/daemon.sock");
        jw_field_uint(w, "clients", project->endpoint->n_clients);
        jw_end_object(w);
        write_agents(project, w);
        jw_key(w, "monitors");
        jw_begin_object(w);
        jw_key(w, "file_watcher");
        automation_write_watcher(project->automation, w);
        project_state_field_off(w, "webhook");
        jw_key(w, "scheduler");
        automation_write_scheduler(project->automation, w);
        jw_end_object(w);
        jw_key(w, "automation");
        jw_begin_object(w);
        jw_field_bool(w, "enabled", project->automation->is_enabled);
        jw_field_uint(w, "rule_count", project->automation->set ? project->automation->set->n_rules : 0);
        jw_end_object(w);
        write_health(w, now_us);
        jw_end_object(w);
}

static int indent_text(Buf *text) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf compact = *text;
        Json *json = NULL;
        int r;

        *text = BUF_NULL;
        r = json_parse(&arena, compact.data, compact.n, NULL, &json, NULL);
        return error_fold(r ? r : json_write_pretty(text, json, 2));
}

int project_state_text(const Project *project, Buf *heartbeat, Buf *state) {
        int64_t now_us = loop_wall_us(project->daemon->loop);
        JsonWriter beat = JSON_WRITER(heartbeat), full = JSON_WRITER(state);

        jw_begin_object(&beat);
        jw_field_int(&beat, "pid", project_pid(project));
        jw_field_time_ms(&beat, "timestamp", now_us);
        jw_field_int(&beat, "uptime_seconds", project_uptime_s(project));
        jw_end_object(&beat);
        project_state_write_state(project, &full, now_us);
        if (beat.failed || full.failed)
                return error_origin(-ENOMEM);
        return error_trace(indent_text(state));
}

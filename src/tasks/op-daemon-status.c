/* SPDX-License-Identifier: MIT */
#include <unistd.h>

#include "base/time.h"
#include "gen/aiwg-ops.h"
#include "tasks/project.h"

static void daemon_status_field_off(JsonWriter *w, const char *key) {
        jw_key(w, key);
        jw_begin_object(w);
        jw_field_bool(w, "enabled", false);
        jw_end_object(w);
}

/* Also this waits for the store: the queue of the last daemon is part of it. */
int op_aiwg_daemon_status(Call *call, Project *project, _unused_ const AiwgDaemonStatusArgs *args) {
        JsonWriter *w = call_result(call);
        char started[TIME_TEXT_MAX];

        time_format_ms(project->started_us, started);
        jw_begin_object(w);
        jw_field_int(w, "pid", project_pid(project));
        jw_field_int(w, "uptime_seconds", project_uptime_s(project));
        jw_field_cstr(w, "started_at", started);
        jw_field_cstr(w, "health", "healthy");
        jw_key(w, "subsystems");
        jw_begin_object(w);
        jw_key(w, "ipc");
        jw_begin_object(w);
        jw_field_uint(w, "clients", call->client->endpoint->n_clients);
        jw_end_object(w);
        jw_key(w, "supervisor");
        project_write_supervisor(project, w);
        jw_key(w, "automation");
        automation_write(project->automation, w);
        jw_key(w, "file_watcher");
        automation_write_watcher(project->automation, w);
        jw_key(w, "scheduler");
        automation_write_scheduler(project->automation, w);
        daemon_status_field_off(w, "messaging");
        jw_end_object(w);
        jw_end_object(w);
        return 0;
}

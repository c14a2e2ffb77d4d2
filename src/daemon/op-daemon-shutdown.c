/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "daemon/shutdown"

#include <string.h>

#include "collab/actor/runner.h"
#include "core/daemon.h"
#include "core/host/host.h"
#include "dialect/aiwg/aiwg.h"
#include "gen/native-ops.h"
#include "sessions/sessions.h"
#include "tasks/project.h"

enum { GRACE_MS = 1000 }; /* within the bound of a stop */

static void all_ended(void *user) {
        daemon_release_stop(user);
}

/* Before they end: should we be killed meanwhile, those that are gone stay so. */
static void hold_agents_down(Daemon *daemon) {
        int r = standstill_write(daemon->home, STR(""));

        if (r)
                log_warning(&daemon->log, "-", "agents may come back at the next start: agents-stopped: %s",
                            strerror(-r));
}

/* The domains first, so that none of them restarts what ends; then whoever belongs to none. */
static void end_agents(Daemon *daemon) {
        hold_agents_down(daemon);
        sessions_kill_all(daemon->sessions, true);
        if (daemon->collab)
                runners_end_all(daemon->collab);
        daemon_hold_stop(daemon);
        host_end_all(daemon->host, GRACE_MS, all_ended, daemon);
}

static void daemon_shutdown_stop(Call *call) {
        daemon_stop(call->daemon, "asked over the native socket");
}

static void stop_with_agents(Call *call) {
        if (!call->daemon->is_stopping) {
                call->daemon->ends_agents = true;
                end_agents(call->daemon);
        }
        daemon_shutdown_stop(call);
}

/* What becomes of the tasks of all projects. */
static void write_tasks(const Daemon *daemon, bool are_ended, JsonWriter *w) {
        ProjectLoad all = {0};

        for (const Endpoint *e = daemon->endpoints; e; e = e->next)
                if (e->type == &aiwg_endpoint && e->context) {
                        ProjectLoad load = project_load(e->context);
                        all.n_running += load.n_running;
                        all.n_waiting += load.n_waiting;
                }
        jw_key(w, "tasks");
        project_write_load(all, are_ended, w);
}

/* What becomes of the others: sessions, shells, actors. */
static void shutdown_write_processes(const Daemon *daemon, bool are_ended, JsonWriter *w) {
        uint64_t n = 0;

        for (const Hosted *h = daemon->host ? host_first(daemon->host) : NULL; h; h = h->next)
                n += h->state == HOSTED_RUNNING && strcmp(h->owner, "tasks") != 0;
        jw_key(w, "processes");
        jw_begin_object(w);
        jw_field_uint(w, "running", n);
        jw_field_bool(w, "ended", are_ended);
        jw_end_object(w);
}

int op_native_daemon_shutdown(Call *call, const NativeDaemonShutdownArgs *args) {
        bool ends_agents = args->stop_agents && call->daemon->host;
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_bool(w, "stopping", true);
        shutdown_write_processes(call->daemon, ends_agents, w);
        write_tasks(call->daemon, ends_agents, w);
        jw_end_object(w);
        call->daemon->is_dismissed = !args->keep_web;
        call_after(call, ends_agents ? stop_with_agents : daemon_shutdown_stop);
        return 0;
}

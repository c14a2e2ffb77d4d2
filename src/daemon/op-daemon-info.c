/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <unistd.h>

#include "base/time.h"
#include "collab/collab.h"
#include "company/company.h"
#include "core/daemon.h"
#include "core/dialect.h"
#include "core/ledger/ledger.h"
#include "core/version.h"
#include "daemon/overview.h"
#include "dialect/aiwg/aiwg.h"
#include "dialect/http/assets.h"
#include "gen/native-ops.h"
#include "tasks/project.h"

static void write_party(const EndpointParty *party, JsonWriter *w) {
        jw_key(w, "by");
        jw_begin_object(w);
        jw_field_int(w, "pid", party->pid);
        jw_field_cstr(w, "program", party->program);
        jw_end_object(w);
}

static void write_endpoints(const Daemon *daemon, JsonWriter *w) {
        char since[TIME_TEXT_MAX];

        jw_key(w, "endpoints");
        jw_begin_array(w);
        for (const Endpoint *e = daemon->endpoints; e; e = e->next) {
                EndpointView view;

                if (e->is_removed)
                        continue;
                endpoint_look(e, &view);
                jw_begin_object(w);
                jw_field_cstr(w, "name", e->type->name);
                jw_field_cstr(w, "dialect", e->type->dialect->name);
                jw_field_cstr(w, "state", view.state);
                jw_field_cstr(w, "address", *e->address ? e->address : e->where);
                if (*view.reason)
                        jw_field_cstr(w, "reason", view.reason);
                if (view.by.pid)
                        write_party(&view.by, w);
                time_format_ms(e->since_us, since);
                jw_field_cstr(w, "since", since);
                jw_field_uint(w, "clients", e->n_clients);
                if (e->state == ENDPOINT_LISTENING && e->warning)
                        jw_field_cstr(w, "warning", e->warning);
                if (e->n_refused)
                        jw_field_uint(w, "refused", e->n_refused);
                jw_end_object(w);
        }
        jw_end_array(w);
}

static void write_accounts(const Daemon *daemon, JsonWriter *w) {
        jw_key(w, "accounts");
        jw_begin_array(w);
        for (const Account *a = daemon->accounts.first; a; a = a->next) {
                char peer[64], address[ADDRESS_TEXT_MAX];

                address_text(&a->network, address);
                if (a->is_remote)
                        snprintf(peer, sizeof(peer), "tcp:%s", address);
                else
                        snprintf(peer, sizeof(peer), "uid:%u", (unsigned)a->uid);
                jw_begin_object(w);
                jw_field_cstr(w, "peer", peer);
                jw_field_uint(w, "connections", a->n_conns);
                jw_field_uint(w, "queued_bytes", a->n_bytes);
                jw_field_uint(w, "requests", a->n_requests);
                jw_end_object(w);
        }
        jw_end_array(w);
}

static void write_loop(const Daemon *daemon, JsonWriter *w) {
        const LoopHeld *longest = loop_longest(daemon->loop);

        jw_key(w, "loop");
        jw_begin_object(w);
        jw_field_uint(w, "held", loop_n_held(daemon->loop));
        if (longest) {
                jw_key(w, "longest");
                jw_begin_object(w);
                jw_field_int(w, "cpu_us", longest->cpu_us);
                jw_field_int(w, "wall_us", longest->wall_us);
                jw_field_cstr(w, "kind", longest->kind);
                if (*longest->name)
                        jw_field_cstr(w, "name", longest->name);
                jw_end_object(w);
        }
        jw_end_object(w);
}

void info_write(const Daemon *daemon, JsonWriter *w) {
        char started[TIME_TEXT_MAX];

        time_format_ms(daemon->started_us, started);
        jw_field_cstr(w, "version", MUSTER_VERSION);
        jw_field_int(w, "pid", getpid());
        jw_field_cstr(w, "started_at", started);
        jw_field_int(w, "uptime_seconds", (loop_now_ms(daemon->loop) - daemon->started_ms) / 1000);
        jw_field_cstr(w, "home", daemon->home);
        jw_field_cstr(w, "durability", ledger_policy_name(ledger_policy_of(&daemon->config)));
        jw_field_cstr(w, "console", assets_kind());
        if (assets_reason()[0])
                jw_field_cstr(w, "console_reason", assets_reason());
        if (daemon->standstill.is_on)
                jw_field_bool(w, "agents_stopped", true);
        write_endpoints(daemon, w);
        jw_key(w, "connections");
        jw_begin_object(w);
        jw_field_uint(w, "open", daemon->shared.n_open);
        jw_field_uint(w, "accepted", daemon->shared.n_accepted);
        jw_field_uint(w, "closed", daemon->shared.n_closed);
        jw_end_object(w);
        write_accounts(daemon, w);
        write_loop(daemon, w);
}

/* For whoever waits for an answer meanwhile. */
static void write_busy(const Daemon *daemon, JsonWriter *w) {
        jw_key(w, "busy");
        jw_begin_array(w);
        collab_write_busy(daemon->collab, w);
        for (const Endpoint *e = daemon->endpoints; e; e = e->next) {
                const Project *project = e->type == &aiwg_endpoint ? e->context : NULL;

                if (project)
                        ledger_write_opening(project->store.ledger, w, "the history of", project->dir);
        }
        jw_end_array(w);
}

static void write_workspaces(const Daemon *daemon, JsonWriter *w) {
        static const IndexWork none;
        const Company *company = daemon->company;
        const IndexWork *work = company ? &company->index_work : &none;

        jw_key(w, "workspaces");
        jw_begin_object(w);
        jw_field_uint(w, "open", company ? company->n_workspaces : 0);
        jw_field_uint(w, "syncs", work->n_syncs);
        jw_field_uint(w, "rebuilds", work->n_rebuilds);
        jw_field_uint(w, "walks", work->n_walks);
        jw_field_uint(w, "files_looked_at", work->n_looked);
        jw_field_uint(w, "files_read", work->n_read);
        jw_field_uint(w, "steps", work->n_steps);
        jw_field_uint(w, "watches", work->n_watches);
        jw_end_object(w);
}

int op_native_daemon_info(Call *call, _unused_ const NativeDaemonInfoArgs *args) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        info_write(call->daemon, w);
        write_workspaces(call->daemon, w);
        write_busy(call->daemon, w);
        jw_end_object(w);
        return 0;
}

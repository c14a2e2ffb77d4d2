/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/agents/agents.h"
#include "core/attention/attention.h"
#include "core/fleet/fleet.h"
#include "core/host/host.h"
#include "core/host/load.h"
#include "daemon/overview.h"
#include "gen/native-ops.h"

static void field_time(JsonWriter *w, const char *key, int64_t us) {
        if (us)
                jw_field_time_ms(w, key, us);
}

/* Processor time and memory of the first process. */
static void ps_write_usage(pid_t pid, JsonWriter *w) {
        int64_t cpu_ms, rss_kb;

        if (!load_look(pid, &cpu_ms, &rss_kb))
                return;
        jw_field_int(w, "cpu_ms", cpu_ms);
        jw_field_int(w, "rss_kb", rss_kb);
}

/* What a list of terminals shows of one without looking at it. */
static void ps_write_terminal(const Hosted *hosted, JsonWriter *w) {
        const char *writer = hosted_writer(hosted);

        if (hosted->modes.n_title)
                jw_field_str(w, "title", (Str){hosted->modes.title, hosted->modes.n_title});
        if (hosted->kind == SHIM_PTY && hosted->cols && hosted->rows) {
                jw_field_uint(w, "cols", hosted->cols);
                jw_field_uint(w, "rows", hosted->rows);
        }
        if (writer)
                jw_field_cstr(w, "writer", writer);
        jw_field_uint(w, "web_viewers", hosted->n_web);
}

static int write_hosted(Call *call, Hosted *hosted, JsonWriter *w, int64_t now_us) {
        pid_t pid = hosted_agent_pid(hosted);
        FleetThing thing;

        if (fleet_describe(call->daemon, hosted, &call->arena, &thing))
                return error_origin(-ENOMEM);
        jw_begin_object(w);
        jw_field_cstr(w, "id", hosted->id);
        if (thing.name.n)
                jw_field_str(w, "name", thing.name);
        jw_field_cstr(w, "owner", hosted->owner);
        jw_field_cstr(w, "object", hosted->object);
        jw_field_cstr(w, "workspace", hosted->workspace);
        jw_field_cstr(w, "command", hosted->command);
        jw_field_cstr(w, "kind", hosted->kind == SHIM_PIPES ? "pipes" : "pty");
        jw_field_cstr(w, "sandbox", hosted->sandbox);
        jw_field_cstr(w, "state", hosted_state_name(hosted));
        field_time(w, "since", hosted->state_since_us);
        jw_field_int(w, "age_seconds", MAX((now_us - hosted->state_since_us) / 1000000, (int64_t)0));
        jw_field_int(w, "pid", pid);
        if (pid != hosted->pid)
                jw_field_int(w, "sandbox_pid", hosted->pid);
        field_time(w, "started", hosted->started_us);
        field_time(w, "output", hosted->output_us);
        field_time(w, "last_output", hosted->output_us);
        field_time(w, "last_input", hosted->input_us);
        if (hosted->output_us)
                jw_field_int(w, "output_age_seconds",
                             MAX((now_us - hosted->output_us) / 1000000, (int64_t)0));
        if (hosted->state == HOSTED_ENDED)
                jw_field_int(w, "exit_code", hosted_exit_code(hosted));
        jw_field_uint(w, "bytes", hosted->out.header ? ring_end(&hosted->out) : 0);
        jw_field_uint(w, "viewers", hosted->n_viewers);
        ps_write_terminal(hosted, w);
        jw_field_uint(w, "attention", attention_count(call->daemon->attention, thing.name));
        jw_field_bool(w, "adopted", hosted->is_adopted);
        if (hosted->cgroup)
                jw_field_cstr(w, "cgroup", hosted->cgroup);
        if (hosted->limits.memory_max)
                jw_field_int(w, "memory_max", hosted->limits.memory_max);
        if (hosted->limits.n_pids)
                jw_field_int(w, "pids_max", hosted->limits.n_pids);
        if (hosted->report) {
                jw_key(w, "report");
                jw_raw(w, str_from(hosted->report));
        }
        if (agent_of(hosted)) {
                jw_key(w, "agent");
                agent_write(w, agent_of(hosted));
        }
        if (hosted->recording_path)
                jw_field_cstr(w, "recording", hosted->recording_path);
        if (hosted->state == HOSTED_RUNNING)
                ps_write_usage(pid, w);
        jw_end_object(w);
        return 0;
}

/* By object, then by age: whoever looks again finds each where it was. */
static int processes_compare(const void *a, const void *b) {
        const Hosted *x = *(Hosted *const *)a, *y = *(Hosted *const *)b;
        int r = strcmp(x->owner, y->owner);

        r = r ? r : strcmp(x->object, y->object);
        if (!r)
                r = (x->started_us > y->started_us) - (x->started_us < y->started_us);
        return r ? r : strcmp(x->id, y->id);
}

int processes_write(Call *call, JsonWriter *w) {
        Hosted *first = call->daemon->host ? host_first(call->daemon->host) : NULL, **all;
        int64_t now_us = loop_wall_us(call->daemon->loop);
        size_t n = 0;
        int r = 0;

        for (Hosted *h = first; h; h = h->next)
                n++;
        all = arena_alloc(&call->arena, (n + 1) * sizeof(Hosted *));
        if (!all)
                return error_origin(-ENOMEM);
        n = 0;
        for (Hosted *h = first; h; h = h->next)
                all[n++] = h;
        qsort(all, n, sizeof(Hosted *), processes_compare);
        jw_key(w, "processes");
        jw_begin_array(w);
        for (size_t i = 0; i < n && !r; i++)
                r = write_hosted(call, all[i], w, now_us);
        jw_end_array(w);
        return error_trace(r);
}

int op_native_ps(Call *call, _unused_ const NativePsArgs *args) {
        JsonWriter *w = call_result(call);
        int r;

        jw_begin_object(w);
        r = processes_write(call, w);
        jw_end_object(w);
        return r;
}

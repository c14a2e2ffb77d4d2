/* SPDX-License-Identifier: MIT */
/* fleet.report: what something hosted says of itself. It is the process in whose tree the caller runs, never another. */
#include <errno.h>

#include "base/error.h"
#include "base/utf8.h"
#include "core/agents/agents.h"
#include "core/client.h"
#include "core/daemon.h"
#include "core/host/host.h"
#include "gen/native-ops.h"

enum { REPORT_NOTE_MAX = 500 };

static int report_write(const Call *call, const NativeFleetReportArgs *args, Buf *out) {
        JsonWriter w = JSON_WRITER(out);
        Str note = utf8_first(str_trim(args->note), REPORT_NOTE_MAX);

        jw_begin_object(&w);
        jw_field_str(&w, "state", args->state);
        if (note.n)
                jw_field_str(&w, "note", note);
        if (args->has_progress)
                jw_field_int(&w, "progress", args->progress);
        jw_field_time_ms(&w, "at", loop_wall_us(call->daemon->loop));
        jw_end_object(&w);
        return w.failed ? error_origin(-ENOMEM) : 0;
}

/* It counts as a fact about what it does, as long as nobody who is believed more tells something. */
static void report_tell(const Call *call, const NativeFleetReportArgs *args, Hosted *hosted) {
        static const struct {
                const char *state;
                AgentFactKind kind;
        } words[] = {{"working", AGENT_TURN},
                     {"waiting", AGENT_ASKS},
                     {"idle", AGENT_STOPPED},
                     {"error", AGENT_FAILED}};
        AgentFact fact = {.at_us = loop_wall_us(call->daemon->loop), .source = AGENT_SELF};

        if (!agent_of(hosted))
                return;
        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                if (str_is(args->state, words[i].state))
                        fact.kind = words[i].kind;
        agent_put(fact.event, STR("fleet.report"));
        agent_put(fact.detail, str_trim(args->note));
        agent_take(agent_of(hosted), &fact);
}

int op_native_fleet_report(Call *call, const NativeFleetReportArgs *args) {
        const Principal *who = principal_of(call->client);
        Hosted *hosted =
                *who->id && call->daemon->host ? host_find(call->daemon->host, str_from(who->id)) : NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter *w;
        int r;

        if (!hosted)
                return call_fail(call, CALL_E_DOES_NOT_FIT,
                                 "the caller is %s: only what is hosted tells what it does",
                                 principal_name(who));
        r = report_write(call, args, &text);
        r = r ? r : host_report(hosted, buf_str(&text));
        if (r)
                return error_trace(r);
        report_tell(call, args, hosted);
        w = call_result(call);
        jw_begin_object(w);
        jw_field_bool(w, "kept", true);
        jw_field_cstr(w, "id", hosted->id);
        jw_end_object(w);
        return 0;
}

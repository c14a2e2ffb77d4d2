/* SPDX-License-Identifier: MIT */
/* Operations on subscriptions. */
#include <errno.h>

#include "base/error.h"
#include "base/id.h"
#include "company/index/lists.h"
#include "company/index/turn.h"
#include "company/live/live.h"
#include "core/dialect.h"
#include "gen/agentcompany-ops.h"

/* A subscription with a backfill on its way; in the call's arena. */
typedef struct EventsBackfill {
        Carry carry;
        const AgentcompanyEventsSubscribeArgs *args;
        Str id;
        LiveFilter filter;
        Buf lines; /* notifications that follow the answer */
} EventsBackfill;

static int events_answer(Call *call, Str id) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_str(w, "subscription_id", id);
        jw_end_object(w);
        return 0;
}

/* ---- the backfill ---------------------------------------------------------------------------- */

/* The oldest events of project and run; the types count after the cut. */
static int events_collect(EventsBackfill *backfill, Arena *arena, Sql *sql) {
        const LiveFilter *filter = &backfill->filter;
        SqlStatement *rows = NULL;
        IndexQuery query;
        int r;

        index_query_init(&query, arena, "SELECT project_id, run_id, type, raw_json FROM events");
        index_query_str(&query, "project_id=?", filter->project_id);
        index_query_str(&query, filter->project_id.n ? "run_id=?" : index_any_project, filter->run_id);
        index_query_tail(&query,
                         filter->run_id.n ? "ORDER BY +ts_wallclock, seq" : "ORDER BY ts_wallclock, seq");
        r = index_query_run(&query, sql, backfill->args->backfill_limit, &rows);
        while (!r && !(r = sql_step(rows))) {
                if (!live_wants(filter, sql_str(rows, 0), sql_str(rows, 1), sql_str(rows, 2)))
                        continue;
                r = live_write(&backfill->lines, backfill->id, sql_str(rows, 0), sql_str(rows, 3));
                if (!r && backfill->lines.n > LIVE_WAITING_MAX)
                        return sql_finish(rows);
        }
        return r;
}

/* What goes wrong here fails nothing: there is no backfill then. */
static int events_run_backfill(Reading *reading, const Carry *carry) {
        EventsBackfill *backfill = container_of(carry, EventsBackfill, carry);
        Index *index = reading->workspace->index;
        IndexReport report;
        Sql *sql = NULL;

        if (!index_sync(index, &report) && !index_look(index, &sql))
                (void)events_collect(backfill, reading->arena, sql);
        jw_begin_object(reading->w);
        jw_field_str(reading->w, "subscription_id", backfill->id);
        jw_end_object(reading->w);
        return 0;
}

static void events_push_backfill(Call *call) {
        const EventsBackfill *backfill = container_of(call->target, EventsBackfill, carry);
        Chunk *chunk = backfill->lines.n ? chunk_new(buf_str(&backfill->lines)) : NULL;

        if (!chunk || !call->client)
                return;
        call->client->dialect->push(call->client, chunk);
        conn_flush_soon(call->client->conn);
        chunk_unref(chunk);
}

static void events_release_backfill(void *object) {
        buf_deinit(&((EventsBackfill *)object)->lines);
}

static int events_backfill(Call *call, Workspace *workspace, const Carry *carry) {
        EventsBackfill *backfill = container_of(carry, EventsBackfill, carry);
        int r = call_hold(call, backfill, events_release_backfill);

        if (r)
                return error_trace(r);
        call->target = carry;
        call_after(call, events_push_backfill);
        return index_read_call(call, workspace, events_run_backfill, carry);
}

static int events_backfill_lost(Call *call, const Carry *carry) {
        return events_answer(call, container_of(carry, EventsBackfill, carry)->id);
}

/* ---- the operations -------------------------------------------------------------------------- */

static Str events_new_id(Call *call) {
        uint32_t number = 0;

        (void)random_bytes(&number, sizeof(number));
        return arena_printf(&call->arena, "sub_%lld_%u",
                            (long long)(loop_wall_us(call->daemon->loop) / 1000), number % 100000);
}

int op_agentcompany_events_subscribe(Call *call, const AgentcompanyEventsSubscribeArgs *args) {
        EventsBackfill *backfill = arena_alloc(&call->arena, sizeof(*backfill));
        int r;

        if (!company_is_served(call))
                return call->error;
        if (!backfill)
                return error_origin(-ENOMEM);
        *backfill = (EventsBackfill){
                .args = args,
                .id = args->subscription_id.n ? args->subscription_id : events_new_id(call),
                .filter = {
                        .project_id = args->project_id, .run_id = args->run_id, .types = args->event_types}};
        if (!call->client || !backfill->id.data)
                return error_origin(-ENOMEM);
        r = live_subscribe(call, backfill->id, &backfill->filter);
        if (r)
                return r;
        if (!args->workspace_dir.n || !args->has_backfill_limit)
                return events_answer(call, backfill->id);
        return workspace_target(call, args->workspace_dir, WORKSPACE_FOLDER, events_backfill,
                                events_backfill_lost, &backfill->carry);
}

int op_agentcompany_events_unsubscribe(Call *call, const AgentcompanyEventsUnsubscribeArgs *args) {
        JsonWriter *w;
        bool is_removed = call->client && live_unsubscribe(call->client, args->subscription_id);

        w = call_result(call);
        jw_begin_object(w);
        jw_field_bool(w, "removed", is_removed);
        jw_end_object(w);
        return 0;
}

int op_agentcompany_events_ack(Call *call, const AgentcompanyEventsAckArgs *args) {
        JsonWriter *w;

        if (!call->client || !live_ack(call->client, args->subscription_id, args->last_ack_ts_monotonic_ms))
                return call_fail(call, CALL_E_COMPANY, "Unknown subscription_id: " STR_FMT,
                                 STR_ARG(args->subscription_id));
        w = call_result(call);
        jw_begin_object(w);
        jw_field_bool(w, "ok", true);
        jw_end_object(w);
        return 0;
}

/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "base/time.h"
#include "collab/collab.h"
#include "gen/cccc-ops.h"

/*
 * A subscriber. Nothing in this daemon appends to a ledger yet, so a stream carries heartbeats only; events
 * come with the ledger.
 */
enum { HEARTBEAT_MS = 30000 };

typedef struct EventStream {
        Client *client;
        Timer heartbeat;
} EventStream;

static const char *const stream_kinds[] = {"chat.ack", "chat.message", "system.notify", "system.notify_ack"};

static void on_heartbeat(Timer *timer) {
        EventStream *stream = container_of(timer, EventStream, heartbeat);
        Conn *conn = stream->client->conn;
        JsonWriter w = JSON_WRITER(conn_out(conn));
        char ts[TIME_TEXT_MAX];

        time_format_us(loop_wall_us(timer->loop), ts);
        jw_begin_object(&w);
        jw_field_cstr(&w, "t", "heartbeat");
        jw_field_cstr(&w, "ts", ts);
        jw_end_object(&w);
        if (w.failed || conn_write(conn, STR("\n")) || timer_set(timer, HEARTBEAT_MS))
                conn_abort(conn, "out of memory");
}

static void on_closed(Client *client) {
        EventStream *stream = client->stream;

        timer_clear(&stream->heartbeat);
        free(stream);
}

static void begin(Call *call) {
        EventStream *stream = calloc(1, sizeof(*stream));

        if (!stream) {
                conn_abort(call->client->conn, "out of memory");
                return;
        }
        stream->client = call->client;
        timer_init(&stream->heartbeat, call->daemon->loop, on_heartbeat);
        client_stream(call->client, stream, on_closed);
        if (timer_set(&stream->heartbeat, HEARTBEAT_MS))
                conn_abort(call->client->conn, "out of memory");
}

static bool has_streamed_kind(const StrList *kinds) {
        for (size_t i = 0; i < kinds->n; i++)
                for (size_t k = 0; k < ARRAY_SIZE(stream_kinds); k++)
                        if (str_is(str_trim(kinds->items[i]), stream_kinds[k]))
                                return true;
        return false;
}

static int refuse_kinds(Call *call) {
        JsonWriter *w = call_details(call);

        jw_begin_object(w);
        jw_key(w, "supported");
        jw_begin_array(w);
        for (size_t i = 0; i < ARRAY_SIZE(stream_kinds); i++)
                jw_cstr(w, stream_kinds[i]);
        jw_end_array(w);
        jw_end_object(w);
        return call_fail(call, CALL_E_INVALID_KINDS, "none of the kinds can be streamed");
}

static int subscribe(Call *call, Group *group, _unused_ const void *args) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_cstr(w, "group_id", group->id);
        jw_end_object(w);
        call_after(call, begin);
        return 0;
}

int op_cccc_events_stream(Call *call, const CcccEventsStreamArgs *args) {
        if (!args->group_id.n)
                return call_fail(call, CALL_E_MISSING_GROUP_ID, "missing group_id");
        if (args->kinds.n && !has_streamed_kind(&args->kinds))
                return refuse_kinds(call);
        return collab_read(call, args->group_id, subscribe, args);
}

/* SPDX-License-Identifier: MIT */
#include "collab/stream.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/time.h"
#include "collab/collab.h"
#include "collab/inbox.h"
#include "collab/stream-internal.h"
#include "core/client.h"

const char *const stream_kinds[STREAM_N_KINDS] = {"chat.ack", "chat.message", "system.notify",
                                                  "system.notify_ack"};

unsigned stream_kind_bit(Str kind) {
        for (unsigned i = 0; i < STREAM_N_KINDS; i++)
                if (str_is(kind, stream_kinds[i]))
                        return 1U << i;
        return 0;
}

/* ---- telling --------------------------------------------------------------------------------- */

static void stream_give_up(EventStream *stream, const char *reason) {
        conn_abort(stream->client->conn, reason);
}

static void stream_on_heartbeat(Timer *timer) {
        EventStream *stream = container_of(timer, EventStream, heartbeat);
        int64_t quiet_ms = loop_now_ms(timer->loop) - stream->told_ms;
        Conn *conn = stream->client->conn;
        JsonWriter w = JSON_WRITER(conn_out(conn));
        char ts[TIME_TEXT_MAX];

        if (quiet_ms < STREAM_HEARTBEAT_MS) {
                if (timer_set(timer, STREAM_HEARTBEAT_MS - quiet_ms))
                        stream_give_up(stream, "out of memory");
                return;
        }
        time_format_us(loop_wall_us(timer->loop), ts);
        jw_begin_object(&w);
        jw_field_cstr(&w, "t", "heartbeat");
        jw_field_cstr(&w, "ts", ts);
        jw_end_object(&w);
        stream->told_ms = loop_now_ms(timer->loop);
        if (w.failed || conn_write(conn, STR("\n")) || timer_set(timer, STREAM_HEARTBEAT_MS))
                stream_give_up(stream, "out of memory");
}

bool event_stream_wants(const EventStream *stream, StreamLine *line) {
        if (!(stream->kinds & line->kind))
                return false;
        if (!stream->viewer)
                return true;
        if (!line->event &&
            json_parse(&line->arena, line->text.data, line->text.n, NULL, &line->event, NULL))
                return false;
        return inbox_shows(stream->group->doc, line->event, str_from(stream->viewer), false);
}

void event_stream_tell(EventStream *stream, Chunk *chunk) {
        Conn *conn = stream->client->conn;

        stream->told_ms = loop_now_ms(stream->heartbeat.loop);
        if (!chunk || conn_write_chunk(conn, chunk))
                stream_give_up(stream, "out of memory");
        else
                conn_flush_soon(conn);
}

Chunk *stream_line_chunk(StreamLine *line) {
        static const char head[] = "{\"t\":\"event\",\"event\":", tail[] = "}\n";
        Buf *text = &line->item;

        if (line->chunk)
                return line->chunk;
        text->n = 0;
        if (buf_append(text, head, sizeof(head) - 1) || buf_append_str(text, line->text) ||
            buf_append(text, tail, sizeof(tail) - 1))
                return NULL;
        line->chunk = chunk_new(buf_str(text));
        return line->chunk;
}

void stream_line_deinit(StreamLine *line) {
        chunk_unref(line->chunk);
        buf_deinit(&line->item);
        arena_deinit(&line->arena);
}

/* ---- clients that do not keep up ------------------------------------------------------------- */

/* Something was taken since the last look: another period. */
static void on_stall(Timer *timer) {
        EventStream *stream = container_of(timer, EventStream, stall);
        size_t n_pending = conn_pending(stream->client->conn);

        if (n_pending >= stream->n_stalled)
                stream_give_up(stream, "slow subscriber");
        else if (timer_set(timer, STREAM_STALL_MS))
                stream_give_up(stream, "out of memory");
        stream->n_stalled = n_pending;
}

bool event_stream_is_full(EventStream *stream) {
        return conn_pending(stream->client->conn) > STREAM_QUEUE;
}

void event_stream_block(EventStream *stream) {
        stream->is_blocked = true;
        stream->n_stalled = conn_pending(stream->client->conn);
        conn_want_drained(stream->client->conn);
        if (timer_set(&stream->stall, STREAM_STALL_MS))
                stream_give_up(stream, "out of memory");
}

static void stream_on_drained(Client *client) {
        EventStream *stream = client->stream;

        stream->is_blocked = false;
        timer_clear(&stream->stall);
        deferred_schedule(&stream->pull);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void free_stream(EventStream *stream) {
        group_unref(stream->group);
        free(stream->viewer);
        free(stream);
}

/* A read that is under way ends by itself. */
static void stream_on_closed(Client *client) {
        EventStream *stream = client->stream;

        timer_clear(&stream->heartbeat);
        timer_clear(&stream->stall);
        deferred_cancel(&stream->pull);
        stream->client = NULL;
        streams_remove(stream);
        if (!stream->is_reading)
                free_stream(stream);
}

void event_stream_read_ended(EventStream *stream) {
        stream->is_reading = false;
        ledger_read_deinit(&stream->read);
        if (!stream->client)
                free_stream(stream);
}

static EventStream *new_stream(Client *client, Group *group, const EventStreamOptions *options) {
        EventStream *stream = calloc(1, sizeof(*stream));
        Loop *loop = group->collab->daemon->loop;

        if (!stream)
                return NULL;
        stream->viewer = options->viewer.n ? strndup(options->viewer.data, options->viewer.n) : NULL;
        if (options->viewer.n && !stream->viewer) {
                free(stream);
                return NULL;
        }
        stream->client = client;
        stream->group = group_ref(group);
        stream->kinds = options->kinds ? options->kinds : (1U << STREAM_N_KINDS) - 1;
        if (stream->viewer)
                stream->kinds &=
                        stream_kind_bit(STR("chat.message")) | stream_kind_bit(STR("system.notify"));
        stream->position = options->position;
        stream->told_ms = loop_now_ms(loop);
        timer_init(&stream->heartbeat, loop, stream_on_heartbeat);
        timer_init(&stream->stall, loop, on_stall);
        deferred_init(&stream->pull, loop, event_stream_pull);
        return stream;
}

void event_stream_start(Client *client, Group *group, const EventStreamOptions *options) {
        EventStream *stream = new_stream(client, group, options);

        if (!stream) {
                conn_abort(client->conn, "out of memory");
                return;
        }
        if (streams_add(stream)) {
                free_stream(stream);
                conn_abort(client->conn, "out of memory");
                return;
        }
        client_stream(client, stream, stream_on_closed);
        client->stream_drained = stream_on_drained;
        deferred_schedule(&stream->pull);
        if (timer_set(&stream->heartbeat, STREAM_HEARTBEAT_MS))
                stream_give_up(stream, "out of memory");
}

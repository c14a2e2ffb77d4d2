/* SPDX-License-Identifier: MIT */
/*
 * Stream mode: after attach, shell or logs a connection carries one terminal in tagged frames: 4 bytes of
 * length, a tag (0: bytes of the terminal, 1: JSON), the payload. What happens to who does not keep up is in
 * sessions/pty-stream.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "core/daemon.h"
#include "dialect/coop/coop.h"
#include "sessions/pty-stream.h"

enum {
        TAG_DATA = 0,
        TAG_CONTROL = 1,
        STREAM_HEAD = 5,                  /* length and tag */
        STREAM_FRAME_MAX = (1 << 20) - 1, /* bytes of output or of a screen in one frame */
        STREAM_CONTROL_VALUES = 256,      /* in a control message */
};

/* ---- to the client --------------------------------------------------------------------------- */

/* Output or a screen for all streams at once; a large screen in many colours is more than one frame. */
static Chunk *coop_stream_frame(Str bytes) {
        size_t n_frames = (bytes.n + STREAM_FRAME_MAX - 1) / STREAM_FRAME_MAX;
        Chunk *chunk = malloc(sizeof(*chunk) + n_frames * STREAM_HEAD + bytes.n);
        char *at;

        if (!chunk)
                return NULL;
        chunk->n_refs = 1;
        chunk->n = n_frames * STREAM_HEAD + bytes.n;
        at = chunk->data;
        while (bytes.n) {
                size_t n = MIN(bytes.n, (size_t)STREAM_FRAME_MAX);

                framing_put_length(at, n + 1);
                at[STREAM_HEAD - 1] = TAG_DATA;
                memcpy(at + STREAM_HEAD, bytes.data, n);
                at += STREAM_HEAD + n;
                bytes = (Str){bytes.data + n, bytes.n - n};
        }
        return chunk;
}

static void coop_stream_put_control(Conn *conn, Buf *out, Str text) {
        char head[STREAM_HEAD];

        framing_put_length(head, text.n + 1);
        head[STREAM_HEAD - 1] = TAG_CONTROL;
        if (buf_append(out, head, sizeof(head)) || buf_append_str(out, text))
                conn_abort(conn, "out of memory");
        conn_flush_soon(conn);
}

static void coop_stream_put_event(PtyStream *stream, Buf *out, PtyEvent event, int64_t value) {
        static const struct {
                const char *name, *key;
        } events[] = {[PTY_EVENT_LAG] = {"lag", "dropped"},
                      [PTY_EVENT_EXITED] = {"pty_exited", "code"},
                      [PTY_EVENT_RESTARTING] = {"pty_restarting", "delay_ms"},
                      [PTY_EVENT_WRITER] = {"writer", NULL},
                      [PTY_EVENT_DETACHED] = {"detached", NULL}};
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        if (event >= ARRAY_SIZE(events))
                return; /* of those who share the size */
        jw_begin_object(&w);
        jw_field_cstr(&w, "event", events[event].name);
        if (events[event].key)
                jw_field_int(&w, events[event].key, value);
        jw_end_object(&w);
        coop_stream_put_control(stream->client->conn, out, buf_str(&text));
}

static void coop_stream_end(PtyStream *stream) {
        conn_finish(stream->client->conn, "the terminal has ended");
}

static const PtyStreamKind coop_stream_kind = {
        .frame = coop_stream_frame, .put_event = coop_stream_put_event, .end = coop_stream_end};

/* ---- from the client ------------------------------------------------------------------------- */

/* As strict as in the command attach. */
static bool read_side(const Json *side, uint64_t *ret) {
        return json_is_integer(side) && json_uint64(side, ret) && *ret <= UINT16_MAX;
}

static void coop_stream_resize(PtyStream *stream, const Json *message) {
        uint64_t cols = 0, rows = 0;

        if (read_side(json_get(message, "cols"), &cols) && read_side(json_get(message, "rows"), &rows))
                pty_stream_resize(stream, (unsigned)cols, (unsigned)rows);
}

/* Bad, unknown and misplaced messages are ignored, as the contract says; also those with more values than
 * any that is known has, which would take long to read. */
static void coop_stream_control(Client *client, Str text) {
        PtyStream *stream = client->state;
        Json *message = NULL;
        Str cmd;

        if (json_parse(&client->daemon->envelope, text.data, text.n,
                       &(JsonLimits){.n_values = STREAM_CONTROL_VALUES}, &message, NULL))
                return;
        cmd = json_str(json_get(message, "cmd"));
        if (str_is(cmd, "resize"))
                coop_stream_resize(stream, message);
        if (!str_is(cmd, "detach"))
                return;
        pty_stream_leave(stream); /* its seat is free at once, whatever it still has to read */
        coop_stream_put_control(client->conn, conn_out(client->conn),
                                STR("{\"ok\":true,\"event\":\"detached\"}"));
        conn_finish(client->conn, "detached");
}

static void coop_stream_on_frame(Client *client, Str frame) {
        if (!frame.n)
                return;
        if (frame.data[0] == TAG_DATA)
                pty_stream_type(client->state, (Str){frame.data + 1, frame.n - 1});
        else if (frame.data[0] == TAG_CONTROL)
                coop_stream_control(client, (Str){frame.data + 1, frame.n - 1});
}

static void coop_stream_on_eof(Client *client, _unused_ Str rest) {
        conn_finish(client->conn, "end of stream");
}

static void coop_stream_on_oversize(Client *client) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        jw_begin_object(&w);
        jw_field_bool(&w, "ok", false);
        jw_field_cstr(&w, "error", coop_error_code(CALL_E_TOO_LARGE));
        jw_field_cstr(&w, "message", "frame over 1048576 bytes");
        jw_end_object(&w);
        coop_stream_put_control(client->conn, conn_out(client->conn), buf_str(&text));
        conn_finish(client->conn, "frame too large");
}

static void coop_stream_on_drained(Client *client) {
        pty_stream_catch_up(client->state);
}

static void coop_stream_on_leaving(Client *client) {
        pty_stream_leaving(client->state);
}

static void coop_stream_on_close(Client *client) {
        pty_stream_deinit(client->state);
        free(client->state);
        client->state = NULL;
}

static const Dialect coop_stream_dialect = {
        .name = "coop",
        .framing = {.kind = FRAMING_LENGTH, .n_max = COOP_MESSAGE_MAX},
        .frame = coop_stream_on_frame,
        .eof = coop_stream_on_eof,
        .oversize = coop_stream_on_oversize,
        .close = coop_stream_on_close,
        .drained = coop_stream_on_drained,
        .leaving = coop_stream_on_leaving,
};

/* ---- the change ------------------------------------------------------------------------------ */

void coop_stream(Client *client, const StreamTarget *target) {
        PtyStream *stream = calloc(1, sizeof(*stream));

        if (!stream) {
                conn_abort(client->conn, "out of memory");
                return;
        }
        client->state = stream;
        client_switch(client, &coop_stream_dialect, client->endpoint, STR_NULL);
        pty_stream_begin(stream, client, &coop_stream_kind, container_of(target, PtyTarget, stream));
}

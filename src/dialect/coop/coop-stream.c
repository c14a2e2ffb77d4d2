/* SPDX-License-Identifier: MIT */
/*
 * Stream mode: after attach, shell or logs a connection carries one terminal in tagged frames: 4 bytes of
 * length, a tag (0: bytes of the terminal, 1: JSON), the payload. What happens to who does not keep up is in
 * sessions/pty-stream.h. On a data channel of a tunnel each frame is a message, and coop's input filter holds.
 */
#include <errno.h>
#include <stdlib.h>

#include "core/daemon.h"
#include "dialect/coop/coop.h"
#include "sessions/pty-input.h"

enum {
        TAG_DATA = 0,
        TAG_CONTROL = 1,
        STREAM_HEAD = 5,                  /* length and tag */
        STREAM_FRAME_MAX = (1 << 20) - 1, /* bytes of output or of a screen in one frame */
        STREAM_MESSAGE_MAX = 64 << 10,    /* … on a data channel */
        STREAM_CONTROL_VALUES = 256,      /* in a control message */
};

typedef struct CoopStream {
        PtyStream stream;
        PtyInput input; /* on a data channel */
} CoopStream;

/* ---- to the client --------------------------------------------------------------------------- */

/* The head of one frame, on a data channel behind that of its message; returns how long. */
static size_t coop_stream_head(char *at, bool is_message, char tag, size_t n) {
        size_t n_before = is_message ? FRAMING_MESSAGE_HEADER : 0;

        if (is_message)
                framing_put_message(at, true, STREAM_HEAD + n);
        framing_put_length(at + n_before, n + 1);
        at[n_before + STREAM_HEAD - 1] = tag;
        return n_before + STREAM_HEAD;
}

/* Output or a screen for all streams at once; a large screen in many colours is more than one frame. */
static Chunk *coop_stream_pack(Str bytes, size_t n_max, bool is_message) {
        size_t n_frames = (bytes.n + n_max - 1) / n_max;
        size_t n_head = STREAM_HEAD + (is_message ? (size_t)FRAMING_MESSAGE_HEADER : 0);
        Chunk *chunk = malloc(sizeof(*chunk) + n_frames * n_head + bytes.n);
        char *at;

        if (!chunk)
                return NULL;
        chunk->n_refs = 1;
        chunk->n = n_frames * n_head + bytes.n;
        at = chunk->data;
        while (bytes.n) {
                size_t n = MIN(bytes.n, n_max);

                at += coop_stream_head(at, is_message, TAG_DATA, n);
                memcpy(at, bytes.data, n);
                at += n;
                bytes = (Str){bytes.data + n, bytes.n - n};
        }
        return chunk;
}

static Chunk *coop_stream_frame(Str bytes) {
        return coop_stream_pack(bytes, STREAM_FRAME_MAX, false);
}

static Chunk *coop_stream_message(Str bytes) {
        return coop_stream_pack(bytes, STREAM_MESSAGE_MAX, true);
}

static void coop_stream_put_control(Client *client, Buf *out, Str text) {
        char head[FRAMING_MESSAGE_HEADER + STREAM_HEAD];
        size_t n = coop_stream_head(head, client->channel, TAG_CONTROL, text.n);

        if (buf_append(out, head, n) || buf_append_str(out, text))
                conn_abort(client->conn, "out of memory");
        conn_flush_soon(client->conn);
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
        coop_stream_put_control(stream->client, out, buf_str(&text));
}

static void coop_stream_end(PtyStream *stream) {
        conn_finish(stream->client->conn, "the terminal has ended");
}

static const PtyStreamKind coop_stream_kind = {
        .frame = coop_stream_frame, .put_event = coop_stream_put_event, .end = coop_stream_end};
static const PtyStreamKind coop_stream_channel_kind = {.is_web = true,
                                                       .frame = coop_stream_message,
                                                       .put_event = coop_stream_put_event,
                                                       .end = coop_stream_end};

/* What the filter has to say, as output. */
static void coop_stream_warn(PtyStream *stream, Str text) {
        Chunk *chunk = coop_stream_message(text);

        if (!chunk || conn_write(stream->client->conn, (Str){chunk->data, chunk->n}))
                conn_abort(stream->client->conn, "out of memory");
        chunk_unref(chunk);
        conn_flush_soon(stream->client->conn);
}

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
        CoopStream *self = client->state;
        PtyStream *stream = &self->stream;
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
        coop_stream_put_control(client, conn_out(client->conn), STR("{\"ok\":true,\"event\":\"detached\"}"));
        conn_finish(client->conn, "detached");
}

static void coop_stream_type(CoopStream *self, Str bytes) {
        if (self->input.stream)
                (void)pty_input_push(&self->input, bytes);
        else
                pty_stream_type(&self->stream, bytes);
}

static void coop_stream_on_tagged(Client *client, Str frame) {
        if (!frame.n)
                return;
        if (frame.data[0] == TAG_DATA)
                coop_stream_type(client->state, (Str){frame.data + 1, frame.n - 1});
        else if (frame.data[0] == TAG_CONTROL)
                coop_stream_control(client, (Str){frame.data + 1, frame.n - 1});
}

/* A message of a data channel: frames with their lengths, normally one. What is none is ignored, as all that is wrong. */
static void coop_stream_on_frame(Client *client, Str frame) {
        static const Framing lengths = {.kind = FRAMING_LENGTH, .n_max = COOP_MESSAGE_MAX};
        size_t n_scanned = 0, n;
        Str one;

        if (!client->channel) {
                coop_stream_on_tagged(client, frame);
                return;
        }
        while (!conn_is_closing(client->conn) && !framing_next(&lengths, frame, &n_scanned, &one, &n)) {
                coop_stream_on_tagged(client, one);
                frame = (Str){frame.data + n, frame.n - n};
        }
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
        coop_stream_put_control(client, conn_out(client->conn), buf_str(&text));
        conn_finish(client->conn, "frame too large");
}

static void coop_stream_on_drained(Client *client) {
        CoopStream *self = client->state;

        pty_stream_catch_up(&self->stream);
}

static void coop_stream_on_leaving(Client *client) {
        CoopStream *self = client->state;

        pty_stream_leaving(&self->stream);
}

static void coop_stream_on_close(Client *client) {
        CoopStream *self = client->state;

        pty_input_deinit(&self->input);
        pty_stream_deinit(&self->stream);
        free(self);
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

static const PtyStreamKind *coop_stream_begin_channel(CoopStream *self, Client *client,
                                                      const PtyTarget *asked) {
        self->stream.client = client;
        if (pty_input_init(&self->input, &self->stream, asked, true, coop_stream_warn))
                conn_abort(client->conn, "out of memory");
        return &coop_stream_channel_kind;
}

void coop_stream(Client *client, const StreamTarget *target) {
        const PtyTarget *asked = container_of(target, PtyTarget, stream);
        const PtyStreamKind *kind = &coop_stream_kind;
        CoopStream *self;

        if (client->channel && client->channel->stream) {
                client->channel->stream(client, target);
                return;
        }
        self = calloc(1, sizeof(*self));
        if (!self) {
                conn_abort(client->conn, "out of memory");
                return;
        }
        client->state = self;
        client_switch(client, &coop_stream_dialect, client->endpoint, STR_NULL);
        if (client->channel)
                kind = coop_stream_begin_channel(self, client, asked);
        pty_stream_begin(&self->stream, client, kind, asked);
}

/* SPDX-License-Identifier: MIT */
#include "cli/term/stream.h"

#include <stdio.h>

#include "base/error.h"
#include "base/macro.h"
#include "wire/framing.h"

enum { LENGTH = 4, PIECE_MAX = 64 * 1024 };

/* ---- from the daemon ------------------------------------------------------------------------- */

void stream_deinit(StreamReader *reader) {
        buf_deinit(&reader->control);
}

static size_t frame_length(const StreamReader *reader) {
        const unsigned char *h = reader->head;

        return (size_t)h[0] << 24 | (size_t)h[1] << 16 | (size_t)h[2] << 8 | h[3];
}

static Str stream_take(Str *input, size_t n) {
        Str taken = {input->data, MIN(n, input->n)};

        *input = (Str){input->data + taken.n, input->n - taken.n};
        return taken;
}

/* Length and tag. Afterwards n_head is 5, and n_left counts the payload. */
static int read_head(StreamReader *reader, Str *input) {
        while (input->n && reader->n_head <= LENGTH) {
                reader->head[reader->n_head++] = (unsigned char)stream_take(input, 1).data[0];
                if (reader->n_head != LENGTH)
                        continue;
                reader->n_left = frame_length(reader);
                if (reader->n_left > STREAM_FRAME_MAX)
                        return STREAM_E_GARBLED;
                if (!reader->n_left)
                        reader->n_head = 0; /* an empty frame has no tag either */
        }
        if (reader->n_head <= LENGTH)
                return STREAM_E_PARTIAL;
        reader->n_left--;
        reader->n_data += reader->head[LENGTH] == STREAM_DATA;
        return 0;
}

static int read_control(StreamReader *reader, Str bytes, StreamPiece *ret, bool *ret_has_piece) {
        int r = buf_append_str(&reader->control, bytes);

        if (r)
                return error_trace(r);
        if (reader->n_left)
                return 0;
        *ret = (StreamPiece){.is_control = true, .bytes = buf_str(&reader->control)};
        *ret_has_piece = reader->is_taken = true;
        return 0;
}

/* What is there of the payload. */
static int read_payload(StreamReader *reader, Str *input, StreamPiece *ret, bool *ret_has_piece) {
        unsigned char tag = reader->head[LENGTH];
        Str bytes = stream_take(input, reader->n_left);

        reader->n_left -= bytes.n;
        if (!reader->n_left)
                reader->n_head = 0;
        if (tag == STREAM_CONTROL)
                return error_trace(read_control(reader, bytes, ret, ret_has_piece));
        if (tag == STREAM_DATA && bytes.n) {
                *ret = (StreamPiece){.bytes = bytes, .index = reader->n_data - 1};
                *ret_has_piece = true;
        }
        return 0;
}

int stream_next(StreamReader *reader, Str *input, StreamPiece *ret) {
        bool has_piece = false;
        int r;

        if (reader->is_taken)
                reader->control.n = 0;
        reader->is_taken = false;
        while (!has_piece) {
                if (reader->n_head <= LENGTH) {
                        r = read_head(reader, input);
                        if (r)
                                return r;
                } else if (!input->n && reader->n_left)
                        return STREAM_E_PARTIAL;
                r = read_payload(reader, input, ret, &has_piece);
                if (r)
                        return error_trace(r);
        }
        return 0;
}

/* ---- events ---------------------------------------------------------------------------------- */

StreamEvent stream_event(Arena *arena, Str control) {
        static const struct {
                const char *name, *value;
                StreamEventKind kind;
        } known[] = {{"pty_exited", "code", STREAM_EXITED},
                     {"pty_restarting", "delay_ms", STREAM_RESTARTING},
                     {"detached", "", STREAM_DETACHED},
                     {"lag", "dropped", STREAM_LAG}};
        StreamEvent event = {.kind = STREAM_OTHER};
        bool is_fine = true;
        Json *json = NULL;
        Str name;

        if (json_parse(arena, control.data, control.n, NULL, &json, NULL))
                return event;
        name = json_str(json_get(json, "event"));
        for (size_t i = 0; i < ARRAY_SIZE(known); i++)
                if (str_is(name, known[i].name)) {
                        event.kind = known[i].kind;
                        (void)json_int64(json_get(json, known[i].value), &event.value);
                }
        if (json_bool(json_get(json, "ok"), &is_fine) && !is_fine)
                event = (StreamEvent){STREAM_REFUSED, 0, json_str(json_get(json, "message"))};
        return event;
}

/* ---- to the daemon --------------------------------------------------------------------------- */

static int stream_put_frame(Buf *out, char tag, Str payload) {
        char head[LENGTH + 1];
        int r = buf_reserve(out, sizeof(head) + payload.n); /* a frame is there as a whole or not at all */

        if (r)
                return error_trace(r);
        framing_put_length(head, payload.n + 1);
        head[LENGTH] = tag;
        (void)buf_append(out, head, sizeof(head));
        (void)buf_append_str(out, payload);
        return 0;
}

int stream_put_data(Buf *out, Str bytes) {
        while (bytes.n) {
                int r = stream_put_frame(out, STREAM_DATA, stream_take(&bytes, PIECE_MAX));

                if (r)
                        return error_trace(r);
        }
        return 0;
}

static int stream_put_control(Buf *out, Str json) {
        return error_trace(stream_put_frame(out, STREAM_CONTROL, json));
}

int stream_put_resize(Buf *out, unsigned cols, unsigned rows) {
        char text[80];
        int n = snprintf(text, sizeof(text), "{\"cmd\":\"resize\",\"cols\":%u,\"rows\":%u}", cols, rows);

        return error_trace(stream_put_control(out, (Str){text, (size_t)n}));
}

int stream_put_detach(Buf *out) {
        return error_trace(stream_put_control(out, STR("{\"cmd\":\"detach\"}")));
}

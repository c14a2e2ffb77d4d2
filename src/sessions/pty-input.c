/* SPDX-License-Identifier: MIT */
#include "sessions/pty-input.h"

#include "core/daemon.h"

static void pty_input_pass(PtyInput *input) {
        _cleanup_(buf_deinit) Buf pass = BUF_NULL;

        if (input_filter_flush(input->filter, &pass))
                conn_abort(input->stream->client->conn, "out of memory");
        else if (pass.n)
                pty_stream_type(input->stream, buf_str(&pass));
}

static void pty_input_on_hold(Timer *timer) {
        pty_input_pass(container_of(timer, PtyInput, hold));
}

int pty_input_init(PtyInput *input, PtyStream *stream, const PtyTarget *target, bool is_filtered,
                   void (*say)(PtyStream *stream, Str text)) {
        *input = (PtyInput){.stream = stream, .say = say};
        timer_init(&input->hold, stream->client->daemon->loop, pty_input_on_hold);
        if (!is_filtered || !target->pty || target->pty->id || target->stream.is_read_only)
                return 0;
        return input_filter_new(&input->filter, &target->pty->session->config);
}

void pty_input_deinit(PtyInput *input) {
        if (!input->stream)
                return;
        timer_clear(&input->hold);
        if (input->filter)
                pty_input_pass(input);
        input->filter = input_filter_free(input->filter);
        input->stream = NULL;
}

bool pty_input_push(PtyInput *input, Str message) {
        Client *client = input->stream->client;
        _cleanup_(buf_deinit) Buf pass = BUF_NULL, say = BUF_NULL;

        if (!input->filter) {
                pty_stream_type(input->stream, message);
                return true;
        }
        if (input_filter_push(input->filter, loop_now_ms(client->daemon->loop), message, &pass, &say)) {
                conn_abort(client->conn, "out of memory");
                return false;
        }
        if (pass.n)
                pty_stream_type(input->stream, buf_str(&pass));
        if (say.n)
                input->say(input->stream, buf_str(&say));
        timer_clear(&input->hold);
        if (input_filter_holds(input->filter) && timer_set(&input->hold, INPUT_FILTER_HOLD_MS))
                conn_abort(client->conn, "out of memory");
        return pass.n > 0;
}

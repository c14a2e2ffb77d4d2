/* SPDX-License-Identifier: MIT */
/* What hosted processes are given: one queue for each, in order of arrival, never cut. */
#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "core/host/host-internal.h"

void hosted_watch_io(Hosted *hosted) {
        bool is_one = hosted->fd_in == hosted->fd_out;

        if (hosted->watch_out && !(hosted->reopen.loop && timer_is_set(&hosted->reopen)))
                loop_fd_watch(hosted->watch_out, (hosted_has_room(hosted, false) ? LOOP_READ : 0) |
                                                         (is_one && host_n_input(hosted) ? LOOP_WRITE : 0));
        if (hosted->watch_err)
                loop_fd_watch(hosted->watch_err, hosted_has_room(hosted, true) ? LOOP_READ : 0);
        if (!is_one && hosted->watch_in)
                loop_fd_watch(hosted->watch_in, host_n_input(hosted) ? LOOP_WRITE : 0);
}

void hosted_end_input(Hosted *hosted) {
        if (!hosted->is_input_closed || host_n_input(hosted) || hosted->fd_in < 0)
                return;
        hosted->watch_in = loop_fd_close(hosted->watch_in);
        hosted->fd_in = close_fd(hosted->fd_in);
        hosted_tell(hosted, SHIM_CLOSE_INPUT, 0);
}

/* A terminal takes some bytes at a time. What is left is moved to the front when it is less than what was taken, so that
 * long pastes cost what they are long. */
static void host_input_taken(Hosted *hosted, size_t n) {
        hosted->n_input_taken = n;
        if (!host_n_input(hosted))
                buf_deinit(&hosted->input);
        else if (host_n_input(hosted) < n)
                buf_consume(&hosted->input, n);
        else
                return;
        hosted->n_input_taken = 0;
}

void hosted_flush_input(Hosted *hosted) {
        bool was_full = host_is_full(hosted);
        size_t at = hosted->n_input_taken;

        while (hosted->fd_in >= 0 && at < hosted->input.n) {
                ssize_t n = write(hosted->fd_in, hosted->input.data + at, hosted->input.n - at);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0 && errno != EAGAIN)
                        at = hosted->input.n; /* nobody will ever read it */
                if (n <= 0)
                        break;
                at += (size_t)n;
        }
        host_input_taken(hosted, at);
        hosted_end_input(hosted);
        hosted_watch_io(hosted);
        if (was_full && !host_is_full(hosted))
                for (Viewer *viewer = LIST_FIRST(&hosted->viewers), *next; viewer; viewer = next) {
                        next = LIST_NEXT(viewer, link);
                        if (viewer->room)
                                viewer->room(viewer);
                }
}

int hosted_put_input(Hosted *hosted, Str bytes) {
        int r;

        if (hosted->state != HOSTED_RUNNING || (hosted->fd_in < 0 && !hosted->awaits_io) ||
            hosted->is_input_closed)
                return HOST_E_ENDED;
        r = buf_append(&hosted->input, bytes.data, bytes.n);
        if (r)
                return error_trace(r);
        hosted_flush_input(hosted);
        return host_is_full(hosted) ? HOST_E_FULL : 0;
}

int host_feed(Hosted *hosted, Str bytes) {
        return hosted_put_input(hosted, bytes);
}

int host_write(Hosted *hosted, Str bytes) {
        int r = hosted_put_input(hosted, bytes);

        if (!r || r == HOST_E_FULL) {
                hosted->input_us = loop_wall_us(hosted->host->daemon->loop);
                hosted_tell_seated(hosted);
        }
        return r;
}

int host_close_input(Hosted *hosted) {
        bool is_running = hosted->state == HOSTED_RUNNING;

        if (!is_running && hosted->state != HOSTED_STARTING)
                return HOST_E_ENDED;
        if (hosted->kind != SHIM_PIPES || (is_running && !hosted->record->level))
                return error_origin(-ENOTSUP);
        hosted->is_input_closed = true; /* an input that is not there yet: hosted_open_io() comes here */
        hosted_end_input(hosted);
        return 0;
}

bool host_take_back(Hosted *hosted, size_t n) {
        if (!n || host_n_input(hosted) != n)
                return false;
        host_input_taken(hosted, hosted->input.n);
        hosted_watch_io(hosted);
        return true;
}

bool host_is_full(const Hosted *hosted) {
        return host_n_input(hosted) > HOST_INPUT_MAX;
}

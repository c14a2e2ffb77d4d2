/* SPDX-License-Identifier: MIT */
/*
 * What hosted processes print: one read into the ring, then one shared chunk for all viewers; a viewer's
 * slowness is its own affair.
 */
#define LOG_MODULE "core/host"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "core/host/host-internal.h"
#include "core/recording/recording.h"

/* ---- output ---------------------------------------------------------------------------------- */

/* A kind without a place of its own takes the last one. */
Chunk *output_framed(HostOutput *output, HostFrame frame) {
        size_t i = 0;

        while (i < OUTPUT_KINDS - 1 && output->made[i].chunk && output->made[i].frame != frame)
                i++;
        if (output->made[i].chunk && output->made[i].frame == frame)
                return output->made[i].chunk;
        chunk_unref(output->made[i].chunk);
        output->made[i].frame = frame;
        return output->made[i].chunk = frame(output->bytes);
}

void output_deinit(HostOutput *output) {
        for (size_t i = 0; i < OUTPUT_KINDS; i++)
                chunk_unref(output->made[i].chunk);
}

static int host_io_read(const Hosted *hosted, Ring *ring, int fd, size_t *ret_n) {
        return hosted->is_lossless ? ring_read_pipe(ring, fd, ret_n) : ring_read(ring, fd, ret_n);
}

static void host_io_tell(Hosted *hosted) {
        const HostWatch *watch = hosted->host->watch;

        if (watch && watch->printed && hosted->kind == SHIM_PIPES)
                watch->printed(hosted, hosted->host->watch_user);
}

static void host_io_show(Hosted *hosted, bool is_stderr, bool may_answer) {
        Ring *ring = is_stderr ? &hosted->err : &hosted->out;
        uint64_t *shown = is_stderr ? &hosted->shown_err : &hosted->shown_out;
        HostOutput output = {.bytes = ring_span(ring, *shown), .is_stderr = is_stderr};

        *shown = ring_end(ring);
        if (!output.bytes.n)
                return;
        hosted->output_us = loop_wall_us(hosted->host->daemon->loop);
        if (!is_stderr) {
                host_io_tell(hosted);
                hosted_follow(hosted, output.bytes, may_answer);
                host_title_look(hosted);
        }
        if (hosted->recording && !is_stderr)
                recording_poke(hosted->recording);
        for (Viewer *viewer = LIST_FIRST(&hosted->viewers), *next; viewer; viewer = next) {
                next = LIST_NEXT(viewer, link);
                viewer->output(viewer, &output);
        }
        output_deinit(&output);
}

/* Somebody has cut the file. What was in it is lost; the process goes on. */
static void mend_ring(Hosted *hosted, bool is_stderr) {
        _cleanup_(freep) char *path = path_join(hosted->dir, is_stderr ? SHIM_ERR : SHIM_OUT);

        log_warning(host_log(hosted->host), hosted->id, "its output file was damaged, and is made anew");
        if (path)
                ring_mend(is_stderr ? &hosted->err : &hosted->out, path);
}

/* Returns false when the stream has ended. Without room nothing is read. A short read is the last of its turn: the kernel would make us
 * wait for the end of its own work on the terminal to say that there is nothing more, and the viewers are
 * waiting. */
static bool host_io_read_some(Hosted *hosted, bool is_stderr) {
        Ring *ring = is_stderr ? &hosted->err : &hosted->out;
        int fd = is_stderr ? hosted->fd_err : hosted->fd_out;
        size_t n_all = 0, n = 0;
        int r = 0;

        if (!hosted_has_room(hosted, is_stderr))
                return true;
        do {
                r = host_io_read(hosted, ring, fd, &n);
                n_all += n;
        } while (n >= HOST_SHORT_READ && n_all < HOST_TURN_BYTES && hosted_has_room(hosted, is_stderr));
        if (ring_is_broken(ring))
                mend_ring(hosted, is_stderr);
        host_io_show(hosted, is_stderr, true);
        if (hosted->is_lossless)
                hosted_watch_io(hosted);
        return r == -EAGAIN || r == -EINTR || (r == 0 && n > 0);
}

static void end_stream(Hosted *hosted, bool is_stderr) {
        if (is_stderr) {
                hosted->watch_err = loop_fd_close(hosted->watch_err);
                hosted->fd_err = close_fd(hosted->fd_err);
        } else {
                hosted->watch_out = loop_fd_close(hosted->watch_out);
                if (hosted->fd_in == hosted->fd_out)
                        hosted->fd_in = -1;
                hosted->fd_out = close_fd(hosted->fd_out);
        }
        deferred_schedule(&hosted->settle);
        for (Viewer *viewer = LIST_FIRST(&hosted->viewers), *next; viewer; viewer = next) {
                next = LIST_NEXT(viewer, link);
                if (viewer->closed)
                        viewer->closed(viewer);
        }
}

bool hosted_output_is_over(const Hosted *hosted) {
        return hosted->fd_out < 0 && hosted->fd_err < 0;
}

/* No pipe or terminal holds HOST_REST_MAX: who still writes then is not of the tree, nor waited for; but nobody
 * says so of a lossless one. False: there may be more. */
static bool read_rest_of(Hosted *hosted, bool is_stderr) {
        const Ring *ring = is_stderr ? &hosted->err : &hosted->out;
        const int *fd = is_stderr ? &hosted->fd_err : &hosted->fd_out;
        uint64_t n = 1, left = HOST_REST_MAX;

        while (*fd >= 0 && n && left && hosted_has_room(hosted, is_stderr)) {
                uint64_t before = ring_end(ring);
                if (!host_io_read_some(hosted, is_stderr))
                        end_stream(hosted, is_stderr);
                n = ring_end(ring) - before;
                left -= MIN(left, n);
        }
        return *fd < 0 || !n;
}

bool hosted_read_rest(Hosted *hosted) {
        bool is_all;

        if (hosted->reopen.loop)
                timer_clear(&hosted->reopen);
        is_all = read_rest_of(hosted, false);
        is_all = read_rest_of(hosted, true) && is_all;
        if (is_all || !hosted->is_lossless || hosted->is_forgotten)
                return true;
        if (hosted_has_room(hosted, false) && hosted_has_room(hosted, true))
                deferred_schedule(&hosted->settle); /* else hosted_keep() does it */
        return false;
}

void host_put_past(Hosted *hosted, Str bytes) {
        ring_append(&hosted->out, bytes);
        hosted->shown_out = ring_end(&hosted->out);
        if (hosted->recording)
                recording_skip(hosted->recording, hosted->shown_out);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

/* A terminal that nobody has open is over only when the process is, too: it may open it again. */
static void read_out(Hosted *hosted) {
        if (host_io_read_some(hosted, false))
                return;
        if (hosted->kind == SHIM_PTY && !hosted->has_exited && !timer_set(&hosted->reopen, HOST_REOPEN_MS))
                loop_fd_watch(hosted->watch_out, 0);
        else
                end_stream(hosted, false);
}

static void on_reopen(Timer *timer) {
        Hosted *hosted = container_of(timer, Hosted, reopen);

        if (hosted->watch_out)
                hosted_watch_io(hosted);
}

static void on_out(void *user, unsigned events) {
        Hosted *hosted = user;

        if (events & LOOP_WRITE && hosted->fd_in == hosted->fd_out)
                hosted_flush_input(hosted);
        if (events & LOOP_READ && hosted->fd_out >= 0)
                read_out(hosted);
}

static void on_err(void *user, _unused_ unsigned events) {
        Hosted *hosted = user;

        if (!host_io_read_some(hosted, true))
                end_stream(hosted, true);
}

static void on_in(void *user, _unused_ unsigned events) {
        hosted_flush_input(user);
}

static int host_io_open_watch(Hosted *hosted, int fd, LoopFdFn fn, LoopFd **ret, unsigned events) {
        int r = loop_fd_open(hosted->host->daemon->loop, fd, fn, hosted, ret);

        if (!r)
                loop_fd_watch(*ret, events);
        return error_trace(r);
}

void hosted_take_rings(Hosted *hosted) {
        ring_recover(&hosted->out);
        if (hosted->err.header)
                ring_recover(&hosted->err);
}

void hosted_show_missed(Hosted *hosted) {
        hosted->awaits_io = false;
        host_io_show(hosted, false, false); /* who asked something then has stopped waiting for the answer */
        if (hosted->err.header)
                host_io_show(hosted, true, false);
}

/* What happened between an adoption and the arrival of the descriptors: output that the shim still read,
 * input and a size that could not be passed on yet. */
static void host_io_catch_up(Hosted *hosted) {
        hosted_show_missed(hosted);
        if (hosted->cols || hosted->rows)
                host_resize(hosted, hosted->cols, hosted->rows);
        hosted_flush_input(hosted);
}

/* A stream that ended while no daemon was there does not come back. */
static void place(Hosted *hosted, const int *fds, int n_fds, unsigned which) {
        int *slots[] = {&hosted->fd_in, &hosted->fd_out, &hosted->fd_err};

        for (int i = 0, k = 0; i < 3 && k < n_fds; i++)
                if (which & 1u << i)
                        *slots[i] = fds[k++];
        if (hosted->kind == SHIM_PTY)
                hosted->fd_out = hosted->fd_in;
}

/* /dev/null cannot be waited for, and need not be: it takes everything at once. */
static int open_input(Hosted *hosted) {
        int r = hosted->fd_in < 0 ? 0
                                  : host_io_open_watch(hosted, hosted->fd_in, on_in, &hosted->watch_in, 0);

        return r == -EPERM ? 0 : r;
}

int hosted_open_io(Hosted *hosted, const int *fds, int n_fds, unsigned which) {
        bool is_pty = hosted->kind == SHIM_PTY;
        struct winsize size = {0};
        int r = 0;

        timer_init(&hosted->reopen, hosted->host->daemon->loop, on_reopen);
        place(hosted, fds, n_fds, which);
        hosted_take_rings(hosted);
        if (hosted->fd_out >= 0)
                r = host_io_open_watch(hosted, hosted->fd_out, on_out, &hosted->watch_out, LOOP_READ);
        if (!r && hosted->fd_err >= 0)
                r = host_io_open_watch(hosted, hosted->fd_err, on_err, &hosted->watch_err, LOOP_READ);
        if (!r && !is_pty)
                r = open_input(hosted);
        if (r) {
                hosted_close_io(hosted);
                return error_trace(r);
        }
        if (!hosted->cols && is_pty && !ioctl(hosted->fd_out, TIOCGWINSZ, &size)) {
                hosted->cols = size.ws_col;
                hosted->rows = size.ws_row;
        }
        hosted_note_size(hosted);
        if (hosted->awaits_io)
                host_io_catch_up(hosted);
        hosted_end_input(hosted);
        hosted_watch_io(hosted);
        if (hosted_output_is_over(hosted))
                deferred_schedule(&hosted->settle);
        return 0;
}

void hosted_close_io(Hosted *hosted) {
        if (hosted->reopen.loop)
                timer_clear(&hosted->reopen);
        hosted->watch_out = loop_fd_close(hosted->watch_out);
        hosted->watch_err = loop_fd_close(hosted->watch_err);
        hosted->watch_in = loop_fd_close(hosted->watch_in);
        if (hosted->fd_in != hosted->fd_out)
                close_fd(hosted->fd_in);
        hosted->fd_in = -1;
        hosted->fd_out = close_fd(hosted->fd_out);
        hosted->fd_err = close_fd(hosted->fd_err);
}

/* ---- viewers --------------------------------------------------------------------------------- */

void viewer_attach(Viewer *viewer, Hosted *hosted) {
        viewer->hosted = hosted;
        LIST_INSERT_HEAD(&hosted->viewers, viewer, link);
        hosted->n_viewers++;
        hosted->n_terminals += !viewer->is_passive;
        hosted->n_web += viewer->is_web;
        if (!viewer->is_passive &&
            !viewer->is_web) /* a page may only be looked at: who types there is told */
                hosted_tell_seated(hosted);
}

void viewer_detach(Viewer *viewer) {
        if (!viewer->hosted)
                return;
        LIST_REMOVE(viewer, link);
        viewer->hosted->n_viewers--;
        viewer->hosted->n_terminals -= !viewer->is_passive;
        viewer->hosted->n_web -= viewer->is_web;
        viewer->hosted = NULL;
}

Str hosted_recent(const Hosted *hosted, size_t n_max) {
        uint64_t end = hosted->shown_out, from = end > n_max ? end - n_max : 0;
        Str all = ring_span(&hosted->out, from);
        uint64_t begin = ring_end(&hosted->out) - all.n;

        return (Str){all.data, end > begin ? (size_t)(end - begin) : 0};
}

Str hosted_scrollback(const Hosted *hosted, size_t n_max) {
        uint64_t n = hosted->shown_out - MIN(hosted->n_cleared, hosted->shown_out);

        return hosted_recent(hosted, n < n_max ? (size_t)n : n_max);
}

Str hosted_stderr(const Hosted *hosted) {
        return hosted->err.header ? ring_span(&hosted->err, 0) : STR_NULL;
}

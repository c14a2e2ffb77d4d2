/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "core/host/host-internal.h"
#include "core/recording/recording.h"

enum { FDS_MAX = 3 };

void hosted_tell(Hosted *hosted, uint32_t type, int a) {
        ShimMessage message = {.type = type, .a = a};

        if (hosted->control >= 0)
                (void)send(hosted->control, &message, sizeof(message), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* ---- how it ends ----------------------------------------------------------------------------- */

static void host_control_end(Hosted *hosted, HostedEvent event) {
        const HostedHandler *handler = hosted->handler;

        if (!hosted->has_exited)
                hosted->wait_status = hosted->record->wait_status;
        hosted->ended_us = hosted->record->ended_us ? hosted->record->ended_us
                                                    : loop_wall_us(hosted->host->daemon->loop);
        hosted_tell(hosted, SHIM_RELEASE, 0);
        hosted_close_io(hosted);
        hosted->watch_control = loop_fd_close(hosted->watch_control);
        hosted->control = close_fd(hosted->control);
        hosted_set_state(hosted, event);
        hosted->state_since_us = hosted->ended_us; /* it may have ended before we were there to hear it */
        hosted_end_recording(hosted);
        hosted_tell_viewers(hosted);
        if (handler)
                handler->ended(hosted);
        if (hosted->is_forgotten)
                host_forget(hosted);
}

int host_record(Hosted *hosted, const char *path, int fd) {
        char *copy;
        int r;

        if (!hosted || hosted->state != HOSTED_RUNNING || hosted->recording) {
                close_fd(fd);
                return HOST_E_ENDED;
        }
        copy = strdup(path);
        if (!copy) {
                close_fd(fd);
                return error_origin(-ENOMEM);
        }
        r = recording_open(&hosted->recording, hosted, fd);
        if (r) {
                free(copy);
                return error_trace(r);
        }
        free(hosted->recording_path);
        hosted->recording_path = copy;
        recording_poke(hosted->recording);
        host_announce(hosted, "recording");
        return 0;
}

void host_stop_recording(Hosted *hosted) {
        if (hosted->recording)
                recording_end(hosted->recording, "the recording was stopped");
}

void hosted_end_recording(Hosted *hosted) {
        char why[48] = "the process was lost";

        if (hosted->state == HOSTED_ENDED)
                snprintf(why, sizeof(why), "process exited (code %d)", hosted_exit_code(hosted));
        if (hosted->recording)
                recording_end(hosted->recording, why);
}

/* Ended means: the child is reaped, and its output is over or nothing is left that could write any. Of a
 * lossless one all of it is in the ring. */
void hosted_check_end(Hosted *hosted) {
        if (hosted->state != HOSTED_RUNNING || !hosted->has_exited)
                return;
        if (!hosted_output_is_over(hosted) && (hosted->tree_is_gone || timer_is_set(&hosted->reopen)) &&
            !hosted_read_rest(hosted))
                return; /* somebody will come back here */
        if (hosted_output_is_over(hosted) || hosted->tree_is_gone)
                host_control_end(hosted, hosted->is_shim_lost ? HOSTED_EVENT_LOST : HOSTED_EVENT_ENDED);
}

/* The rest of its output is in the pipe, which we hold; hosted_check_end() goes on when it is read. */
static void lose_later(Hosted *hosted, uint32_t state) {
        if (!hosted->has_exited)
                hosted->wait_status = hosted->record->wait_status;
        hosted->is_shim_lost = state != SHIM_STATE_EXITED;
        hosted->has_exited = hosted->tree_is_gone = true;
        hosted->watch_control = loop_fd_close(hosted->watch_control);
        hosted->control = close_fd(hosted->control);
}

/* The shim is gone without a word: killed, or it was released by an earlier daemon. The record says which.
 */
static void lose(Hosted *hosted) {
        uint32_t state = atomic_load(&hosted->record->state);
        bool is_all_read;

        host_sweep(hosted);
        if (hosted->state == HOSTED_STARTING) {
                hosted->watch_control = loop_fd_close(hosted->watch_control);
                hosted_set_state(hosted, HOSTED_EVENT_FAILED);
                if (hosted->handler)
                        hosted->handler->started(hosted, EIO);
                host_forget(hosted);
                return;
        }
        if (hosted->awaits_io) { /* it ended before it took our call, and had read on until then */
                hosted_take_rings(hosted);
                hosted_show_missed(hosted);
        }
        is_all_read = !hosted->out.header || hosted_read_rest(hosted);
        if (state != SHIM_STATE_EXITED && hosted->pid > 1 && hosted->record->child_start &&
            shim_start_time(hosted->pid) == hosted->record->child_start)
                (void)kill(-hosted->pid,
                           SIGKILL); /* its own group; the kernel has been told to end the child itself */
        if (is_all_read)
                host_control_end(hosted,
                                 state == SHIM_STATE_EXITED ? HOSTED_EVENT_ENDED : HOSTED_EVENT_LOST);
        else
                lose_later(hosted, state);
}

/* ---- words from the shim --------------------------------------------------------------------- */

static void host_control_on_started(Hosted *hosted, const ShimMessage *message, const int *fds, int n_fds) {
        int error = message->a;

        if (hosted->is_forgotten) { /* it is on its way out: nobody looks at its terminal */
                for (int i = 0; i < n_fds; i++)
                        close_fd(fds[i]);
                hosted_set_state(hosted, HOSTED_EVENT_STARTED);
                return;
        }
        if (!error && n_fds == 0 && !hosted->is_adopted)
                error = EIO;
        if (!error && hosted_open_io(hosted, fds, n_fds, message->fds))
                error = ENOMEM;
        hosted->lacks_stdin = error && message->a == error && message->fds & 1;
        if (error) {
                hosted_set_state(hosted, HOSTED_EVENT_FAILED);
                if (hosted->handler)
                        hosted->handler->started(hosted, error);
                host_forget(hosted);
                return;
        }
        hosted->pid = message->b;
        hosted->started_us = hosted->record->started_us;
        hosted_set_state(hosted, HOSTED_EVENT_STARTED);
        if (hosted->handler && hosted->handler->started)
                hosted->handler->started(hosted, 0);
}

static void host_control_obey(Hosted *hosted, const ShimMessage *message, const int *fds, int n_fds) {
        switch (message->type) {
        case SHIM_STARTED: host_control_on_started(hosted, message, fds, n_fds); return;
        case SHIM_EXITED:
                hosted->has_exited = true;
                hosted->wait_status = message->a; /* not from the record, which others can write */
                break;
        case SHIM_GONE: hosted->tree_is_gone = true; break;
        default: break;
        }
        deferred_schedule(&hosted->settle);
}

/* Returns the message's size, 0 at the end, -1 when there is none. */
static ssize_t host_control_receive(int fd, ShimMessage *ret, int fds[FDS_MAX], int *ret_n_fds) {
        union {
                struct cmsghdr header;
                char space[CMSG_SPACE(FDS_MAX * sizeof(int))];
        } control;
        struct iovec vector = {ret, sizeof(*ret)};
        struct msghdr header = {.msg_iov = &vector,
                                .msg_iovlen = 1,
                                .msg_control = &control,
                                .msg_controllen = sizeof(control)};
        ssize_t n = recvmsg(fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

        *ret_n_fds = 0;
        for (struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&header) : NULL; c; c = CMSG_NXTHDR(&header, c))
                if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
                        *ret_n_fds = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
                        memcpy(fds, CMSG_DATA(c), (size_t)*ret_n_fds * sizeof(int));
                }
        if (n < 0)
                return errno == EAGAIN || errno == EINTR ? -1 : 0;
        return n;
}

static void on_control(void *user, _unused_ unsigned events) {
        Hosted *hosted = user;
        int fds[FDS_MAX], n_fds;
        ShimMessage message;
        ssize_t n = host_control_receive(hosted->control, &message, fds, &n_fds);

        if (n == (ssize_t)sizeof(message))
                host_control_obey(hosted, &message, fds, n_fds);
        else if (n >= 0)
                lose(hosted);
}

int hosted_open_control(Hosted *hosted, int fd) {
        int r = loop_fd_open(hosted->host->daemon->loop, fd, on_control, hosted, &hosted->watch_control);

        if (r) {
                close_fd(fd);
                return error_trace(r);
        }
        hosted->control = fd;
        loop_fd_watch(hosted->watch_control, LOOP_READ);
        return 0;
}

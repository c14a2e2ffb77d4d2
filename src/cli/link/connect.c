/* SPDX-License-Identifier: MIT */
#include "cli/link/connect.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/link/find.h"
#include "cli/print/report.h"
#include "wire/socket.h"

enum { READ_STEP = 64 * 1024, RETRY_MS = 10 };

int64_t clock_ms(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int deadline_left_ms(int64_t deadline_ms) {
        int64_t left;

        if (deadline_ms == DEADLINE_NEVER)
                return -1;
        left = deadline_ms - clock_ms();
        return (int)MIN(MAX(left, (int64_t)0), (int64_t)INT_MAX);
}

int link_open(Link *link, const char *path, int64_t deadline_ms) {
        *link = (Link){.fd = -1, .deadline_ms = deadline_ms};
        snprintf(link->path, sizeof(link->path), "%s", path);
        for (;;) {
                int r = socket_connect_unix(path, SOCK_NONBLOCK, &link->fd), left;

                if (r == -ENOENT || r == -ENOTDIR || r == -ECONNREFUSED)
                        return LINK_E_ABSENT;
                if (r != -EAGAIN)
                        return error_trace(r);
                /* Its queue of connections is full, which poll() cannot wait for. */
                left = deadline_left_ms(deadline_ms);
                if (left == 0)
                        return LINK_E_TIMEOUT;
                poll(NULL, 0, left < 0 ? RETRY_MS : MIN(left, RETRY_MS));
        }
}

void link_deinit(Link *link) {
        link->fd = close_fd(link->fd);
        buf_deinit(&link->in);
}

static int connect_wait_for(const Link *link, short events) {
        struct pollfd pfd = {.fd = link->fd, .events = events};
        int n;

        do
                n = poll(&pfd, 1, deadline_left_ms(link->deadline_ms));
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return error_origin(-errno);
        return n ? 0 : LINK_E_TIMEOUT;
}

int link_send(Link *link, Str bytes) {
        while (bytes.n) {
                ssize_t n = send(link->fd, bytes.data, bytes.n, MSG_NOSIGNAL);
                int r = 0;

                if (n >= 0)
                        bytes = (Str){bytes.data + n, bytes.n - (size_t)n};
                else if (errno == EAGAIN)
                        r = connect_wait_for(link, POLLOUT);
                else if (errno == EPIPE || errno == ECONNRESET)
                        r = LINK_E_CLOSED;
                else if (errno != EINTR)
                        r = error_origin(-errno);
                if (r)
                        return r;
        }
        return 0;
}

/* One read; waits for it. */
static int connect_fill(Link *link) {
        int r = buf_reserve(&link->in, READ_STEP);

        while (!r) {
                ssize_t n = recv(link->fd, link->in.data + link->in.n, link->in.cap - link->in.n, 0);

                if (n > 0) {
                        link->in.n += (size_t)n;
                        return 0;
                }
                if (n == 0 || errno == ECONNRESET)
                        return LINK_E_CLOSED;
                if (errno == EAGAIN)
                        r = connect_wait_for(link, POLLIN);
                else if (errno != EINTR)
                        r = error_origin(-errno);
        }
        return r;
}

static void drop_used(Link *link) {
        buf_consume(&link->in, link->n_used);
        link->n_used = 0;
}

int link_peek(Link *link, char *ret) {
        drop_used(link);
        while (!link->in.n) {
                int r = connect_fill(link);

                if (r)
                        return r;
        }
        *ret = link->in.data[0];
        return 0;
}

int link_receive(Link *link, FramingKind kind, Str *ret_frame) {
        const Framing framing = {.kind = kind, .n_max = SIZE_MAX / 2};
        size_t n_scanned = 0;
        int r;

        drop_used(link);
        while ((r = framing_next(&framing, buf_str(&link->in), &n_scanned, ret_frame, &link->n_used)) ==
               FRAMING_E_PARTIAL) {
                r = connect_fill(link);
                if (r)
                        return r;
        }
        return error_fold(r);
}

Str link_rest(Link *link) {
        drop_used(link);
        return buf_str(&link->in);
}

pid_t link_peer_pid(const Link *link) {
        return socket_peer(link->fd);
}

int link_complain(int r, const char *path) {
        switch (r) {
        case LINK_E_ABSENT: return find_complain_absent(path);
        case LINK_E_TIMEOUT: return complain(CLI_TIMEOUT, "the daemon at %s did not answer in time", path);
        case LINK_E_CLOSED:
                return complain(CLI_FAILED,
                                "the daemon closed the connection before its answer was complete");
        case -EACCES:
        case -EPERM: return complain(CLI_NO_DAEMON, "the daemon's socket %s belongs to somebody else", path);
        default: return complain(r == -ENAMETOOLONG ? CLI_USAGE : CLI_FAILED, "%s: %s", path, strerror(-r));
        }
}

/* SPDX-License-Identifier: MIT */
/*
 * Bytes between stdin/stdout and the daemon, unchanged, behind a line that says where and as what this program
 * runs. One thread per direction with blocking calls: a side
 * that does not take its bytes holds only its own direction, whatever kind of file it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/print/report.h"
#include "cli/link/greeting.h"
#include "cli/link/start.h"

enum { WAIT_MS = 10000, PIECE = 64 * 1024, PIPE_ROOM = 1024 * 1024 };

/* Whether the call that just failed is to be made again. Waits where somebody made the descriptor
 * non-blocking. */
static bool is_worth_retry(int fd, short events) {
        struct pollfd pfd = {.fd = fd, .events = events};
        int failure = errno;

        if (failure == EAGAIN)
                (void)poll(&pfd, 1, -1);
        errno = failure;
        return failure == EINTR || failure == EAGAIN;
}

static ssize_t stdio_read_some(int fd, char *out) {
        ssize_t n;

        do
                n = read(fd, out, PIECE);
        while (n < 0 && is_worth_retry(fd, POLLIN));
        return n;
}

static int stdio_write_all(int fd, const char *data, size_t n) {
        while (n) {
                ssize_t k = write(fd, data, n);

                if (k < 0 && !is_worth_retry(fd, POLLOUT))
                        return -errno;
                data += MAX(k, (ssize_t)0);
                n -= (size_t)MAX(k, (ssize_t)0);
        }
        return 0;
}

/* stdin to the daemon. A stdin that cannot be read counts as ended. */
static void *pump_in(void *user) {
        int fd = *(const int *)user;
        static char piece[PIECE];
        ssize_t n;

        while ((n = stdio_read_some(STDIN_FILENO, piece)) > 0)
                if (stdio_write_all(fd, piece, (size_t)n))
                        return NULL; /* the daemon has gone: the other direction finds out how */
        (void)shutdown(fd, SHUT_WR);
        return NULL;
}

/* Until there is something to pass on and room for it. */
static void stdio_wait_both(int fd) {
        struct pollfd from = {.fd = fd, .events = POLLIN}, to = {.fd = STDOUT_FILENO, .events = POLLOUT};

        (void)poll(&from, 1, -1);
        (void)poll(&to, 1, -1);
}

/* Pages of the daemon's replies go into the pipe at stdout as they are: 0 at the end, or what is wrong. Of anything else
 * than a pipe nothing is taken. It must not wait in splice(2), which holds the pipe meanwhile: its reader would, too. */
static int stdio_pass_pages(int fd) {
        ssize_t n;

        for (;;) {
                n = splice(fd, NULL, STDOUT_FILENO, NULL, PIPE_ROOM, SPLICE_F_NONBLOCK);
                if (n == 0)
                        return 0;
                if (n < 0 && errno != EINTR && errno != EAGAIN)
                        return -errno;
                if (n < 0)
                        stdio_wait_both(fd);
        }
}

static int pump_out(int fd) {
        static char piece[PIECE];
        ssize_t n;
        int r = stdio_pass_pages(fd);

        if (!r)
                return CLI_OK;
        if (r == -EPIPE)
                return complain(CLI_FAILED, "cannot write to stdout: %s", strerror(-r));
        while ((n = stdio_read_some(fd, piece)) > 0) {
                r = stdio_write_all(STDOUT_FILENO, piece, (size_t)n);
                if (r)
                        return complain(CLI_FAILED, "cannot write to stdout: %s", strerror(-r));
        }
        return n < 0 ? complain(CLI_FAILED, "the connection to the daemon broke: %s", strerror(errno))
                     : CLI_OK;
}

static int pump(int fd) {
        pthread_t thread;
        int r;

        (void)signal(SIGPIPE, SIG_IGN);
        /* A long reply need not wait for its reader at every piece. Of what is no pipe it is not taken. */
        (void)fcntl(STDOUT_FILENO, F_SETPIPE_SZ, PIPE_ROOM);
        (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
        r = pthread_create(&thread, NULL, pump_in, &fd);
        if (r)
                return complain(CLI_FAILED, "cannot start a thread: %s", strerror(r));
        (void)pthread_detach(thread);
        r = pump_out(fd);
        /* The other thread may sit in a read of stdin that nothing ends. It has nothing left to do. */
        _exit(r);
}

int cmd_stdio(const Options *options) {
        _cleanup_(start_deinit) Start start = START_NULL;
        _cleanup_(buf_deinit) Buf greeting = BUF_NULL;
        _cleanup_(link_deinit) Link link = LINK_NULL;
        int64_t wait_ms = options->wait_ms < 0 ? WAIT_MS : options->wait_ms;
        int r = output_check();

        if (!r)
                r = greeting_write(&greeting, true);
        if (!r)
                r = start_daemon(&start, NULL, 0, wait_ms);
        if (r)
                return r;
        if (!start.info)
                return complain(CLI_NO_DAEMON, "musterd runs, but does not listen at %s", start.socket);
        link_deinit(&start.link); /* it speaks native by now */
        r = link_open(&link, start.socket, clock_ms() + wait_ms);
        if (!r)
                r = link_send(&link, buf_str(&greeting));
        return r ? link_complain(r, start.socket) : pump(link.fd);
}

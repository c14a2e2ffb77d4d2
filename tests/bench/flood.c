/* SPDX-License-Identifier: MIT */
/*
 * Two bad neighbours for the time of a measurement.
 *
 *   flood [-i] [-t SEC] ADDRESS REQUEST
 *
 * The silent one connects, sends the first half of a request and nothing more. The flooding one pipelines
 * requests without bound, as fast as the socket takes them, and reads the answers as fast as they come. Ends
 * after SEC seconds (default 5) or with SIGTERM, and prints how many were answered. With -i it runs only
 * when its core has nothing else to do, so that it takes the server's time, not that of a measuring client
 * on the same core.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench-client.h"

enum { BLOCK_BYTES = 64 * 1024 };

static volatile sig_atomic_t is_stopping;

static void on_signal(int signum) {
        (void)signum;
        is_stopping = 1;
}

static int open_conn(const char *address) {
        long n_retries = 0;
        int fd = dial(address, &n_retries);

        if (fd < 0)
                die("connect");
        return fd;
}

/* A block of whole requests. */
static size_t fill_block(char block[BLOCK_BYTES], const char *request) {
        size_t n_line = strlen(request) + 1, n = 0;

        if (n_line > BLOCK_BYTES)
                die("request");
        for (; n + n_line <= BLOCK_BYTES; n += n_line) {
                memcpy(block + n, request, n_line - 1);
                block[n + n_line - 1] = '\n';
        }
        return n;
}

static size_t count_lines(const char *data, size_t n) {
        size_t count = 0;

        for (const char *at = data; (at = memchr(at, '\n', n - (size_t)(at - data))); at++)
                count++;
        return count;
}

static unsigned long flood(int fd, const char *request, uint64_t end_ns) {
        static char block[BLOCK_BYTES], answers[BLOCK_BYTES];
        size_t n_block = fill_block(block, request), at = 0;
        unsigned long n_answers = 0;

        while (!is_stopping && now_ns() < end_ns) {
                struct pollfd pfd = {.fd = fd, .events = POLLIN | POLLOUT};
                ssize_t n;

                if (poll(&pfd, 1, 100) < 0 && errno != EINTR)
                        die("poll");
                if (pfd.revents & POLLOUT) {
                        n = send(fd, block + at, n_block - at, MSG_NOSIGNAL);
                        at = (at + (n > 0 ? (size_t)n : 0)) % n_block;
                }
                if (!(pfd.revents & (POLLIN | POLLHUP | POLLERR)))
                        continue;
                n = recv(fd, answers, sizeof(answers), 0);
                if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
                        die("the server ended the flood");
                n_answers += n > 0 ? count_lines(answers, (size_t)n) : 0;
        }
        return n_answers;
}

int main(int argc, char **argv) {
        struct sigaction action = {.sa_handler = on_signal};
        bool is_idle = false;
        double seconds = 5;
        unsigned long n_answers;
        uint64_t begin;
        int o, silent;

        while ((o = getopt(argc, argv, "it:")) != -1)
                switch (o) {
                case 'i': is_idle = true; break;
                case 't': seconds = strtod(optarg, NULL); break;
                default: return 2;
                }
        if (argc - optind != 2) {
                fprintf(stderr, "usage: %s [-i] [-t SEC] ADDRESS REQUEST\n", argv[0]);
                return 2;
        }
        sigaction(SIGTERM, &action, NULL);
        if (is_idle && sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0}))
                die("sched_setscheduler");
        silent = open_conn(argv[optind]);
        if (send(silent, argv[optind + 1], strlen(argv[optind + 1]) / 2, MSG_NOSIGNAL) < 0)
                die("send");
        begin = now_ns();
        n_answers = flood(open_conn(argv[optind]), argv[optind + 1], begin + (uint64_t)(seconds * 1e9));
        printf("answered=%lu rate=%.0f\n", n_answers,
               (double)n_answers / ((double)(now_ns() - begin) / 1e9));
        return 0;
}

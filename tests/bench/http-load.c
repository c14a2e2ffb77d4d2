/* SPDX-License-Identifier: MIT */
/*
 * Load generator for servers of HTTP/1.1 with keep-alive: each connection has one request in flight, which is always the
 * same. Answers must be 200 and have a Content-Length.
 *
 *   http-load ADDRESS CONNECTIONS REQUESTS FILE     FILE has the whole request
 *
 * Prints one line of "name=value" words. One thread with epoll, so that the server keeps another core.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench-client.h"

enum { CONNS_MAX = 1024, IN_MAX = 64 << 10, REQUEST_MAX = 16 << 10, N_EVENTS = 64, STUCK_MS = 10000 };

typedef struct Conn {
        int fd;
        size_t n;
        uint64_t sent;
        char in[IN_MAX];
} Conn;

static Conn *conns[CONNS_MAX];
static char request[REQUEST_MAX];
static size_t n_request, n_wanted, n_sent, n_done;
static uint64_t *times;

static void ask(Conn *conn) {
        if (n_sent == n_wanted)
                return;
        n_sent++;
        conn->sent = now_ns();
        if (send(conn->fd, request, n_request, MSG_NOSIGNAL) != (ssize_t)n_request)
                die("send");
}

/* Bytes of the answer that has come whole; 0: it has not. */
static size_t whole(const Conn *conn) {
        static const char name[] = "content-length:";
        const char *end = memmem(conn->in, conn->n, "\r\n\r\n", 4);
        size_t n;

        if (!end)
                return 0;
        if (strncmp(conn->in, "HTTP/1.1 200", 12) != 0) {
                fprintf(stderr, "answered: %.*s\n", (int)(end - conn->in), conn->in);
                exit(1);
        }
        for (const char *at = conn->in; at < end; at++) {
                if (strncasecmp(at, name, sizeof(name) - 1) != 0)
                        continue;
                n = (size_t)(end + 4 - conn->in) + strtoul(at + sizeof(name) - 1, NULL, 10);
                return conn->n >= n ? n : 0;
        }
        fprintf(stderr, "an answer without a length\n");
        exit(1);
}

static void take(Conn *conn) {
        ssize_t n = recv(conn->fd, conn->in + conn->n, IN_MAX - 1 - conn->n, 0);
        size_t n_answer;

        if (n < 0 && errno == EAGAIN)
                return;
        if (n <= 0)
                die("recv");
        conn->n += (size_t)n;
        conn->in[conn->n] = 0;
        n_answer = whole(conn);
        if (!n_answer)
                return;
        times[n_done++] = now_ns() - conn->sent;
        conn->n -= n_answer;
        memmove(conn->in, conn->in + n_answer, conn->n);
        ask(conn);
}

static int by_value(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
        return x < y ? -1 : x > y;
}

static void open_all(int epoll_fd, const char *address, size_t n) {
        long n_retries = 0;

        for (size_t i = 0; i < n; i++) {
                Conn *conn = calloc(1, sizeof(*conn));
                struct epoll_event event = {.events = EPOLLOUT, .data.ptr = conn}, came;

                if (!conn)
                        die("calloc");
                conns[i] = conn;
                conn->fd = dial(address, &n_retries);
                if (conn->fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, conn->fd, &event) ||
                    epoll_wait(epoll_fd, &came, 1, STUCK_MS) != 1)
                        die(address);
                event.events = EPOLLIN;
                if (epoll_ctl(epoll_fd, EPOLL_CTL_MOD, conn->fd, &event))
                        die("epoll_ctl");
        }
}

int main(int argc, char **argv) {
        size_t n_conns = argc == 5 ? strtoul(argv[2], NULL, 10) : 0;
        FILE *file = argc == 5 ? fopen(argv[4], "rb") : NULL;
        int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        struct epoll_event events[N_EVENTS];
        uint64_t begin;
        double seconds;

        if (!file || !n_conns || n_conns > CONNS_MAX || epoll_fd < 0) {
                fprintf(stderr, "usage: see the head of http-load.c\n");
                return 2;
        }
        n_request = fread(request, 1, sizeof(request), file);
        fclose(file);
        n_wanted = strtoul(argv[3], NULL, 10);
        times = calloc(n_wanted + 1, sizeof(*times));
        if (!times)
                die("calloc");
        open_all(epoll_fd, argv[1], n_conns);
        begin = now_ns();
        for (size_t i = 0; i < n_conns; i++)
                ask(conns[i]);
        while (n_done < n_wanted) {
                int n = epoll_wait(epoll_fd, events, N_EVENTS, STUCK_MS);

                if (n <= 0)
                        die("no answer");
                for (int i = 0; i < n; i++)
                        take(events[i].data.ptr);
        }
        seconds = (double)(now_ns() - begin) / 1e9;
        qsort(times, n_done, sizeof(*times), by_value);
        size_t middle = n_done / 2, late = n_done * 99 / 100;
        printf("rate=%.1f p50_us=%.2f p99_us=%.2f\n", (double)n_done / seconds, (double)times[middle] / 1e3,
               (double)times[late] / 1e3);
        return 0;
}

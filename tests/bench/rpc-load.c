/* SPDX-License-Identifier: MIT */
/*
 * Load generator for JSON-RPC servers that also send notifications: connections with one request in flight
 * each.
 *
 *   rpc-load CONNECTIONS TOTAL ADDRESS REQUEST
 *
 * A line that begins as a reply counts as one, with its id before the result (which then is 1) or behind it; everything
 * else is read and passed over. Prints rate, p50_us, p99_us and n_notes as name=value words. One thread with epoll.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench-client.h"

enum { READ_BYTES = 1 << 18, LINE_HEAD = 31, MAX_EVENTS = 64 };

typedef struct Peer {
        int fd;
        uint64_t sent_ns;
        char head[LINE_HEAD]; /* of the line being read */
        size_t n_head;
} Peer;

typedef struct Run {
        const char *request;
        size_t n_request;
        long n_total, n_sent, n_done, n_notes;
        double *us;
} Run;

static void ask(Run *run, Peer *peer) {
        if (run->n_sent >= run->n_total)
                return;
        run->n_sent++;
        peer->sent_ns = now_ns();
        if (send(peer->fd, run->request, run->n_request, MSG_NOSIGNAL) != (ssize_t)run->n_request)
                die("send");
}

static bool line_begins(const Peer *peer, const char *what) {
        static const char with_id[] = "{\"jsonrpc\":\"2.0\",\"id\":1,", without[] = "{\"jsonrpc\":\"2.0\",";
        size_t n = strlen(what);

        if (!memcmp(peer->head, with_id, sizeof(with_id) - 1))
                return !memcmp(peer->head + sizeof(with_id) - 1, what, n);
        return !memcmp(peer->head, without, sizeof(without) - 1) &&
               !memcmp(peer->head + sizeof(without) - 1, what, n);
}

static void end_line(Run *run, Peer *peer) {
        if (line_begins(peer, "\"error")) {
                errno = EPROTO;
                die("an error was answered");
        }
        if (!line_begins(peer, "\"resul"))
                run->n_notes++;
        else {
                run->us[run->n_done++] = (double)(now_ns() - peer->sent_ns) / 1000;
                ask(run, peer);
        }
        memset(peer->head, 0, sizeof(peer->head));
        peer->n_head = 0;
}

static void take(Run *run, Peer *peer, const char *at, size_t n) {
        while (n) {
                const char *end = memchr(at, '\n', n);
                size_t k = end ? (size_t)(end - at) : n, room = LINE_HEAD - peer->n_head;

                memcpy(peer->head + peer->n_head, at, k < room ? k : room);
                peer->n_head += k < room ? k : room;
                if (end)
                        end_line(run, peer);
                at += k + (end != NULL);
                n -= k + (end != NULL);
        }
}

static void serve(Run *run, int epoll) {
        static char buffer[READ_BYTES];
        struct epoll_event events[MAX_EVENTS];

        while (run->n_done < run->n_total) {
                int n = epoll_wait(epoll, events, MAX_EVENTS, 60000);

                if (n <= 0)
                        die("epoll_wait");
                for (int i = 0; i < n; i++) {
                        Peer *peer = events[i].data.ptr;
                        ssize_t k = recv(peer->fd, buffer, sizeof(buffer), 0);

                        if (k == 0 || (k < 0 && errno != EAGAIN))
                                die("recv");
                        if (k > 0)
                                take(run, peer, buffer, (size_t)k);
                }
        }
}

static int compare(const void *a, const void *b) {
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

int main(int argc, char **argv) {
        long n_peers = argc == 5 ? atol(argv[1]) : 0, n_retries = 0;
        Run run = {.n_total = argc == 5 ? atol(argv[2]) : 0};
        Peer *peers = calloc((size_t)(n_peers > 0 ? n_peers : 1), sizeof(*peers));
        char line[4096];
        int epoll = epoll_create1(EPOLL_CLOEXEC);
        uint64_t since;

        if (n_peers < 1 || run.n_total < 1 || !peers) {
                fprintf(stderr, "usage: rpc-load CONNECTIONS TOTAL ADDRESS REQUEST\n");
                return 2;
        }
        run.us = calloc((size_t)run.n_total, sizeof(*run.us));
        run.n_request = (size_t)snprintf(line, sizeof(line), "%s\n", argv[4]);
        run.request = line;
        for (long i = 0; i < n_peers; i++) {
                peers[i].fd = dial(argv[3], &n_retries);
                if (peers[i].fd < 0 ||
                    epoll_ctl(epoll, EPOLL_CTL_ADD, peers[i].fd,
                              &(struct epoll_event){.events = EPOLLIN, .data.ptr = &peers[i]}))
                        die("dial");
        }
        since = now_ns();
        for (long i = 0; i < n_peers; i++)
                ask(&run, &peers[i]);
        serve(&run, epoll);
        printf("rate=%.1f ", (double)run.n_total * 1e9 / (double)(now_ns() - since));
        qsort(run.us, (size_t)run.n_total, sizeof(*run.us), compare);
        printf("p50_us=%.1f p99_us=%.1f n_notes=%ld\n", run.us[run.n_total / 2],
               run.us[run.n_total * 99 / 100], run.n_notes);
        free(run.us);
        free(peers);
        return 0;
}

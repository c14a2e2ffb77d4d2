/* SPDX-License-Identifier: MIT */
/*
 * Load generator for request/response servers on a Unix socket or TCP.
 *
 *   uds-load [options] ADDRESS REQUEST
 *
 *   REQUEST   one request without its framing; every %ID% in it is replaced by a running number
 *   -m MODE   close      connect, one request, read the response, close
 *             serial     persistent connections, one request in flight each
 *             pipe       persistent connections, up to DEPTH in flight each
 *   -c N      concurrent connections                              (default 1)
 *   -d N      depth for -m pipe                                   (default 32)
 *   -n N      total requests                                      (default 100000)
 *   -t SEC    stop after SEC seconds even if fewer were answered  (default 60)
 *   -f FRAME  nl (newline) or be32 (4-byte big-endian length); both directions
 *   -g LINE   greeting sent once after connect (framed like a request); its one response frame is awaited,
 * not counted
 *
 * Prints one line of "name=value" words. One thread with epoll, so that on a two-core machine the server
 * keeps the other core. Latency runs from just before the send (mode close: the connect) to the arrival of
 * the response's last byte; in mode pipe it therefore includes the queueing behind the requests in flight on
 * that connection.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench-client.h"

typedef enum Mode { MODE_CLOSE, MODE_SERIAL, MODE_PIPE } Mode;

enum { MAX_EVENTS = 256, READ_BYTES = 65536 };

typedef struct Bytes {
        char *data;
        size_t n, cap;
} Bytes;

typedef struct Conn {
        int fd;
        Bytes in, out;
        size_t n_sent;  /* of out */
        uint64_t *sent; /* ring of send times, one per request in flight */
        unsigned head, n_flight;
        bool awaits_greeting;
        bool waits_write;
} Conn;

static const char *const mode_names[] = {
        [MODE_CLOSE] = "close", [MODE_SERIAL] = "serial", [MODE_PIPE] = "pipe"};

static struct {
        Mode mode;
        unsigned n_conns, depth;
        bool has_length;
        long n_total;
        double limit_s;
        const char *address, *request, *greeting;
} options = {.mode = MODE_SERIAL, .n_conns = 1, .depth = 32, .n_total = 100000, .limit_s = 60};

static long n_started, n_done, n_failed, n_retries;
static uint64_t *latencies;
static int epoll_fd;

/* ---- sending
 * ---------------------------------------------------------------------------------------------------- */

static void reserve(Bytes *bytes, size_t n) {
        if (bytes->cap - bytes->n >= n)
                return;
        while (bytes->cap - bytes->n < n)
                bytes->cap = bytes->cap ? bytes->cap * 2 : 4096;
        bytes->data = realloc(bytes->data, bytes->cap);
        if (!bytes->data)
                die("realloc");
}

static void put(Bytes *bytes, const void *data, size_t n) {
        reserve(bytes, n);
        memcpy(bytes->data + bytes->n, data, n);
        bytes->n += n;
}

static void put_text(Bytes *out, const char *text) {
        char number[24];
        int n = snprintf(number, sizeof(number), "%ld", n_started);

        for (const char *id; (id = strstr(text, "%ID%")); text = id + 4) {
                put(out, text, (size_t)(id - text));
                put(out, number, (size_t)n);
        }
        put(out, text, strlen(text));
}

static void put_frame(Bytes *out, const char *text) {
        size_t start = out->n;
        uint32_t length;

        if (!options.has_length) {
                put_text(out, text);
                put(out, "\n", 1);
                return;
        }
        put(out, "\0\0\0\0", 4);
        put_text(out, text);
        length = htonl((uint32_t)(out->n - start - 4));
        memcpy(out->data + start, &length, 4);
}

static void flush(Conn *conn) {
        bool needs_write;

        while (conn->n_sent < conn->out.n) {
                ssize_t n = send(conn->fd, conn->out.data + conn->n_sent, conn->out.n - conn->n_sent,
                                 MSG_NOSIGNAL);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0 && (errno == EAGAIN || errno == ENOTCONN))
                        break;
                if (n < 0)
                        die("send");
                conn->n_sent += (size_t)n;
        }
        if (conn->n_sent == conn->out.n)
                conn->n_sent = conn->out.n = 0;
        needs_write = conn->out.n != 0;
        if (needs_write != conn->waits_write) {
                struct epoll_event event = {.data.ptr = conn,
                                            .events = EPOLLIN | (needs_write ? EPOLLOUT : 0)};
                epoll_ctl(epoll_fd, EPOLL_CTL_MOD, conn->fd, &event);
                conn->waits_write = needs_write;
        }
}

/* Puts requests in flight; since_ns: when they began, 0: now. */
static void fill(Conn *conn, uint64_t since_ns) {
        if (conn->awaits_greeting)
                return;
        while (conn->n_flight < options.depth && n_started < options.n_total) {
                conn->sent[(conn->head + conn->n_flight) % options.depth] = since_ns ? since_ns : now_ns();
                conn->n_flight++;
                put_frame(&conn->out, options.request);
                n_started++;
        }
        flush(conn);
}

static void open_conn(Conn *conn) {
        uint64_t since_ns = now_ns();
        struct epoll_event event = {.data.ptr = conn, .events = EPOLLIN};

        if (!conn->sent)
                conn->sent = calloc(options.depth, sizeof(*conn->sent));
        if (!conn->sent)
                die("calloc");
        conn->fd = dial(options.address, &n_retries);
        if (conn->fd < 0)
                die("connect");
        conn->in.n = conn->out.n = conn->n_sent = 0;
        conn->head = conn->n_flight = 0;
        conn->waits_write = false;
        conn->awaits_greeting = options.greeting != NULL;
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, conn->fd, &event);
        if (conn->awaits_greeting) {
                put_frame(&conn->out, options.greeting);
                flush(conn);
        }
        fill(conn, options.mode == MODE_CLOSE ? since_ns : 0);
}

/* ---- receiving
 * -------------------------------------------------------------------------------------------------- */

static void got_frame(Conn *conn) {
        if (conn->awaits_greeting) {
                conn->awaits_greeting = false;
                fill(conn, 0);
                return;
        }
        if (!conn->n_flight)
                return;
        latencies[n_done++] = now_ns() - conn->sent[conn->head % options.depth];
        conn->head++;
        conn->n_flight--;
}

/* Length of the frame at the front of data with its framing, 0: not whole. scanned: bytes known to hold no
 * end. */
static size_t frame_length(const char *data, size_t n, size_t scanned) {
        const char *end;
        uint32_t length;

        if (!options.has_length) {
                end = memchr(data + scanned, '\n', n - scanned);
                return end ? (size_t)(end - data) + 1 : 0;
        }
        if (n < 4)
                return 0;
        memcpy(&length, data, 4);
        length = ntohl(length);
        return n - 4 < length ? 0 : 4 + (size_t)length;
}

/* Returns false at the end of the stream. */
static bool receive(Conn *conn) {
        Bytes *in = &conn->in;
        size_t at = 0, scanned = in->n, n;
        ssize_t got;

        reserve(in, READ_BYTES);
        got = recv(conn->fd, in->data + in->n, in->cap - in->n, 0);
        if (got < 0 && errno != EAGAIN && errno != EINTR)
                die("recv");
        if (got <= 0)
                return got < 0;
        in->n += (size_t)got;
        while ((n = frame_length(in->data + at, in->n - at, scanned))) {
                got_frame(conn);
                at += n;
                scanned = 0;
        }
        memmove(in->data, in->data + at, in->n - at);
        in->n -= at;
        return true;
}

static void on_event(Conn *conn, uint32_t events) {
        bool is_alive;

        if (events & EPOLLOUT)
                flush(conn);
        if (!(events & ~(uint32_t)EPOLLOUT))
                return;
        is_alive = receive(conn);
        if (options.mode == MODE_CLOSE && (!conn->n_flight || !is_alive)) {
                n_failed += conn->n_flight;
                close(conn->fd);
                if (n_started < options.n_total)
                        open_conn(conn);
        } else if (!is_alive) {
                fprintf(stderr, "the server closed a connection with %u in flight\n", conn->n_flight);
                exit(1);
        } else
                fill(conn, 0);
}

static double run(Conn *conns) {
        struct epoll_event events[MAX_EVENTS];
        uint64_t begin = now_ns(), end = begin + (uint64_t)(options.limit_s * 1e9);

        for (unsigned i = 0; i < options.n_conns; i++)
                open_conn(&conns[i]);
        while (n_done + n_failed < options.n_total && now_ns() < end) {
                int n = epoll_wait(epoll_fd, events, MAX_EVENTS, 100);
                for (int i = 0; i < n; i++)
                        on_event(events[i].data.ptr, events[i].events);
        }
        return (double)(now_ns() - begin) / 1e9;
}

/* ---- report
 * ----------------------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

        return x < y ? -1 : x > y;
}

static double percentile_us(double p) {
        long i = (long)(p * (double)n_done);

        return n_done ? (double)latencies[i >= n_done ? n_done - 1 : i] / 1000.0 : 0;
}

static void report(double seconds) {
        qsort(latencies, (size_t)n_done, sizeof(*latencies), compare);
        printf("mode=%s connections=%u depth=%u answered=%ld failed=%ld retries=%ld seconds=%.3f rate=%.0f "
               "p50_us=%.1f "
               "p99_us=%.1f p999_us=%.1f max_us=%.1f\n",
               mode_names[options.mode], options.n_conns, options.depth, n_done, n_failed, n_retries,
               seconds, (double)n_done / seconds, percentile_us(.5), percentile_us(.99), percentile_us(.999),
               percentile_us(1));
}

/* ---- options
 * ---------------------------------------------------------------------------------------------------- */

static Mode mode_named(const char *name) {
        for (size_t i = 0; i < sizeof(mode_names) / sizeof(*mode_names); i++)
                if (!strcmp(name, mode_names[i]))
                        return (Mode)i;
        fprintf(stderr, "no such mode: %s\n", name);
        exit(2);
}

static bool read_options(int argc, char **argv) {
        int o;

        while ((o = getopt(argc, argv, "m:c:d:n:t:f:g:")) != -1)
                switch (o) {
                case 'm': options.mode = mode_named(optarg); break;
                case 'c': options.n_conns = (unsigned)strtoul(optarg, NULL, 10); break;
                case 'd': options.depth = (unsigned)strtoul(optarg, NULL, 10); break;
                case 'n': options.n_total = strtol(optarg, NULL, 10); break;
                case 't': options.limit_s = strtod(optarg, NULL); break;
                case 'f': options.has_length = !strcmp(optarg, "be32"); break;
                case 'g': options.greeting = optarg; break;
                default: return false;
                }
        if (argc - optind != 2)
                return false;
        options.address = argv[optind];
        options.request = argv[optind + 1];
        if (options.mode != MODE_PIPE)
                options.depth = 1;
        return options.n_conns > 0 && options.depth > 0 && options.n_total > 0;
}

int main(int argc, char **argv) {
        Conn *conns;

        if (!read_options(argc, argv)) {
                fprintf(stderr,
                        "usage: %s [-m close|serial|pipe] [-c N] [-d N] [-n N] [-t SEC] [-f nl|be32] [-g "
                        "LINE]"
                        " ADDRESS REQUEST\n",
                        argv[0]);
                return 2;
        }
        signal(SIGPIPE, SIG_IGN);
        latencies = malloc(sizeof(*latencies) * (size_t)options.n_total);
        conns = calloc(options.n_conns, sizeof(*conns));
        if (!latencies || !conns)
                die("malloc");
        memset(latencies, 0,
               sizeof(*latencies) * (size_t)options.n_total); /* no page faults while measuring */
        epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        report(run(conns));
        return n_done == options.n_total ? 0 : 1;
}

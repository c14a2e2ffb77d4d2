/* SPDX-License-Identifier: MIT */
/*
 * Terminal output and keystrokes as an attached client sees them.
 *
 *   term-load bulk coop SOCKET REQUEST [CLIENTS [STALLED]]
 *   term-load bulk web ADDRESS TARGET
 *   term-load bulk pty COMMAND [ARG]...
 *   term-load echo coop SOCKET REQUEST N
 *   term-load echo pty N COMMAND [ARG]...
 *   term-load first coop SOCKET CREATE ATTACH
 *
 * coop: REQUEST is the JSON of an attach; CLIENTS of them read, STALLED more never do. web: a WebSocket at this
 * target of a server (tcp:HOST:PORT): output are binary messages; what a text message with an "at" begins is
 * acknowledged every ACK_BYTES, as pages do at /term. A target that is "ttyd" is the protocol of that program. pty: COMMAND on a
 * terminal of its own, 80x24; that is the bare reader, and the way of the clients of dtach and tmux. bulk
 * and echo begin when the terminal has said something and then been silent for a while.
 *
 * bulk: sends a newline, then takes output until every client has seen END; bytes= is the least that one
 * got, unfinished= how many did not see it, which takes STUCK_MS of silence to believe. echo: sends N single
 * bytes, each after the echo of the one before. first: from CREATE to the first output that ATTACH, sent
 * when the session is made, brings.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench-client.h"

#define END "BENCH-END-MARKER"
enum {
        CLIENTS_MAX = 64,
        READ_BYTES = 256 << 10,
        TAIL = sizeof(END) - 1 + 2, /* and the end of its line */
        QUIET_MS = 300,
        STUCK_MS = 5000,
        GIVE_UP_MS = 30000,
        ACK_BYTES = 128 << 10,
        WS_TEXT = 1,
        WS_BINARY = 2,
        WS_PING = 9,
        WS_PONG = 10,
};

typedef enum Kind { KIND_PTY, KIND_COOP, KIND_WEB } Kind;

typedef struct Terminal {
        size_t n_head, n_left; /* of the frame that is being read; tag 0 counts */
        unsigned long long n_bytes, n_lag;
        unsigned long long at, acked; /* has_at: position of the next byte; what was acknowledged */
        size_t n_control, n_tail;
        char control[512]; /* of a control frame: its beginning */
        int fd;
        pid_t pid; /* of the command on a bare terminal */
        Kind kind;
        int has_at, is_ttyd;
        unsigned char head[10]; /* coop: 4 bytes of length and a tag; web: of a frame */
        char tail[TAIL];
} Terminal;

static char buffer[READ_BYTES];

/* ---- output ---------------------------------------------------------------------------------- */

static void take_output(Terminal *t, const char *data, size_t n) {
        t->n_bytes += n;
        if (n >= TAIL) {
                memcpy(t->tail, data + n - TAIL, TAIL);
                t->n_tail = TAIL;
                return;
        }
        size_t keep = t->n_tail + n > TAIL ? TAIL - n : t->n_tail;
        memmove(t->tail, t->tail + t->n_tail - keep, keep);
        memcpy(t->tail + keep, data, n);
        t->n_tail = keep + n;
}

static void take_control(Terminal *t, const char *data, size_t n) {
        size_t room = sizeof(t->control) - 1 - t->n_control;

        memcpy(t->control + t->n_control, data, n < room ? n : room);
        t->n_control += n < room ? n : room;
        t->control[t->n_control] = 0;
        if (t->n_left == n && strstr(t->control, "\"lag\""))
                t->n_lag++;
}

static void take_frames(Terminal *t, const char *data, size_t n) {
        while (n) {
                if (t->n_left) {
                        size_t part = n < t->n_left ? n : t->n_left;
                        (t->head[4] ? take_control : take_output)(t, data, part);
                        t->n_left -= part;
                        data += part;
                        n -= part;
                        continue;
                }
                if (t->n_head == 5)
                        t->n_head = 0;
                t->head[t->n_head++] = (unsigned char)*data++;
                n--;
                if (t->n_head == 5) {
                        t->n_left = ((size_t)t->head[0] << 24 | (size_t)t->head[1] << 16 |
                                     (size_t)t->head[2] << 8 | t->head[3]) -
                                    1;
                        t->n_control = 0;
                }
        }
}

/* ---- WebSockets ------------------------------------------------------------------------------ */

/* A mask of zeros is a mask. Short messages only. */
static void send_web(Terminal *t, int opcode, const char *data, size_t n) {
        char frame[6 + 125] = {(char)(0x80 | opcode), (char)(0x80 | n)};

        memcpy(frame + 6, data, n);
        if (send(t->fd, frame, 6 + n, MSG_NOSIGNAL) != (ssize_t)(6 + n))
                die("send");
}

static void acknowledge(Terminal *t) {
        char text[64];

        t->acked = t->at;
        send_web(t, WS_TEXT, text, (size_t)snprintf(text, sizeof(text), "{\"ack\":%llu}", t->at));
}

static void take_web_output(Terminal *t, const char *data, size_t n) {
        if (t->is_ttyd && !t->n_control) { /* the first byte says what it is; output is 0 */
                t->n_control = 1;
                t->control[0] = *data++;
                n--;
        }
        if (t->is_ttyd && t->control[0] != '0')
                return;
        take_output(t, data, n);
        t->at += n;
        if (t->has_at && t->at - t->acked >= ACK_BYTES)
                acknowledge(t);
}

/* Where the count goes on is acknowledged at once: the daemon waits for that. */
static void end_web_text(Terminal *t) {
        const char *at = strstr(t->control, "\"at\":");

        if (!at)
                return;
        t->has_at = 1;
        t->at = strtoull(at + 5, NULL, 10);
        acknowledge(t);
}

static size_t web_head_bytes(const unsigned char *head) {
        size_t n = head[1] & 127;

        return n == 126 ? 4 : n == 127 ? 10 : 2;
}

static size_t web_length(const unsigned char *head) {
        size_t n_head = web_head_bytes(head), n = 0;

        for (size_t i = 2; i < n_head; i++)
                n = n << 8 | head[i];
        return n_head == 2 ? head[1] & 127u : n;
}

static void end_web_frame(Terminal *t) {
        int opcode = t->head[0] & 15;

        if (opcode == WS_TEXT)
                end_web_text(t);
        else if (opcode == WS_PING)
                send_web(t, WS_PONG, t->control, t->n_control);
        t->n_head = 0;
}

static void take_web(Terminal *t, const char *data, size_t n) {
        while (n) {
                if (t->n_head < 2 || t->n_head < web_head_bytes(t->head)) {
                        t->head[t->n_head++] = (unsigned char)*data++;
                        n--;
                        if (t->n_head < 2 || t->n_head < web_head_bytes(t->head))
                                continue;
                        t->n_left = web_length(t->head);
                        t->n_control = 0;
                } else {
                        size_t part = n < t->n_left ? n : t->n_left;

                        ((t->head[0] & 15) == WS_BINARY ? take_web_output : take_control)(t, data, part);
                        t->n_left -= part;
                        data += part;
                        n -= part;
                }
                if (!t->n_left)
                        end_web_frame(t);
        }
}

/* One read. Returns 0 when nothing is there; ends the program when the terminal ended. */
static ssize_t take(Terminal *t) {
        ssize_t n = read(t->fd, buffer, sizeof(buffer));

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        if (n <= 0) {
                fprintf(stderr, "the terminal ended after %llu bytes\n", t->n_bytes);
                exit(1);
        }
        if (t->kind == KIND_COOP)
                take_frames(t, buffer, (size_t)n);
        else if (t->kind == KIND_WEB)
                take_web(t, buffer, (size_t)n);
        else
                take_output(t, buffer, (size_t)n);
        return n;
}

static int has_ended(const Terminal *t) {
        return t->n_tail == TAIL && !memcmp(t->tail, END, sizeof(END) - 1);
}

static void send_key(Terminal *t, char key) {
        char frame[] = {0, 0, 0, 2, 0, key}, typed[] = {'0', key};

        if (t->kind == KIND_WEB)
                send_web(t, WS_BINARY, t->is_ttyd ? typed : &key, t->is_ttyd ? 2 : 1);
        else if (t->kind == KIND_COOP ? write(t->fd, frame, sizeof(frame)) != (ssize_t)sizeof(frame)
                                      : write(t->fd, &key, 1) != 1)
                die("write");
}

static void wait_for_input(struct pollfd *fds, nfds_t n) {
        int r = poll(fds, n, GIVE_UP_MS);

        if (r < 0 && errno != EINTR)
                die("poll");
        if (!r) {
                fprintf(stderr, "no output for %d ms\n", GIVE_UP_MS);
                exit(1);
        }
}

/* Something came, and then nothing for a while. */
static void wait_until_quiet(Terminal *t) {
        struct pollfd pfd = {.fd = t->fd, .events = POLLIN};

        do
                wait_for_input(&pfd, 1);
        while (!take(t) || !t->n_bytes);
        while (poll(&pfd, 1, QUIET_MS) == 1)
                take(t);
}

/* ---- opening --------------------------------------------------------------------------------- */

static void set_nonblocking(int fd) {
        if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK))
                die("fcntl");
}

static void open_pty(Terminal *t, char **argv) {
        struct winsize size = {.ws_row = 24, .ws_col = 80};

        *t = (Terminal){.fd = -1};
        t->pid = forkpty(&t->fd, NULL, NULL, &size);
        if (t->pid < 0)
                die("forkpty");
        if (!t->pid) {
                execvp(argv[0], argv);
                die(argv[0]);
        }
        set_nonblocking(t->fd);
}

static void close_pty(Terminal *t) {
        if (t->pid <= 0)
                return;
        kill(-t->pid, SIGKILL); /* forkpty() made it a session of its own */
        kill(t->pid, SIGKILL);
        waitpid(t->pid, NULL, 0);
}

static void send_message(int fd, const char *text) {
        size_t n = strlen(text);
        char head[4] = {(char)(n >> 24), (char)(n >> 16), (char)(n >> 8), (char)n};

        if (send(fd, head, 4, MSG_NOSIGNAL | MSG_MORE) != 4 || send(fd, text, n, MSG_NOSIGNAL) != (ssize_t)n)
                die("send");
}

static void receive(int fd, char *data, size_t n) {
        struct pollfd pfd = {.fd = fd, .events = POLLIN};

        while (n) {
                ssize_t got = recv(fd, data, n, 0);
                if (got < 0 && errno == EAGAIN) {
                        wait_for_input(&pfd, 1);
                        continue;
                }
                if (got <= 0)
                        die("recv");
                data += got;
                n -= (size_t)got;
        }
}

static void expect_ok(int fd) {
        unsigned char head[4];
        char text[4096];
        size_t n;

        receive(fd, (char *)head, 4);
        n = (size_t)head[2] << 8 | head[3];
        if (head[0] || head[1] || n >= sizeof(text))
                die("a long answer");
        receive(fd, text, n);
        text[n] = 0;
        if (!strstr(text, "\"ok\":true")) {
                fprintf(stderr, "refused: %s\n", text);
                exit(1);
        }
}

static uint64_t open_coop(Terminal *t, const char *address, const char *request) {
        long n_retries = 0;
        uint64_t begin;

        *t = (Terminal){.fd = dial(address, &n_retries), .kind = KIND_COOP};
        if (t->fd < 0)
                die(address);
        send_message(t->fd, "{\"version\":1}");
        expect_ok(t->fd);
        begin = now_ns();
        send_message(t->fd, request);
        expect_ok(t->fd);
        return begin;
}

/* The answer's head is read byte by byte: what follows it are frames. */
static void expect_upgrade(int fd) {
        char text[4096];
        size_t n = 0;

        do
                receive(fd, text + n++, 1);
        while (n < sizeof(text) - 1 && (n < 4 || memcmp(text + n - 4, "\r\n\r\n", 4) != 0));
        text[n] = 0;
        if (strncmp(text, "HTTP/1.1 101", 12) != 0) {
                fprintf(stderr, "refused: %s\n", text);
                exit(1);
        }
}

static void open_web(Terminal *t, const char *address, const char *target) {
        static const char hello[] = "{\"AuthToken\":\"\",\"columns\":80,\"rows\":24}";
        int is_ttyd = !strcmp(target, "ttyd");
        struct pollfd pfd = {.events = POLLOUT};
        char text[4096];
        long n_retries = 0;
        int n;

        *t = (Terminal){.fd = dial(address, &n_retries), .kind = KIND_WEB, .is_ttyd = is_ttyd};
        pfd.fd = t->fd;
        wait_for_input(&pfd, 1);
        n = snprintf(text, sizeof(text),
                     "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                     "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n%s\r\n",
                     is_ttyd ? "/ws" : target, address + 4,
                     is_ttyd ? "Sec-WebSocket-Protocol: tty\r\n" : "");
        if (t->fd < 0 || send(t->fd, text, (size_t)n, MSG_NOSIGNAL) != n)
                die(address);
        expect_upgrade(t->fd);
        if (is_ttyd)
                send_web(t, WS_BINARY, hello, sizeof(hello) - 1);
}

/* ---- what is measured ------------------------------------------------------------------------ */

static void bulk(Terminal *terminals, size_t n) {
        struct pollfd fds[CLIENTS_MAX];
        unsigned long long least = ~0ull, lag = 0;
        size_t n_open = n;
        uint64_t begin, end;

        for (size_t i = 0; i < n; i++) {
                wait_until_quiet(&terminals[i]);
                terminals[i].n_bytes = 0;
                fds[i] = (struct pollfd){.fd = terminals[i].fd, .events = POLLIN};
        }
        begin = now_ns();
        send_key(&terminals[0], '\n');
        while (n_open) {
                if (poll(fds, n, STUCK_MS) == 0)
                        break;
                for (size_t i = 0; i < n; i++) {
                        if (!fds[i].revents || !take(&terminals[i]) || !has_ended(&terminals[i]))
                                continue;
                        fds[i].fd = -1;
                        n_open--;
                }
        }
        end = now_ns();
        for (size_t i = 0; i < n; i++) {
                least = terminals[i].n_bytes < least ? terminals[i].n_bytes : least;
                lag += terminals[i].n_lag;
        }
        printf("s=%.6f bytes=%llu lag=%llu unfinished=%zu\n", (double)(end - begin) / 1e9, least, lag,
               n_open);
}

static int by_value(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
        return x < y ? -1 : x > y;
}

static void echo(Terminal *t, size_t n) {
        struct pollfd pfd = {.fd = t->fd, .events = POLLIN};
        uint64_t *times = calloc(n ? n : 1, sizeof(*times));

        if (!times || !n)
                die("calloc");
        wait_until_quiet(t);
        for (size_t i = 0; i < n; i++) {
                unsigned long long want = t->n_bytes + 1;
                uint64_t begin = now_ns();
                send_key(t, 'x');
                while (t->n_bytes < want) {
                        wait_for_input(&pfd, 1);
                        take(t);
                }
                times[i] = now_ns() - begin;
                usleep(200); /* a person: everybody sleeps again before the next key */
        }
        qsort(times, n, sizeof(*times), by_value);
        size_t middle = n / 2, late = n * 99 / 100;
        printf("p50_us=%.2f p99_us=%.2f\n", (double)times[middle] / 1e3, (double)times[late] / 1e3);
        free(times);
}

static void first(Terminal *t, uint64_t begin) {
        struct pollfd pfd = {.fd = t->fd, .events = POLLIN};

        while (!t->n_bytes) {
                wait_for_input(&pfd, 1);
                take(t);
        }
        printf("ms=%.3f\n", (double)(now_ns() - begin) / 1e6);
}

int main(int argc, char **argv) {
        static Terminal terminals[CLIENTS_MAX];
        const char *what = argc > 1 ? argv[1] : "", *how = argc > 2 ? argv[2] : "";

        if (argc >= 5 && !strcmp(how, "coop")) {
                size_t n = 1, n_stalled = 0;
                uint64_t begin = 0;
                if (!strcmp(what, "bulk")) {
                        n = argc > 5 ? strtoul(argv[5], NULL, 10) : 1;
                        n_stalled = argc > 6 ? strtoul(argv[6], NULL, 10) : 0;
                }
                if (!n || n + n_stalled > CLIENTS_MAX)
                        return 2;
                for (size_t i = 0; i < n + n_stalled; i++)
                        begin = open_coop(&terminals[i], argv[3], argv[4]);
                if (!strcmp(what, "first") && argc > 5) {
                        send_message(terminals[0].fd, argv[5]);
                        expect_ok(terminals[0].fd);
                }
                if (!strcmp(what, "bulk"))
                        bulk(terminals, n);
                else if (!strcmp(what, "echo") && argc > 5)
                        echo(terminals, strtoul(argv[5], NULL, 10));
                else if (!strcmp(what, "first"))
                        first(terminals, begin);
                return 0;
        }
        if (argc == 5 && !strcmp(what, "bulk") && !strcmp(how, "web")) {
                open_web(terminals, argv[3], argv[4]);
                bulk(terminals, 1);
                return 0;
        }
        if (argc >= 4 && !strcmp(how, "pty")) {
                int is_echo = !strcmp(what, "echo");
                open_pty(terminals, argv + 3 + is_echo);
                if (is_echo)
                        echo(terminals, strtoul(argv[3], NULL, 10));
                else
                        bulk(terminals, 1);
                close_pty(terminals);
                return 0;
        }
        fprintf(stderr, "usage: see the head of term-load.c\n");
        return 2;
}

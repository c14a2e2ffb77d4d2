/* SPDX-License-Identifier: MIT */
/*
 * The "physical limit" line for the daemon's Unix-socket path: one thread, plain level-triggered epoll, no
 * allocation after accept. It cuts the stream into frames and sends every frame back unchanged. Whatever the
 * daemon does per request (parse, route, answer) comes on top of this, so its rate divided by this program's
 * under the same load is its efficiency.
 *
 *   limit-uds-echo SOCKET [nl|be32]        (SIGTERM or SIGINT ends it)
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { MAX_FD = 65536, BUFFER_BYTES = 64 * 1024, MAX_EVENTS = 256 };

typedef struct Conn {
        size_t n_in;      /* bytes held in buffer */
        size_t n_out;     /* of those, bytes of complete frames still to be sent */
        bool waits_write; /* for EPOLLOUT instead of EPOLLIN */
        char buffer[BUFFER_BYTES];
} Conn;

static Conn *conns[MAX_FD];
static int epoll_fd;
static bool has_length;
static volatile sig_atomic_t is_stopping;

static void on_signal(int signum) {
        (void)signum;
        is_stopping = 1;
}

static void drop(int fd) {
        free(conns[fd]);
        conns[fd] = NULL;
        close(fd); /* also leaves the epoll set */
}

/* Length of the prefix of data that is made of whole frames. */
static size_t whole_frames(const char *data, size_t n) {
        size_t at = 0;

        if (!has_length) {
                const char *end = memrchr(data, '\n', n);
                return end ? (size_t)(end - data) + 1 : 0;
        }
        while (n - at >= 4) {
                const unsigned char *p = (const unsigned char *)data + at;
                size_t length = (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
                if (length > n - at - 4)
                        break;
                at += 4 + length;
        }
        return at;
}

/* Sends what is complete; waits for EPOLLOUT only while something is left. */
static void flush(int fd, Conn *conn) {
        ssize_t n;
        bool needs_write;

        if (!conn->n_out)
                return;
        n = send(fd, conn->buffer, conn->n_out, MSG_NOSIGNAL);
        if (n < 0) {
                if (errno != EAGAIN && errno != EINTR) {
                        drop(fd);
                        return;
                }
                n = 0;
        }
        memmove(conn->buffer, conn->buffer + n, conn->n_in - (size_t)n);
        conn->n_in -= (size_t)n;
        conn->n_out -= (size_t)n;
        needs_write = conn->n_out != 0;
        if (needs_write != conn->waits_write) {
                struct epoll_event event = {.data.fd = fd, .events = needs_write ? EPOLLOUT : EPOLLIN};
                epoll_ctl(epoll_fd, EPOLL_CTL_MOD, fd, &event);
                conn->waits_write = needs_write;
        }
}

static void on_readable(int fd) {
        Conn *conn = conns[fd];
        ssize_t n = recv(fd, conn->buffer + conn->n_in, BUFFER_BYTES - conn->n_in, 0);

        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
                drop(fd);
                return;
        }
        if (n < 0)
                return;
        conn->n_in += (size_t)n;
        conn->n_out = whole_frames(conn->buffer, conn->n_in);
        if (!conn->n_out && conn->n_in == BUFFER_BYTES)
                drop(fd); /* frame too long */
        else
                flush(fd, conn);
}

static void accept_all(int listen_fd) {
        for (;;) {
                struct epoll_event event = {.events = EPOLLIN};
                int fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

                if (fd < 0)
                        return;
                if (fd < MAX_FD)
                        conns[fd] = malloc(sizeof(Conn));
                if (fd >= MAX_FD || !conns[fd]) {
                        close(fd);
                        continue;
                }
                conns[fd]->n_in = conns[fd]->n_out = 0;
                conns[fd]->waits_write = false;
                event.data.fd = fd;
                epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
                on_readable(fd); /* the request is usually there already */
        }
}

static int open_listener(const char *path) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

        if (strlen(path) >= sizeof(address.sun_path)) {
                errno = ENAMETOOLONG;
                return -1;
        }
        memcpy(address.sun_path, path, strlen(path));
        unlink(path);
        if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 4096))
                return -1;
        return fd;
}

static void serve(int listen_fd) {
        struct epoll_event event = {.data.fd = listen_fd, .events = EPOLLIN}, events[MAX_EVENTS];

        epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listen_fd, &event);
        while (!is_stopping) {
                int n = epoll_wait(epoll_fd, events, MAX_EVENTS, -1);
                for (int i = 0; i < n; i++) {
                        int fd = events[i].data.fd;
                        if (fd == listen_fd)
                                accept_all(listen_fd);
                        else if (conns[fd] && events[i].events & EPOLLOUT)
                                flush(fd, conns[fd]);
                        else if (conns[fd])
                                on_readable(fd);
                }
        }
}

int main(int argc, char **argv) {
        struct sigaction action = {.sa_handler = on_signal};
        int fd;

        if (argc < 2) {
                fprintf(stderr, "usage: %s SOCKET [nl|be32]\n", argv[0]);
                return 2;
        }
        has_length = argc > 2 && !strcmp(argv[2], "be32");
        signal(SIGPIPE, SIG_IGN);
        sigaction(SIGTERM, &action, NULL);
        sigaction(SIGINT, &action, NULL);
        fd = open_listener(argv[1]);
        if (fd < 0) {
                perror("listen");
                return 1;
        }
        serve(fd);
        unlink(argv[1]);
        return 0;
}

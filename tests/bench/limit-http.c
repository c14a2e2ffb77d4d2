/* SPDX-License-Identifier: MIT */
/*
 * The least that a server of HTTP on one thread can do with keep-alive connections: plain epoll, find the end of each
 * head, send the same answer back. It parses nothing, and takes requests without a body for granted.
 *
 *   limit-http FILE ANSWER        listens on a free port of 127.0.0.1 and writes its number into FILE; ANSWER is a file with the
 *                                 whole answer (SIGTERM ends it)
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench-client.h"

enum { FD_MAX = 4096, HEAD_MAX = 16 << 10, ANSWER_MAX = 64 << 10, N_EVENTS = 64 };

typedef struct Conn {
        size_t n;
        char head[HEAD_MAX];
} Conn;

static Conn *conns[FD_MAX];
static char answer[ANSWER_MAX];
static size_t n_answer;

static void drop(int fd) {
        free(conns[fd]);
        conns[fd] = NULL;
        close(fd);
}

/* An answer is much shorter than a socket's buffer, and each connection waits for its own. */
static void serve(int fd) {
        Conn *conn = conns[fd];
        ssize_t n = recv(fd, conn->head + conn->n, HEAD_MAX - conn->n, 0);
        const char *end;

        if (n <= 0) {
                if (n == 0 || errno != EAGAIN)
                        drop(fd);
                return;
        }
        conn->n += (size_t)n;
        while ((end = memmem(conn->head, conn->n, "\r\n\r\n", 4))) {
                size_t n_used = (size_t)(end + 4 - conn->head);

                if (send(fd, answer, n_answer, MSG_NOSIGNAL) != (ssize_t)n_answer) {
                        drop(fd);
                        return;
                }
                memmove(conn->head, conn->head + n_used, conn->n - n_used);
                conn->n -= n_used;
        }
        if (conn->n == HEAD_MAX)
                drop(fd);
}

static void take(int epoll_fd, int listener) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

        if (fd < 0)
                return;
        if (fd >= FD_MAX || !(conns[fd] = calloc(1, sizeof(Conn)))) {
                close(fd);
                return;
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event))
                die("epoll_ctl");
}

static int listen_anywhere(const char *path) {
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t n = sizeof(address);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        FILE *file;

        if (fd < 0 || bind(fd, (struct sockaddr *)&address, n) || listen(fd, 512) ||
            getsockname(fd, (struct sockaddr *)&address, &n))
                die("listen");
        file = fopen(path, "w");
        if (!file || fprintf(file, "%u", ntohs(address.sin_port)) < 0 || fclose(file))
                die(path);
        return fd;
}

int main(int argc, char **argv) {
        struct epoll_event events[N_EVENTS], event = {.events = EPOLLIN};
        int listener, epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        FILE *file = argc == 3 ? fopen(argv[2], "rb") : NULL;

        if (!file || epoll_fd < 0) {
                fprintf(stderr, "usage: see the head of limit-http.c\n");
                return 2;
        }
        n_answer = fread(answer, 1, sizeof(answer), file);
        fclose(file);
        listener = listen_anywhere(argv[1]);
        event.data.fd = listener;
        if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listener, &event))
                die("epoll_ctl");
        for (;;) {
                int n = epoll_wait(epoll_fd, events, N_EVENTS, -1);

                for (int i = 0; i < n; i++)
                        if (events[i].data.fd == listener)
                                take(epoll_fd, listener);
                        else
                                serve(events[i].data.fd);
        }
}

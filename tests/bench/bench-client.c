/* SPDX-License-Identifier: MIT */
#include "bench-client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

uint64_t now_ns(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void die(const char *what) {
        perror(what);
        exit(1);
}

typedef union Address {
        struct sockaddr any;
        struct sockaddr_un local;
        struct sockaddr_in inet;
} Address;

static socklen_t read_address(const char *text, Address *ret) {
        const char *colon = strrchr(text, ':');
        char host[64];

        *ret = (Address){0};
        if (strncmp(text, "tcp:", 4) != 0) {
                ret->local.sun_family = AF_UNIX;
                snprintf(ret->local.sun_path, sizeof(ret->local.sun_path), "%s", text);
                return sizeof(ret->local);
        }
        snprintf(host, sizeof(host), "%.*s", (int)(colon - text - 4), text + 4);
        ret->inet.sin_family = AF_INET;
        ret->inet.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
        if (inet_pton(AF_INET, host, &ret->inet.sin_addr) != 1)
                die(text);
        return sizeof(ret->inet);
}

int dial(const char *address, long *n_retries) {
        Address a;
        socklen_t n = read_address(address, &a);
        int fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

        if (fd < 0)
                die("socket");
        if (a.any.sa_family == AF_INET)
                setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        while (connect(fd, &a.any, n) && errno != EINPROGRESS) {
                int error = errno;
                if (error != EAGAIN) {
                        close(fd);
                        errno = error;
                        return -1;
                }
                ++*n_retries;
                usleep(50);
        }
        return fd;
}

/* SPDX-License-Identifier: MIT */
#include "wire/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "wire/address.h"

enum { BACKLOG = 4096 };

static int fill_unix(struct sockaddr_un *address, const char *path) {
        *address = (struct sockaddr_un){.sun_family = AF_UNIX};
        if (strlen(path) >= sizeof(address->sun_path))
                return error_origin(-ENAMETOOLONG);
        memcpy(address->sun_path, path, strlen(path) + 1);
        return 0;
}

int socket_connect_unix(const char *path, int flags, int *ret) {
        struct sockaddr_un address;
        int fd, r;

        r = fill_unix(&address, path);
        if (r)
                return error_trace(r);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
        if (fd < 0)
                return error_origin(-errno);
        if (connect(fd, (struct sockaddr *)&address, sizeof(address))) {
                r = -errno;
                close_fd(fd);
                return r; /* an answer, not a fault: nobody there */
        }
        *ret = fd;
        return 0;
}

pid_t socket_peer(int fd) {
        struct ucred peer;
        socklen_t n = sizeof(peer);

        return fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) ? 0 : peer.pid;
}

int socket_probe(const char *path, SocketState *ret, pid_t *ret_pid) {
        struct stat st;
        int fd = -1, r;

        if (ret_pid)
                *ret_pid = 0;
        if (lstat(path, &st)) {
                if (errno != ENOENT && errno != ENOTDIR)
                        return error_origin(-errno);
                *ret = SOCKET_ABSENT;
                return 0;
        }
        if (!S_ISSOCK(st.st_mode) || st.st_uid != geteuid()) {
                *ret = SOCKET_ALIEN;
                return 0;
        }
        /* Non-blocking: a live daemon whose queue is full answers EAGAIN, and is alive. */
        r = socket_connect_unix(path, SOCK_NONBLOCK, &fd);
        if (ret_pid)
                *ret_pid = socket_peer(fd);
        close_fd(fd);
        if (r == 0 || r == -EAGAIN)
                *ret = SOCKET_LIVE;
        else if (r == -ECONNREFUSED)
                *ret = SOCKET_STALE;
        else if (r == -ENOENT)
                *ret = SOCKET_ABSENT;
        else
                return error_origin(r);
        return 0;
}

/* The name until it listens. Where there is no room for a longer one it is the path itself. */
static struct sockaddr_un name_beside(const struct sockaddr_un *address) {
        static const char suffix[] = ".new";
        struct sockaddr_un beside = *address;
        size_t n = strlen(address->sun_path);

        if (n + sizeof(suffix) <= sizeof(beside.sun_path))
                memcpy(beside.sun_path + n, suffix, sizeof(suffix));
        return beside;
}

static int move_into_place(const char *from, const char *to) {
        if (strcmp(from, to) == 0 || !renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE))
                return 0;
        if (errno == EINVAL && !link(from, to)) /* a file system without that flag */
                return unlink(from) ? -errno : 0;
        return errno == EEXIST ? -EADDRINUSE : -errno;
}

/* Whoever finds the path can connect: it is not there before the socket listens. What is left of one that
 * died on the way is replaced. */
static int listen_at(int fd, const struct sockaddr_un *address, mode_t mode) {
        struct sockaddr_un beside = name_beside(address);
        mode_t saved;
        int r;

        if (strcmp(beside.sun_path, address->sun_path) != 0)
                (void)unlink(beside.sun_path);
        saved = umask(0777 & ~mode);
        r = bind(fd, (struct sockaddr *)&beside, sizeof(beside)) ? -errno : 0;
        umask(saved);
        if (r)
                return error_origin(r);
        r = listen(fd, BACKLOG) ? -errno : move_into_place(beside.sun_path, address->sun_path);
        if (r)
                (void)unlink(beside.sun_path);
        return r ? error_origin(r) : 0;
}

int socket_listen_unix(const char *path, mode_t mode, int *ret) {
        struct sockaddr_un address;
        int fd, r;

        r = fill_unix(&address, path);
        if (r)
                return error_trace(r);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return error_origin(-errno);
        r = listen_at(fd, &address, mode);
        if (r) {
                close_fd(fd);
                return error_trace(r);
        }
        *ret = fd;
        return 0;
}

int socket_listen_tcp(const char *address, uint16_t port, int *ret, uint16_t *ret_port) {
        struct sockaddr_storage at;
        socklen_t n = address_parse(address, port, &at), n_bound = sizeof(at);
        TcpEnd bound;
        int fd, r;

        if (!n)
                return error_origin(-EINVAL);
        fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return error_origin(-errno);
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
        if (at.ss_family == AF_INET6) /* whatever the machine's habit is */
                setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){0}, sizeof(int));
        if (bind(fd, (struct sockaddr *)&at, n) || listen(fd, BACKLOG) ||
            getsockname(fd, (struct sockaddr *)&at, &n_bound)) {
                r = -errno;
                close_fd(fd);
                return error_origin(r);
        }
        (void)address_from_socket(&at, &bound);
        *ret = fd;
        *ret_port = bound.port;
        return 0;
}

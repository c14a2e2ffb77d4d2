/* SPDX-License-Identifier: MIT */
#include "daemon/service.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"

enum { FIRST_FD = 3, MAX_FDS = 64 };

void service_notify(const char *state) {
        const char *path = getenv("NOTIFY_SOCKET");
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        size_t n = path ? strlen(path) : 0;
        int fd;

        if (!n || n >= sizeof(address.sun_path) || (path[0] != '/' && path[0] != '@'))
                return;
        memcpy(address.sun_path, path, n);
        if (path[0] == '@') /* the abstract namespace */
                address.sun_path[0] = 0;
        fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return;
        (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address,
                     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
        close_fd(fd);
}

int service_take_sockets(Daemon *daemon) {
        const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS"),
                   *names = getenv("LISTEN_FDNAMES");
        long n = count ? strtol(count, NULL, 10) : 0;

        if (!pid || strtol(pid, NULL, 10) != getpid() || n < 1 || n > MAX_FDS)
                return 0;
        daemon->activated = calloc((size_t)n, sizeof(*daemon->activated));
        if (!daemon->activated)
                return error_origin(-ENOMEM);
        for (long i = 0; i < n; i++) {
                int fd = FIRST_FD + (int)i, flags = fcntl(fd, F_GETFL);
                size_t k = names ? strcspn(names, ":") : 0;

                if (flags < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) || fcntl(fd, F_SETFL, flags | O_NONBLOCK))
                        return error_origin(-errno);
                daemon->activated[i].fd = fd;
                if (names)
                        snprintf(daemon->activated[i].name, sizeof(daemon->activated[i].name), "%.*s",
                                 (int)k, names);
                names = names && names[k] ? names + k + 1 : NULL;
                daemon->n_activated++;
        }
        unsetenv("LISTEN_PID");
        unsetenv("LISTEN_FDS");
        unsetenv("LISTEN_FDNAMES");
        return 0;
}

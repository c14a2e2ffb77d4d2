/* SPDX-License-Identifier: MIT */
#include "sandbox/network.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/macro.h"

static int network_write_file(const char *path, const char *text) {
        _cleanup_(closep) int fd = open(path, O_WRONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));

        return n < 0 ? -errno : 0;
}

/* We stay who we are: the one user and group that there are inside. */
static int enter_namespaces(void) {
        unsigned uid = getuid(), gid = getgid();
        char map[64];
        int r;

        if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
                return -errno;
        r = network_write_file("/proc/self/setgroups", "deny");
        snprintf(map, sizeof(map), "%u %u 1", gid, gid);
        r = r ? r : network_write_file("/proc/self/gid_map", map);
        snprintf(map, sizeof(map), "%u %u 1", uid, uid);
        return r ? r : network_write_file("/proc/self/uid_map", map);
}

/*
 * The child, outside of the namespaces: waits until its parent is in them, and becomes slirp4netns, which
 * says by a byte that it is ready. It dies with the parent. Its own words go nowhere: stderr is the terminal
 * of the agent.
 */
static _noreturn_ void carry(const char *program, pid_t parent, int fd) {
        char target[16], ready[32], go;
        char *const argv[] = {(char *)program, "--configure", "--mtu=65520", "--disable-host-loopback",
                              ready,           target,        "tap0",        NULL};
        int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);

        if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent || nowhere < 0 || read(fd, &go, 1) != 1)
                _exit(1);
        for (int standard = 0; standard < 3; standard++)
                if (dup2(nowhere, standard) < 0)
                        _exit(1);
        snprintf(target, sizeof(target), "%d", (int)parent);
        snprintf(ready, sizeof(ready), "--ready-fd=%d", fd);
        (void)setpgid(0, 0); /* Ctrl+C at the terminal is not for it */
        if (fcntl(fd, F_SETFD, 0) == 0)
                execv(program, argv);
        _exit(1);
}

int network_enter(const char *program, char *wrong, size_t n_wrong) {
        _cleanup_(closep) int ours = -1;
        int pair[2], r;
        pid_t parent = getpid(), child;
        char ready;

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
                return -errno;
        child = fork();
        if (child == 0) {
                close_fd(pair[0]);
                carry(program, parent, pair[1]);
        }
        ours = pair[0];
        close_fd(pair[1]);
        if (child < 0)
                return -errno;
        r = enter_namespaces();
        if (r)
                return r;
        if (write(ours, "", 1) != 1 || read(ours, &ready, 1) != 1) {
                snprintf(wrong, n_wrong, "it could not set the network up");
                return -ENETDOWN;
        }
        return 0;
}

int network_resolver_fd(void) {
        static const char text[] = "nameserver 10.0.2.3\n";
        int fd = memfd_create("muster-resolver", 0);

        if (fd < 0)
                return -errno;
        if (write(fd, text, sizeof(text) - 1) != (ssize_t)sizeof(text) - 1 || lseek(fd, 0, SEEK_SET)) {
                close_fd(fd);
                return -EIO;
        }
        return fd;
}

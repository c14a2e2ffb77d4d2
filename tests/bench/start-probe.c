/* SPDX-License-Identifier: MIT */
/*
 * How long a server takes from its start to its first answer.
 *
 *   start-probe [-p CORE] SOCKET REQUEST PROGRAM [ARG]...
 *
 * Starts PROGRAM (pinned to CORE), dials SOCKET until it answers, sends REQUEST and a newline, reads one
 * line, prints the milliseconds since just before the fork, ends PROGRAM with SIGTERM and waits for it. The
 * clock includes fork and exec.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench-client.h"

enum { GIVE_UP_MS = 10000, RETRY_US = 20 };

static pid_t start(char **argv, int core) {
        pid_t pid = fork();
        cpu_set_t cores;

        if (pid < 0)
                die("fork");
        if (pid > 0)
                return pid;
        CPU_ZERO(&cores);
        CPU_SET(core < 0 ? 0 : core, &cores);
        if (core >= 0 && sched_setaffinity(0, sizeof(cores), &cores))
                die("sched_setaffinity");
        execv(argv[0], argv);
        die(argv[0]);
}

static int dial_until(const char *address, uint64_t end_ns) {
        long n_retries = 0;
        int fd;

        while ((fd = dial(address, &n_retries)) < 0) {
                if (errno != ENOENT && errno != ECONNREFUSED)
                        return -1;
                if (now_ns() > end_ns)
                        return -1;
                usleep(RETRY_US);
        }
        return fd;
}

static int ask(int fd, const char *request) {
        struct pollfd pfd = {.fd = fd, .events = POLLIN};
        char line[4096];
        int n = snprintf(line, sizeof(line), "%s\n", request);

        if (send(fd, line, (size_t)n, MSG_NOSIGNAL) != n)
                return -1;
        for (;;) {
                ssize_t got;
                if (poll(&pfd, 1, GIVE_UP_MS) != 1)
                        return -1;
                got = recv(fd, line, sizeof(line), 0);
                if (got <= 0)
                        return -1;
                if (memchr(line, '\n', (size_t)got))
                        return 0;
        }
}

int main(int argc, char **argv) {
        int core = -1, o, fd, status = 0, r;
        uint64_t begin, end;
        pid_t pid;

        while ((o = getopt(argc, argv, "+p:")) != -1) {
                if (o != 'p')
                        return 2;
                core = (int)strtol(optarg, NULL, 10);
        }
        if (argc - optind < 3) {
                fprintf(stderr, "usage: %s [-p CORE] SOCKET REQUEST PROGRAM [ARG]...\n", argv[0]);
                return 2;
        }
        begin = now_ns();
        pid = start(argv + optind + 2, core);
        fd = dial_until(argv[optind], begin + GIVE_UP_MS * 1000000ull);
        r = fd < 0 ? -1 : ask(fd, argv[optind + 1]);
        end = now_ns();
        kill(pid, SIGTERM);
        waitpid(pid, &status, 0);
        if (r) {
                fprintf(stderr, "no answer from %s\n", argv[optind + 2]);
                return 1;
        }
        printf("ms=%.3f\n", (double)(end - begin) / 1e6);
        return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * What it costs to run a small program, as an agent program runs a hook.
 *
 *   spawn-load N INPUT PROGRAM [ARG]...
 *
 * Starts PROGRAM N times, one after the other, each with the bytes of INPUT on its stdin and with what it prints thrown away, waits for its end,
 * and prints the microseconds of the median and of the best.
 */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench-client.h"

static int compare(const void *a, const void *b) {
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

static double run(char **argv, const char *input) {
        posix_spawn_file_actions_t actions;
        uint64_t begun = now_ns();
        int pipes[2], status;
        pid_t pid;

        if (pipe2(pipes, O_CLOEXEC))
                die("pipe");
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, pipes[0], 0);
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
        if (posix_spawn(&pid, argv[0], &actions, NULL, argv, environ))
                die(argv[0]);
        posix_spawn_file_actions_destroy(&actions);
        close(pipes[0]);
        (void)!write(pipes[1], input, strlen(input)); /* who does not read it has ended */
        close(pipes[1]);
        if (waitpid(pid, &status, 0) != pid || status)
                die("status");
        return (double)(now_ns() - begun) / 1000;
}

int main(int argc, char **argv) {
        int n = argc > 3 ? atoi(argv[1]) : 0;
        double *took = n > 0 ? calloc((size_t)n, sizeof(*took)) : NULL;

        if (!took)
                die("usage: spawn-load N INPUT PROGRAM [ARG]...");
        signal(SIGPIPE, SIG_IGN);
        for (int i = 0; i < n; i++)
                took[i] = run(argv + 3, argv[2]);
        qsort(took, (size_t)n, sizeof(*took), compare);
        printf("p50_us=%.1f best_us=%.1f\n", took[n / 2], took[0]);
        free(took);
        return 0;
}

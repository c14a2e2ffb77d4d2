/* SPDX-License-Identifier: MIT */
/*
 * An agent that keeps printing: LINES numbered lines of 32 bytes every MS milliseconds, from 1 on.
 *
 *   busy-agent LINES MS
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
        long n_lines = argc > 2 ? strtol(argv[1], NULL, 10) : 0,
             ms = argc > 2 ? strtol(argv[2], NULL, 10) : 0;

        if (n_lines <= 0 || ms <= 0) {
                fprintf(stderr, "usage: %s LINES MS\n", argv[0]);
                return 2;
        }
        for (unsigned long number = 1;;) {
                for (long i = 0; i < n_lines; i++)
                        if (printf("line %-25lu\n", number++) < 0)
                                return 1;
                if (fflush(stdout))
                        return 1;
                usleep((useconds_t)ms * 1000);
        }
}

# SPDX-License-Identifier: MIT
"""A wall clock that the test turns, for a daemon whose other clocks are the real ones: a small library before libc.

    with wall_clock(home) as (env, turn):          # env for the Daemon
        turn(86400)                                # seconds from now"""
import contextlib
import os
import subprocess

from harness import MUSTERD, Skip, write_text

_SOURCE = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *ts) {
        int r = (int)syscall(SYS_clock_gettime, id, ts);
        FILE *f = id == CLOCK_REALTIME ? fopen(getenv("WALL_FILE"), "re") : NULL;
        long seconds = 0;
        if (f && fscanf(f, "%ld", &seconds) == 1)
                ts->tv_sec += seconds;
        if (f)
                fclose(f);
        return r;
}
"""


@contextlib.contextmanager
def wall_clock(home):
    if "-san" in MUSTERD:
        raise Skip("a sanitizer wants to be the first library itself")
    source, library, wall = (os.path.join(home.base, n) for n in ("wall.c", "wall.so", "wall"))
    write_text(source, _SOURCE)
    write_text(wall, "0")
    try:
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    except FileNotFoundError:
        raise Skip("no gcc") from None

    def turn(seconds):
        write_text(wall + ".new", str(seconds))
        os.rename(wall + ".new", wall)
    yield {"LD_PRELOAD": library, "WALL_FILE": wall}, turn

# SPDX-License-Identifier: MIT
"""A wall clock that the test turns, for a program whose other clocks are the real ones: a small library before libc. The seconds are in memory that is shared with
the test, so that a program which may not open files any more sees them, too.

    with wall_clock(home) as (env, turn):          # env for the Daemon
        turn(86400)                                # seconds from now
        turn.n_asked()                             # how often somebody with this env has looked at it"""
import contextlib
import mmap
import os
import struct
import subprocess

from harness import MUSTERD, Skip, write_text

_SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static struct { long seconds, n_asked; } none, *wall = &none;
__attribute__((constructor)) static void begin(void) {
        const char *path = getenv("WALL_FILE");
        int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
        void *map = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*wall), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (map != MAP_FAILED)
                wall = map;
        if (fd >= 0)
                close(fd);
}
int clock_gettime(clockid_t id, struct timespec *ts) {
        int r = (int)syscall(SYS_clock_gettime, id, ts);
        if (r == 0 && id == CLOCK_REALTIME) {
                ts->tv_sec += __atomic_load_n(&wall->seconds, __ATOMIC_RELAXED);
                __atomic_fetch_add(&wall->n_asked, 1, __ATOMIC_RELAXED);
        }
        return r;
}
int gettimeofday(struct timeval *restrict tv, void *restrict zone) {
        struct timespec ts;
        (void)zone;
        clock_gettime(CLOCK_REALTIME, &ts);
        *tv = (struct timeval){ts.tv_sec, ts.tv_nsec / 1000};
        return 0;
}
time_t time(time_t *ret) {
        struct timespec ts;
        clock_gettime(CLOCK_REALTIME, &ts);
        if (ret)
                *ret = ts.tv_sec;
        return ts.tv_sec;
}
"""


class _Turn:
    def __init__(self, path):
        with open(path, "w+b") as file:
            file.write(bytes(16))
            file.flush()
            self.memory = mmap.mmap(file.fileno(), 16)

    def __call__(self, seconds):
        self.memory[:8] = struct.pack("=q", seconds)

    def n_asked(self):
        return struct.unpack("=q", self.memory[8:])[0]


@contextlib.contextmanager
def wall_clock(home, name="wall"):
    """Two of them in one home have two names."""
    if "-san" in MUSTERD:
        raise Skip("a sanitizer wants to be the first library itself")
    source, library, wall = (os.path.join(home.base, name + end) for end in (".c", ".so", ""))
    write_text(source, _SOURCE)
    turn = _Turn(wall)
    try:
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    except FileNotFoundError:
        raise Skip("no gcc") from None
    yield {"LD_PRELOAD": library, "WALL_FILE": wall}, turn

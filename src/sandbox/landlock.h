#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Landlock, the second layer of a sandbox: reading and executing everywhere, writing only below the named
 * paths. It binds this process and all that it starts, for good. It denies mounts as well, which is why it
 * is set after bubblewrap has made them.
 */
#include <stddef.h>

enum {
        /* From here on folders can be exchanged by rename; below it every rename between folders is refused,
         * which no agent could work under, so an older Landlock is left alone. */
        LANDLOCK_ABI_MIN = 2,
};

/* The paths, /dev and the like included, must exist; standard descriptors open for writing stay usable
 * through /dev/stdout and its like. Needs no_new_privs. 0, also when there is no Landlock; or a negative
 * errno. */
int landlock_confine(char *const *writable, size_t n_writable);

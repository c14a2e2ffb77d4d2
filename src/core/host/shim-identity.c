/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/macro.h"
#include "core/host/shim.h"

static ssize_t read_small(const char *path, char *out, size_t n) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t k = fd < 0 ? -1 : read(fd, out, n - 1);

        close_fd(fd);
        out[k > 0 ? k : 0] = 0;
        return k;
}

uint64_t shim_start_time(pid_t pid) {
        char path[64], text[1024];
        const char *at;

        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        if (pid <= 0 || read_small(path, text, sizeof(text)) <= 0)
                return 0;
        at = strrchr(text, ')'); /* the name may hold anything, also blanks and brackets */
        for (int field = 2; at && field < 22; field++)
                at = strchr(at + 1, ' ');
        return at ? strtoull(at, NULL, 10) : 0;
}

uint64_t shim_boot_hash(void) {
        char text[64] = "";

        read_small("/proc/sys/kernel/random/boot_id", text, sizeof(text));
        return hash_bytes(HASH_START, text, strcspn(text, "\n"));
}

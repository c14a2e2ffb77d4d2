/* SPDX-License-Identifier: MIT */
#include "base/macro.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

void freep(void *pp) {
        free(*(void **)pp);
}

int close_fd(int fd) {
        int saved = errno;

        if (fd >= 0)
                (void)close(fd);
        errno = saved;
        return -1;
}

void closep(int *fd) {
        *fd = close_fd(*fd);
}

/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

int file_write_at(int fd, Str bytes, uint64_t offset) {
        while (bytes.n > 0) {
                ssize_t n = pwrite(fd, bytes.data, bytes.n, (off_t)offset);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return error_origin(-errno);
                if (n == 0)
                        return error_origin(-EIO);
                bytes.data += n;
                bytes.n -= (size_t)n;
                offset += (uint64_t)n;
        }
        return 0;
}

int file_read_at(int fd, char *to, size_t n, uint64_t offset, size_t *ret_n) {
        *ret_n = 0;
        while (*ret_n < n) {
                ssize_t got = pread(fd, to + *ret_n, n - *ret_n, (off_t)(offset + *ret_n));

                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return error_origin(-errno);
                if (got == 0)
                        break;
                *ret_n += (size_t)got;
        }
        return 0;
}

int file_stand_at(int dir, const char *name, int flags, FileStand *ret) {
        const unsigned what = STATX_TYPE | STATX_MODE | STATX_INO | STATX_SIZE;
        struct statx st;

        *ret = (FileStand){0};
        if (statx(dir, name, flags | (*name ? 0 : AT_EMPTY_PATH), what, &st) < 0)
                return error_origin(-errno);
        *ret = (FileStand){makedev(st.stx_dev_major, st.stx_dev_minor), st.stx_ino, st.stx_size,
                           st.stx_mode};
        return 0;
}

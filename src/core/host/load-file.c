/* SPDX-License-Identifier: MIT */
#include "core/host/load-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "core/host/load.h"

typedef struct LoadHeader {
        char magic[8]; /* "musload1" */
        uint64_t n_places;
        uint64_t n_written; /* ever; the next one goes to n_written % n_places */
} LoadHeader;

static bool load_file_is_ours(const LoadHeader *header) {
        return !memcmp(header->magic, "musload1", 8) && header->n_places == LOAD_RECORDS;
}

static off_t load_file_place(uint64_t number) {
        return (off_t)(sizeof(LoadHeader) + number % LOAD_RECORDS * sizeof(LoadRecord));
}

static int load_file_open(const char *path, int flags, LoadHeader *header) {
        int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
        struct stat st;

        if (fd < 0)
                return error_origin(-errno);
        if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
                (void)close(fd);
                return error_origin(-EINVAL);
        }
        if (pread(fd, header, sizeof(*header), 0) != sizeof(*header) || !load_file_is_ours(header))
                *header = (LoadHeader){.magic = "musload1", .n_places = LOAD_RECORDS};
        return fd;
}

/* The header last: what it does not count is written again. */
int load_file_append(const char *path, const LoadRecord *records, size_t n) {
        LoadHeader header = {.n_places = 0};
        _cleanup_(closep) int fd = load_file_open(path, O_RDWR | O_CREAT, &header);

        if (fd < 0)
                return fd;
        while (n) {
                size_t room = (size_t)(LOAD_RECORDS - header.n_written % LOAD_RECORDS), part = MIN(n, room);
                size_t n_bytes = part * sizeof(*records);

                if (pwrite(fd, records, n_bytes, load_file_place(header.n_written)) != (ssize_t)n_bytes)
                        return error_origin(-EIO);
                header.n_written += part;
                records += part;
                n -= part;
        }
        return pwrite(fd, &header, sizeof(header), 0) == sizeof(header) ? 0 : error_origin(-EIO);
}

static size_t load_file_take(int fd, LoadRecord *to, uint64_t first, size_t n) {
        ssize_t got = n ? pread(fd, to, n * sizeof(*to), load_file_place(first)) : 0;

        return got > 0 ? (size_t)got / sizeof(*to) : 0;
}

int load_file_read(const char *path, LoadRecord **ret, size_t *ret_n) {
        LoadHeader header = {.n_places = 0};
        _cleanup_(closep) int fd = load_file_open(path, O_RDONLY, &header);
        size_t n, n_front, n_got;
        uint64_t first;

        *ret = NULL;
        *ret_n = 0;
        if (fd < 0)
                return fd == -ENOENT ? 0 : fd;
        n = (size_t)MIN(header.n_written, (uint64_t)LOAD_RECORDS);
        if (!n)
                return 0;
        *ret = calloc(n, sizeof(**ret));
        if (!*ret)
                return error_origin(-ENOMEM);
        first = header.n_written - n;
        n_front = MIN(n, (size_t)(LOAD_RECORDS - first % LOAD_RECORDS));
        n_got = load_file_take(fd, *ret, first, n_front);
        if (n_got == n_front)
                n_got += load_file_take(fd, *ret + n_front, first + n_front, n - n_front);
        *ret_n = n_got;
        return 0;
}

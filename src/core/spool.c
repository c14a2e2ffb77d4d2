/* SPDX-License-Identifier: MIT */
#include "core/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/macro.h"

/* Some file systems cannot make a file without a name. */
static int spool_open_named(const char *folder) {
        _cleanup_(freep) char *path = path_join(folder, ".spool-XXXXXX");
        int fd = path ? mkostemp(path, O_CLOEXEC) : -1;

        if (!path)
                return error_origin(-ENOMEM);
        if (fd < 0)
                return error_origin(-errno);
        (void)unlink(path);
        return fd;
}

static int spool_open(const char *folder) {
        int fd = open(folder, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);

        if (fd >= 0)
                return fd;
        return errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL ? spool_open_named(folder)
                                                                         : error_origin(-errno);
}

static int spool_keep(Spool *spool, Str bytes) {
        int r;

        if (spool->n_kept + bytes.n > (uint64_t)SPOOL_GIB_MAX << 30)
                return error_origin(-EFBIG);
        r = file_write_at(spool->fd, bytes, spool->n_kept);
        if (!r)
                spool->n_kept += bytes.n;
        return error_trace(r);
}

/* What stands in memory goes to the file. A buffer that one long value has made large is given back. */
static int spool_shed(Spool *spool) {
        int r = 0;

        if (spool->fd < 0) {
                r = spool_open(spool->folder);
                spool->fd = MAX(r, -1);
                r = MIN(r, 0);
        }
        if (!r)
                r = spool_keep(spool, buf_str(&spool->text));
        spool->text.n = 0;
        if (spool->text.cap > 4 * (size_t)SPOOL_MEMORY_BYTES)
                buf_deinit(&spool->text);
        return error_trace(r);
}

static void spool_on_full(JsonWriter *w) {
        Spool *spool = container_of(w, Spool, w);

        if (!spool->r)
                spool->r = spool_shed(spool);
        w->failed |= spool->r != 0;
}

void spool_init(Spool *spool, const char *folder) {
        *spool = (Spool){.fd = -1, .folder = folder};
        spool->w = (JsonWriter){.out = &spool->text, .n_full = SPOOL_MEMORY_BYTES, .full = spool_on_full};
}

void spool_expect(Spool *spool, uint64_t n) {
        (void)buf_reserve(&spool->text, (size_t)MIN(n, (uint64_t)SPOOL_MEMORY_BYTES));
}

void spool_deinit(Spool *spool) {
        buf_deinit(&spool->text);
        spool->fd = close_fd(spool->fd);
}

int spool_end(Spool *spool) {
        if (!spool->r && spool->w.failed)
                spool->r = error_origin(-ENOMEM);
        if (!spool->r && spool->fd >= 0) {
                spool->r = spool_shed(spool);
                buf_deinit(&spool->text);
        }
        return error_trace(spool->r);
}

int spool_read(const Spool *spool, uint64_t *at, Buf *out) {
        size_t n_want = (size_t)MIN((uint64_t)SPOOL_PIECE_BYTES, spool->n_kept - *at), n_got = 0;
        int r = buf_reserve(out, n_want);

        while (!r && n_got < n_want) {
                ssize_t n = pread(spool->fd, out->data + out->n, n_want - n_got, (off_t)(*at + n_got));

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return error_origin(n < 0 ? -errno : -EIO);
                n_got += (size_t)n;
                out->n += (size_t)n;
        }
        *at += n_got;
        return error_trace(r);
}

void spool_take(Spool *spool, const Spool *other) {
        uint64_t at = 0;
        int r = other->r;

        while (!r && !spool->w.failed && other->fd >= 0 && at < other->n_kept) {
                r = spool_read(other, &at, &spool->text);
                if (!r && spool->text.n >= SPOOL_MEMORY_BYTES)
                        spool_on_full(&spool->w);
        }
        if (!r)
                r = buf_append_str(&spool->text, buf_str(&other->text));
        if (r && !spool->r)
                spool->r = r;
        spool->w.failed |= r || other->w.failed;
}

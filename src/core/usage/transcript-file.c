/* SPDX-License-Identifier: MIT */
#include "core/usage/transcript-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/macro.h"

typedef struct TranscriptRead { /* one reading */
        TranscriptFile *file;
        int fd;
        Buf buf;   /* bytes from `at` on */
        size_t at; /* of buf: where the line under way begins */
        Arena scratch;
        TranscriptFn fn;
        void *user;
        size_t n_items;
} TranscriptRead;

static bool transcript_ends(Str path, const char *end) {
        size_t n = strlen(end);

        return path.n > n && !memcmp(path.data + path.n - n, end, n);
}

bool transcript_file_is_path(Str path) {
        if (!path.n || path.n >= 4096 || path.data[0] != '/' || memchr(path.data, 0, path.n))
                return false;
        if (memmem(path.data, path.n, "/../", 4))
                return false;
        return transcript_ends(path, ".jsonl") || transcript_ends(path, ".json");
}

void transcript_file_init(TranscriptFile *file, char *path, TranscriptForm form) {
        *file = (TranscriptFile){.path = path,
                                 .reader = {.form = form},
                                 .is_document = transcript_ends(str_from(path), ".json")};
}

void transcript_file_deinit(TranscriptFile *file) {
        free(file->path);
        *file = (TranscriptFile){0};
}

/* ---- whose it is, and whether it is the same --------------------------------------------------- */

/* O_NONBLOCK: a FIFO in its place is not waited for. */
static int transcript_open(const TranscriptFile *file, struct stat *ret_stat) {
        int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

        if (fd < 0)
                return -errno;
        if (!fstat(fd, ret_stat) && S_ISREG(ret_stat->st_mode) && ret_stat->st_uid == geteuid())
                return fd;
        close(fd);
        return -EPERM;
}

static uint64_t transcript_mark(int fd, uint64_t offset) {
        char bytes[TRANSCRIPT_MARK] = {0};
        size_t n = (size_t)MIN(offset, sizeof(bytes)), n_read = 0;

        if (file_read_at(fd, bytes, n, offset - n, &n_read))
                n_read = 0;
        return hash_bytes(HASH_START, bytes, n_read);
}

static bool transcript_is_same(const TranscriptFile *file, int fd, const struct stat *st) {
        return file->dev == (uint64_t)st->st_dev && file->ino == (uint64_t)st->st_ino &&
               (uint64_t)st->st_size >= file->offset && transcript_mark(fd, file->offset) == file->mark;
}

static void transcript_begin_anew(TranscriptFile *file, const struct stat *st) {
        file->reader = (Transcript){.form = file->reader.form, .n_wrong = file->reader.n_wrong};
        file->is_skipping = false;
        file->offset = file->size = 0;
        file->mark = HASH_START;
        file->dev = (uint64_t)st->st_dev;
        file->ino = (uint64_t)st->st_ino;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void transcript_on_item(void *user, const TranscriptItem *item) {
        TranscriptRead *self = user;

        self->n_items++;
        self->fn(self->user, item);
}

/* The lines that are whole. Their last newline is where the next reading begins. */
static void transcript_take_lines(TranscriptRead *self) {
        TranscriptFile *file = self->file;
        const char *end = self->buf.data + self->buf.n;

        while (self->n_items < TRANSCRIPT_ITEMS_MAX) {
                const char *begin = self->buf.data + self->at,
                           *newline = memchr(begin, '\n', (size_t)(end - begin));

                if (!newline)
                        return;
                if (!file->is_skipping && newline > begin)
                        transcript_line(&file->reader, (Str){begin, (size_t)(newline - begin)},
                                        &self->scratch, transcript_on_item, self);
                file->is_skipping = false;
                file->offset += (uint64_t)(newline + 1 - begin);
                self->at += (size_t)(newline + 1 - begin);
        }
}

/* What is left of a line moves to the front; one that is too long is stepped over from here on. */
static void transcript_carry(TranscriptRead *self) {
        size_t n = self->buf.n - self->at;

        if (n > TRANSCRIPT_LINE_MAX || (self->file->is_skipping && n)) {
                self->file->n_skipped += !self->file->is_skipping;
                self->file->is_skipping = true;
                self->file->offset += n;
                n = 0;
        }
        if (n && self->at)
                memmove(self->buf.data, self->buf.data + self->at, n);
        self->buf.n = n;
        self->at = 0;
}

/* Bytes that were read; 0: the end. */
static int transcript_fill(TranscriptRead *self, uint64_t end, size_t *ret) {
        uint64_t from = self->file->offset + self->buf.n;
        int r;

        if (self->file->is_skipping) { /* a hole holds no newline */
                self->file->offset = from = file_next_data(self->fd, from, end);
        }
        r = buf_reserve(&self->buf, TRANSCRIPT_BLOCK);
        if (!r)
                r = file_read_at(self->fd, self->buf.data + self->buf.n,
                                 (size_t)MIN((uint64_t)TRANSCRIPT_BLOCK, end - from), from, ret);
        if (!r)
                self->buf.n += *ret;
        return error_trace(r);
}

static int transcript_read_lines(TranscriptRead *self, uint64_t end) {
        for (;;) {
                size_t n = 0;
                int r = transcript_fill(self, end, &n);

                if (r || !n)
                        return error_trace(r);
                transcript_take_lines(self);
                if (self->n_items >= TRANSCRIPT_ITEMS_MAX)
                        return TRANSCRIPT_E_MORE;
                transcript_carry(self);
        }
}

/* Such a file is replaced as a whole: all of it is told again. */
static int transcript_read_document(TranscriptRead *self, uint64_t end) {
        TranscriptFile *file = self->file;
        int r;

        file->offset = end;
        if (end > TRANSCRIPT_LINE_MAX) {
                file->n_skipped++;
                return 0;
        }
        r = file_read_fd(self->fd, TRANSCRIPT_LINE_MAX, &self->buf);
        if (!r)
                transcript_document(&file->reader, buf_str(&self->buf), &self->scratch, transcript_on_item,
                                    self);
        return r > 0 ? 0 : error_trace(r);
}

int transcript_file_read(TranscriptFile *file, TranscriptFn fn, void *user) {
        TranscriptRead self = {.file = file, .fn = fn, .user = user};
        struct stat st = {0};
        int r;

        self.fd = transcript_open(file, &st);
        if (self.fd < 0)
                return self.fd == -ENOENT || self.fd == -ENOTDIR ? TRANSCRIPT_E_MISSING
                                                                 : TRANSCRIPT_E_REFUSED;
        if (!transcript_is_same(file, self.fd, &st) || file->is_document)
                transcript_begin_anew(file, &st);
        file->size = (uint64_t)st.st_size;
        r = file->is_document ? transcript_read_document(&self, file->size)
                              : transcript_read_lines(&self, file->size);
        if (!file->is_document)
                file->mark = transcript_mark(self.fd, file->offset);
        close(self.fd);
        buf_deinit(&self.buf);
        arena_deinit(&self.scratch);
        return r;
}

int transcript_file_tail(const TranscriptFile *file, Buf *out) {
        size_t n = (size_t)MIN(file->offset, (uint64_t)TRANSCRIPT_TAIL), n_read = 0;
        struct stat st = {0};
        int r, fd;

        if (file->is_document || !n)
                return 0;
        fd = transcript_open(file, &st);
        if (fd < 0)
                return TRANSCRIPT_E_MISSING;
        r = transcript_is_same(file, fd, &st) ? buf_reserve(out, n) : TRANSCRIPT_E_MISSING;
        if (!r)
                r = file_read_at(fd, out->data + out->n, n, file->offset - n, &n_read);
        out->n += n_read;
        close(fd);
        return error_trace(r);
}

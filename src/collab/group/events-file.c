/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "collab/events-file"

#include "collab/group/events-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "collab/collab.h"

typedef struct EventsFileJob {
        Collab *collab;
        Str lines;
        void (*done)(void *user, int r);
        void *user;
        int r;
} EventsFileJob;

/* The whole lines among the last EVENTS_FILE_KEEP bytes. */
static int read_last(int fd, off_t size, Buf *out) {
        const char *end;
        ssize_t n;

        if (buf_reserve(out, EVENTS_FILE_KEEP))
                return error_origin(-ENOMEM);
        n = pread(fd, out->data, EVENTS_FILE_KEEP, size - EVENTS_FILE_KEEP);
        if (n < 0)
                return error_origin(-errno);
        end = memchr(out->data, '\n', (size_t)n);
        out->n = end ? (size_t)(out->data + n - (end + 1)) : 0;
        if (end)
                memmove(out->data, end + 1, out->n);
        return 0;
}

/* Bounds the file; `kept` is what it begins with then. */
static int events_file_cut(int fd, Buf *kept) {
        struct stat st;
        int r;

        if (fstat(fd, &st) < 0)
                return error_origin(-errno);
        if (st.st_size < EVENTS_FILE_MAX)
                return 0;
        r = read_last(fd, st.st_size, kept);
        if (!r && ftruncate(fd, 0) < 0)
                r = error_origin(-errno);
        return r;
}

/* Other programs hold the lock for one write; a worker may wait for that, and goes on without the feed when
 * one holds it for longer. */
static int events_file_append_line(const Collab *collab, Str lines) {
        _cleanup_(closep) int lock = -1, fd = -1;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        ssize_t n;
        int r;

        r = file_lock_within(collab->events_lock_path, EVENTS_FILE_LOCK_MS, &lock);
        if (r)
                return r == FILE_E_LOCKED ? error_origin(-ETIMEDOUT) : error_fold(r);
        fd = open(collab->events_path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0)
                return error_origin(-errno);
        r = events_file_cut(fd, &text);
        if (!r)
                r = buf_append_str(&text, lines);
        if (r)
                return error_trace(r);
        n = write(fd, text.data, text.n);
        if (n < 0)
                return error_origin(-errno);
        return (size_t)n == text.n ? 0 : error_origin(-ENOSPC);
}

static void events_file_run(void *user) {
        EventsFileJob *job = user;

        job->r = events_file_append_line(job->collab, job->lines);
}

static void events_file_done(void *user) {
        EventsFileJob *job = user;

        if (job->r)
                log_warning(&job->collab->daemon->log, "-", "cannot append to the feed: %s",
                            strerror(-job->r));
        job->done(job->user, job->r);
        free(job);
}

int events_file_append(Collab *collab, Str lines, void (*appended)(void *user, int r), void *user) {
        EventsFileJob *job = calloc(1, sizeof(*job));

        if (!job)
                return error_origin(-ENOMEM);
        *job = (EventsFileJob){.collab = collab, .lines = lines, .done = appended, .user = user};
        if (!loop_work_slow(collab->daemon->loop, events_file_run, events_file_done, job))
                return 0;
        free(job);
        return error_origin(-ENOMEM);
}

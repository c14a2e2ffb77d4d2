/* SPDX-License-Identifier: MIT */
/*
 * The file side of a ledger, on workers and under the lock: taking the lock, taking in what
 * other programs appended, mending a torn tail.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/time.h"
#include "core/ledger/ledger-index-file.h"
#include "core/ledger/ledger-internal.h"

enum { LOCK_WAIT_MS = 10 * 1000, COPY = 256 * 1024 };

/* Other programs expect one byte in it. */
static int fill_lock(int fd) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return error_origin(-errno);
        if (st.st_size > 0)
                return 0;
        return pwrite(fd, "0", 1, 0) < 0 ? error_origin(-errno) : 0;
}

int ledger_lock_take(const LedgerPlace *place, int *ret_fd) {
        _cleanup_(freep) char *path = path_join(place->state_path, "ledger.lock");
        int r = path ? file_lock_within(path, LOCK_WAIT_MS, ret_fd) : error_origin(-ENOMEM);

        if (r)
                return r == FILE_E_LOCKED ? error_origin(-ETIMEDOUT) : error_fold(r);
        (void)fill_lock(*ret_fd); /* a full disk is no reason not to lock */
        return 0;
}

/* …/cut.20260102T030405Z, or with a number behind it. */
int ledger_open_cut(const LedgerPlace *place, int64_t wall_us) {
        char stamp[TIME_TEXT_MAX], path[4096];

        time_format_stamp(wall_us, stamp);
        for (int i = 0; i < 1000; i++) {
                int n = i == 0 ? snprintf(path, sizeof(path), "%s/cut.%s", place->state_path, stamp)
                               : snprintf(path, sizeof(path), "%s/cut.%s.%d", place->state_path, stamp, i);
                int fd;

                if (n < 0 || (size_t)n >= sizeof(path))
                        return error_origin(-ENAMETOOLONG);
                fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
                if (fd >= 0 || errno != EEXIST)
                        return fd >= 0 ? fd : error_origin(-errno);
        }
        return error_origin(-EEXIST);
}

/* Holes stay holes: they take no room and no time. */
static int copy_range(int from, int to, uint64_t at, uint64_t end) {
        _cleanup_(freep) char *room = malloc(COPY);
        const uint64_t begin = at;

        if (!room)
                return error_origin(-ENOMEM);
        while (at < end) {
                ssize_t n;
                int r;

                at = file_next_data(from, at, end);
                n = pread(from, room, (size_t)MIN(end - at, (uint64_t)COPY), (off_t)at);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return error_origin(-errno);
                if (n == 0) /* nothing but a hole, or it was cut meanwhile */
                        break;
                r = file_write_at(to, (Str){room, (size_t)n}, at - begin);
                if (r)
                        return error_trace(r);
                at += (uint64_t)n;
        }
        return ftruncate(to, (off_t)(end - begin)) < 0 ? error_origin(-errno) : 0;
}

static int ledger_disk_keep_aside(const LedgerPlace *place, int fd, uint64_t at, uint64_t end,
                                  int64_t wall_us) {
        _cleanup_(closep) int cut = ledger_open_cut(place, wall_us);
        int r;

        if (cut < 0)
                return error_trace(cut);
        r = copy_range(fd, cut, at, end);
        if (r == 0 && fsync(cut) < 0)
                r = error_origin(-errno);
        return error_trace(r ? r : dir_sync(place->state_path));
}

int ledger_mend_tail(const LedgerPlace *place, int fd, const Scan *scan, int64_t wall_us, uint64_t *size,
                     uint64_t *n_cut) {
        int r;

        if (scan->at >= *size)
                return 0;
        if (scan->is_tail_event) {
                r = file_write_at(fd, STR("\n"), *size);
                *size += r == 0;
                return error_trace(r);
        }
        r = ledger_disk_keep_aside(place, fd, scan->at, *size, wall_us);
        if (r)
                return error_trace(r);
        if (ftruncate(fd, (off_t)scan->at) < 0)
                return error_origin(-errno);
        *n_cut += *size - scan->at;
        *size = scan->at;
        return 0;
}

/* Bytes of a commit of ours that failed and could not be taken back then. Left alone once others wrote
 * behind it. */
static void ledger_disk_take_back(LedgerJob *job, uint64_t *size) {
        if (job->n_left && *size == job->left_at + job->n_left &&
            ftruncate(job->file->fd, (off_t)job->left_at) == 0)
                *size = job->left_at;
}

static int scan_found(LedgerJob *job, uint64_t size) {
        for (bool again = true; again;) {
                uint64_t at = job->own_start;
                int r;

                scan_deinit(&job->found);
                job->found = (Scan){.fd = job->file->fd,
                                    .at = at,
                                    .end = size,
                                    .index = job->index,
                                    .classify = job->place->classify};
                r = scan_run(&job->found);
                if (r)
                        return error_trace(r);
                again = job->found.is_tail_event;
                r = ledger_mend_tail(job->place, job->file->fd, &job->found, job->wall_us, &size,
                                     &job->n_cut);
                if (r)
                        return error_trace(r);
        }
        job->own_start = job->new_end = job->found.at;
        return 0;
}

int ledger_stand(const char *path, FileStand *ret) {
        int r = file_stand_at(AT_FDCWD, path, 0, ret);

        return r == -ENOENT ? 0 : error_trace(r);
}

int ledger_catch_up(LedgerJob *job) {
        FileStand stand;
        uint64_t size;
        int r = ledger_stand(job->place->path, &stand);

        if (r)
                return error_trace(r);
        size = stand.size;
        job->mode = stand.mode;
        if (job->file && stand.dev == job->file->dev && stand.ino == job->file->ino) {
                ledger_disk_take_back(job, &size);
                job->own_start = job->new_end = job->end;
                if (size == job->end && !job->is_index_broken)
                        return 0;
                if (size > job->end && !job->is_index_broken)
                        return error_trace(scan_found(job, size));
        }
        ledger_journal_close(job->journal, false); /* a load may use it up */
        r = ledger_load(job->place, job->index ? &job->index->key : NULL, job->wall_us, &job->load);
        job->is_reloaded = r == 0;
        job->own_start = job->new_end = job->load.end;
        return error_trace(r);
}

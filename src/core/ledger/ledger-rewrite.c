/* SPDX-License-Identifier: MIT */
/*
 * Taking lines out of a ledger, on a worker under the lock: the chosen ones are appended to the archive and
 * synced, all others are written to a new file, which then takes the ledger's place. A crash before the
 * rename leaves the ledger as it was (and perhaps lines in the archive twice); after it the work is
 * complete.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "core/ledger/ledger-internal.h"

typedef struct Rewrite {
        LedgerOutput kept, archived;
        const uint64_t *offsets; /* of lines that go, ascending */
        size_t n_offsets;
        bool is_archiving; /* the line whose pieces come */
        bool is_inside;
} Rewrite;

static int on_line(void *user, Str piece, uint64_t offset, bool is_end) {
        Rewrite *rewrite = user;

        if (!rewrite->is_inside) {
                rewrite->is_archiving = rewrite->n_offsets && rewrite->offsets[0] < offset + piece.n;
                rewrite->n_offsets -= rewrite->is_archiving;
                rewrite->offsets += rewrite->is_archiving;
        }
        rewrite->is_inside = !is_end;
        return error_trace(
                ledger_output_put(rewrite->is_archiving ? &rewrite->archived : &rewrite->kept, piece));
}

static int open_archive(const char *path, LedgerOutput *output) {
        _cleanup_(freep) char *dir = strdup(path);
        struct stat st;
        int r;

        if (!dir)
                return error_origin(-ENOMEM);
        if (strrchr(dir, '/'))
                *strrchr(dir, '/') = 0;
        r = dir_make(dir, 0700);
        if (r)
                return error_trace(r);
        output->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (output->fd < 0 || fstat(output->fd, &st) < 0)
                return error_origin(-errno);
        output->at = (uint64_t)st.st_size;
        return error_trace(dir_sync(dir)); /* before the ledger loses the lines, the archive has its name */
}

static int copy_lines(LedgerJob *job, Rewrite *rewrite) {
        _cleanup_(scan_deinit) Scan scan = {.fd = job->file->fd,
                                            .end = job->new_end,
                                            .line = on_line,
                                            .wants_holes = true,
                                            .user = rewrite};
        int r = scan_run(&scan);

        if (r == 0 && (scan.at != job->new_end || rewrite->n_offsets))
                r = error_origin(-ESTALE);
        if (r == 0)
                r = ledger_output_finish(&rewrite->archived);
        if (r == 0)
                r = ledger_output_finish(&rewrite->kept);
        return error_trace(r);
}

static int ledger_rewrite_replace(LedgerJob *job, Rewrite *rewrite) {
        _cleanup_(freep) char *temp = NULL;
        uint64_t archive_size;
        int r;

        r = open_archive(job->archive_path, &rewrite->archived);
        archive_size = rewrite->archived.at;
        if (r == 0)
                r = ledger_output_temp(&rewrite->kept, job->place->path, job->file->fd, &temp);
        if (r == 0)
                r = copy_lines(job, rewrite);
        if (r == 0)
                r = file_publish(temp, job->place->path, FILE_DURABLE);
        if (r && temp)
                (void)unlink(temp);
        if (r && rewrite->archived.fd >= 0)
                (void)ftruncate(rewrite->archived.fd, (off_t)archive_size);
        return error_trace(r);
}

void ledger_rewrite_run(LedgerJob *job) {
        Rewrite rewrite = {.kept.fd = -1,
                           .archived.fd = -1,
                           .offsets = (const uint64_t *)(void *)job->ranges.data,
                           .n_offsets = job->ranges.n / sizeof(uint64_t)};
        _cleanup_(closep) int lock = -1;

        job->r = ledger_lock_take(job->place, &lock);
        if (job->r == 0)
                job->r = ledger_catch_up(job);
        if (job->r == 0 && job->is_reloaded)
                job->r = error_origin(-ESTALE); /* the positions meant another file */
        if (job->r)
                return;
        job->r = ledger_rewrite_replace(job, &rewrite);
        if (job->r == 0) {
                job->r = ledger_load(job->place, &job->index->key, job->wall_us, &job->load);
                job->is_reloaded = job->r == 0;
                job->found.records.n = 0; /* they are in the new index */
                job->new_end = job->load.end;
                if (job->is_reloaded)
                        (void)ledger_chain_follow(job->place, job->load.file->fd, job->new_end, true);
        }
        ledger_output_deinit(&rewrite.kept);
        ledger_output_deinit(&rewrite.archived);
}

int ledger_rewrite(Ledger *ledger, const uint64_t *positions, size_t n, const char *archive_path,
                   void (*done)(void *user, int r), void *user) {
        LedgerJob *job;
        int r = 0;

        if (!ledger->is_open || ledger->is_closing)
                return error_origin(-ENOTCONN);
        if (ledger->rewrite)
                return error_origin(-EBUSY);
        job = ledger_job_new(ledger);
        if (!job)
                return error_origin(-ENOMEM);
        job->archive_path = strdup(archive_path);
        r = job->archive_path ? 0 : error_origin(-ENOMEM);
        for (size_t i = 0; r == 0 && i < n; i++) {
                if (positions[i] >= ledger_n_committed(ledger) || (i && positions[i] <= positions[i - 1]))
                        r = error_origin(-EINVAL);
                else {
                        uint64_t offset = index_entry(ledger->index, positions[i]).offset;

                        r = buf_append(&job->ranges, &offset, sizeof(offset));
                }
        }
        if (r == 0 && ledger_is_mending(ledger))
                r = error_origin(-ESTALE); /* the lines may be others than those that were meant */
        if (r) {
                ledger_job_free(job);
                return error_trace(r);
        }
        ledger->rewrite = job;
        ledger->rewrite_done = done;
        ledger->rewrite_user = user;
        ledger_kick(ledger);
        return 0;
}

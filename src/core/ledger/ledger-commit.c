/* SPDX-License-Identifier: MIT */
/*
 * A commit, on a worker. Order: lock, lines of others, new contents of files into temp files, own lines,
 * sync, renames, unlock. What is likely to fail (no space, a file that is not as expected) fails before the
 * first visible step.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "core/ledger/ledger-chain.h"
#include "core/ledger/ledger-internal.h"

static FileSync sync_of(const LedgerPlace *place) {
        return place->policy == LEDGER_COMMIT ? FILE_DURABLE : FILE_RUNTIME;
}

/* In our own folder, where a load finds what a crash left. */
static int stage_one(const LedgerPlace *place, LedgerReplacement *file) {
        _cleanup_(freep) char *stage_path = path_join(place->state_path, LEDGER_STAGE);
        FileIdentity now;
        struct stat st;
        mode_t mode;
        int r;

        if (!stage_path)
                return error_origin(-ENOMEM);
        r = file->has_expect ? file_identify(file->path, &now) : 0;
        if (r)
                return error_trace(r);
        if (file->has_expect && !file_identity_eq(&now, &file->expect))
                return error_origin(-ESTALE);
        mode = stat(file->path, &st) == 0 ? st.st_mode & 0700 : 0600;
        return error_trace(file_stage(stage_path, buf_str(&file->bytes), mode, sync_of(place), &file->temp));
}

static void ledger_commit_unstage(LedgerChange *change) {
        for (LedgerReplacement *file = change->files; file; file = file->next) {
                if (file->temp)
                        (void)unlink(file->temp);
                free(steal(&file->temp));
        }
}

static int ledger_commit_stage(const LedgerPlace *place, LedgerChange *change) {
        int r = change->prepare ? change->prepare(change) : 0;

        for (LedgerReplacement *file = change->files; r == 0 && file; file = file->next)
                r = stage_one(place, file);
        if (r)
                ledger_commit_unstage(change);
        return error_trace(r);
}

/* A change that cannot be prepared, or whose files cannot be had, fails alone; its lines are taken out of the bytes. Those
   that still have their own stand behind all others. There is room. */
static void stage_all(LedgerJob *job) {
        Buf *bytes = &job->group->bytes;
        size_t n_out = 0;

        for (LedgerChange *change = job->group->first; change; change = change->next) {
                change->r = ledger_commit_stage(job->place, change);
                if (change->r)
                        continue;
                if (change->bytes.n) {
                        memcpy(bytes->data + n_out, change->bytes.data, change->n_bytes);
                        buf_deinit(&change->bytes);
                } else if (n_out != change->start)
                        memmove(bytes->data + n_out, bytes->data + change->start, change->n_bytes);
                change->start = n_out;
                n_out += change->n_bytes;
        }
        bytes->n = n_out;
}

static bool has_files(const LedgerGroup *group) {
        for (const LedgerChange *change = group->first; change; change = change->next)
                if (change->files)
                        return true;
        return false;
}

/* In the journal, if that answers for all of it. */
static int sync_lines(LedgerJob *job, int fd, uint64_t ino) {
        if (job->place->policy != LEDGER_COMMIT || job->group->bytes.n == 0)
                return 0;
        job->has_synced = true;
        job->is_journaled = !has_files(job->group) &&
                            ledger_journal_put(job->journal, job->place, fd, ino, job->own_start,
                                               buf_str(&job->group->bytes)) == 0;
        if (job->is_journaled)
                return 0;
        if (fdatasync(fd) < 0)
                return error_origin(-errno);
        ledger_journal_synced(job->journal, ino, job->own_start + job->group->bytes.n);
        return 0;
}

/* From this offset on nothing of ours stays. If even that fails, the next commit tries again. */
static void ledger_commit_take_out(LedgerJob *job, int fd, uint64_t offset) {
        struct stat st;

        job->left_at = job->n_left = 0;
        if (ftruncate(fd, (off_t)offset) < 0 && fstat(fd, &st) == 0 && (uint64_t)st.st_size > offset) {
                job->left_at = offset;
                job->n_left = (uint64_t)st.st_size - offset;
        }
        if (job->place->policy == LEDGER_COMMIT && fdatasync(fd) == 0)
                ledger_journal_forget(job->journal, job->place);
}

static int ledger_commit_publish(const LedgerPlace *place, LedgerChange *change) {
        for (LedgerReplacement *file = change->files; file; file = file->next) {
                FileIdentity staged;
                int r = file_identify(file->temp, &staged);

                if (!r)
                        r = ledger_publish(file->temp, file->path, sync_of(place));
                if (!r && file->published)
                        r = file_identify(file->path, file->published);
                if (r)
                        return error_trace(r);
                if (file->published && file->published->ino != staged.ino)
                        *file->published = (FileIdentity){0};
                free(steal(&file->temp));
        }
        return 0;
}

/* Where a rename fails, that change and those behind it are taken back. */
static void publish_all(LedgerJob *job, int fd) {
        LedgerChange *change = job->group->first;
        int r = 0;

        for (; change && r == 0; change = r ? change : change->next)
                r = change->r ? 0 : ledger_commit_publish(job->place, change);
        if (r == 0)
                return;
        ledger_commit_take_out(job, fd, job->own_start + change->start);
        job->new_end = job->own_start + change->start;
        for (; change; change = change->next) {
                ledger_commit_unstage(change);
                change->r = change->r ? change->r : r;
        }
}

/* A file that others may read was made by others, or by us long ago. No fstat(2) here: see FileStand. */
static void ledger_commit_close_to_others(const LedgerJob *job, int fd) {
        if (job->mode & 077)
                (void)fchmod(fd, job->mode & 0700);
}

static void ledger_commit_commit(LedgerJob *job) {
        const LedgerFile *file = job->is_reloaded ? job->load.file : job->file;
        bool has_intent = false;
        int r, fd = file->fd;

        ledger_commit_close_to_others(job, fd);
        r = buf_reserve(&job->group->bytes, job->group->n_bytes - job->group->bytes.n);
        if (r == 0) {
                stage_all(job);
                r = has_files(job->group) ? ledger_intent_write(job, file->ino, &has_intent) : 0;
        }
        if (r == 0)
                r = file_write_at(fd, buf_str(&job->group->bytes), job->own_start);
        if (r == 0)
                r = sync_lines(job, fd, file->ino);
        if (r) {
                ledger_commit_take_out(job, fd, job->own_start);
                for (LedgerChange *change = job->group->first; change; change = change->next)
                        ledger_commit_unstage(change);
                if (has_intent)
                        ledger_intent_clear(job->place);
                job->r = error_trace(r);
                return;
        }
        job->new_end = job->own_start + job->group->bytes.n;
        publish_all(job, fd);
        if (has_intent)
                ledger_intent_clear(job->place);
}

/* The chain may be behind; then verification says so, and the next commit catches up. */
int ledger_chain_follow(const LedgerPlace *place, int fd, uint64_t end, bool is_new) {
        _cleanup_(freep) char *path = place->has_chain ? path_join(place->state_path, "chain") : NULL;

        return path ? error_trace(chain_extend(path, fd, end, is_new)) : 0;
}

void ledger_commit_run(LedgerJob *job) {
        _cleanup_(closep) int lock = -1;
        const LedgerFile *file;

        job->r = ledger_lock_take(job->place, &lock);
        if (job->r == -ENOENT) {
                job->r = dir_make(job->place->state_path, 0700);
                if (job->r == 0)
                        job->r = ledger_lock_take(job->place, &lock);
        }
        if (job->r == 0)
                job->r = ledger_catch_up(job);
        if (job->r)
                return;
        if (job->group)
                ledger_commit_commit(job);
        file = job->is_reloaded ? job->load.file : job->file;
        (void)ledger_chain_follow(job->place, file->fd, job->new_end, false);
}

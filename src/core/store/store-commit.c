/* SPDX-License-Identifier: MIT */
/*
 * A group commit, on a worker: lock of the others, expected states, seals, journal and its sync, the files.
 */
#include <errno.h>

#include "base/error.h"
#include "base/siphash.h"
#include "core/store/store-internal.h"

/* Hashes of the paths that changes of this group replace. */
static bool commit_has(const Buf *paths, uint64_t hash) {
        const uint64_t *all = (const uint64_t *)(const void *)paths->data;

        for (size_t i = 0; i < paths->n / sizeof(*all); i++)
                if (all[i] == hash)
                        return true;
        return false;
}

static uint64_t commit_hash(const char *path) {
        static const SipKey any = {3, 4};

        return siphash(any, str_from(path));
}

/* A step as it will be recorded: with the state that is there now. Of a file that only has to be named it need not be
 * looked at: the name is given to nothing that is there, and then the change is taken back. */
static int commit_look_at(StoreJob *job, StoreChange *change, Step *step, bool is_ahead, const Buf *paths) {
        FileIdentity now = {0};
        int r;

        if (commit_has(paths, commit_hash(step->path)) && step->head.has_expect)
                return error_origin(-ESTALE); /* a change before it in this group was faster */
        r = is_ahead ? 0 : store_identify(job->disk, step->path, &now, NULL);
        if (r)
                return error_trace(r);
        if (step->head.has_expect && !file_identity_eq(&now, &step->head.expect))
                return error_origin(-ESTALE);
        step->head.expect = now;
        memcpy(change->steps.data + step->offset, &step->head, sizeof(step->head));
        return 0;
}

static int commit_compare(StoreJob *job, StoreChange *change, Buf *paths) {
        const size_t n_before = paths->n;
        size_t at = 0, n_created = 0;
        Step step;
        int r = 0;

        while (r == 0 && step_next(buf_str(&change->steps), &at, &step)) {
                uint64_t hash = commit_hash(step.path);
                bool is_ahead = step.head.kind == STEP_CREATE && n_created < change->n_ahead &&
                                change->ahead[n_created] >= 0;

                n_created += step.head.kind == STEP_CREATE;
                if (step_is_content(&step) || step.head.kind == STEP_EXPECT)
                        r = commit_look_at(job, change, &step, is_ahead, paths);
                if (r == 0 && step_is_content(&step))
                        r = buf_append(paths, &hash, sizeof(hash));
        }
        if (r)
                paths->n = n_before;
        return error_trace(r);
}

static void commit_compare_all(StoreJob *job) {
        _cleanup_(buf_deinit) Buf paths = BUF_NULL;

        for (StoreChange *change = job->changes; change; change = change->next)
                change->r = commit_compare(job, change, &paths);
}

static bool commit_is_left(const StoreJob *job) {
        for (const StoreChange *change = job->changes; change; change = change->next)
                if (!change->r)
                        return true;
        return false;
}

/* Those behind a change that failed may build on it, by the hash of its event: they are tried again. */
static void commit_apply(StoreJob *job) {
        Str steps = {job->record.data + sizeof(RecordHead), job->record.n - sizeof(RecordHead)};
        uint64_t number = 0;
        int r = 0;

        for (StoreChange *change = job->changes; change; change = change->next, number++) {
                if (change->r)
                        continue;
                if (r == 0) {
                        r = store_apply(job->disk, steps, number, change);
                        change->r = r;
                } else
                        change->r = -EAGAIN;
                if (change->r) {
                        job->n_void++;
                        (void)store_disk_void(job->disk, number);
                }
        }
}

static void commit_group(StoreJob *job) {
        int r;

        commit_compare_all(job);
        if (!commit_is_left(job))
                return;
        r = store_seal(job);
        r = r ? r : store_disk_journal(job->disk, buf_str(&job->record), &job->is_staged);
        job->n_syncs++;
        if (r) {
                job->r = error_trace(r);
                return;
        }
        store_reach_forget(job->disk); /* the sync took its time */
        commit_apply(job);
        if (!job->n_void)
                store_seal_keep(job);
        if (job->is_staged)
                (void)store_disk_sync(job->disk);
}

/* Lines need no lock: those that want one wait without them. */
static bool commit_part(StoreJob *job) {
        bool is_any = false;

        for (StoreChange *change = job->changes; change; change = change->next) {
                change->r = change->needs_lock ? -EBUSY : 0;
                is_any |= !change->r;
        }
        job->has_lock_wait = true;
        return is_any;
}

static bool commit_needs_lock(const StoreJob *job) {
        for (const StoreChange *change = job->changes; change; change = change->next)
                if (change->needs_lock)
                        return true;
        return false;
}

/* The changes that wait for the lock are put aside for the others. */
static void commit_without_lock(StoreJob *job) {
        StoreChange *all = job->changes, *waiting = NULL, **last = &waiting, *free_ones = NULL,
                    **free_last = &free_ones;

        for (StoreChange *change = all, *next; change; change = next) {
                StoreChange ***end = change->r ? &last : &free_last;

                next = change->next;
                change->next = NULL;
                **end = change;
                *end = &change->next;
        }
        job->changes = free_ones;
        commit_group(job);
        *free_last = waiting;
        job->changes = free_ones ? free_ones : waiting;
}

void store_commit_run(StoreJob *job) {
        StoreLock lock = STORE_LOCK_NULL;
        int r;

        job->r = store_disk_own(job->disk, false, job->wall_us);
        if (job->r)
                return;
        r = commit_needs_lock(job) ? store_lock_take(&lock, job->disk, job->wall_us) : 0;
        if (r == STORE_E_LOCKED) {
                if (commit_part(job))
                        commit_without_lock(job);
                return;
        }
        if (r) {
                job->r = error_trace(r);
                return;
        }
        commit_group(job);
        store_lock_drop(&lock);
}

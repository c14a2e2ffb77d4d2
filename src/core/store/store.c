/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "core/store"
/*
 * The loop side of a store: what waits, which job comes next, who is told.
 */
#include "core/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/id.h"
#include "base/log/log.h"
#include "core/store/store-internal.h"

static void store_run_next(Deferred *deferred);

static bool store_take(Store *store) {
        return !atomic_exchange(&store->is_taken, true);
}

static void store_release(Store *store) {
        atomic_store(&store->is_taken, false);
}

static void store_fill_work(void *user) {
        Store *store = user;

        spares_fill(&store->spares, store->disk.root);
}

static void store_fill_done(void *user) {
        Store *store = user;

        store->is_filling = false;
        if (store->is_closing)
                deferred_schedule(&store->next);
}

/* Behind the answers: nobody waits for it. */
static void store_fill(Store *store) {
        if (!store->is_filling && !store->is_closing && spares_want_more(&store->spares))
                store->is_filling = !loop_work(store->loop, store_fill_work, store_fill_done, store);
}

static void store_kick(Store *store) {
        if (store->is_dirty && store->disk.policy != LEDGER_NONE && !timer_is_set(&store->sync_timer))
                (void)timer_set(&store->sync_timer, store->interval_ms);
        if (!store->job)
                deferred_schedule(&store->next);
}

static void store_on_sync_timer(Timer *timer) {
        Store *store = container_of(timer, Store, sync_timer);

        store->wants_sync = true;
        store_kick(store);
}

static void store_on_lock_timer(Timer *timer) {
        store_kick(container_of(timer, Store, lock_timer));
}

static StoreJob *store_job_drop(StoreJob *job) {
        if (job) {
                buf_deinit(&job->record);
                buf_deinit(&job->lines);
                buf_deinit(&job->ends);
                free(job);
        }
        return NULL;
}

/* The next job has its memory: what is printed fast comes in long records, and fresh pages cost more than what is done with them. */
static StoreJob *store_job_free(StoreJob *job) {
        Store *store = job->store;

        if (job->record.cap > STORE_RECORD_KEPT)
                return store_job_drop(job);
        store_job_drop(atomic_exchange(&store->spare_job, job));
        return NULL;
}

/* Any thread. */
static StoreJob *store_job_new(Store *store, StoreChange *changes, int64_t wall_us) {
        StoreJob *job = atomic_exchange(&store->spare_job, NULL);

        if (!job)
                job = calloc(1, sizeof(*job));
        if (job)
                *job = (StoreJob){.store = store,
                                  .disk = &store->disk,
                                  .wall_us = wall_us,
                                  .changes = changes,
                                  .record = {job->record.data, 0, job->record.cap},
                                  .lines = {job->lines.data, 0, job->lines.cap},
                                  .ends = {job->ends.data, 0, job->ends.cap}};
        return job;
}

/* What is kept for the next change goes when none has come for a while. */
static void store_on_idle_timer(Timer *timer) {
        Store *store = container_of(timer, Store, idle_timer);
        bool is_idle = store->n_seen == store->stats.n_commits && spares_drop_unused(&store->spares) &&
                       store_take(store);

        store->n_seen = store->stats.n_commits;
        if (!is_idle) {
                (void)timer_set(timer, STORE_IDLE_MS);
                return;
        }
        store_job_drop(atomic_exchange(&store->spare_job, NULL));
        journal_give_back(&store->disk.journal);
        store_release(store);
}

/* The caller has taken the store; where it fails it has to release it. */
static int store_job_start(Store *store, void (*run)(void *user), void (*done)(void *user),
                           StoreChange *changes) {
        StoreJob *job = store_job_new(store, changes, loop_wall_us(store->loop));
        int r = job ? loop_work(store->loop, run, done, job) : error_origin(-ENOMEM);

        if (r) {
                store_job_free(job);
                return error_trace(r);
        }
        store->job = job;
        return 0;
}

static void store_log_recovery(Store *store) {
        StoreDisk *disk = &store->disk;

        if (disk->n_restored)
                log_notice(loop_log(store->loop), store->path,
                           "put back what a crash had interrupted steps=%llu",
                           (unsigned long long)disk->n_restored);
        if (disk->n_aside)
                log_warning(loop_log(store->loop), store->path,
                            "other programs wrote where changes of ours were lost; ours are in " STORE_STATE
                            "/%s steps=%llu",
                            disk->cut, (unsigned long long)disk->n_aside);
        store->stats.n_restored += disk->n_restored;
        store->stats.n_aside += disk->n_aside;
        disk->n_restored = disk->n_aside = 0;
}

static void store_open_run(void *user) {
        StoreJob *job = user;
        struct stat st;

        if (fstat(job->disk->root, &st) < 0) {
                job->r = error_origin(-errno);
                return;
        }
        job->disk->dev = st.st_dev;
        job->disk->ino = st.st_ino;
        job->r = store_disk_own(job->disk, true, job->wall_us);
        store_reach_forget(job->disk);
}

/* What may only be read can be opened all the same. */
static void store_open_done(void *user) {
        StoreJob *job = user;
        Store *store = job->store;
        int r = job->r;

        store->job = store_job_free(job);
        store_release(store);
        store_log_recovery(store);
        if (r && r != -EWOULDBLOCK && r != -EACCES && r != -EROFS && r != -EPERM)
                log_err(loop_log(store->loop), store->path, "could not be recovered errno=%d", -r);
        else
                r = 0;
        store->is_open = r == 0;
        store->opened(store->user, r);
        store_kick(store);
}

static int store_copy_options(Store *store, const StoreOptions *options) {
        store->path = strdup(options->path);
        store->disk.root = fcntl(options->root, F_DUPFD_CLOEXEC, 0);
        if (!store->path || store->disk.root < 0)
                return error_origin(store->path ? -errno : -ENOMEM);
        return error_trace(random_bytes(&store->disk.stamp, sizeof(store->disk.stamp)));
}

static Store *store_free(Store *store) {
        spares_deinit(&store->spares);
        store_job_drop(atomic_load(&store->spare_job));
        store_disk_close(&store->disk);
        free(store->path);
        free(store);
        return NULL;
}

int store_open(Store **ret, const StoreOptions *options, void (*opened)(void *user, int r)) {
        Store *store = calloc(1, sizeof(*store));
        int r;

        if (!store)
                return error_origin(-ENOMEM);
        *store = (Store){.loop = options->loop,
                         .opened = opened,
                         .told = options->told,
                         .user = options->user,
                         .last = &store->first,
                         .interval_ms = STORE_SYNC_MS,
                         .is_taken = true,
                         .disk = {.root = -1,
                                  .state = -1,
                                  .lock = -1,
                                  .spare = -1,
                                  .journal = JOURNAL_NULL,
                                  .policy = options->policy,
                                  .step = options->step}};
        spares_init(&store->spares);
        if (options->policy == LEDGER_INTERVAL && options->interval_ms)
                store->interval_ms = options->interval_ms;
        r = store_copy_options(store, options);
        if (r) {
                store_free(store);
                return error_trace(r);
        }
        deferred_init(&store->next, store->loop, store_run_next);
        timer_init(&store->sync_timer, store->loop, store_on_sync_timer);
        timer_init(&store->lock_timer, store->loop, store_on_lock_timer);
        timer_init(&store->idle_timer, store->loop, store_on_idle_timer);
        r = store_job_start(store, store_open_run, store_open_done, NULL);
        if (r) {
                store_free(store);
                return error_trace(r);
        }
        *ret = store;
        return 0;
}

pid_t store_other(const Store *store) {
        return store->disk.is_foreign ? store->disk.other : 0;
}

bool store_is_idle(const Store *store) {
        return !atomic_load(&store->is_taken) && !store->first;
}

StoreStats store_stats(const Store *store) {
        return store->stats;
}

int store_change_commit(StoreChange *change) {
        Store *store = change->store;

        if (!store->is_open)
                return error_origin(-ENOTCONN);
        if (store->is_closing)
                return error_origin(-ESHUTDOWN);
        if (store->n_waiting + change->steps.n > STORE_WAITING_MAX)
                return error_origin(-ENOBUFS);
        change->next = NULL;
        change->since_ms = 0;
        *store->last = change;
        store->last = &change->next;
        store->n_waiting += change->steps.n;
        store_kick(store);
        return 0;
}

/* As many as fit into one record; at least one. */
static StoreChange *store_take_group(Store *store) {
        StoreChange *first = store->first, *change = first;
        size_t n = 0;

        while (change) {
                StoreChange *next = change->next;

                n += change->steps.n;
                store->n_waiting -= change->steps.n;
                if (!next || n + next->steps.n > STORE_GROUP_MAX / 2) { /* sealing makes them longer */
                        change->next = NULL;
                        store->first = next;
                        break;
                }
                change = next;
        }
        if (!store->first)
                store->last = &store->first;
        return first;
}

/* In front of those that came later. */
static void store_put_back(Store *store, StoreChange *change) {
        change->next = store->first;
        if (!store->first)
                store->last = &change->next;
        store->first = change;
        store->n_waiting += change->steps.n;
}

static void store_tell(Store *store, const StoreJob *job) {
        const StoreLine *line = (const StoreLine *)(const void *)job->lines.data;

        for (size_t i = 0; store->told && i < job->lines.n / sizeof(*line); i++)
                if (!line[i].change->r)
                        store->told(store->user, &line[i].told);
}

static void store_finish_change(Store *store, StoreChange *change, int r) {
        store->stats.n_changes += !r;
        store_change_deinit(change);
        change->done(change, r);
}

/* The lock of the others is waited for, but not for ever. */
static bool store_waits_on(Store *store, StoreChange *change) {
        int64_t now = loop_now_ms(store->loop);

        if (change->r == -EAGAIN)
                return true;
        if (change->r != -EBUSY)
                return false;
        if (!change->since_ms)
                change->since_ms = now;
        if (now - change->since_ms >= STORE_LOCK_MS) {
                change->r = -ETIMEDOUT;
                return false;
        }
        (void)timer_set(&store->lock_timer, STORE_LOCK_STEP_MS);
        return true;
}

static void store_answer(Store *store, StoreJob *job) {
        StoreChange *again = NULL;

        for (StoreChange *change = job->changes, *next; change; change = next) {
                next = change->next;
                if (!job->r && store_waits_on(store, change)) {
                        change->next = again;
                        again = change;
                        continue;
                }
                store_finish_change(store, change, job->r ? job->r : change->r);
        }
        for (StoreChange *next; again; again = next) { /* last first: their order stays */
                next = again->next;
                store_put_back(store, again);
        }
}

static void store_commit_work(void *user) {
        StoreJob *job = user;

        store_commit_run(job);
        store_reach_forget(job->disk);
}

/* Whether none of them has to be tried again, in front of those that wait. */
static bool store_is_settled(const StoreJob *job) {
        for (const StoreChange *change = job->changes; change; change = change->next)
                if (change->r == -EAGAIN || change->r == -EBUSY)
                        return false;
        return true;
}

static void store_commit_done(void *user) {
        StoreJob *job = user;
        Store *store = job->store;

        store->job = NULL;
        store_release(store);
        store_log_recovery(store);
        if (job->r && job->r != -EWOULDBLOCK)
                log_err(loop_log(store->loop), store->path, "commit failed errno=%d", -job->r);
        if (job->has_lock_wait)
                for (StoreChange *change = job->changes; change; change = change->next)
                        change->r = change->needs_lock && !job->r ? -EBUSY : change->r;
        store->stats.n_commits += job->n_syncs && !job->r;
        store->stats.n_syncs += job->n_syncs;
        store->stats.n_staged += job->is_staged;
        store->stats.n_void += job->n_void;
        store->is_dirty |= job->n_syncs > 0;
        store->wants_sync |= store->disk.journal.at > STORE_JOURNAL_SIZE / 2;
        if (store_is_settled(job))
                store_run_next(&store->next); /* the disk need not wait until all have their answers */
        if (!job->r)
                store_tell(store, job);
        store_answer(store, job);
        store_job_free(job);
        if (!timer_is_set(&store->idle_timer))
                (void)timer_set(&store->idle_timer, STORE_IDLE_MS);
        store_kick(store);
        store_fill(store);
}

bool store_change_commit_here(StoreChange *change, int64_t wall_us) {
        Store *store = change->store;

        if (!store_take(store))
                return false;
        change->next = NULL;
        change->since_ms = 0;
        change->job = store_job_new(store, change, wall_us);
        if (!change->job) {
                store_release(store);
                return false;
        }
        store_commit_work(change->job);
        return true;
}

void store_change_settle(StoreChange *change) {
        store_commit_done(steal(&change->job));
}

static void store_sync_work(void *user) {
        StoreJob *job = user;

        job->r = job->disk->journal.fd >= 0 ? store_disk_sync(job->disk) : 0;
        if (!job->r && !job->is_closing)
                job->r = store_disk_settle(job->disk);
        store_reach_forget(job->disk);
        if (job->is_closing)
                store_disk_close(job->disk);
}

static void store_sync_done(void *user) {
        StoreJob *job = user;
        Store *store = job->store;
        bool is_closing = job->is_closing;

        if (job->r)
                log_err(loop_log(store->loop), store->path, "sync failed errno=%d", -job->r);
        store->is_dirty |= job->r != 0 && !is_closing;
        store->job = store_job_free(job);
        store_release(store);
        if (!is_closing) {
                store_kick(store);
                return;
        }
        timer_clear(&store->sync_timer);
        timer_clear(&store->lock_timer);
        timer_clear(&store->idle_timer);
        deferred_cancel(&store->next);
        if (store->closed)
                store->closed(store->closed_user);
        store_free(store);
}

static void store_flush_work(void *user) {
        const Store *store = user;

        store_disk_flush(&store->disk);
}

static void store_flush_done(void *user) {
        Store *store = user;

        store->is_flushing = false;
        store->is_flushed = store->wants_sync = true;
        store_kick(store);
}

/* Commits go on meanwhile; for the sync that comes next they wait. */
static void store_start_flush(Store *store) {
        if (store->is_flushing || store->is_flushed || store->is_closing ||
            !store_disk_wants_flush(&store->disk))
                return;
        store->is_flushing = !loop_work_slow(store->loop, store_flush_work, store_flush_done, store);
}

static bool store_has_to_sync(Store *store) {
        if (store->is_closing && !store->first)
                return !store->is_flushing && !store->is_filling;
        if (!store->wants_sync || !store->is_dirty)
                return false;
        store_start_flush(store);
        return !store->is_flushing;
}

static void store_start_sync(Store *store) {
        store->wants_sync = store->is_dirty = store->is_flushed = false;
        timer_clear(&store->sync_timer);
        if (store_job_start(store, store_sync_work, store_sync_done, NULL)) {
                store_release(store);
                return;
        }
        store->job->is_closing = store->is_closing;
}

static void store_start_commit(Store *store) {
        StoreChange *changes = store_take_group(store);
        int r = store_job_start(store, store_commit_work, store_commit_done, changes);

        if (r)
                store_release(store);
        for (StoreChange *next; r && changes; changes = next) {
                next = changes->next;
                store_finish_change(store, changes, r);
        }
}

static bool store_is_waiting(const Store *store) {
        return store->first && timer_is_set(&store->lock_timer) && store->first->since_ms;
}

/* Who has taken it calls this again by its end. */
static void store_run_next(Deferred *deferred) {
        Store *store = container_of(deferred, Store, next);
        bool has_to_sync;

        if (!store_take(store))
                return;
        has_to_sync = store_has_to_sync(store);
        if (store->first && !store_is_waiting(store))
                store_start_commit(store);
        else if (has_to_sync)
                store_start_sync(store);
        else
                store_release(store);
}

void store_close(Store *store, void (*closed)(void *user), void *user) {
        store->closed = closed;
        store->closed_user = user;
        store->is_closing = true;
        store_kick(store);
}

void store_end(Store *store) {
        timer_clear(&store->sync_timer);
        timer_clear(&store->lock_timer);
        timer_clear(&store->idle_timer);
        deferred_cancel(&store->next);
        if (atomic_load(&store->is_taken) || store->is_flushing || store->is_filling)
                return; /* a worker that did not come back in time has it */
        if (store->disk.journal.fd >= 0)
                (void)store_disk_sync(&store->disk);
        store_free(store);
}

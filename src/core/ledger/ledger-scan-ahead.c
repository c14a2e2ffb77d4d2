/* SPDX-License-Identifier: MIT */
/*
 * A scan on two threads: one reads and parses, the other (the caller's) takes what was found into the index.
 * For making an index anew, where both sides cost about the same.
 */
#include <errno.h>
#include <pthread.h>

#include "base/error.h"
#include "core/ledger/ledger-scan.h"

enum { BATCHES = 2 }; /* so far one may be ahead of the other */

typedef struct Batch {
        Buf records;
        uint64_t at, n_damaged;
} Batch;

typedef struct Ahead {
        Scan scan; /* of the thread that parses */
        int r;
        pthread_mutex_t lock;
        pthread_cond_t changed;
        Batch batches[BATCHES];
        size_t first, n;
        bool is_over, is_given_up;
} Ahead;

/* Called by the scan: hands its records over against an empty buffer. */
static int ledger_scan_ahead_push(void *user, Buf *records) {
        Ahead *ahead = user;
        bool is_given_up;

        pthread_mutex_lock(&ahead->lock);
        while (ahead->n == BATCHES && !ahead->is_given_up)
                pthread_cond_wait(&ahead->changed, &ahead->lock);
        is_given_up = ahead->is_given_up;
        if (!is_given_up) {
                Batch *batch = &ahead->batches[(ahead->first + ahead->n++) % BATCHES];
                Buf empty = batch->records;

                *batch = (Batch){
                        .records = *records, .at = ahead->scan.at, .n_damaged = ahead->scan.n_damaged};
                *records = empty;
                records->n = 0;
        }
        pthread_cond_signal(&ahead->changed);
        pthread_mutex_unlock(&ahead->lock);
        return is_given_up ? -ECANCELED : 0;
}

static void *ledger_scan_ahead_run(void *user) {
        Ahead *ahead = user;
        int r = scan_run(&ahead->scan);

        pthread_mutex_lock(&ahead->lock);
        ahead->r = r;
        ahead->is_over = true;
        pthread_cond_signal(&ahead->changed);
        pthread_mutex_unlock(&ahead->lock);
        return NULL;
}

/* The oldest batch; NULL: there will be none. It stays in its place until ledger_scan_ahead_drop(). */
static Batch *wait_for_batch(Ahead *ahead) {
        Batch *batch;

        pthread_mutex_lock(&ahead->lock);
        while (ahead->n == 0 && !ahead->is_over)
                pthread_cond_wait(&ahead->changed, &ahead->lock);
        batch = ahead->n ? &ahead->batches[ahead->first] : NULL;
        pthread_mutex_unlock(&ahead->lock);
        return batch;
}

static void ledger_scan_ahead_drop(Ahead *ahead, bool is_given_up) {
        pthread_mutex_lock(&ahead->lock);
        ahead->first = (ahead->first + 1) % BATCHES;
        ahead->n--;
        ahead->is_given_up |= is_given_up;
        pthread_cond_signal(&ahead->changed);
        pthread_mutex_unlock(&ahead->lock);
}

static int ledger_scan_ahead_take_all(Ahead *ahead, Scan *scan) {
        Batch *batch;
        int r = 0;

        while ((batch = wait_for_batch(ahead))) {
                scan->taken_at = batch->at;
                scan->taken_damaged = batch->n_damaged;
                if (r == 0)
                        r = scan->take(scan->user, &batch->records);
                batch->records.n = 0;
                ledger_scan_ahead_drop(ahead, r != 0);
        }
        return error_trace(r);
}

int scan_run_ahead(Scan *scan) {
        Ahead ahead = {
                .scan = *scan, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
        const Scan asked = *scan;
        pthread_t thread;
        int r;

        ahead.scan.take = ledger_scan_ahead_push;
        ahead.scan.user = &ahead;
        if (pthread_create(&thread, NULL, ledger_scan_ahead_run, &ahead))
                return error_trace(scan_run(scan));
        r = ledger_scan_ahead_take_all(&ahead, scan);
        pthread_join(thread, NULL);
        ahead.scan.taken_at = scan->taken_at;
        ahead.scan.taken_damaged = scan->taken_damaged;
        *scan = ahead.scan;
        scan->take = asked.take;
        scan->user = asked.user;
        for (size_t i = 0; i < BATCHES; i++)
                buf_deinit(&ahead.batches[i].records);
        return error_trace(r ? r : ahead.r);
}

/* SPDX-License-Identifier: MIT */
/*
 * Moving what has gathered on the heap into the index file while the ledger is served. The young segment is
 * frozen and a new one takes its place; a worker writes file and frozen segment as one new file; the loop
 * then puts that in the place of both. Freeing many small lists takes time too, so workers do it.
 */
#define LOG_MODULE "core/ledger"
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/log/log.h"
#include "core/ledger/ledger-internal.h"

struct LedgerMerge {
        Ledger *ledger;
        LedgerFile *file;
        char *path;
        const Segment *base, *frozen; /* base: NULL if there was no file */
        SipKey key;
        Buf kinds;
        IndexStand stand;
        Index *orphan; /* a rewrite has put another index in place of this one, which it still reads */
        Segment *result;
        int r;
};

typedef struct Retired {
        Ledger *ledger;
        Index *index;
        Segment *segments[2];
} Retired;

static void retire_work(void *user) {
        Retired *retired = user;

        index_free(retired->index);
        segment_free(retired->segments[0]);
        segment_free(retired->segments[1]);
        malloc_trim(0);
}

static void retire_done(void *user) {
        Ledger *ledger = ((Retired *)user)->ledger;

        free(user);
        ledger->n_retiring--;
        ledger_kick(ledger);
}

static void retire(Ledger *ledger, Index *index, Segment *a, Segment *b) {
        Retired here = {ledger, index, {a, b}}, *retired = malloc(sizeof(*retired));

        if (retired)
                *retired = here;
        if (retired && loop_work(ledger->loop, retire_work, retire_done, retired) == 0) {
                ledger->n_retiring++;
                return;
        }
        free(retired);
        retire_work(&here);
}

void ledger_retire_index(Ledger *ledger, Index *index) {
        if (ledger->merge)
                ledger->merge->orphan = index;
        else if (index)
                retire(ledger, index, NULL, NULL);
}

static void merge_free(LedgerMerge *merge) {
        ledger_file_unref(merge->file);
        buf_deinit(&merge->kinds);
        free(merge->path);
        free(merge);
}

static void merge_work(void *user) {
        LedgerMerge *merge = user;

        merge->r = index_file_write(merge->path, merge->file->fd, merge->key, merge->base, merge->frozen,
                                    &merge->kinds, &merge->stand);
        if (merge->r == 0)
                merge->r = index_file_map(merge->path, &merge->result);
}

static void merge_done(void *user) {
        LedgerMerge *merge = user;
        Ledger *ledger = merge->ledger;
        Index *index = ledger->index;

        ledger->merge = NULL;
        if (merge->orphan) {
                retire(ledger, merge->orphan, merge->result, NULL);
        } else if (merge->r == 0) {
                retire(ledger, NULL, (Segment *)merge->base, (Segment *)merge->frozen);
                index->segments[1] = index->segments[index->n_segments - 1];
                index->segments[0] = merge->result;
                index->n_segments = 2;
        } else {
                log_warning(loop_log(ledger->loop), ledger->place.path, "cannot write the index errno=%d",
                            -merge->r);
        }
        merge_free(merge);
        ledger_kick(ledger);
}

/* The young segment becomes the frozen one. */
static int freeze(Ledger *ledger) {
        Index *index = ledger->index;
        Segment *young = segment_new(index_n(index));

        if (!young)
                return error_origin(-ENOMEM);
        index->segments[index->n_segments++] = young;
        ledger->frozen = (IndexStand){
                .ino = ledger->file->ino, .end = ledger->end, .n_damaged = ledger->stats.n_damaged};
        return 0;
}

static LedgerMerge *merge_new(Ledger *ledger) {
        LedgerMerge *merge = calloc(1, sizeof(*merge));
        Index *index = ledger->index;

        if (!merge)
                return NULL;
        merge->path = path_join(ledger->place.state_path, "index");
        if (!merge->path || index_kinds_text(index, &merge->kinds)) {
                buf_deinit(&merge->kinds);
                free(merge->path);
                free(merge);
                return NULL;
        }
        merge->ledger = ledger;
        merge->file = ledger_file_ref(ledger->file);
        merge->key = index->key;
        merge->stand = ledger->frozen;
        merge->frozen = index->segments[index->n_segments - 2];
        merge->base = index->n_segments == 3 ? index->segments[0] : NULL;
        return merge;
}

void ledger_merge_if_due(Ledger *ledger) {
        Index *index = ledger->index;
        Segment *live = index->segments[index->n_segments - 1];
        LedgerMerge *merge;

        if (ledger->merge || index_is_broken(index) || live->n < LEDGER_MERGE_LIVE ||
            live->n < live->start / 8)
                return;
        if (index->n_segments < LEDGER_SEGMENTS && freeze(ledger))
                return; /* after the next commit, then */
        merge = merge_new(ledger);
        if (!merge)
                return;
        if (loop_work(ledger->loop, merge_work, merge_done, merge))
                merge_free(merge);
        else
                ledger->merge = merge;
}

/* SPDX-License-Identifier: MIT */
/*
 * Reading a whole ledger, on a worker and under the lock: finish what a crash interrupted, take the index if
 * it fits, read the rest.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "core/ledger/ledger-index-file.h"
#include "core/ledger/ledger-internal.h"

enum { PREFETCH = 8, AHEAD = 8 * 1024 * 1024 }; /* from so many bytes on two threads are worth it */

LedgerFile *ledger_file_ref(LedgerFile *file) {
        file->n_refs++;
        return file;
}

LedgerFile *ledger_file_unref(LedgerFile *file) {
        if (file && --file->n_refs == 0) {
                close_fd(file->fd);
                free(file);
        }
        return NULL;
}

static int ledger_load_open_file(const char *path, LedgerFile **ret, uint64_t *ret_size) {
        _cleanup_(closep) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
        LedgerFile *file;
        struct stat st;
        int r;

        if (fd < 0)
                return error_origin(-errno);
        if (fstat(fd, &st) < 0)
                return error_origin(-errno);
        if (!S_ISREG(st.st_mode))
                return error_origin(-EINVAL);
        r = st.st_size ? 0 : file_sync_name(path); /* it may be new */
        if (r)
                return error_trace(r);
        file = malloc(sizeof(*file));
        if (!file)
                return error_origin(-ENOMEM);
        *file = (LedgerFile){.n_refs = 1, .fd = fd, .dev = st.st_dev, .ino = st.st_ino};
        fd = -1;
        *ret = file;
        *ret_size = (uint64_t)st.st_size;
        return 0;
}

/* A load under way: what was read so far goes into the index file now and then, so that memory stays
 * bounded. */
typedef struct Loading {
        LedgerLoad *load;
        Scan scan;
        char *index_path;
        LedgerReading *reading;
        uint64_t n_damaged; /* before this scan */
} Loading;

/* The index is only a help: that it cannot be written is no reason to fail. */
static void persist(Loading *loading, uint32_t n_least) {
        LedgerLoad *load = loading->load;
        Index *index = load->index;
        IndexStand stand = {.ino = load->file->ino,
                            .end = loading->scan.taken_at,
                            .n_damaged = loading->n_damaged + loading->scan.taken_damaged};

        if (index->segments[index->n_segments - 1]->n >= n_least)
                (void)index_persist(index, loading->index_path, load->file->fd, &stand);
}

static int ledger_load_take_records(void *user, Buf *records) {
        Loading *loading = user;
        Index *index = loading->load->index;
        size_t at = 0, ahead = 0;
        const Record *record;
        int r = 0;

        for (int i = 0; i < PREFETCH && (record = record_next(records, &ahead)); i++)
                index_prefetch(index, record);
        while (r == 0 && (record = record_next(records, &at))) {
                const Record *later = record_next(records, &ahead);

                if (later)
                        index_prefetch(index, later);
                r = index_append(index, record);
        }
        records->n = 0;
        if (loading->reading)
                loading->reading->done = loading->scan.taken_at;
        if (r == 0)
                persist(loading, LEDGER_MERGE_LOADING);
        return error_trace(r);
}

static int load_rest(const LedgerPlace *place, int64_t wall_us, Loading *loading, uint64_t *size) {
        LedgerLoad *load = loading->load;
        Scan *scan = &loading->scan;
        int r;

        *scan = (Scan){.fd = load->file->fd,
                       .at = load->end,
                       .end = *size,
                       .index = load->index,
                       .classify = place->classify,
                       .take = ledger_load_take_records,
                       .user = loading,
                       .taken_at = load->end};
        loading->n_damaged = load->n_damaged;
        if (loading->reading) {
                loading->reading->done = load->end;
                loading->reading->all = *size;
        }
        r = *size - load->end > AHEAD ? scan_run_ahead(scan) : scan_run(scan);
        if (r == 0)
                r = ledger_mend_tail(place, load->file->fd, scan, wall_us, size, &load->n_cut);
        load->n_scanned += scan->at - load->end;
        load->n_damaged += scan->n_damaged;
        for (size_t i = 0; i < scan->n_damage && load->n_damage < SCAN_DAMAGE_MAX; i++)
                load->damage[load->n_damage++] = scan->damage[i];
        load->end = scan->at;
        scan_deinit(scan);
        return error_trace(r);
}

/* Reads from load->end to the end of the file into the index; again for a line that only lacked its newline.
 */
static int load_tail(const LedgerPlace *place, int64_t wall_us, LedgerLoad *load, uint64_t size) {
        Loading loading = {.load = load,
                           .index_path = path_join(place->state_path, "index"),
                           .reading = place->reading};
        int r = loading.index_path ? 0 : error_origin(-ENOMEM);

        do {
                if (r == 0)
                        r = load_rest(place, wall_us, &loading, &size);
        } while (r == 0 && load->end < size);
        if (r == 0)
                persist(&loading, LEDGER_MERGE_OPEN);
        free(loading.index_path);
        return error_trace(r);
}

/* From the index file, or an empty one. */
static int load_index(const LedgerPlace *place, const SipKey *key, int64_t believed_us, LedgerLoad *load,
                      uint64_t size) {
        _cleanup_(freep) char *path = path_join(place->state_path, "index");
        IndexStand stand;
        int r;

        if (!path)
                return error_origin(-ENOMEM);
        r = index_file_open(path, load->file->fd, size, key, &load->index, &stand);
        if (!r && load->index->max_ts_us > believed_us) { /* made while the clock was wrong */
                load->index = index_free(load->index);
                r = INDEX_FILE_E_UNUSABLE;
        }
        if (r == INDEX_FILE_E_UNUSABLE) {
                r = index_new(&load->index, key);
                if (!r)
                        load->index->believed_us = believed_us;
                return error_trace(r);
        }
        if (r)
                return error_fold(r);
        load->index->believed_us = believed_us;
        load->end = stand.end;
        load->n_damaged = stand.n_damaged;
        load->is_index_loaded = true;
        return 0;
}

void ledger_load_deinit(LedgerLoad *load) {
        load->index = index_free(load->index);
        load->file = ledger_file_unref(load->file);
}

static int size_of(int fd, uint64_t *ret) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return error_origin(-errno);
        *ret = (uint64_t)st.st_size;
        return 0;
}

int ledger_load(const LedgerPlace *place, const SipKey *key, int64_t wall_us, LedgerLoad *load) {
        uint64_t size = 0;
        int r;

        *load = (LedgerLoad){0};
        r = ledger_load_open_file(place->path, &load->file, &size);
        if (r == 0)
                r = ledger_journal_recover(place, load->file->fd, load->file->ino, wall_us, false,
                                           &load->journal);
        if (r == 0 && load->journal.n_restored)
                r = size_of(load->file->fd, &size);
        if (r == 0 && !place->is_lines_only)
                ledger_intent_recover(place, load->file);
        if (r == 0)
                r = load_index(place, key, ledger_believed_us(wall_us), load, size);
        if (r == 0)
                r = load_tail(place, wall_us, load, size);
        if (r)
                ledger_load_deinit(load);
        return error_trace(r);
}

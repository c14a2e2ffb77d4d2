/* SPDX-License-Identifier: MIT */
/*
 * Making the file anew, beside the old one: one thread walks, reads and parses, the other (the caller's)
 * fills. Rows come in the order of the keys, indexes are made last, and the journal is in memory, since nobody
 * sees the file before it is whole. Meanwhile SQLite has a larger cache than later, which indexes are made from.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "company/index/index-internal.h"

enum { REBUILD_PAGE = 16384 };

typedef struct Rebuild {
        Index *index;
        IndexReport *report;
        Sql *sql;
        IndexReader reader; /* of the thread that reads, and so is the map */
        IndexMap map;
        bool is_contested;
        pthread_mutex_t lock;
        pthread_cond_t changed;
        IndexRows batches[INDEX_BATCHES]; /* first … first + n - 1 are full, the next one is being filled */
        size_t first, n;
        bool is_over, is_given_up;
        int r;
} Rebuild;

/* ---- the thread that reads ------------------------------------------------------------------- */

/* Hands the batch over against an empty one; waits while none is free. */
static int rebuild_full(void *user, IndexRows **rows) {
        Rebuild *rebuild = user;
        bool is_given_up;

        pthread_mutex_lock(&rebuild->lock);
        rebuild->n++;
        pthread_cond_broadcast(&rebuild->changed);
        while (rebuild->n == INDEX_BATCHES && !rebuild->is_given_up)
                pthread_cond_wait(&rebuild->changed, &rebuild->lock);
        is_given_up = rebuild->is_given_up;
        *rows = &rebuild->batches[(rebuild->first + rebuild->n) % INDEX_BATCHES];
        pthread_mutex_unlock(&rebuild->lock);
        if (!is_given_up)
                index_rows_reset(*rows);
        return is_given_up ? -ECANCELED : 0;
}

static int rebuild_found(void *user, const IndexFile *found) {
        Rebuild *rebuild = user;
        IndexFile file = *found;
        IndexEntry *entry = index_map_put(&rebuild->map, file.path);
        int r = entry ? index_off(rebuild->index) : error_origin(-ENOMEM);

        if (r)
                return r;
        rebuild->report->n_looked++;
        r = index_read(&rebuild->reader, &file);
        if (r)
                return error_trace(r);
        entry->identity = file.identity;
        entry->n_lines = file.n_lines;
        entry->n_bytes = file.n_bytes;
        entry->tail = file.tail;
        if (rebuild->reader.rows->arena.n_total > INDEX_BATCH_BYTES)
                return rebuild_full(rebuild, &rebuild->reader.rows);
        return 0;
}

static void *rebuild_read(void *user) {
        Rebuild *rebuild = user;
        int r;

        rebuild->reader.rows = &rebuild->batches[0];
        r = index_walk(rebuild->index->root, INDEX_AREA_TABLES, NULL, rebuild_found, rebuild);
        pthread_mutex_lock(&rebuild->lock);
        if (!r)
                rebuild->n++;
        rebuild->r = r;
        rebuild->is_over = true;
        pthread_cond_broadcast(&rebuild->changed);
        pthread_mutex_unlock(&rebuild->lock);
        return NULL;
}

/* ---- the thread that fills ------------------------------------------------------------------- */

/* The oldest batch; NULL: there will be none. */
static IndexRows *rebuild_wait(Rebuild *rebuild) {
        IndexRows *rows;

        pthread_mutex_lock(&rebuild->lock);
        while (!rebuild->n && !rebuild->is_over)
                pthread_cond_wait(&rebuild->changed, &rebuild->lock);
        rows = rebuild->n ? &rebuild->batches[rebuild->first] : NULL;
        pthread_mutex_unlock(&rebuild->lock);
        return rows;
}

static void rebuild_drop(Rebuild *rebuild, bool is_given_up) {
        pthread_mutex_lock(&rebuild->lock);
        rebuild->first = (rebuild->first + 1) % INDEX_BATCHES;
        rebuild->n--;
        rebuild->is_given_up |= is_given_up;
        pthread_cond_broadcast(&rebuild->changed);
        pthread_mutex_unlock(&rebuild->lock);
}

static int rebuild_fill(Rebuild *rebuild) {
        IndexRows *rows;
        int r = 0;

        while ((rows = rebuild_wait(rebuild))) {
                if (!r)
                        r = index_fill(rebuild->sql, rows, rebuild->report->n_added, &rebuild->is_contested);
                rebuild_drop(rebuild, r);
        }
        return r;
}

static int rebuild_both(Rebuild *rebuild) {
        pthread_t thread;
        int r;

        if (pthread_create(&thread, NULL, rebuild_read, rebuild))
                return error_origin(-EAGAIN);
        r = rebuild_fill(rebuild);
        pthread_join(thread, NULL);
        return r ? r : rebuild->r;
}

/* ---- the file -------------------------------------------------------------------------------- */

static int rebuild_tables(Rebuild *rebuild) {
        char meta[160];
        int r = sql_run(rebuild->sql, "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF;"
                                      "PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-24000;" /* KiB */
                                      "BEGIN EXCLUSIVE");

        if (!r)
                r = sql_run(rebuild->sql, index_schema);
        if (!r)
                r = rebuild_both(rebuild);
        if (!r)
                r = index_off(rebuild->index);
        if (!r)
                r = sql_run(rebuild->sql, index_indexes);
        if (!r)
                r = index_sum_up(rebuild->sql);
        if (!r)
                r = index_count_agents(rebuild->sql);
        snprintf(meta, sizeof(meta), "INSERT INTO muster_meta VALUES('version',%d),('contested',%d); COMMIT",
                 INDEX_VERSION, rebuild->is_contested);
        return r ? r : sql_run(rebuild->sql, meta);
}

/* In the place of the old one. That goes first, with what belongs to it: a journal that was left behind would
 * be rolled back into the new one. */
static int rebuild_publish(const char *temp, const char *path) {
        static const char *const endings[] = {"", "-journal", "-wal", "-shm"};
        char name[4096];

        for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
                snprintf(name, sizeof(name), "%s%s", path, endings[i]);
                if (unlink(name) && errno != ENOENT)
                        return error_origin(-errno);
        }
        return rename(temp, path) ? error_origin(-errno) : 0;
}

static int rebuild_make(Rebuild *rebuild, const char *temp) {
        int r;

        if (unlink(temp) && errno != ENOENT)
                return error_origin(-errno);
        r = sql_open(&rebuild->sql, temp, &(SqlOptions){.creates = true, .page = REBUILD_PAGE});
        if (!r)
                r = rebuild_tables(rebuild);
        if (!r)
                r = index_count(rebuild->sql, rebuild->report->n_total);
        if (r > 0)
                snprintf(rebuild->index->why, sizeof(rebuild->index->why), "%s",
                         rebuild->sql ? sql_why(rebuild->sql) : "no file can be made");
        rebuild->sql = sql_close(rebuild->sql);
        malloc_trim(0); /* its large cache goes back to the system */
        if (r > 0)      /* of a file that nobody else knows */
                r = r == SQL_E_BUSY ? INDEX_E_BUSY : error_origin(-EIO);
        if (r)
                (void)unlink(temp);
        return r;
}

/* What was read is what is in the file that now stands there. */
static int rebuild_adopt(Rebuild *rebuild) {
        Index *index = rebuild->index;
        Sql *sql = NULL;
        int r = index_look(index, &sql);

        if (!r)
                r = index_result(index, sql_number(sql, "PRAGMA data_version", &index->version));
        if (!r)
                r = index_result(index, sql_number(sql, index_running, &index->n_running));
        if (r)
                return r == INDEX_E_MISSING ? error_origin(-EIO) : r;
        index->parts[INDEX_AREA_TABLES].map = rebuild->map;
        rebuild->map = (IndexMap){0};
        memcpy(index->n_total, rebuild->report->n_total, sizeof(index->n_total));
        index->is_contested = rebuild->is_contested;
        index->is_loaded = true;
        return 0;
}

static int rebuild_run(Rebuild *rebuild) {
        _cleanup_(freep) char *path = NULL, *temp = NULL;
        Index *index = rebuild->index;
        int r = index_place(index, true, "index.sqlite", &path);

        if (!r)
                r = index_place(index, true, ".index.sqlite.new", &temp);
        if (r)
                return error_fold(r);
        rebuild->report->is_created = access(path, F_OK) != 0;
        index_shut(index);
        r = index_mark(index);
        if (!r)
                r = rebuild_make(rebuild, temp);
        if (!r)
                r = rebuild_publish(temp, path);
        return r ? r : rebuild_adopt(rebuild);
}

int index_rebuild(Index *index, IndexReport *report) {
        Rebuild rebuild = {.index = index,
                           .report = report,
                           .lock = PTHREAD_MUTEX_INITIALIZER,
                           .changed = PTHREAD_COND_INITIALIZER};
        int r;

        *report = (IndexReport){.is_rebuilt = true};
        for (size_t i = 0; i < INDEX_BATCHES; i++)
                index_rows_init(&rebuild.batches[i]);
        rebuild.reader = (IndexReader){.root = index->root, .full = rebuild_full, .user = &rebuild};
        r = index_off(index);
        if (!r)
                r = rebuild_run(&rebuild);
        report->n_read = rebuild.reader.n_read;
        report->n_bytes = rebuild.reader.n_bytes;
        if (index->work) {
                atomic_fetch_add(&index->work->n_rebuilds, 1);
                atomic_fetch_add(&index->work->n_looked, report->n_looked);
                atomic_fetch_add(&index->work->n_read, report->n_read);
        }
        index_reader_deinit(&rebuild.reader);
        index_map_deinit(&rebuild.map);
        for (size_t i = 0; i < INDEX_BATCHES; i++)
                index_rows_deinit(&rebuild.batches[i]);
        if (!r)
                index_read_waiting(index, report);
        return r;
}

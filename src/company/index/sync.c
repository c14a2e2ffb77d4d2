/* SPDX-License-Identifier: MIT */
/*
 * Bringing the tables up to date: files that may have changed are looked at, those that are not as they were are
 * read, and the rows of those that are gone go. All in one transaction; without anything new there is none.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "company/index/index-internal.h"

enum { SYNC_AGENTS_MAX = 64 }; /* counted one by one; with more, all counters are made anew */
enum { SYNC_E_AGAIN = 100 };   /* this cannot be told from the changes: by a rebuild */

typedef struct Sync {
        Index *index;
        IndexArea area;
        struct IndexPart *part; /* of that */
        IndexReport *report;
        Arena arena;      /* of what was found */
        IndexFile *files; /* that have changed or are new */
        size_t n, n_room;
        size_t n_seen; /* of those that are remembered */
        IndexEntry **gone;
        size_t n_gone;
        IndexReader reader;
        IndexRows rows;
        Str agents[SYNC_AGENTS_MAX];
        size_t n_agents; /* SYNC_AGENTS_MAX + 1: all */
} Sync;

/* ---- looking --------------------------------------------------------------------------------- */

static int sync_push(Sync *sync, const IndexFile *file) {
        IndexFile copy = *file;

        if (sync->n == sync->n_room) {
                IndexFile *more = realloc(
                        sync->files, (sync->n_room = sync->n_room ? 2 * sync->n_room : 64) * sizeof(*more));

                if (!more)
                        return error_origin(-ENOMEM);
                sync->files = more;
        }
        copy.path = arena_str(&sync->arena, file->path);
        if (!copy.path.data || !index_file_of(copy.path, &copy))
                return error_origin(-ENOMEM);
        copy.identity = file->identity;
        sync->files[sync->n++] = copy;
        return 0;
}

static int sync_found(void *user, const IndexFile *file) {
        Sync *sync = user;
        IndexEntry *entry = index_map_find(&sync->part->map, file->path);

        sync->report->n_looked++;
        if (entry) {
                entry->seen = sync->index->walk;
                sync->n_seen++;
                if (file_identity_eq(&entry->identity, &file->identity))
                        return 0;
        }
        return sync_push(sync, file);
}

/* Those that a walk has not met. */
static int sync_find_gone(Sync *sync) {
        const IndexMap *map = &sync->part->map;
        const size_t n = map->n - sync->n_seen;

        sync->gone = n ? arena_alloc(&sync->arena, n * sizeof(*sync->gone)) : NULL;
        if (n && !sync->gone)
                return error_origin(-ENOMEM);
        for (size_t i = 0; i < map->n_slots && sync->n_gone < n; i++) {
                IndexEntry *entry = map->slots[i];

                if (entry && entry->n_path && entry->seen != sync->index->walk)
                        sync->gone[sync->n_gone++] = entry;
        }
        return 0;
}

static int64_t sync_now_ms(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Looks at every file. When there are many they are watched from here on. */
static int sync_walk(Sync *sync) {
        IndexWatch *watch = &sync->part->watch;
        int r;

        sync->index->walk++;
        if (sync->index->work)
                atomic_fetch_add(&sync->index->work->n_walks, 1);
        index_watch_end(watch);
        if (sync->part->map.n >= sync->index->watch_min)
                index_watch_begin(watch, sync->index->root);
        watch->walked_ms = sync_now_ms();
        r = index_walk(sync->index->root, sync->area, watch, sync_found, sync);
        if (!r)
                r = sync_find_gone(sync);
        if (r)
                index_watch_end(watch);
        return error_trace(r);
}

/* Looks at what was told since. SYNC_E_AGAIN: that is not enough. */
static int sync_told(Sync *sync) {
        IndexWatch *watch = &sync->part->watch;
        IndexPaths paths;
        int r;

        if (watch->fd < 0 || sync_now_ms() - watch->walked_ms >= INDEX_WALK_MS)
                return SYNC_E_AGAIN;
        r = index_watch_read(watch, &sync->arena, &paths);
        if (r)
                return r == INDEX_WATCH_E_LOST ? SYNC_E_AGAIN : error_trace(r);
        sync->index->walk++;
        if (!paths.n)
                return 0;
        sync->gone = arena_alloc(&sync->arena, paths.n * sizeof(*sync->gone));
        if (!sync->gone)
                return error_origin(-ENOMEM);
        for (size_t i = 0; !r && i < paths.n; i++) {
                IndexFile file = {.path = paths.items[i]};
                IndexEntry *entry = index_map_find(&sync->part->map, file.path);

                if (index_identify(sync->index->root, file.path.data, &file.identity))
                        r = sync_found(sync, &file);
                else if (entry)
                        sync->gone[sync->n_gone++] = entry;
        }
        return error_trace(r);
}

/* ---- taking rows away ------------------------------------------------------------------------ */

static int sync_delete(Sync *sync, IndexTable table, const char *text, Str a, Str b, int64_t seq) {
        SqlStatement *statement = NULL;
        int r = sql_prepare(sync->index->sql, text, &statement);

        if (r)
                return r;
        sql_bind_str(statement, 0, a);
        if (b.data)
                sql_bind_str(statement, 1, b);
        if (seq >= 0)
                sql_bind_int(statement, 2, seq);
        r = sql_finish(statement);
        if (!r)
                sync->report->n_removed[table] += sql_changed(sync->index->sql);
        return r;
}

static void sync_count_later(Sync *sync, Str agent_id) {
        for (size_t i = 0; i < sync->n_agents && i < SYNC_AGENTS_MAX; i++)
                if (str_eq(sync->agents[i], agent_id))
                        return;
        if (sync->n_agents < SYNC_AGENTS_MAX)
                sync->agents[sync->n_agents] = arena_str(&sync->arena, agent_id);
        if (sync->n_agents <= SYNC_AGENTS_MAX)
                sync->n_agents++;
}

/* How the rows of a file are found: what its document was known by. */
static int sync_item(Sync *sync, Str path, Str *ret) {
        SqlStatement *statement = NULL;
        int r = sql_prepare(sync->index->sql, "SELECT item FROM muster_files WHERE path=?", &statement);

        *ret = STR_NULL;
        if (r)
                return r;
        sql_bind_str(statement, 0, path);
        r = sql_step(statement);
        if (!r) {
                Str item = sql_str(statement, 0);

                *ret = item.data ? arena_str(&sync->arena, item) : STR_NULL;
                r = sql_finish(statement);
        }
        return r == SQL_E_DONE ? 0 : r;
}

static int sync_forget_lines(Sync *sync, const IndexFile *file) {
        const int64_t seq = (int64_t)file->n_lines;
        int r;

        if (file->kind == INDEX_KIND_MESSAGES) { /* which rows are those of a file, the table does not say */
                const IndexEntry *entry = index_map_find(&sync->part->map, file->path);

                return file->n_bytes || !entry || !entry->n_lines ? 0 : SYNC_E_AGAIN;
        }
        r = sync_delete(sync, INDEX_EVENTS, "DELETE FROM events WHERE project_id=? AND run_id=? AND seq>?",
                        file->project, file->name, seq);
        return r ? r
                 : sync_delete(sync, INDEX_PARSE_ERRORS,
                               "DELETE FROM event_parse_errors WHERE project_id=? AND run_id=? AND seq>?",
                               file->project, file->name, seq);
}

static int sync_forget_pair(Sync *sync, IndexTable a, const char *of_a, IndexTable b, const char *of_b,
                            Str first, Str second) {
        int r = sync_delete(sync, a, of_a, first, second, -1);

        return r ? r : sync_delete(sync, b, of_b, first, second, -1);
}

/* Rows of a document as they were read last; item: what it was known by. */
static int sync_forget_document(Sync *sync, const IndexFile *file, Str item) {
        switch (file->kind) {
        case INDEX_KIND_RUN:
                sync_count_later(sync, item);
                return sync_delete(sync, INDEX_RUNS, "DELETE FROM runs WHERE project_id=? AND run_id=?",
                                   file->project, file->name, -1);
        case INDEX_KIND_ARTIFACT:
                return sync_delete(sync, INDEX_ARTIFACTS,
                                   "DELETE FROM artifacts WHERE project_id=? AND artifact_id=?",
                                   file->project, item, -1);
        case INDEX_KIND_TASK:
                return sync_forget_pair(
                        sync, INDEX_TASKS, "DELETE FROM tasks WHERE project_id=? AND task_id=?",
                        INDEX_MILESTONES, "DELETE FROM task_milestones WHERE project_id=? AND task_id=?",
                        file->project, item);
        case INDEX_KIND_CONVERSATION:
                return sync_forget_pair(
                        sync, INDEX_CONVERSATIONS, "DELETE FROM conversations WHERE conversation_id=?",
                        INDEX_PARTICIPANTS, "DELETE FROM conversation_participants WHERE conversation_id=?",
                        item, STR_NULL);
        case INDEX_KIND_REVIEW:
                return sync_delete(sync, INDEX_REVIEWS, "DELETE FROM reviews WHERE review_id=?", item,
                                   STR_NULL, -1);
        case INDEX_KIND_HELP:
                return sync_delete(sync, INDEX_HELP_REQUESTS,
                                   "DELETE FROM help_requests WHERE help_request_id=?", item, STR_NULL, -1);
        case INDEX_KIND_SESSION:
                return sync_delete(sync, INDEX_SESSIONS, "DELETE FROM muster_sessions WHERE name=?", item,
                                   STR_NULL, -1);
        case INDEX_KIND_COMMENT:
                return sync_delete(sync, INDEX_COMMENTS, "DELETE FROM muster_comments WHERE name=?", item,
                                   STR_NULL, -1);
        case INDEX_KIND_JOB:
                return sync_delete(sync, INDEX_JOBS,
                                   "DELETE FROM muster_jobs WHERE project_id=? AND job_id=?", file->project,
                                   item, -1);
        case INDEX_KIND_AGENT:
                sync_count_later(sync, item);
                return sync_delete(sync, INDEX_AGENTS, "DELETE FROM muster_agents WHERE agent_id=?", item,
                                   STR_NULL, -1);
        default: return 0;
        }
}

static int sync_forget(Sync *sync, const IndexFile *file) {
        Str item = STR_NULL;
        int r;

        if (index_kind_has_lines(file->kind))
                return sync_forget_lines(sync, file);
        r = sync_item(sync, file->path, &item);
        return r || !item.data ? r : sync_forget_document(sync, file, item);
}

/* ---- the changes ----------------------------------------------------------------------------- */

static int sync_fill(void *user, IndexRows **rows) {
        Sync *sync = user;
        bool is_contested = false;
        int r = index_fill(sync->index->sql, *rows, sync->report->n_added, &is_contested);

        for (const IndexRow *row = sync->rows.first; row; row = row->next)
                if (row->table == INDEX_RUNS)
                        sync_count_later(sync, row->values[5].text);
                else if (row->table == INDEX_AGENTS)
                        sync_count_later(sync, row->values[0].text);
        index_rows_reset(*rows);
        return r ? r : is_contested ? SYNC_E_AGAIN : 0;
}

static int sync_remember(Sync *sync, const IndexFile *file) {
        IndexEntry *entry = index_map_put(&sync->part->map, file->path);

        if (!entry)
                return error_origin(-ENOMEM);
        entry->identity = file->identity;
        entry->n_lines = file->n_lines;
        entry->n_bytes = file->n_bytes;
        entry->tail = file->tail;
        entry->seen = sync->index->walk;
        return 0;
}

static int sync_change(Sync *sync, IndexFile *file) {
        const IndexEntry *entry = index_map_find(&sync->part->map, file->path);
        int r = index_off(sync->index);

        if (r)
                return r;
        if (entry && index_kind_has_lines(file->kind) && entry->identity.ino == file->identity.ino &&
            file->identity.n_bytes > entry->identity.n_bytes) {
                file->n_lines = entry->n_lines;
                file->n_bytes = entry->n_bytes;
                file->tail = entry->tail;
                if (!index_is_continued(sync->index->root, file))
                        file->n_lines = file->n_bytes = 0;
        }
        r = entry ? sync_forget(sync, file) : 0;
        if (!r)
                r = index_read(&sync->reader, file);
        if (!r)
                r = sync_fill(sync, &sync->reader.rows);
        return r ? r : sync_remember(sync, file);
}

static int sync_gone(Sync *sync, IndexEntry *entry) {
        IndexFile file;
        int r = 0;

        if (index_file_of((Str){entry->path, entry->n_path}, &file))
                r = sync_forget(sync, &file);
        if (!r)
                r = sync_delete(sync, INDEX_FILES, "DELETE FROM muster_files WHERE path=?", file.path,
                                STR_NULL, -1);
        if (!r)
                index_map_remove(&sync->part->map, entry);
        return r;
}

static int sync_agents(Sync *sync) {
        int r = 0;

        if (sync->n_agents > SYNC_AGENTS_MAX)
                return index_count_agents(sync->index->sql);
        for (size_t i = 0; !r && i < sync->n_agents; i++)
                r = index_count_agent(sync->index->sql, sync->agents[i]);
        return r;
}

static int sync_apply(Sync *sync) {
        int r = 0;

        for (size_t i = 0; !r && sync->gone && i < sync->n_gone; i++)
                r = sync_gone(sync, sync->gone[i]);
        for (size_t i = 0; !r && i < sync->n; i++)
                r = sync_change(sync, &sync->files[i]);
        if (!r)
                r = sync_agents(sync);
        return r;
}

static int sync_totals(Sync *sync) {
        Index *index = sync->index;
        int r;

        for (unsigned i = 0; i < INDEX_N_TABLES; i++)
                index->n_total[i] += sync->report->n_added[i] - sync->report->n_removed[i];
        index->n_total[INDEX_FILES] = 0;
        for (unsigned i = 0; i < INDEX_N_AREAS; i++)
                index->n_total[INDEX_FILES] += (int64_t)index->parts[i].map.n;
        r = sql_number(index->sql, index_running, &index->n_running);
        return r ? r
                 : sql_number(index->sql, "SELECT count(*) FROM agent_counters",
                              &index->n_total[INDEX_COUNTERS]);
}

static int sync_write(Sync *sync) {
        Index *index = sync->index;
        int r = index_mark(index);

        if (!r)
                r = sql_run(index->sql, "BEGIN IMMEDIATE");
        if (r)
                return r;
        r = sync_apply(sync);
        if (!r)
                r = sync_totals(sync);
        if (!r)
                r = sql_run(index->sql, "COMMIT");
        if (r)
                (void)sql_run(index->sql, "ROLLBACK");
        return r;
}

static int sync_look(Sync *sync) {
        int r = sync_told(sync);

        return r == SYNC_E_AGAIN ? sync_walk(sync) : r;
}

/* Conditions also: SYNC_E_AGAIN, when the changes cannot be applied one by one. */
static int sync_run(Sync *sync) {
        Index *index = sync->index;
        int r = index_off(index);

        if (!r)
                r = index_open(index);
        if (r)
                return r == INDEX_E_MISSING ? SYNC_E_AGAIN : r;
        memcpy(sync->report->n_before, index->n_total, sizeof(index->n_total));
        r = sync_look(sync);
        if (r)
                return error_trace(r);
        if (sync->n || sync->n_gone) {
                r = index->is_contested && sync->area == INDEX_AREA_TABLES ? SYNC_E_AGAIN : sync_write(sync);
                if (r && r != SYNC_E_AGAIN)
                        r = index_result(index, r);
                if (r) /* memory may be ahead of the tables, and what was told is not told again */
                        index_shut(index);
                if (r == INDEX_E_MISSING)
                        r = SYNC_E_AGAIN;
        }
        memcpy(sync->report->n_total, index->n_total, sizeof(index->n_total));
        sync->report->n_read = sync->reader.n_read;
        sync->report->n_bytes = sync->reader.n_bytes;
        return r;
}

static int sync_area(Index *index, IndexArea area, IndexReport *report) {
        Sync sync = {.index = index, .area = area, .part = &index->parts[area], .report = report};
        int r;

        *report = (IndexReport){0};
        index_rows_init(&sync.rows);
        sync.reader =
                (IndexReader){.root = index->root, .rows = &sync.rows, .full = sync_fill, .user = &sync};
        r = sync_run(&sync);
        index_reader_deinit(&sync.reader);
        index_rows_deinit(&sync.rows);
        arena_deinit(&sync.arena);
        free(sync.files);
        if (index->work) {
                atomic_fetch_add(&index->work->n_syncs, 1);
                atomic_fetch_add(&index->work->n_looked, report->n_looked);
                atomic_fetch_add(&index->work->n_read, report->n_read);
        }
        return r;
}

int index_sync(Index *index, IndexReport *report) {
        int r = sync_area(index, INDEX_AREA_TABLES, report);

        if (r == SYNC_E_AGAIN)
                return index_rebuild(index, report);
        if (!r)
                index_read_waiting(index, report);
        return r;
}

int index_sync_comments(Index *index, IndexReport *report) {
        int r = sync_area(index, INDEX_AREA_COMMENTS, report);

        return r == SYNC_E_AGAIN ? INDEX_E_MISSING : r;
}

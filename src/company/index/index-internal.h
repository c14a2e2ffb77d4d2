#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What the files of the index share: tables, rows on their way into them, files as they were last seen.
 */
#include <errno.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/json/json.h"
#include "company/index/index.h"
#include "core/lane.h"

/* ---- tables (tables.c) ---- */
enum { INDEX_VERSION = 4, INDEX_COLUMNS_MAX = 20 };
extern const char index_schema[];  /* tables */
extern const char index_indexes[]; /* made when the tables are filled */
extern const char *const index_table_names[INDEX_N_TABLES];
extern const char *const index_inserts[INDEX_N_TABLES];
extern const char index_running[]; /* how many records of sessions say that they run */
int index_count(Sql *sql, int64_t n_total[INDEX_N_TABLES]);

/* ---- sums (sums.c) ---- */
int index_sum_up(Sql *sql);       /* fills muster_sums and muster_pending, which triggers then keep; once */
int index_count_agents(Sql *sql); /* makes all counters of agents anew, from the sums */
int index_count_agent(Sql *sql, Str agent_id); /* of one */

/* ---- what waits (waiting.c) ---- */
/* Behind a sync. What cannot be read now is read behind the next one. */
void index_read_waiting(Index *index, const IndexReport *report);

/* ---- rows (rows.c) ---- */
typedef enum IndexType { INDEX_NULL, INDEX_INT, INDEX_REAL, INDEX_TEXT } IndexType;
typedef struct IndexValue {
        IndexType type;
        union {
                int64_t number;
                double real;
                Str text;
        };
} IndexValue;
typedef struct IndexRow {
        struct IndexRow *next;
        IndexTable table;
        unsigned n;
        IndexValue values[];
} IndexRow;
typedef struct IndexRows { /* with all that they say */
        Arena arena;
        IndexRow *first, **last;
        bool is_failed; /* there was no memory for all of them */
} IndexRows;
void index_rows_init(IndexRows *rows);
void index_rows_reset(IndexRows *rows);
void index_rows_deinit(IndexRows *rows);
IndexRow *index_row(IndexRows *rows, IndexTable table, unsigned n_columns); /* NULL without memory */
/* The next column of the row, which may be NULL. Text is copied, unless it lies in the rows' arena. */
void index_add_str(IndexRows *rows, IndexRow *row, Str text); /* without data: NULL */
void index_add_kept(IndexRow *row, Str text);                 /* it lies there, or is a literal */
void index_add_int(IndexRow *row, int64_t number);
void index_add_real(IndexRow *row, double real);
void index_add_null(IndexRow *row);
/* Members as columns: text, whole number, number, 0 or 1; what is something else is NULL. */
void index_add_member(IndexRows *rows, IndexRow *row, const Json *object, const char *name);
void index_add_member_number(IndexRow *row, const Json *object, const char *name);
void index_add_member_bool(IndexRow *row, const Json *object, const char *name);
void index_add_member_json(IndexRows *rows, IndexRow *row, const Json *object, const char *name); /* [] */
/* Into the tables. n_added counts per table; *is_contested: two files have the same key. */
int index_fill(Sql *sql, const IndexRows *rows, int64_t n_added[INDEX_N_TABLES], bool *is_contested);

/* ---- files (files.c) ---- */
typedef enum IndexKind {
        INDEX_KIND_RUN,
        INDEX_KIND_EVENTS,
        INDEX_KIND_ARTIFACT,
        INDEX_KIND_TASK,
        INDEX_KIND_CONVERSATION,
        INDEX_KIND_MESSAGES,
        INDEX_KIND_REVIEW,
        INDEX_KIND_HELP,
        INDEX_KIND_AGENT,
        INDEX_KIND_SESSION,
        INDEX_KIND_JOB,
        INDEX_KIND_COMMENT,
} IndexKind;
typedef struct IndexLeaf { /* a name that counts in a folder, and what it is */
        const char *name;
        IndexKind kind;
} IndexLeaf;
typedef struct IndexFile { /* one as a walk finds it, or as it was indexed */
        IndexKind kind;
        Str path;    /* below the workspace; NUL-terminated */
        Str project; /* the parts of the path that are ids; empty: none */
        Str name;
        FileIdentity identity;
        uint64_t n_lines, n_bytes; /* of lines: whole ones that were read */
        uint64_t tail;             /* hash of what stands before n_bytes */
} IndexFile;
static inline bool index_kind_has_lines(IndexKind kind) {
        return kind == INDEX_KIND_EVENTS || kind == INDEX_KIND_MESSAGES;
}
/* Whether a name counts in a folder of files that end so; NULL: of folders. */
bool index_takes(const char *name, const char *suffix);
/* One by its path, which is as a walk would give it; false: it is not there, or no file. */
bool index_identify(int root, const char *path, FileIdentity *ret);
/* A file of ours from its path; false: it is none. */
bool index_file_of(Str path, IndexFile *ret);
/* Comments are kept apart from all other files: they are many, and few ask for them. */
typedef enum IndexArea { INDEX_AREA_TABLES, INDEX_AREA_COMMENTS, INDEX_N_AREAS } IndexArea;
IndexArea index_area_of(Str path);
struct IndexWatch;
/* Calls found() for every file that counts, in the order of the tables' keys. Stops at its first failure.
 * watch: gets every folder before it is listed; NULL: none. */
int index_walk(int root, IndexArea area, struct IndexWatch *watch,
               int (*found)(void *user, const IndexFile *file), void *user);

typedef struct IndexEntry { /* what is remembered of one */
        FileIdentity identity;
        uint64_t n_lines, n_bytes, tail;
        uint32_t seen; /* in which walk */
        uint32_t n_path;
        char path[];
} IndexEntry;
typedef struct IndexMap {
        IndexEntry **slots;
        size_t n_slots, n, n_used; /* n_used: with those that were removed */
} IndexMap;
void index_map_deinit(IndexMap *map);
IndexEntry *index_map_find(const IndexMap *map, Str path);
IndexEntry *index_map_put(IndexMap *map, Str path); /* found or made; NULL without memory */
void index_map_remove(IndexMap *map, IndexEntry *entry);
int index_map_load(Index *index, Sql *sql); /* of all areas */

/* ---- folders that the kernel watches (watch.c) ---- */
/*
 * An instance of inotify with every folder of an area: what it tells since it was last read are the files that
 * have to be looked at, whoever wrote them. It tells less than all of it on file systems that others write to
 * behind the kernel's back, and of files that are mapped into memory or written by another name of theirs; the
 * first are not watched, and for the others all files are looked at every INDEX_WALK_MS.
 */
typedef enum IndexFolder {
        INDEX_FOLDER_PARTS, /* folders with the names of its leaves */
        INDEX_FOLDER_MANY,  /* folders with parts each */
        INDEX_FOLDER_PAIRS, /* folders with the files of its leaves each */
        INDEX_FOLDER_PAIR,  /* one of those */
        INDEX_FOLDER_FILES, /* files that end as its leaf */
} IndexFolder;
typedef struct IndexWatch {
        int fd;                        /* -1: it is off */
        int root;                      /* borrowed */
        bool is_refused;               /* not here, or no more: it is not tried again */
        struct IndexWatched **folders; /* by the kernel's number of each */
        size_t n, n_room;
        int64_t walked_ms;        /* when all files were last looked at */
        _Atomic uint64_t *n_open; /* instances of the daemon; NULL: nobody counts */
} IndexWatch;
typedef struct IndexPaths { /* in an arena; sorted, each once */
        Str *items;
        size_t n, n_room;
} IndexPaths;
void index_watch_begin(IndexWatch *watch, int root); /* without folders; it stays off when that cannot be */
void index_watch_end(IndexWatch *watch);
/* A folder by its name in an open one; "." is that itself. One that is not there is passed over. */
void index_watch_add(IndexWatch *watch, int at, const char *name, Str path, IndexFolder role,
                     const IndexLeaf *leaves);
enum { _INDEX_WATCH_E_SUCCESS, INDEX_WATCH_E_LOST };
/* Files that were written, made, removed or moved. INDEX_WATCH_E_LOST: which ones is not known. */
int index_watch_read(IndexWatch *watch, Arena *arena, IndexPaths *ret);

/* ---- reading (read.c) ---- */
typedef struct IndexReader {
        int root;
        IndexRows *rows;
        int (*full)(void *user, IndexRows **rows); /* takes the rows and gives empty ones */
        void *user;
        Arena scratch;
        Buf block, line;
        uint64_t n_bytes, n_read;
        size_t n_skipped; /* bytes of a line that is too long */
} IndexReader;
void index_reader_deinit(IndexReader *reader);
/* Rows of a file, from file->n_bytes on when it has lines; afterwards file says how far it was read. The last
 * row is what is to be remembered of it. A file that is gone meanwhile has no rows. */
int index_read(IndexReader *reader, IndexFile *file);
/* Whether what was read of a file of lines still stands there, and it may be read on from there. */
bool index_is_continued(int root, const IndexFile *file);

/* ---- the object (index.c) ---- */
struct Index {
        int root;
        unsigned wait_ms;  /* INDEX_WAIT_MS, but for tests */
        Sql *sql;          /* NULL: not open */
        uint64_t dev, ino; /* of the file that is open */
        int64_t version;   /* PRAGMA data_version: another number when somebody else has written */
        struct IndexPart { /* of each area */
                IndexMap map;
                IndexWatch watch;
        } parts[INDEX_N_AREAS];
        size_t watch_min; /* INDEX_WATCH_MIN, but for tests */
        uint32_t walk;
        IndexWork *work;
        int64_t n_total[INDEX_N_TABLES];
        IndexWaitingList waiting;
        int64_t n_running; /* records of sessions that say so */
        bool is_loaded;    /* map and totals are those of the open file */
        bool is_contested; /* two files have one key: changes are told by a rebuild only */
        bool is_marked;    /* this boot is in the mark */
        char why[160];

        Lane turns;      /* loop: who uses it (turn.h); not of an engine that is alone, as in tests */
        bool is_pending; /* loop: the background worker is to sync it (worker.h) */
};

/* 0, or -ECANCELED: the daemon stops. */
static inline int index_off(const Index *index) {
        return index->work && index->work->is_off ? -ECANCELED : 0;
}
/* Where the file is: absolute, malloc'd. makes: also the folder. INDEX_E_MISSING: no folder. */
int index_place(const Index *index, bool makes, const char *name, char **ret);
void index_shut(Index *index); /* forgets the connection and what is remembered */
int index_mark(Index *index);  /* before the first write under this boot */
int index_open(Index *index);  /* connection, map and totals. Conditions: INDEX_E_MISSING, INDEX_E_BUSY */
/* A result of sql_*() as one of index_*(): a broken file is INDEX_E_MISSING. */
int index_result(Index *index, int r);

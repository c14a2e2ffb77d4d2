#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Index: the tables of .local/index.sqlite, made from a workspace's files and from nothing else.
 *
 * It may be deleted, cut, overwritten or locked by other programs at any time: whoever asks for it gets it
 * made again, or is told why not. A rebuild reads every file; a sync looks at those that the kernel has told
 * it of, whoever wrote them, and reads those that are not as they were, so what it gives is what a rebuild
 * would give, at a cost that grows with what is new. It looks at every file with statx(2) when there are few,
 * when the kernel lost count or does not watch, and every INDEX_WALK_MS, for files that were changed through a
 * mapping or through another name: those it may know late by that time. (One thing escapes it: lines in
 * the middle of a file that were overwritten in place while lines were added behind them.) What it remembers
 * of files is in the table muster_files and in memory.
 *
 * Comments are in a table of ours, which index_sync_comments() alone brings up to date.
 *
 * Not a source of truth, and no cache of documents. The engine here knows a folder's descriptor and runs on
 * workers, one thread at a time; turn.h gives operations their turn. Owned by its Workspace.
 */
#include "base/arena.h"
#include <stdbool.h>
#include <stdint.h>

#include "core/sql.h"

typedef struct Index Index;

typedef enum IndexTable {
        INDEX_RUNS,
        INDEX_EVENTS,
        INDEX_PARSE_ERRORS,
        INDEX_ARTIFACTS,
        INDEX_REVIEWS,
        INDEX_HELP_REQUESTS,
        INDEX_CONVERSATIONS,
        INDEX_PARTICIPANTS,
        INDEX_MESSAGES,
        INDEX_TASKS,
        INDEX_MILESTONES,
        INDEX_COUNTERS, /* of agents */
        INDEX_AGENTS,   /* ours from here on: what the counters are made from */
        INDEX_SESSIONS,
        INDEX_JOBS,
        INDEX_COMMENTS,
        INDEX_FILES,
        INDEX_N_TABLES,
} IndexTable;

enum {
        INDEX_WAIT_MS = 5000,          /* for another program that holds the file */
        INDEX_LINE_MAX = 16 << 20,     /* a longer line counts as one that does not parse */
        INDEX_BATCH_BYTES = 256 << 10, /* of rows that one thread hands to the other … */
        INDEX_BATCHES = 4,             /* … and so many of them wait at most */
        INDEX_SETTLE_MS = 20,          /* a document that was written so recently is read again next time */
        INDEX_WATCH_MIN = 128,         /* with fewer files they are looked at one by one */
        INDEX_WATCHES_MAX = 32768,     /* folders of a workspace; with more of them as well */
        INDEX_INSTANCES_MAX = 32,      /* of inotify, of which a user has 128 and other programs need some */
        INDEX_WALK_MS = 60000,         /* every file is looked at so often even so */
};

/* What it costs, for those who look after it. One for the daemon, counted by workers. */
typedef struct IndexWork {
        _Atomic uint64_t n_syncs, n_rebuilds, n_looked, n_read; /* of files */
        _Atomic uint64_t n_walks;                               /* that looked at every file */
        _Atomic uint64_t n_steps;                               /* of SQLite's machine */
        _Atomic uint64_t n_watches;                             /* instances that are open */
        _Atomic bool
                is_off; /* the daemon stops: nothing is begun, what is under way fails with -ECANCELED */
} IndexWork;

/* What was done; totals are rows that are in the tables now. */
typedef struct IndexReport {
        bool is_created; /* there was no file */
        bool is_rebuilt;
        int64_t n_total[INDEX_N_TABLES], n_before[INDEX_N_TABLES];
        int64_t n_added[INDEX_N_TABLES], n_removed[INDEX_N_TABLES];
        uint64_t n_looked, n_read; /* files, of which so many were read */
        uint64_t n_bytes;          /* that were read */
} IndexReport;

/* root: the workspace's folder; a copy of the descriptor is kept. work: may be NULL. Touches nothing. */
int index_make(Index **ret, int root, IndexWork *work);
Index *index_end(Index *index); /* blocks for as long as a sync of the file takes, if it was written to */

enum { _INDEX_E_SUCCESS, INDEX_E_MISSING, INDEX_E_BUSY };
/* Condition of both: INDEX_E_BUSY. A sync rebuilds when there is no file, or none that can be trusted. */
int index_rebuild(Index *index, IndexReport *report);
int index_sync(Index *index, IndexReport *report);
/* The same for comments; a file that is missing is not made. Condition also: INDEX_E_MISSING. */
int index_sync_comments(Index *index, IndexReport *report);
/* What waits for a decision, the youngest first. Read by a sync after which it may be another list, and told on the loop when the turn is
 * over (turn.h). */
enum { INDEX_WAITING_MAX = 500 };
typedef struct IndexWaiting {
        Str project_id, artifact_id, kind, title, produced_by; /* kind: of the review that decides it */
} IndexWaiting;
typedef struct IndexWaitingList {
        Arena arena;
        IndexWaiting *rows;
        size_t n;
        bool is_cut; /* there are more */
        bool is_known, is_new;
} IndexWaitingList;
/* The connection to the file as it is, good until the next call of this header. Conditions: INDEX_E_MISSING
 * (none, or not one that can be used), INDEX_E_BUSY. */
int index_look(Index *index, Sql **ret);
/* Whether records of sessions say that they run, as far as is known without looking: true when nothing is. */
bool index_has_running(const Index *index);
/* Whether the file that index_look() gave has the tables of this version; another program may have made it. */
bool index_is_ours(const Index *index);
void index_count_steps(Index *index);      /* into its work, when a turn is over */
const char *index_why(const Index *index); /* of the last failure, for people; "" when there is none */

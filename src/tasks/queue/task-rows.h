#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * TaskRows: one short row per task, in order of creation, in memory of our own and in a file. It answers
 * which tasks there are, in which state, and where in the history the record of each is.
 *
 * The file is in the project's folder, where agents write: it is read once, with bounds, and never mapped.
 * It is derived from the history and can be made from it again; a row is changed after the line that says so
 * is kept. The file is never synced: it is trusted when this boot wrote it or when it was closed cleanly.
 * Owned by the TaskStore. Loop thread only.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

typedef enum TaskState {
        TASK_QUEUED,
        TASK_RUNNING,
        TASK_COMPLETED,
        TASK_FAILED,
        TASK_CANCELLED,
        TASK_N_STATES,
        TASK_PURGED = TASK_N_STATES, /* in rows only: no longer listed */
} TaskState;

/* In memory as in the file, and as short as it can be: a project may have 100,000. */
typedef struct TaskRow {
        uint64_t hash;          /* of the whole id */
        uint64_t number;        /* behind its last dash; 0 when there is none */
        int64_t since_ms : 56;  /* when it began to run or, once it has ended, when that was; 0: neither */
        uint64_t state : 8;     /* TaskState */
        uint64_t position : 40; /* of its last whole record in the history */
        uint64_t check : 24;    /* of all the rest */
} TaskRow;

/* A file as it was when we last wrote it: whether another program has written it since. */
typedef struct TaskFileStamp {
        uint64_t device, inode, n_bytes;
        int64_t changed_ns;
} TaskFileStamp;

typedef struct TaskRowsHeader {
        char magic[8]; /* "mustask1" */
        uint32_t version, n_row_bytes;
        uint64_t boot;
        uint32_t is_clean;
        uint32_t is_unsorted; /* numbers do not grow from row to row: binary search is of no use */
        uint64_t n_rows;
        uint64_t n_covered;     /* positions of the history that the rows know */
        uint64_t covered_bytes; /* where the last of them ends in the file */
        uint64_t next_number;
        TaskFileStamp json;    /* tasks.json as we wrote it */
        uint64_t n_stable;     /* rows at its beginning that will not change any more … */
        uint64_t stable_bytes; /* … and where they end in it */
} TaskRowsHeader;

typedef struct TaskRows {
        int fd;
        size_t n_capacity; /* rows */
        TaskRowsHeader *header;
        TaskRow *rows;
        uint64_t dirty_from, dirty_to; /* rows that the file does not have yet */
        uint64_t counts[TASK_N_STATES + 1];
        bool was_clean; /* whoever had it open before has closed it */
} TaskRows;

enum { _TASK_ROWS_E_SUCCESS, TASK_ROWS_E_NEW /* empty: it has to be filled from the history */ };

int task_rows_open(TaskRows *rows, const char *path); /* condition: TASK_ROWS_E_NEW */
void task_rows_close(TaskRows *rows, bool is_clean);
void task_rows_clear(TaskRows *rows);            /* to be filled anew */
int task_rows_reserve(TaskRows *rows, size_t n); /* room for n more, so that adding them cannot fail */
/* Writes what has changed, without a sync; task_rows_cover() does so by itself. False: it could not. */
bool task_rows_flush(TaskRows *rows);

static inline uint64_t task_rows_n(const TaskRows *rows) {
        return rows->header->n_rows;
}
/* The row of this id, or -1. */
int64_t task_rows_find(const TaskRows *rows, Str id);
/* Appends a row (reserved before); returns its index. */
uint64_t task_rows_add(TaskRows *rows, Str id, TaskState state);
void task_rows_set_state(TaskRows *rows, uint64_t row, TaskState state);
/* After a change by hand of the other members. */
void task_rows_seal(TaskRows *rows, uint64_t row);
/* The history up to here is in the rows, and these are in the file. */
void task_rows_cover(TaskRows *rows, uint64_t n_covered, uint64_t covered_bytes);

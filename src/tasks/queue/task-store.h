#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * TaskStore: what a project knows of its tasks on the disk.
 *
 *   .aiwg/daemon/history/ledger.jsonl   the truth: a line per change, appended and synced
 *   .aiwg/daemon/history/rows           where the record of each task is in it; derived
 *   .aiwg/daemon/tasks.json             all records, for the original and for people; derived, behind
 *
 * tasks.json that somebody else has written is taken in when the store opens: tasks that are new in it, and
 * those that moved on. Owned by its Project. Loop thread only.
 */
#include <sys/types.h>

#include "core/ledger/follower.h"
#include "tasks/queue/task.h"

typedef struct TaskStore TaskStore;

struct TaskStore {
        Project *project;
        char *dir;
        dev_t dir_dev; /* that folder when it was opened */
        ino_t dir_ino;
        char *ledger_path, *state_path, *rows_path, *json_path;
        Ledger *ledger;
        TaskRows rows;
        bool is_ready; /* all below may be called */
        void (*opened)(Project *project, int r);
        void (*closed)(Project *project);
        struct TaskImport *import;
        LedgerFollower lines; /* of the ledger, while the store opens: those that the rows do not know yet */

        Timer retention;

        /* tasks.json */
        bool is_dirty, is_last;      /* is_last: synced, then the store closes */
        int64_t cost_us, written_ms; /* of the last writing: how long it took, when it ended */
        Timer write_timer;
        TaskStoreWait last;
        Lane writes;             /* a turn is one writing; who waits is served by the next one */
        struct JsonJob *writing; /* of the turn under way */
};

int task_store_open(TaskStore *store, Project *project, void (*opened)(Project *project, int r));
/* Writes tasks.json once more, syncs and closes everything; closed() in a later turn. */
void task_store_close(TaskStore *store, void (*closed)(Project *project));
void task_store_deinit(TaskStore *store); /* after closed(), or when it never opened */

/* A whole record of this row was kept at that position of the history. */
void task_store_note(TaskStore *store, uint64_t row, TaskState state, const LedgerChange *change);
/* The same of a line that is no whole record. */
void task_store_cover(TaskStore *store, const LedgerChange *change);
bool task_store_has_approval(const TaskStore *store, const char *id); /* a task was kept that it allowed */
/* tasks.json is behind. wait (may be NULL) is told when it is not any more; at once when writing it takes so
 * long that nobody should wait, or for less than an end when there are many tasks. */
void task_store_changed(TaskStore *store, TaskStoreWait *wait);
uint64_t task_store_total(const TaskStore *store);
/* False when its folder was deleted or moved away meanwhile: a line that is kept now would be in another
 * one. */
bool task_store_is_there(const TaskStore *store);

/* ---- between task-store*.c ---- */
void task_store_apply(TaskStore *store, Str line, uint64_t position); /* one line of the history */
void task_store_import(TaskStore *store, void (*done)(TaskStore *store, int r)); /* tasks.json of others */
extern const LaneType task_store_writes;
void task_store_write(TaskStore *store);  /* tasks.json, soon */
void task_store_retain(TaskStore *store); /* drops what is older than the project wants */
bool task_file_stamp(const char *path, TaskFileStamp *ret);
bool task_file_stamp_equal(const TaskFileStamp *a, const TaskFileStamp *b);

#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Store: several files of one folder that change together, or not at all.
 *
 * A change creates, replaces and removes documents, appends lines, seals events of trails, makes folders. All
 * changes that wait are committed as one group: they go as one record into a journal, which is synced, and then
 * into the files, which are synced within a second. So a commit costs one fdatasync whatever the number of files;
 * after a crash what is missing is put in from the journal. The folder is also other programs': they are kept out
 * by the lock file that they use themselves while documents change, and what they have written is never
 * overwritten: a change says which state of a file it was made from, and fails alone when that is gone.
 *
 * A Store knows paths and bytes, not what they mean. Paths are relative to the folder; nothing outside of it is
 * touched and no link is followed. Everything but the making of a change is for the loop's thread; files are
 * touched by workers, one job at a time. The owner keeps the Store until closed().
 */
#include "base/buf.h"
#include "base/file.h"
#include "base/loop/loop.h"
#include "core/ledger/ledger.h"

typedef struct Store Store;
typedef struct StoreChange StoreChange;

enum {
        STORE_JOURNAL_SIZE = 4 * 1024 * 1024,
        STORE_GROUP_MAX = 256 * 1024,          /* bytes of changes that are kept together */
        STORE_RECORD_MAX = 2 * 1024 * 1024,    /* one change with more is staged in a file of its own */
        STORE_WAITING_MAX = 256 * 1024 * 1024, /* bytes of changes that wait; beyond: -ENOBUFS */
        STORE_PATH_MAX = 1024,                 /* longer ones: -ENAMETOOLONG */
        STORE_LOCK_MS = 5000,                  /* so long others may hold their lock; then -ETIMEDOUT */
        STORE_LOCK_STEP_MS = 25,
        STORE_LOCK_OLD_MS = 2 * 60 * 1000, /* from then on the lock of a process that is gone is removed */
        STORE_LOCK_EMPTY_MS = 3000,        /* one in which nothing stands: whoever made it died with that */
        STORE_SYNC_MS = 1000,              /* after that the files themselves are safe */
        STORE_AHEAD_MAX = 4,               /* documents of one change that are written before its commit */
        STORE_AHEAD_ALL = 64,              /* such files of all changes of a store that wait */
        STORE_AHEAD_BYTES = 64 * 1024,     /* a larger file is not written before its commit */
        STORE_SPARES = 16,                 /* files without a name that are there for the next changes */
        STORE_SPARES_STEP = 4,             /* so many are missing before more are made */
        STORE_SPARES_WORTH = 8,            /* documents that are written before any is made */
        STORE_IDLE_MS = 5000,              /* after which what lies ready for changes is let go */
};

/* An event that is kept. */
typedef struct StoreTold {
        Str path, kind;
        Str line;     /* without its newline */
        uint64_t seq; /* of lines that are not blank, from 1 */
} StoreTold;

typedef struct StoreOptions {
        Loop *loop;
        int root;         /* the folder, opened O_RDONLY | O_DIRECTORY; copied */
        const char *path; /* for the log; copied */
        LedgerPolicy policy;
        unsigned interval_ms; /* for LEDGER_INTERVAL; 0: STORE_SYNC_MS */
        /* May be NULL: in the order of the files, before done() of its change. */
        void (*told)(void *user, const StoreTold *told);
        void *user;
        /* For tests, on the worker: before each step that the disk can see. */
        void (*step)(const char *what);
} StoreOptions;

/* Makes nothing, but finishes what a crash has interrupted. opened() runs in a later turn, with 0 or a negative
 * number; if it failed, the store still has to be closed. A folder that may only be read, or that another daemon
 * writes, opens well. */
int store_open(Store **ret, const StoreOptions *options, void (*opened)(void *user, int r));
/* What was committed is finished and synced first. */
void store_close(Store *store, void (*closed)(void *user), void *user);
/* The same at once, for when the loop has ended; what still waits is dropped, unanswered. */
void store_end(Store *store);
bool store_is_idle(const Store *store); /* no change waits or is under way */
/* A name of a file that is there for a moment only: the lock, or what becomes another one. */
bool store_is_passing(const char *name);
/* After -EWOULDBLOCK: the daemon that writes here, 0 when it cannot be told. */
pid_t store_other(const Store *store);

/*
 * A change: embedded in an object of the caller, who keeps it from commit to done(); done() may free it. It is put
 * together in any thread, by one at a time, without touching a file. Paths and bytes are copied. Folders on the
 * way to a file are made with it.
 */
struct StoreChange {
        /* r: 0, or negative and nothing of it became visible. -ESTALE: a file was not as expected. -ETIMEDOUT: others
         * hold their lock. -EWOULDBLOCK: another daemon writes here. */
        void (*done)(StoreChange *change, int r);
        Store *store;

        StoreChange *next; /* from here on private */
        Buf steps;
        bool needs_lock;
        int64_t since_ms; /* it has waited for the lock; 0: it has not */
        int r;
        size_t told_at;             /* of its lines in what the job has sealed */
        int ahead[STORE_AHEAD_MAX]; /* files of its first documents, in their order; -1: it was used */
        size_t n_ahead;
        struct StoreJob *job; /* it was committed by the thread that has made it */
};
void store_change_init(StoreChange *change, Store *store, void (*done)(StoreChange *change, int r));
void store_change_deinit(
        StoreChange *change); /* of one that is not committed, or whose commit failed at once */
bool store_change_is_empty(const StoreChange *change);
int store_change_reserve(StoreChange *change, size_t n); /* so much is about to come; not needed */
int store_change_mkdir(StoreChange *change, const char *path);
/* There must be no such file yet. */
int store_change_create(StoreChange *change, const char *path, Str bytes);
/* expect: the state that it was made from, all zero: that there was none; NULL: whatever is there. */
int store_change_replace(StoreChange *change, const char *path, Str bytes, const FileIdentity *expect);
int store_change_remove(StoreChange *change, const char *path, const FileIdentity *expect);
/* Only that it is so: a file that was looked at and is not changed. */
int store_change_expect(StoreChange *change, const char *path, const FileIdentity *expect);
int store_change_append(StoreChange *change, const char *path, Str lines); /* with their newlines */
/* Any bytes at this place of a file that nobody else writes: behind all others, so that its length says how much of it is
 * kept. */
int store_change_grow(StoreChange *change, const char *path, uint64_t at, Str bytes);
/* An event of a trail: the body that trail_seal() wants. */
int store_change_event(StoreChange *change, const char *path, Str kind, Str body);
/* Worker, when it is complete: its first documents are written now, which takes work off the commit.
 * Nobody can see them. Not needed, and cannot fail. */
void store_change_make_ahead(StoreChange *change);
/* 0: done() follows in a later turn. Negative: it does not. */
int store_change_commit(StoreChange *change);
/* Worker, instead of that: it is committed in this thread, if nobody else has the files. Who waits for the answer saves two
 * changes of threads; those who come meanwhile wait for it, as for a group. True: store_change_settle() follows, on the
 * loop, and before it returns done(), unless it has to wait for the lock of others. */
bool store_change_commit_here(StoreChange *change, int64_t wall_us);
void store_change_settle(StoreChange *change);

/* For tests and the bench. */
typedef struct StoreStats {
        uint64_t n_commits, n_changes, n_syncs, n_staged, n_void;
        uint64_t n_restored,
                n_aside; /* steps that the last recovery had to do; for which there was no place any more */
} StoreStats;
StoreStats store_stats(const Store *store);

#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What the files of core/store share. A Store runs one job at a time: looking for what a crash left, a commit, a
 * sync, the close. The job owns StoreDisk while it runs (is_taken); the loop has the rest.
 *
 * A record of the journal is a RecordHead and steps, each a StepHead, its path with a NUL, and its bytes, padded to
 * 8 bytes. Steps of a change stand together and carry its number in the record.
 */
#include <pthread.h>

#include "core/journal/journal.h"
#include "core/store/store.h"
#include "core/trail.h"

#define STORE_STATE ".local/muster"
#define STORE_LOCKS ".local/locks"
#define STORE_LOCK  "workspace.write.lock"
#define STORE_TEMP  ".tmp-muster-" /* in the middle of a name */
#define STORE_SPARE "write.lock"   /* in STORE_STATE: what becomes it */

enum {
        STORE_TRAILS = 256,
        STORE_TOUCHED_MAX = 24,
        STORE_REACH = 8,
        STORE_RECORD_KEPT = 2 * STORE_RECORD_MAX
};

typedef enum StepKind {
        STEP_MKDIR = 1,
        STEP_CREATE,
        STEP_REPLACE,
        STEP_REMOVE,
        STEP_EXPECT, /* not in a record */
        STEP_APPEND,
        STEP_EVENT,
        STEP_GROW, /* bytes, at their place */
} StepKind;

typedef struct StepHead {
        uint32_t kind, n_path; /* with its NUL */
        uint64_t n_bytes;
        uint32_t change; /* its number in the record */
        uint32_t n_kind; /* of an event before it is sealed: the kind stands before the body */
        uint64_t at;     /* where an append should land */
        uint64_t stamp;  /* part of the temp file's name */
        FileIdentity expect;
        uint64_t has_expect;
} StepHead;

typedef struct Step {
        StepHead head;
        const char *path;
        Str bytes;
        size_t offset; /* of its head */
} Step;
/* The step at *at, which is then behind it. False: there is none, or it is nonsense. */
bool step_next(Str steps, size_t *at, Step *ret);
int step_add(Buf *out, const StepHead *head, const char *path, Str bytes);
/* A document that gets a file of its own. */
static inline bool step_is_written(const Step *step) {
        return step->head.kind == STEP_CREATE || step->head.kind == STEP_REPLACE;
}
static inline bool step_is_content(const Step *step) {
        return step_is_written(step) || step->head.kind == STEP_REMOVE;
}

enum { RECORD_INLINE = 1, RECORD_STAGED, RECORD_VOID }; /* tags in the journal */
typedef struct RecordHead {
        uint64_t serial; /* of records since the store was opened, from 1 */
        uint64_t stamp;
} RecordHead;
typedef struct RecordVoid {
        uint64_t serial, change; /* this change of that record was taken back */
} RecordVoid;
typedef struct RecordStaged {
        uint64_t serial, n, sum; /* the record is in stage.<serial> */
        char name[40];
} RecordStaged;

/* What is known of a file that is appended to. */
typedef struct StoreTrail {
        char *path; /* NULL: a free place */
        uint64_t dev, ino;
        TrailTail tail;
        bool is_missed; /* others wrote while we appended: the tail is that of before */
} StoreTrail;

/* A folder, or a file for lines, that a job has opened. */
typedef struct StoreReach {
        char *path; /* NULL: a free place */
        int fd;
        bool is_file;
} StoreReach;

/* The file side; of workers. */
typedef struct StoreDisk {
        int root;
        int state; /* .local/muster; -1: not there yet, or not ours */
        int lock;  /* of daemons among themselves */
        Journal journal;
        uint64_t dev, ino; /* of the folder */
        uint64_t serial, stamp;
        bool is_foreign; /* another daemon writes */
        pid_t other;
        LedgerPolicy policy;
        void (*step)(const char *what);
        StoreTrail *trails;
        StoreReach reach[STORE_REACH];
        size_t n_reached;
        int spare; /* the file that becomes the lock of the others by a link; -1: none was made yet */
        uint64_t spare_ino;
        Buf touched; /* paths with NULs: files and folders that are not synced yet */
        size_t n_touched;
        Buf staged; /* names with NULs: files that the journal still needs */
        uint64_t n_restored, n_aside;
        char cut[32]; /* where what had no place was kept; "": nowhere */
} StoreDisk;

/* A file to which a group appends is not on the disk as it will be. */
typedef struct StoreEnd {
        const char *path; /* of a step */
        TrailTail tail;
} StoreEnd;

typedef struct StoreLine {
        StoreTold told; /* points into the job's record and kinds */
        StoreChange *change;
} StoreLine;

typedef struct StoreJob {
        Store *store;
        StoreDisk *disk;
        int64_t wall_us;
        StoreChange *changes; /* of a commit */
        bool has_lock_wait;   /* the lock is taken: those that need it come back */
        bool is_closing;
        Buf record, lines; /* lines: of StoreLine */
        Buf ends;          /* of StoreEnd: files that this group appends to */
        uint64_t n_syncs, n_void;
        bool is_staged;
        int r;
} StoreJob;

/* Files that are there for the next changes; of any thread. */
typedef struct StoreSpares {
        pthread_mutex_t lock;
        uint64_t mark; /* of the folder that they were made in: what a file gets from it */
        int fds[STORE_SPARES];
        size_t n;
        unsigned n_wanted; /* files that were made since somebody last looked */
        bool is_worth;     /* so many that some shall lie ready */
} StoreSpares;

struct Store {
        Loop *loop;
        char *path;
        StoreDisk disk;
        unsigned interval_ms;
        void (*told)(void *user, const StoreTold *told);
        void (*opened)(void *user, int r);
        void (*closed)(void *user);
        void *user, *closed_user;

        StoreChange *first, **last; /* that wait */
        uint64_t n_waiting;         /* bytes of them */
        _Atomic bool
                is_taken; /* by a job, or by who commits a change that it has made: the disk is theirs */
        StoreJob *job;    /* of the loop */
        _Atomic(StoreJob *) spare_job; /* one that is over, for the next; NULL: none */
        Deferred next;
        Timer sync_timer, lock_timer, idle_timer;
        bool is_open, is_closing, is_dirty, wants_sync, wants_open;
        bool is_flushing; /* beside commits, so that the sync that they wait for is short */
        bool is_flushed;
        bool is_filling;          /* a worker makes spares */
        _Atomic unsigned n_ahead; /* files without a name that changes have */
        StoreSpares spares;
        StoreStats stats;
        uint64_t n_seen; /* of its commits, when idle_timer last looked */
};

/* store-disk.c: the folder of ours, its lock, the journal, syncing. */
void store_disk_step(const StoreDisk *disk, const char *what);
/* Ours to write: 0, -EWOULDBLOCK or what the system says. is_reading: only if there is something to recover. */
int store_disk_own(StoreDisk *disk, bool is_reading, int64_t wall_us);
void store_disk_touch(StoreDisk *disk, const char *path); /* needs a sync */
int store_disk_sync(StoreDisk *disk);                     /* all of it; the journal begins anew */
int store_disk_settle(StoreDisk *disk); /* behind that: the journal finds a better place, if it wants one */
bool store_disk_wants_flush(const StoreDisk *disk); /* else a sync takes long */
void store_disk_flush(const StoreDisk *disk);       /* what is not synced yet; beside a job */
void store_disk_close(StoreDisk *disk);
int store_disk_journal(StoreDisk *disk, Str record, bool *ret_is_staged); /* and syncs */
int store_disk_void(StoreDisk *disk, uint64_t change);
int store_read_staged(StoreDisk *disk, const RecordStaged *staged,
                      Buf *ret); /* FILE_E_MISSING: it is not whole */

/* store-reach.c: descriptors are lent, until the next one is asked for. */
void store_reach_forget(StoreDisk *disk);
void store_reach_forget_file(StoreDisk *disk, const char *path); /* that lines went to */
/* The folder that a path lies in, and its last part. Descriptor or negative. */
int store_parent(StoreDisk *disk, const char *path, const char **ret_name);
/* A file for lines. ret_is_new: one that is missing is made; may be NULL. */
int store_open_append(StoreDisk *disk, const char *path, bool *ret_is_new);
int store_make_parents(StoreDisk *disk, const char *path,
                       Buf *made); /* made: paths that are new, with NULs; may be NULL */
int store_identify(StoreDisk *disk, const char *path, FileIdentity *ret,
                   mode_t *ret_mode); /* missing: all zero */

enum { STORE_TEMP_MAX = 256 };
void store_temp_name(const char *name, uint64_t stamp, char out[STORE_TEMP_MAX]);

/* store-lock.c: the lock file of the others. STORE_E_LOCKED: somebody has it. */
enum { _STORE_E_SUCCESS, STORE_E_LOCKED };
typedef struct StoreLock {
        int dir;
        uint64_t ino;
} StoreLock;
#define STORE_LOCK_NULL ((StoreLock){.dir = -1})
int store_lock_dir(const StoreDisk *disk); /* where it lies; made where it is missing */
int store_lock_take(StoreLock *lock, StoreDisk *disk, int64_t wall_us);
void store_lock_drop(StoreLock *lock);
void store_lock_clear(const StoreDisk *disk, int64_t wall_us); /* one that the daemon before us has left */

/* store-apply.c: the steps of one change into the files; taken back where one fails. */
int store_apply(StoreDisk *disk, Str steps, uint64_t number, StoreChange *change);
int store_write_all(int fd, Str bytes, size_t *ret_n); /* may be NULL */
int store_write_at(StoreDisk *disk, const Step *step,
                   uint64_t *ret_n);      /* at its place; *ret_n: bytes written */
/* at its place; *ret_n: bytes written */ /* may be NULL */
/* A document in its place: through a temp file. */
int store_put(StoreDisk *disk, const Step *step);

/* store-ahead.c: files that are written and have no name yet. */
int store_ahead_take(StoreChange *change, size_t n); /* that of its n-th document; the caller's; -1: none */
int store_ahead_name(int fd, int dir, const char *name); /* -EEXIST: there is one */
void store_ahead_drop(StoreChange *change);

/* store-spares.c: files that are made before anybody needs them. */
void spares_init(StoreSpares *spares);
void spares_deinit(StoreSpares *spares);
int spares_take(StoreSpares *spares, int dir); /* for a file in it; the caller's; -1: none */
bool spares_want_more(StoreSpares *spares);
void spares_fill(StoreSpares *spares, int root); /* worker */
bool spares_drop_unused(StoreSpares *spares);    /* whether nobody has asked since the last time */

/* store-seal.c: what is known of files that are appended to. */
StoreTrail *store_trail(StoreDisk *disk, const char *path, int *reterr); /* as it is now */
void store_trail_forget(StoreDisk *disk, const char *path);
uint64_t store_trail_ino(const StoreDisk *disk, const char *path); /* 0: it is none that is known */
void store_trail_missed(StoreDisk *disk, const char *path); /* a line landed elsewhere than was thought */
int store_seal(StoreJob *job); /* from job->changes into job->record and job->lines */
void store_seal_keep(
        StoreJob *job); /* all of it was applied: what the files end with needs not be read again */

int store_recover(StoreDisk *disk, Str journal, int64_t wall_us); /* store-recover.c */
void store_commit_run(StoreJob *job);                             /* store-commit.c */

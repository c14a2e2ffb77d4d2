#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What the files of core/ledger share. A Ledger runs one job at a time that touches its file: open, commit
 * (which also finds lines of others), rewrite, sync. Jobs get all they need when they start, because the
 * loop goes on while they run; what they found is taken over when they are done.
 */
#include "core/ledger/follower.h"
#include "core/ledger/ledger-index-file.h"
#include "core/ledger/ledger-index.h"
#include "core/ledger/ledger-journal.h"
#include "core/ledger/ledger-output.h"
#include "core/ledger/ledger-scan.h"
#include "core/ledger/ledger.h"

/* Lines on the heap before they are merged into the index file. */
enum {
        LEDGER_MERGE_LOADING = 256 * 1024, /* while a ledger is read */
        LEDGER_MERGE_OPEN = 1024,          /* when it has been read, and at close */
        LEDGER_MERGE_LIVE = 64 * 1024,     /* while it is served; and at least 1/8 of those in the file */
};

/* An open ledger file. Reads that are under way keep it when a rewrite puts another in its place. Loop only.
 */
typedef struct LedgerFile {
        unsigned n_refs;
        int fd;
        uint64_t dev, ino;
} LedgerFile;
LedgerFile *ledger_file_ref(LedgerFile *file);
LedgerFile *ledger_file_unref(LedgerFile *file);

typedef struct LedgerReplacement LedgerReplacement;
struct LedgerReplacement {
        LedgerReplacement *next;
        char *path, *temp; /* temp: staged, not published yet */
        Buf bytes;
        FileIdentity expect;
        bool has_expect;
        FileIdentity *published; /* may be NULL */
};

/* Hashes of ids and tags that wait. */
typedef struct HashSet {
        uint64_t *slots;
        size_t n, n_slots;
} HashSet;
bool hash_set_has(const HashSet *set, uint64_t hash);

struct LedgerGroup {
        LedgerChange *first, **last;
        Buf bytes;
        size_t n_bytes;    /* of all changes … */
        bool is_scattered; /* … of which some still have theirs: see ledger_change_commit() */
        uint64_t n_lines;
        bool has_content;
        HashSet pending;
};

/* Paths and settings that never change: workers may read them. */
/* How far a worker has come with the file; all is 0: it has not begun. */
typedef struct LedgerReading {
        _Atomic uint64_t done, all;
} LedgerReading;

struct LedgerPlace {
        char *path, *state_path, *index_path;
        LedgerReading *reading; /* NULL: nobody asks */
        LedgerPolicy policy;
        bool has_chain, is_lines_only;
        LedgerClassifyFn classify;
};

typedef struct LedgerMerge LedgerMerge;

/* What a worker made of a whole file. */
typedef struct LedgerLoad {
        Index *index;
        LedgerFile *file;
        uint64_t end;
        uint64_t n_scanned, n_damaged, n_cut;
        ScanDamage damage[SCAN_DAMAGE_MAX];
        size_t n_damage;
        bool is_index_loaded;
        LedgerJournalFound journal;
} LedgerLoad;

typedef struct LedgerJob {
        Ledger *ledger;
        const LedgerPlace *place;
        LedgerGroup *group;     /* NULL: only look for lines of others */
        LedgerFile *file;       /* as it was known at the start, with its end; NULL: not open yet */
        const Index *index;     /* only its key is looked at */
        LedgerJournal *journal; /* the ledger's: one job runs at a time */
        uint64_t end;
        uint64_t left_at, n_left; /* bytes that a failed commit could not take back: from, up to */
        int64_t wall_us;
        bool is_check;
        bool is_index_broken; /* it is made again */

        char *archive_path; /* rewrite: ranges of lines that go there */
        Buf ranges;

        int r;
        bool is_reloaded;
        LedgerLoad load; /* when is_reloaded */
        Scan found;      /* otherwise lines of others */
        uint64_t own_start, new_end;
        uint64_t own_first; /* position of the first own line */
        mode_t mode;        /* of the file as it was found */
        uint64_t n_cut;
        bool has_synced;
        bool is_journaled; /* …but not in the ledger itself */
} LedgerJob;

struct Ledger {
        Loop *loop;
        LedgerPlace place;
        LedgerReading reading;
        unsigned interval_ms;
        void (*committed)(void *user, uint64_t first, uint64_t n);
        void (*rewritten)(void *user, uint64_t n_gone);
        void (*opened)(void *user, int r);
        void (*closed)(void *user);
        void *user, *closed_user;

        LedgerFile *file;
        Index *index;
        LedgerJournal journal;
        uint64_t end; /* bytes of the file that the index knows */
        uint64_t left_at, n_left;
        int64_t last_ts_us;
        Arena arena; /* for one line */

        Deferred next; /* starts the next job */
        Timer sync_timer;
        LedgerGroup *collecting, *running;
        LedgerJob *job; /* NULL: no one runs */
        bool wants_check, wants_sync, is_dirty, is_open, is_closing;
        LedgerJob *rewrite; /* waits for its turn, or runs */
        void (*rewrite_done)(void *user, int r);
        void *rewrite_user;
        size_t n_reads, n_retiring; /* under way */
        LedgerRead *waiting_reads;  /* until the index is whole again; they count as under way */
        LedgerMerge *merge;         /* NULL: no one runs */
        IndexStand frozen;          /* what the index covers without its young segment */
        LedgerStats stats;
        LedgerTotals *totals; /* NULL: none */
        FollowerList followers;
};

/* Which file is at path, how long, and open to whom; all zero: none. No plain stat(2): see FileStand. */
int ledger_stand(const char *path, FileStand *ret);

/* Worker side. */
int ledger_lock_take(const LedgerPlace *place, int *ret_fd); /* waits, but not for ever: -ETIMEDOUT */
/* Under the lock. The key (may be NULL) is the one that hashes given out before were made with. */
int ledger_load(const LedgerPlace *place, const SipKey *key, int64_t wall_us, LedgerLoad *load);
void ledger_load_deinit(LedgerLoad *load);
/* Under the lock: takes in what others did since job->end. Afterwards own_start is where own lines go. */
int ledger_catch_up(LedgerJob *job);
/* What follows the last whole line: completed if it is an event, else cut and kept aside. *size follows. */
int ledger_mend_tail(const LedgerPlace *place, int fd, const Scan *scan, int64_t wall_us, uint64_t *size,
                     uint64_t *n_cut);
int ledger_open_cut(const LedgerPlace *place, int64_t wall_us); /* a new cut.<stamp>, or negative */
/* Takes the place of path, also across file systems. */
int ledger_publish(const char *temp, const char *path, FileSync sync);
#define LEDGER_STAGE "stage" /* temp files are state/ledger/.stage.<random> */
/* Lines and files of one change, across a crash: see ledger-intent.c. */
int ledger_intent_write(const LedgerJob *job, uint64_t ino, bool *ret_is_written);
void ledger_intent_clear(const LedgerPlace *place);
void ledger_intent_recover(const LedgerPlace *place, const LedgerFile *file);
int ledger_chain_follow(const LedgerPlace *place, int fd, uint64_t end,
                        bool is_new); /* nothing without has_chain */
void ledger_commit_run(LedgerJob *job);
void ledger_rewrite_run(LedgerJob *job);

/* Times after this are not believed; nothing in an index made at wall_us is later. */
static inline int64_t ledger_believed_us(int64_t wall_us) {
        return MAX(wall_us, 0) + LEDGER_AHEAD_US;
}

/* Loop side. */
bool ledger_is_ahead(const Ledger *ledger); /* its index has times that the clock has left behind again */
void ledger_kick(Ledger *ledger);
LedgerJob *ledger_job_new(Ledger *ledger);
LedgerJob *ledger_job_free(LedgerJob *job);
void ledger_job_prepare(Ledger *ledger, LedgerJob *job); /* what changes from job to job */
void ledger_commit_work(void *user);                     /* ledger_commit_run() for loop_work() */
void ledger_run_next(Deferred *deferred);
void ledger_on_sync_timer(Timer *timer);
void ledger_start_close(Ledger *ledger);
void ledger_take_load(Ledger *ledger, LedgerLoad *load);
void ledger_group_finish(Ledger *ledger, LedgerGroup *group, int r); /* done() of every change, then frees */
void ledger_merge_if_due(Ledger *ledger);
void ledger_resume_reads(Ledger *ledger, int r); /* the index is whole again, or is not to be had: r */
void ledger_retire_index(Ledger *ledger, Index *index); /* takes it; NULL is fine */

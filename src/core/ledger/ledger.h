#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Ledger: an append-only file of JSON lines with group commit, recovery and a derived index.
 *
 * The file is the only truth; other programs read it and append to it under the same lock. A change (some
 * lines, and some files that are replaced with them) is answered when it is kept. Everything that asks for a
 * commit while one is under way goes into the next, so the price of a sync is shared; there is no timer.
 * What the lines mean is the owner's business: classify() tells the index under which words a line can be
 * found.
 *
 * Everything here is for the loop's thread. Nothing blocks: files are touched by workers. The owner keeps
 * the Ledger until closed().
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/json/json-writer.h"
#include "base/json/json.h"
#include "base/loop/loop.h"
#include "core/ledger/ledger-totals.h"

typedef struct Ledger Ledger;
typedef struct LedgerGroup LedgerGroup;

typedef enum LedgerPolicy {
        LEDGER_COMMIT,   /* done() after fdatasync: survives power loss */
        LEDGER_INTERVAL, /* done() after the write; synced every interval_ms: survives kill -9 */
        LEDGER_NONE,     /* done() after the write; never synced by us, except at close */
} LedgerPolicy;
const char *ledger_policy_name(LedgerPolicy policy);

enum {
        _LEDGER_E_SUCCESS,
        LEDGER_E_NOT_FOUND,
        LEDGER_E_PENDING, /* it is on its way to the disk and has no position yet; see ledger_change_commit()
                           */
        LEDGER_LATER,     /* done() follows */
};

enum {
        LEDGER_TAGS_MAX = 32,
        LEDGER_LINE_MAX = 16 * 1024 * 1024, /* longer ones: -EMSGSIZE here, skipped when others wrote them */
        LEDGER_GROUP_MAX = 256 * 1024 * 1024, /* bytes waiting for a commit; beyond: -ENOBUFS */
        LEDGER_KIND_MAX = 128, /* bytes of a kind, and 1000 different ones; others are indexed as "" */
        LEDGER_CURSOR_MAX = 16,
};

/* What the index keeps of one line. */
typedef struct LedgerFacts {
        Str id;        /* empty: cannot be found by id */
        int64_t ts_us; /* since 1970; 0: unknown, the line before decides */
        Str kind;
        Str tags[LEDGER_TAGS_MAX]; /* words under which the line can be listed, e.g. "to:@all", "by:alice" */
        size_t n_tags;
} LedgerFacts;

/* Adds prefix + word, made in the arena; more than LEDGER_TAGS_MAX, or without memory: left out. */
void ledger_facts_tag(LedgerFacts *facts, Arena *arena, Str prefix, Str word);

/* Pure: runs on workers (lines found in the file) and on the loop (own lines). False: not an event, every
 * reader skips it. The facts may point into the line and the arena. */
typedef bool (*LedgerClassifyFn)(Arena *arena, const Json *line, LedgerFacts *facts);

typedef struct LedgerOptions {
        Loop *loop;
        const char *path;       /* …/ledger.jsonl; made when missing, its folder must exist */
        const char *state_path; /* …/state/ledger: ledger.lock, index, cut tails, chain; made when missing */
        LedgerPolicy policy;
        unsigned interval_ms; /* for LEDGER_INTERVAL; 0: 1000 */
        bool has_chain;       /* SHA-256 chain in a side file */
        bool is_lines_only;   /* no change has files: one that seems to wait for its files is not ours */
        LedgerClassifyFn classify;
        LedgerTotals *totals; /* counted there, too; NULL: nowhere */
        /* These positions are kept and can be read now: own lines (before their done()) or those of another
         * program. */
        void (*committed)(void *user, uint64_t first, uint64_t n);
        /* May be NULL. Every position has changed: ledger_rewrite(), or another program replaced the file. n_gone:
         * how many lines fewer there are; those that stayed keep their distance from the end. Followers
         * (follower.h) have moved already. */
        void (*rewritten)(void *user, uint64_t n_gone);
        void *user;
} LedgerOptions;

/* Policy, interval and chain as the configuration says. */
typedef struct Config Config;
LedgerPolicy ledger_policy_of(const Config *config); /* what is configured, or the default */
void ledger_options_apply(LedgerOptions *options, const Config *config);

/* opened() runs in a later turn, with 0 or a negative number; only then may the rest be called. If it
 * failed, the ledger still has to be closed. The strings are copied. */
int ledger_open(Ledger **ret, const LedgerOptions *options, void (*opened)(void *user, int r));
/* While opened() is still to come: {what, done, all}, how many bytes of the file were read, of how many (0: not
 * known yet). Otherwise, or without a ledger, nothing. */
void ledger_write_opening(const Ledger *ledger, JsonWriter *w, const char *what, const char *of);
/* Finishes what was committed, keeps the index, then closed(), in a later turn. The Ledger is gone then. */
void ledger_close(Ledger *ledger, void (*closed)(void *user), void *user);

/*
 * A change: lines and whole-file replacements that are kept together. Embedded in an object of the caller,
 * who keeps it from commit to done(); done() may free it. A change without content is a barrier: its done()
 * comes when all that was committed before is settled.
 */
typedef struct LedgerChange LedgerChange;
struct LedgerChange {
        /* r: 0, or negative and nothing of it became visible. -ESTALE: a file was not as expected. */
        void (*done)(LedgerChange *change, int r);
        /* NULL, or set before the commit: what has to be on the disk before the lines are. On a worker, under
         * the lock; what it returns, if not 0, is r of this change alone. */
        int (*prepare)(LedgerChange *change);
        LedgerChange *next; /* in prepare(): the one behind it that is kept together with it; NULL: none */
        Ledger *ledger;
        uint64_t first; /* in done(): position of the first line, and how many there are */
        uint64_t n_lines;

        Buf bytes, records; /* from here on private */
        struct LedgerReplacement *files;
        size_t start, n_bytes; /* of its lines in the bytes of the group */
        int r;
};
void ledger_change_init(LedgerChange *change, Ledger *ledger, void (*done)(LedgerChange *change, int r));
void ledger_change_deinit(
        LedgerChange *change); /* of one that is not committed, or whose commit failed at once */
/* A complete event in JSON without a newline; copied. -EINVAL: not a line, or classify() does not know it.
 * -EMSGSIZE. */
int ledger_change_line(LedgerChange *change, Str line);
/* The same without parsing it: outline is a short line of which classify() says what it would say of the
 * long one, which the caller has made itself. */
int ledger_change_line_as(LedgerChange *change, Str line, Str outline);
/* The same of a line with its newline, the only one of its change, whose memory is taken: nothing is copied. */
int ledger_change_take(LedgerChange *change, Buf *line, Str outline);
/* Atomic replacement, copied; a new file gets 0600. expect (may be NULL): -ESTALE if it is not this file any
 * more. */
int ledger_change_file(LedgerChange *change, const char *path, Str bytes, const FileIdentity *expect);
/* In done(0), *ret is the identity of the file that was added last, as we put it there; all zero when
 * another program has replaced it since. ret lives until done(). */
void ledger_change_file_identity(LedgerChange *change, FileIdentity *ret);
/* Joins the group being collected. 0: done() follows in a later turn. Negative: it does not. */
int ledger_change_commit(LedgerChange *change);

/* A time stamp for the next line: now, but later than every line and every stamp given before, as far as
 * those are believed: one that lies further ahead than LEDGER_AHEAD_US was made while a clock was wrong, or
 * by somebody who lies. Order is kept by number; time says when. */
#define LEDGER_AHEAD_US (INT64_C(300) * 1000000)
int64_t ledger_next_ts_us(Ledger *ledger);

/* Looks whether another program has appended (one stat(2)); if so a worker reads it and committed() follows.
 * Returns whether something is under way: a barrier tells when it is settled. Call before answering a read.
 */
bool ledger_check(Ledger *ledger);
/* Whether the index was damaged by others and is being made again; until then no position finds its line.
 * Reads that are asked for wait by themselves. */
bool ledger_is_mending(Ledger *ledger);

/*
 * Index. Positions run from 0 to ledger_n_committed(); lines that wait for their commit have none. Skipped
 * lines have none either. A position stays what it is until rewritten().
 */
uint64_t ledger_n_committed(const Ledger *ledger);
uint64_t ledger_n(const Ledger *ledger);       /* with those that wait */
uint64_t ledger_n_bytes(const Ledger *ledger); /* of the file, as far as it is indexed */

/* Conditions: LEDGER_E_NOT_FOUND, LEDGER_E_PENDING. Of several lines with one id the first is found. */
int ledger_find_id(const Ledger *ledger, Str id, uint64_t *ret_position);

typedef struct LedgerEntry {
        uint64_t offset;
        uint32_t n_bytes; /* without the newline */
        int64_t ts_us; /* never less than that of the entry before; just after it if it lies too far ahead */
        Str kind;
        bool is_repeated; /* an earlier line has the same id */
} LedgerEntry;
LedgerEntry ledger_entry(const Ledger *ledger, uint64_t position);
/* First position whose ts_us is later; ledger_n_committed() when none is. */
uint64_t ledger_first_after_ts(const Ledger *ledger, int64_t ts_us);

/* A word of the index. Good for as long as the ledger is open. */
typedef struct LedgerTag {
        uint64_t hash; /* 0: no line has it */
} LedgerTag;
LedgerTag ledger_tag(const Ledger *ledger, Str word);
static inline bool ledger_tag_is_none(LedgerTag tag) {
        return tag.hash == 0;
}
bool ledger_has_tag(const Ledger *ledger, uint64_t position, LedgerTag tag);
bool ledger_is_tag_pending(const Ledger *ledger, Str word); /* a line that waits for its commit has it */

/* A walk over the lines that have one of several tags, each position once, in order. Good until the turn
 * ends. */
typedef struct LedgerSpan {
        const uint32_t *at, *end; /* what is left of a posting list */
} LedgerSpan;
enum { LEDGER_SEGMENTS = 3 };
typedef struct LedgerCursor {
        LedgerSpan spans[LEDGER_CURSOR_MAX * LEDGER_SEGMENTS];
        size_t n_spans;
        uint64_t n_positions; /* that there are */
        bool is_backwards;
} LedgerCursor;
/* Forwards: from `position` up. Backwards: from the one before `position` down. Tags that are none are left
 * out; those beyond LEDGER_CURSOR_MAX: -E2BIG. */
int ledger_cursor_init(LedgerCursor *cursor, const Ledger *ledger, const LedgerTag *tags, size_t n_tags,
                       uint64_t position, bool is_backwards);
bool ledger_cursor_next(LedgerCursor *cursor, uint64_t *ret_position); /* false: at the end */

/*
 * The bytes of lines: at once from the page cache, else by a worker. Embedded in an object of the caller,
 * who keeps it until done() and calls ledger_read_deinit() in the end.
 */
typedef struct LedgerRead LedgerRead;
struct LedgerRead {
        void (*done)(LedgerRead *read, int r); /* -ESTALE: the file is not what it was; ask again */
        size_t n;

        LedgerRead *next; /* private */
        Buf bytes, parts;
        Ledger *ledger;
        struct LedgerFile *file;
        int r;
};
/* 0: done already, done() is not called. LEDGER_LATER: done() follows. Positions below ledger_n_committed();
 * a read asks for at most LEDGER_READ_MAX bytes (-EMSGSIZE). */
enum { LEDGER_READ_MAX = 256 * 1024 * 1024 };
int ledger_read(Ledger *ledger, LedgerRead *read, const uint64_t *positions, size_t n);
Str ledger_read_line(const LedgerRead *read, size_t i); /* without the newline; good until deinit */
void ledger_read_deinit(LedgerRead *read);

/*
 * Takes lines out: those at the given positions (ascending) go to the archive file in order (created with
 * its folder, appended to if it is there), all other bytes stay in order. Under the lock, on a worker,
 * atomic; what is committed meanwhile waits. rewritten() comes before done(). One at a time: -EBUSY.
 */
int ledger_rewrite(Ledger *ledger, const uint64_t *positions, size_t n, const char *archive_path,
                   void (*done)(void *user, int r), void *user);

/* Counters for tests, `ledger stat` and the benchmark. */
typedef struct LedgerStats {
        uint64_t n_commits, n_lines, n_syncs; /* by us, since it was opened */
        uint64_t n_journaled;                 /* commits that were synced in the journal */
        uint64_t n_foreign;                   /* lines of other programs, since it was opened */
        uint64_t n_damaged;                   /* lines that every reader skips, as far as they were read */
        uint64_t n_scanned;                   /* bytes read to make or catch up the index */
        bool is_index_loaded;
} LedgerStats;
LedgerStats ledger_stats(const Ledger *ledger);

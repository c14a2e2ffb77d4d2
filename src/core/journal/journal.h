#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Journal: a file of fixed length into which records are written in place and synced.
 *
 * A sync behind an append makes the file system commit the new length, too; one behind a write into bytes
 * that are there already does not, and takes two thirds of the time. So what has to be safe at once goes here
 * first, and where it belongs a little later. A head begins an epoch and says, in words of the owner, what the
 * records are for; records follow it, each with a tag of the owner and a checksum. A new epoch begins at the
 * front again: records of the one before that still lie behind it have another number. What the records mean,
 * and when one may be forgotten, is the owner's business.
 *
 * For workers; owned by whoever keeps something safe with it (Ledger, Store), whose jobs run one at a time.
 * Byte order and layout are this machine's: nobody else has use for the file.
 */
#include "base/buf.h"

#include <stdint.h>

enum {
        JOURNAL_WORDS = 3,
        JOURNAL_BLOCK = 4096,
        JOURNAL_BUSY = 4,      /* files beside which it shall not lie, as many as are remembered */
        JOURNAL_MOVES_MAX = 4, /* so often it looks for a better place, while it is open */
};
#define JOURNAL_MAGIC "muster1" /* with its NUL */

typedef struct JournalHead {
        char magic[8];
        uint64_t epoch;
        uint64_t words[JOURNAL_WORDS]; /* the owner's */
        uint64_t sum;
} JournalHead;

typedef struct JournalMark {
        uint64_t epoch, tag, n;
        uint64_t sum; /* of the three and the bytes */
} JournalMark;

typedef struct Journal {
        int fd; /* -1: there is none, or not any more */
        uint64_t ino;
        size_t n_size;  /* whole blocks */
        uint64_t at;    /* where the next record goes; 0: it begins a new epoch */
        uint64_t epoch; /* of the last head */
        char *block;    /* the begun one, while blocks are written past the page cache; else NULL */
        bool is_plain;  /* they are not, and will not be */
        char *room;     /* in which records are put together */
        size_t n_room;
        bool is_crowded;
        uint64_t busy[JOURNAL_BUSY];
        unsigned n_busy, n_moved;
} Journal;
#define JOURNAL_NULL ((Journal){.fd = -1})

/* A new file of n_size bytes, all of them written and synced; one that is there is replaced. `busy` is the
 * inode number of a file that changes all the time: ours gets one in another block (0: anywhere). */
int journal_create(Journal *journal, int dir, const char *name, size_t n_size, uint64_t busy);
/* The owner has seen one that changes, too: if it is a neighbour, every sync writes its inode. */
void journal_meet(Journal *journal, uint64_t ino);
bool journal_wants_to_move(const Journal *journal);
/* Of one without records: another file takes its place, apart from those that were met. Where that fails it is closed. */
int journal_move(Journal *journal, int dir, const char *name);
/* A new file beside it that changes all the time, likewise apart from `ino`. Descriptor or negative. */
int journal_create_apart(int dir, const char *name, uint64_t ino);
/* One that is there already, for a new epoch; what it holds is not looked at. -EINVAL: it has another length. */
int journal_reuse(Journal *journal, int dir, const char *name, size_t n_size);
/* Whether a record of n bytes still fits. */
bool journal_has_room(const Journal *journal, size_t n);
/* Writes one record, in a new epoch behind a head with these words. is_synced: afterwards it is safe; else it survives
 * kill -9 only. */
int journal_append(Journal *journal, const uint64_t words[JOURNAL_WORDS], uint64_t tag, Str bytes,
                   bool is_synced);
/* The records are needed no more. Needs no sync: they say what is true. */
void journal_restart(Journal *journal);
void journal_give_back(Journal *journal); /* memory for the next record, if that may be long in coming */
void journal_close(Journal *journal);

/* Reading, of the bytes of such a file. False: there is no head, or none that was written as a whole. */
bool journal_head(Str file, JournalHead *ret);
/* The record at *at, which then is behind it: the first one at sizeof(JournalHead). False: there is none that
 * is whole and of this epoch. n_max: longer ones are none. */
bool journal_next(Str file, const JournalHead *head, size_t n_max, size_t *at, uint64_t *ret_tag, Str *ret);
/* record() for all of them in order, until one is no 0: that is returned. */
int journal_replay(Str file, const JournalHead *head, size_t n_max,
                   int (*record)(void *user, uint64_t tag, Str bytes), void *user);

/* For tests, which damage it. */
uint64_t journal_head_sum(const JournalHead *head);
size_t journal_padded(uint64_t n);

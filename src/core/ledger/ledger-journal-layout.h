#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * How the journal lies on the disk. A head, which begins an epoch, and records (a mark and its lines), each
 * padded to 8 bytes. Head and first record are one write. Records of the epoch before that are still behind
 * them have another number. Byte order and layout are this machine's: nobody else has use for it.
 */
#include "base/str.h"

#include <stdint.h>

typedef struct LedgerPlace LedgerPlace;

enum { JOURNAL_WITNESS = 4096 };
#define JOURNAL_MAGIC "muster1" /* with its NUL */

typedef struct JournalHead {
        char magic[8];
        uint64_t epoch, ino, base;
        uint64_t witness; /* hash of the last bytes before base: whether it is this file still */
        uint64_t sum;
} JournalHead;

typedef struct JournalMark {
        uint64_t epoch, offset, n;
        uint64_t sum; /* of the three and the lines */
} JournalMark;

uint64_t journal_head_sum(const JournalHead *head);
uint64_t journal_mark_sum(const JournalMark *mark, Str lines);
size_t journal_padded(uint64_t n);
char *journal_path(const LedgerPlace *place); /* malloc'd */
int journal_witness(int file, uint64_t base, uint64_t *ret);

#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The index on disk (state/ledger/index): a header, then entries, table of ids, terms, postings and kinds,
 * as they are used in memory. It is mapped, never changed in place, and replaced as a whole. It is checked
 * when it is opened (form, checksum, the end of the ledger that it was made of); whatever does not fit is
 * thrown away and made again. For workers.
 */
#include "core/ledger/ledger-index.h"

enum { _INDEX_FILE_E_SUCCESS, INDEX_FILE_E_UNUSABLE };

/* Which state of which ledger an index describes. */
typedef struct IndexStand {
        uint64_t ino, end; /* of the ledger file: number, and how far it is indexed */
        uint64_t n_damaged;
} IndexStand;

/* The base (may be NULL) and the heap segment that follows it, as one file. kinds: NUL-terminated, one after
 * another. */
int index_file_write(const char *path, int ledger_fd, SipKey key, const Segment *base, const Segment *heap,
                     const Buf *kinds, const IndexStand *stand);
/* The file as an index without lines on the heap yet. Condition: INDEX_FILE_E_UNUSABLE. need_key may be
 * NULL. */
int index_file_open(const char *path, int ledger_fd, uint64_t ledger_size, const SipKey *need_key,
                    Index **ret, IndexStand *ret_stand);
/* Maps what index_file_write() just made. */
int index_file_map(const char *path, Segment **ret);
int index_kinds_text(const Index *index, Buf *out);

/* Merges all that is on the heap into the file, so that little memory is held. The index must have no frozen
 * segment. On failure it stays as it was. */
int index_persist(Index *index, const char *path, int ledger_fd, const IndexStand *stand);

#pragma once
/* SPDX-License-Identifier: MIT */
/* Private to ledger-index-file.c and ledger-index-write.c: the bytes of an index file. */
#include "core/ledger/ledger-index-file.h"

enum { INDEX_VERSION = 3, INDEX_BLOCK = 256 * 1024, INDEX_TAIL = 4096 };
#define INDEX_MAGIC 0x31786469676c736dULL /* "mslgidx1" */

/* In the machine's byte order: it never leaves the machine. Sections follow in this order, without gaps. */
typedef struct IndexHeader {
        uint64_t magic;
        uint32_t version, n_header;
        SipKey key;
        IndexStand stand;
        uint64_t tail_hash; /* of the last bytes before stand.end */
        int64_t max_ts_us;
        uint64_t n_entries, n_id_slots, n_ids, n_terms, n_postings;
        uint64_t n_kind_bytes;
        uint64_t body_sum, header_sum;
} IndexHeader;

/* Not cryptographic: finds accidents. Blocks of INDEX_BLOCK bytes, the last one shorter. */
uint64_t index_sum(uint64_t sum, const void *data, size_t n);
int index_tail_hash(int ledger_fd, SipKey key, uint64_t end, uint64_t *ret);
uint64_t index_header_sum(const IndexHeader *header);

#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Index of a ledger: one entry per line, a table of ids, a posting list per tag. Derived; never the truth.
 *
 * It consists of up to three segments, oldest first: one that is mapped from the index file, one that is
 * frozen while a worker merges it into a new file, and one on the heap that takes new lines. Words are kept
 * as keyed hashes only. One thread at a time, but a mapped or frozen segment may be read by any number.
 */
#include "base/file.h"
#include "base/mapping.h"
#include "base/siphash.h"
#include "core/ledger/ledger.h"

typedef struct IndexEntry {
        uint64_t offset;
        int64_t ts_us; /* running maximum */
        uint64_t id;   /* hash; 0: none */
        uint32_t n_bytes;
        uint16_t kind; /* of Index.kinds */
        uint16_t flags;
} IndexEntry;
enum { INDEX_REPEATED = 1 };

/* A posting list of a mapped segment. */
typedef struct IndexTerm {
        uint64_t hash;
        uint32_t first, n; /* in the postings */
} IndexTerm;

/* A posting list of a segment on the heap: up to two positions in place. */
typedef struct HeapTerm {
        uint64_t hash;
        uint32_t n, cap; /* cap 0: in place */
        union {
                uint32_t few[2];
                uint32_t *many;
        };
} HeapTerm;

typedef struct Segment {
        uint64_t start;
        uint32_t n;
        uint32_t cap; /* heap only */
        IndexEntry *entries;
        uint32_t *ids; /* open addressing; entry's number + 1, 0: free */
        uint32_t n_id_slots, n_ids;

        HeapTerm *heap_terms;
        uint32_t n_heap_terms, cap_heap_terms;
        uint32_t *term_slots; /* heap: number of the term + 1 */
        uint32_t n_term_slots;
        uint64_t n_heap_postings;

        const IndexTerm *terms; /* mapped: sorted by hash */
        uint32_t n_terms;
        const uint32_t *postings;
        uint64_t n_postings;
        void *map; /* NULL: on the heap */
        size_t n_map;
        Mapping *mapping;      /* of map: others may write the file, so nothing in it is trusted */
        uint64_t end;          /* map: no line that it knows ends behind this */
        FileIdentity identity; /* map: the file as it was */
} Segment;

typedef struct Index {
        SipKey key;
        Segment *segments[LEDGER_SEGMENTS];
        size_t n_segments;
        char **kinds; /* kinds[0] is "" */
        size_t n_kinds;
        int64_t max_ts_us;
        int64_t believed_us; /* a line with a later time counts as just after the line before */
} Index;

int index_new(Index **ret, const SipKey *key); /* NULL: a new one */
Index *index_free(Index *index);
Segment *segment_free(Segment *segment);
Segment *segment_new(uint64_t start);

uint64_t index_hash_id(const Index *index, Str id); /* never 0 */
uint64_t index_hash_tag(const Index *index, Str word);

/* A line as a scan or a change describes it, in a Buf of many: this, n_tags hashes, n_kind bytes, filled up
 * to 8. */
typedef struct Record {
        uint64_t offset; /* of own lines: from the start of the change, then of the group */
        int64_t ts_us;
        uint64_t id;
        uint32_t n_bytes;
        uint16_t n_tags, n_kind;
        uint64_t tags[];
} Record;
/* Whether a line is one event, and what is to be known of it; the facts point into line and arena. */
bool record_classify(Arena *arena, LedgerClassifyFn classify, Str line, LedgerFacts *facts);
int record_append(Buf *records, const Index *index, const LedgerFacts *facts, uint64_t offset,
                  uint32_t n_bytes);
/* The next of a Buf, or NULL; advances *at. */
Record *record_next(const Buf *records, size_t *at);

int index_append(Index *index, const Record *record);          /* -ENOMEM: nothing happened */
void index_prefetch(const Index *index, const Record *record); /* it will be appended soon */
uint64_t index_n(const Index *index);
/* All zero when there is none, or when it is nonsense, which breaks the segment. */
IndexEntry index_entry(const Index *index, uint64_t position);
/* A mapped segment's list, within its postings; empty when it is nonsense, which breaks the segment. */
IndexTerm segment_term(const Segment *segment, size_t number);
/* A mapped segment was cut, or holds nonsense: the index is to be made again. */
bool index_is_broken(const Index *index);
/* The same, after a look at the file (one stat(2)). For a Segment, NULL is whole. */
bool segment_is_changed(const Segment *segment, const char *path);
bool index_find_id(const Index *index, uint64_t id, uint64_t *ret_position);
LedgerSpan segment_postings(const Segment *segment, uint64_t tag);
uint16_t index_kind(Index *index, Str kind); /* made when new */

static inline size_t index_slot(uint64_t hash, uint32_t n_slots) { /* n_slots: a power of two */
        return (size_t)(hash & (n_slots - 1));
}
/* First of a sorted run that is not below `position`. */
const uint32_t *postings_lower(LedgerSpan span, uint64_t position);

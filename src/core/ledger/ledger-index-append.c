/* SPDX-License-Identifier: MIT */
/*
 * How the youngest segment of an index grows. Everything that can fail for want of memory comes before the
 * first visible step, so that a line is in the index or is not.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "core/ledger/ledger-index.h"

enum { SLOTS_FIRST = 64, ENTRIES_FIRST = 64 };

static void put_slot(uint32_t *slots, uint32_t n_slots, uint64_t hash, uint32_t number) {
        size_t slot = index_slot(hash, n_slots);

        while (slots[slot])
                slot = (slot + 1) & (n_slots - 1);
        slots[slot] = number;
}

static int reserve_entry(Segment *s) {
        IndexEntry *grown;
        uint32_t cap;

        if (s->n < s->cap)
                return 0;
        if (s->start + s->n >= UINT32_MAX - 1)
                return error_origin(-EFBIG); /* positions are 32 bits in the posting lists */
        cap = s->cap ? s->cap + s->cap / 2 : ENTRIES_FIRST;
        grown = realloc(s->entries, (size_t)cap * sizeof(*grown));
        if (!grown)
                return error_origin(-ENOMEM);
        s->entries = grown;
        s->cap = cap;
        return 0;
}

static int reserve_id(Segment *s) {
        uint32_t n_slots = s->n_id_slots ? s->n_id_slots * 2 : SLOTS_FIRST, *slots;

        if (s->n_ids + 1 <= s->n_id_slots / 4 * 3)
                return 0;
        slots = calloc(n_slots, sizeof(*slots));
        if (!slots)
                return error_origin(-ENOMEM);
        for (uint32_t i = 0; i < s->n; i++)
                if (s->entries[i].id && !(s->entries[i].flags & INDEX_REPEATED))
                        put_slot(slots, n_slots, s->entries[i].id, i + 1);
        free(s->ids);
        s->ids = slots;
        s->n_id_slots = n_slots;
        return 0;
}

static int reserve_terms(Segment *s, uint32_t n) {
        uint32_t n_slots = s->n_term_slots ? s->n_term_slots : SLOTS_FIRST, *slots;

        if (s->n_heap_terms + n > s->cap_heap_terms) {
                uint32_t cap = s->cap_heap_terms + s->cap_heap_terms / 2 + n + SLOTS_FIRST;
                HeapTerm *grown = realloc(s->heap_terms, cap * sizeof(*grown));

                if (!grown)
                        return error_origin(-ENOMEM);
                s->heap_terms = grown;
                s->cap_heap_terms = cap;
        }
        while (s->n_heap_terms + n > n_slots / 4 * 3)
                n_slots *= 2;
        if (n_slots == s->n_term_slots)
                return 0;
        slots = calloc(n_slots, sizeof(*slots));
        if (!slots)
                return error_origin(-ENOMEM);
        for (uint32_t i = 0; i < s->n_heap_terms; i++)
                put_slot(slots, n_slots, s->heap_terms[i].hash, i + 1);
        free(s->term_slots);
        s->term_slots = slots;
        s->n_term_slots = n_slots;
        return 0;
}

static HeapTerm *find_term(const Segment *s, uint64_t hash) {
        if (!s->n_term_slots)
                return NULL;
        for (size_t slot = index_slot(hash, s->n_term_slots);; slot = (slot + 1) & (s->n_term_slots - 1)) {
                uint32_t number = s->term_slots[slot];

                if (number == 0)
                        return NULL;
                if (s->heap_terms[number - 1].hash == hash)
                        return &s->heap_terms[number - 1];
        }
}

/* Room for one position more. */
static int reserve_posting(HeapTerm *term) {
        uint32_t cap = term->cap ? term->cap * 2 : 8, *many;

        if (term->n < (term->cap ? term->cap : ARRAY_SIZE(term->few)))
                return 0;
        many = realloc(term->cap ? term->many : NULL, cap * sizeof(*many));
        if (!many)
                return error_origin(-ENOMEM);
        if (!term->cap)
                memcpy(many, term->few, sizeof(term->few));
        term->many = many;
        term->cap = cap;
        return 0;
}

/* Makes the lists of the record's tags, without its position. An empty list that stays behind does no harm.
 */
static int reserve_postings(Segment *s, const Record *record, uint32_t *numbers) {
        int r = reserve_terms(s, record->n_tags);

        for (size_t i = 0; r == 0 && i < record->n_tags; i++) {
                HeapTerm *term = find_term(s, record->tags[i]);

                if (!term) {
                        term = &s->heap_terms[s->n_heap_terms++];
                        *term = (HeapTerm){.hash = record->tags[i]};
                        put_slot(s->term_slots, s->n_term_slots, term->hash, s->n_heap_terms);
                }
                numbers[i] = (uint32_t)(term - s->heap_terms);
                r = reserve_posting(term);
        }
        return error_trace(r);
}

static void add_posting(Segment *s, HeapTerm *term, uint32_t position) {
        uint32_t *list = term->cap ? term->many : term->few;

        if (term->n && list[term->n - 1] == position)
                return; /* the same word twice on one line */
        list[term->n++] = position;
        s->n_heap_postings++;
}

void index_prefetch(const Index *index, const Record *record) {
        const Segment *s = NULL;

        for (size_t i = 0; i < index->n_segments; i++) {
                s = index->segments[i];
                if (s->n_id_slots)
                        __builtin_prefetch(&s->ids[index_slot(record->id, s->n_id_slots)]);
        }
        for (size_t i = 0; s && s->n_term_slots && i < record->n_tags; i++)
                __builtin_prefetch(&s->term_slots[index_slot(record->tags[i], s->n_term_slots)]);
}

/* One from the future counts as just after the line before, so that who goes on behind that line by its time
 * does not miss it. */
static int64_t believed_time(const Index *index, const Record *record) {
        return record->ts_us <= index->believed_us ? record->ts_us
                                                   : MIN(index->max_ts_us + 1, index->believed_us);
}

int index_append(Index *index, const Record *record) {
        Segment *s = index->segments[index->n_segments - 1];
        uint32_t position = (uint32_t)(s->start + s->n), numbers[LEDGER_TAGS_MAX] = {0};
        bool is_repeated;
        uint64_t other;
        int r;

        r = reserve_entry(s);
        r = r ? r : reserve_id(s);
        r = r ? r : reserve_postings(s, record, numbers);
        if (r)
                return error_trace(r);

        is_repeated = record->id && index_find_id(index, record->id, &other);
        index->max_ts_us = MAX(index->max_ts_us, believed_time(index, record));
        s->entries[s->n++] = (IndexEntry){
                .offset = record->offset,
                .ts_us = index->max_ts_us,
                .id = record->id,
                .n_bytes = record->n_bytes,
                .kind = index_kind(index,
                                   (Str){(const char *)(record->tags + record->n_tags), record->n_kind}),
                .flags = is_repeated ? INDEX_REPEATED : 0,
        };
        if (record->id && !is_repeated) {
                put_slot(s->ids, s->n_id_slots, record->id, s->n);
                s->n_ids++;
        }
        for (size_t i = 0; i < record->n_tags; i++)
                add_posting(s, &s->heap_terms[numbers[i]], position);
        return 0;
}

/* Hashes are spread evenly, so a guess by proportion finds one in a few steps. */
static bool find_mapped(const Segment *s, uint64_t hash, size_t *ret) {
        size_t low = 0, high = s->n_terms;

        while (low < high) {
                uint64_t first = s->terms[low].hash, last = s->terms[high - 1].hash;
                size_t guess;

                if (hash < first || hash > last)
                        return false;
                guess = low + (size_t)((double)(hash - first) / ((double)(last - first) + 1) *
                                       (double)(high - low));
                guess = MIN(guess, high - 1);
                if (s->terms[guess].hash == hash) {
                        *ret = guess;
                        return true;
                }
                if (s->terms[guess].hash < hash)
                        low = guess + 1;
                else
                        high = guess;
        }
        return false;
}

LedgerSpan segment_postings(const Segment *s, uint64_t tag) {
        const uint32_t *list;

        if (s->map) {
                IndexTerm term;
                size_t number;

                if (!find_mapped(s, tag, &number))
                        return (LedgerSpan){0};
                term = segment_term(s, number);
                list = s->postings + term.first;
                return (LedgerSpan){list, list + term.n};
        }
        const HeapTerm *term = find_term(s, tag);

        if (!term)
                return (LedgerSpan){0};
        list = term->cap ? term->many : term->few;
        return (LedgerSpan){list, list + term->n};
}

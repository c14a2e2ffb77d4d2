/* SPDX-License-Identifier: MIT */
#include "core/ledger/ledger-index.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/id.h"

enum { KINDS_MAX = 1000 };

int index_new(Index **ret, const SipKey *key) {
        Index *index = calloc(1, sizeof(*index));
        int r;

        if (!index)
                return error_origin(-ENOMEM);
        index->believed_us = INT64_MAX;
        if (key)
                index->key = *key;
        r = key ? 0 : random_bytes(&index->key, sizeof(index->key));
        if (r == 0) {
                index->segments[0] = segment_new(0);
                index->n_segments = 1;
                if (!index->segments[0] || index_kind(index, STR("")) != 0 || index->n_kinds != 1)
                        r = error_origin(-ENOMEM);
        }
        if (r) {
                index_free(index);
                return error_trace(r);
        }
        *ret = index;
        return 0;
}

Index *index_free(Index *index) {
        if (!index)
                return NULL;
        for (size_t i = 0; i < index->n_segments; i++)
                segment_free(index->segments[i]);
        for (size_t i = 0; i < index->n_kinds; i++)
                free(index->kinds[i]);
        free(index->kinds);
        free(index);
        return NULL;
}

Segment *segment_new(uint64_t start) {
        Segment *segment = calloc(1, sizeof(*segment));

        if (segment)
                segment->start = start;
        return segment;
}

Segment *segment_free(Segment *segment) {
        if (!segment)
                return NULL;
        if (segment->map) {
                (void)munmap(segment->map, segment->n_map);
                segment->mapping = mapping_remove(segment->mapping);
        } else {
                free(segment->entries);
                free(segment->ids);
                free(segment->term_slots);
                for (uint32_t i = 0; i < segment->n_heap_terms; i++)
                        if (segment->heap_terms[i].cap)
                                free(segment->heap_terms[i].many);
                free(segment->heap_terms);
        }
        free(segment);
        return NULL;
}

static uint64_t ledger_index_hash_of(SipKey key, Str text) {
        uint64_t hash = siphash(key, text);

        return hash ? hash : 1;
}

uint64_t index_hash_id(const Index *index, Str id) {
        return ledger_index_hash_of((SipKey){~index->key.k0, index->key.k1},
                                    id); /* apart from a tag of the same text */
}

uint64_t index_hash_tag(const Index *index, Str word) {
        return ledger_index_hash_of(index->key, word);
}

uint16_t index_kind(Index *index, Str kind) {
        char **grown, *copy;

        for (size_t i = 0; i < index->n_kinds; i++)
                if (str_is(kind, index->kinds[i]))
                        return (uint16_t)i;
        if (index->n_kinds >= KINDS_MAX || kind.n > LEDGER_KIND_MAX ||
            (kind.n && memchr(kind.data, 0, kind.n)))
                return 0;
        grown = realloc(index->kinds, (index->n_kinds + 1) * sizeof(*grown));
        if (!grown)
                return 0;
        index->kinds = grown;
        copy = calloc(1, kind.n + 1);
        if (!copy)
                return 0;
        if (kind.n)
                memcpy(copy, kind.data, kind.n);
        grown[index->n_kinds] = copy;
        return (uint16_t)index->n_kinds++;
}

bool record_classify(Arena *arena, LedgerClassifyFn classify, Str line, LedgerFacts *facts) {
        Json *json;

        *facts = (LedgerFacts){0};
        return json_parse(arena, line.data, line.n, NULL, &json, NULL) == 0 && json_is(json, JSON_OBJECT) &&
               classify(arena, json, facts);
}

int record_append(Buf *records, const Index *index, const LedgerFacts *facts, uint64_t offset,
                  uint32_t n_bytes) {
        size_t n_kind = facts->kind.n <= LEDGER_KIND_MAX ? facts->kind.n : 0;
        size_t n_tags = MIN(facts->n_tags, (size_t)LEDGER_TAGS_MAX);
        size_t n = sizeof(Record) + 8 * n_tags + ((n_kind + 7) & ~(size_t)7);
        Record *record;
        int r;

        r = buf_reserve(records, n);
        if (r)
                return error_trace(r);
        record = (Record *)(void *)(records->data + records->n);
        *record = (Record){.offset = offset,
                           .ts_us = facts->ts_us,
                           .id = facts->id.n ? index_hash_id(index, facts->id) : 0,
                           .n_bytes = n_bytes,
                           .n_tags = (uint16_t)n_tags,
                           .n_kind = (uint16_t)n_kind};
        for (size_t i = 0; i < n_tags; i++)
                record->tags[i] = index_hash_tag(index, facts->tags[i]);
        if (n_kind)
                memcpy(record->tags + n_tags, facts->kind.data, n_kind);
        records->n += n;
        return 0;
}

Record *record_next(const Buf *records, size_t *at) {
        Record *record;

        if (*at >= records->n)
                return NULL;
        record = (Record *)(void *)(records->data + *at);
        *at += sizeof(Record) + 8 * (size_t)record->n_tags + ((record->n_kind + 7u) & ~7u);
        return record;
}

uint64_t index_n(const Index *index) {
        const Segment *last = index->segments[index->n_segments - 1];

        return last->start + last->n;
}

static const Segment *segment_of(const Index *index, uint64_t position) {
        size_t i = index->n_segments - 1;

        while (i > 0 && position < index->segments[i]->start)
                i--;
        return index->segments[i];
}

IndexEntry index_entry(const Index *index, uint64_t position) {
        const Segment *segment = segment_of(index, position);
        IndexEntry entry;

        if (position < segment->start || position - segment->start >= segment->n)
                return (IndexEntry){0};
        entry = *(const volatile IndexEntry *)&segment->entries[position - segment->start];
        if (segment->map && (entry.n_bytes > LEDGER_LINE_MAX || entry.offset > segment->end ||
                             entry.n_bytes > segment->end - entry.offset)) {
                mapping_break(segment->mapping);
                return (IndexEntry){0};
        }
        return entry;
}

IndexTerm segment_term(const Segment *segment, size_t number) {
        IndexTerm term = *(const volatile IndexTerm *)&segment->terms[number];

        if (term.first > segment->n_postings || term.n > segment->n_postings - term.first) {
                mapping_break(segment->mapping);
                term.first = term.n = 0;
        }
        return term;
}

bool index_is_broken(const Index *index) {
        for (size_t i = 0; i < index->n_segments; i++)
                if (mapping_is_broken(index->segments[i]->mapping))
                        return true;
        return false;
}

/* A file that is gone or replaced is no harm: we have the one that we had. */
bool segment_is_changed(const Segment *segment, const char *path) {
        FileIdentity now;

        if (!segment || !segment->map)
                return false;
        if (!mapping_is_broken(segment->mapping) && !file_identify(path, &now) &&
            now.ino == segment->identity.ino && !file_identity_eq(&now, &segment->identity))
                mapping_break(segment->mapping);
        return mapping_is_broken(segment->mapping);
}

static bool segment_find_id(const Segment *segment, uint64_t id, uint64_t *ret_position) {
        if (!segment->n_id_slots)
                return false;
        for (size_t i = 0, slot = index_slot(id, segment->n_id_slots); i < segment->n_id_slots;
             i++, slot = (slot + 1) & (segment->n_id_slots - 1)) {
                uint32_t number = *(const volatile uint32_t *)&segment->ids[slot];

                if (number == 0 || number > segment->n)
                        return false;
                if (segment->entries[number - 1].id != id)
                        continue;
                *ret_position = segment->start + number - 1;
                return true;
        }
        return false; /* of a file that is damaged: there is always a free one */
}

bool index_find_id(const Index *index, uint64_t id, uint64_t *ret_position) {
        for (size_t i = 0; i < index->n_segments; i++)
                if (segment_find_id(index->segments[i], id, ret_position))
                        return true;
        return false;
}

const uint32_t *postings_lower(LedgerSpan span, uint64_t position) {
        const uint32_t *at = span.at;
        size_t n = (size_t)(span.end - span.at);

        while (n > 0) {
                size_t half = n / 2;

                if (at[half] < position) {
                        at += half + 1;
                        n -= half + 1;
                } else {
                        n = half;
                }
        }
        return at;
}

/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/id.h"
#include "core/ledger/ledger-index-layout.h"

/* A heap term by its hash, for sorting. */
typedef struct TermRef {
        uint64_t hash;
        uint32_t number;
} TermRef;

typedef struct Writer {
        int fd;
        uint64_t at, sum;
        Buf block;
        const Segment *base, *heap;
        HeapTerm *young; /* the heap's terms, sorted; the lists stay theirs */
} Writer;

uint64_t index_sum(uint64_t sum, const void *data, size_t n) {
        static const uint64_t prime = 0x9e3779b185ebca87;
        uint64_t lanes[4] = {sum + prime, sum ^ prime, sum, ~sum}, word;
        const char *at = data;
        size_t i = 0;

        for (; i + 32 <= n; i += 32)
                for (size_t k = 0; k < 4; k++) {
                        memcpy(&word, at + i + 8 * k, 8);
                        lanes[k] = (lanes[k] ^ word) * prime;
                        lanes[k] ^= lanes[k] >> 29;
                }
        for (; i < n; i++)
                lanes[i & 3] = (lanes[i & 3] ^ (unsigned char)at[i]) * prime;
        for (size_t k = 0; k < 4; k++) {
                sum = (sum ^ lanes[k]) * prime;
                sum ^= sum >> 32;
        }
        return sum + n;
}

uint64_t index_header_sum(const IndexHeader *header) {
        return index_sum(1, header, offsetof(IndexHeader, header_sum));
}

int index_tail_hash(int ledger_fd, SipKey key, uint64_t end, uint64_t *ret) {
        char tail[INDEX_TAIL];
        size_t n = (size_t)MIN(end, (uint64_t)INDEX_TAIL);
        ssize_t got = pread(ledger_fd, tail, n, (off_t)(end - n));

        if (got < 0)
                return error_origin(-errno);
        *ret = siphash(key, (Str){tail, (size_t)got});
        return 0;
}

static int ledger_index_write_flush(Writer *writer) {
        int r = file_write_at(writer->fd, buf_str(&writer->block), writer->at);

        if (r)
                return error_trace(r);
        writer->sum = index_sum(writer->sum, writer->block.data, writer->block.n);
        writer->at += writer->block.n;
        writer->block.n = 0;
        return 0;
}

static int ledger_index_write_put(Writer *writer, const void *data, size_t n) {
        while (n) {
                size_t part = MIN(n, (size_t)INDEX_BLOCK - writer->block.n);

                memcpy(writer->block.data + writer->block.n, data, part);
                writer->block.n += part;
                data = (const char *)data + part;
                n -= part;
                if (writer->block.n == INDEX_BLOCK) {
                        int r = ledger_index_write_flush(writer);

                        if (r)
                                return error_trace(r);
                }
        }
        return 0;
}

/* By hash: three passes over its upper 33 bits, eleven at a time, then what these leave. */
static int sort_refs(const Segment *heap, TermRef **ret) {
        enum { BITS = 11, PASSES = 3, N = 1 << BITS };
        const size_t n = heap->n_heap_terms;
        TermRef *refs = malloc((n + 1) * sizeof(*refs)), *other = malloc((n + 1) * sizeof(*refs));
        size_t *starts = malloc(N * sizeof(*starts));

        if (!refs || !other || !starts) {
                free(refs);
                free(other);
                free(starts);
                return error_origin(-ENOMEM);
        }
        for (size_t i = 0; i < n; i++)
                refs[i] = (TermRef){heap->heap_terms[i].hash, (uint32_t)i};
        for (unsigned pass = 0; pass < PASSES; pass++) {
                const unsigned shift = 64 - BITS * (PASSES - pass);
                size_t sum = 0;

                memset(starts, 0, N * sizeof(*starts));
                for (size_t i = 0; i < n; i++)
                        starts[refs[i].hash >> shift & (N - 1)]++;
                for (size_t i = 0; i < N; i++) {
                        size_t count = starts[i];

                        starts[i] = sum;
                        sum += count;
                }
                for (size_t i = 0; i < n; i++)
                        other[starts[refs[i].hash >> shift & (N - 1)]++] = refs[i];
                TermRef *swap = refs;
                refs = other;
                other = swap;
        }
        for (size_t i = 1; i < n; i++)
                for (size_t k = i; k > 0 && refs[k].hash < refs[k - 1].hash; k--) {
                        TermRef swap = refs[k];

                        refs[k] = refs[k - 1];
                        refs[k - 1] = swap;
                }
        free(other);
        free(starts);
        *ret = refs;
        return 0;
}

/* A sorted copy: it is walked several times, and in this order. */
static int sort_terms(const Segment *heap, HeapTerm **ret) {
        _cleanup_(freep) TermRef *refs = NULL;
        HeapTerm *terms;
        int r;

        r = sort_refs(heap, &refs);
        if (r)
                return error_trace(r);
        terms = malloc((heap->n_heap_terms + (size_t)1) * sizeof(*terms));
        if (!terms)
                return error_origin(-ENOMEM);
        for (size_t i = 0; i < heap->n_heap_terms; i++)
                terms[i] = heap->heap_terms[refs[i].number];
        *ret = terms;
        return 0;
}

static const uint32_t *list_of(const HeapTerm *term) {
        return term->cap ? term->many : term->few;
}

typedef int (*TermFn)(Writer *writer, const IndexTerm *old, const HeapTerm *young, void *user);

/* All terms in the order of their hashes; one that both have comes once. */
static int each_term(Writer *writer, TermFn fn, void *user) {
        const Segment *base = writer->base, *heap = writer->heap;
        size_t b = 0, h = 0, n_base = base ? base->n_terms : 0;
        int r = 0;

        while (r == 0 && (b < n_base || h < heap->n_heap_terms)) {
                IndexTerm base_term = b < n_base ? segment_term(base, b) : (IndexTerm){0};
                const IndexTerm *old = b < n_base ? &base_term : NULL;
                const HeapTerm *young = h < heap->n_heap_terms ? &writer->young[h] : NULL;

                if (old && young && old->hash != young->hash) {
                        if (old->hash < young->hash)
                                young = NULL;
                        else
                                old = NULL;
                }
                r = fn(writer, old, young, user);
                b += old != NULL;
                h += young != NULL;
        }
        return error_trace(r);
}

static int count_term(Writer *writer _unused_, const IndexTerm *old, const HeapTerm *young, void *user) {
        IndexHeader *header = user;

        header->n_terms++;
        header->n_postings += (old ? old->n : 0) + (uint64_t)(young ? young->n : 0);
        return 0;
}

static int put_term(Writer *writer, const IndexTerm *old, const HeapTerm *young, void *user) {
        uint64_t *first = user;
        IndexTerm term = {.hash = old     ? old->hash
                                  : young ? young->hash
                                          : 0,
                          .first = (uint32_t)*first,
                          .n = (old ? old->n : 0) + (young ? young->n : 0)};

        *first += term.n;
        return error_trace(ledger_index_write_put(writer, &term, sizeof(term)));
}

static int put_postings(Writer *writer, const IndexTerm *old, const HeapTerm *young, void *user _unused_) {
        int r = old ? ledger_index_write_put(writer, writer->base->postings + old->first,
                                             old->n * sizeof(uint32_t))
                    : 0;

        if (r == 0 && young)
                r = ledger_index_write_put(writer, list_of(young), young->n * sizeof(uint32_t));
        return error_trace(r);
}

static void fill_ids(uint32_t *slots, uint64_t n_slots, const Segment *segment) {
        uint32_t n = 0;

        for (uint32_t i = 0; segment && i < segment->n && n < segment->n_ids; i++) {
                const IndexEntry entry = *(const volatile IndexEntry *)&segment->entries[i];
                size_t slot = index_slot(entry.id, (uint32_t)n_slots);

                if (!entry.id || (entry.flags & INDEX_REPEATED))
                        continue;
                n++;
                while (slots[slot])
                        slot = (slot + 1) & (n_slots - 1);
                slots[slot] = (uint32_t)(segment->start + i + 1);
        }
}

static int put_ids(Writer *writer, const IndexHeader *header) {
        _cleanup_(freep) uint32_t *slots = calloc(header->n_id_slots, sizeof(*slots));

        if (!slots)
                return error_origin(-ENOMEM);
        fill_ids(slots, header->n_id_slots, writer->base);
        fill_ids(slots, header->n_id_slots, writer->heap);
        return error_trace(ledger_index_write_put(writer, slots, header->n_id_slots * sizeof(*slots)));
}

static int ledger_index_write_put_body(Writer *writer, const IndexHeader *header, const Buf *kinds) {
        uint64_t first = 0;
        int r = 0;

        if (writer->base)
                r = ledger_index_write_put(writer, writer->base->entries,
                                           writer->base->n * sizeof(IndexEntry));
        r = r ? r
              : ledger_index_write_put(writer, writer->heap->entries, writer->heap->n * sizeof(IndexEntry));
        r = r ? r : put_ids(writer, header);
        r = r ? r : each_term(writer, put_term, &first);
        r = r ? r : each_term(writer, put_postings, NULL);
        r = r ? r : ledger_index_write_put(writer, kinds->data, kinds->n);
        return error_trace(r ? r : ledger_index_write_flush(writer));
}

static int fill_header(Writer *writer, IndexHeader *header, const Buf *kinds) {
        const Segment *base = writer->base, *heap = writer->heap;

        header->magic = INDEX_MAGIC;
        header->version = INDEX_VERSION;
        header->n_header = sizeof(*header);
        header->n_entries = heap->n + (base ? base->n : 0);
        header->n_ids = heap->n_ids + (base ? base->n_ids : 0);
        header->n_kind_bytes = kinds->n;
        if (header->n_entries)
                header->max_ts_us =
                        (heap->n ? &heap->entries[heap->n - 1] : &base->entries[base->n - 1])->ts_us;
        for (header->n_id_slots = 64; header->n_ids > header->n_id_slots / 4 * 3;)
                header->n_id_slots *= 2;
        (void)each_term(writer, count_term, header);
        return header->n_postings > UINT32_MAX || header->n_id_slots > UINT32_MAX ? error_origin(-EFBIG) : 0;
}

static int ledger_index_write_write_all(Writer *writer, IndexHeader *header, const Buf *kinds) {
        int r = buf_reserve(&writer->block, INDEX_BLOCK);

        r = r ? r : sort_terms(writer->heap, &writer->young);
        r = r ? r : fill_header(writer, header, kinds);
        writer->at = sizeof(*header);
        r = r ? r : ledger_index_write_put_body(writer, header, kinds);
        if (r)
                return error_trace(r);
        header->body_sum = writer->sum;
        header->header_sum = index_header_sum(header);
        return pwrite(writer->fd, header, sizeof(*header), 0) == sizeof(*header) ? 0 : error_origin(-EIO);
}

int index_file_write(const char *path, int ledger_fd, SipKey key, const Segment *base, const Segment *heap,
                     const Buf *kinds, const IndexStand *stand) {
        Writer writer = {.fd = -1, .base = base, .heap = heap};
        IndexHeader header = {.key = key, .stand = *stand};
        char temp[4096];
        int r;

        r = snprintf(temp, sizeof(temp), "%s.new", path);
        if (r < 0 || (size_t)r >= sizeof(temp))
                return error_origin(-ENAMETOOLONG);
        r = index_tail_hash(ledger_fd, key, stand->end, &header.tail_hash);
        if (r)
                return error_trace(r);
        (void)unlink(temp); /* of a crash; only one of us writes here */
        writer.fd = open(temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (writer.fd < 0)
                return error_origin(-errno);
        r = ledger_index_write_write_all(&writer, &header, kinds);
        if (r == 0 && segment_is_changed(base, path))
                r = error_origin(-ESTALE); /* what was copied from it is worth nothing */
        if (r == 0 && rename(temp, path) < 0)
                r = error_origin(-errno);
        if (r)
                (void)unlink(temp);
        close_fd(writer.fd);
        buf_deinit(&writer.block);
        free(writer.young);
        return error_trace(r);
}

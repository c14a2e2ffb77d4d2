/* SPDX-License-Identifier: MIT */
#include "core/ledger/ledger-index-file.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "core/ledger/ledger-index-layout.h"

/* All sections together; false when the numbers are nonsense. */
static bool body_length(const IndexHeader *h, uint64_t *ret) {
        if (h->n_entries >= UINT32_MAX || h->n_id_slots > 1ULL << 31 || h->n_terms > UINT32_MAX ||
            h->n_postings > UINT32_MAX || h->n_kind_bytes > 1 << 20)
                return false;
        if ((h->n_id_slots & (h->n_id_slots - 1)) || h->n_ids > h->n_id_slots / 4 * 3 ||
            h->n_ids > h->n_entries)
                return false;
        *ret = h->n_entries * sizeof(IndexEntry) + h->n_id_slots * 4 + h->n_terms * sizeof(IndexTerm) +
               h->n_postings * 4 + h->n_kind_bytes;
        return true;
}

static bool read_header(int fd, IndexHeader *header, uint64_t *ret_length) {
        struct stat st;

        return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
               pread(fd, header, sizeof(*header), 0) == sizeof(*header) && header->magic == INDEX_MAGIC &&
               header->version == INDEX_VERSION && header->n_header == sizeof(*header) &&
               header->header_sum == index_header_sum(header) && body_length(header, ret_length) &&
               (uint64_t)st.st_size == sizeof(*header) + *ret_length;
}

/* Read, not mapped: what is only checked shall not stay in our memory. */
static bool is_body_sound(int fd, const IndexHeader *header, uint64_t length) {
        _cleanup_(freep) char *block = malloc(INDEX_BLOCK);
        uint64_t sum = 0, at = 0;

        while (block && at < length) {
                size_t n = (size_t)MIN(length - at, (uint64_t)INDEX_BLOCK);

                if (pread(fd, block, n, (off_t)(sizeof(*header) + at)) != (ssize_t)n)
                        return false;
                sum = index_sum(sum, block, n);
                at += n;
        }
        if (length % INDEX_BLOCK == 0)
                sum = index_sum(sum, "", 0); /* the writer ends with an empty block then */
        return block && sum == header->body_sum;
}

static bool fits_ledger(const IndexHeader *header, int ledger_fd, uint64_t size, const SipKey *need_key) {
        struct stat st;
        uint64_t hash;

        if (need_key && (need_key->k0 != header->key.k0 || need_key->k1 != header->key.k1))
                return false;
        return fstat(ledger_fd, &st) == 0 && header->stand.ino == st.st_ino && header->stand.end <= size &&
               index_tail_hash(ledger_fd, header->key, header->stand.end, &hash) == 0 &&
               hash == header->tail_hash;
}

static int map_segment(int fd, const IndexHeader *header, uint64_t length, Segment **ret) {
        Segment *segment = segment_new(0);
        char *at;

        if (!segment)
                return error_origin(-ENOMEM);
        segment->n_map = sizeof(*header) + length;
        at = mmap(NULL, segment->n_map, PROT_READ, MAP_SHARED, fd, 0);
        if (at == MAP_FAILED) {
                free(segment);
                return error_origin(-errno);
        }
        (void)madvise(at, segment->n_map, MADV_RANDOM);
        segment->map = at;
        segment->end = header->stand.end;
        segment->mapping = mapping_add(at, segment->n_map);
        if (!segment->mapping || file_identify_fd(fd, &segment->identity)) {
                segment_free(segment);
                return error_origin(-ENOSPC);
        }
        at += sizeof(*header);
        segment->n = (uint32_t)header->n_entries;
        segment->entries = (IndexEntry *)(void *)at;
        at += header->n_entries * sizeof(IndexEntry);
        segment->ids = (uint32_t *)(void *)at;
        segment->n_id_slots = (uint32_t)header->n_id_slots;
        segment->n_ids = (uint32_t)header->n_ids;
        at += header->n_id_slots * 4;
        segment->terms = (const IndexTerm *)(void *)at;
        segment->n_terms = (uint32_t)header->n_terms;
        at += header->n_terms * sizeof(IndexTerm);
        segment->postings = (const uint32_t *)(void *)at;
        segment->n_postings = header->n_postings;
        *ret = segment;
        return 0;
}

static int load_kinds(Index *index, const Segment *base, size_t n_bytes) {
        const char *at = (const char *)(base->postings + base->n_postings), *end = at + n_bytes;
        size_t n = 0;

        while (at < end) {
                const char *zero = memchr(at, 0, (size_t)(end - at));

                if (!zero || index_kind(index, (Str){at, (size_t)(zero - at)}) != n)
                        return INDEX_FILE_E_UNUSABLE;
                at = zero + 1;
                n++;
        }
        return n ? 0 : INDEX_FILE_E_UNUSABLE;
}

static int index_from(int fd, const IndexHeader *header, uint64_t length, Index **ret) {
        Index *index = NULL;
        Segment *base = NULL, *heap;
        int r;

        r = index_new(&index, &header->key);
        if (r == 0)
                r = map_segment(fd, header, length, &base);
        if (r == 0) {
                heap = index->segments[0];
                heap->start = base->n;
                index->segments[0] = base;
                index->segments[1] = heap;
                index->n_segments = 2;
                index->max_ts_us = header->max_ts_us;
                r = load_kinds(index, base, header->n_kind_bytes);
        }
        if (r)
                index_free(index);
        else
                *ret = index;
        return error_trace(r);
}

int index_file_open(const char *path, int ledger_fd, uint64_t ledger_size, const SipKey *need_key,
                    Index **ret, IndexStand *ret_stand) {
        _cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        IndexHeader header;
        uint64_t length;

        if (fd < 0 || !read_header(fd, &header, &length) ||
            !fits_ledger(&header, ledger_fd, ledger_size, need_key) || !is_body_sound(fd, &header, length))
                return INDEX_FILE_E_UNUSABLE;
        *ret_stand = header.stand;
        return error_trace(index_from(fd, &header, length, ret));
}

int index_file_map(const char *path, Segment **ret) {
        _cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        IndexHeader header;
        uint64_t length;

        if (fd < 0)
                return error_origin(-errno);
        if (!read_header(fd, &header, &length))
                return error_origin(-EIO);
        return error_trace(map_segment(fd, &header, length, ret));
}

int index_kinds_text(const Index *index, Buf *out) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < index->n_kinds; i++)
                r = buf_append(out, index->kinds[i], strlen(index->kinds[i]) + 1);
        return error_trace(r);
}

int index_persist(Index *index, const char *path, int ledger_fd, const IndexStand *stand) {
        _cleanup_(buf_deinit) Buf kinds = BUF_NULL;
        Segment *heap = index->segments[index->n_segments - 1], *base = NULL, *young;
        int r;

        if (index->n_segments == 2)
                base = index->segments[0];
        young = segment_new(heap->start + heap->n);
        if (!young)
                return error_origin(-ENOMEM);
        r = index_kinds_text(index, &kinds);
        if (r == 0)
                r = index_file_write(path, ledger_fd, index->key, base, heap, &kinds, stand);
        if (r == 0)
                r = index_file_map(path, &index->segments[0]);
        if (r) {
                segment_free(young);
                return error_trace(r);
        }
        segment_free(base);
        segment_free(heap);
        index->segments[1] = young;
        index->n_segments = 2;
        malloc_trim(0);
        return 0;
}

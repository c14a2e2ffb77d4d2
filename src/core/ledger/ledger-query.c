/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/error.h"
#include "core/ledger/ledger-internal.h"

uint64_t ledger_n_committed(const Ledger *ledger) {
        return ledger->index ? index_n(ledger->index) : 0;
}

uint64_t ledger_n(const Ledger *ledger) {
        return ledger_n_committed(ledger) + (ledger->running ? ledger->running->n_lines : 0) +
               (ledger->collecting ? ledger->collecting->n_lines : 0);
}

uint64_t ledger_n_bytes(const Ledger *ledger) {
        return ledger->end;
}

static bool is_pending(const Ledger *ledger, uint64_t hash) {
        return (ledger->running && hash_set_has(&ledger->running->pending, hash)) ||
               (ledger->collecting && hash_set_has(&ledger->collecting->pending, hash));
}

int ledger_find_id(const Ledger *ledger, Str id, uint64_t *ret_position) {
        uint64_t hash;

        if (!id.n || !ledger->index)
                return LEDGER_E_NOT_FOUND;
        hash = index_hash_id(ledger->index, id);
        if (index_find_id(ledger->index, hash, ret_position))
                return 0;
        return is_pending(ledger, hash) ? LEDGER_E_PENDING : LEDGER_E_NOT_FOUND;
}

LedgerEntry ledger_entry(const Ledger *ledger, uint64_t position) {
        const IndexEntry entry = index_entry(ledger->index, position);

        return (LedgerEntry){
                .offset = entry.offset,
                .n_bytes = entry.n_bytes,
                .ts_us = entry.ts_us,
                .kind = str_from(ledger->index->kinds[entry.kind < ledger->index->n_kinds ? entry.kind : 0]),
                .is_repeated = entry.flags & INDEX_REPEATED};
}

uint64_t ledger_first_after_ts(const Ledger *ledger, int64_t ts_us) {
        uint64_t at = 0, n = ledger_n_committed(ledger);

        while (n > 0) {
                uint64_t half = n / 2;

                if (index_entry(ledger->index, at + half).ts_us <= ts_us) {
                        at += half + 1;
                        n -= half + 1;
                } else {
                        n = half;
                }
        }
        return at;
}

LedgerTag ledger_tag(const Ledger *ledger, Str word) {
        uint64_t hash;

        if (!ledger->index)
                return (LedgerTag){0};
        hash = index_hash_tag(ledger->index, word);
        for (size_t i = 0; i < ledger->index->n_segments; i++) {
                LedgerSpan span = segment_postings(ledger->index->segments[i], hash);

                if (span.at != span.end)
                        return (LedgerTag){hash};
        }
        return (LedgerTag){0};
}

bool ledger_is_tag_pending(const Ledger *ledger, Str word) {
        return ledger->index && is_pending(ledger, index_hash_tag(ledger->index, word));
}

bool ledger_has_tag(const Ledger *ledger, uint64_t position, LedgerTag tag) {
        for (size_t i = 0; tag.hash && i < ledger->index->n_segments; i++) {
                const Segment *segment = ledger->index->segments[i];

                if (position < segment->start || position >= segment->start + segment->n)
                        continue;
                LedgerSpan span = segment_postings(segment, tag.hash);
                const uint32_t *at = postings_lower(span, position);

                return at != span.end && *at == position;
        }
        return false;
}

int ledger_cursor_init(LedgerCursor *cursor, const Ledger *ledger, const LedgerTag *tags, size_t n_tags,
                       uint64_t position, bool is_backwards) {
        cursor->n_spans = 0;
        cursor->n_positions = ledger_n_committed(ledger);
        cursor->is_backwards = is_backwards;
        for (size_t k = 0; k < n_tags; k++) {
                if (ledger_tag_is_none(tags[k]))
                        continue;
                if (cursor->n_spans + LEDGER_SEGMENTS > ARRAY_SIZE(cursor->spans))
                        return error_origin(-E2BIG);
                for (size_t i = 0; i < ledger->index->n_segments; i++) {
                        LedgerSpan span = segment_postings(ledger->index->segments[i], tags[k].hash);
                        const uint32_t *at = postings_lower(span, position);

                        span = is_backwards ? (LedgerSpan){span.at, at} : (LedgerSpan){at, span.end};
                        if (span.at != span.end)
                                cursor->spans[cursor->n_spans++] = span;
                }
        }
        return 0;
}

/* What a span has next, and to move on from it. */
static uint32_t head_of(const LedgerCursor *cursor, size_t i) {
        return cursor->is_backwards ? cursor->spans[i].end[-1] : *cursor->spans[i].at;
}

static void move_on(LedgerCursor *cursor, size_t i) {
        LedgerSpan *span = &cursor->spans[i];

        if (cursor->is_backwards)
                span->end--;
        else
                span->at++;
        if (span->at == span->end)
                *span = cursor->spans[--cursor->n_spans];
}

static uint32_t cursor_step(LedgerCursor *cursor) {
        uint32_t best;

        best = head_of(cursor, 0);
        for (size_t i = 1; i < cursor->n_spans; i++) {
                uint32_t head = head_of(cursor, i);

                best = cursor->is_backwards ? MAX(best, head) : MIN(best, head);
        }
        for (size_t i = cursor->n_spans; i-- > 0;)
                if (head_of(cursor, i) == best)
                        move_on(cursor, i);
        return best;
}

bool ledger_cursor_next(LedgerCursor *cursor, uint64_t *ret_position) {
        while (cursor->n_spans) {
                *ret_position = cursor_step(cursor);
                if (*ret_position < cursor->n_positions) /* else of a file that is damaged */
                        return true;
        }
        return false;
}

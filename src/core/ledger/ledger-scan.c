/* SPDX-License-Identifier: MIT */
#include "core/ledger/ledger-scan.h"

#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

enum { BLOCK = 1024 * 1024 };

void ledger_facts_tag(LedgerFacts *facts, Arena *arena, Str prefix, Str word) {
        char *text = facts->n_tags < LEDGER_TAGS_MAX ? arena_alloc(arena, prefix.n + word.n) : NULL;

        if (!text)
                return;
        if (prefix.n)
                memcpy(text, prefix.data, prefix.n);
        if (word.n)
                memcpy(text + prefix.n, word.data, word.n);
        facts->tags[facts->n_tags++] = (Str){text, prefix.n + word.n};
}

static bool is_binary(Str line) {
        for (size_t i = 0; i < line.n; i++)
                if ((unsigned char)line.data[i] < ' ' && line.data[i] != '\t' && line.data[i] != '\r' &&
                    line.data[i] != '\n')
                        return true;
        return false;
}

static void note_damage(Scan *scan, Str line, uint64_t offset) {
        ScanDamage *last = scan->n_damage ? &scan->damage[scan->n_damage - 1] : NULL;

        scan->n_damaged++;
        if (!last || last->offset + last->n_bytes != offset) {
                if (scan->n_damage == SCAN_DAMAGE_MAX)
                        return;
                last = &scan->damage[scan->n_damage++];
                *last = (ScanDamage){.offset = offset};
        }
        last->n_bytes += line.n;
        last->n_lines++;
        last->is_binary |= is_binary(line);
}

/* One line with its newline. */
static int one_line(Scan *scan, Str line) {
        Str text = str_trim(line);
        LedgerFacts facts;

        if (text.n == 0 || !scan->classify)
                return 0;
        arena_reset(&scan->arena);
        if (!record_classify(&scan->arena, scan->classify, text, &facts)) {
                note_damage(scan, line, scan->at);
                return 0;
        }
        scan->n_events++;
        return error_trace(record_append(&scan->records, scan->index, &facts,
                                         scan->at + (uint64_t)(text.data - line.data), (uint32_t)text.n));
}

static int ledger_scan_end_line(Scan *scan, Str line) {
        int r = scan->line ? scan->line(scan->user, line, scan->at + scan->n_skipped, true) : 0;

        if (r == 0 && scan->n_skipped)
                note_damage(scan, line, scan->at);
        else if (r == 0)
                r = one_line(scan, line);
        scan->n_lines++;
        scan->at += scan->n_skipped + line.n;
        scan->n_skipped = 0;
        return error_trace(r);
}

/* What is too long to be an event is not collected; it ends somewhere. */
static int skip_piece(Scan *scan) {
        int r = scan->line ? scan->line(scan->user, buf_str(&scan->block), scan->at + scan->n_skipped, false)
                           : 0;

        scan->n_skipped += scan->block.n;
        scan->block.n = 0;
        return error_trace(r);
}

/* Works off the whole lines in the block. */
static int ledger_scan_take_lines(Scan *scan) {
        const char *at = scan->block.data, *end = at + scan->block.n, *newline;
        int r = 0;

        while (r == 0 && at < end && (newline = memchr(at, '\n', (size_t)(end - at)))) {
                Str line = {at, (size_t)(newline - at) + 1};

                r = ledger_scan_end_line(scan, line);
                at += line.n;
        }
        buf_consume(&scan->block, (size_t)(at - scan->block.data));
        if (r == 0 && (scan->n_skipped || scan->block.n > LEDGER_LINE_MAX))
                r = skip_piece(scan);
        return error_trace(r);
}

static int read_block(Scan *scan, uint64_t from, size_t *ret) {
        size_t want = (size_t)MIN((uint64_t)BLOCK, scan->end - from);
        ssize_t n;
        int r;

        r = buf_reserve(&scan->block, want);
        if (r)
                return error_trace(r);
        do
                n = pread(scan->fd, scan->block.data + scan->block.n, want, (off_t)from);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return error_origin(-errno);
        scan->block.n += (size_t)n;
        *ret = (size_t)n;
        return 0;
}

/* A hole that is longer than an event can be belongs to a line that is none: a file of nothing, as large as it likes,
   does not keep a worker. */
static int scan_over_hole(Scan *scan, uint64_t *from) {
        uint64_t next = scan->wants_holes ? *from : file_next_data(scan->fd, *from, scan->end);
        int r;

        if (next <= *from + LEDGER_LINE_MAX)
                return 0;
        r = buf_append(&scan->block, "",
                       1); /* its first zero stands for all of them, so that no line is without bytes */
        if (r == 0)
                r = skip_piece(scan);
        scan->n_skipped += next - *from - 1;
        *from = next;
        return error_trace(r);
}

static void look_at_tail(Scan *scan) {
        Str text = str_trim(buf_str(&scan->block));
        LedgerFacts facts;

        arena_reset(&scan->arena);
        scan->is_tail_event = text.n && scan->classify && !scan->n_skipped &&
                              record_classify(&scan->arena, scan->classify, text, &facts);
}

int scan_run(Scan *scan) {
        uint64_t from = scan->at;
        size_t n = 0;
        int r = 0;

        while (r == 0 && from < scan->end) {
                r = scan_over_hole(scan, &from);
                if (r == 0)
                        r = read_block(scan, from, &n);
                if (r || n == 0)
                        break;
                from += n;
                r = ledger_scan_take_lines(scan);
                scan->taken_at = scan->at;
                scan->taken_damaged = scan->n_damaged;
                if (r == 0 && scan->take)
                        r = scan->take(scan->user, &scan->records);
        }
        if (r == 0)
                look_at_tail(scan);
        return error_trace(r);
}

void scan_deinit(Scan *scan) {
        buf_deinit(&scan->records);
        buf_deinit(&scan->block);
        arena_deinit(&scan->arena);
}

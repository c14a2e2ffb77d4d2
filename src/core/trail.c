/* SPDX-License-Identifier: MIT */
/*
 * Reading and sealing. trail-check.c verifies.
 */
#include "core/trail.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/macro.h"
#include "core/ledger/ledger-scan.h"

enum { TRAIL_BLOCK = 256 * 1024, TRAIL_BACK = 16 * 1024 };

#define PREV_KEY  ",\"prev_event_hash\":"
#define OWN_KEY   ",\"event_hash\":\""
#define OWN_START (sizeof(OWN_KEY) - 1 + 64 + 2) /* from the end of a sealed line: the key, the hash, `"}` */

int trail_seal(Buf *out, Str body, const char *prev, char ret[SHA256_HEX_MAX]) {
        const size_t start = out->n;
        bool is_first = !prev || !*prev;
        int r = buf_reserve(out, body.n + TRAIL_SEAL_MAX);

        if (r)
                return error_trace(r);
        (void)buf_append(out, body.data, body.n - 1);
        (void)buf_append_str(out, STR(PREV_KEY));
        (void)buf_printf(out, is_first ? "null}" : "\"%.64s\"}", is_first ? "" : prev);
        r = sha256_hex((Str){out->data + start, out->n - start}, ret);
        if (r) {
                out->n = start;
                return error_trace(r);
        }
        out->n--; /* the brace */
        return error_trace(buf_printf(out, OWN_KEY "%s\"}\n", ret));
}

Str trail_body(Str line) {
        static const Str first = STR(PREV_KEY "null");
        const size_t n_later = sizeof(PREV_KEY) - 1 + 66;

        line = str_trim(line);
        if (line.n <= OWN_START || memcmp(line.data + line.n - OWN_START, OWN_KEY, sizeof(OWN_KEY) - 1) != 0)
                return STR_NULL;
        line.n -= OWN_START;
        if (line.n > first.n && memcmp(line.data + line.n - first.n, first.data, first.n) == 0)
                return (Str){line.data, line.n - first.n};
        if (line.n > n_later && memcmp(line.data + line.n - n_later, PREV_KEY, sizeof(PREV_KEY) - 1) == 0)
                return (Str){line.data, line.n - n_later};
        return STR_NULL;
}

static bool trail_is_blank(const char *at, const char *end) {
        for (; at < end; at++)
                if (*at != ' ' && (*at < '\t' || *at > '\r'))
                        return false;
        return true;
}

static void trail_count(TrailTail *tail, Str bytes) {
        const char *at = bytes.data, *end = at + bytes.n;

        while (at < end) {
                const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;

                if (!tail->is_counted && !trail_is_blank(at, stop)) {
                        tail->n_lines++;
                        tail->is_counted = true;
                }
                tail->is_torn = !newline;
                if (newline)
                        tail->is_counted = false;
                at = stop + 1;
        }
        tail->end += bytes.n;
}

/* The hash that a line gives to the next one; false: it has none. */
static bool trail_hash_of(Arena *arena, Str line, char ret[SHA256_HEX_MAX]) {
        Json *json;
        Str hash;

        arena_reset(arena);
        if (json_parse(arena, line.data, line.n, &(JsonLimits){.is_lenient = true}, &json, NULL))
                return false;
        hash = json_str(json_get(json, "event_hash"));
        if (!hash.n || hash.n >= SHA256_HEX_MAX)
                return false;
        memcpy(ret, hash.data, hash.n);
        ret[hash.n] = 0;
        return true;
}

/* From the last line back to the first. */
static bool trail_last_hash(Str bytes, char ret[SHA256_HEX_MAX]) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;

        while (bytes.n) {
                const char *newline = memrchr(bytes.data, '\n', bytes.n);
                const char *line = newline ? newline + 1 : bytes.data;
                Str text = str_trim((Str){line, (size_t)(bytes.data + bytes.n - line)});

                if (text.n && trail_hash_of(&arena, text, ret))
                        return true;
                bytes.n = newline ? (size_t)(newline - bytes.data) : 0;
        }
        return false;
}

int trail_tail_take(TrailTail *tail, Str bytes) {
        trail_count(tail, bytes);
        (void)trail_last_hash(bytes, tail->hash);
        return 0;
}

void trail_tail_seal(TrailTail *tail, Str line, const char hash[SHA256_HEX_MAX]) {
        trail_count(tail, line);
        memcpy(tail->hash, hash, SHA256_HEX_MAX);
}

static int trail_read(int fd, char *room, size_t n, uint64_t at, size_t *ret) {
        for (*ret = 0; *ret < n;) {
                ssize_t got = pread(fd, room + *ret, n - *ret, (off_t)(at + *ret));

                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return error_origin(-errno);
                if (got == 0)
                        return 0;
                *ret += (size_t)got;
        }
        return 0;
}

static int trail_count_file(int fd, uint64_t size, TrailTail *tail) {
        _cleanup_(buf_deinit) Buf block = BUF_NULL;
        int r = buf_reserve(&block, TRAIL_BLOCK);

        while (r == 0 && tail->end < size) {
                uint64_t next = file_next_data(fd, tail->end, size);

                if (next > tail->end) { /* a hole is bytes of a line, and no end of it */
                        tail->n_lines += !tail->is_counted;
                        tail->is_counted = tail->is_torn = true;
                        tail->end = next;
                        continue;
                }
                r = trail_read(fd, block.data, (size_t)MIN(size - tail->end, (uint64_t)TRAIL_BLOCK),
                               tail->end, &block.n);
                if (r || !block.n)
                        break;
                trail_count(tail, buf_str(&block));
        }
        return error_trace(r);
}

/* Looks for a hash in the whole lines of [start, end); a line that begins before is the next window's. */
static int trail_look_in(int fd, Buf *window, uint64_t start, uint64_t end, bool is_first, TrailTail *tail) {
        const char *line;
        int r;

        window->n = 0;
        if (file_next_data(fd, start, end) == end)
                return 0;
        r = buf_reserve(window, (size_t)(end - start));
        r = r ? r : trail_read(fd, window->data, (size_t)(end - start), start, &window->n);
        if (r || !window->n)
                return error_trace(r);
        line = is_first ? window->data : memchr(window->data, '\n', window->n);
        return line && trail_last_hash((Str){line, window->n - (size_t)(line - window->data)}, tail->hash);
}

/* Windows from the end, each four times the one before, until one has it or all was seen. From 64 MiB on they grow no more
   and share the room of one line, so that memory is bounded whatever stands in the file. */
static int trail_find_hash(int fd, uint64_t from, uint64_t size, TrailTail *tail) {
        _cleanup_(buf_deinit) Buf window = BUF_NULL;
        uint64_t n = TRAIL_BACK, end = size;

        for (;;) {
                uint64_t start = end - from > n ? end - n : from;
                int r = trail_look_in(fd, &window, start, end, start == from, tail);

                if (r || start == from)
                        return r < 0 ? error_trace(r) : 0;
                if (n < 2 * (uint64_t)LEDGER_LINE_MAX)
                        n *= 4;
                else
                        end = start + LEDGER_LINE_MAX;
        }
}

int trail_tail(int fd, uint64_t size, TrailTail *tail) {
        uint64_t from = tail->end;
        int r = trail_count_file(fd, size, tail);

        return error_trace(r || tail->end == from ? r : trail_find_hash(fd, from, tail->end, tail));
}

static int trail_tell(TrailScan *scan, Str raw, uint64_t offset, bool is_long) {
        TrailLine line = {.seq = scan->n_lines + 1, .offset = offset, .raw = raw};
        JsonFault fault = {.what = "the line is too long"};
        Json *json = NULL;
        int r;

        scan->n_lines++;
        arena_reset(&scan->arena);
        r = is_long ? JSON_E_SIZE
                    : json_parse(&scan->arena, raw.data, raw.n, &(JsonLimits){.is_lenient = true}, &json,
                                 &fault);
        if (r < 0)
                return error_trace(r);
        line.json = r ? NULL : json;
        line.error = r ? fault.what : NULL;
        scan->n_events += !r;
        if (r)
                line.raw.n = MIN(line.raw.n, (size_t)TRAIL_RAW_MAX);
        return scan->line(scan->user, &line);
}

/* A line that is too long comes in pieces: its first one is shown. */
static int trail_on_line(void *user, Str piece, uint64_t offset, bool is_end) {
        TrailScan *scan = user;
        bool was_inside = scan->is_inside;
        Str raw = str_trim(piece);

        scan->is_inside = !is_end;
        if (was_inside || !raw.n)
                return 0;
        return trail_tell(scan, raw, offset + (uint64_t)(raw.data - piece.data), !is_end);
}

int trail_scan(TrailScan *scan) {
        Scan lines = {
                .fd = scan->fd, .at = scan->start, .end = scan->end, .line = trail_on_line, .user = scan};
        int r = scan_run(&lines);

        if (r == 0 && lines.block.n)
                r = trail_on_line(scan, buf_str(&lines.block), lines.at, true);
        scan_deinit(&lines);
        arena_deinit(&scan->arena);
        return r < 0 ? error_trace(r) : r;
}

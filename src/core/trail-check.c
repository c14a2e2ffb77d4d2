/* SPDX-License-Identifier: MIT */
/*
 * Verifying: every event against itself and against the one before.
 *
 * Others verify by parsing a line and writing it again as ECMAScript does; that text is what the hash is of. A line
 * that is in that form already is hashed as it stands. Whether it is, is seen in one look at its bytes; where the
 * look is not sure (fractions, names that begin with a digit, \u escapes), it is written again.
 */
#include <endian.h>
#include <errno.h>

#include "base/error.h"
#include "base/json/json-writer.h"
#include "base/macro.h"
#include "core/trail.h"

enum { TRAIL_SURE_DIGITS = 15 }; /* integers of so many digits are written as they are */

static const Str trail_keys[] = {STR("schema_version"),  STR("event_id"),     STR("correlation_id"),
                                 STR("causation_id"),    STR("ts_wallclock"), STR("ts_monotonic_ms"),
                                 STR("run_id"),          STR("session_ref"),  STR("actor"),
                                 STR("visibility"),      STR("type"),         STR("payload"),
                                 STR("prev_event_hash"), STR("event_hash")};

const char *trail_fault_name(TrailFault fault) {
        static const char *const names[] = {
                [TRAIL_INVALID_SHAPE] = "invalid_shape",
                [TRAIL_MISSING_KEY] = "missing_key",
                [TRAIL_INVALID_SCHEMA_VERSION] = "invalid_schema_version",
                [TRAIL_INVALID_PREV_HASH_TYPE] = "invalid_prev_hash_type",
                [TRAIL_INVALID_EVENT_HASH] = "invalid_event_hash",
                [TRAIL_EVENT_HASH_MISMATCH] = "event_hash_mismatch",
                [TRAIL_FIRST_PREV_HASH_NON_NULL] = "first_prev_hash_non_null",
                [TRAIL_PREV_HASH_CHAIN_MISMATCH] = "prev_hash_chain_mismatch",
        };

        return names[fault];
}

static bool trail_is_of(char c, const char *set) {
        return c && strchr(set, c);
}

/* \u001f and the like, for what has no short form; at the u. */
static bool trail_is_control(const char *at, const char *end) {
        return end - at > 4 && at[0] == 'u' && at[1] == '0' && at[2] == '0' &&
               (at[3] == '0' || at[3] == '1') && trail_is_of(at[4], "0123456789abcdef") &&
               !(at[3] == '0' && trail_is_of(at[4], "89acd"));
}

/* A bit at each of eight bytes that is c, and none below the first of them that is. */
static uint64_t trail_where(uint64_t bytes, unsigned char c) {
        const uint64_t ones = 0x0101010101010101U, differs = bytes ^ (ones * c);

        return (differs - ones) & ~differs & (ones << 7);
}

/* To the next quote or backslash, eight bytes at a time: most of a line is text. */
static const char *trail_to_mark(const char *at, const char *end) {
        for (uint64_t bytes, marks; end - at >= 8; at += 8) {
                memcpy(&bytes, at, 8);
                bytes = le64toh(bytes);
                marks = trail_where(bytes, '"') | trail_where(bytes, '\\');
                if (marks)
                        return at + __builtin_ctzll(marks) / 8;
        }
        while (at < end && *at != '"' && *at != '\\')
                at++;
        return at;
}

/* Behind a string that is written as it would be again; NULL: not sure. `at` is behind its first quote. */
static const char *trail_skip_text(const char *at, const char *end) {
        while ((at = trail_to_mark(at, end)) < end && *at == '\\') {
                if (++at == end || (!trail_is_of(*at, "\"\\bfnrt") && !trail_is_control(at, end)))
                        return NULL;
                at++;
        }
        return at < end ? at + 1 : NULL;
}

static const char *trail_skip_number(const char *at, const char *end) {
        bool is_negative = *at == '-';
        const char *start = at + is_negative;

        for (at = start; at < end && *at >= '0' && *at <= '9';)
                at++;
        if (at - start > TRAIL_SURE_DIGITS || (at < end && trail_is_of(*at, ".eE")) ||
            (is_negative && *start == '0'))
                return NULL;
        return at;
}

/* Of a text that is known to be JSON. False: not sure. */
static bool trail_is_canonical(Str text) {
        const char *at = text.data, *end = at + text.n;

        while (at && at < end) {
                if (*at == '"') {
                        bool is_digit = at + 1 < end && at[1] >= '0' && at[1] <= '9';

                        at = trail_skip_text(at + 1, end);
                        if (at && is_digit && at < end && *at == ':')
                                return false;
                } else if (*at == '-' || (*at >= '0' && *at <= '9'))
                        at = trail_skip_number(at, end);
                else if (*at == ' ' || (*at >= '\t' && *at <= '\r'))
                        return false;
                else
                        at++;
        }
        return at != NULL;
}

/* The line without its last member, which is the hash, in its own bytes; false: it is not so plain. */
static bool trail_cut_plainly(TrailCheck *check, Str raw, Str hash) {
        static const Str key = STR(",\"event_hash\":\"");
        size_t n_last = key.n + hash.n + 2;

        if (raw.n <= n_last || memcmp(raw.data + raw.n - n_last, key.data, key.n) != 0 ||
            memcmp(raw.data + raw.n - hash.n - 2, hash.data, hash.n) != 0 || !trail_is_canonical(raw))
                return false;
        return buf_append(&check->text, raw.data, raw.n - n_last) == 0 &&
               buf_append_str(&check->text, STR("}")) == 0;
}

static int trail_write_again(TrailCheck *check, const Json *json) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Json *copy = json_clone(&arena, json);

        check->text.n = 0;
        if (!copy)
                return error_origin(-ENOMEM);
        (void)json_remove(copy, STR("event_hash"));
        return error_trace(json_write_es(&check->text, copy));
}

static int trail_own_hash(TrailCheck *check, const TrailLine *line, Str hash, bool *ret_is_right) {
        char now[SHA256_HEX_MAX];
        int r = 0;

        check->text.n = 0;
        if (!trail_cut_plainly(check, line->raw, hash))
                r = trail_write_again(check, line->json);
        r = r ? r : sha256_hex(buf_str(&check->text), now);
        *ret_is_right = r == 0 && str_is(hash, now);
        return error_trace(r);
}

static int trail_find_fault(TrailCheck *check, TrailFault fault, const char *key) {
        TrailIssue issue = {.seq = check->n_events, .fault = fault, .key = key};

        check->n_issues++;
        return check->issue ? check->issue(check->user, &issue) : 0;
}

static int trail_check_members(TrailCheck *check, const Json *json) {
        const Json *next = json_first(json);
        int64_t version;
        int r = 0;

        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(trail_keys); i++) {
                const Str key = trail_keys[i];

                if (next && next->key_n == key.n && !memcmp(next->key, key.data, key.n))
                        next = next->next; /* most have them in this order */
                else if (!json_get_str(json, key))
                        r = trail_find_fault(check, TRAIL_MISSING_KEY, key.data);
        }
        if (r == 0 && (!json_int64(json_get(json, "schema_version"), &version) || version < 1))
                r = trail_find_fault(check, TRAIL_INVALID_SCHEMA_VERSION, NULL);
        return r;
}

static int trail_check_chain(TrailCheck *check, Str prev) {
        if (check->n_events == 1)
                return prev.data ? trail_find_fault(check, TRAIL_FIRST_PREV_HASH_NON_NULL, NULL) : 0;
        if (prev.data ? str_is(prev, check->hash) : !*check->hash)
                return 0;
        return trail_find_fault(check, TRAIL_PREV_HASH_CHAIN_MISMATCH, NULL);
}

int trail_check(TrailCheck *check, const TrailLine *line) {
        const Json *prev = json_get(line->json, "prev_event_hash"),
                   *own = json_get(line->json, "event_hash");
        Str hash = json_str(own);
        bool is_right = true;
        int r;

        check->n_events++;
        if (!json_is(line->json, JSON_OBJECT))
                return trail_find_fault(check, TRAIL_INVALID_SHAPE, NULL);
        r = trail_check_members(check, line->json);
        if (r == 0 && !json_is(prev, JSON_NULL) && !json_is(prev, JSON_STRING))
                r = trail_find_fault(check, TRAIL_INVALID_PREV_HASH_TYPE, NULL);
        if (r == 0 && !hash.n)
                r = trail_find_fault(check, TRAIL_INVALID_EVENT_HASH, NULL);
        else if (r == 0)
                r = trail_own_hash(check, line, hash, &is_right);
        if (r == 0 && !is_right)
                r = trail_find_fault(check, TRAIL_EVENT_HASH_MISMATCH, NULL);
        if (r == 0)
                r = trail_check_chain(check, json_is(prev, JSON_STRING)
                                                     ? (Str){prev->text ? prev->text : "", prev->n}
                                                     : STR_NULL);
        check->hash[0] = 0;
        if (hash.n < sizeof(check->hash)) {
                memcpy(check->hash, hash.n ? hash.data : "", hash.n);
                check->hash[hash.n] = 0;
        }
        return r < 0 ? error_trace(r) : r;
}

void trail_check_deinit(TrailCheck *check) {
        buf_deinit(&check->text);
}

typedef struct TrailVerify {
        TrailCheck check;
        TrailReport *report;
} TrailVerify;

static int trail_note_issue(void *user, const TrailIssue *issue) {
        TrailVerify *verify = user;

        if (!verify->report->n_issues++)
                verify->report->first = *issue;
        return 0;
}

static int trail_verify_line(void *user, const TrailLine *line) {
        TrailVerify *verify = user;

        if (line->json)
                return trail_check(&verify->check, line);
        verify->report->n_damaged++;
        return 0;
}

int trail_verify(int fd, uint64_t size, TrailReport *ret) {
        TrailVerify verify = {.report = ret};
        TrailScan scan = {.fd = fd, .end = size, .line = trail_verify_line, .user = &verify};
        TrailTail tail = {.end = size ? size - 1 : 0};
        int r;

        *ret = (TrailReport){.n_bytes = size};
        verify.check.issue = trail_note_issue;
        verify.check.user = &verify;
        r = trail_scan(&scan);
        if (r == 0 && size)
                r = trail_tail(fd, size, &tail);
        ret->n_lines = scan.n_lines;
        ret->n_events = scan.n_events;
        ret->is_torn = tail.is_torn;
        trail_check_deinit(&verify.check);
        return error_trace(r);
}

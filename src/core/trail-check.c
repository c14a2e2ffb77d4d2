/* SPDX-License-Identifier: MIT */
/*
 * Verifying: every event against itself and against the one before.
 *
 * Others verify by parsing a line and writing it again as ECMAScript does; that text is what the hash is of. A line
 * that is in that form already is hashed as it stands. Whether it is, is seen by its values, and by its length, which
 * has no room for white space or a member twice; where that is not sure (fractions, names that begin with a digit, \u
 * escapes), it is written again.
 */
#include <errno.h>

#include "base/error.h"
#include "base/json/json-writer.h"
#include "base/macro.h"
#include "core/trail.h"

enum {
        TRAIL_SURE_DIGITS = 15, /* integers of so many digits are written as they are */
        TRAIL_SURE_DEPTH = 16,  /* what is nested deeper is written again */
};

enum { TRAIL_KEY_VERSION = 0, TRAIL_KEY_PREV = 12, TRAIL_KEY_OWN = 13 };
static const Str trail_keys[TRAIL_KEYS] = {
        STR("schema_version"),  STR("event_id"),        STR("correlation_id"), STR("causation_id"),
        STR("ts_wallclock"),    STR("ts_monotonic_ms"), STR("run_id"),         STR("session_ref"),
        STR("actor"),           STR("visibility"),      STR("type"),           STR("payload"),
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

/* Whether a string, with its quotes, has only escapes that it would be written with again. */
static bool trail_is_sure_text(Str raw) {
        const char *at = raw.data + 1, *end = raw.data + raw.n - 1;

        while ((at = memchr(at, '\\', (size_t)(end - at)))) {
                if (++at == end || (!trail_is_of(*at, "\"\\bfnrt") && !trail_is_control(at, end)))
                        return false;
                at++;
        }
        return true;
}

static bool trail_is_sure_number(Str raw) {
        bool is_negative = raw.data[0] == '-';

        for (size_t i = is_negative; i < raw.n; i++)
                if (raw.data[i] < '0' || raw.data[i] > '9')
                        return false;
        return raw.n - is_negative <= TRAIL_SURE_DIGITS && !(is_negative && raw.data[1] == '0');
}

/* In the line's own bytes, a quote and a colon before the value. */
static bool trail_is_sure_key(const Json *member) {
        return member->key + member->key_n + 2 == member->raw &&
               !(member->key_n && member->key[0] >= '0' && member->key[0] <= '9');
}

/* How long a value is when it is written again, if that is with the same bytes; 0: not sure. */
static size_t trail_measure(const Json *json, unsigned depth) {
        const Str raw = {json->raw, json->raw_n};
        size_t n = 2;

        if (json->type < JSON_ARRAY)
                return (json->type != JSON_STRING || json->text == json->raw + 1 ||
                        trail_is_sure_text(raw)) &&
                                       (json->type != JSON_NUMBER || trail_is_sure_number(raw))
                               ? raw.n
                               : 0;
        for (const Json *member = json_first(json); member; member = member->next) {
                size_t n_value = depth ? trail_measure(member, depth - 1) : 0;

                if (!n_value || (json->type == JSON_OBJECT && !trail_is_sure_key(member)))
                        return 0;
                n += n_value + (json->type == JSON_OBJECT ? member->key_n + 3 : 0) + (member->next != NULL);
        }
        return n;
}

/* The line without its last member, which is the hash, and without the brace, in its own bytes; empty: it is not so
   plain. */
static Str trail_cut_plainly(const TrailLine *line, Str hash) {
        const Str raw = line->raw;
        static const Str key = STR(",\"event_hash\":\"");
        size_t n_last = key.n + hash.n + 2;

        if (raw.n <= n_last || memcmp(raw.data + raw.n - n_last, key.data, key.n) != 0 ||
            memcmp(raw.data + raw.n - hash.n - 2, hash.data, hash.n) != 0 ||
            trail_measure(line->json, TRAIL_SURE_DEPTH) != raw.n)
                return STR_NULL;
        return (Str){raw.data, raw.n - n_last};
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
        const Str plain = trail_cut_plainly(line, hash);
        char now[SHA256_HEX_MAX];
        int r = plain.n ? 0 : trail_write_again(check, line->json);

        if (r == 0)
                r = plain.n ? sha256_hex_both(plain, STR("}"), now) : sha256_hex(buf_str(&check->text), now);
        *ret_is_right = r == 0 && str_is(hash, now);
        return error_trace(r);
}

static int trail_find_fault(TrailCheck *check, TrailFault fault, const char *key) {
        TrailIssue issue = {.seq = check->n_events, .fault = fault, .key = key};

        check->n_issues++;
        return check->issue ? check->issue(check->user, &issue) : 0;
}

/* Which key each member is, when they stand as in the line before: most lines of a file have one order. */
static bool trail_has_order(const TrailCheck *check, const Json *json, const Json *found[TRAIL_KEYS]) {
        const Json *member = json_first(json);
        size_t i = 0;

        for (; member && i < TRAIL_KEYS; member = member->next, i++) {
                const Str key = trail_keys[check->order[i]];

                if (member->key_n != key.n || memcmp(member->key, key.data, key.n) != 0)
                        return false;
                found[check->order[i]] = member;
        }
        return i == TRAIL_KEYS && !member;
}

/* Remembered for the next line; what is no order of these keys alone fits none. */
static void trail_learn_order(TrailCheck *check, const Json *json, const Json *const found[TRAIL_KEYS]) {
        size_t i = 0;

        for (const Json *member = json_first(json); member && i < TRAIL_KEYS; member = member->next, i++)
                for (unsigned k = 0; k < TRAIL_KEYS; k++)
                        if (found[k] == member)
                                check->order[i] = (uint8_t)k;
}

static int trail_check_members(TrailCheck *check, const Json *json, const Json *found[TRAIL_KEYS]) {
        int64_t version;
        int r = 0;

        if (!trail_has_order(check, json, found)) {
                for (size_t i = 0; i < TRAIL_KEYS; i++)
                        found[i] = json_get_str(json, trail_keys[i]);
                trail_learn_order(check, json, found);
        }
        for (size_t i = 0; r == 0 && i < TRAIL_KEYS; i++)
                if (!found[i])
                        r = trail_find_fault(check, TRAIL_MISSING_KEY, trail_keys[i].data);
        if (r == 0 && (!json_int64(found[TRAIL_KEY_VERSION], &version) || version < 1))
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
        const Json *found[TRAIL_KEYS] = {NULL}, *prev;
        bool is_right = true;
        Str hash;
        int r;

        check->n_events++;
        if (!json_is(line->json, JSON_OBJECT))
                return trail_find_fault(check, TRAIL_INVALID_SHAPE, NULL);
        r = trail_check_members(check, line->json, found);
        prev = found[TRAIL_KEY_PREV];
        hash = json_str(found[TRAIL_KEY_OWN]);
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

/* SPDX-License-Identifier: MIT */
/* Sealing, verifying, tails: also of files that were torn, glued, damaged or written by others. */
#include "core/trail.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/test-cmocka.h"

enum { N_EVENTS = 5 };

static int file_of(Str bytes) {
        int fd = memfd_create("trail", MFD_CLOEXEC);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, bytes.data, bytes.n), bytes.n);
        return fd;
}

static void put_event(Buf *out, char hash[SHA256_HEX_MAX], int number) {
        char body[512], prev[SHA256_HEX_MAX];

        memcpy(prev, hash, sizeof(prev));
        snprintf(
                body, sizeof(body),
                "{\"schema_version\":1,\"ts_wallclock\":\"2026-01-02T03:04:05.006Z\",\"run_id\":\"run_1\","
                "\"session_ref\":\"local_run_1\",\"actor\":\"system\",\"visibility\":\"org\",\"type\":\"x\","
                "\"payload\":{\"n\":%d},\"event_id\":\"evt_%d\",\"correlation_id\":\"local_run_1\","
                "\"causation_id\":null,\"ts_monotonic_ms\":%d}",
                number, number, number);
        assert_int_equal(trail_seal(out, str_from(body), prev, hash), 0);
}

static Buf trail_of(int n) {
        char hash[SHA256_HEX_MAX] = "";
        Buf out = BUF_NULL;

        for (int i = 1; i <= n; i++)
                put_event(&out, hash, i);
        return out;
}

static TrailReport report_of(Str bytes) {
        _cleanup_(closep) int fd = file_of(bytes);
        TrailReport report;

        assert_int_equal(trail_verify(fd, bytes.n, &report), 0);
        return report;
}

static TrailTail tail_of(Str bytes, size_t n_step) {
        _cleanup_(closep) int fd = file_of(bytes);
        TrailTail tail = {0};

        for (size_t at = n_step; at < bytes.n; at += n_step)
                assert_int_equal(trail_tail(fd, at, &tail), 0);
        assert_int_equal(trail_tail(fd, bytes.n, &tail), 0);
        return tail;
}

static void test_check_value(void **state) {
        static const char body[] =
                "{\"schema_version\":1,\"ts_wallclock\":\"2026-01-02T03:04:05.006Z\",\"run_id\":\"run_1\","
                "\"session_ref\":\"local_run_1\",\"actor\":\"agent_w\",\"visibility\":\"team\","
                "\"type\":\"provider.raw\",\"payload\":{\"stream\":\"stdout\",\"chunk\":\"h\xc3\xa9 "
                "\\\"q\\\" \\\\ / "
                "\xe2\x80\xa8 \\u0001\\t\\n\"},\"event_id\":\"evt_1\",\"correlation_id\":\"local_run_1\","
                "\"causation_id\":null,\"ts_monotonic_ms\":12}";
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        char hash[SHA256_HEX_MAX];
        Str kept;

        (void)state;
        assert_int_equal(trail_seal(&out, str_from(body), NULL, hash), 0);
        assert_string_equal(hash, "c9cbea9aa935da8b983d468413659b3ecb5ed725acd19b99eacf0386621bf9f5");
        kept = trail_body(buf_str(&out));
        assert_int_equal(kept.n, sizeof(body) - 2);
        assert_memory_equal(kept.data, body, kept.n);
        assert_int_equal(report_of(buf_str(&out)).n_issues, 0);
        put_event(&out, hash, 2);
        assert_int_equal(report_of(buf_str(&out)).n_issues, 0);
        assert_int_equal(report_of(buf_str(&out)).n_events, 2);
        assert_int_equal(trail_body(STR("{\"a\":1}")).n, 0);
}

/* An escape that would not be written again so is seen wherever it stands, and its line verified by what it says. */
static void test_every_place(void **state) {
        static const char text[] = "0123456789012345678901234567890123456789";

        (void)state;
        for (size_t at = 0; at + 1 < sizeof(text); at++)
                for (size_t n = at; n + 1 < sizeof(text); n += 5) {
                        _cleanup_(buf_deinit) Buf plain = BUF_NULL, line = BUF_NULL;
                        char body[512], hash[SHA256_HEX_MAX], *mark;

                        snprintf(body, sizeof(body),
                                 "{\"schema_version\":1,\"ts_wallclock\":\"t\",\"run_id\":\"r\",\"session_"
                                 "ref\":\"s\","
                                 "\"actor\":\"a\",\"visibility\":\"org\",\"type\":\"x\",\"payload\":\"%.*s~%"
                                 "s\\n%s\","
                                 "\"event_id\":\"e\",\"correlation_id\":\"c\",\"causation_id\":null,"
                                 "\"ts_monotonic_ms\":1}",
                                 (int)at, text, text + n, text + n);
                        assert_int_equal(trail_seal(&plain, str_from(body), NULL, hash), 0);
                        assert_int_equal(report_of(buf_str(&plain)).n_issues, 0);
                        mark = memchr(plain.data, '~', plain.n);
                        assert_int_equal(
                                buf_printf(&line, "%.*s\\u007e", (int)(mark - plain.data), plain.data), 0);
                        assert_int_equal(
                                buf_append(&line, mark + 1, plain.n - (size_t)(mark + 1 - plain.data)), 0);
                        assert_int_equal(report_of(buf_str(&line)).n_issues, 0);
                }
}

static uint64_t line_at(Str bytes, size_t at) {
        uint64_t n = 1;

        for (size_t i = 0; i < at; i++)
                n += bytes.data[i] == '\n';
        return n;
}

/* Whatever byte is changed: it is told, at its line. Only the last newline is none of any line's. */
static void test_every_byte(void **state) {
        _cleanup_(buf_deinit) Buf out = trail_of(N_EVENTS);

        (void)state;
        assert_int_equal(report_of(buf_str(&out)).n_issues, 0);
        for (size_t i = 0; i + 1 < out.n; i++) {
                char was = out.data[i];
                TrailReport report;

                out.data[i] = was == '7' ? '8' : (char)(was ^ 1);
                report = report_of(buf_str(&out));
                assert_true(report.n_issues || report.n_damaged);
                if (was != '\n' && !report.n_damaged) {
                        assert_int_equal(report.n_events, N_EVENTS);
                        assert_int_equal(report.first.seq, line_at(buf_str(&out), i));
                }
                out.data[i] = was;
        }
}

typedef struct Seen {
        uint64_t seqs[16];
        bool is_event[16];
        size_t n;
} Seen;

static int see_line(void *user, const TrailLine *line) {
        Seen *seen = user;

        seen->seqs[seen->n] = line->seq;
        seen->is_event[seen->n++] = line->json != NULL;
        assert_true(line->json || line->error);
        return 0;
}

/* A terabyte of nothing between two events is one damaged line, and nobody reads it. */
static void test_hole(void **state) {
        const off_t large = (off_t)1 << 40;
        _cleanup_(buf_deinit) Buf one = trail_of(1);
        Seen seen = {0};
        TrailScan scan = {.line = see_line, .user = &seen, .fd = file_of(buf_str(&one))};
        TrailTail tail = {0};
        char hash[SHA256_HEX_MAX] = "";

        (void)state;
        assert_int_equal(pwrite(scan.fd, "\n", 1, large), 1);
        scan.end = (uint64_t)large + 1;
        assert_int_equal(trail_scan(&scan), 0);
        assert_int_equal(scan.n_lines, 2);
        assert_int_equal(scan.n_events, 1);
        assert_int_equal(trail_tail(scan.fd, scan.end, &tail), 0);
        assert_int_equal(tail.n_lines, 2);
        assert_false(tail.is_torn);
        one.n = 0;
        put_event(&one, hash, 1);
        assert_string_equal(tail.hash, hash);
        close(scan.fd);
}

/* A line of ours glued to a torn one is lost with it; blank lines do not count; the last needs no newline. */
static void test_torn_and_glued(void **state) {
        _cleanup_(buf_deinit) Buf two = trail_of(2), out = BUF_NULL;
        Seen seen = {0};
        TrailScan scan = {.line = see_line, .user = &seen};

        (void)state;
        assert_int_equal(buf_printf(&out, "{\"type\":\"torn%.*s\n\n  \n[1]\r\n%.*s{\"type\":\"x\"}",
                                    (int)two.n, two.data, (int)two.n, two.data),
                         0);
        scan.fd = file_of(buf_str(&out));
        scan.end = out.n;
        assert_int_equal(trail_scan(&scan), 0);
        assert_int_equal(scan.n_lines, 6);
        assert_int_equal(scan.n_events, 5);
        for (size_t i = 0; i < seen.n; i++) {
                assert_int_equal(seen.seqs[i], i + 1);
                assert_int_equal(seen.is_event[i], i > 0);
        }
        close(scan.fd);
        for (size_t step = 1; step < out.n; step += 3) {
                TrailTail tail = tail_of(buf_str(&out), step);

                assert_int_equal(tail.n_lines, 6);
                assert_int_equal(tail.end, out.n);
                assert_true(tail.is_torn);
        }
}

/* The hash that the next event follows: of the last line that has one, wherever that is. */
static void test_tail_hash(void **state) {
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        char hash[SHA256_HEX_MAX] = "", room[40000];

        (void)state;
        assert_string_equal(tail_of(STR(""), 1).hash, "");
        assert_string_equal(tail_of(STR("{\"type\":\"x\"}\n"), 100).hash, "");
        for (int i = 0; i < 3; i++)
                put_event(&out, hash, i);
        memset(room, 'x', sizeof(room));
        for (int i = 0; i < 5; i++) { /* more than one window of what others wrote */
                assert_int_equal(buf_append(&out, room, sizeof(room)), 0);
                assert_string_equal(tail_of(buf_str(&out), SIZE_MAX / 2).hash, hash);
                assert_int_equal(buf_append_str(&out, STR("\n{\"event_hash\":3}\n")), 0);
                assert_string_equal(tail_of(buf_str(&out), SIZE_MAX / 2).hash, hash);
        }
        assert_int_equal(buf_append_str(&out, STR("{\"event_hash\":\"abc\"}\n")), 0);
        assert_string_equal(tail_of(buf_str(&out), 5000).hash, "abc");
}

typedef struct Wanted {
        const char *line;
        const char *faults; /* of the second event */
} Wanted;

static int put_fault(void *user, const TrailIssue *issue) {
        return issue->seq == 2 && issue->fault != TRAIL_MISSING_KEY
                       ? buf_printf(user, "%s ", trail_fault_name(issue->fault))
                       : 0;
}

static int check_line(void *user, const TrailLine *line) {
        return line->json ? trail_check(user, line) : 0;
}

static void test_faults(void **state) {
        static const Wanted wanted[] = {
                {"[1]", "invalid_shape "},
                {"{\"type\":\"x\"}", "invalid_schema_version invalid_prev_hash_type invalid_event_hash "
                                     "prev_hash_chain_mismatch "},
                {"{\"schema_version\":1.0,\"prev_event_hash\":\"zz\",\"event_hash\":\"zz\"}",
                 "event_hash_mismatch prev_hash_chain_mismatch "},
                {"{\"schema_version\":0,\"prev_event_hash\":3,\"event_hash\":\"\"}",
                 "invalid_schema_version invalid_prev_hash_type invalid_event_hash "
                 "prev_hash_chain_mismatch "},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
                _cleanup_(buf_deinit) Buf out = trail_of(1), faults = BUF_NULL;
                TrailCheck check = {.issue = put_fault, .user = &faults};
                TrailScan scan = {.line = check_line, .user = &check};

                assert_int_equal(buf_printf(&out, "%s\n", wanted[i].line), 0);
                scan.fd = file_of(buf_str(&out));
                scan.end = out.n;
                assert_int_equal(trail_scan(&scan), 0);
                assert_string_equal(buf_cstr(&faults), wanted[i].faults);
                trail_check_deinit(&check);
                close(scan.fd);
        }
        assert_int_equal(report_of(STR("{\"prev_event_hash\":\"x\"}")).n_issues, 12 + 4);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_check_value), cmocka_unit_test(test_every_byte),
                cmocka_unit_test(test_hole),        cmocka_unit_test(test_torn_and_glued),
                cmocka_unit_test(test_tail_hash),   cmocka_unit_test(test_faults),
                cmocka_unit_test(test_every_place),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE
#define LOG_MODULE "base/test"
#include "base/log/log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/test-cmocka.h"
#include "base/utf8.h"

#define STAMP "2026-01-02T03:04:05.678Z "

static int64_t fixed_wall(void *user) {
        (void)user;
        return INT64_C(1767323045678901);
}

static void start(Log *log) {
        log_init(log);
        log->wall_us = fixed_wall;
}

/* What is in the pipe or socket now, as a string. */
static const char *take(int fd) {
        static char text[1 << 20];
        size_t n = 0;
        ssize_t got;

        assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
        while ((got = read(fd, text + n, sizeof(text) - 1 - n)) > 0)
                n += (size_t)got;
        text[n] = 0;
        return text;
}

static void test_levels(void **state) {
        (void)state;
        assert_int_equal(log_level_from_name("err"), LOG_ERR);
        assert_int_equal(log_level_from_name("Warning"), LOG_WARNING);
        assert_int_equal(log_level_from_name("NOTICE"), LOG_NOTICE);
        assert_int_equal(log_level_from_name("info"), LOG_INFO);
        assert_int_equal(log_level_from_name("debug"), LOG_DEBUG);
        assert_int_equal(log_level_from_name("chatty"), -EINVAL);
        assert_int_equal(log_level_from_name(""), -EINVAL);
        assert_string_equal(log_level_name(LOG_ERR), "err");
        assert_string_equal(log_level_name(LOG_DEBUG), "debug");
        assert_string_equal(log_level_name((LogLevel)77), "?");
}

static void test_line(void **state) {
        int fds[2];
        Log log;

        (void)state;
        start(&log);
        log_err(NULL, NULL, "to nobody");
        log_err(&log, NULL, "to nobody either");
        assert_int_equal(pipe(fds), 0);
        assert_int_equal(log_add(&log, fds[1], LOG_INFO), 0);
        log_notice(&log, "cccc", "listening path=%s", "/run/x.sock");
        assert_string_equal(take(fds[0]), STAMP "notice base/test [cccc] listening path=/run/x.sock\n");
        log_err(&log, NULL, "n=%d", 5);
        assert_string_equal(take(fds[0]), STAMP "err base/test n=5\n");
        log_debug(&log, NULL, "too much");
        assert_string_equal(take(fds[0]), "");
        log_set_level(&log, 0, LOG_DEBUG);
        log_debug(&log, NULL, "now");
        assert_string_equal(take(fds[0]), STAMP "debug base/test now\n");
        errno = ENOENT;
        log_err(&log, NULL, "%m");
        assert_int_equal(errno, ENOENT);
        assert_string_equal(take(fds[0]), STAMP "err base/test No such file or directory\n");
        log_deinit(&log);
        assert_int_equal(read(fds[0], (char[1]){0}, 1), 0); /* the writing end is closed */
        close(fds[0]);
}

static void test_sinks(void **state) {
        int fds[LOG_SINKS][2], one_more;
        Log log;

        (void)state;
        start(&log);
        assert_int_equal(log.level, LOG_ERR);
        for (int i = 0; i < LOG_SINKS; i++) {
                assert_int_equal(pipe(fds[i]), 0);
                assert_int_equal(log_add(&log, fds[i][1], i == 3 ? LOG_DEBUG : LOG_WARNING), i);
        }
        one_more = open("/dev/null", O_WRONLY | O_CLOEXEC);
        assert_int_equal(log_add(&log, one_more, LOG_ERR), -ENOSPC);
        close(one_more);
        assert_int_equal(log.level, LOG_DEBUG);
        log_debug(&log, NULL, "x");
        log_warning(&log, NULL, "y");
        for (int i = 0; i < LOG_SINKS; i++)
                assert_string_equal(take(fds[i][0]), i == 3 ? STAMP "debug base/test x\n" STAMP
                                                                    "warning base/test y\n"
                                                            : STAMP "warning base/test y\n");
        log_remove(&log, 3);
        assert_int_equal(log.level, LOG_WARNING);
        close(fds[3][0]);
        assert_int_equal(pipe(fds[3]), 0);
        assert_int_equal(log_add(&log, fds[3][1], LOG_NOTICE), 3); /* the free slot */
        log_deinit(&log);
        for (int i = 0; i < LOG_SINKS; i++)
                close(fds[i][0]);
}

static void test_one_line(void **state) {
        int fds[2];
        Log log;

        (void)state;
        start(&log);
        assert_int_equal(pipe(fds), 0);
        assert_int_equal(log_add(&log, fds[1], LOG_INFO), 0);
        log_info(&log, "a\nb", "x\ny\r\t\x1b[31m\x7f|\xc2\x9b|\xc3\xa9|\xff\xc3|");
        assert_string_equal(take(fds[0]), STAMP "info base/test [a?b] x?y???[31m?|??|\xc3\xa9|??|\n");
        log_deinit(&log);
        close(fds[0]);
}

static void test_long_line(void **state) {
        char long_text[8192];
        const char *got;
        int fds[2];
        Log log;

        (void)state;
        start(&log);
        assert_int_equal(pipe(fds), 0);
        assert_int_equal(log_add(&log, fds[1], LOG_INFO), 0);
        for (size_t i = 0; i + 2 < sizeof(long_text); i += 2)
                memcpy(long_text + i, "\xc3\xa9", 3);
        for (int shift = 0; shift < 3; shift++) {
                log_info(&log, NULL, "%.*s%s", shift, "aaa", long_text);
                got = take(fds[0]);
                assert_int_equal(strlen(got), LOG_LINE_MAX);
                assert_string_equal(got + LOG_LINE_MAX - 4, "...\n");
                assert_int_equal(utf8_valid_prefix(got, LOG_LINE_MAX), LOG_LINE_MAX);
        }
        log_info(&log, long_text, "lost");
        assert_int_equal(strlen(take(fds[0])), LOG_LINE_MAX);
        log_deinit(&log);
        close(fds[0]);
}

/* A stream that is full: nobody waits, and the gap is told. */
static void check_full(int writer, int reader) {
        unsigned n_lost, n_lines = 0;
        const char *got;
        char want[128];
        Log log;

        start(&log);
        assert_int_equal(log_add(&log, writer, LOG_INFO), 0);
        for (int i = 0; i < 20000; i++)
                log_info(&log, NULL, "line %d of many that fill the pipe to the brim", i);
        n_lost = log.sinks[0].n_lost;
        assert_true(n_lost > 0);
        got = take(reader);
        for (const char *p = got; (p = strchr(p, '\n')); p++)
                n_lines++;
        assert_int_equal(n_lines + n_lost, 20000);

        log_info(&log, NULL, "after");
        snprintf(want, sizeof(want),
                 "%s" STAMP "warning base/log lost lines=%u\n" STAMP "info base/test after\n",
                 got[strlen(got) - 1] == '\n' ? "" : "\n", n_lost);
        assert_string_equal(take(reader), want);
        assert_int_equal(log.sinks[0].n_lost, 0);
        log_deinit(&log);
        close(reader);
}

static void test_full_pipe(void **state) {
        int fds[2];

        (void)state;
        assert_int_equal(pipe(fds), 0);
        check_full(fds[1], fds[0]);
}

static void test_full_socket(void **state) {
        int fds[2];

        (void)state;
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
        check_full(fds[1], fds[0]);
}

/* The shell's descriptor must not become non-blocking behind its back. */
static void test_shared_pipe(void **state) {
        int fds[2], other;
        Log log;

        (void)state;
        start(&log);
        assert_int_equal(pipe(fds), 0);
        other = dup(fds[1]);
        assert_int_equal(log_add(&log, fds[1], LOG_INFO), 0);
        assert_int_equal(fcntl(other, F_GETFL) & O_NONBLOCK, 0);
        log_deinit(&log);
        close(other);
        close(fds[0]);
}

static void test_terminal(void **state) {
        int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave;
        const char *name;
        Log log;

        (void)state;
        if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
                skip();
        name = ptsname(master);
        slave = open(name, O_WRONLY | O_NOCTTY | O_CLOEXEC);
        assert_true(slave >= 0);
        start(&log);
        assert_int_equal(log_add(&log, slave, LOG_INFO), 0);
        for (int i = 0; i < 20000; i++) /* nobody reads the other side */
                log_info(&log, NULL, "line %d of many that fill the terminal to the brim", i);
        assert_true(log.sinks[0].n_lost > 0);
        log_deinit(&log);
        close(master);
}

/* Neither SIGPIPE nor an error: lines are lost. */
static void test_no_reader(void **state) {
        int fds[2];
        Log log;

        (void)state;
        signal(SIGPIPE, SIG_DFL);
        start(&log);
        assert_int_equal(pipe(fds), 0);
        assert_int_equal(log_add(&log, fds[1], LOG_INFO), 0);
        close(fds[0]);
        log_info(&log, NULL, "x");
        log_info(&log, NULL, "y");
        assert_int_equal(log.sinks[0].n_lost, 2);
        log_deinit(&log);
}

static void test_file(void **state) {
        char path[] = "/tmp/test-log.XXXXXX";
        int fd = mkstemp(path), reader = open(path, O_RDONLY | O_CLOEXEC);
        Log log;

        (void)state;
        assert_true(fd >= 0 && reader >= 0);
        unlink(path);
        start(&log);
        assert_int_equal(log_add(&log, fd, LOG_INFO), 0);
        log_info(&log, NULL, "one");
        log_info(&log, "id", "two");
        assert_string_equal(take(reader), STAMP "info base/test one\n" STAMP "info base/test [id] two\n");
        log_deinit(&log);
        close(reader);
}

static void test_real_clock(void **state) {
        int fds[2];
        Log log;

        (void)state;
        log_init(&log);
        assert_int_equal(pipe(fds), 0);
        assert_int_equal(log_add(&log, fds[1], LOG_INFO), 0);
        log_info(&log, NULL, "x");
        assert_int_equal(strncmp(take(fds[0]), "20", 2), 0);
        log_deinit(&log);
        close(fds[0]);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_levels),      cmocka_unit_test(test_line),
                cmocka_unit_test(test_sinks),       cmocka_unit_test(test_one_line),
                cmocka_unit_test(test_long_line),   cmocka_unit_test(test_full_pipe),
                cmocka_unit_test(test_full_socket), cmocka_unit_test(test_shared_pipe),
                cmocka_unit_test(test_terminal),    cmocka_unit_test(test_no_reader),
                cmocka_unit_test(test_file),        cmocka_unit_test(test_real_clock),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

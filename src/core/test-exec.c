/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/test-cmocka.h"
#include "core/exec.h"

static int shell(const char *script, int limit_ms, ExecResult *ret) {
        char *const env[] = {(char *)"PATH=/usr/bin:/bin", (char *)"WORD=hi", NULL};
        char *const argv[] = {(char *)"/bin/sh", (char *)"-c", (char *)script, NULL};

        return exec_run(
                &(ExecSpec){.argv = argv, .env = env, .folder = "/", .limit_ms = limit_ms, .n_max = 1000},
                ret);
}

static void expect_text(const Buf *buf, const char *text) {
        assert_int_equal(buf->n, strlen(text));
        assert_memory_equal(buf->data ? buf->data : "", text, buf->n);
}

static void test_outputs_status_environment_and_folder(_unused_ void **state) {
        _cleanup_(exec_result_deinit) ExecResult result = EXEC_RESULT_NULL;

        assert_int_equal(shell("pwd; echo $WORD; echo no >&2; exit 3", 60000, &result), 0);
        assert_true(WIFEXITED(result.status));
        assert_int_equal(WEXITSTATUS(result.status), 3);
        expect_text(&result.out, "/\nhi\n");
        expect_text(&result.err, "no\n");
        assert_true(str_is(exec_first_line(&result), "no"));
}

static void test_it_has_no_input(_unused_ void **state) {
        _cleanup_(exec_result_deinit) ExecResult result = EXEC_RESULT_NULL;

        assert_int_equal(shell("cat; echo done", 60000, &result), 0);
        expect_text(&result.out, "done\n");
}

static void test_output_beyond_the_bound_is_dropped(_unused_ void **state) {
        _cleanup_(exec_result_deinit) ExecResult result = EXEC_RESULT_NULL;

        assert_int_equal(shell("head -c 3000000 /dev/zero; echo end >&2", 60000, &result), 0);
        assert_int_equal(result.out.n, 1000);
        expect_text(&result.err, "end\n");
}

static void test_the_whole_group_is_killed_when_time_is_over(_unused_ void **state) {
        _cleanup_(exec_result_deinit) ExecResult result = EXEC_RESULT_NULL;

        assert_int_equal(shell("sleep 1000 & sleep 1000", 50, &result), -ETIMEDOUT);
        assert_int_equal(result.out.n, 0);
}

static void test_it_is_called_off(_unused_ void **state) {
        _cleanup_(exec_result_deinit) ExecResult result = EXEC_RESULT_NULL;
        char *const argv[] = {(char *)"/bin/sleep", (char *)"1000", NULL};
        static _Atomic bool is_off = true;

        assert_int_equal(
                exec_run(&(ExecSpec){.argv = argv, .limit_ms = 60000, .n_max = 10, .is_off = &is_off},
                         &result),
                -ECANCELED);
}

/* What it leaves behind would hold its outputs open, and so the one that waits for their end. */
static void test_what_it_leaves_behind_does_not_hold_it(_unused_ void **state) {
        _cleanup_(exec_result_deinit) ExecResult result = EXEC_RESULT_NULL;

        assert_int_equal(shell("sleep 1000 & echo there", 60000, &result), 0);
        assert_int_equal(result.status, 0);
        expect_text(&result.out, "there\n");
}

static void test_a_program_that_is_not_there(_unused_ void **state) {
        _cleanup_(exec_result_deinit) ExecResult result = EXEC_RESULT_NULL;
        char *const argv[] = {(char *)"/no/such/program", NULL};

        assert_int_equal(exec_run(&(ExecSpec){.argv = argv, .limit_ms = 1000, .n_max = 10}, &result),
                         -ENOENT);
}

/* A daemon that runs it, in a process of its own; ret: what the program says first, its pid. */
static pid_t start_asking(pid_t *ret) {
        int said[2];
        char script[64], text[32] = "";
        pid_t daemon;

        assert_int_equal(pipe(said), 0);
        (void)snprintf(script, sizeof(script), "echo $$ >&%d; exec sleep 1000", said[1]);
        daemon = fork();
        assert_true(daemon >= 0);
        if (!daemon) {
                ExecResult result;

                (void)shell(script, 600000, &result);
                _exit(1);
        }
        (void)close(said[1]);
        assert_true(read(said[0], text, sizeof(text) - 1) > 0);
        (void)close(said[0]);
        *ret = (pid_t)strtol(text, NULL, 10);
        return daemon;
}

/* Questions to programs stayed behind for as long as these took to answer. */
static void test_it_does_not_outlive_a_daemon_that_is_killed(_unused_ void **state) {
        pid_t asked = 0, daemon;
        int status = 0;

        assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0); /* its end is told to us then */
        daemon = start_asking(&asked);
        assert_true(asked > 0);
        assert_int_equal(kill(daemon, SIGKILL), 0);
        assert_int_equal(waitpid(daemon, NULL, 0), daemon);
        (void)alarm(60);
        assert_int_equal(waitpid(asked, &status, 0), asked);
        (void)alarm(0);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGKILL);
}

static void test_signals_are_as_usual(_unused_ void **state) {
        _cleanup_(exec_result_deinit) ExecResult result = EXEC_RESULT_NULL;
        sigset_t blocked, before;

        sigemptyset(&blocked);
        sigaddset(&blocked, SIGTERM);
        (void)sigprocmask(SIG_BLOCK, &blocked, &before);
        (void)signal(SIGPIPE, SIG_IGN);
        assert_int_equal(shell("cat /proc/self/status | grep -E '^Sig(Blk|Ign|Cgt):.*[1-9a-f]'; echo $?",
                               60000, &result),
                         0);
        (void)signal(SIGPIPE, SIG_DFL);
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
        expect_text(&result.out, "1\n");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_outputs_status_environment_and_folder),
                cmocka_unit_test(test_it_has_no_input),
                cmocka_unit_test(test_output_beyond_the_bound_is_dropped),
                cmocka_unit_test(test_the_whole_group_is_killed_when_time_is_over),
                cmocka_unit_test(test_it_is_called_off),
                cmocka_unit_test(test_what_it_leaves_behind_does_not_hold_it),
                cmocka_unit_test(test_a_program_that_is_not_there),
                cmocka_unit_test(test_it_does_not_outlive_a_daemon_that_is_killed),
                cmocka_unit_test(test_signals_are_as_usual),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

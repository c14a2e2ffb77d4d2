/* SPDX-License-Identifier: MIT */
/*
 * Lossless processes, their input, and their end, through real daemons and shims. This program is also the one that
 * is hosted: see program_main().
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"
#include "core/host/test-host-fixture.h"

enum { RING_FULL = KEEP_RING - 3 * RING_READ_MAX };

#define MB ((size_t)1000 * 1000)

/* print OUT ERR STATUS: so many bytes on both, at the same time. live: closes stdout, says a word on stderr,
 * waits for the end of its input. */
static _noreturn_ void program_main(char **argv) {
        char byte;
        pid_t pid;

        if (!strcmp(argv[1], "live")) {
                (void)close(1);
                keep_print(1, 5);
                while (read(0, &byte, 1) > 0)
                        ;
                _exit(7);
        }
        pid = fork();
        keep_print(pid ? 0 : 1, strtoull(argv[pid ? 2 : 3], NULL, 10));
        if (!pid)
                _exit(0);
        (void)waitpid(pid, NULL, 0);
        _exit(atoi(argv[4]));
}

static KeepPlan printer(const KeepWorld *w, const char *n_out, const char *n_err) {
        return (KeepPlan){.argv = {w->self, "print", n_out, n_err, "3"}};
}

static void expect_end(KeepWorld *w, int exit_code, size_t n_out, size_t n_err) {
        keep_wait_state(w, HOSTED_ENDED);
        assert_int_equal(w->book->exit_code, exit_code);
        assert_int_equal(keep_check(w, 0), n_out);
        assert_int_equal(keep_check(w, 1), n_err);
}

static bool shim_is_gone(const KeepWorld *w) {
        ShimRecord record = keep_record(w);

        return shim_start_time(record.shim_pid) != record.shim_start;
}

static bool program_has_exited(const KeepWorld *w) {
        ShimRecord record = keep_record(w);

        return atomic_load(&record.state) == SHIM_STATE_EXITED;
}

/* It stands in its write(2): asleep, while the ring does not grow, each of several times. */
static bool program_waits(const KeepWorld *w) {
        uint64_t end = keep_ring_end(w, 0);
        char status[512];

        for (int i = 0; i < 20; i++, keep_nap())
                if (process_read(keep_record(w).child_pid, "status", status, sizeof(status)) < 0 ||
                    !strstr(status, "\nState:\tS") || keep_ring_end(w, 0) != end)
                        return false;
        return true;
}

/* ---- output ---------------------------------------------------------------------------------- */

static void test_a_program_that_is_faster_than_its_keeper_waits(void **state) {
        KeepWorld *w = *state;
        KeepPlan plan = printer(w, "100000000", "1000000");

        plan.n_piece = 150000;
        keep_start(w, &plan);
        expect_end(w, 3, 100 * MB, MB);
        assert_in_range(w->book->n_most, RING_FULL, KEEP_RING);
}

static void test_the_streams_do_not_wait_for_each_other(void **state) {
        KeepWorld *w = *state;
        KeepPlan plan = printer(w, "3000000", "3000000");

        plan.keeps_not[0] = true;
        keep_start(w, &plan);
        KEEP_EVENTUALLY(keep_length(w, 1) == 3 * MB);
        KEEP_EVENTUALLY(w->book->n_most >= RING_FULL);
        assert_int_equal(keep_length(w, 0), 0);
        assert_int_equal(w->book->state, HOSTED_RUNNING);
        keep_ask(w, KEEP_ASK_FREE);
        expect_end(w, 3, 3 * MB, 3 * MB);
}

static void test_killed_daemons(void **state) {
        KeepWorld *w = *state;
        KeepPlan plan = printer(w, "30000000", "2000000"), adopter = {.n_piece = 150000};

        plan.n_piece = 150000;
        keep_start(w, &plan);
        for (size_t i = 1; i <= 12; i++) {
                size_t n = keep_length(w, 0) + i * 100000;
                KEEP_EVENTUALLY(keep_length(w, 0) >= MIN(n, 30 * MB));
                keep_kill(w);
                keep_start(w, &adopter);
        }
        expect_end(w, 3, 30 * MB, 2 * MB);
}

static void test_a_program_that_fills_the_ring_while_no_daemon_runs(void **state) {
        KeepWorld *w = *state;
        KeepPlan plan = printer(w, "5000000", "0"), adopter = {0};
        uint64_t end;

        plan.keeps_not[0] = true;
        keep_start(w, &plan);
        keep_kill(w);
        KEEP_EVENTUALLY(keep_ring_end(w, 0) >= RING_FULL && program_waits(w));
        end = keep_ring_end(w, 0);
        assert_in_range(end, RING_FULL, KEEP_RING);
        keep_start(w, &(KeepPlan){.keeps_not = {true}}); /* comes, takes nothing, and goes */
        keep_kill(w);
        assert_int_equal(keep_ring_end(w, 0), end);
        assert_false(shim_is_gone(w));
        keep_start(w, &adopter);
        expect_end(w, 3, 5 * MB, 0);
}

static void test_a_program_that_closes_its_output_and_lives(void **state) {
        KeepWorld *w = *state;
        KeepPlan plan = {.argv = {w->self, "live"}, .has_input = true}, adopter = {0};

        keep_start(w, &plan);
        KEEP_EVENTUALLY(keep_length(w, 1) == 5);
        keep_kill(w);
        keep_start(w, &adopter);
        assert_int_equal(w->book->state, HOSTED_RUNNING);
        assert_int_equal(keep_ask(w, KEEP_ASK_CLOSE_INPUT), 0);
        expect_end(w, 7, 0, 5);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void test_an_end_while_no_daemon_runs(void **state) {
        KeepWorld *w = *state;
        KeepPlan plan = printer(w, "150000", "100"), adopter = {0};
        char folder[200];

        plan.keeps_not[0] = true;
        keep_start(w, &plan);
        keep_kill(w);
        KEEP_EVENTUALLY(shim_is_gone(w));
        for (int i = 0; i < 2; i++) { /* until it is forgotten it is found again, by each that comes */
                keep_start(w, &adopter);
                expect_end(w, 3, 150000, 100);
                if (!i)
                        keep_kill(w);
        }
        keep_ask(w, KEEP_ASK_FORGET);
        KEEP_EVENTUALLY(!keep_folder(w, folder, sizeof(folder)));
}

/* The rest is in the pipe: the shim stays for it. */
static void test_an_end_with_more_than_the_ring_holds(void **state) {
        KeepWorld *w = *state;
        KeepPlan plan = printer(w, "280000", "0"), adopter = {0};

        plan.keeps_not[0] = true;
        keep_start(w, &plan);
        keep_kill(w);
        KEEP_EVENTUALLY(program_has_exited(w));
        keep_start(w, &(KeepPlan){.keeps_not = {true}});
        assert_int_equal(w->book->state, HOSTED_RUNNING); /* not all of it is in the ring */
        keep_kill(w);
        assert_false(shim_is_gone(w));
        keep_start(w, &adopter);
        expect_end(w, 3, 280000, 0);
}

static void test_the_end_waits_for_room(void **state) {
        KeepWorld *w = *state;
        KeepPlan plan = printer(w, "280000", "0");

        plan.keeps_not[0] = true;
        keep_start(w, &plan);
        KEEP_EVENTUALLY(program_has_exited(w) && w->book->n_most >= RING_FULL);
        assert_int_equal(w->book->state, HOSTED_RUNNING);
        keep_ask(w, KEEP_ASK_FREE);
        expect_end(w, 3, 280000, 0);
}

static void test_forgotten_while_it_waits_for_room(void **state) {
        KeepWorld *w = *state;
        KeepPlan plan = printer(w, "280000", "0");
        char folder[200];

        plan.keeps_not[0] = true;
        keep_start(w, &plan);
        KEEP_EVENTUALLY(program_has_exited(w) && w->book->n_most >= RING_FULL);
        keep_ask(w, KEEP_ASK_FORGET);
        KEEP_EVENTUALLY(!keep_folder(w, folder, sizeof(folder)));
}

/* The pipe is ours, too: what the program had written is read, then it is told. */
static void test_a_killed_shim(void **state) {
        KeepWorld *w = *state;
        KeepPlan plan = printer(w, "5000000", "0");

        plan.keeps_not[0] = true;
        keep_start(w, &plan);
        KEEP_EVENTUALLY(w->book->n_most >= RING_FULL);
        assert_int_equal(kill(keep_record(w).shim_pid, SIGKILL), 0);
        KEEP_EVENTUALLY(shim_is_gone(w));
        keep_ask(w, KEEP_ASK_FREE);
        keep_wait_state(w, HOSTED_LOST);
        assert_in_range(keep_check(w, 0), RING_FULL, 5 * MB - 1);
}

/* A shim that ends between the daemon's call and its own answer had read on until then: its last bytes were missing. */
static void test_a_shim_that_ends_before_it_answers(void **state) {
        KeepWorld *w = *state;
        KeepPlan plan = {.argv = {w->self, "live"}, .has_input = true};
        char folder[200], path[240], bytes[90];
        Ring ring;

        keep_start(w, &plan);
        KEEP_EVENTUALLY(keep_length(w, 1) == 5);
        keep_kill(w);
        assert_int_equal(kill(keep_record(w).shim_pid, SIGSTOP), 0);
        keep_start(w, &(KeepPlan){0});
        assert_true(keep_folder(w, folder, sizeof(folder)));
        (void)snprintf(path, sizeof(path), "%s/" SHIM_OUT, folder);
        assert_int_equal(ring_open(&ring, path), 0);
        keep_bytes(0, 0, bytes, sizeof(bytes));
        ring_append(&ring, (Str){bytes, sizeof(bytes)}); /* as it would have done itself */
        ring_close(&ring);
        assert_int_equal(kill(keep_record(w).shim_pid, SIGKILL), 0);
        keep_wait_state(w, HOSTED_LOST);
        assert_int_equal(keep_check(w, 0), sizeof(bytes));
}

/* What was to be ended when its daemon died is shown to its domain, which has not seen the end. */
static void test_a_discarded_one_is_found_again(void **state) {
        KeepWorld *w = *state;
        KeepPlan plan = printer(w, "5000000", "0"), adopter = {0};

        plan.keeps_not[0] = true;
        keep_start(w, &plan);
        KEEP_EVENTUALLY(w->book->n_most >= RING_FULL);
        keep_ask(w, KEEP_ASK_DISCARD);
        keep_kill(w);
        keep_start(w, &adopter);
        keep_wait_state(w, HOSTED_ENDED);
        assert_int_equal(w->book->exit_code, 128 + SIGKILL);
        assert_in_range(keep_check(w, 0), RING_FULL, 5 * MB - 1);
}

/* The next daemon calls before the shim has heard what the last one said, and that it is gone. */
static void test_the_last_words_of_a_daemon(void **state) {
        KeepWorld *w = *state;
        KeepPlan plan = printer(w, "5000000", "0"), adopter = {0};
        pid_t shim;

        plan.has_input = plan.keeps_not[0] = true;
        keep_start(w, &plan);
        KEEP_EVENTUALLY(w->book->n_most >= RING_FULL);
        shim = keep_record(w).shim_pid;
        assert_int_equal(kill(shim, SIGSTOP), 0);
        assert_int_equal(keep_ask(w, KEEP_ASK_CLOSE_INPUT), 0);
        keep_kill(w);
        keep_start(w, &adopter);
        assert_int_equal(kill(shim, SIGCONT), 0);
        expect_end(w, 3, 5 * MB, 0);
}

/* ---- input ----------------------------------------------------------------------------------- */

static void test_input_from_a_file(void **state) {
        static char bytes[10 * MB];
        KeepWorld *w = *state;
        KeepPlan plan = {.argv = {"cat"}, .n_piece = 150000}, adopter = {0};
        char path[80];
        int fd;

        snprintf(path, sizeof(path), "%s/stdin.txt", w->home);
        keep_bytes(0, 0, bytes, sizeof(bytes));
        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
        close_fd(fd);
        plan.stdin_path = path;
        keep_start(w, &plan);
        KEEP_EVENTUALLY(keep_length(w, 0) > MB);
        keep_kill(w); /* nothing has to be fed again */
        keep_start(w, &adopter);
        expect_end(w, 0, sizeof(bytes), 0);
}

static void expect_failure(KeepWorld *w, const KeepPlan *plan, const char *text) {
        keep_start(w, plan);
        assert_int_equal(w->book->state, HOSTED_FAILED);
        assert_string_equal(w->book->text, text);
        keep_kill(w);
}

static void test_input_that_cannot_be_opened(void **state) {
        KeepWorld *w = *state;
        char path[80], text[160];
        KeepPlan plan = {.argv = {"cat"}, .stdin_path = path};

        snprintf(path, sizeof(path), "%s/none", w->home);
        snprintf(text, sizeof(text), "%s: %s", path, strerror(ENOENT));
        expect_failure(w, &plan, text);
        assert_int_equal(symlink("/etc/passwd", path), 0);
        snprintf(text, sizeof(text), "%s: %s", path, strerror(ELOOP));
        expect_failure(w, &plan, text);
        snprintf(path, sizeof(path), "%s/fifo", w->home);
        assert_int_equal(mkfifo(path, 0600), 0);
        snprintf(text, sizeof(text), "%s: %s", path, strerror(EINVAL));
        expect_failure(w, &plan, text);
        snprintf(path, sizeof(path), "%s", w->home);
        snprintf(text, sizeof(text), "%s: %s", path, strerror(EISDIR));
        expect_failure(w, &plan, text);
        plan = (KeepPlan){.argv = {"/no/such/program"}};
        expect_failure(w, &plan, strerror(ENOENT));
}

/* Behind what was written, which a full pipe has not taken yet. */
static void test_close_of_an_input(void **state) {
        KeepWorld *w = *state;
        KeepPlan plan = {.argv = {"cat"}, .has_input = true, .n_input = 3 * MB, .n_piece = 100000};

        keep_start(w, &plan);
        assert_int_equal(keep_ask(w, KEEP_ASK_CLOSE_INPUT), 0);
        assert_int_equal(keep_ask(w, KEEP_ASK_CLOSE_INPUT), 0);
        expect_end(w, 0, 3 * MB, 0);
        assert_int_equal(keep_ask(w, KEEP_ASK_CLOSE_INPUT), HOST_E_ENDED);
}

/* The next daemon does not get it again. */
static void test_a_closed_input_stays_closed(void **state) {
        KeepWorld *w = *state;
        KeepPlan plan = {.argv = {"sh", "-c", "cat; head -c 1000 /dev/zero >&2; sleep 1000"},
                         .has_input = true};

        keep_start(w, &plan);
        assert_int_equal(keep_ask(w, KEEP_ASK_CLOSE_INPUT), 0);
        KEEP_EVENTUALLY(keep_length(w, 1) == 1000);
        keep_stop(w);
        keep_start(w, &(KeepPlan){0});
        assert_int_equal(keep_ask(w, KEEP_ASK_CLOSE_INPUT), 0);
        assert_int_equal(w->book->state, HOSTED_RUNNING);
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                keep_test(test_a_program_that_is_faster_than_its_keeper_waits),
                keep_test(test_the_streams_do_not_wait_for_each_other),
                keep_test(test_killed_daemons),
                keep_test(test_a_program_that_fills_the_ring_while_no_daemon_runs),
                keep_test(test_a_program_that_closes_its_output_and_lives),
                keep_test(test_an_end_while_no_daemon_runs),
                keep_test(test_an_end_with_more_than_the_ring_holds),
                keep_test(test_the_end_waits_for_room),
                keep_test(test_forgotten_while_it_waits_for_room),
                keep_test(test_a_killed_shim),
                keep_test(test_a_shim_that_ends_before_it_answers),
                keep_test(test_a_discarded_one_is_found_again),
                keep_test(test_the_last_words_of_a_daemon),
                keep_test(test_input_from_a_file),
                keep_test(test_input_that_cannot_be_opened),
                keep_test(test_close_of_an_input),
                keep_test(test_a_closed_input_stays_closed),
        };

        if (argc > 1 && (!strcmp(argv[1], "print") || !strcmp(argv[1], "live")))
                program_main(argv);
        return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* What comes from outside the thread: signals, ends of children, finished work, posts. */
#include "base/loop/test-loop-fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- signals --------------------------------------------------------------------------------- */

static void test_signal(void **state) {
        Loop *loop = *state;
        LoopSignal *a, *b;

        assert_int_equal(loop_signal_open(loop, SIGUSR1, on_note, "a", &a), 0);
        assert_int_equal(loop_signal_open(loop, SIGUSR1, on_note, "b", &b), 0);
        raise(SIGUSR1);
        assert_ran(""); /* not from the signal handler */
        loop_turn(loop);
        assert_int_equal(n_trail, 2);
        assert_true(strchr(trail, 'a') && strchr(trail, 'b'));
        n_trail = 0;
        assert_null(loop_signal_close(a));
        raise(SIGUSR1);
        loop_turn(loop);
        assert_ran("b");
        raise(SIGUSR1);
        assert_null(loop_signal_close(b)); /* on its way: never told */
        loop_turn(loop);
        loop_turn(loop);
        assert_ran("");
        assert_null(loop_signal_close(NULL));
        assert_true(loop_signal_open(loop, SIGKILL, on_note, "a", &a) < 0);
}

/* ---- children -------------------------------------------------------------------------------- */

typedef struct Nursery {
        Loop *loop;
        int n_ended, status;
} Nursery;

static void on_child_end(void *user, int status) {
        Nursery *nursery = user;

        nursery->n_ended++;
        nursery->status = status;
        loop_stop(nursery->loop);
}

/* A child that waits for a byte (or the end) of its pipe and then exits. */
static pid_t start_child(int exit_status, int *ret_go) {
        int fds[2];
        char byte;
        pid_t pid;

        assert_int_equal(pipe(fds), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                close(fds[1]);
                _exit(read(fds[0], &byte, 1) < 0 ? 99 : exit_status);
        }
        close(fds[0]);
        *ret_go = fds[1];
        return pid;
}

static void test_child_exit_status(void **state) {
        Nursery nursery = {.loop = *state};
        LoopChild *watch;
        int go;
        pid_t pid = start_child(7, &go);

        assert_int_equal(loop_child_open(nursery.loop, pid, on_child_end, &nursery, &watch), 0);
        loop_turn(nursery.loop);
        assert_int_equal(nursery.n_ended, 0);
        close(go);
        assert_true(run_within(nursery.loop, 60000));
        assert_int_equal(nursery.n_ended, 1);
        assert_true(WIFEXITED(nursery.status));
        assert_int_equal(WEXITSTATUS(nursery.status), 7);
        assert_int_equal(waitpid(pid, NULL, WNOHANG), -1); /* was reaped */
        loop_turn(nursery.loop);
        assert_int_equal(nursery.n_ended, 1);
}

static void test_child_signal_death(void **state) {
        Nursery nursery = {.loop = *state};
        LoopChild *watch;
        int go;
        pid_t pid = start_child(0, &go);

        assert_int_equal(loop_child_open(nursery.loop, pid, on_child_end, &nursery, &watch), 0);
        kill(pid, SIGKILL);
        assert_true(run_within(nursery.loop, 60000));
        assert_true(WIFSIGNALED(nursery.status));
        assert_int_equal(WTERMSIG(nursery.status), SIGKILL);
        close(go);
}

/* One that ended before anybody watched. */
static void test_child_ended_already(void **state) {
        Nursery nursery = {.loop = *state};
        LoopChild *watch;
        siginfo_t info;
        int go;
        pid_t pid = start_child(3, &go);

        close(go);
        assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
        assert_int_equal(loop_child_open(nursery.loop, pid, on_child_end, &nursery, &watch), 0);
        loop_turn(nursery.loop);
        assert_int_equal(nursery.n_ended, 1);
        assert_int_equal(WEXITSTATUS(nursery.status), 3);
}

static void test_child_closed_before_its_end(void **state) {
        Nursery nursery = {.loop = *state};
        LoopChild *watch;
        int go, status;
        pid_t pid = start_child(5, &go);

        assert_int_equal(loop_child_open(nursery.loop, pid, on_child_end, &nursery, &watch), 0);
        assert_null(loop_child_close(watch));
        assert_null(loop_child_close(NULL));
        close(go);
        assert_int_equal(waitpid(pid, &status, 0), pid); /* neither signalled nor reaped by us */
        assert_int_equal(WEXITSTATUS(status), 5);
        loop_turn(nursery.loop);
        assert_int_equal(nursery.n_ended, 0);
        assert_int_equal(loop_child_open(nursery.loop, pid, on_child_end, &nursery, &watch), -ESRCH);
}

static void test_child_released_is_reaped(void **state) {
        Nursery nursery = {.loop = *state};
        LoopChild *watches[3];
        siginfo_t info;
        pid_t pids[3];
        int go[3];

        for (int i = 0; i < 3; i++) {
                pids[i] = start_child(i, &go[i]);
                assert_int_equal(loop_child_open(nursery.loop, pids[i], on_child_end, &nursery, &watches[i]),
                                 0);
                assert_null(loop_child_release(watches[i]));
        }
        assert_null(loop_child_release(NULL));
        for (int i = 2; i > 0; i--) { /* the later ones hold the pipes of the earlier ones */
                close(go[i]);
                assert_int_equal(waitid(P_PID, (id_t)pids[i], &info, WEXITED | WNOWAIT), 0);
                loop_turn(nursery.loop);
                assert_int_equal(waitid(P_PID, (id_t)pids[i], &info, WEXITED | WNOHANG), -1);
                assert_int_equal(errno, ECHILD);
        }
        assert_int_equal(nursery.n_ended, 0);
        close(go[0]); /* of the first one the loop lets go at its own end */
        assert_int_equal(waitpid(pids[0], NULL, 0), pids[0]);
}

/* ---- workers --------------------------------------------------------------------------------- */

enum { N_JOBS = 60 };

typedef struct Job {
        Loop *loop;
        pthread_t ran_on, done_on;
        size_t n_work;
        int *n_left;
        int value;
} Job;

static void job_run(void *user) {
        Job *job = user;

        job->ran_on = pthread_self();
        job->value++;
}

static void job_done(void *user) {
        Job *job = user;

        job->done_on = pthread_self();
        job->n_work = loop_n_work(job->loop);
        job->value += 10;
        if (--*job->n_left == 0)
                loop_stop(job->loop);
}

static void test_work(void **state) {
        Loop *loop = *state;
        Job jobs[N_JOBS];
        int n_left = N_JOBS;

        assert_int_equal(loop_n_work(loop), 0);
        for (int i = 0; i < N_JOBS; i++) {
                jobs[i] = (Job){.loop = loop, .n_left = &n_left};
                assert_int_equal(loop_work(loop, job_run, job_done, &jobs[i]), 0);
        }
        assert_int_equal(loop_n_work(loop), N_JOBS);
        assert_true(run_within(loop, 60000));
        assert_int_equal(loop_n_work(loop), 0);
        for (int i = 0; i < N_JOBS; i++) {
                assert_int_equal(jobs[i].value, 11); /* both, once, in this order */
                assert_false(pthread_equal(jobs[i].ran_on, pthread_self()));
                assert_true(pthread_equal(jobs[i].done_on, pthread_self()));
                assert_true(jobs[i].n_work < N_JOBS); /* its own is not counted any more */
        }
}

/* Jobs that wait for somebody until the gate is opened; with pipes, so that nothing of it is measured. */
typedef struct SlowJob {
        Loop *loop;
        int gate;
        int *n_left;
} SlowJob;

static void slow_run(void *user) {
        char byte;

        assert_int_equal(read(((SlowJob *)user)->gate, &byte, 1), 0); /* the end of the stream */
}

static void slow_done(void *user) {
        SlowJob *job = user;

        note('s');
        if (--*job->n_left == 0)
                loop_stop(job->loop);
}

static void nothing_run(_unused_ void *user) {}

static void stop_done(void *user) {
        note('q');
        loop_stop(user);
}

/* However many wait for a name or a process, or compute: what only wants the disk gets its turn. */
static void test_slow_work_leaves_room(void **state) {
        Loop *loop = *state;
        int gate[2], n_left = 12;
        SlowJob job = {.loop = loop, .n_left = &n_left};

        assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
        job.gate = gate[0];
        for (int i = 0; i < 6; i++) {
                assert_int_equal(loop_work_slow(loop, slow_run, slow_done, &job), 0);
                assert_int_equal(loop_work_heavy(loop, slow_run, slow_done, &job), 0);
        }
        assert_int_equal(loop_n_work(loop), 12);
        assert_int_equal(loop_work(loop, nothing_run, stop_done, loop), 0);
        if (!run_within(loop, 60000))
                fail_msg("slow and heavy work take all threads");
        assert_ran("q");
        close(gate[1]);
        assert_true(run_within(loop, 60000));
        assert_ran("ssssssssssss");
        assert_int_equal(loop_n_work(loop), 0);
        close(gate[0]);
}

/* ---- posts ----------------------------------------------------------------------------------- */

enum { N_POSTERS = 6, N_POSTS = 3000 };

typedef struct Poster {
        Loop *loop;
        pthread_t thread;
        int n_seen;
        int *n_left;
        struct Letter {
                struct Poster *poster;
                int number;
        } letters[N_POSTS];
} Poster;

static void on_letter(void *user) {
        struct Letter *letter = user;
        Poster *poster = letter->poster;

        assert_int_equal(letter->number, poster->n_seen);
        poster->n_seen++;
        if (--*poster->n_left == 0)
                loop_stop(poster->loop);
}

static void *post_letters(void *user) {
        Poster *poster = user;

        for (int i = 0; i < N_POSTS; i++) {
                poster->letters[i] = (struct Letter){.poster = poster, .number = i};
                if (loop_post(poster->loop, on_letter, &poster->letters[i]))
                        abort();
        }
        return NULL;
}

static void test_post_from_many_threads(void **state) {
        Loop *loop = *state;
        Poster *posters = calloc(N_POSTERS, sizeof(*posters));
        int n_left = N_POSTERS * N_POSTS;

        for (int i = 0; i < N_POSTERS; i++) {
                posters[i].loop = loop;
                posters[i].n_left = &n_left;
                assert_int_equal(pthread_create(&posters[i].thread, NULL, post_letters, &posters[i]), 0);
        }
        assert_true(run_within(loop, 60000));
        for (int i = 0; i < N_POSTERS; i++) {
                pthread_join(posters[i].thread, NULL);
                assert_int_equal(posters[i].n_seen, N_POSTS);
        }
        loop_turn(loop);
        assert_int_equal(n_left, 0);
        free(posters);
}

static Loop *posting_loop;

static void post_another(void *user) {
        note('1');
        assert_int_equal(loop_post(posting_loop, on_note, user), 0);
}

static void test_post_from_a_post(void **state) {
        posting_loop = *state;
        assert_int_equal(loop_post(*state, post_another, "2"), 0);
        loop_turn(*state);
        loop_turn(*state);
        assert_ran("12");
}

static void test_posts_are_not_lost_at_the_end(void **state) {
        Loop *loop;

        (void)state;
        assert_int_equal(loop_new(&loop, NULL), 0);
        assert_int_equal(loop_post(loop, on_note, "a"), 0);
        assert_int_equal(loop_post(loop, on_note, "b"), 0);
        loop_free(loop);
        assert_ran("ab");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                loop_test(test_signal),
                loop_test(test_child_exit_status),
                loop_test(test_child_signal_death),
                loop_test(test_child_ended_already),
                loop_test(test_child_closed_before_its_end),
                loop_test(test_child_released_is_reaped),
                loop_test(test_work),
                loop_test(test_slow_work_leaves_room),
                loop_test(test_post_from_many_threads),
                loop_test(test_post_from_a_post),
                loop_test(test_posts_are_not_lost_at_the_end),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

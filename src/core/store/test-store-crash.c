/* SPDX-License-Identifier: MIT */
/*
 * kill -9 at every step of a change, and under 16 writers: at a step that is drawn, and now and then at any instant. In
 * some rounds what was not synced is dropped, as a power loss does: bytes of lines, new documents, renames; in others
 * another program appends to the same file. Whatever is left, a recovery gives the old state or the new one, and the
 * new one if it was answered; what the other program wrote stays. 500 rounds, or STORE_CRASH_ROUNDS of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/store/test-store-fixture.h"

enum {
        ROUNDS = 500,
        INSTANT_US = 30 * 1000,
        STEPS = 700,
        FLIGHT = 16,
        RUNS = 3,
        ENOUGH = 1500,
        OF_OTHERS = 16
};

static uint32_t seed;

/* ---- every step ---- */

static int n_steps, die_at;

static void on_step(const char *what) {
        (void)what;
        if (n_steps++ == die_at)
                _exit(9);
}

static void fill(Fixture *f) {
        char room[512];
        Try try;

        put(f, "old.yaml", STR("old\n"));
        put(f, "gone.yaml", STR("gone\n"));
        put(f, "docs/there.yaml", STR("there\n"));
        assert_int_equal(fixture_open(f), 0);
        try_init(&try, f);
        assert_int_equal(
                store_change_event(&try.change, "runs/r0/events.jsonl", STR("x"), body_of(room, "r0", 0)),
                0);
        assert_int_equal(store_change_append(&try.change, "lines", STR("one\n")), 0);
        assert_int_equal(store_change_grow(&try.change, "bytes", 0, STR("no")), 0);
        assert_int_equal(try_commit(&try, f), 0);
        fixture_close(f);
}

enum { N_LARGE = STORE_RECORD_MAX + 4096 }; /* more than the journal takes */

static void build(Try *try, Fixture *f, bool is_large) {
        static char large[N_LARGE];
        char room[512];

        try_init(try, f);
        memset(large, 'l', sizeof(large));
        (void)store_change_mkdir(&try->change, "runs/r1/outputs");
        (void)store_change_create(&try->change, "docs/new.yaml",
                                  is_large ? (Str){large, sizeof(large)} : STR("new\n"));
        (void)store_change_replace(&try->change, "old.yaml", STR("newer\n"), NULL);
        (void)store_change_remove(&try->change, "gone.yaml", NULL);
        (void)store_change_append(&try->change, "lines", STR("two\n"));
        (void)store_change_grow(&try->change, "bytes", 2, STR(" newline"));
        (void)store_change_event(&try->change, "runs/r0/events.jsonl", STR("x"), body_of(room, "r0", 1));
        (void)store_change_event(&try->change, "runs/r1/events.jsonl", STR("x"), body_of(room, "r1", 2));
        (void)store_change_event(&try->change, "runs/r1/events.jsonl", STR("x"), body_of(room, "r1", 3));
        store_change_make_ahead(&try->change); /* a large one is made by the commit */
}

/* 0: it was answered. 9: it died on the way. */
static int run_child(const char *dir, int step, bool is_large) {
        pid_t pid = fork();
        int status;

        if (pid == 0) {
                Fixture f = {.root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), .step = on_step};
                Try try;

                snprintf(f.dir, sizeof(f.dir), "%s", dir);
                n_steps = 0;
                die_at = step;
                if (loop_new(&f.loop, NULL) || fixture_open(&f))
                        _exit(1);
                build(&try, &f, is_large);
                _exit(try_commit(&try, &f) ? 2 : 0);
        }
        assert_true(pid > 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 9));
        return WEXITSTATUS(status);
}

/* "old", "new", or what is neither. */
static const char *state_of(Fixture *f, bool is_large) {
        static const char *const paths[] = {"docs/new.yaml", "old.yaml", "gone.yaml", "lines", "bytes"};
        static const char *const old[] = {"(none)", "old\n", "gone\n", "one\n", "no"};
        const char *new[] = {"new\n", "newer\n", "(none)", "one\ntwo\n", "no newline"};
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        TrailReport r0 = trail_report(f, "runs/r0/events.jsonl"),
                    r1 = trail_report(f, "runs/r1/events.jsonl");
        unsigned n_old = 0, n_new = 0;

        for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
                get(f, paths[i], &text);
                n_old += str_is(buf_str(&text), old[i]);
                n_new += i == 0 && is_large ? text.n == N_LARGE && text.data[7] == 'l'
                                            : str_is(buf_str(&text), new[i]);
        }
        if (r0.n_issues || r0.n_damaged || r1.n_issues || r1.n_damaged || count_temps(f))
                return "damaged";
        if (n_old == ARRAY_SIZE(paths) && r0.n_events == 1 && r1.n_events == 0)
                return "old";
        return n_new == ARRAY_SIZE(paths) && r0.n_events == 2 && r1.n_events == 2 ? "new" : "mixed";
}

/* The files as they were, by their inodes: what a power loss may bring back. */
static void keep_links(Fixture *f, bool is_back) {
        char command[512];

        if (!is_back)
                snprintf(command, sizeof(command), "rm -rf %s.was; cp -al %s %s.was", f->dir, f->dir,
                         f->dir);
        else
                snprintf(command, sizeof(command), "rm -rf %s.was", f->dir);
        assert_int_equal(system(command), 0); // NOLINT(cert-env33-c)
}

static void lose_rename(Fixture *f, const char *path) {
        char was[256], now[256];

        snprintf(was, sizeof(was), "%s.was/%s", f->dir, path);
        snprintf(now, sizeof(now), "%s/%s", f->dir, path);
        (void)unlink(now);
        if (access(was, F_OK) == 0)
                assert_int_equal(link(was, now), 0);
}

static void lose_bytes(Fixture *f, const char *path, off_t n_safe, bool is_zeroed) {
        _cleanup_(closep) int fd = openat(f->root, path, O_RDWR | O_CLOEXEC);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0 || st.st_size <= n_safe)
                return;
        assert_int_equal(
                ftruncate(fd, n_safe + (off_t)(next_random(&seed) % (uint64_t)(st.st_size - n_safe))), 0);
        if (is_zeroed)
                assert_int_equal(ftruncate(fd, st.st_size), 0);
}

/* Everything but the journal, each file in its own way. */
static void lose_power(Fixture *f, off_t n_lines, off_t n_r0) {
        lose_bytes(f, "lines", n_lines, next_random(&seed) % 2);
        lose_bytes(f, "runs/r0/events.jsonl", n_r0, next_random(&seed) % 2);
        if (next_random(&seed) % 2)
                lose_bytes(f, "runs/r1/events.jsonl", 0, next_random(&seed) % 2);
        else
                lose_rename(f, "runs/r1/events.jsonl");
        if (next_random(&seed) % 2)
                lose_rename(f, "old.yaml");
        if (next_random(&seed) % 2)
                lose_rename(f, "gone.yaml");
        if (next_random(&seed) % 2)
                lose_rename(f, "docs/new.yaml");
        else
                lose_bytes(f, "docs/new.yaml", 0, next_random(&seed) % 2);
        if (next_random(&seed) % 4 == 0)
                (void)unlinkat(f->root, "runs/r1/outputs", AT_REMOVEDIR);
}

static off_t size_of(Fixture *f, const char *path) {
        struct stat st;

        return fstatat(f->root, path, &st, 0) == 0 ? st.st_size : 0;
}

static void clear(Fixture *f) {
        char command[256];

        snprintf(command, sizeof(command), "rm -rf %s/* %s/.local", f->dir, f->dir);
        assert_int_equal(system(command), 0); // NOLINT(cert-env33-c)
}

static bool one_death(Fixture *f, int step, bool is_large, bool is_power) {
        off_t n_lines, n_r0;
        const char *state;
        int status;

        clear(f);
        fill(f);
        n_lines = size_of(f, "lines");
        n_r0 = size_of(f, "runs/r0/events.jsonl");
        keep_links(f, false);
        status = run_child(f->dir, step, is_large);
        if (is_power && !(is_large && status == 0)) /* what was staged is synced before it is answered */
                lose_power(f, n_lines, n_r0);
        for (int i = 0; i < 2; i++) { /* a second time changes nothing */
                assert_int_equal(fixture_open(f), 0);
                fixture_close(f);
                assert_false(has_file(f, STORE_LOCKS "/" STORE_LOCK)); /* nobody waits for who is dead */
                state = state_of(f, is_large);
                if (strcmp(state, "new") != 0 && (status == 0 || strcmp(state, "old") != 0))
                        print_message("step %d large %d power %d: %s\n", step, is_large, is_power, state);
                assert_string_equal(state, status == 0 || strcmp(state, "new") == 0 ? "new" : "old");
        }
        keep_links(f, true);
        return status == 9;
}

static void test_every_step(void **state) {
        Fixture *f = *state;

        for (int kind = 0; kind < 4; kind++) {
                int step = 0;

                while (one_death(f, step, kind & 1, kind & 2))
                        step++;
                print_message("%d steps\n", step);
                assert_true(step > 12);
        }
}

/* A record that came to the disk in part is none; one of a folder that this is a copy of is left alone. */
static void test_torn_and_foreign(void **state) {
        _cleanup_(buf_deinit) Buf journal = BUF_NULL;
        Fixture *f = *state;
        JournalHead head;

        for (int i = 0; i < 3; i++) {
                clear(f);
                fill(f);
                (void)run_child(f->dir, 6, false); /* the record is there, not all of the files */
                get(f, STORE_STATE "/journal", &journal);
                assert_true(journal_head(buf_str(&journal), &head));
                if (i == 0)
                        journal.data[sizeof(head) + sizeof(JournalMark) + 100] ^= 1;
                if (i == 1) {
                        head.words[1]++;
                        head.sum = journal_head_sum(&head);
                        memcpy(journal.data, &head, sizeof(head));
                }
                put(f, STORE_STATE "/journal", buf_str(&journal));
                assert_int_equal(fixture_open(f), 0);
                assert_int_equal(has_file(f, "docs/new.yaml"), i == 2);
                assert_int_equal(store_stats(f->store).n_restored > 0, i == 2);
                fixture_close(f);
        }
}

/* What others wrote between the crash and the recovery stays; ours comes behind it, or is kept aside. */
static void test_others_in_between(void **state) {
        Fixture *f = *state;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        TrailReport report;
        int fd;

        fill(f);
        (void)run_child(f->dir, 6, false);
        put(f, "old.yaml", STR("of another\n"));
        fd = openat(f->root, "runs/r0/events.jsonl", O_WRONLY | O_APPEND | O_CLOEXEC);
        assert_true(write(fd, "{\"type\":\"foreign\"}\n{\"torn", 25) == 25);
        close(fd);
        assert_int_equal(fixture_open(f), 0);
        assert_int_equal(store_stats(f->store).n_aside, 1);
        fixture_close(f);
        assert_file(f, "old.yaml", "of another\n");
        assert_file(f, "docs/new.yaml", "new\n");
        report = trail_report(f, "runs/r0/events.jsonl");
        assert_int_equal(report.n_events, 3);
        assert_int_equal(report.n_damaged, 1);
        assert_int_equal(report.first.seq, 2); /* only the foreign one is no event */
        assert_int_equal(report.first.fault, TRAIL_MISSING_KEY);
}

/* ---- many writers ---- */

typedef struct Writer {
        Try try;
        unsigned number;
} Writer;

static unsigned next_number;
static Fixture child;

static void write_one(Writer *writer);

static void on_written(StoreChange *change, int r) {
        Writer *writer = container_of(change, Writer, try.change);
        uint32_t number = writer->number;

        if (r)
                print_error("change %u: %s\n", number, strerror(-r));
        if (r || write(STDOUT_FILENO, &number, sizeof(number)) != sizeof(number))
                _exit(3);
        write_one(writer);
}

/* A document of its own, one that all of them replace, a line and an event. */
static void write_one(Writer *writer) {
        char room[512], path[64], run[8], text[32];
        unsigned n = writer->number = next_number++;

        store_change_init(&writer->try.change, child.store, on_written);
        snprintf(path, sizeof(path), "docs/%u/d%u", n / 100, n);
        snprintf(text, sizeof(text), "%u\n", n);
        snprintf(run, sizeof(run), "r%u", n % RUNS);
        (void)store_change_create(&writer->try.change, path, str_from(text));
        (void)store_change_replace(&writer->try.change, "last", str_from(text), NULL);
        (void)store_change_append(&writer->try.change, "lines", str_from(text));
        snprintf(path, sizeof(path), "runs/%s/events.jsonl", run);
        (void)store_change_event(&writer->try.change, path, STR("x"), body_of(room, run, n));
        if (n % 2)
                store_change_make_ahead(&writer->try.change);
        if (store_change_commit(&writer->try.change))
                _exit(4);
}

static int run_writers(const char *dir, unsigned first, int step) {
        static Writer writers[FLIGHT];

        die_at = step;
        child.step = on_step;
        child.root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        snprintf(child.dir, sizeof(child.dir), "%s", dir);
        if (loop_new(&child.loop, NULL) || fixture_open(&child))
                return 1;
        next_number = first;
        for (size_t i = 0; i < FLIGHT; i++)
                write_one(&writers[i]);
        return loop_run(child.loop);
}

/* What the journal answers for may be lost in the files. */
static int lose_step(void *user, uint64_t tag, Str bytes) {
        Fixture *f = user;
        size_t at = sizeof(RecordHead);
        Step step;

        while (tag == RECORD_INLINE && step_next(bytes, &at, &step)) {
                if (step.head.kind == STEP_APPEND || step.head.kind == STEP_EVENT)
                        lose_bytes(f, step.path, (off_t)step.head.at, next_random(&seed) % 2);
                else if (next_random(&seed) % 2 && step.head.kind == STEP_CREATE)
                        (void)unlinkat(f->root, step.path, 0);
                else if (next_random(&seed) % 4 == 0)
                        lose_bytes(f, step.path, 0, next_random(&seed) % 2);
        }
        return 0;
}

static bool lose_all(Fixture *f) {
        _cleanup_(buf_deinit) Buf journal = BUF_NULL;
        JournalHead head;

        get(f, STORE_STATE "/journal", &journal);
        if (!journal_head(buf_str(&journal), &head))
                return false;
        assert_int_equal(journal_replay(buf_str(&journal), &head, STORE_JOURNAL_SIZE, lose_step, f), 0);
        return true;
}

static unsigned count_of(const Buf *text, const char *word) {
        const size_t n_word = strlen(word);
        const char *at = text->data, *end = text->data + text->n;
        unsigned n = 0;

        while (at < end && (at = memmem(at, (size_t)(end - at), word, n_word))) {
                at += n_word - 1; /* two lines share a newline */
                n++;
        }
        return n;
}

static void check_number(Fixture *f, const Buf *lines, const Buf *events, unsigned n, bool is_acked) {
        char path[64], line[32], event[48];
        bool has_doc, has_line, has_event;

        snprintf(path, sizeof(path), "docs/%u/d%u", n / 100, n);
        snprintf(line, sizeof(line), "\n%u\n", n);
        snprintf(event, sizeof(event), "\"evt_%u\"", n);
        has_doc = has_file(f, path);
        has_line = count_of(lines, line) == 1;
        has_event = count_of(events, event) == 1;
        if (has_doc != has_line || has_line != has_event || (is_acked && !has_doc))
                print_message("%u: doc %d line %d event %d acked %d\n", n, has_doc, has_line, has_event,
                              is_acked);
        assert_true(has_doc == has_line && has_line == has_event);
        assert_true(has_doc || !is_acked);
}

/* ---- another program beside them ---- */

static struct Other {
        pthread_t thread;
        int root;
        atomic_bool is_over;
        unsigned n_written; /* in the folder as it is now */
} other;

static void *other_write(_unused_ void *user) {
        char line[64];

        while (!other.is_over) {
                _cleanup_(closep) int fd =
                        openat(other.root, "runs/r0/events.jsonl", O_WRONLY | O_APPEND | O_CLOEXEC);
                int n = snprintf(line, sizeof(line), "{\"type\":\"foreign\",\"n\":%u}\n", other.n_written);

                if (fd >= 0 && write(fd, line, (size_t)n) == n)
                        other.n_written++;
                usleep(300);
        }
        return NULL;
}

static void other_start(const Fixture *f) {
        other.root = f->root;
        other.is_over = false;
        assert_int_equal(pthread_create(&other.thread, NULL, other_write, NULL), 0);
}

static void other_stop(void) {
        other.is_over = true;
        pthread_join(other.thread, NULL);
}

/* What a verification has against their lines: all that they lack, and that they and ours do not follow each other. Where
   they came first, into a file that was just made, our first line follows nobody, as it says. */
static unsigned issues_of_others(const Buf *events, unsigned *n_all) {
        const char *line = events->data, *end = events->data + events->n;
        bool was_foreign = false, has_ours = false;
        unsigned n = 0;

        while (line < end) {
                const char *next = memchr(line, '\n', (size_t)(end - line));
                const size_t n_line = next ? (size_t)(next - line) : (size_t)(end - line);
                const bool is_foreign = memmem(line, n_line, "\"foreign\"", 9) != NULL;

                n += (is_foreign ? OF_OTHERS : 0) + (has_ours && is_foreign != was_foreign);
                has_ours |= !is_foreign;
                *n_all += is_foreign;
                was_foreign = is_foreign;
                line += n_line + 1;
        }
        return n;
}

/* ---- rounds ---- */

/* All that was answered is there, and of everything else all or nothing. Returns the first number that is free. */
static unsigned check_round(Fixture *f, const bool *acked, unsigned first, unsigned end) {
        unsigned n_foreign = 0;
        _cleanup_(buf_deinit) Buf lines = BUF_NULL, text = BUF_NULL;

        get(f, "lines", &text);
        assert_int_equal(buf_printf(&lines, "\n"), 0);
        assert_int_equal(buf_append_str(&lines, buf_str(&text)), 0);
        for (unsigned run = 0; run < RUNS; run++) {
                _cleanup_(buf_deinit) Buf events = BUF_NULL;
                char path[64];
                TrailReport report;

                snprintf(path, sizeof(path), "runs/r%u/events.jsonl", run);
                report = trail_report(f, path);
                get(f, path, &events);
                assert_int_equal(report.n_damaged, 0);
                assert_int_equal(report.n_issues, issues_of_others(&events, &n_foreign));
                for (unsigned n = first; n < end; n++)
                        if (n % RUNS == run)
                                check_number(f, &lines, &events, n, acked[n]);
        }
        assert_int_equal(n_foreign, other.n_written);
        assert_int_equal(count_temps(f), 0);
        return end;
}

/* Returns the end of the pipe that says what was answered. It ends at a step, or with -1 when it is killed. */
static pid_t start_writers(const Fixture *f, unsigned first, int step, int *ret) {
        char number[16], at[16];
        int out[2];
        pid_t pid;

        assert_int_equal(pipe2(out, O_CLOEXEC), 0);
        fcntl(out[1], F_SETPIPE_SZ, 1 << 20);
        snprintf(number, sizeof(number), "%u", first);
        snprintf(at, sizeof(at), "%d", step);
        pid = fork();
        if (pid == 0) {
                dup2(out[1], STDOUT_FILENO);
                execl("/proc/self/exe", "test-store-crash", f->dir, number, at, (char *)NULL);
                _exit(127);
        }
        close(out[1]);
        *ret = out[0];
        return pid;
}

static void end_writers(pid_t pid, int step) {
        int status;

        if (step < 0) {
                usleep(2000 + next_random(&seed) % INSTANT_US);
                kill(pid, SIGKILL);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (step >= 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == 9))
                print_message("step %d: status %d\n", step, status);
        assert_true(step < 0 ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 9);
}

static unsigned one_round(Fixture *f, unsigned first, unsigned *n_acked, unsigned *n_restored) {
        static bool acked[1 << 16];
        const bool has_other = next_random(&seed) % 4 == 0;
        const int step = next_random(&seed) % 20 == 0 ? -1 : (int)(next_random(&seed) % STEPS);
        uint32_t ack;
        unsigned end = first + FLIGHT;
        int out;
        pid_t pid;

        if (has_other)
                other_start(f);
        pid = start_writers(f, first, step, &out);
        end_writers(pid, step);
        if (has_other)
                other_stop();
        memset(acked, 0, sizeof(acked));
        while (read(out, &ack, sizeof(ack)) == sizeof(ack)) {
                assert_true(ack < ARRAY_SIZE(acked));
                acked[ack] = true;
                end = MAX(end, ack + 1 + FLIGHT);
                (*n_acked)++;
        }
        close(out);
        if (!other.n_written && next_random(&seed) % 2) /* lines of others are not ours to put back */
                (void)lose_all(f);
        assert_int_equal(fixture_open(f), 0);
        *n_restored += store_stats(f->store).n_restored > 0;
        assert_int_equal(store_stats(f->store).n_aside, 0);
        fixture_close(f);
        return check_round(f, acked, first, end);
}

static void test_many_writers(void **state) {
        const char *text = getenv("STORE_CRASH_ROUNDS");
        const unsigned rounds = text ? (unsigned)strtoul(text, NULL, 10) : ROUNDS;
        unsigned n_acked = 0, n_restored = 0, first = 0;
        Fixture *f = *state;

        for (unsigned n = 0; n < rounds; n++) {
                first = one_round(f, first, &n_acked, &n_restored);
                if (first > ENOUGH) {
                        clear(f);
                        first = other.n_written = 0;
                }
        }
        print_message("%u changes answered, %u rounds, %u of them had something to put back\n", n_acked,
                      rounds, n_restored);
        assert_true(n_acked > 0);
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                store_test(test_every_step),
                store_test(test_torn_and_foreign),
                store_test(test_others_in_between),
                store_test(test_many_writers),
        };

        if (argc == 4)
                return run_writers(argv[1], (unsigned)strtoul(argv[2], NULL, 10),
                                   atoi(argv[3])); /* NOLINT: ours */
        seed = (uint32_t)time(NULL) ^ (uint32_t)getpid();
        print_message("seed %u\n", seed);
        return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Changes that are kept together, with other programs in the same folder. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/store/test-store-fixture.h"

static FileIdentity identity_of(Fixture *f, const char *path) {
        _cleanup_(closep) int fd = openat(f->root, path, O_RDONLY | O_CLOEXEC);
        FileIdentity identity;

        assert_int_equal(file_identify_fd(fd, &identity), 0);
        return identity;
}

static void add_event(Try *try, const char *run, unsigned number) {
        char room[512], path[128];

        snprintf(path, sizeof(path), "runs/%s/events.jsonl", run);
        assert_int_equal(store_change_event(&try->change, path, STR("x"), body_of(room, run, number)), 0);
}

static void test_all_kinds(void **state) {
        FileIdentity identity;
        Fixture *f = *state;
        Try try;

        put(f, "old.yaml", STR("old\n"));
        put(f, "gone.yaml", STR("gone\n"));
        identity = identity_of(f, "old.yaml");
        assert_int_equal(fixture_open(f), 0);
        assert_false(has_file(f, ".local")); /* opening makes nothing */
        try_init(&try, f);
        assert_true(store_change_is_empty(&try.change));
        assert_int_equal(store_change_mkdir(&try.change, "runs/r1/outputs"), 0);
        assert_int_equal(store_change_create(&try.change, "docs/new.yaml", STR("new\n")), 0);
        assert_int_equal(store_change_replace(&try.change, "old.yaml", STR("newer\n"), &identity), 0);
        assert_int_equal(store_change_remove(&try.change, "gone.yaml", NULL), 0);
        assert_int_equal(store_change_append(&try.change, "c/messages.jsonl", STR("{}\n")), 0);
        add_event(&try, "r1", 1);
        add_event(&try, "r1", 2);
        assert_int_equal(try_commit(&try, f), 0);
        assert_file(f, "docs/new.yaml", "new\n");
        assert_file(f, "old.yaml", "newer\n");
        assert_file(f, "gone.yaml", "(none)");
        assert_file(f, "c/messages.jsonl", "{}\n");
        assert_true(has_file(f, "runs/r1/outputs"));
        assert_string_equal(buf_cstr(&f->told), "x 1;x 2;");
        assert_int_equal(trail_report(f, "runs/r1/events.jsonl").n_issues, 0);
        assert_int_equal(trail_report(f, "runs/r1/events.jsonl").n_events, 2);
        assert_false(has_file(f, ".local/locks/workspace.write.lock"));
        assert_int_equal(store_stats(f->store).n_syncs, 1);
        assert_int_equal(count_temps(f), 0);
}

/* Two that were made from one state: the second is told, whether it comes in the same group or later. */
static void test_stale(void **state) {
        Fixture *f = *state;
        FileIdentity identity;
        Try tries[3];

        put(f, "doc", STR("0"));
        identity = identity_of(f, "doc");
        assert_int_equal(fixture_open(f), 0);
        for (int i = 0; i < 3; i++) {
                try_init(&tries[i], f);
                assert_int_equal(
                        store_change_replace(&tries[i].change, "doc", (Str){"abc" + i, 1}, &identity), 0);
                add_event(&tries[i], "r", (unsigned)i);
        }
        try_start(&tries[0]);
        try_start(&tries[1]);
        fixture_wait(f, &tries[0].is_done);
        fixture_wait(f, &tries[1].is_done);
        assert_int_equal(tries[0].r, 0);
        assert_int_equal(tries[1].r, -ESTALE);
        assert_int_equal(try_commit(&tries[2], f), -ESTALE);
        assert_file(f, "doc", "a");
        assert_int_equal(trail_report(f, "r/none").n_events, 0);
        assert_int_equal(trail_report(f, "runs/r/events.jsonl").n_events, 1);
        try_init(&tries[0], f);
        assert_int_equal(store_change_create(&tries[0].change, "doc", STR("z")), 0);
        assert_int_equal(try_commit(&tries[0], f), -ESTALE);
        try_init(&tries[0], f);
        assert_int_equal(store_change_expect(&tries[0].change, "doc", &identity), 0);
        assert_int_equal(store_change_create(&tries[0].change, "other", STR("z")), 0);
        assert_int_equal(try_commit(&tries[0], f), -ESTALE);
        assert_false(has_file(f, "other"));
}

static void test_paths(void **state) {
        static const char *const wrong[] = {"../x", "/etc/x", "a/../../x", "", "a//b", "./a", "a/."};
        Fixture *f = *state;
        Try try;

        assert_int_equal(fixture_open(f), 0);
        try_init(&try, f);
        for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
                assert_int_equal(store_change_create(&try.change, wrong[i], STR("x")), -EINVAL);
        store_change_deinit(&try.change);
        put(f, "there/doc", STR("x"));
        assert_int_equal(symlinkat("there", f->root, "way"), 0);
        assert_int_equal(symlinkat("there/doc", f->root, "link"), 0);
        for (int i = 0; i < 3; i++) {
                try_init(&try, f);
                if (i == 0)
                        assert_int_equal(store_change_create(&try.change, "way/new", STR("x")), 0);
                else if (i == 1)
                        assert_int_equal(store_change_replace(&try.change, "link", STR("y"), NULL), 0);
                else
                        assert_int_equal(store_change_append(&try.change, "link", STR("y\n")), 0);
                assert_int_equal(try_commit(&try, f), -ELOOP);
        }
        assert_file(f, "there/doc", "x");
        assert_false(has_file(f, "there/new"));
}

/* Others append without asking, and die in the middle. */
static void test_foreign_lines(void **state) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Fixture *f = *state;
        TrailReport report;
        Try try;

        assert_int_equal(fixture_open(f), 0);
        for (unsigned i = 0; i < 6; i++) {
                try_init(&try, f);
                add_event(&try, "r", i);
                assert_int_equal(try_commit(&try, f), 0);
                if (i % 2) {
                        _cleanup_(closep) int fd =
                                openat(f->root, "runs/r/events.jsonl", O_WRONLY | O_APPEND | O_CLOEXEC);

                        assert_true(write(fd, "{\"torn", 6) == 6);
                }
        }
        report = trail_report(f, "runs/r/events.jsonl");
        assert_int_equal(report.n_events, 6);
        assert_int_equal(report.n_damaged, 3);
        assert_int_equal(report.n_issues, 0);
        assert_string_equal(buf_cstr(&f->told), "x 1;x 2;x 4;x 5;x 7;x 8;");
}

static void put_lock(Fixture *f, pid_t pid, int64_t age_s) {
        char text[64];
        struct timespec times[2] = {{.tv_sec = time(NULL) - age_s}, {.tv_sec = time(NULL) - age_s}};

        snprintf(text, sizeof(text), "{\"pid\":%d,\"acquired_at\":\"2026-01-02T03:04:05.678Z\"}\n",
                 (int)pid);
        put(f, STORE_LOCKS "/" STORE_LOCK, str_from(text));
        assert_int_equal(utimensat(f->root, STORE_LOCKS "/" STORE_LOCK, times, 0), 0);
}

static pid_t dead_pid(void) {
        pid_t pid = fork();

        if (pid == 0)
                _exit(0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        return pid;
}

/* A live one is waited for, lines are not held up by it; a dead one counts for two minutes. */
static void test_lock(void **state) {
        Fixture *f = *state;
        Try doc, line;

        assert_int_equal(fixture_open(f), 0);
        put_lock(f, getpid(), 1000);
        try_init(&doc, f);
        assert_int_equal(store_change_create(&doc.change, "doc", STR("x")), 0);
        try_start(&doc);
        try_init(&line, f);
        assert_int_equal(store_change_append(&line.change, "lines", STR("x\n")), 0);
        assert_int_equal(try_commit(&line, f), 0);
        assert_false(doc.is_done);
        assert_int_equal(unlinkat(f->root, STORE_LOCKS "/" STORE_LOCK, 0), 0);
        fixture_wait(f, &doc.is_done);
        assert_int_equal(doc.r, 0);
        put_lock(f, dead_pid(), 1000);
        try_init(&doc, f);
        assert_int_equal(store_change_create(&doc.change, "doc2", STR("x")), 0);
        assert_int_equal(try_commit(&doc, f), 0);
        assert_false(has_file(f, STORE_LOCKS "/" STORE_LOCK));
        put_lock(f, dead_pid(), 10);
        try_init(&doc, f);
        assert_int_equal(store_change_create(&doc.change, "doc3", STR("x")), 0);
        assert_int_equal(try_commit(&doc, f), -ETIMEDOUT);
        assert_false(has_file(f, "doc3"));
}

static ino_t lock_seen, spare_seen; /* while documents are written */
static int lock_root;

static ino_t ino_of(int root, const char *path) {
        struct stat st;

        return fstatat(root, path, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_ino : 0;
}

static void see_lock(const char *what) {
        if (strcmp(what, "publish") != 0)
                return;
        lock_seen = ino_of(lock_root, STORE_LOCKS "/" STORE_LOCK);
        spare_seen = ino_of(lock_root, STORE_STATE "/" STORE_SPARE);
}

static void create(Fixture *f, const char *path) {
        Try try;

        try_init(&try, f);
        assert_int_equal(store_change_create(&try.change, path, STR("x")), 0);
        assert_int_equal(try_commit(&try, f), 0);
}

/* One file is the lock of all commits: none is made for each. What a daemon that died has left is no lock of ours. */
static void test_lock_is_kept(void **state) {
        Fixture *f = *state;
        ino_t first;

        lock_root = f->root;
        f->step = see_lock;
        assert_int_equal(fixture_open(f), 0);
        create(f, "a");
        first = lock_seen;
        assert_int_not_equal(first, 0);
        assert_int_equal(first, spare_seen);
        create(f, "b");
        assert_int_equal(lock_seen, first);
        assert_false(has_file(f, STORE_LOCKS "/" STORE_LOCK));
        fixture_close(f);
        put_lock(f, dead_pid(), 1000);
        assert_int_equal(unlinkat(f->root, STORE_STATE "/" STORE_SPARE, 0), 0);
        assert_int_equal(
                linkat(f->root, STORE_LOCKS "/" STORE_LOCK, f->root, STORE_STATE "/" STORE_SPARE, 0), 0);
        first = ino_of(f->root, STORE_LOCKS "/" STORE_LOCK);
        assert_int_equal(fixture_open(f), 0);
        create(f, "c");
        assert_int_not_equal(lock_seen, 0);
        assert_int_equal(lock_seen, spare_seen);
        assert_false(has_file(f, STORE_LOCKS "/" STORE_LOCK));
}

/* Lines, a document in their place, lines again: in one group, by descriptors that stay open meanwhile. */
static void test_group_on_one_file(void **state) {
        char room[512];
        Fixture *f = *state;
        Try tries[3], event;

        assert_int_equal(fixture_open(f), 0);
        for (int i = 0; i < 3; i++)
                try_init(&tries[i], f);
        assert_int_equal(store_change_append(&tries[0].change, "d/lines", STR("a\n")), 0);
        assert_int_equal(store_change_replace(&tries[1].change, "d/lines", STR("new\n"), NULL), 0);
        assert_int_equal(store_change_append(&tries[2].change, "d/lines", STR("b\n")), 0);
        for (int i = 0; i < 3; i++)
                try_start(&tries[i]);
        for (int i = 0; i < 3; i++)
                fixture_wait(f, &tries[i].is_done);
        assert_file(f, "d/lines", "new\nb\n");
        assert_int_equal(store_stats(f->store).n_commits, 1);
        for (unsigned i = 0; i < 3; i++) {
                try_init(&event, f);
                assert_int_equal(
                        store_change_event(&event.change, "d/events", STR("x"), body_of(room, "r", i)), 0);
                assert_int_equal(try_commit(&event, f), 0);
        }
        assert_int_equal(trail_report(f, "d/events").n_events, 3);
        assert_int_equal(trail_report(f, "d/events").n_issues, 0);
}

static void test_two_daemons(void **state) {
        Fixture *f = *state, other = *f;
        Try try;

        assert_int_equal(fixture_open(f), 0);
        try_init(&try, f);
        assert_int_equal(store_change_append(&try.change, "lines", STR("1\n")), 0);
        assert_int_equal(try_commit(&try, f), 0);
        other.told = BUF_NULL;
        assert_int_equal(fixture_open(&other), 0); /* it may read */
        try_init(&try, &other);
        assert_int_equal(store_change_append(&try.change, "lines", STR("2\n")), 0);
        assert_int_equal(try_commit(&try, &other), -EWOULDBLOCK);
        assert_int_equal(store_other(other.store), getpid());
        fixture_close(f);
        try_init(&try, &other);
        assert_int_equal(store_change_append(&try.change, "lines", STR("3\n")), 0);
        assert_int_equal(try_commit(&try, &other), 0);
        assert_file(f, "lines", "1\n3\n");
        fixture_close(&other);
}

/* More than the journal takes at once, and more than it takes at all. */
static void test_large(void **state) {
        _cleanup_(buf_deinit) Buf large = BUF_NULL, now = BUF_NULL;
        Fixture *f = *state;
        Try try;

        assert_int_equal(buf_reserve(&large, 6L * 1024 * 1024), 0);
        large.n = 6L * 1024 * 1024;
        memset(large.data, 'x', large.n);
        large.data[large.n - 1] = '\n';
        assert_int_equal(fixture_open(f), 0);
        try_init(&try, f);
        assert_int_equal(store_change_create(&try.change, "large", buf_str(&large)), 0);
        assert_int_equal(store_change_append(&try.change, "lines", buf_str(&large)), 0);
        assert_int_equal(try_commit(&try, f), 0);
        assert_int_equal(store_stats(f->store).n_staged, 1);
        get(f, "large", &now);
        assert_int_equal(now.n, large.n);
        get(f, "lines", &now);
        assert_memory_equal(now.data, large.data, large.n);
        assert_int_equal(count_temps(f), 0);
        for (int i = 0; i < 60; i++) { /* round and round in the journal */
                try_init(&try, f);
                assert_int_equal(
                        store_change_replace(&try.change, "doc", (Str){large.data, 100L * 1024}, NULL), 0);
                assert_int_equal(try_commit(&try, f), 0);
        }
}

/* One of a group cannot be written: nothing of it is seen, its neighbours are kept, the chain is whole. */
static void test_no_space(void **state) {
        struct rlimit all, some = {.rlim_cur = 8L * 1024 * 1024, .rlim_max = RLIM_INFINITY};
        _cleanup_(closep) int fd = -1;
        Fixture *f = *state;
        Try tries[3];

        signal(SIGXFSZ, SIG_IGN);
        put(f, "full/lines", STR(""));
        put(f, "doc", STR("old"));
        fd = openat(f->root, "full/lines", O_RDWR | O_CLOEXEC);
        assert_int_equal(ftruncate(fd, 8L * 1024 * 1024 - 3), 0);
        assert_true(pwrite(fd, "\n", 1, 8L * 1024 * 1024 - 4) == 1);
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
        some.rlim_max = all.rlim_max;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &some), 0);
        assert_int_equal(fixture_open(f), 0);
        for (unsigned i = 0; i < 3; i++) {
                try_init(&tries[i], f);
                add_event(&tries[i], "r", i);
                if (i == 1) {
                        assert_int_equal(store_change_replace(&tries[i].change, "doc", STR("new"), NULL), 0);
                        assert_int_equal(store_change_create(&tries[i].change, "a/b/made", STR("new")), 0);
                        assert_int_equal(
                                store_change_append(&tries[i].change, "full/lines", STR("too long\n")), 0);
                }
                try_start(&tries[i]);
        }
        for (unsigned i = 0; i < 3; i++)
                fixture_wait(f, &tries[i].is_done);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
        assert_int_equal(tries[0].r, 0);
        assert_int_equal(tries[1].r, -EFBIG);
        assert_int_equal(tries[2].r, 0);
        assert_file(f, "doc", "old");
        assert_false(has_file(f, "a"));
        assert_int_equal(trail_report(f, "runs/r/events.jsonl").n_events, 2);
        assert_int_equal(trail_report(f, "runs/r/events.jsonl").n_issues, 0);
        assert_int_equal(lseek(fd, 0, SEEK_END), 8L * 1024 * 1024 - 3);
        assert_int_equal(store_stats(f->store).n_void, 2); /* the one behind was tried again */
        assert_int_equal(count_temps(f), 0);
}

/* A folder that only may be read is served; what is written to it fails, and says why. */
static void test_read_only(void **state) {
        Fixture *f = *state;
        Try try;

        if (geteuid() == 0)
                skip();
        assert_int_equal(fchmod(f->root, 0500), 0);
        assert_int_equal(fixture_open(f), 0);
        try_init(&try, f);
        assert_int_equal(store_change_append(&try.change, "lines", STR("x\n")), 0);
        assert_int_equal(try_commit(&try, f), -EACCES);
        assert_int_equal(fchmod(f->root, 0700), 0);
        try_init(&try, f);
        assert_int_equal(store_change_append(&try.change, "lines", STR("x\n")), 0);
        assert_int_equal(try_commit(&try, f), 0);
}

/* Files that are written before their turn: seen by nobody until then, like others afterwards, and gone with a
 * change that comes to nothing. */
static void test_ahead(void **state) {
        const mode_t mask = umask(0);
        char name[32];
        Fixture *f = *state;
        struct stat st;
        Try try;

        (void)umask(mask);
        put(f, "docs/there", STR("old"));
        assert_int_equal(fixture_open(f), 0);
        try_init(&try, f);
        for (int i = 0; i < STORE_AHEAD_MAX + 1; i++) {
                snprintf(name, sizeof(name), "docs/d%d", i);
                assert_int_equal(store_change_create(&try.change, name, str_from(name)), 0);
        }
        store_change_make_ahead(&try.change);
        assert_int_equal(try.change.n_ahead, STORE_AHEAD_MAX);
        assert_false(has_file(f, "docs/d0"));
        assert_int_equal(count_temps(f), 0);
        assert_int_equal(try_commit(&try, f), 0);
        for (int i = 0; i < STORE_AHEAD_MAX + 1; i++) {
                snprintf(name, sizeof(name), "docs/d%d", i);
                assert_file(f, name, name);
                assert_int_equal(fstatat(f->root, name, &st, 0), 0);
                assert_int_equal(st.st_mode & 0777, 0666 & ~mask);
                assert_int_equal(st.st_nlink, 1);
        }
        assert_int_equal(f->store->n_ahead, 0);
        try_init(&try, f); /* one of them is there: neither is made */
        assert_int_equal(store_change_create(&try.change, "docs/new", STR("new")), 0);
        assert_int_equal(store_change_create(&try.change, "docs/there", STR("new")), 0);
        store_change_make_ahead(&try.change);
        assert_int_equal(try_commit(&try, f), -ESTALE);
        assert_file(f, "docs/there", "old");
        assert_false(has_file(f, "docs/new"));
        assert_int_equal(f->store->n_ahead, 0);
        try_init(&try, f); /* its folder is another one by then */
        assert_int_equal(store_change_create(&try.change, "docs/late", STR("late")), 0);
        store_change_make_ahead(&try.change);
        assert_int_equal(renameat(f->root, "docs", f->root, "away"), 0);
        assert_int_equal(try_commit(&try, f), 0);
        assert_file(f, "docs/late", "late");
        assert_false(has_file(f, "away/late"));
}

/* What one that could not be written had ahead is made again when it is tried again. */
static void test_ahead_again(void **state) {
        struct rlimit all, some = {.rlim_cur = 8L * 1024 * 1024, .rlim_max = RLIM_INFINITY};
        _cleanup_(closep) int fd = -1;
        Fixture *f = *state;
        Try tries[2];

        signal(SIGXFSZ, SIG_IGN);
        put(f, "full/lines", STR(""));
        fd = openat(f->root, "full/lines", O_RDWR | O_CLOEXEC);
        assert_int_equal(ftruncate(fd, 8L * 1024 * 1024 - 3), 0);
        assert_true(pwrite(fd, "\n", 1, 8L * 1024 * 1024 - 4) == 1);
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
        some.rlim_max = all.rlim_max;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &some), 0);
        assert_int_equal(fixture_open(f), 0);
        for (int i = 0; i < 2; i++) {
                try_init(&tries[i], f);
                assert_int_equal(store_change_create(&tries[i].change, i ? "full/b" : "full/a", STR("x")),
                                 0);
                if (i == 0)
                        assert_int_equal(
                                store_change_append(&tries[i].change, "full/lines", STR("too long\n")), 0);
                store_change_make_ahead(&tries[i].change);
                try_start(&tries[i]);
        }
        for (int i = 0; i < 2; i++)
                fixture_wait(f, &tries[i].is_done);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
        assert_int_equal(tries[0].r, -EFBIG);
        assert_int_equal(tries[1].r, 0);
        assert_false(has_file(f, "full/a"));
        assert_file(f, "full/b", "x");
        assert_int_equal(count_temps(f), 0);
        assert_int_equal(f->store->n_ahead, 0);
}

/* Somebody removed what is ours in there: it is made again. */
static void test_state_removed(void **state) {
        Fixture *f = *state;
        char command[128];
        Try try;

        assert_int_equal(fixture_open(f), 0);
        for (int i = 0; i < 2; i++) {
                try_init(&try, f);
                assert_int_equal(store_change_append(&try.change, "lines", STR("x\n")), 0);
                assert_int_equal(try_commit(&try, f), 0);
                snprintf(command, sizeof(command), "rm -rf %s/.local", f->dir);
                assert_int_equal(system(command), 0); // NOLINT(cert-env33-c)
        }
        try_init(&try, f);
        assert_int_equal(store_change_create(&try.change, "doc", STR("x\n")), 0);
        assert_int_equal(try_commit(&try, f), 0);
        assert_true(has_file(f, ".local/muster/journal"));
        assert_file(f, "lines", "x\nx\n");
}

/* What its own thread commits is kept as any other; what comes meanwhile waits for it, and so does the lock of others. */
static void test_here(void **state) {
        Fixture *f = *state;
        Try here, next;

        assert_int_equal(fixture_open(f), 0);
        try_init(&here, f);
        assert_int_equal(store_change_create(&here.change, "here", STR("x")), 0);
        assert_int_equal(store_change_append(&here.change, "lines", STR("1\n")), 0);
        assert_true(store_change_commit_here(&here.change, 1));
        assert_file(f, "here", "x");
        assert_false(store_is_idle(f->store));
        try_init(&next, f);
        assert_int_equal(store_change_append(&next.change, "lines", STR("2\n")), 0);
        assert_false(store_change_commit_here(&next.change, 1));
        try_start(&next);
        loop_turn(f->loop);
        assert_false(next.is_done || here.is_done);
        store_change_settle(&here.change);
        assert_true(here.is_done);
        assert_int_equal(here.r, 0);
        fixture_wait(f, &next.is_done);
        assert_file(f, "lines", "1\n2\n");
        assert_int_equal(store_stats(f->store).n_commits, 2);

        put_lock(f, getpid(), 1000);
        try_init(&here, f);
        assert_int_equal(store_change_create(&here.change, "locked", STR("x")), 0);
        assert_true(store_change_commit_here(&here.change, 1000));
        store_change_settle(&here.change);
        assert_false(here.is_done);
        assert_int_equal(unlinkat(f->root, STORE_LOCKS "/" STORE_LOCK, 0), 0);
        fixture_wait(f, &here.is_done);
        assert_int_equal(here.r, 0);
        assert_file(f, "locked", "x");
}

static void write_in(Fixture *f, const char *folder, unsigned number, bool is_replaced) {
        char path[64], text[32];
        Try try;

        snprintf(path, sizeof(path), "%s%s%u", folder, *folder ? "/" : "", number);
        snprintf(text, sizeof(text), "text %u %d", number, is_replaced);
        try_init(&try, f);
        if (is_replaced)
                assert_int_equal(store_change_replace(&try.change, path, str_from(text), NULL), 0);
        else
                assert_int_equal(store_change_create(&try.change, path, str_from(text)), 0);
        store_change_make_ahead(&try.change);
        assert_int_equal(try_commit(&try, f), 0);
        assert_file(f, path, text);
}

static void create_in(Fixture *f, const char *folder, unsigned number) {
        write_in(f, folder, number, false);
}

/* How many lie ready, when nobody makes more. */
static size_t count_spares(Fixture *f) {
        while (f->store->is_filling)
                loop_turn(f->loop);
        return f->store->spares.n;
}

/* Files that are made before they are needed: for every folder in which a new file would be the same. */
static void test_spares(void **state) {
        Fixture *f = *state;
        unsigned number = 0;
        size_t n;

        put(f, "some/first", STR("x"));
        put(f, "shared/first", STR("x"));
        assert_int_equal(fchmodat(f->root, "shared", 02775, 0), 0);
        assert_int_equal(fixture_open(f), 0);
        while (number < STORE_SPARES_WORTH - 1)
                create_in(f, "some", number++);
        assert_int_equal(count_spares(f), 0);
        create_in(f, "some", number++);
        n = count_spares(f);
        if (!n)
                skip(); /* a file system without O_TMPFILE */
        assert_int_equal(n, STORE_SPARES);
        create_in(f, "shared", 1); /* its files get its group */
        assert_int_equal(count_spares(f), n);
        create_in(f, "some", number++);
        assert_int_equal(count_spares(f), n - 1);
        write_in(f, "some", 0, true);
        assert_int_equal(count_spares(f), n - 2);
        write_in(f, "", 0, true);
        assert_int_equal(count_spares(f), n - 3);
        while (number < 40)
                create_in(f, "some", number++);
        assert_true(count_spares(f) > STORE_SPARES - STORE_SPARES_STEP);

        assert_int_equal(fchmodat(f->root, ".", 02755, 0), 0);
        create_in(f, "some", number++); /* those that are made next are for the other one */
        while (number < 50)
                create_in(f, "some", number++);
        f->store->is_filling = true; /* none are made meanwhile */
        spares_fill(&f->store->spares, f->root);
        n = f->store->spares.n;
        create_in(f, "shared", 2);
        assert_int_equal(f->store->spares.n, n - 1);
        f->store->is_filling = false;

        assert_false(spares_drop_unused(&f->store->spares));
        assert_true(spares_drop_unused(&f->store->spares));
        assert_int_equal(count_spares(f), 0);
        assert_int_equal(count_temps(f), 0);
}

/* A document keeps its rights, whoever has made the file that takes its place. */
static void test_replace_ahead(void **state) {
        Fixture *f = *state;
        struct stat st;
        Try try;

        put(f, "docs/there", STR("old"));
        assert_int_equal(fchmodat(f->root, "docs/there", 0640, 0), 0);
        assert_int_equal(fixture_open(f), 0);
        try_init(&try, f);
        assert_int_equal(store_change_replace(&try.change, "docs/there", STR("new"), NULL), 0);
        assert_int_equal(store_change_replace(&try.change, "docs/none", STR("none"), &(FileIdentity){0}), 0);
        store_change_make_ahead(&try.change);
        assert_int_equal(try.change.n_ahead, 2);
        assert_file(f, "docs/there", "old");
        assert_int_equal(try_commit(&try, f), 0);
        assert_file(f, "docs/there", "new");
        assert_file(f, "docs/none", "none");
        assert_int_equal(fstatat(f->root, "docs/there", &st, 0), 0);
        assert_int_equal(st.st_mode & 0777, 0640);
        try_init(&try, f);
        assert_int_equal(store_change_replace(&try.change, "docs/there", STR("late"), &(FileIdentity){0}),
                         0);
        store_change_make_ahead(&try.change);
        assert_int_equal(try_commit(&try, f), -ESTALE);
        assert_file(f, "docs/there", "new");
        assert_int_equal(f->store->n_ahead, 0);
        assert_int_equal(count_temps(f), 0);
}

/* A folder that changes with every commit lies beside the journal: it moves, and goes on. */
static void test_journal_moves(void **state) {
        Fixture *f = *state;
        uint64_t before;

        assert_int_equal(fixture_open(f), 0);
        create_in(f, "docs", 1);
        before = f->store->disk.journal.ino;
        f->store->disk.journal.is_crowded = true;
        f->store->disk.journal.busy[0] = before;
        while (!store_is_idle(f->store) ||
               f->store->disk.journal.n_moved == 0) /* with the sync, a second later */
                loop_turn(f->loop);
        assert_int_not_equal(f->store->disk.journal.ino, before);
        create_in(f, "docs", 2);
        fixture_close(f);
        assert_int_equal(fixture_open(f), 0);
        assert_int_equal(store_stats(f->store).n_restored, 0);
        create_in(f, "docs", 3);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                store_test(test_all_kinds),
                store_test(test_stale),
                store_test(test_paths),
                store_test(test_foreign_lines),
                store_test(test_lock),
                store_test(test_lock_is_kept),
                store_test(test_group_on_one_file),
                store_test(test_two_daemons),
                store_test(test_large),
                store_test(test_no_space),
                store_test(test_read_only),
                store_test(test_ahead),
                store_test(test_ahead_again),
                store_test(test_state_removed),
                store_test(test_here),
                store_test(test_spares),
                store_test(test_replace_ahead),
                store_test(test_journal_moves),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Watch on a real folder: what happens there is told, in words, on a log that the tests wait for. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/macro.h"
#include "base/str.h"
#include "base/loop/test-loop-fixture.h"
#include "core/watch/watch.h"

enum { LIMIT_MS = 60000 };

typedef struct Fixture {
        Loop *loop;
        Watch *watch, *other;
        WatchHub *hub;
        char dir[64];
        Buf told; /* "create a/b\n" … */
        int n_released;
        bool close_at_once;
} Fixture;

static void changed(void *user, WatchEvent event, Str path, bool is_dir) {
        Fixture *f = user;

        assert_int_equal(buf_printf(&f->told, "%s " STR_FMT "%s\n", watch_event_name(event), STR_ARG(path),
                                    is_dir ? "/" : ""),
                         0);
        if (f->close_at_once)
                f->watch = watch_close(f->watch);
        loop_stop(f->loop);
}

static void changed_other(void *user, WatchEvent event, Str path, bool is_dir) {
        Fixture *f = user;

        assert_int_equal(buf_printf(&f->told, "other %s " STR_FMT "%s\n", watch_event_name(event),
                                    STR_ARG(path), is_dir ? "/" : ""),
                         0);
        loop_stop(f->loop);
}

static void troubled(void *user, const char *what) {
        Fixture *f = user;

        assert_int_equal(buf_printf(&f->told, "trouble %s\n", what), 0);
        loop_stop(f->loop);
}

static void released(void *user) {
        Fixture *f = user;

        f->n_released++;
        loop_stop(f->loop);
}

static bool is_ignored(_unused_ const void *user, Str path, _unused_ bool is_dir) {
        return path.n >= 3 && !memcmp(path.data + path.n - 3, "tmp", 3);
}

static void shell(Fixture *f, const char *format) {
        char command[512];

        snprintf(command, sizeof(command), "cd %s && { %s; }", f->dir, format);
        assert_int_equal(system(command), 0);
}

static void begin_max(Fixture *f, Loop *loop, size_t n_max, bool is_flat) {
        WatchSpec spec = {.is_flat = is_flat,
                          .n_max = n_max,
                          .is_ignored = is_ignored,
                          .changed = changed,
                          .troubled = troubled,
                          .released = released,
                          .user = f};

        *f = (Fixture){.loop = loop};
        strcpy(f->dir, "/tmp/muster-watch-XXXXXX");
        assert_non_null(mkdtemp(f->dir));
        shell(f, "mkdir before; echo > before/old");
        spec.root = f->dir;
        assert_int_equal(watch_open(&f->watch, &f->hub, loop, &spec), 0);
}

static void settle(Loop *loop, const Watch *watch) {
        while (!watch_is_settled(watch))
                loop_turn_wait(loop);
}

static void begin(Fixture *f, Loop *loop) {
        begin_max(f, loop, 0, false);
        settle(f->loop, f->watch);
}

static void end(Fixture *f) {
        char command[256];

        f->watch = watch_close(f->watch);
        while (!f->n_released)
                assert_true(run_within(f->loop, LIMIT_MS));
        assert_null(f->hub);
        buf_deinit(&f->told);
        snprintf(command, sizeof(command), "rm -rf %s %s-away", f->dir, f->dir);
        assert_int_equal(system(command), 0);
}

static void wait_for(Fixture *f, const char *line) {
        char want[256];

        snprintf(want, sizeof(want), "%s\n", line);
        while (!strstr(f->told.n ? buf_cstr(&f->told) : "", want))
                if (!run_within(f->loop, LIMIT_MS))
                        fail_msg("no \"%s\" in:\n%s", line, f->told.n ? buf_cstr(&f->told) : "");
}

static size_t count(Fixture *f, const char *word) {
        size_t n = 0;

        for (const char *at = f->told.n ? buf_cstr(&f->told) : ""; (at = strstr(at, word)); at++)
                n++;
        return n;
}

static void test_files(void **state) {
        Fixture f;

        begin(&f, *state);
        shell(&f, "echo 1 > a");
        wait_for(&f, "create a");
        wait_for(&f, "modify a");
        f.told.n = 0;
        shell(&f, "echo 2 >> a");
        wait_for(&f, "modify a");
        shell(&f, "echo 3 > b.tmp && mv a c");
        wait_for(&f, "create c");
        wait_for(&f, "delete a");
        shell(&f, "rm c");
        wait_for(&f, "delete c");
        assert_int_equal(count(&f, "tmp"), 0);
        f.told.n = 0;
        shell(&f, "echo x > d; chmod 600 d; touch -d 2001-01-01 d");
        wait_for(&f, "modify d");
        end(&f);
}

static void test_replaced_file(void **state) {
        Fixture f;

        begin(&f, *state);
        shell(&f, "echo 1 > a");
        wait_for(&f, "modify a");
        f.told.n = 0;
        shell(&f, "echo 22 > a.tmp; mv a.tmp a");
        wait_for(&f, "create a");
        wait_for(&f, "modify a");
        end(&f);
}

static void test_new_folders(void **state) {
        Fixture f;

        begin(&f, *state);
        shell(&f, "mkdir -p a/b/c && echo 1 > a/b/c/d");
        wait_for(&f, "create a/");
        wait_for(&f, "create a/b/c/d");
        f.told.n = 0;
        settle(f.loop, f.watch);
        shell(&f, "echo 2 >> a/b/c/d");
        wait_for(&f, "modify a/b/c/d");
        shell(&f, "mv a/b z");
        wait_for(&f, "delete a/b/c/d");
        wait_for(&f, "create z/c/d");
        settle(f.loop, f.watch);
        f.told.n = 0;
        shell(&f, "echo 3 >> z/c/d; rm -r z/c");
        wait_for(&f, "delete z/c/");
        assert_int_equal(count(&f, "delete z/c/d\n"), 1);
        end(&f);
}

static void test_old_files_are_not_told(void **state) {
        Fixture f;

        begin_max(&f, *state, 0, false);
        settle(f.loop, f.watch);
        shell(&f, "echo 1 > mark");
        wait_for(&f, "create mark");
        assert_int_equal(count(&f, "old"), 0);
        assert_int_equal(count(&f, "create"), 1);
        end(&f);
}

static void test_flat(void **state) {
        Fixture f;

        begin_max(&f, *state, 0, true);
        settle(f.loop, f.watch);
        shell(&f, "mkdir sub; echo 1 > sub/x; echo 1 > y");
        wait_for(&f, "modify y");
        assert_int_equal(count(&f, "sub/x"), 0);
        end(&f);
}

static void test_root_goes_and_comes(void **state) {
        Fixture f;

        begin(&f, *state);
        shell(&f, "echo 1 > a");
        wait_for(&f, "create a");
        shell(&f, "mv $PWD $PWD-away");
        wait_for(&f, "delete a");
        f.told.n = 0;
        assert_int_equal(mkdir(f.dir, 0700), 0);
        shell(&f, "echo 1 > b");
        wait_for(&f, "create b");
        settle(f.loop, f.watch);
        shell(&f, "echo 2 > c");
        wait_for(&f, "create c");
        assert_int_equal(count(&f, "away"), 0);
        end(&f);
}

static void flood(Fixture *f) {
        char path[128];

        snprintf(path, sizeof(path), "%s/d/x", f->dir);
        for (int i = 0; i < 20000; i++) {
                assert_int_equal(mknod(path, S_IFREG | 0600, 0), 0);
                assert_int_equal(unlink(path), 0);
        }
}

/* More events than the kernel keeps, none of them read: all files are told in the end. */
static void test_overflow(void **state) {
        Fixture f;

        begin(&f, *state);
        shell(&f, "echo 1 > old; mkdir d");
        wait_for(&f, "create d/");
        settle(f.loop, f.watch);
        f.told.n = 0;
        flood(&f);
        shell(&f, "rm old; echo > last");
        wait_for(&f, "delete old");
        wait_for(&f, "create last");
        end(&f);
}

static void test_bound(void **state) {
        Fixture f;

        begin_max(&f, *state, 6, false);
        settle(f.loop, f.watch);
        shell(&f, "for i in 1 2 3 4 5 6 7 8 9; do echo > f$i; done");
        wait_for(&f, "trouble too many files and folders: not all are watched");
        assert_true(watch_n_entries(f.watch) <= 6);
        assert_int_equal(count(&f, "trouble"), 1);
        end(&f);
}

static void test_closed_from_a_callback(void **state) {
        Fixture f;

        begin(&f, *state);
        f.close_at_once = true;
        shell(&f, "echo > a; echo > b; mkdir c");
        wait_for(&f, "create a");
        assert_null(f.watch);
        end(&f);
        begin_max(&f, *state, 0, false); /* while the first walk is under way */
        end(&f);
}

static void open_other(Fixture *f, const char *name) {
        char root[256];
        WatchSpec spec = {.root = root, .changed = changed_other, .troubled = troubled, .user = f};

        snprintf(root, sizeof(root), "%s/%s", f->dir, name);
        assert_int_equal(watch_open(&f->other, &f->hub, f->loop, &spec), 0);
        settle(f->loop, f->other);
}

/* The folders of one are folders of the other: one instance, one number for both. */
static void test_two_look_at_the_same(void **state) {
        Fixture f;

        begin(&f, *state);
        open_other(&f, "before");
        shell(&f, "echo > before/a");
        wait_for(&f, "create before/a");
        wait_for(&f, "other create a");
        f.other = watch_close(f.other); /* what it gives back is still looked at by the first */
        shell(&f, "echo > before/b");
        wait_for(&f, "create before/b");
        assert_int_equal(count(&f, "other create b"), 0);
        open_other(&f, "before");
        shell(&f, "mv before after; echo > after/c");
        wait_for(&f, "other delete a");
        wait_for(&f, "create after/c");
        shell(&f, "mkdir -p before; echo > before/d; echo > after/e");
        wait_for(&f, "create after/e");
        wait_for(&f, "other create d");
        f.other = watch_close(f.other);
        end(&f);
}

static void test_no_folder(void **state) {
        Fixture f = {.loop = *state};
        WatchSpec spec = {
                .root = "/tmp/muster-watch-none", .changed = changed, .troubled = troubled, .user = &f};

        assert_int_equal(watch_open(&f.watch, &f.hub, *state, &spec), -ENOENT);
        spec.root = "/dev/null";
        assert_int_equal(watch_open(&f.watch, &f.hub, *state, &spec), -ENOTDIR);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                loop_test(test_files),
                loop_test(test_replaced_file),
                loop_test(test_new_folders),
                loop_test(test_old_files_are_not_told),
                loop_test(test_flat),
                loop_test(test_root_goes_and_comes),
                loop_test(test_overflow),
                loop_test(test_bound),
                loop_test(test_closed_from_a_callback),
                loop_test(test_two_look_at_the_same),
                loop_test(test_no_folder),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

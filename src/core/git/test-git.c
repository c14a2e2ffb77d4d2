/* SPDX-License-Identifier: MIT */
/* Real repositories in a folder of the test, and programs that are called git and are none. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/macro.h"
#include "base/test-cmocka.h"
#include "core/environment.h"
#include "core/git/git.h"

static char top[PATH_MAX - 600];
static StrVec own; /* an environment without the settings of whoever runs the tests */

static const char *at(const char *name) {
        static char paths[4][PATH_MAX];
        static unsigned next;
        char *path = paths[next++ % 4];

        snprintf(path, PATH_MAX, "%s/%s", top, name);
        return path;
}

static int setup(_unused_ void **state) {
        char name[] = "/tmp/test-git-XXXXXX";

        if (!mkdtemp(name) || !realpath(name, top))
                return -1;
        return environment_put(&own, "PATH", "/usr/local/bin:/usr/bin:/bin") ||
               environment_put(&own, "HOME", top) || environment_put(&own, "GIT_CONFIG_NOSYSTEM", "1") ||
               environment_put(&own, "LC_ALL", "de_DE.UTF-8");
}

static void in_shell(const char *format, ...) _printf_(1, 2);
static void in_shell(const char *format, ...) {
        char command[3 * PATH_MAX];
        int n = snprintf(
                command, sizeof(command),
                "cd '%s' && export HOME='%s' GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a "
                "GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b && unset GIT_DIR "
                "GIT_WORK_TREE GIT_INDEX_FILE && ",
                top, top);
        va_list ap;

        va_start(ap, format);
        (void)vsnprintf(command + n, sizeof(command) - (size_t)n, format, ap);
        va_end(ap);
        assert_int_equal(system(command), 0); /* NOLINT: it makes what is tested */
}

static int teardown(_unused_ void **state) {
        strvec_deinit(&own);
        in_shell("rm -rf '%s'", top);
        return 0;
}

/* A repository with one commit of two files. */
static void make_repo(const char *name) {
        in_shell("git init -q %s && cd %s && echo one >a.txt && echo two >b.txt && git add . && "
                 "git commit -qm first",
                 name, name);
}

static void open_at(Git *git, const char *name) {
        assert_int_equal(git_open(git, at(name), &own), 0);
}

static bool is_dirty(Git *git) {
        bool dirty;

        assert_int_equal(git_is_dirty(git, &dirty), 0);
        return dirty;
}

static void expect_why(const Git *git, const char *why) {
        assert_string_equal(git->why, why);
}

/* ---- questions ------------------------------------------------------------------------------- */

static void test_a_clean_and_a_dirty_tree(_unused_ void **state) {
        _cleanup_(git_close) Git git = {0};
        _cleanup_(buf_deinit) Buf diff = BUF_NULL;
        char head[GIT_HASH_SIZE];

        make_repo("plain");
        open_at(&git, "plain");
        assert_int_equal(git_head(&git, head), 0);
        assert_int_equal(strlen(head), 40);
        in_shell("test $(git -C plain rev-parse HEAD) = %s", head);
        assert_false(is_dirty(&git));
        assert_int_equal(git_diff(&git, &diff), 0);
        assert_int_equal(diff.n, 0);

        in_shell("cd plain && echo 2 >>b.txt && rm a.txt && head -c 100 /dev/urandom >c.bin && git add "
                 "c.bin");
        assert_true(is_dirty(&git));
        assert_int_equal(git_diff(&git, &diff), 0);
        assert_non_null(strstr(buf_cstr(&diff), "\n+++ b/b.txt\n"));
        /* What it says makes the same tree of the commit. */
        assert_int_equal(file_replace(at("plain.patch"), buf_str(&diff), 0600, FILE_RUNTIME), 0);
        in_shell("cd plain && git add -A && git write-tree >../tree && git reset -q --hard && "
                 "git apply --index ../plain.patch && test $(git write-tree) = $(cat ../tree)");
}

static void test_an_unknown_file_is_dirt_without_a_diff(_unused_ void **state) {
        _cleanup_(git_close) Git git = {0};
        _cleanup_(buf_deinit) Buf diff = BUF_NULL;

        make_repo("unknown");
        in_shell("echo x >unknown/new.txt");
        open_at(&git, "unknown");
        assert_true(is_dirty(&git));
        assert_int_equal(git_diff(&git, &diff), 0);
        assert_int_equal(diff.n, 0);
}

static void test_a_folder_inside_the_repository(_unused_ void **state) {
        _cleanup_(git_close) Git git = {0};
        char head[GIT_HASH_SIZE];

        make_repo("around");
        in_shell("mkdir around/deep");
        open_at(&git, "around/deep");
        assert_int_equal(git_head(&git, head), 0);
}

static void test_no_commit_yet(_unused_ void **state) {
        _cleanup_(git_close) Git git = {0};
        _cleanup_(buf_deinit) Buf diff = BUF_NULL;
        char head[GIT_HASH_SIZE];

        in_shell("git init -q empty && echo x >empty/new.txt");
        open_at(&git, "empty");
        assert_int_equal(git_head(&git, head), GIT_E_REFUSED);
        expect_why(&git, "fatal: bad revision 'HEAD'");
        assert_int_equal(git_diff(&git, &diff), GIT_E_REFUSED);
        assert_true(is_dirty(&git));
        assert_int_equal(git_worktree_add(&git, "b", at("never")), GIT_E_REFUSED);
        assert_int_not_equal(access(at("never"), F_OK), 0);
}

static void test_no_repository_and_no_folder(_unused_ void **state) {
        _cleanup_(git_close) Git git = {0}, lost = {0};
        char head[GIT_HASH_SIZE];
        char why[PATH_MAX];

        in_shell("mkdir nothing");
        open_at(&git, "nothing");
        assert_int_equal(git_head(&git, head), GIT_E_REFUSED);
        assert_memory_equal(git.why, "fatal: not a git repository", 27);
        open_at(&lost, "not-there");
        assert_int_equal(git_head(&lost, head), GIT_E_REFUSED);
        snprintf(why, sizeof(why), "%s: No such file or directory", at("not-there"));
        expect_why(&lost, why);
}

/* Of a client that was itself started by git, or by somebody who likes colours and tools of their own. */
static void test_the_folder_counts_and_not_the_environment(_unused_ void **state) {
        _cleanup_(git_close) Git git = {0};
        _cleanup_(strvec_deinit) StrVec env = {0};
        _cleanup_(buf_deinit) Buf diff = BUF_NULL;
        char head[GIT_HASH_SIZE];

        make_repo("here");
        in_shell("cd here && echo 3 >>b.txt && git config color.ui always && git config diff.noprefix true "
                 "&& "
                 "git config diff.external /bin/false && git config core.fsmonitor /bin/false");
        assert_int_equal(strvec_append(&env, &own), 0);
        assert_int_equal(environment_put(&env, "GIT_DIR", "/nowhere"), 0);
        assert_int_equal(environment_put(&env, "GIT_INDEX_FILE", "/nowhere"), 0);
        assert_int_equal(environment_put(&env, "GIT_EXTERNAL_DIFF", "/bin/false"), 0);
        assert_int_equal(git_open(&git, at("here"), &env), 0);
        assert_int_equal(git_head(&git, head), 0);
        assert_true(is_dirty(&git));
        assert_int_equal(git_diff(&git, &diff), 0);
        assert_memory_equal(diff.data, "diff --git a/b.txt b/b.txt\n", 27);
}

static void test_a_diff_that_is_too_large(_unused_ void **state) {
        _cleanup_(git_close) Git git = {0};
        _cleanup_(buf_deinit) Buf diff = BUF_NULL;

        make_repo("large");
        in_shell("cd large && seq 1 100000 >b.txt");
        open_at(&git, "large");
        git.n_diff_max = 100000;
        assert_int_equal(git_diff(&git, &diff), GIT_E_TOO_LARGE);
        expect_why(&git, "the diff has more than 100000 bytes");
        assert_int_equal(diff.n, 0);
        git.n_diff_max = GIT_DIFF_MAX;
        assert_int_equal(git_diff(&git, &diff), 0);
        assert_true(diff.n > 500000);
}

/* ---- worktrees ------------------------------------------------------------------------------- */

static void expect_trees(Git *git, const char *name, size_t wanted, const char *branch) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        GitWorktree *trees;
        size_t n;

        assert_int_equal(git_worktree_list(git, &arena, &trees, &n), 0);
        assert_int_equal(n, wanted);
        assert_true(str_is(trees[0].path, git->folder));
        assert_int_equal(trees[0].head.n, 40);
        if (n > 1) {
                assert_true(str_is(trees[1].path, at(name)));
                assert_true(str_is(trees[1].branch, branch));
        }
}

static void test_worktrees(_unused_ void **state) {
        _cleanup_(git_close) Git git = {0};

        make_repo("repo");
        open_at(&git, "repo");
        expect_trees(&git, NULL, 1, NULL);
        assert_int_equal(git_worktree_add(&git, "ac/p/t/r", at("trees/p/t/r")), 0);
        expect_trees(&git, "trees/p/t/r", 2, "ac/p/t/r");
        in_shell("test -f trees/p/t/r/a.txt && echo dirt >trees/p/t/r/dirt.txt");
        assert_int_equal(git_worktree_add(&git, "ac/p/t/r", at("trees/other")), GIT_E_REFUSED);
        expect_why(&git, "fatal: a branch named 'ac/p/t/r' already exists");
        assert_int_equal(git_worktree_remove(&git, at("trees/p/t/r")), 0);
        expect_trees(&git, NULL, 1, NULL);
        in_shell(
                "test ! -e trees/p/t/r && git -C repo rev-parse -q --verify refs/heads/ac/p/t/r >/dev/null");
        assert_int_equal(git_worktree_remove(&git, at("trees/p/t/r")), GIT_E_REFUSED);
        assert_non_null(strstr(git.why, "is not a working tree"));
}

static void test_words_that_look_like_options(_unused_ void **state) {
        _cleanup_(git_close) Git git = {0};

        make_repo("options");
        open_at(&git, "options");
        assert_int_equal(git_worktree_add(&git, "-D", at("trees/x")), GIT_E_REFUSED);
        expect_why(&git, "'-D' is not a valid branch name");
        assert_int_equal(git_worktree_add(&git, "a..b", at("trees/x")), GIT_E_REFUSED);
        assert_non_null(strstr(git.why, "not a valid branch name"));
        assert_int_equal(git_worktree_add(&git, "dash", "--help"), 0);
        in_shell("test -f options/--help/a.txt");
        assert_int_equal(git_worktree_remove(&git, "--help"), 0);
}

/* ---- programs that are called git ------------------------------------------------------------ */

static void make_git(const char *script) {
        char text[400];

        snprintf(text, sizeof(text), "#!/bin/sh\n%s\n", script);
        in_shell("mkdir -p bin");
        assert_int_equal(file_replace(at("bin/git"), str_from(text), 0755, FILE_RUNTIME), 0);
}

static void open_with(Git *git, StrVec *env, const char *path) {
        assert_int_equal(strvec_append(env, &own), 0);
        assert_int_equal(environment_put(env, "PATH", path), 0);
        assert_int_equal(git_open(git, top, env), 0);
}

static void test_no_git_on_path(_unused_ void **state) {
        _cleanup_(git_close) Git git = {0};
        _cleanup_(strvec_deinit) StrVec env = {0};

        assert_int_equal(environment_put(&env, "PATH", "/nowhere:relative"), 0);
        assert_int_equal(git_open(&git, top, &env), GIT_E_MISSING);
        expect_why(&git, "git was not found on PATH");
}

/* It is killed with what it has started, and says nothing more. */
static void test_a_git_that_hangs(_unused_ void **state) {
        _cleanup_(git_close) Git git = {0};
        _cleanup_(strvec_deinit) StrVec env = {0};
        char head[GIT_HASH_SIZE], path[PATH_MAX + 20];
        bool dirty;

        make_git("trap : TERM HUP INT; sleep 1000 & echo $! >pid; echo started >&2; wait; sleep 1000");
        snprintf(path, sizeof(path), "%s:/usr/bin:/bin", at("bin"));
        open_with(&git, &env, path);
        git.limit_ms = 500;
        assert_int_equal(git_head(&git, head), GIT_E_SLOW);
        expect_why(&git, "git rev-parse did not end within 1 s");
        assert_int_equal(git_is_dirty(&git, &dirty), GIT_E_SLOW);
        /* It is dead, or about to be; who does not collect the dead here still has it in the list. */
        in_shell("test -e pid || exit 0; for i in $(seq 600); do kill -0 $(cat pid) 2>/dev/null || exit 0; "
                 "grep -qs '^State:.Z' /proc/$(cat pid)/status && exit 0; sleep 0.1; done; exit 1");
}

static void test_a_git_that_says_nonsense(_unused_ void **state) {
        _cleanup_(git_close) Git git = {0};
        _cleanup_(strvec_deinit) StrVec env = {0};
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        char head[GIT_HASH_SIZE], path[PATH_MAX + 20];
        GitWorktree *trees;
        size_t n;

        snprintf(path, sizeof(path), "%s:/usr/bin:/bin", at("bin"));
        make_git("echo not-a-hash");
        open_with(&git, &env, path);
        assert_int_equal(git_head(&git, head), GIT_E_REFUSED);
        expect_why(&git, "git rev-parse did not name a commit");
        assert_int_equal(git_worktree_list(&git, &arena, &trees, &n), 0);
        make_git("printf %0200d 0");
        assert_int_equal(git_head(&git, head), GIT_E_REFUSED);
        make_git("exit 3");
        assert_int_equal(git_head(&git, head), GIT_E_REFUSED);
        expect_why(&git, "git rev-parse ended with status 3");
        make_git("kill -9 $$");
        assert_int_equal(git_head(&git, head), GIT_E_REFUSED);
        expect_why(&git, "git rev-parse was ended by signal 9");
        make_git("head -c 5000000 /dev/zero");
        assert_int_equal(git_worktree_list(&git, &arena, &trees, &n), GIT_E_TOO_LARGE);
        make_git("echo warned >&2; echo fatal: why >&2; exit 1");
        assert_int_equal(git_head(&git, head), GIT_E_REFUSED);
        expect_why(&git, "fatal: why");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_clean_and_a_dirty_tree),
                cmocka_unit_test(test_an_unknown_file_is_dirt_without_a_diff),
                cmocka_unit_test(test_a_folder_inside_the_repository),
                cmocka_unit_test(test_no_commit_yet),
                cmocka_unit_test(test_no_repository_and_no_folder),
                cmocka_unit_test(test_the_folder_counts_and_not_the_environment),
                cmocka_unit_test(test_a_diff_that_is_too_large),
                cmocka_unit_test(test_worktrees),
                cmocka_unit_test(test_words_that_look_like_options),
                cmocka_unit_test(test_no_git_on_path),
                cmocka_unit_test(test_a_git_that_hangs),
                cmocka_unit_test(test_a_git_that_says_nonsense),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}

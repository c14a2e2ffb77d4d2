/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test-cmocka.h"
#include "base/macro.h"

/* Every test runs in an empty folder of its own, which is also the working directory. */
typedef struct Place {
        char path[64];
} Place;

static int place_make(void **state) {
        Place *place = calloc(1, sizeof(*place));

        strcpy(place->path, "/tmp/test-file.XXXXXX");
        *state = place;
        return mkdtemp(place->path) && chdir(place->path) == 0 ? 0 : -1;
}

static int place_remove(void **state) {
        _cleanup_(freep) Place *place = *state;
        char command[128];

        snprintf(command, sizeof(command), "rm -rf %s", place->path);
        return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

static size_t count_entries(const char *path) {
        DIR *dir = opendir(path);
        size_t n = 0;

        assert_non_null(dir);
        while (readdir(dir))
                n++;
        closedir(dir);
        return n - 2;
}

static void assert_content(const char *path, Str want) {
        _cleanup_(buf_deinit) Buf got = BUF_NULL;

        assert_int_equal(file_read(path, 1 << 20, &got), 0);
        assert_int_equal(got.n, want.n);
        if (want.n)
                assert_memory_equal(got.data, want.data, want.n);
}

static mode_t mode_of(const char *path) {
        struct stat st;

        assert_int_equal(lstat(path, &st), 0);
        return st.st_mode;
}

static void test_read(void **state) {
        _cleanup_(buf_deinit) Buf out = BUF_NULL;

        (void)state;
        assert_int_equal(file_replace("f", STR("hello"), 0644, FILE_RUNTIME), 0);
        assert_int_equal(file_read("f", 5, &out), 0);
        assert_true(str_is(buf_str(&out), "hello"));
        assert_int_equal(file_read("f", SIZE_MAX, &out), 0); /* appends */
        assert_true(str_is(buf_str(&out), "hellohello"));
        assert_int_equal(file_read("f", 4, &out), FILE_E_TOO_LARGE);
        assert_int_equal(file_read("f", 0, &out), FILE_E_TOO_LARGE);
        assert_int_equal(file_read("none", 9, &out), FILE_E_MISSING);
        assert_int_equal(file_read("none/x", 9, &out), FILE_E_MISSING);
        assert_int_equal(file_read("f/x", 9, &out), FILE_E_MISSING);
        assert_int_equal(file_read(".", 9, &out), -EISDIR);
        assert_true(str_is(buf_str(&out), "hellohello")); /* untouched by all failures */

        assert_int_equal(mkfifo("fifo", 0600), 0);
        assert_int_equal(file_read("fifo", 9, &out), 0); /* does not hang */
        assert_int_equal(file_replace("empty", STR_NULL, 0644, FILE_RUNTIME), 0);
        assert_int_equal(file_read("empty", 0, &out), 0);
        assert_int_equal(out.n, 10);
        assert_int_equal(file_read("/proc/self/stat", 1 << 20, &out), 0); /* says it has 0 bytes */
        assert_true(out.n > 20);
}

static void test_read_large(void **state) {
        _cleanup_(buf_deinit) Buf big = BUF_NULL;

        (void)state;
        assert_int_equal(buf_reserve(&big, 3000000), 0);
        big.n = 3000000;
        for (size_t i = 0; i < big.n; i++)
                big.data[i] = (char)(i * 31 >> 3);
        assert_int_equal(file_replace("big", buf_str(&big), 0600, FILE_RUNTIME), 0);

        _cleanup_(buf_deinit) Buf got = BUF_NULL;
        assert_int_equal(file_read("big", big.n - 1, &got), FILE_E_TOO_LARGE);
        assert_int_equal(got.n, 0);
        assert_int_equal(file_read("big", big.n, &got), 0);
        assert_int_equal(got.n, big.n);
        assert_memory_equal(got.data, big.data, big.n);
}

static void test_replace(void **state) {
        mode_t old = umask(077);

        (void)state;
        assert_int_equal(file_replace("f", STR("one"), 0640, FILE_RUNTIME), 0);
        assert_content("f", STR("one"));
        assert_int_equal(mode_of("f"), S_IFREG | 0640); /* whatever the umask */
        assert_int_equal(file_replace("f", STR("second"), 0600, FILE_DURABLE), 0);
        assert_content("f", STR("second"));
        assert_int_equal(mode_of("f"), S_IFREG | 0600);
        assert_int_equal(file_replace("f", STR("a\0b"), 0444, FILE_RUNTIME), 0);
        assert_content("f", STR("a\0b"));
        assert_int_equal(file_replace("f", STR("again"), 0600, FILE_DURABLE),
                         0); /* though it was read-only */
        assert_content("f", STR("again"));
        assert_int_equal(count_entries("."), 1);
        umask(old);
}

static void test_replace_elsewhere(void **state) {
        Place *place = *state;
        char path[512];

        assert_int_equal(dir_make("sub", 0755), 0);
        assert_int_equal(file_replace("sub/f", STR("x"), 0600, FILE_DURABLE), 0);
        assert_content("sub/f", STR("x"));
        snprintf(path, sizeof(path), "%s/sub/g", place->path);
        assert_int_equal(file_replace(path, STR("y"), 0600, FILE_DURABLE), 0);
        assert_content("sub/g", STR("y"));
        assert_int_equal(count_entries("sub"), 2);

        /* The longest name there is. */
        memset(path, 'n', NAME_MAX);
        path[NAME_MAX] = 0;
        assert_int_equal(file_replace(path, STR("long"), 0600, FILE_RUNTIME), 0);
        assert_content(path, STR("long"));
}

static void test_replace_fails(void **state) {
        (void)state;
        assert_int_equal(dir_make("dir/inner", 0755), 0);
        assert_int_equal(file_replace("dir", STR("x"), 0600, FILE_DURABLE), -EISDIR);
        assert_int_equal(file_replace("dir/", STR("x"), 0600, FILE_DURABLE), -EISDIR);
        assert_int_equal(file_replace("", STR("x"), 0600, FILE_DURABLE), -EISDIR);
        assert_int_equal(count_entries("."), 1);
        assert_int_equal(file_replace("missing/f", STR("x"), 0600, FILE_RUNTIME), -ENOENT);
        assert_int_equal(file_replace("/proc/nothing", STR("x"), 0600, FILE_RUNTIME), -ENOENT);
        assert_int_equal(count_entries("."), 1);
        assert_int_equal(count_entries("dir"), 1);
}

/* A full disk: the old content stays and the temp file goes. */
static void test_replace_full(void **state) {
        pid_t pid;
        int status;

        (void)state;
        assert_int_equal(file_replace("f", STR("old"), 0600, FILE_RUNTIME), 0);
        pid = fork();
        if (pid == 0) {
                /* RLIMIT_FSIZE makes write(2) stop short and then fail, which is what ENOSPC does. */
                struct sigaction ignore = {.sa_handler = SIG_IGN};
                char content[8192] = {0};

                (void)sigaction(SIGXFSZ, &ignore, NULL);
                if (setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, 4096}) < 0)
                        _exit(1);
                _exit(file_replace("f", (Str){content, sizeof(content)}, 0600, FILE_RUNTIME) == -EFBIG ? 0
                                                                                                       : 2);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        assert_content("f", STR("old"));
        assert_int_equal(count_entries("."), 1);
}

static void test_replace_symlink(void **state) {
        (void)state;
        assert_int_equal(file_replace("victim", STR("safe"), 0600, FILE_RUNTIME), 0);
        assert_int_equal(symlink("victim", "link"), 0);
        assert_int_equal(file_replace("link", STR("new"), 0600, FILE_DURABLE), 0);
        assert_true(S_ISREG(mode_of("link")));
        assert_content("link", STR("new"));
        assert_content("victim", STR("safe"));
}

static void test_dir_make(void **state) {
        Place *place = *state;
        char path[512];

        assert_int_equal(dir_make("a/b/c", 0700), 0);
        assert_int_equal(mode_of("a/b/c"), S_IFDIR | 0700);
        assert_int_equal(mode_of("a"), S_IFDIR | 0700);
        assert_int_equal(chmod("a/b", 0750), 0);
        assert_int_equal(dir_make("a/b", 0700), 0);
        assert_int_equal(mode_of("a/b"), S_IFDIR | 0750); /* kept */
        assert_int_equal(dir_make("a//b///d/", 0700), 0);
        assert_int_equal(mode_of("a/b/d"), S_IFDIR | 0700);
        assert_int_equal(dir_make("/", 0700), 0);
        assert_int_equal(dir_make(".", 0700), 0);
        snprintf(path, sizeof(path), "%s/x/y", place->path);
        assert_int_equal(dir_make(path, 0700), 0);
        assert_int_equal(mode_of("x/y"), S_IFDIR | 0700);

        assert_int_equal(file_replace("a/file", STR(""), 0600, FILE_RUNTIME), 0);
        assert_int_equal(dir_make("a/file", 0700), -ENOTDIR);
        assert_int_equal(dir_make("a/file/sub", 0700), -ENOTDIR);
        assert_int_equal(dir_make("", 0700), -ENOENT);
        assert_int_equal(symlink("nowhere", "dangling"), 0);
        assert_int_equal(dir_make("dangling", 0700), -ENOENT);
        assert_int_equal(symlink("a", "alias"), 0);
        assert_int_equal(dir_make("alias/new", 0700), 0);
        assert_int_equal(mode_of("a/new"), S_IFDIR | 0700);
}

static Buf synced; /* what fsync(2) was called with, a line each, from the test's folder on */

/* Instead of the library's. */
int fsync(int fd) {
        char name[64], path[512], here[512];
        ssize_t n;

        snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
        n = readlink(name, path, sizeof(path) - 1);
        assert_true(n > 0 && getcwd(here, sizeof(here)));
        path[n] = 0;
        assert_memory_equal(path, here, strlen(here));
        assert_int_equal(buf_printf(&synced, ".%s\n", path + strlen(here)), 0);
        return (int)syscall(SYS_fsync, fd);
}

static void assert_synced(const char *want) {
        assert_string_equal(synced.n ? buf_cstr(&synced) : "", want);
        buf_deinit(&synced);
}

/* A folder that was just made is there after a power loss only if the one above it was synced. */
static void test_made_folders_are_synced(void **state) {
        (void)state;
        buf_deinit(&synced);
        assert_int_equal(dir_make("a/b", 0700), 0);
        assert_synced(".\n./a\n");
        assert_int_equal(dir_make("a/b/c", 0700), 0);
        assert_synced("./a/b\n");
        assert_int_equal(dir_make("a/b/c", 0700), 0);
        assert_synced("");
        assert_int_equal(file_sync_name("a/b/c"), 0);
        assert_synced("./a/b\n");
        assert_int_equal(file_sync_name("a"), 0);
        assert_synced(".\n");
        assert_int_equal(dir_sync("a/b/c"), 0);
        assert_synced("./a/b/c\n");
        assert_int_equal(dir_sync("a/nothing"), -ENOENT);
}

/* What file_lock() says in another process. */
static int lock_in_child(const char *path) {
        int status;
        pid_t pid = fork();

        if (pid == 0) {
                int fd, r = file_lock(path, &fd);
                _exit(r < 0 ? 100 : r);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        return WEXITSTATUS(status);
}

static void test_lock(void **state) {
        int fd = -1, second = -1;

        (void)state;
        assert_int_equal(file_lock("l", &fd), 0);
        assert_true(fd >= 0);
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        assert_int_equal(mode_of("l"), S_IFREG | 0600);
        assert_int_equal(lock_in_child("l"), FILE_E_LOCKED);
        assert_int_equal(file_lock("l", &second), FILE_E_LOCKED); /* also within the process */
        assert_int_equal(second, -1);
        close(fd);
        assert_int_equal(lock_in_child("l"), 0);
        assert_int_equal(file_lock("l", &fd), 0); /* the child's has died with it */

        /* A lock on a file that has been unlinked is worth nothing. */
        assert_int_equal(unlink("l"), 0);
        assert_int_equal(file_lock("l", &second), 0);
        close(fd);
        assert_int_equal(lock_in_child("l"), FILE_E_LOCKED);
        close(second);

        assert_int_equal(file_lock("missing/l", &fd), -ENOENT);
        assert_int_equal(symlink("l", "link"), 0);
        assert_int_equal(file_lock("link", &fd), -ELOOP);
}

/* Takes the lock in a child and lets that die, while its own child has the descriptor for some 100 ms more.
 */
static void leave_lock_behind(const char *path) {
        pid_t pid = fork();
        int fd;

        if (pid == 0) {
                if (file_lock(path, &fd) == 0 && fork() == 0)
                        poll(NULL, 0, 100);
                _exit(0);
        }
        assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_lock_left_behind(void **state) {
        int fd = -1;

        (void)state;
        leave_lock_behind("left");
        assert_int_equal(file_lock("left", &fd), 0);
        assert_int_equal(lock_in_child("left"), FILE_E_LOCKED);
        close(fd);
}

static void assert_joined(const char *a, const char *b, const char *want) {
        _cleanup_(freep) char *got = path_join(a, b);

        assert_string_equal(got, want);
}

static void test_join(void **state) {
        (void)state;
        assert_joined("a", "b", "a/b");
        assert_joined("a/", "b", "a/b");
        assert_joined("a//", "//b", "a/b");
        assert_joined("/", "b", "/b");
        assert_joined("/", "/b/", "/b/");
        assert_joined("a", "", "a");
        assert_joined("/", "", "/");
        assert_joined("", "b", "b");
        assert_joined("", "/b", "/b");
        assert_joined("", "", "");
}

static void assert_expanded(const char *path, const char *want) {
        _cleanup_(freep) char *got = path_expand(path);

        assert_string_equal(got, want);
}

static void test_expand(void **state) {
        Place *place = *state;
        _cleanup_(freep) char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL, *got = NULL;
        char want[128];

        setenv("HOME", "/home/me/", 1);
        assert_expanded("~", "/home/me/");
        assert_expanded("~/", "/home/me/");
        assert_expanded("~/x", "/home/me/x");
        assert_expanded("~//x", "/home/me/x");
        assert_expanded("/abs", "/abs");
        snprintf(want, sizeof(want), "%s/rel/x", place->path);
        assert_expanded("rel/x", want);
        snprintf(want, sizeof(want), "%s/~user", place->path);
        assert_expanded("~user", want);
        assert_expanded("", place->path);
        unsetenv("HOME");
        got = path_expand("~");
        assert_non_null(got);
        assert_int_equal(got[0], '/');
        if (home)
                setenv("HOME", home, 1);
}

static void assert_resolved(const char *path, const char *want) {
        _cleanup_(freep) char *got = path_resolve(path);

        assert_non_null(got);
        assert_string_equal(got, want);
}

static void test_resolve(void **state) {
        Place *place = *state;
        _cleanup_(freep) char *real = realpath(place->path, NULL);
        char want[PATH_MAX];

        assert_resolved("/", "/");
        assert_resolved("//", "/");
        assert_resolved("/..", "/");
        assert_resolved("/no-such-folder", "/no-such-folder");
        assert_resolved("/no-such-folder/", "/no-such-folder");
        assert_resolved("//no-such-folder//x/./y/..", "/no-such-folder/x");
        assert_resolved("/no-such-folder/..", "/");
        snprintf(want, sizeof(want), "%s/rel/x", real);
        assert_resolved("rel/x", want);
        assert_resolved(".", real);
}

static int open_beneath_as(const char *path) {
        _cleanup_(closep) int dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int fd = path_open_beneath(dir, path, O_RDONLY, 0);

        close_fd(fd);
        return MIN(fd, 0);
}

static void test_open_beneath(void **state) {
        (void)state;
        assert_int_equal(dir_make("a/b", 0700), 0);
        assert_int_equal(file_replace("a/b/f", STR("x"), 0600, FILE_RUNTIME), 0);
        assert_int_equal(symlink("f", "a/b/link") | symlink("b", "a/way") | symlink("/etc", "a/out"), 0);
        assert_int_equal(open_beneath_as("a/b/f"), 0);
        assert_int_equal(open_beneath_as("a//b/./f"), 0);
        assert_int_equal(open_beneath_as(""), 0);
        assert_int_equal(open_beneath_as("a/b/none"), -ENOENT);
        assert_int_equal(open_beneath_as("a/b/link"), -ELOOP);
        assert_int_equal(open_beneath_as("a/way/f"), -ELOOP);
        assert_int_equal(open_beneath_as("a/out/passwd"), -ELOOP);
        assert_int_equal(open_beneath_as("../f"), -EXDEV);
        assert_int_equal(open_beneath_as("/etc/passwd"), -EXDEV);
}

#define in_place(test) cmocka_unit_test_setup_teardown(test, place_make, place_remove)

int main(void) {
        const struct CMUnitTest tests[] = {
                in_place(test_open_beneath),
                in_place(test_read),
                in_place(test_read_large),
                in_place(test_replace),
                in_place(test_replace_elsewhere),
                in_place(test_replace_fails),
                in_place(test_replace_full),
                in_place(test_replace_symlink),
                in_place(test_dir_make),
                in_place(test_made_folders_are_synced),
                in_place(test_lock),
                in_place(test_lock_left_behind),
                in_place(test_join),
                in_place(test_expand),
                in_place(test_resolve),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

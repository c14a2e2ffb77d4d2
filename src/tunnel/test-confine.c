/* SPDX-License-Identifier: MIT */
/*
 * What muster-tunnel has given up, in the kernel that runs it: each test confines a child of its own by the same functions and lets
 * it try. What is not allowed ends it with SIGSYS, or fails with EPERM in builds with a sanitizer.
 */
#include "tunnel/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test-cmocka.h"
#include "base/macro.h"
#include "tunnel/tunnel-control.h"

enum { REFUSED = 42, ALLOWED = 43, UNCONFINED = 44 };

/* 0: it was let through; else its errno. */
typedef int (*Attempt)(void);

static int result_of(long r) {
        return r < 0 ? errno : 0;
}

static int run_attempt(Attempt attempt) {
        int status = -1;
        pid_t pid = fork();

        if (pid == 0) {
                uint8_t protections = 0;

                if (confine_begin(&protections) || confine_end(&protections))
                        _exit(UNCONFINED);
                _exit(attempt() == EPERM ? REFUSED : ALLOWED);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (WIFSIGNALED(status))
                return WTERMSIG(status) == SIGSYS ? REFUSED : -1;
        return WEXITSTATUS(status);
}

static int try_open(void) {
        return result_of(syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY));
}
static int try_create(void) {
        return result_of(
                syscall(SYS_openat, AT_FDCWD, "/tmp/muster-tunnel-was-here", O_WRONLY | O_CREAT, 0600));
}
static int try_open_random(void) {
        return result_of(syscall(SYS_openat, AT_FDCWD, "/dev/urandom", O_RDONLY));
}
static int try_unlink(void) {
        return result_of(syscall(SYS_unlinkat, AT_FDCWD, "/tmp/muster-tunnel-was-here", 0));
}
static int try_socket(void) {
        return result_of(socket(AF_INET, SOCK_DGRAM, 0));
}
static int try_unix_socket(void) {
        return result_of(socket(AF_UNIX, SOCK_STREAM, 0));
}
static int try_connect(void) {
        struct sockaddr nowhere = {.sa_family = AF_UNSPEC};

        return result_of(connect(0, &nowhere, sizeof(nowhere)));
}
static int try_bind(void) {
        struct sockaddr nowhere = {.sa_family = AF_UNSPEC};

        return result_of(bind(0, &nowhere, sizeof(nowhere)));
}
static int try_exec(void) {
        char *const argv[] = {"true", NULL};

        return result_of(execve("/bin/true", argv, NULL));
}
static int try_fork(void) {
        return result_of(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
}
static int try_kill(void) {
        return result_of(kill(getppid(), 0));
}
static int try_ptrace(void) {
        return result_of(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}
static int try_dumpable(void) {
        return result_of(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
}
static int try_executable_memory(void) {
        return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED
                       ? errno
                       : 0;
}
static int try_raise_limit(void) {
        struct rlimit limit = {CONFINE_FILES, CONFINE_FILES};

        return result_of(setrlimit(RLIMIT_NOFILE, &limit));
}
static int try_ioctl(void) {
        return result_of(syscall(SYS_ioctl, 0, 0x5412, "x"));
}
static int try_process_memory(void) {
        return result_of(syscall(SYS_process_vm_readv, 1, NULL, 0, NULL, 0, 0));
}

static void test_refused(_unused_ void **state) {
        const Attempt attempts[] = {try_open,          try_create,
                                    try_open_random,   try_unlink,
                                    try_socket,        try_unix_socket,
                                    try_connect,       try_bind,
                                    try_exec,          try_fork,
                                    try_kill,          try_ptrace,
                                    try_dumpable,      try_executable_memory,
                                    try_raise_limit,   try_ioctl,
                                    try_process_memory};

        for (size_t i = 0; i < ARRAY_SIZE(attempts); i++)
                assert_int_equal(run_attempt(attempts[i]), REFUSED);
        assert_int_equal(access("/tmp/muster-tunnel-was-here", F_OK), -1);
}

/* What it needs still works. */
static int work_pair[2], work_epoll;

static int try_work(void) {
        char byte = 'x';
        struct epoll_event event = {.events = EPOLLIN};
        void *memory = malloc((size_t)3 << 20);

        if (!memory || epoll_ctl(work_epoll, EPOLL_CTL_ADD, work_pair[1], &event) ||
            epoll_wait(work_epoll, &event, 1, 0))
                return EPERM;
        free(memory);
        if (send(work_pair[0], &byte, 1, MSG_DONTWAIT) != 1 ||
            recv(work_pair[1], &byte, 1, MSG_DONTWAIT) != 1)
                return EPERM;
        return close(work_pair[0]) ? EPERM : 0;
}

static void test_allowed(_unused_ void **state) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, work_pair), 0);
        work_epoll = epoll_create1(EPOLL_CLOEXEC);
        assert_int_equal(run_attempt(try_work), ALLOWED);
        close_fd(work_epoll);
        close_fd(work_pair[0]);
        close_fd(work_pair[1]);
}

/* The second thread that usrsctp has is held by the same filter. */
static int thread_pipe[2];

static void *thread_open(_unused_ void *data) {
        char byte;

        if (read(thread_pipe[0], &byte, 1) == 1 && try_open() == EPERM)
                _exit(REFUSED);
        _exit(ALLOWED);
}

static void test_other_thread(_unused_ void **state) {
        int status = -1;
        pid_t pid;

        assert_int_equal(pipe(thread_pipe), 0);
        pid = fork();
        if (pid == 0) {
                uint8_t protections = 0;
                pthread_t thread;

                if (confine_begin(&protections) || pthread_create(&thread, NULL, thread_open, NULL) ||
                    confine_end(&protections) || write(thread_pipe[1], "x", 1) != 1)
                        _exit(UNCONFINED);
                for (;;)
                        syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &(struct timespec){.tv_sec = 1},
                                NULL);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true((WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) || WEXITSTATUS(status) == REFUSED);
        close_fd(thread_pipe[0]);
        close_fd(thread_pipe[1]);
}

/* Without the filter Landlock alone keeps files away, but for the one that usrsctp opens. */
static int landlock_child(void) {
        uint8_t protections = 0;

        if (confine_begin(&protections))
                return UNCONFINED;
        if (!(protections & TUNNEL_LANDLOCK))
                return REFUSED; /* this kernel has none */
        return try_open() == EACCES && try_create() == EACCES && try_open_random() == 0 ? REFUSED : ALLOWED;
}

static void test_landlock(_unused_ void **state) {
        int status = -1;
        pid_t pid = fork();

        if (pid == 0)
                _exit(landlock_child());
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), REFUSED);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_refused),
                cmocka_unit_test(test_allowed),
                cmocka_unit_test(test_other_thread),
                cmocka_unit_test(test_landlock),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

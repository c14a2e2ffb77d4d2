/* SPDX-License-Identifier: MIT */
/*
 * The filter, in the kernel that will run it: each test loads it in a child of its own.
 */
#include "sandbox/filter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test-cmocka.h"
#include "base/macro.h"

static int request(unsigned long number) {
        return syscall(SYS_ioctl, -1, number, NULL) ? errno
                                                    : 0; /* what is let through finds a bad descriptor */
}

static int filtered_child(void) {
        struct sock_fprog program = {(unsigned short)sandbox_filter_n, (struct sock_filter *)sandbox_filter};

        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
                return 1;
        if (request(TIOCSTI) != EPERM || request(TIOCLINUX) != EPERM)
                return 2;
        if (request(TIOCSTI | 1UL << 32) != EPERM) /* the kernel does not look at the high half */
                return 3;
        if (request(TIOCGWINSZ) != EBADF || request(TIOCSCTTY) != EBADF || getpid() < 1)
                return 4;
#ifdef __x86_64__
        if (syscall(0x40000000 | 514, -1, TIOCSTI, NULL) != -1 || errno != ENOSYS) /* ioctl of x32 */
                return 5;
#endif
        return 0;
}

static int run_child(int (*body)(void)) {
        int status = -1;
        pid_t pid = fork();

        if (pid == 0)
                _exit(body());
        assert_int_equal(waitpid(pid, &status, 0), pid);
        return status;
}

static void test_filter(_unused_ void **state) {
        assert_int_equal(run_child(filtered_child), 0);
}

#ifdef __x86_64__
static long compat_ioctl(unsigned number) {
        long result;

        __asm__ volatile("int $0x80"
                         : "=a"(result)
                         : "a"(54L), "b"(-1L), "c"((long)number), "d"(0L)
                         : "memory", "cc");
        return result;
}

static int unfiltered_compat_child(void) {
        return compat_ioctl(TIOCSTI) == -EBADF ? 0 : 1;
}

static int filtered_compat_child(void) {
        struct sock_fprog program = {(unsigned short)sandbox_filter_n, (struct sock_filter *)sandbox_filter};

        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
                return 1;
        return compat_ioctl(TIOCSTI) == -EPERM && compat_ioctl(TIOCGWINSZ) == -EBADF ? 0 : 2;
}

static void test_filter_of_the_other_abi(_unused_ void **state) {
        if (run_child(unfiltered_compat_child))
                skip(); /* this kernel has no 32-bit system calls */
        assert_int_equal(run_child(filtered_compat_child), 0);
}
#endif

static void test_descriptor(_unused_ void **state) {
        struct sock_filter read_back[64];
        int fd = sandbox_filter_fd();

        assert_true(fd >= 0);
        assert_int_equal(read(fd, read_back, sizeof(read_back)), sandbox_filter_n * sizeof(*sandbox_filter));
        assert_memory_equal(read_back, sandbox_filter, sandbox_filter_n * sizeof(*sandbox_filter));
        close_fd(fd);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_filter),
#ifdef __x86_64__
                cmocka_unit_test(test_filter_of_the_other_abi),
#endif
                cmocka_unit_test(test_descriptor),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

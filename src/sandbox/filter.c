/* SPDX-License-Identifier: MIT */
#include "sandbox/filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/macro.h"

/* The machine's own ABI and the 32-bit one that the same kernel may serve. */
#if defined(__x86_64__)
enum { NATIVE_ARCH = AUDIT_ARCH_X86_64, COMPAT_ARCH = AUDIT_ARCH_I386, COMPAT_IOCTL = 54 };
#elif defined(__aarch64__)
enum { NATIVE_ARCH = AUDIT_ARCH_AARCH64, COMPAT_ARCH = AUDIT_ARCH_ARM, COMPAT_IOCTL = 54 };
#elif defined(__riscv) && __riscv_xlen == 64
enum { NATIVE_ARCH = AUDIT_ARCH_RISCV64, COMPAT_ARCH = 0x400000f3, COMPAT_IOCTL = 29 };
#else
#error "name the ABIs of this machine here"
#endif
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the low half of an argument is read");

enum {
        X32_BIT = 0x40000000, /* system calls of x32, served under the number of x86-64's ABI; the bit is not
                                 used elsewhere */
        OFFSET_NR = offsetof(struct seccomp_data, nr),
        OFFSET_ARCH = offsetof(struct seccomp_data, arch),
        /* The kernel takes an ioctl's number from the low 32 bits only; so must we, or a bit above them
           would pass. */
        OFFSET_REQUEST = offsetof(struct seccomp_data, args) + sizeof(unsigned long long),
};

enum {
        LOAD = BPF_LD | BPF_W | BPF_ABS,
        IF_EQUAL = BPF_JMP | BPF_JEQ | BPF_K, /* then, else: jumps that count from the next line */
        IF_BIT = BPF_JMP | BPF_JSET | BPF_K,
        END = BPF_RET | BPF_K,
};

/* clang-format off */
const struct sock_filter sandbox_filter[] = {
        /*  0 */ BPF_STMT(LOAD, OFFSET_ARCH),
        /*  1 */ BPF_JUMP(IF_EQUAL, NATIVE_ARCH, 1, 0),
        /*  2 */ BPF_JUMP(IF_EQUAL, COMPAT_ARCH, 3, 10),
        /*  3 */ BPF_STMT(LOAD, OFFSET_NR),
        /*  4 */ BPF_JUMP(IF_BIT, X32_BIT, 8, 0),
        /*  5 */ BPF_JUMP(IF_EQUAL, SYS_ioctl, 2, 5),
        /*  6 */ BPF_STMT(LOAD, OFFSET_NR),
        /*  7 */ BPF_JUMP(IF_EQUAL, COMPAT_IOCTL, 0, 3),
        /*  8 */ BPF_STMT(LOAD, OFFSET_REQUEST),
        /*  9 */ BPF_JUMP(IF_EQUAL, TIOCSTI, 2, 0),
        /* 10 */ BPF_JUMP(IF_EQUAL, TIOCLINUX, 1, 0),
        /* 11 */ BPF_STMT(END, SECCOMP_RET_ALLOW),
        /* 12 */ BPF_STMT(END, SECCOMP_RET_ERRNO | EPERM),
        /* 13 */ BPF_STMT(END, SECCOMP_RET_ERRNO | ENOSYS),
};
/* clang-format on */
const size_t sandbox_filter_n = ARRAY_SIZE(sandbox_filter);

int sandbox_filter_fd(void) {
        int fd = memfd_create("muster-filter", 0);

        if (fd < 0)
                return -errno;
        if (write(fd, sandbox_filter, sizeof(sandbox_filter)) != (ssize_t)sizeof(sandbox_filter) ||
            lseek(fd, 0, SEEK_SET) != 0) {
                int error = errno;
                close_fd(fd);
                return error ? -error : -EIO;
        }
        return fd;
}

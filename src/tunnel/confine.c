/* SPDX-License-Identifier: MIT */
#include "tunnel/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/macro.h"
#include "tunnel/tunnel-control.h"

#if defined(__x86_64__)
enum { CONFINE_ARCH = AUDIT_ARCH_X86_64 };
#elif defined(__aarch64__)
enum { CONFINE_ARCH = AUDIT_ARCH_AARCH64 };
#elif defined(__riscv) && __riscv_xlen == 64
enum { CONFINE_ARCH = AUDIT_ARCH_RISCV64 };
#else
#error "name the ABI of this machine here"
#endif
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the low half of an argument is read");

/* A sanitizer maps terabytes and reads its own maps when it complains: its builds have no bound of address space, and what is not allowed
 * fails instead of ending the process. */
#if defined(__SANITIZE_ADDRESS__)
enum { CONFINE_SANITIZED = 1 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { CONFINE_SANITIZED = 1 };
#else
enum { CONFINE_SANITIZED = 0 };
#endif
#else
enum { CONFINE_SANITIZED = 0 };
#endif

/* ---- limits ---------------------------------------------------------------------------------- */

static int confine_limit(int what, rlim_t value) {
        struct rlimit limit = {value, value};

        return setrlimit(what, &limit) ? -errno : 0;
}

static int confine_limits(uint8_t *protections) {
        int r = confine_limit(RLIMIT_NOFILE, CONFINE_FILES);

        if (!r)
                r = confine_limit(RLIMIT_CORE, 0);
        if (!r)
                *protections |= TUNNEL_LIMITS;
        if (r || CONFINE_SANITIZED)
                return r;
        r = confine_limit(RLIMIT_AS, CONFINE_SPACE);
        if (!r)
                *protections |= TUNNEL_ADDRESS_SPACE;
        return r;
}

/* ---- Landlock -------------------------------------------------------------------------------- */

/* As the kernel has them; the headers of a distribution are often older than its kernel. */
enum {
        ACCESS_ALL = (1 << 13) - 1, /* ABI 1 */
        ACCESS_READ_FILE = 1 << 2,
        ACCESS_REFER = 1 << 13,     /* ABI 2 */
        ACCESS_TRUNCATE = 1 << 14,  /* ABI 3 */
        ACCESS_IOCTL_DEV = 1 << 15, /* ABI 5 */
        NET_TCP = 3,                /* ABI 4: bind and connect */
        SCOPES = 3,                 /* ABI 6: abstract sockets, signals */
        CREATE_VERSION = 1,
        RULE_PATH_BENEATH = 1,
};

typedef struct ConfineRules {
        uint64_t fs;
        uint64_t net;
        uint64_t scoped;
} ConfineRules;

typedef struct __attribute__((packed)) ConfineBeneath {
        uint64_t allowed;
        int32_t parent;
} ConfineBeneath;

/* Nothing but reading this one file; NULL: nothing. Without Landlock it does nothing and says 0. */
static int confine_landlock(const char *readable, uint8_t *protections) {
        long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);
        ConfineRules rules = {.fs = ACCESS_ALL};
        _cleanup_(closep) int ruleset = -1, file = -1;

        if (abi < 1)
                return 0;
        rules.fs |= (abi >= 2 ? ACCESS_REFER : 0) | (abi >= 3 ? ACCESS_TRUNCATE : 0) |
                    (abi >= 5 ? ACCESS_IOCTL_DEV : 0);
        rules.net = abi >= 4 ? NET_TCP : 0;
        rules.scoped = abi >= 6 ? SCOPES : 0;
        ruleset = (int)syscall(SYS_landlock_create_ruleset, &rules,
                               abi >= 6   ? sizeof(rules)
                               : abi >= 4 ? offsetof(ConfineRules, scoped)
                                          : offsetof(ConfineRules, net),
                               0);
        if (ruleset < 0)
                return -errno;
        if (readable) {
                ConfineBeneath rule = {.allowed = ACCESS_READ_FILE};

                rule.parent = file = open(readable, O_PATH | O_CLOEXEC);
                if (file < 0 || syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0))
                        return -errno;
        }
        if (syscall(SYS_landlock_restrict_self, ruleset, 0))
                return -errno;
        *protections |= TUNNEL_LANDLOCK;
        return 0;
}

/* ---- seccomp --------------------------------------------------------------------------------- */

/* What the loop, OpenSSL, usrsctp and malloc() ask of the kernel. No file, no program, no socket is made by any of them;
 * descriptors come from musterd. */
static const uint16_t confine_calls[] = {
        SYS_recvmsg,
        SYS_recvfrom,
        SYS_recvmmsg,
        SYS_sendmsg,
        SYS_sendto,
        SYS_sendmmsg,
        SYS_read,
        SYS_write,
        SYS_writev,
        SYS_close,
        SYS_epoll_ctl,
        SYS_epoll_pwait,
        SYS_futex,
        SYS_clock_gettime,
        SYS_clock_nanosleep,
        SYS_gettimeofday,
        SYS_getrandom,
        SYS_brk,
        SYS_munmap,
        SYS_mremap,
        SYS_madvise,
        SYS_exit,
        SYS_exit_group,
        SYS_rt_sigreturn,
        SYS_rt_sigprocmask,
        SYS_restart_syscall,
        SYS_sched_yield,
        SYS_getpid,
        SYS_gettid,
        SYS_sigaltstack,
        SYS_set_robust_list,
        SYS_rseq,
#ifdef __SANITIZE_ADDRESS__
        SYS_sched_getaffinity, /* as its threads begin */
#endif
#ifdef SYS_epoll_wait
        SYS_epoll_wait,
#endif
#ifdef SYS_time
        SYS_time,
#endif
};

enum {
        LOAD = BPF_LD | BPF_W | BPF_ABS,
        IF_EQUAL = BPF_JMP | BPF_JEQ | BPF_K,
        IF_BIT = BPF_JMP | BPF_JSET | BPF_K,
        END = BPF_RET | BPF_K,
        FILTER_MAX = 8 + 2 * ARRAY_SIZE(confine_calls) + 16,
};

typedef struct ConfineFilter {
        unsigned short n;
        struct sock_filter lines[FILTER_MAX];
} ConfineFilter;

static void confine_line(ConfineFilter *filter, struct sock_filter line) {
        filter->lines[filter->n++] = line;
}

static uint32_t confine_otherwise(void) {
        return CONFINE_SANITIZED ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_KILL_PROCESS;
}

/* The low half of an argument, when the number has been found equal: whoever jumps here loads what it compares. */
static struct sock_filter confine_argument(unsigned i) {
        return (struct sock_filter)BPF_STMT(
                LOAD, (unsigned)(offsetof(struct seccomp_data, args) + i * sizeof(uint64_t)));
}

/* Each call of the list is two lines: if it is this one, allow. Memory may be mapped, but not to be executed. The thread of usrsctp may
 * begin only now, and gives itself a name. Calls of another ABI have another arch, those of x32 numbers that are in no list. */
static void confine_write_filter(ConfineFilter *filter) {
        const struct sock_filter allow = BPF_STMT(END, SECCOMP_RET_ALLOW);
        const struct sock_filter refuse = BPF_STMT(END, confine_otherwise());

        *filter = (ConfineFilter){0};
        confine_line(filter, (struct sock_filter)BPF_STMT(LOAD, offsetof(struct seccomp_data, arch)));
        confine_line(filter, (struct sock_filter)BPF_JUMP(IF_EQUAL, CONFINE_ARCH, 1, 0));
        confine_line(filter, (struct sock_filter)BPF_STMT(END, SECCOMP_RET_KILL_PROCESS));
        confine_line(filter, (struct sock_filter)BPF_STMT(LOAD, offsetof(struct seccomp_data, nr)));
        for (size_t i = 0; i < ARRAY_SIZE(confine_calls); i++) {
                confine_line(filter, (struct sock_filter)BPF_JUMP(IF_EQUAL, confine_calls[i], 0, 1));
                confine_line(filter, allow);
        }
        confine_line(filter, (struct sock_filter)BPF_JUMP(IF_EQUAL, SYS_prctl, 0, 4));
        confine_line(filter, confine_argument(0));
        confine_line(filter, (struct sock_filter)BPF_JUMP(IF_EQUAL, PR_SET_NAME, 0, 1));
        confine_line(filter, allow);
        confine_line(filter, refuse);
        confine_line(filter, (struct sock_filter)BPF_JUMP(IF_EQUAL, SYS_mmap, 2, 0));
        confine_line(filter, (struct sock_filter)BPF_JUMP(IF_EQUAL, SYS_mprotect, 1, 0));
        confine_line(filter, refuse);
        confine_line(filter, confine_argument(2));
        confine_line(filter, (struct sock_filter)BPF_JUMP(IF_BIT, PROT_EXEC, 1, 0));
        confine_line(filter, allow);
        confine_line(filter, refuse);
}

static int confine_seccomp(uint8_t *protections) {
        ConfineFilter filter;
        struct sock_fprog program;

        confine_write_filter(&filter);
        program = (struct sock_fprog){filter.n, filter.lines};
        if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
                return -errno;
        *protections |= TUNNEL_SECCOMP | (CONFINE_SANITIZED ? 0 : TUNNEL_SECCOMP_DEADLY);
        return 0;
}

/* ---- in order -------------------------------------------------------------------------------- */

int confine_begin(uint8_t *protections) {
        int r;

        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
                return -errno;
        *protections |= TUNNEL_NO_NEW_PRIVS;
        if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
                return -errno;
        *protections |= TUNNEL_NOT_DUMPABLE;
        r = confine_limits(protections);
        return r ? r : confine_landlock("/dev/urandom", protections);
}

int confine_end(uint8_t *protections) {
        int r = confine_landlock(NULL, protections);

        return r ? r : confine_seccomp(protections);
}

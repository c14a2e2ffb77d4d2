/* SPDX-License-Identifier: MIT */
#include "sandbox/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/macro.h"

/* As the kernel has them; the headers of a distribution are often older than its kernel. */
enum {
        ACCESS_EXECUTE = 1 << 0,
        ACCESS_WRITE_FILE = 1 << 1,
        ACCESS_READ_FILE = 1 << 2,
        ACCESS_READ_DIR = 1 << 3,
        ACCESS_REMOVE_AND_MAKE = 0x1ff << 4, /* remove a folder, a file; make every kind of entry */
        ACCESS_REFER = 1 << 13,              /* ABI 2 */
        ACCESS_TRUNCATE = 1 << 14,           /* ABI 3 */
        ACCESS_IOCTL_DEV = 1 << 15,          /* ABI 5 */

        READ_ACCESS = ACCESS_EXECUTE | ACCESS_READ_FILE | ACCESS_READ_DIR,
        FILE_ACCESS =
                ACCESS_EXECUTE | ACCESS_READ_FILE | ACCESS_WRITE_FILE | ACCESS_TRUNCATE | ACCESS_IOCTL_DEV,

        SCOPE_ABSTRACT_SOCKET =
                1 << 0, /* ABI 6: sockets without a file, which a shared network would lead to */
        SCOPE_SIGNAL = 1 << 1,

        CREATE_VERSION = 1 << 0,
        RULE_PATH_BENEATH = 1,
};

typedef struct Ruleset {
        uint64_t handled_fs;
        uint64_t handled_net;
        uint64_t scoped;
} Ruleset;

typedef struct __attribute__((packed)) PathBeneath {
        uint64_t allowed;
        int32_t parent;
} PathBeneath;

/* 0: this kernel has none, or not for us. */
static int landlock_abi(void) {
        long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);

        return abi < 0 ? 0 : (int)abi;
}

/* Everything that this ABI can govern: what is handled and not granted is denied. */
static Ruleset ruleset_of(int abi) {
        Ruleset set = {.handled_fs =
                               READ_ACCESS | ACCESS_WRITE_FILE | ACCESS_REMOVE_AND_MAKE | ACCESS_REFER};

        if (abi >= 3)
                set.handled_fs |= ACCESS_TRUNCATE;
        if (abi >= 5)
                set.handled_fs |= ACCESS_IOCTL_DEV;
        if (abi >= 6)
                set.scoped = SCOPE_ABSTRACT_SOCKET | SCOPE_SIGNAL;
        return set;
}

static int landlock_add_rule(int ruleset, int fd, uint64_t allowed) {
        PathBeneath rule = {.allowed = allowed, .parent = fd};
        struct stat st;

        if (fstat(fd, &st))
                return -errno;
        if (!S_ISDIR(st.st_mode))
                rule.allowed &= FILE_ACCESS;
        return syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0) ? -errno : 0;
}

static int allow_path(int ruleset, const char *path, uint64_t allowed) {
        _cleanup_(closep) int fd = open(path, O_PATH | O_CLOEXEC);

        return fd < 0 ? -errno : landlock_add_rule(ruleset, fd, allowed);
}

/* What we were started on was opened outside: /dev/stdout leads to it, and it lies below none of our paths.
 * Pipes and sockets have no path and need no rule. Only what is open for writing is granted: the mount it
 * came from is not read-only. */
static int allow_standard(int ruleset, uint64_t handled) {
        for (int fd = 0; fd < 3; fd++) {
                int mode = fcntl(fd, F_GETFL), r;

                if (mode < 0 || (mode & O_ACCMODE) == O_RDONLY)
                        continue;
                r = landlock_add_rule(ruleset, fd, handled & (FILE_ACCESS & ~ACCESS_EXECUTE));
                if (r && r != -EBADFD)
                        return r;
        }
        return 0;
}

int landlock_confine(char *const *writable, size_t n_writable) {
        int abi = landlock_abi(), r;
        Ruleset set = ruleset_of(abi);
        _cleanup_(closep) int ruleset = -1;

        if (abi < LANDLOCK_ABI_MIN)
                return 0;
        ruleset = (int)syscall(SYS_landlock_create_ruleset, &set, sizeof(set), 0);
        if (ruleset < 0)
                return -errno;
        r = allow_path(ruleset, "/", READ_ACCESS);
        if (!r)
                r = allow_standard(ruleset, set.handled_fs);
        for (size_t i = 0; !r && i < n_writable; i++)
                r = allow_path(ruleset, writable[i], set.handled_fs);
        if (r)
                return r;
        return syscall(SYS_landlock_restrict_self, ruleset, 0) ? -errno : 0;
}

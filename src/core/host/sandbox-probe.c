/* SPDX-License-Identifier: MIT */
/*
 * Whether a sandbox can be had here: not by looking at settings, of which there are many, but by making one.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "core/host/sandbox-internal.h"

enum {
        PROBE_MS = 5000,
        LANDLOCK_VERSION = 1, /* LANDLOCK_CREATE_RULESET_VERSION, which old headers do not have */
};

/* By which an administrator forbids what a sandbox needs. */
static const struct {
        const char *path, *bad;
} switches[] = {
        {"/proc/sys/user/max_user_namespaces", "0"},
        {"/proc/sys/kernel/unprivileged_userns_clone", "0"},
        {"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"},
};

/* ---- one run --------------------------------------------------------------------------------- */

static int spawn_attributes(posix_spawnattr_t *attributes) {
        sigset_t none, all;
        int r;

        sigemptyset(&none);
        sigfillset(&all);
        r = posix_spawnattr_setsigmask(attributes, &none);
        if (!r)
                r = posix_spawnattr_setsigdefault(attributes, &all);
        if (!r)
                r = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                                 POSIX_SPAWN_SETPGROUP);
        return r;
}

static int spawn(char *const *argv, int fd_stderr, pid_t *ret) {
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        int r = posix_spawn_file_actions_init(&actions);

        if (r)
                return error_origin(-r);
        r = posix_spawnattr_init(&attributes);
        if (!r) {
                r = spawn_attributes(&attributes);
                for (int fd = 0; !r && fd < 2; fd++)
                        r = posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
                if (!r)
                        r = posix_spawn_file_actions_adddup2(&actions, fd_stderr, 2);
                if (!r)
                        r = posix_spawn(ret, argv[0], &actions, &attributes, argv, environ);
                posix_spawnattr_destroy(&attributes);
        }
        posix_spawn_file_actions_destroy(&actions);
        return r ? error_origin(-r) : 0;
}

/* The wait status; -ETIMEDOUT when it had to be killed. */
static int sandbox_probe_wait_for(pid_t pid, int *ret_status) {
        _cleanup_(closep) int fd = pidfd_open(pid, 0);
        struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
        int n;

        do
                n = fd < 0 ? -1 : poll(&poll_fd, 1, PROBE_MS);
        while (n < 0 && fd >= 0 && errno == EINTR);
        if (n != 1)
                (void)kill(-pid, SIGKILL);
        while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
                ;
        return n == 1 ? 0 : -ETIMEDOUT;
}

/* Its first words, on one line. */
static void read_reason(int fd, char *reason, size_t n_reason) {
        ssize_t n = read(fd, reason, n_reason - 1);

        reason[n > 0 ? n : 0] = 0;
        reason[strcspn(reason, "\r\n")] = 0;
}

/* A word on the switch that usually is the cause. */
static void append_hint(char *reason, size_t n_reason) {
        for (size_t i = 0; i < ARRAY_SIZE(switches); i++) {
                _cleanup_(buf_deinit) Buf text = BUF_NULL;
                size_t n = strlen(reason);

                if (file_read(switches[i].path, 64, &text) == 0 &&
                    str_is(str_trim(buf_str(&text)), switches[i].bad))
                        snprintf(reason + n, n_reason - n, " (%s is %s)", switches[i].path, switches[i].bad);
        }
}

/* 0 with an empty reason: it works. */
static int run_once(char *const *argv, char *reason, size_t n_reason) {
        int pair[2], status = 0, r;
        pid_t pid;

        if (pipe2(pair, O_CLOEXEC | O_NONBLOCK))
                return error_origin(-errno);
        r = spawn(argv, pair[1], &pid);
        close_fd(pair[1]);
        if (r)
                snprintf(reason, n_reason, "%s cannot be run: %s", argv[0], strerror(-r));
        else if (sandbox_probe_wait_for(pid, &status))
                snprintf(reason, n_reason, "bubblewrap did not answer within %d ms", PROBE_MS);
        else if (status) {
                read_reason(pair[0], reason, n_reason);
                if (!reason[0])
                        snprintf(reason, n_reason, "bubblewrap ended with wait status %d", status);
                append_hint(reason, n_reason);
        }
        close_fd(pair[0]);
        return 0;
}

static int try_network(const char *helper, const SandboxProbe *probe, SandboxNetwork network, char *reason,
                       size_t n_reason) {
        _cleanup_(strvec_deinit) StrVec argv = {0};
        int r = sandbox_base(&argv, helper, probe->program, probe->slirp, "probe", network);

        if (!r)
                r = sandbox_push(&argv, "--ro-bind", helper, helper, "--", helper, "confine", "--write",
                                 "/tmp", "--write", "/dev", "--", "true", NULL);
        if (!r)
                r = sandbox_terminate(&argv);
        if (!r)
                r = run_once(argv.items, reason, n_reason);
        return error_trace(r);
}

/* ---- what is known already ------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, const void *data, size_t n) {
        const unsigned char *bytes = data;

        for (size_t i = 0; i < n; i++)
                hash = (hash ^ bytes[i]) * 0x100000001b3u;
        return hash;
}

static uint64_t mix_file(uint64_t hash, const char *path) {
        struct stat st;

        if (stat(path, &st))
                return mix(hash, "?", 1);
        hash = mix(hash, path, strlen(path) + 1);
        hash = mix(hash, &st.st_dev, sizeof(st.st_dev));
        hash = mix(hash, &st.st_ino, sizeof(st.st_ino));
        hash = mix(hash, &st.st_size, sizeof(st.st_size));
        hash = mix(hash, &st.st_mtim, sizeof(st.st_mtim));
        return mix(hash, &st.st_ctim, sizeof(st.st_ctim));
}

/* Of everything a result of the probe stands on that can be looked at without running it. Never 0. */
static uint64_t fingerprint(const char *helper, const char *program) {
        uint64_t hash = mix_file(mix_file(0xcbf29ce484222325u, helper), program);

        for (size_t i = 0; i < ARRAY_SIZE(switches); i++) {
                _cleanup_(buf_deinit) Buf text = BUF_NULL;

                if (file_read(switches[i].path, 64, &text) == 0)
                        hash = mix(hash, text.data, text.n);
                hash = mix(hash, "", 1);
        }
        return hash | 1;
}

static int try_networks(const char *helper, SandboxNetwork network, SandboxProbe *ret) {
        int r = try_network(helper, ret, SANDBOX_NETWORK_HOST, ret->reason, sizeof(ret->reason));

        ret->is_available = !r && !ret->reason[0];
        if (!ret->is_available || network == SANDBOX_NETWORK_HOST) {
                ret->has_network = ret->is_available;
                return error_trace(r);
        }
        if (network == SANDBOX_NETWORK_OWN && !ret->slirp)
                snprintf(
                        ret->network_reason, sizeof(ret->network_reason),
                        "a network of its own (veth) needs slirp4netns, which is not installed; install it, "
                        "or say network.mode = \"host\" or \"none\"");
        else
                r = try_network(helper, ret, network, ret->network_reason, sizeof(ret->network_reason));
        ret->has_network = !r && !ret->network_reason[0];
        return error_trace(r);
}

static void find_programs(SandboxNetwork network, SandboxProbe *ret) {
        const char *folders = getenv("PATH");

        folders = folders ? folders : "/usr/bin:/bin";
        ret->program = path_search(folders, "bwrap");
        if (network == SANDBOX_NETWORK_OWN)
                ret->slirp = path_search(folders, "slirp4netns");
}

int sandbox_probe(const char *helper, SandboxNetwork network, SandboxKnown *known, SandboxProbe *ret) {
        long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION);
        uint64_t now;
        int r;

        *ret = (SandboxProbe){.landlock = abi < 0 ? 0 : (int)abi};
        find_programs(network, ret);
        if (!ret->program) {
                snprintf(ret->reason, sizeof(ret->reason), "bubblewrap (bwrap) is not installed");
                return 0;
        }
        now = fingerprint(helper, ret->program);
        if (known->fingerprint != now)
                *known = (SandboxKnown){0};
        if (known->has[network] && (network != SANDBOX_NETWORK_OWN || ret->slirp)) {
                ret->is_available = ret->has_network = true;
                return 0;
        }
        r = try_networks(helper, network, ret);
        known->fingerprint = !r && ret->is_available ? now : 0;
        known->has[SANDBOX_NETWORK_HOST] = !r && ret->is_available;
        known->has[network] = !r && ret->has_network;
        return error_trace(r);
}

void sandbox_probe_deinit(SandboxProbe *probe) {
        free(probe->program);
        free(probe->slirp);
        *probe = (SandboxProbe){0};
}

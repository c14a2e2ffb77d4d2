/* SPDX-License-Identifier: MIT */
/*
 * Whether a sandbox can be had here: not by looking at settings, of which there are many, but by making one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/error.h"
#include "base/file.h"
#include "core/exec.h"
#include "core/sandbox/sandbox-internal.h"

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
        _cleanup_(exec_result_deinit) ExecResult result = EXEC_RESULT_NULL;
        int r = exec_run(&(ExecSpec){.argv = argv, .limit_ms = PROBE_MS, .n_max = n_reason}, &result);

        if (r == -ETIMEDOUT)
                snprintf(reason, n_reason, "bubblewrap did not answer within %d ms", PROBE_MS);
        else if (r)
                snprintf(reason, n_reason, "%s cannot be run: %s", argv[0], strerror(-r));
        else if (result.status) {
                Str line = exec_first_line(&result);

                if (line.n)
                        snprintf(reason, n_reason, STR_FMT, STR_ARG(line));
                else
                        snprintf(reason, n_reason, "bubblewrap ended with wait status %d", result.status);
                append_hint(reason, n_reason);
        }
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

static uint64_t sandbox_mix_file(uint64_t hash, const char *path) {
        struct stat st;

        if (stat(path, &st))
                return hash_bytes(hash, "?", 1);
        hash = hash_bytes(hash, path, strlen(path) + 1);
        hash = hash_bytes(hash, &st.st_dev, sizeof(st.st_dev));
        hash = hash_bytes(hash, &st.st_ino, sizeof(st.st_ino));
        hash = hash_bytes(hash, &st.st_size, sizeof(st.st_size));
        hash = hash_bytes(hash, &st.st_mtim, sizeof(st.st_mtim));
        return hash_bytes(hash, &st.st_ctim, sizeof(st.st_ctim));
}

/* Of everything a result of the probe stands on that can be looked at without running it. Never 0. */
static uint64_t fingerprint(const char *helper, const char *program) {
        uint64_t hash = sandbox_mix_file(sandbox_mix_file(HASH_START, helper), program);

        for (size_t i = 0; i < ARRAY_SIZE(switches); i++) {
                _cleanup_(buf_deinit) Buf text = BUF_NULL;

                if (file_read(switches[i].path, 64, &text) == 0)
                        hash = hash_bytes(hash, text.data, text.n);
                hash = hash_bytes(hash, "", 1);
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

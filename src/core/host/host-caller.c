/* SPDX-License-Identifier: MIT */
/*
 * Whether a process that calls us runs in a sandbox of ours. The sign that it cannot lose is its PID
 * namespace: bubblewrap makes one for each sandbox, and what forks away inside stays in it, below the first
 * process there, which is bubblewrap's child and so below a shim. Other programs make PID namespaces, too
 * (containers): what is not below a shim is none of ours.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "core/host/host-internal.h"

enum {
        CALLER_STEPS_MAX = 32, /* from a process up to the first one: deeper ones are not believed */
        CALLER_TRIES = 3,      /* a parent may end while we look */
};

bool hosted_is_sandboxed(const Hosted *hosted) {
        return strcmp(hosted->sandbox ? hosted->sandbox : "unknown", "none") != 0;
}

int host_expose(const Hosted *hosted, TrustNote *ret) {
        _cleanup_(freep) char *folder = path_resolve(hosted->workspace);

        return folder ? error_trace(trust_expose(hosted->host->daemon->trust, folder, ret))
                      : error_origin(-ENOMEM);
}

static bool caller_may_live_in(const Hosted *hosted) {
        return hosted_is_sandboxed(hosted) && hosted->state != HOSTED_ENDED &&
               hosted->state != HOSTED_FAILED;
}

bool host_has_sandboxed(const Host *host) {
        const Hosted *hosted = host->first;

        while (hosted && !caller_may_live_in(hosted))
                hosted = hosted->next;
        return hosted || host->has_strays;
}

/* There may be one whose shim we do not know. */
static bool host_has_unknown(const Host *host) {
        const Hosted *hosted = host->first;

        while (hosted && !(hosted->state == HOSTED_LOST && hosted_is_sandboxed(hosted)))
                hosted = hosted->next;
        return hosted || host->has_strays;
}

/* Of another daemon's shim nobody can tell here. */
static bool shim_holds_sandbox(const Host *host, pid_t shim) {
        const Hosted *hosted = host->first;

        while (hosted && !(hosted->record && hosted->record->shim_pid == shim))
                hosted = hosted->next;
        return !hosted || hosted_is_sandboxed(hosted);
}

/* Condition: -ESRCH, somebody on the way has ended. */
static int caller_climb(const Host *host, pid_t pid, bool *ret) {
        *ret = true;
        for (int i = 0; i < CALLER_STEPS_MAX; i++) {
                ProcessStatus status;
                int r = process_status(pid, &status);

                if (r)
                        return r;
                if (!strcmp(status.name, SHIM_PROGRAM) && shim_holds_sandbox(host, pid))
                        return 0;
                if (status.parent <= 1) {
                        *ret = false;
                        return 0;
                }
                pid = status.parent;
        }
        return 0;
}

bool host_is_sandboxed_caller(const Host *host, pid_t pid) {
        ProcessStatus status;
        bool is_below = true;

        if (!pid)
                return false; /* from a namespace beside or above ours, while sandboxes are below */
        if (process_status(pid, &status))
                return true;
        if (status.n_namespaces == 1)
                return false;
        if (host_has_unknown(host))
                return true;
        for (int i = 0; i < CALLER_TRIES; i++)
                if (!caller_climb(host, pid, &is_below))
                        return is_below;
        return true;
}

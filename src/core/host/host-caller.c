/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "core/host/host-internal.h"

/*
 * Which process of a sandbox is the one that people mean: bubblewrap and our own helper stand before it.
 */

enum { HELPERS_MAX = 6 };

static bool is_helper(pid_t pid) {
        char name[32];

        return process_read(pid, "comm", name, sizeof(name)) > 0 &&
               (!strcmp(name, "bwrap\n") || !strncmp(name, "muster-sandbox", 14));
}

/* What carries the network of a sandbox is a child of bubblewrap, too. */
static bool is_carrier(pid_t pid) {
        char name[32];

        return process_read(pid, "comm", name, sizeof(name)) > 0 && !strcmp(name, "slirp4netns\n");
}

static pid_t first_child(pid_t pid) {
        char name[64], text[64], *end = text;

        snprintf(name, sizeof(name), "task/%d/children", (int)pid);
        if (process_read(pid, name, text, sizeof(text)) <= 0)
                return 0;
        for (pid_t child; (child = (pid_t)strtol(end, &end, 10)) > 0;)
                if (!is_carrier(child))
                        return child;
        return 0;
}

/* 0: it is on its way in, or out. */
static pid_t host_agent_look(const Hosted *hosted) {
        pid_t pid = hosted->pid;

        for (int i = 0; i < HELPERS_MAX && pid > 0 && is_helper(pid); i++)
                pid = first_child(pid);
        return MAX(pid, 0);
}

/* Looked for until it is found: a program keeps its number whatever it becomes. */
bool hosted_has_agent(Hosted *hosted) {
        if (!hosted->agent_pid && hosted->state == HOSTED_RUNNING)
                hosted->agent_pid =
                        strcmp(hosted->sandbox, "none") != 0 ? host_agent_look(hosted) : hosted->pid;
        return hosted->agent_pid > 0;
}

pid_t hosted_agent_pid(Hosted *hosted) {
        return hosted_has_agent(hosted) ? hosted->agent_pid : hosted->pid;
}

/*
 * Whether a process that calls us runs in a sandbox of ours. The sign that it cannot lose is its PID
 * namespace: bubblewrap makes one for each sandbox, and what forks away inside stays in it, below the first
 * process there, which is bubblewrap's child and so below a shim. Other programs make PID namespaces, too
 * (containers): what is not below a shim is none of ours.
 */

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

/*
 * Which hosted process a caller belongs to, in a sandbox or not.
 */

enum { CALLER_DEPTH_MAX = 256 };

static bool caller_may_be(const Hosted *hosted) {
        return hosted->state != HOSTED_ENDED && hosted->state != HOSTED_FAILED;
}

bool host_has_callers(const Host *host) {
        const Hosted *hosted = host->first;

        while (hosted && !caller_may_be(hosted))
                hosted = hosted->next;
        return hosted;
}

static Hosted *caller_of_process(const Host *host, pid_t pid) {
        Hosted *hosted = host->first;

        while (hosted && !(caller_may_be(hosted) &&
                           (hosted->pid == pid || (hosted->record && hosted->record->shim_pid == pid))))
                hosted = hosted->next;
        return hosted;
}

static Hosted *caller_of_cgroup(Host *host, pid_t pid) {
        char text[1024];
        const char *at = text;

        if (!host->cgroups.folder || process_read(pid, "cgroup", text, sizeof(text)) <= 0)
                return NULL;
        while ((at = strstr(at, "/hosted-"))) {
                Str id = {at + strlen("/hosted-"), strspn(at + strlen("/hosted-"), "0123456789abcdef")};
                Hosted *hosted = host_find(host, id);

                if (hosted && hosted->cgroup)
                        return hosted;
                at++;
        }
        return NULL;
}

static int caller_find_above(const Host *host, pid_t pid, Hosted **ret) {
        for (int i = 0; i < CALLER_DEPTH_MAX; i++) {
                ProcessStatus status;

                *ret = caller_of_process(host, pid);
                if (*ret || pid <= 1)
                        return 0;
                if (process_status(pid, &status))
                        return -ESRCH;
                pid = status.parent;
        }
        return -ESRCH;
}

int host_find_caller(Host *host, pid_t pid, Hosted **ret, bool *ret_by_cgroup) {
        *ret = caller_of_cgroup(host, pid);
        *ret_by_cgroup = *ret;
        for (int i = 0; !*ret && i < CALLER_TRIES; i++)
                if (!caller_find_above(host, pid, ret))
                        return 0;
        return *ret ? 0 : error_origin(-ESRCH);
}

Hosted *host_find_token(Host *host, Str token) {
        Hosted *hosted = host->first;
        char hash[SHA256_HEX_MAX];

        if (token.n != HOST_TOKEN_DIGITS || sha256_hex(token, hash))
                return NULL;
        while (hosted && !(caller_may_be(hosted) && !strcmp(hosted->token, hash)))
                hosted = hosted->next;
        return hosted;
}

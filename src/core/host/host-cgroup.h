#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Control groups of hosted processes: one each, below a folder of the unified hierarchy that was given to
 * this daemon, for limits on memory and processes and for an end that nothing escapes.
 *
 * The folder is the one that the configuration names, or the parent of our own group when the service
 * manager has delegated it (Delegate= with DelegateSubgroup=). We never move ourselves: a folder with
 * processes of its own cannot have groups with limits in it. Without a folder there are no groups; what a
 * limit needs then is said by host_missing_limit(), and nothing is limited by half.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/loop/loop.h"

typedef struct HostCgroups {
        char *folder; /* NULL: none */
        bool has_memory, has_pids;
} HostCgroups;

typedef struct HostedLimits {
        int64_t memory_max; /* bytes; 0: no limit */
        int64_t n_pids;     /* processes and threads; 0: no limit */
} HostedLimits;

/* Which folder there is. said: by the configuration; "none": use none; NULL: find out. */
int cgroups_open(HostCgroups *cgroups, const char *said);
void cgroups_deinit(HostCgroups *cgroups);

/* These may block for a moment: for workers and the start. */
int cgroup_create(const char *path, const HostedLimits *limits);
void cgroup_kill(const char *path);               /* everything in it, at once */
void cgroup_remove(Loop *loop, const char *path); /* as soon as nothing is in it any more, within 2.5 s */
/* How many processes and threads our user has: what RLIMIT_NPROC counts. */
int64_t count_user_threads(void);

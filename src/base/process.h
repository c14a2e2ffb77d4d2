#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Another process as /proc tells of it: for texts that name it to people. /proc is memory, so this may be
 * asked on the loop. Nothing here says that the number still belongs to the same process.
 */
#include <sys/types.h>

enum { PROCESS_NAME_MAX = 64 }; /* with its NUL */

/* What /proc/PID/name begins with, n - 1 bytes at most, with a NUL behind it; its length, negative: none. */
ssize_t process_read(pid_t pid, const char *name, char *out, size_t n);
typedef struct ProcessStatus {
        char name[16]; /* of the kernel: cut, and "" when it cannot be read */
        pid_t parent;
        unsigned n_namespaces; /* PID namespaces that it is in, from ours on; 1: it is in ours only */
} ProcessStatus;

/* From /proc/PID/status, which also tells of processes that may not be looked into, and of those that have
 * ended and wait for their parent. -ESRCH: there is none, or it does not say. */
int process_status(pid_t pid, ProcessStatus *ret);
/* The program's name as people know it: of an interpreter (python3 -m cccc.cli) the script or module it
 * runs. "" when there is no such process. */
void process_name(pid_t pid, char out[PROCESS_NAME_MAX]);

#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Starts musterd in the background and waits until it says that it is ready (sd_notify protocol).
 *
 * The daemon gets a session of its own, /dev/null as stdin and the log file as stdout and stderr, and keeps
 * the working directory and the environment, but for what says who our caller is. A helper process stands
 * between us and it: it learns how the daemon ended if it ends early, and goes away with us, so that the
 * daemon is never our child.
 */
#include <stdint.h>
#include <sys/types.h>

typedef struct Launch {
        const char *log_path; /* appended to */
        char **flags;         /* for musterd */
        int n_flags;
        int64_t deadline_ms;
} Launch;

typedef struct LaunchOutcome {
        pid_t pid;      /* of the daemon; 0: not known */
        int status;     /* LAUNCH_E_ENDED: as waitpid() has it */
        int exec_errno; /* LAUNCH_E_NO_PROGRAM */
        off_t log_mark; /* where the log file ended before */
} LaunchOutcome;

enum {
        _LAUNCH_E_SUCCESS,
        LAUNCH_E_NO_PROGRAM, /* musterd cannot be executed */
        LAUNCH_E_ENDED,      /* it ended before it was ready */
        LAUNCH_E_TIMEOUT,    /* it goes on starting */
};

int launch(const Launch *from, LaunchOutcome *ret);

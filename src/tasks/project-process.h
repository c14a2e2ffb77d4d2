#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * ProjectProcess: the process that stands for a project in its pid file, heartbeat and status, so that a
 * signal to that pid reaches this project and nothing else of the daemon (docs/decisions/0021).
 *
 * A muster-project per served project; none, and the daemon's own pid, when the daemon stands in for the
 * original of one project and serves nothing else. It cannot outlive the daemon: it ends with the connection
 * between the two. Embedded in its Project. Loop thread only.
 */
#include <sys/types.h>

#include "base/loop/loop.h"

typedef struct Project Project;

typedef struct ProjectProcess {
        pid_t pid; /* 0: none, or reaped */
        int fd;    /* -1: closed */
        LoopFd *watch;
        LoopChild *child;
        void (*ended)(Project *project); /* whoever waits for its end; NULL: nobody */
} ProjectProcess;

int project_process_start(Project *project);
/* ended() when it is gone and reaped, perhaps at once. */
void project_process_end(Project *project, void (*ended)(Project *project));
/* The same without waiting: after a start that came to nothing, or when the daemon goes. */
void project_process_drop(Project *project);
/* What clients take for the daemon's. */
pid_t project_pid(const Project *project);

#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * A start under way: the command, its environment and what the host is to remember, until the process runs.
 * Shared by pty-start.c and pty-sandbox.c.
 */
#include "sessions/sessions.h"

typedef struct PtyStart {
        Pty *pty;
        Program program;
        const char *sandbox; /* mode, static text */
        unsigned cols, rows;
} PtyStart;

void pty_start_free(PtyStart *start);
void pty_start_run(PtyStart *start); /* hands it to the host; takes start */
/* Puts the sandbox around argv, on a worker; pty_start_run() or pty_failed() follow. Takes start on success.
 */
int pty_sandbox(PtyStart *start);

#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Evaluation: a program that judges whether a rule may be proposed, run while its call waits: with the environment of
 * the connection, in the workspace or in a repository of this machine, without input. It is no session: it has no record,
 * and goes with the daemon. One at a time in a daemon, so that those who only want a short answer from a program find a
 * worker; the others wait in order.
 */
#include "company/workspace.h"
#include "core/exec.h"
#include "core/op.h" /* StrList */

enum {
        EVALUATION_LIMIT_MS = 30 * 60 * 1000, /* as an attempt of a job */
        EVALUATION_OUTPUT_MAX = 4 << 20,      /* bytes kept of each output; more is read and dropped */
        EVALUATIONS_MAX = 64,                 /* that wait; another one is refused */
};

typedef struct Evaluation Evaluation;
struct Evaluation { /* in its call's arena */
        LaneItem item;
        Call *call;
        Workspace *workspace;
        const StrList *argv;
        const Json *env;                     /* over the connection's; NULL: nothing */
        Str repo_id, workdir_rel;            /* empty: in the workspace itself */
        int (*then)(Evaluation *evaluation); /* on the loop; returns as a handler does */

        /* What came of it. */
        int64_t started_us, started_ms;
        int r; /* 0; -ETIMEDOUT: it was killed; else it did not begin, and why says it */
        Str why;
        ExecResult result;          /* it is freed after then(), and not touched by it */
        char **list, **environment; /* private */
};

void evaluations_init(Company *company);
/* then() follows in a later turn. CALL_LATER, or as a handler returns. */
int evaluation_run(Evaluation *evaluation);
bool evaluation_has_passed(const Evaluation *evaluation);
int evaluation_exit_code(const Evaluation *evaluation);      /* -1: none */
const char *evaluation_signal(const Evaluation *evaluation); /* SIGTERM, …; NULL: none */

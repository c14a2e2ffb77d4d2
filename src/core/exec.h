#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Exec: a short child process on a worker: a probe, a question to another program. It gets no input and no
 * terminal. Its whole process group is killed when its time is over, and whatever it left behind when it has
 * ended. It does not outlive a daemon that is killed; what it has started itself may. What it prints beyond
 * the bound is read and dropped.
 *
 * It blocks: run it through loop_work_slow(). Not for agents and shells, which are hosted (core/host).
 */
#include <stdbool.h>

#include "base/buf.h"

typedef struct ExecSpec {
        char *const *argv;  /* argv[0]: the path of the program */
        char *const *env;   /* NULL: the daemon's own */
        const char *folder; /* NULL: the daemon's own */
        int limit_ms;
        size_t n_max; /* bytes kept of each output */
        const _Atomic bool
                *is_off; /* it is looked at often: once it is set the child is killed; NULL: never */
} ExecSpec;

typedef struct ExecResult {
        int status; /* as waitpid() has it; 0: it ended well */
        Buf out, err;
} ExecResult;

#define EXEC_RESULT_NULL ((ExecResult){0})

/* 0: it ran, with whatever status. -ETIMEDOUT: it was killed; -ECANCELED: as well, by is_off. Otherwise it could not be started. */
int exec_run(const ExecSpec *spec, ExecResult *ret);
void exec_result_deinit(ExecResult *result);
/* Its first words, on one line: of stderr, or of stdout when there are none. */
Str exec_first_line(const ExecResult *result);

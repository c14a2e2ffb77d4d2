#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Program: what a hosted process is started with, whatever domain it belongs to: the words of its command, its
 * environment, its folder, what is kept about it. A domain fills one, has a sandbox put around it or not
 * (core/sandbox/sandbox-job.h), and gives it to the host, which copies it. It is not the process, which is a
 * Hosted. Owned by whoever fills it. Zeroed is empty.
 *
 * The layers of the environment, the later over the earlier (docs/decisions/0022-environment.md):
 *
 *   program_env_base(), or the list of a contract
 *   program_env_over(): what the daemon gives to all, then what the caller had
 *   the domain: what a document says, what was asked for by name, who it is
 *   program_exec_env(), in host_start(): the mark and where the daemon is, in front, whatever the others said
 */
#include "base/buf.h"
#include "base/strvec.h"
#include "core/daemon.h"

#define PROGRAM_TERM "xterm-256color" /* what our terminals are, for programs that are not told otherwise */

typedef struct Program {
        StrVec argv;
        StrVec env;      /* the whole environment, but for what the host puts in front */
        Buf meta;        /* JSON object, the domain's own; the host stores it and never looks into it */
        char *workspace; /* working directory; must exist */
        char *command;   /* for people; NULL: argv[0] */
        bool has_hooks;  /* it is started with hooks of ours (core/tools.h) */
} Program;

void program_deinit(Program *program);
int program_set_place(Program *program, const char *workspace, const char *command); /* copies; once */

/* Our own environment for those that get one like it: without what leads a daemon (MUSTER_*, CCCC_*, COOP_*,
 * the service manager's), which may also be the identity of a process that we were started from. */
int program_env_base(StrVec *env);
int program_env_over(StrVec *env, const Daemon *daemon,
                     const StrVec *caller); /* caller: NULL, if there is none */

/* For core/host. The lists end with NULL; the caller frees them. NULL without memory. */
char **program_exec_argv(const Program *program, const char *const *before, size_t n_before);
typedef struct ProgramMarks {
        const char *dir;     /* the folder of the process, by which it is found again */
        const char *sandbox; /* "none" or "bwrap" */
        const char *token;   /* by which it says who it is */
} ProgramMarks;
char **program_exec_env(const Program *program, const Daemon *daemon, const ProgramMarks *marks);
char **program_list_free(char **list);

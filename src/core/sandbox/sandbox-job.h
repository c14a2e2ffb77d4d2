#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * A command put into a sandbox, for every domain that hosts one: looks whether a sandbox can be had, covers
 * our own sockets, adds what the command's runtime needs to be logged in, and hides the user's secrets. On a
 * worker, since all of that reads the disk. What was asked for and cannot be had is an error by name; there
 * is no fallback.
 */
#include "core/daemon.h"
#include "core/host/host.h"
#include "core/sandbox/sandbox.h"

/* Everything is copied. */
typedef struct SandboxAsk {
        const char *name;
        const Program *program; /* its argv, environment and workspace */
        const char *command;    /* its first word says which runtime it is */
        SandboxNetwork network;
        const SandboxMount *defaults, *mounts, *persist; /* as in SandboxSpec */
        size_t n_defaults, n_mounts, n_persist;
        const StrVec *hide; /* NULL: sandbox_secrets() */
        bool has_no_login;  /* nothing is mounted for the runtime */
} SandboxAsk;

typedef struct SandboxJob SandboxJob;

struct SandboxJob {
        Daemon *daemon;
        void *user;
        void (*done)(SandboxJob *job);
        int error;           /* CALL_E_*: refused, problem says why; 0: argv is there */
        const char *problem; /* for people */
        StrVec argv;         /* without a NULL behind it; sandbox_job_take() */
        StrVec notes;        /* for people, a line each; done() may take them */

        /* private */
        SandboxSpec spec;
        StrVec texts, command, env, hidden, conceal;
        SandboxMount *mounts; /* defaults, mounts and persist, one behind the other */
        char *helper, *runtime;
        SandboxKnown known;
        SandboxReport report;
        int r;
};

/* done() follows in a later turn, always; the job is gone when it returns. */
int sandbox_job_start(Daemon *daemon, const SandboxAsk *ask, void (*done)(SandboxJob *job), void *user);
/* In done(), without an error: the program is from now on what was asked for with the sandbox around it. Says
 * the notes to the log, about this id. */
void sandbox_job_take(SandboxJob *job, Program *program, const char *id);
/* A process has ended by itself. If it was one in a sandbox, soon after its start and not well, it may have
 * been the sandbox: what the last look found out is no longer believed. */
void sandbox_note_end(Daemon *daemon, const Hosted *hosted);
/* What is hidden unless somebody says otherwise: keys, tokens and the logins of all known runtimes. */
int sandbox_secrets(StrVec *ret);

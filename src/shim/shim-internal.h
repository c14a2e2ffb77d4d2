#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * muster-shim: one tiny process per hosted process. It opens the terminal or the pipes, starts the command,
 * keeps duplicates of the descriptors, reaps, and reads the output into the ring while no daemon does. It
 * allocates nothing after its start and wakes only when something happened.
 */
#include <stdbool.h>

#include "core/host/ring.h"
#include "core/host/shim.h"

enum { SHIM_REOPEN_MS = 50 }; /* how often a terminal that nobody has open is looked at */

typedef struct ShimArgs {
        const char *dir;
        ShimKind kind;
        bool has_no_input;      /* pipes: stdin is /dev/null */
        const char *stdin_path; /* pipes: stdin is this file; NULL: it is not */
        unsigned cols, rows;
        const char *cwd;
        const char *cgroup;        /* folder of a cgroup for the child; "": none */
        unsigned long n_files;     /* RLIMIT_NOFILE of the child; 0: as it is */
        unsigned long n_processes; /* RLIMIT_NPROC of the child; 0: as it is */
        char **argv;
} ShimArgs;

typedef struct Shim {
        ShimRecord *record;
        Ring out, err;
        int dir_fd;
        int cgroup;   /* folder of the child's cgroup; -1: none */
        int signals;  /* signalfd: SIGCHLD */
        int listener; /* where a later daemon connects */
        int control;  /* the daemon; -1: none, and we drain */
        int fds[3];   /* PTY: master; pipes: our ends of stdin, stdout, stderr. -1: ended */
        int n_fds;
        pid_t child;
        ShimRecord own; /* what we have put into the record, which others can write */
        Mapping *record_mapping;
        bool child_ended, tree_is_gone, is_released;
        bool lacks_stdin; /* the start failed, because of that file */
        bool is_killing;
        int64_t kill_at_ms;   /* is_killing: when TERM turns into KILL */
        int64_t reopen_at_ms; /* nobody has the terminal open: not looked at before */
} Shim;

/* shim-drain.c: the output, while there is no daemon. Stream 0 is the terminal or stdout, 1 is stderr. */
int shim_output_fd(const Shim *shim, int stream); /* -1: none, or it has ended */
bool shim_may_read(Shim *shim, int stream);       /* false: it would overwrite what is not kept */
void shim_drain(Shim *shim, int stream);          /* one read */
bool shim_drain_rest(Shim *shim); /* of a tree that is gone; false: there was no room for all of it */
void shim_note_kept(Shim *shim);  /* what the daemon has said in the record, if it can be true */
/* shim-start.c: everything up to the running child. Returns 0 or a positive errno. */
int shim_start(Shim *shim, const ShimArgs *args);
/* shim-tree.c */
void shim_kill(Shim *shim, int grace_ms);
void shim_reap(Shim *shim);
int shim_kill_wait_ms(const Shim *shim); /* until the next step of a kill under way; -1: none */
void shim_kill_step(Shim *shim);
int64_t shim_now_ms(void);
int64_t shim_wall_us(void);
/* shim-control.c */
int shim_listen(Shim *shim);
void shim_accept(Shim *shim);
void shim_tell(Shim *shim, uint32_t type, int a, int b);
void shim_tell_started(Shim *shim, int error);
bool shim_hear(Shim *shim); /* false: it had said nothing more */
void shim_mend(Shim *shim); /* files that were cut or overwritten */

#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What the daemon and muster-shim say to each other: the life record of one hosted process (a mapped file)
 * and the messages on the control socket. Both sides are always of the same machine; a record of another
 * version is refused, never guessed at.
 *
 *   daemon                                shim
 *   makes folder, rings, record
 *   starts it, control socket as fd 3 ──► opens terminal or pipes, forks, execs
 *          ◄── SHIM_STARTED (+ descriptors), or with an errno: it did not start
 *   reads the terminal                    waits for: the child's end, the daemon's words, the daemon's end
 *          ◄── SHIM_EXITED                reaped the child; the status is in the record
 *   SHIM_KILL ──►                         ends the whole tree
 *   SHIM_RELEASE ──►                      the daemon has seen the end: the shim goes
 *   SHIM_CLOSE_INPUT ──►                  closes stdin
 *   (gone)                                settles the ring, drains the terminal into it; a lossless one only
 *                                         as far as nothing is overwritten that is not kept
 *   connects to sock ──►                  stops draining
 *          ◄── SHIM_STARTED (+ descriptors) once more; from here on as above
 */
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

enum { SHIM_VERSION = 1, SHIM_CONTROL_FD = 3, SHIM_RECORD_BYTES = 4096, SHIM_SIZES = 32 };
enum { SHIM_LEVEL = 1 }; /* 1: closes an input, takes it from a file, loses nothing if told so */

typedef enum ShimKind { SHIM_PTY, SHIM_PIPES } ShimKind;

typedef enum ShimState {
        SHIM_STATE_NEW, /* the record is made, nothing runs */
        SHIM_STATE_RUNNING,
        SHIM_STATE_EXITED, /* wait_status holds */
        SHIM_STATE_FAILED, /* never ran; exec_errno holds */
} ShimState;

#define SHIM_PROGRAM "muster-shim" /* as the kernel names the process */

/* Names in the folder of a hosted process. */
#define SHIM_RECORD "record"
#define SHIM_OUT    "out" /* ring of the terminal, or of stdout */
#define SHIM_ERR    "err" /* ring of stderr, pipes only */
#define SHIM_SOCKET "sock"
#define SHIM_META   "meta.json"

/* How far a recording has got; the daemon's own. */
typedef struct ShimRecorded {
        uint64_t position; /* of the ring */
        uint64_t n_bytes;  /* of the file */
        int64_t at_ms;     /* time of the last event */
        uint64_t is_over;
} ShimRecorded;

/* What was printed from a place of the ring on had this size; the daemon's own. */
typedef struct ShimSize {
        uint64_t position;
        uint32_t cols, rows;
} ShimSize;

typedef struct ShimRecord {
        char magic[8]; /* "musshim1" */
        uint32_t version;
        uint32_t kind;
        _Atomic uint32_t state;
        int32_t wait_status;
        int32_t exec_errno;
        int32_t shim_pid, child_pid;
        _Atomic uint32_t is_discarded;    /* by the daemon: to be ended, not adopted */
        uint64_t shim_start, child_start; /* from /proc/PID/stat: with the pid an identity, never without */
        int64_t started_us, ended_us;
        uint64_t boot;                  /* a hash of the boot id: pids of another boot mean nothing */
        _Atomic uint32_t is_stopped;    /* by the daemon: ended for good, but kept */
        _Atomic uint32_t recorded_slot; /* which of the two holds */
        ShimRecorded recorded[2];
        _Atomic uint64_t n_cleared; /* by the daemon: output up to here is not shown any more */
        _Atomic uint32_t n_sizes;   /* that there ever were; the last SHIM_SIZES of them are kept */
        ShimSize sizes[SHIM_SIZES]; /* number i at i % SHIM_SIZES */
        uint32_t is_lossless; /* by the daemon, before the start: what is not kept is not overwritten */
        uint32_t level;       /* by the shim: SHIM_LEVEL; 0 of those that had none */
        _Atomic uint64_t n_kept[2]; /* by the daemon: of stdout and stderr, what is before this may go */
} ShimRecord;

enum {
        SHIM_STARTED = 1, /* to daemon: a = errno (0: runs), b = child's pid; descriptors: master, or stdin
                             stdout stderr */
        SHIM_EXITED,      /* to daemon: a = wait status */
        SHIM_GONE,        /* to daemon: nothing of the tree is left */
        SHIM_KILL,        /* to shim: a = grace in ms between TERM and KILL, 0: KILL at once */
        SHIM_CLOSE_INPUT, /* to shim: pipes: stdin has ended; the daemon has closed its own end */
        SHIM_RELEASE,     /* to shim: end */
};

typedef struct ShimMessage {
        uint32_t type;
        int32_t a, b;
        uint32_t fds; /* SHIM_STARTED: which descriptors come with it: 1 master or stdin, 2 stdout, 4
                         stderr; with an errno 1: it is of the file for stdin */
} ShimMessage;
_Static_assert(sizeof(ShimMessage) == 16, "the wire form");

/* Start time of a process in clock ticks since boot; 0 when there is no such process. No allocation. */
uint64_t shim_start_time(pid_t pid);
uint64_t shim_boot_hash(void);

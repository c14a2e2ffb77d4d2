#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Sandbox: the command line that runs a hosted process apart from the rest of the machine, by bubblewrap, a
 * system call filter and Landlock; and whether that can be had here. It starts nothing but its own probe:
 * what it makes is an argv for host_start(). A mode is asked for by name and is had or refused; there is no
 * second choice. Everything here reads the disk and may make mount points: call it from a worker.
 * docs/sandbox.md is for people who use it.
 *
 *   muster-shim                   on the terminal or pipes of the process
 *     └─ muster-sandbox enter     makes the filter, ignores TERM, becomes:
 *        bwrap --seccomp FD       namespaces; stays, to pass the exit status on
 *   ───────┼────────────────────  from here on: root read-only, own /proc /dev /tmp,
 *          │                      no capabilities, no_new_privs, filter
 *          └─ bwrap               process 1 of the sandbox: reaps
 *             └─ muster-sandbox confine   mounts checked, Landlock; stays, to wait for:
 *                └─ the command   leads a process group in front of the terminal
 *
 * Landlock comes last because it forbids the mounts that bubblewrap makes; bubblewrap does not know it,
 * hence the second step.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/strvec.h"

typedef enum SandboxMode { SANDBOX_NONE, SANDBOX_BWRAP } SandboxMode;
typedef enum SandboxNetwork {
        SANDBOX_NETWORK_HOST,
        SANDBOX_NETWORK_NONE,
        SANDBOX_NETWORK_OWN, /* the world, but not the host's own loopback; by slirp4netns */
        _SANDBOX_NETWORK_N,
} SandboxNetwork;

/* What is wanted for a process, once the words for it were understood. */
typedef struct SandboxWish {
        SandboxMode mode;
        SandboxNetwork network;
} SandboxWish;

enum {
        _SANDBOX_E_SUCCESS,
        SANDBOX_E_WORKSPACE, /* not there, no folder, or one that must not be writable */
        SANDBOX_E_MOUNT,     /* a mount or a persistent folder that is not allowed */
        SANDBOX_E_COMMAND, /* no such program, or not executable: report->command_errno; or, without one, it
                              cannot be seen inside */
};

/* Nothing on the way from the home or the workspace to host may be a link: the agent could have made it. */
typedef struct SandboxMount {
        const char *host, *inside; /* absolute or `~/...` */
        bool is_writable;
        bool is_login;     /* of a known runtime; what is missing is not spoken of */
        bool shows_hidden; /* also what is concealed, if it is that or lies in it: a person asked for it */
        bool is_volume;    /* of persist: made with a copy of what the host has at `inside` */
} SandboxMount;

typedef struct SandboxSpec {
        SandboxMode mode;
        const char *bwrap;     /* SandboxProbe.program */
        const char *slirp;     /* SandboxProbe.slirp, for SANDBOX_NETWORK_OWN */
        const char *helper;    /* the program muster-sandbox */
        const char *name;      /* becomes the host name inside */
        const char *workspace; /* absolute; read-write at the same path */
        const char *home;      /* the user's; the same path inside */
        char *const *env;      /* of the command; only PATH is looked at */
        /* host: must lie in the home or the workspace, also after links are resolved; a missing one is
         * skipped with a warning. */
        const SandboxMount *mounts;
        size_t n_mounts;
        /* host: a folder in the home that is ours, made when missing; inside: below the home. Always
         * writable; is_volume ones may be anywhere inside. After the mounts. */
        const SandboxMount *persist;
        size_t n_persist;
        /* The same, but before the mounts: what is built in gives way to what was asked for. */
        const SandboxMount *defaults;
        size_t n_defaults;
        /* Files and folders to show empty, NULL or ending with NULL: such as our sockets, which no mount may
         * show; and secrets of the user, `~/...` or absolute, which a mount may show that shows_hidden. */
        char *const *hidden, *const *conceal;
        SandboxNetwork network;
} SandboxSpec;

typedef struct SandboxReport {
        StrVec warnings;   /* for people, one line each; also filled on success */
        Buf login;         /* what was mounted for the runtime: "~/.a, ~/.b read-write; ~/.c read-only" */
        char problem[512]; /* for people, with a condition */
        int command_errno; /* SANDBOX_E_COMMAND: ENOENT or EACCES, as exec would say */
} SandboxReport;

typedef struct SandboxProbe {
        bool is_available;
        bool has_network;         /* the one that was asked for */
        char *program;            /* bubblewrap, absolute; NULL: not found */
        char *slirp;              /* slirp4netns, absolute; NULL: not found, or not asked for */
        char reason[512];         /* why it is not available */
        char network_reason[512]; /* why there is no such network */
        int landlock;             /* ABI; 0: this kernel has none, and that layer is left out */
} SandboxProbe;

/* A probe that worked. Zero: nothing is known. Whoever probes again keeps it in between, and forgets it
 * (sets it to zero) when a sandbox did not come up after all. */
typedef struct SandboxKnown {
        uint64_t fingerprint; /* of bubblewrap, the helper and the kernel's switches at that time */
        bool has[_SANDBOX_NETWORK_N];
} SandboxKnown;

int sandbox_mode_from_name(const char *name); /* a SandboxMode, or -EINVAL */
const char *sandbox_mode_name(SandboxMode mode);
int sandbox_network_from_name(const char *name); /* a SandboxNetwork, or -EINVAL */
const char *sandbox_network_name(SandboxNetwork network);

/* Runs a sandbox with `true` in it, with the host's network and with this one, each with a deadline; nothing
 * is run when it is known already that this network can be had. 0 also when nothing can be had: see reason.
 * Call deinit always. */
int sandbox_probe(const char *helper, SandboxNetwork network, SandboxKnown *known, SandboxProbe *ret);
void sandbox_probe_deinit(SandboxProbe *probe);

/* Appends the argv to run instead of argv to ret; a NULL for exec is after its last item, not counted. Mode
 * none: a copy. */
int sandbox_wrap(const SandboxSpec *spec, char *const *argv, StrVec *ret, SandboxReport *report);
void sandbox_report_deinit(SandboxReport *report);

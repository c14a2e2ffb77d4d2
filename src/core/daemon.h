#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Daemon: the one object that everything hangs off. main() owns the only instance; there is no other global
 * state.
 *
 * Core code finds the loop, the log, the configuration and the endpoints here; each domain finds its own
 * root object. Which types of endpoint exist is decided by the program (src/daemon), not here.
 */
#include "base/log/log.h"
#include "base/loop/loop.h"
#include "core/config.h"
#include "core/endpoint.h"
#include "core/environment.h"
#include "core/feed.h"
#include "core/ledger/ledger-totals.h"
#include "core/standstill.h"
#include "wire/conn.h"

typedef struct ActivatedFd {
        char name[32];
        int fd;
} ActivatedFd;

typedef struct Collab Collab;
typedef struct Recorder Recorder;

/* Exit statuses of musterd. */
enum {
        EXIT_STATUS_OK = 0,
        EXIT_STATUS_INTERNAL = 1,
        EXIT_STATUS_USAGE = 2,   /* wrong flags or configuration */
        EXIT_STATUS_RUNNING = 3, /* another daemon has the lock, or serves the only endpoint */
        EXIT_STATUS_BIND = 4,    /* no endpoint could be opened */
        EXIT_STATUS_HOSTED = 5,  /* inside a process that muster hosts, with which it would end */
};

enum {
        DAEMON_STOP_MS = 3000, /* connections that have not taken their last bytes by then are cut */
        DAEMON_ABORT_MS =
                5000, /* workers are left behind when none has come back, or computed, for so long … */
        DAEMON_ABORTS = 4,      /* … or after so many times that */
        DAEMON_BUSY_US = 20000, /* of the processor: who had so much meanwhile computes */
};

struct Daemon {
        Log log;
        Timer log_settle; /* lines were counted instead of written: says so */
        Loop *loop;
        Config config;
        int argc; /* what it was started with: a reload reads the same flags again */
        char **argv;
        char *home;       /* state folder of this instance … */
        char *state_home; /* … which may lie below the one of the user's whole daemon */
        int lock_fd;
        int64_t started_us, started_ms;

        ConnShared shared;
        Turns turns;
        Accounts accounts;
        Endpoint *endpoints;
        Arena envelope; /* of the frame being handled */
        Call *free_calls;
        Recorder *recorder; /* NULL: nothing is recorded */
        uint64_t n_clients;
        uint64_t n_long_bytes; /* of long replies that are under way */
        Feed *feed;            /* what happened, of all domains */

        bool has_test_clock; /* it stands still until daemon.advance turns it */
        bool is_stopping;
        bool is_dismissed; /* somebody asked for the stop, instead of a signal: web servers are forgotten */
        bool ends_agents;  /* the stop ends what is hosted, too */
        void (*stopping)(Daemon *daemon); /* told once, when a stop begins; may be NULL */
        /* Another try for an endpoint that its clients do not find us at; false: there was nothing to do.
         * May be NULL. */
        bool (*reopen)(Endpoint *endpoint);
        int n_stop_limits;     /* how often the limit was reached */
        uint64_t n_stop_done;  /* loop_n_done() when it was */
        int64_t stop_cpu_us;   /* what the workers had had of the processor then */
        unsigned n_stop_holds; /* what a stop has to wait for, besides clients and workers */
        Timer stop_limit, stop_again;
        Deferred stop_check;

        ActivatedFd *activated; /* sockets from the service manager */
        size_t n_activated;

        unsigned long n_files;    /* RLIMIT_NOFILE that we were started with: what hosted processes get */
        char *shim_path;          /* the program muster-shim */
        char *project_path;       /* the program muster-project */
        char *tunnel_path;        /* the program muster-tunnel */
        unsigned n_tunnels;       /* that were opened, ever */
        struct Host *host;        /* hosted processes of all domains; NULL before setup */
        struct Audit *audit;      /* what was refused; NULL: nothing yet */
        struct Servers *servers;  /* web servers that were asked for; NULL before setup */
        struct Tokens *tokens;    /* who may come in over the web; NULL before setup */
        struct Trust *trust;      /* which configuration was accepted; NULL before setup */
        struct WatchHub *watches; /* what all watched folders share; NULL: nothing is watched */

        StrVec env;            /* given to every hosted process, see environment.h */
        bool is_env_changing;  /* it is being written */
        Standstill standstill; /* agents that are to stay down */

        struct ProjectWords *project_words; /* daemon/projects.h; NULL: none */
        struct ProjectSave *project_saves;  /* daemon/op-project.c: one is written, the others wait */

        const struct FleetOwner *const
                *fleet; /* who names what is hosted (core/fleet/fleet.h); NULL: nobody */

        LedgerTotals ledgers;        /* what all of them have kept */
        struct UsageBook *usage;     /* what agents use; NULL before setup */
        struct Limits *limits;       /* of accounts (core/limits/limits.h); NULL before setup */
        struct Agents *agents;       /* what each of them does; NULL before setup */
        struct Load *load;           /* what hosted processes use over time; NULL before setup */
        struct Attention *attention; /* what waits for a person; NULL before setup */
        const struct AttentionKind *const
                *attention_kinds; /* who answers that (core/attention/attention.h); NULL: nobody */

        struct Approvals
                *approvals; /* questions for a person (core/approval/approval.h); NULL before setup */

        Collab *collab; /* domain roots */
        struct Company *company;
        struct Sessions *sessions;
};

int daemon_init(Daemon *daemon); /* loop, pools, accounts; the log and configuration are set before */
void daemon_deinit(Daemon *daemon);
/* A socket that the service manager passed under this name; -1: none. The caller owns it; ours stays, for
 * the endpoint to be opened again. */
int daemon_take_activated(Daemon *daemon, const char *name);

/* Until it has stopped, and nothing of it runs on a worker any more. */
void daemon_serve(Daemon *daemon);
/* Graceful stop of everything; daemon_serve() returns when it is done. */
void daemon_stop(Daemon *daemon, const char *why);
/* We stand in for one original: its stop ends the process and what it runs, as with the original. */
bool daemon_is_stand_in(const Daemon *daemon);
/* A contract's own stop, asked for by a process (0: not known), and how, in words for people (NULL: by its
 * operation): ends that endpoint, and the daemon with it when no other contract is served. */
void daemon_stop_endpoint(Daemon *daemon, Endpoint *endpoint, pid_t by, const char *how);
void daemon_check_stopped(Daemon *daemon); /* a client or endpoint has gone */
/* One more file for the log, bounded as the daemon's own; a link or a FIFO in its place is not taken.
 * Returns the slot. */
int daemon_add_log(Daemon *daemon, const char *path, LogLevel level);
/* A stop waits between the two: something is being brought to its end. */
void daemon_hold_stop(Daemon *daemon);
void daemon_release_stop(Daemon *daemon);

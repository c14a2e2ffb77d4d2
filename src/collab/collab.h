#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Collab: the collaboration domain, rooted in one CCCC home: global settings, the registry of groups, the
 * groups that are loaded.
 *
 * It owns everything below the home except the endpoint's own files in daemon/. Owned by the Daemon; made
 * when the CCCC endpoint first opens, gone with the daemon (calls may still be under way when the endpoint
 * closes).
 */
#include <sys/queue.h>

#include "base/json/json-writer.h"
#include "collab/group/group.h"
#include "collab/group/registry.h"
#include "core/client.h"
#include "core/daemon.h"
#include "core/lane.h"

/* Who asked last: a client that asks a thousand times a second is looked at once. Part of Collab. */
typedef struct Original {
        pid_t pid;
        int64_t until_ms; /* how long that is believed */
        bool is_it;
} Original;

enum { COLLAB_BUCKETS = 256 };

struct Collab {
        Daemon *daemon;
        char *home;
        char *settings_path;         /* settings.yaml */
        char *groups_path;           /* groups/ */
        char *active_path;           /* active.json */
        char *trash_path;            /* trash/: folders of deleted groups */
        char *crossings_path;        /* daemon/crossings/ */
        struct ApprovalChat *chat;   /* approvals of actors, told in their groups */
        struct Crossings *crossings; /* those of an earlier daemon that are being finished; NULL: none */
        char *events_path;           /* daemon/ccccd.events.jsonl */
        char *events_lock_path;      /* daemon/ccccd.events.lock */
        Lane settings;               /* changes of settings.yaml */
        struct ObservabilityJob *setting; /* whose turn it is */
        Original original;                /* who asked for a version last */
        int log_slot;                     /* of ccccd.log; < 0: none */
        char *inputrc_path;               /* daemon/inputrc, for actors */
        size_t n_backlog;                 /* bytes of output kept per terminal */
        struct CallerEnv *callers;        /* environments of who started actors */
        LIST_HEAD(, Runner) runners;      /* all that run, of all groups */
        struct RunnerEnd *ends;           /* actors that ended by themselves and were not started since */
        struct RunnerWait *cleared;       /* starts that wait until is_clearing is over */
        bool is_clearing;                 /* what an earlier daemon left behind is being cleared away */
        bool is_ending;                   /* all runners end: none is started any more */
        Registry registry;
        GroupLook idle;                /* for groups that nobody uses */
        GroupLook compaction;          /* for ledgers that have grown too long */
        Group *groups[COLLAB_BUCKETS]; /* by id */
        size_t n_deliveries;           /* of groups, with those whose own ledger is still closing */
        size_t n_groups;               /* with those that have left the table but are still held */
};

int collab_new(Collab **ret, Daemon *daemon, const char *home);
Collab *collab_free(Collab *collab); /* when the loop no longer turns, before it is freed */
int collab_start(Collab *collab);    /* the endpoint is open; again after each close */
void collab_stop(Collab *collab);    /* it closes; NULL is fine */
void collab_open_log(Collab *collab, const char *path); /* ccccd.log, at the level that the settings say */
void collab_apply_level(Collab *collab,
                        const Json *settings); /* log_level and developer_mode steer ccccd.log */
void collab_close_log(Collab *collab);         /* NULL is fine */
const char *collab_version(
        const Collab *collab); /* what clients are told; see also original_version_for() */

/*
 * The version that ping names, by who asks (docs/decisions/0020-shutdown-keeps-cccc-open.md).
 *
 * The command line of the original replaces a daemon that names another version than its own, and stays with
 * one that names none. So it is told none; so is whoever cannot be looked at (over TCP, from another PID
 * namespace), who may be it. Everybody else is told ours. A configured version is told to all.
 */

/*
 * The groups that are loaded, for the daemon's overview: their actors, who of them runs, and how much mail
 * waits for each, since when and why. Nothing is read from a disk.
 */

void collab_write_busy(const Collab *collab, JsonWriter *w);     /* groups that are being opened */
void collab_write_overview(const Collab *collab, JsonWriter *w); /* "groups": […]; NULL: an empty one */

/* Its actors as the fleet knows them (core/fleet/fleet.h). */
extern const struct FleetOwner fleet_actor;

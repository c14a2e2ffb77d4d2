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
#include <pthread.h>

#include "collab/group-look.h"
#include "collab/group.h"
#include "collab/original.h"
#include "collab/registry.h"
#include "core/daemon.h"

enum { COLLAB_BUCKETS = 256 };

struct Collab {
        Daemon *daemon;
        char *home;
        char *settings_path;           /* settings.yaml */
        char *groups_path;             /* groups/ */
        char *active_path;             /* active.json */
        char *trash_path;              /* trash/: folders of deleted groups */
        char *crossings_path;          /* daemon/crossings/ */
        struct Crossings *crossings;   /* those of an earlier daemon that are being finished; NULL: none */
        char *feed_path;               /* daemon/ccccd.events.jsonl */
        char *feed_lock_path;          /* daemon/ccccd.events.lock */
        pthread_mutex_t settings_lock; /* read-change-write of settings.yaml, on workers */
        Original original;             /* who asked for a version last */
        int log_slot;                  /* of ccccd.log; < 0: none */
        char *inputrc_path;            /* daemon/inputrc, for actors */
        size_t n_backlog;              /* bytes of output kept per terminal */
        struct CallerEnv *callers;     /* environments of who started actors */
        struct Runner *runners;        /* all that run, of all groups */
        struct RunnerEnd *ends;        /* actors that ended by themselves and were not started since */
        struct RunnerWait *cleared;    /* starts that wait until is_clearing is over */
        bool is_clearing;              /* what an earlier daemon left behind is being cleared away */
        bool is_ending;                /* all runners end: none is started any more */
        Registry registry;
        FeedReader events;             /* the feed, for the streams of all groups; in use while n_streamed */
        size_t n_streamed;             /* groups that have streams */
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
                        const Json *settings);    /* log_level and developer_mode steer ccccd.log */
void collab_close_log(Collab *collab);            /* NULL is fine */
const char *collab_version(const Collab *collab); /* what clients are told, see also original.h */

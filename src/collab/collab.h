#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Collab: the collaboration domain, rooted in one CCCC home: global settings today, groups and ledgers
 * later.
 *
 * It owns everything below the home except the endpoint's own files in daemon/. Owned by the Daemon; made
 * when the CCCC endpoint first opens, gone with the daemon (calls may still be under way when the endpoint
 * closes).
 */
#include <pthread.h>

#include "core/daemon.h"

struct Collab {
        Daemon *daemon;
        char *home;
        char *settings_path;           /* settings.yaml */
        char *groups_path;             /* groups/ */
        pthread_mutex_t settings_lock; /* read-change-write of settings.yaml, on workers */
        int log_slot;                  /* of ccccd.log; < 0: none */
};

int collab_new(Collab **ret, Daemon *daemon, const char *home);
Collab *collab_free(Collab *collab);
void collab_open_log(Collab *collab, int fd); /* ccccd.log, at the level that the settings say; takes fd */
void collab_apply_level(Collab *collab,
                        const Json *settings);    /* log_level and developer_mode steer ccccd.log */
void collab_close_log(Collab *collab);            /* NULL is fine */
const char *collab_version(const Collab *collab); /* what clients are told */

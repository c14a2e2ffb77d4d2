/* SPDX-License-Identifier: MIT */
#include "collab/collab.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/file.h"
#include "core/version.h"

int collab_new(Collab **ret, Daemon *daemon, const char *home) {
        Collab *collab = calloc(1, sizeof(*collab));

        if (!collab)
                return error_origin(-ENOMEM);
        collab->daemon = daemon;
        collab->log_slot = -1;
        pthread_mutex_init(&collab->settings_lock, NULL);
        collab->home = strdup(home);
        collab->settings_path = path_join(home, "settings.yaml");
        collab->groups_path = path_join(home, "groups");
        if (!collab->home || !collab->settings_path || !collab->groups_path) {
                collab_free(collab);
                return error_origin(-ENOMEM);
        }
        *ret = collab;
        return 0;
}

void collab_close_log(Collab *collab) {
        if (!collab || collab->log_slot < 0)
                return;
        log_remove(&collab->daemon->log, collab->log_slot);
        collab->log_slot = -1;
}

Collab *collab_free(Collab *collab) {
        if (!collab)
                return NULL;
        collab_close_log(collab);
        pthread_mutex_destroy(&collab->settings_lock);
        free(collab->home);
        free(collab->settings_path);
        free(collab->groups_path);
        free(collab);
        return NULL;
}

const char *collab_version(const Collab *collab) {
        const char *version = collab->daemon->config.cccc_version;

        return version ? version : MUSTER_VERSION;
}

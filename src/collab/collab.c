/* SPDX-License-Identifier: MIT */
#include "collab/collab.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/file.h"
#include "collab/observability.h"
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

void collab_apply_level(Collab *collab, const Json *settings) {
        Str name = json_str(json_get(settings, "log_level"));
        bool is_developer = false;
        LogLevel level = LOG_INFO;

        json_bool(json_get(settings, "developer_mode"), &is_developer);
        if (str_is(name, "DEBUG") || (is_developer && str_is(name, "INFO")))
                level = LOG_DEBUG;
        else if (str_starts(name, STR("WARN")))
                level = LOG_WARNING;
        else if (str_starts(name, STR("ERR")) || str_is(name, "CRITICAL"))
                level = LOG_ERR;
        if (collab->log_slot >= 0)
                log_set_level(&collab->daemon->log, collab->log_slot, level);
}

void collab_open_log(Collab *collab, int fd) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Json *settings;

        collab->log_slot = log_add(&collab->daemon->log, fd, LOG_INFO);
        if (collab->log_slot < 0)
                close_fd(fd);
        else if (!observability_load(&arena, collab->settings_path, NULL, &settings))
                collab_apply_level(collab, settings);
}

const char *collab_version(const Collab *collab) {
        const char *version = collab->daemon->config.cccc_version;

        return version ? version : MUSTER_VERSION;
}

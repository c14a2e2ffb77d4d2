/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "collab/collab"

#include "collab/collab.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "base/file.h"
#include "collab/actor/runner.h"
#include "collab/context/context-internal.h"
#include "collab/delivery/delivery.h"
#include "collab/group/compaction.h"
#include "collab/group/registry.h"
#include "collab/group/trash.h"
#include "collab/message/approval-chat.h"
#include "collab/message/asking.h"
#include "collab/message/crossing.h"
#include "collab/message/inbox.h"
#include "collab/observability.h"
#include "collab/parts.h"
#include "collab/reminder/reminder.h"
#include "collab/stream/announce.h"
#include "collab/stream/stream.h"
#include "core/version.h"

/* 5 s: a disk that hangs at the end is left behind. Turns, because a clock may stand still in tests. */
enum { CLOSE_TURNS = 50000, CLOSE_PAUSE_NS = 100000 };
enum { BACKLOG_DEFAULT = 10 << 20, BACKLOG_MAX = 50000000 };

static bool collab_has_paths(const Collab *collab) {
        return collab->home && collab->settings_path && collab->groups_path && collab->trash_path &&
               collab->active_path && collab->crossings_path && collab->events_path &&
               collab->events_lock_path && collab->inputrc_path;
}

int collab_new(Collab **ret, Daemon *daemon, const char *home) {
        Collab *collab = calloc(1, sizeof(*collab));
        int r;

        if (!collab)
                return error_origin(-ENOMEM);
        collab->daemon = daemon;
        collab->log_slot = -1;
        lane_init(&collab->settings, daemon->loop, &observability_lane);
        collab->home = strdup(home);
        collab->settings_path = path_join(home, "settings.yaml");
        collab->groups_path = path_join(home, "groups");
        collab->trash_path = path_join(home, "trash");
        collab->active_path = path_join(home, "active.json");
        collab->crossings_path = path_join(home, "daemon/crossings");
        collab->events_path = path_join(home, "daemon/ccccd.events.jsonl");
        collab->events_lock_path = path_join(home, "daemon/ccccd.events.lock");
        collab->inputrc_path = path_join(home, "daemon/inputrc");
        collab->n_backlog = BACKLOG_DEFAULT;
        r = collab_has_paths(collab) ? registry_init(&collab->registry, collab) : error_origin(-ENOMEM);
        if (r) {
                collab_free(collab);
                return error_trace(r);
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

/* A daemon that died while it deleted a group may have left it in the registry. */
static int forget_trashed(Collab *collab) {
        _cleanup_(strvec_deinit) StrVec ids = {0};
        int r = trash_ids(collab->trash_path, collab->groups_path, &ids);

        for (size_t i = 0; !r && i < ids.n; i++) {
                RegistryEdit *edit = registry_edit_copy(
                        &(RegistryEdit){.group_id = str_from(ids.items[i]), .is_removal = true});

                if (edit)
                        registry_commit(&collab->registry, edit);
                else
                        r = error_origin(-ENOMEM);
        }
        return error_trace(r);
}

int collab_start(Collab *collab) {
        int r = forget_trashed(collab);

        for (const CollabPart *const *part = collab_parts; !r && *part; part++)
                if ((*part)->started)
                        r = (*part)->started(collab);
        return error_trace(r);
}

void collab_stop(Collab *collab) {
        for (const CollabPart *const *part = collab_parts; collab && *part; part++)
                if ((*part)->stopping)
                        (*part)->stopping(collab);
}

/* Ledgers close on workers, and the registry may be there too: the loop turns a little longer. */
static void collab_settle(Collab *collab, bool (*is_busy)(const Collab *collab), const char *what) {
        for (int i = 0; is_busy(collab); i++) {
                struct timespec pause = {.tv_nsec = CLOSE_PAUSE_NS};
                if (i == CLOSE_TURNS) {
                        log_err(&collab->daemon->log, "-", "%s did not close", what);
                        return;
                }
                loop_turn(collab->daemon->loop);
                nanosleep(&pause, NULL);
        }
}

static bool has_groups(const Collab *collab) {
        return collab->n_groups;
}

static bool has_deliveries(const Collab *collab) {
        return collab->n_deliveries;
}

static bool is_registry_busy(const Collab *collab) {
        return lane_is_active(&collab->registry.lane);
}

static void close_groups(Collab *collab) {
        for (size_t i = 0; i < COLLAB_BUCKETS; i++)
                while (collab->groups[i])
                        group_forget(collab->groups[i]);
        collab_settle(collab, has_groups, "ledgers");
        collab_settle(collab, has_deliveries, "delivery");
}

static bool is_any_busy(const Collab *collab) {
        for (const CollabPart *const *part = collab_parts; *part; part++)
                if ((*part)->is_busy && (*part)->is_busy(collab))
                        return true;
        return false;
}

Collab *collab_free(Collab *collab) {
        if (!collab)
                return NULL;
        collab_settle(collab, is_any_busy, "runners");
        for (const CollabPart *const *part = collab_parts; *part; part++)
                if ((*part)->closed)
                        (*part)->closed(collab);
        collab_settle(collab, is_registry_busy, "registry");
        if (collab->registry.path)
                registry_deinit(&collab->registry);
        close_groups(collab);
        collab_close_log(collab);
        caller_env_free_all(collab);
        lane_deinit(&collab->settings);
        free(collab->home);
        free(collab->settings_path);
        free(collab->groups_path);
        free(collab->trash_path);
        free(collab->active_path);
        free(collab->crossings_path);
        free(collab->events_path);
        free(collab->events_lock_path);
        free(collab->inputrc_path);
        free(collab);
        return NULL;
}

void collab_apply_level(Collab *collab, const Json *settings) {
        Str name = json_str(json_get(settings, "log_level"));
        bool is_developer = false;
        LogLevel level = LOG_INFO;
        int64_t n = 0;

        json_int64(json_get(json_get(settings, "terminal_transcript"), "per_actor_bytes"), &n);
        collab->n_backlog = n <= 0 ? BACKLOG_DEFAULT : (size_t)MIN(n, BACKLOG_MAX);
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

void collab_open_log(Collab *collab, const char *path) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Json *settings;

        collab->log_slot = daemon_add_log(collab->daemon, path, LOG_INFO);
        if (collab->log_slot >= 0 && !observability_load(&arena, collab->settings_path, NULL, &settings))
                collab_apply_level(collab, settings);
}

const char *collab_version(const Collab *collab) {
        const char *version = collab->daemon->config.cccc_version;

        return version ? version : MUSTER_VERSION;
}

/* In the order in which they are told. */
const CollabPart *const collab_parts[] = {
        &runner_part,   &compaction_part,    &context_part,    &inbox_part,
        &announce_part, &delivery_part,      &reminder_part,   &crossing_part,
        &asking_part,   &approval_chat_part, &group_idle_part, NULL,
};

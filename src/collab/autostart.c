/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "collab/autostart"

#include "collab/autostart.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "collab/collab.h"
#include "collab/group-change.h"
#include "collab/leftovers.h"
#include "collab/runner.h"

typedef struct Autostart {
        Collab *collab;
        char *groups_path;
        StrVec kept;   /* state files of the runners that we have */
        StrVec groups; /* those that are wanted to run */
} Autostart;

static void free_self(Autostart *self) {
        free(self->groups_path);
        strvec_deinit(&self->kept);
        strvec_deinit(&self->groups);
        free(self);
}

/* ---- on a worker: which groups ---------------------------------------------------------------- */

static bool autostart_is_wanted(const char *dir) {
        _cleanup_(freep) char *path = path_join(dir, "group.yaml");
        Document *document = NULL;
        bool is_running = false;

        if (path && !document_read(&document, path, DOCUMENT_YAML))
                json_bool(json_get(document->json, "running"), &is_running);
        document_unref(document);
        return is_running;
}

static void autostart_look(void *user) {
        Autostart *self = user;
        DIR *dir = opendir(self->groups_path);

        (void)file_replace(self->collab->inputrc_path, STR("set enable-bracketed-paste off\n"), 0600,
                           FILE_RUNTIME);

        for (struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir)) {
                _cleanup_(freep) char *path = NULL;

                if (!group_id_is_valid(str_from(entry->d_name)))
                        continue;
                path = path_join(self->groups_path, entry->d_name);
                if (!path)
                        break;
                leftovers_clear(path, entry->d_name, &self->kept);
                if (autostart_is_wanted(path))
                        (void)strvec_push(&self->groups, entry->d_name);
        }
        if (dir)
                closedir(dir);
}

/* ---- on the loop: starting -------------------------------------------------------------------- */

static void start_actor(Group *group, const ActorView *actor) {
        int r = runner_begin(group, actor, NULL);

        if (r)
                log_warning(&group->collab->daemon->log, group->id, "an actor cannot be started: %s",
                            strerror(-r));
}

/* A group without a place to work is no longer wanted to run, as the contract has it. */
static int autostart_give_up(Group *group) {
        GroupChange *change = group_change_begin(group, NULL, 0);
        GroupDoc *doc = group_change_doc(change);

        if (!doc)
                return group_change_abort(change);
        change_try(change, group_doc_set_bool(doc, "running", false));
        return group_change_commit(change, NULL);
}

static int start_group(_unused_ Call *call, Group *group, _unused_ const void *args) {
        const GroupDoc *doc = group->doc;

        if (!doc->is_running || group->collab->is_ending || group->collab->daemon->is_stopping)
                return 0;
        if (standstill_holds(&group->collab->daemon->standstill, group->id))
                return 0;
        if (!doc->active_scope_key.n)
                return autostart_give_up(group);
        for (size_t i = 0; i < doc->n_actors; i++) {
                const ActorView *actor = &doc->actors[i];
                if (actor->is_enabled && !runner_find(group->collab, str_from(group->id), actor->id) &&
                    runner_can_start(doc, actor))
                        start_actor(group, actor);
        }
        return 0;
}

static void autostart_looked(void *user) {
        Autostart *self = user;
        Collab *collab = self->collab;

        runners_open(collab);
        for (size_t i = 0; i < self->groups.n && !collab->daemon->is_stopping; i++) {
                Group *group = NULL;
                int r = group_get(collab, str_from(self->groups.items[i]), &group);

                if (!r)
                        r = group_edit(group, start_group, NULL);
                if (r)
                        log_warning(&collab->daemon->log, self->groups.items[i], "cannot be started: %s",
                                    strerror(-r));
        }
        free_self(self);
}

int autostart_begin(Collab *collab) {
        Autostart *self = calloc(1, sizeof(*self));
        int r = self ? 0 : error_origin(-ENOMEM);

        if (self) {
                *self = (Autostart){.collab = collab, .groups_path = strdup(collab->groups_path)};
                r = self->groups_path ? 0 : error_origin(-ENOMEM);
        }
        for (Runner *runner = collab->runners; !r && runner; runner = runner->next)
                r = strvec_push(&self->kept, runner->file_path);
        if (!r)
                r = loop_work(collab->daemon->loop, autostart_look, autostart_looked, self);
        collab->is_clearing = !r;
        if (r && self)
                free_self(self);
        return error_trace(r);
}

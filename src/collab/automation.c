/* SPDX-License-Identifier: MIT */
#include "collab/automation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "collab/collab.h"
#include "collab/permissions.h"

static Automation *automation_automation_of(const Group *group) {
        return group->slots[GROUP_SLOT_AUTOMATION];
}

bool automation_is_live(const Automation *self) {
        const Group *group = self->group;

        return !group->is_deleting && !group->is_gone && !group->collab->daemon->is_stopping &&
               group->doc->state == GROUP_ACTIVE && group_is_running(group);
}

AutoActor *automation_actor(Automation *self, Str id) {
        AutoActor *actor = self->actors;

        while (actor && !str_is(id, actor->id))
                actor = actor->next;
        if (actor)
                return actor;
        actor = calloc(1, sizeof(*actor));
        if (!actor)
                return NULL;
        actor->id = strndup(id.data, id.n);
        if (!actor->id) {
                free(actor);
                return NULL;
        }
        actor->help_edge = ledger_n_committed(self->group->ledger);
        actor->next = self->actors;
        return self->actors = actor;
}

static void restart_actor(AutoActor *actor, int64_t now_us) {
        actor->nudge_us = actor->idle_us = actor->keepalive_us = actor->help_us = now_us;
        actor->keepalive_count = actor->help_count = 0;
        automation_set(&actor->nudge_event_id, STR(""));
}

/* All timers from now. */
static void automation_restart(Automation *self) {
        const GroupDoc *doc = self->group->doc;
        int64_t now_us = loop_wall_us(self->group->collab->daemon->loop);

        self->resume_us = self->silence_us = self->standup_us = now_us;
        for (size_t i = 0; i < doc->n_actors; i++) {
                AutoActor *actor = automation_actor(self, doc->actors[i].id);

                if (actor)
                        restart_actor(actor, now_us);
        }
        self->is_changed = true;
}

void automation_kick(Automation *self, int64_t after_ms) {
        int64_t due_ms = loop_now_ms(self->timer.loop) + after_ms;

        if (!timer_is_set(&self->timer) || due_ms < self->timer.due_ms)
                (void)timer_set(&self->timer, after_ms);
}

/* ---- the file, once -------------------------------------------------------------------------- */

typedef struct Loading {
        Automation *self;
        char *path;
        Document *document;
} Loading;

static void automation_load(void *user) {
        Loading *loading = user;

        if (document_read(&loading->document, loading->path, DOCUMENT_JSON))
                loading->document = NULL;
}

/* No catching up: all timers begin anew with the daemon. */
static void loaded(void *user) {
        Loading *loading = user;
        Automation *self = loading->self;
        Group *group = self->group;

        if (loading->document)
                automation_read_state(self, loading->document->json);
        self->is_loaded = true;
        self->is_busy = false;
        automation_restart(self);
        automation_kick(self, 0);
        document_unref(loading->document);
        free(loading->path);
        free(loading);
        group_unref(group);
}

static void begin_load(Automation *self) {
        Loading *loading = calloc(1, sizeof(*loading));

        if (!loading)
                return;
        *loading = (Loading){.self = self, .path = path_join(self->group->dir, "state/automation.json")};
        if (loading->path &&
            !loop_work(self->group->collab->daemon->loop, automation_load, loaded, loading)) {
                group_ref(self->group);
                self->is_busy = true;
                return;
        }
        free(loading->path);
        free(loading);
}

static void automation_on_timer(Timer *timer) {
        Automation *self = container_of(timer, Automation, timer);

        if (!automation_is_live(self) || self->is_busy)
                return;
        if (self->is_loaded)
                automation_pass(self);
        else
                begin_load(self);
}

/* ---- the part -------------------------------------------------------------------------------- */

static int automation_on_group_opened(Group *group) {
        Automation *self = calloc(1, sizeof(*self));

        if (!self)
                return error_origin(-ENOMEM);
        *self = (Automation){.group = group, .n_known = ledger_n_committed(group->ledger)};
        timer_init(&self->timer, group->collab->daemon->loop, automation_on_timer);
        group->slots[GROUP_SLOT_AUTOMATION] = self;
        if (automation_is_live(self))
                automation_kick(self, AUTOMATION_EVERY_MS);
        return 0;
}

static void free_actor(AutoActor *actor) {
        free(actor->id);
        free(actor->nudge_event_id);
        free(actor->keepalive_next);
        free(actor->help_session);
        free(actor->next_line);
        free(actor);
}

static void automation_on_group_closed(Group *group) {
        Automation *self = steal(&group->slots[GROUP_SLOT_AUTOMATION]);

        if (!self)
                return;
        timer_clear(&self->timer);
        while (self->actors) {
                AutoActor *next = self->actors->next;
                free_actor(self->actors);
                self->actors = next;
        }
        free(self);
}

/* A restart is written to the file at once. */
static void kick_if_live(Automation *self) {
        if (automation_is_live(self))
                automation_kick(self, self->is_changed ? 0 : AUTOMATION_EVERY_MS);
}

static Str foreman_id(const GroupDoc *doc) {
        const ActorView *foreman = group_foreman(doc);

        return foreman ? foreman->id : STR_NULL;
}

static void automation_on_group_changed(Group *group, const GroupDoc *old) {
        Automation *self = automation_automation_of(group);

        if (!self)
                return;
        if (!str_eq(foreman_id(old), foreman_id(group->doc)))
                self->awaits_start = true;
        if (old->state != GROUP_ACTIVE && group->doc->state == GROUP_ACTIVE)
                automation_restart(self);
        kick_if_live(self);
}

static void automation_on_actor_changed(Collab *collab, Str group_id, Str actor) {
        Group *group = group_find(collab, group_id);
        Automation *self = group ? automation_automation_of(group) : NULL;

        if (!self || !group_actor_is_running(group, actor))
                return;
        if (self->awaits_start)
                automation_restart(self);
        self->awaits_start = false;
        kick_if_live(self);
}

static void automation_on_committed(Group *group, uint64_t first, uint64_t n) {
        Automation *self = automation_automation_of(group);

        if (!self)
                return;
        self->n_known = first + n;
        for (uint64_t i = first; i < first + n; i++)
                if (str_is(ledger_entry(group->ledger, i).kind, "group.start"))
                        automation_restart(self);
        kick_if_live(self);
}

static void automation_on_rewritten(Group *group) {
        Automation *self = automation_automation_of(group);
        uint64_t n_lines = ledger_n_committed(group->ledger), n_gone;

        if (!self)
                return;
        n_gone = self->n_known > n_lines ? self->n_known - n_lines : 0;
        for (AutoActor *actor = self->actors; actor; actor = actor->next) {
                actor->next_scanned -= MIN(n_gone, actor->next_scanned);
                actor->help_edge -= MIN(n_gone, actor->help_edge);
                actor->ack_from = 0;
        }
        self->n_known = n_lines;
}

const CollabPart automation_part = {
        .name = "automation",
        .group_opened = automation_on_group_opened,
        .group_closed = automation_on_group_closed,
        .group_changed = automation_on_group_changed,
        .actor_changed = automation_on_actor_changed,
        .committed = automation_on_committed,
        .rewritten = automation_on_rewritten,
};

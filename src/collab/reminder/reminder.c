/* SPDX-License-Identifier: MIT */
#include "collab/reminder/reminder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/file.h"
#include "base/macro.h"
#include "collab/collab.h"
#include "collab/group/group-doc.h"

/* When each check is due. Pure. */

static int64_t reminder_due_after(int64_t us, int64_t seconds) {
        return us + seconds * 1000000;
}

int64_t reminder_nudge_due(const GroupSettings *settings, int64_t resume_us, const NudgeFacts *facts) {
        int64_t limit = settings->nudge_after_s;
        int64_t due = reminder_due_after(MAX(facts->event_us, resume_us), limit);

        if (limit <= 0 || !facts->event_us)
                return INT64_MAX;
        return facts->is_same ? MAX(due, reminder_due_after(facts->last_us, limit)) : due;
}

int64_t reminder_idle_due(const GroupSettings *settings, int64_t resume_us, int64_t own_us,
                          int64_t last_us) {
        int64_t limit = settings->actor_idle_timeout_s;

        return limit <= 0 || !own_us ? INT64_MAX
                                     : reminder_due_after(MAX(MAX(own_us, resume_us), last_us), limit);
}

int64_t reminder_silence_due(const GroupSettings *settings, int64_t resume_us, int64_t newest_us,
                             int64_t last_us) {
        int64_t limit = settings->silence_timeout_s;

        return limit <= 0 || !newest_us ? INT64_MAX
                                        : reminder_due_after(MAX(MAX(newest_us, resume_us), last_us), limit);
}

int64_t reminder_standup_due(const GroupSettings *settings, int64_t last_us, int64_t now_us) {
        int64_t limit = settings->standup_interval_s;

        if (limit <= 0)
                return INT64_MAX;
        return last_us ? reminder_due_after(last_us, limit) : now_us;
}

int64_t reminder_keepalive_due(const GroupSettings *settings, int64_t resume_us,
                               const ReminderActor *actor) {
        bool is_same = actor->next_line && actor->keepalive_next &&
                       str_is(str_from(actor->next_line), actor->keepalive_next);
        int64_t limit = settings->keepalive_delay_s, since = MAX(actor->next_us, resume_us);

        if (limit <= 0 || settings->keepalive_max_per_actor <= 0 || !actor->next_line ||
            (is_same && actor->keepalive_count >= settings->keepalive_max_per_actor))
                return INT64_MAX;
        return reminder_due_after(is_same ? MAX(since, actor->keepalive_us) : since, limit);
}

int64_t reminder_help_due(const GroupSettings *settings, const ReminderActor *actor) {
        if (settings->help_nudge_interval_s <= 0 || settings->help_nudge_min_messages <= 0 ||
            actor->help_count < settings->help_nudge_min_messages)
                return INT64_MAX;
        return reminder_due_after(actor->help_us, settings->help_nudge_interval_s);
}

bool reminder_next_line(Str text, Str *ret) {
        while (text.n) {
                const char *end = memchr(text.data, '\n', text.n);
                Str line = {text.data, end ? (size_t)(end - text.data) : text.n};

                text = (Str){line.data + line.n + (end != NULL), text.n - line.n - (end != NULL)};
                line = str_trim(line);
                if (line.n >= 5 && !strncasecmp(line.data, "next:", 5)) {
                        *ret = line;
                        return true;
                }
        }
        return false;
}

static Reminder *reminder_of(const Group *group) {
        return group->slots[GROUP_SLOT_REMINDER];
}

bool reminder_is_live(const Reminder *self) {
        const Group *group = self->group;

        return !group->is_deleting && !group->is_gone && !group->collab->daemon->is_stopping &&
               group->doc->state == GROUP_ACTIVE && group_is_running(group);
}

ReminderActor *reminder_actor(Reminder *self, Str id) {
        ReminderActor *actor = self->actors;

        while (actor && !str_is(id, actor->id))
                actor = actor->next;
        if (actor)
                return actor;
        actor = calloc(1, sizeof(*actor));
        if (!actor)
                return NULL;
        actor->id = str_dup(id);
        if (!actor->id) {
                free(actor);
                return NULL;
        }
        actor->help_edge = ledger_n_committed(self->group->ledger);
        actor->next = self->actors;
        return self->actors = actor;
}

static void restart_actor(ReminderActor *actor, int64_t now_us) {
        actor->nudge_us = actor->idle_us = actor->keepalive_us = actor->help_us = now_us;
        actor->keepalive_count = actor->help_count = 0;
        reminder_set(&actor->nudge_event_id, STR(""));
}

/* All timers from now. */
static void reminder_restart(Reminder *self) {
        const GroupDoc *doc = self->group->doc;
        int64_t now_us = loop_wall_us(self->group->collab->daemon->loop);

        self->resume_us = self->silence_us = self->standup_us = now_us;
        for (size_t i = 0; i < doc->n_actors; i++) {
                ReminderActor *actor = reminder_actor(self, doc->actors[i].id);

                if (actor)
                        restart_actor(actor, now_us);
        }
        self->is_changed = true;
}

void reminder_kick(Reminder *self, int64_t after_ms) {
        int64_t due_ms = loop_now_ms(self->timer.loop) + after_ms;

        if (!timer_is_set(&self->timer) || due_ms < self->timer.due_ms)
                (void)timer_set(&self->timer, after_ms);
}

/* ---- the file, once -------------------------------------------------------------------------- */

typedef struct Loading {
        Reminder *self;
        char *path;
        Document *document;
} Loading;

static void reminder_load(void *user) {
        Loading *loading = user;

        if (document_read(&loading->document, loading->path, DOCUMENT_JSON))
                loading->document = NULL;
}

/* No catching up: all timers begin anew with the daemon. */
static void loaded(void *user) {
        Loading *loading = user;
        Reminder *self = loading->self;
        Group *group = self->group;

        if (loading->document)
                reminder_read_state(self, loading->document->json);
        self->is_loaded = true;
        self->is_busy = false;
        reminder_restart(self);
        reminder_kick(self, 0);
        document_unref(loading->document);
        free(loading->path);
        free(loading);
        group_unref(group);
}

static void begin_load(Reminder *self) {
        Loading *loading = calloc(1, sizeof(*loading));

        if (!loading)
                return;
        *loading = (Loading){.self = self, .path = path_join(self->group->dir, "state/automation.json")};
        if (loading->path && !loop_work(self->group->collab->daemon->loop, reminder_load, loaded, loading)) {
                group_ref(self->group);
                self->is_busy = true;
                return;
        }
        free(loading->path);
        free(loading);
}

static void reminder_on_timer(Timer *timer) {
        Reminder *self = container_of(timer, Reminder, timer);

        if (!reminder_is_live(self) || self->is_busy)
                return;
        if (self->is_loaded)
                reminder_pass(self);
        else
                begin_load(self);
}

/* ---- the part -------------------------------------------------------------------------------- */

static int reminder_on_group_opened(Group *group) {
        Reminder *self = calloc(1, sizeof(*self));

        if (!self)
                return error_origin(-ENOMEM);
        self->group = group;
        timer_init(&self->timer, group->collab->daemon->loop, reminder_on_timer);
        group->slots[GROUP_SLOT_REMINDER] = self;
        if (reminder_is_live(self))
                reminder_kick(self, REMINDER_EVERY_MS);
        return 0;
}

static void free_actor(ReminderActor *actor) {
        free(actor->id);
        free(actor->nudge_event_id);
        free(actor->keepalive_next);
        free(actor->help_session);
        free(actor->next_line);
        free(actor);
}

static void reminder_on_group_closed(Group *group) {
        Reminder *self = steal(&group->slots[GROUP_SLOT_REMINDER]);

        if (!self)
                return;
        timer_clear(&self->timer);
        while (self->actors) {
                ReminderActor *next = self->actors->next;
                free_actor(self->actors);
                self->actors = next;
        }
        free(self);
}

/* A restart is written to the file at once. */
static void kick_if_live(Reminder *self) {
        if (reminder_is_live(self))
                reminder_kick(self, self->is_changed ? 0 : REMINDER_EVERY_MS);
}

static Str foreman_id(const GroupDoc *doc) {
        const ActorView *foreman = group_foreman(doc);

        return foreman ? foreman->id : STR_NULL;
}

static void reminder_on_group_changed(Group *group, const GroupDoc *old) {
        Reminder *self = reminder_of(group);

        if (!self)
                return;
        if (!str_eq(foreman_id(old), foreman_id(group->doc)))
                self->awaits_start = true;
        if (old->state != GROUP_ACTIVE && group->doc->state == GROUP_ACTIVE)
                reminder_restart(self);
        kick_if_live(self);
}

static void reminder_on_actor_changed(Collab *collab, Str group_id, Str actor) {
        Group *group = group_find(collab, group_id);
        Reminder *self = group ? reminder_of(group) : NULL;

        if (!self || !group_actor_is_running(group, actor))
                return;
        if (self->awaits_start)
                reminder_restart(self);
        self->awaits_start = false;
        kick_if_live(self);
}

static void reminder_on_committed(Group *group, uint64_t first, uint64_t n) {
        Reminder *self = reminder_of(group);

        if (!self)
                return;
        for (uint64_t i = first; i < first + n; i++)
                if (str_is(ledger_entry(group->ledger, i).kind, "group.start"))
                        reminder_restart(self);
        kick_if_live(self);
}

static void reminder_on_rewritten(Group *group, uint64_t n_gone) {
        Reminder *self = reminder_of(group);

        for (ReminderActor *actor = self ? self->actors : NULL; actor; actor = actor->next) {
                actor->next_scanned -= MIN(n_gone, actor->next_scanned);
                actor->help_edge -= MIN(n_gone, actor->help_edge);
                actor->ack_from = 0;
        }
}

const CollabPart reminder_part = {
        .name = "automation",
        .group_opened = reminder_on_group_opened,
        .group_closed = reminder_on_group_closed,
        .group_changed = reminder_on_group_changed,
        .actor_changed = reminder_on_actor_changed,
        .committed = reminder_on_committed,
        .rewritten = reminder_on_rewritten,
};

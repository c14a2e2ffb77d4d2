/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "collab/group"

#include "collab/group/group.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/time.h"
#include "collab/collab.h"
#include "collab/parts.h"

enum { GROUP_ID_MAX = 63 };

bool group_id_is_valid(Str id) {
        if (id.n < 3 || id.n > GROUP_ID_MAX || !str_starts(id, STR("g_")))
                return false;
        for (size_t i = 2; i < id.n; i++) {
                char c = id.data[i];
                if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                      c == '_' || c == '-'))
                        return false;
        }
        return true;
}

static Group **bucket(Collab *collab, Str id) {
        return &collab->groups[hash_str(id) % COLLAB_BUCKETS];
}

Group *group_find(Collab *collab, Str id) {
        for (Group *group = *bucket(collab, id); group; group = group->next)
                if (str_is(id, group->id))
                        return group;
        return NULL;
}

static bool group_has_paths(const Group *group) {
        return group->id && group->dir && group->doc_path && group->cursors_path && group->ledger_path &&
               group->state_path;
}

static void free_group(Group *group) {
        group->collab->n_groups--;
        lane_deinit(&group->loads);
        lane_deinit(&group->edits);
        group_doc_unref(group->doc);
        document_unref(group->cursors);
        free(group->id);
        free(group->dir);
        free(group->doc_path);
        free(group->cursors_path);
        free(group->ledger_path);
        free(group->state_path);
        free(group);
}

static Group *new_group(Collab *collab, Str id) {
        Group *group = calloc(1, sizeof(*group));

        if (!group)
                return NULL;
        collab->n_groups++;
        group->collab = collab;
        group->n_refs = 1;
        group->used_ms = loop_now_ms(collab->daemon->loop);
        lane_init(&group->loads, collab->daemon->loop, &group_loads);
        lane_init(&group->edits, collab->daemon->loop, &group_edits);
        STAILQ_INIT(&group->load.served);
        group->id = str_dup(id);
        group->dir = group->id ? path_join(collab->groups_path, group->id) : NULL;
        if (group->dir) {
                group->doc_path = path_join(group->dir, "group.yaml");
                group->cursors_path = path_join(group->dir, "state/read_cursors.json");
                group->ledger_path = path_join(group->dir, "ledger.jsonl");
                group->state_path = path_join(group->dir, "state/ledger");
        }
        if (group_has_paths(group))
                return group;
        free_group(group);
        return NULL;
}

int group_get(Collab *collab, Str id, Group **ret) {
        Group **link = bucket(collab, id);
        Group *group = group_find(collab, id);

        if (!group) {
                group = new_group(collab, id);
                if (!group)
                        return error_origin(-ENOMEM);
                group->next = *link;
                *link = group;
        }
        *ret = group;
        return 0;
}

Group *group_ref(Group *group) {
        group->n_refs++;
        return group;
}

static void group_on_closed(void *user) {
        free_group(user);
}

Group *group_unref(Group *group) {
        if (!group || --group->n_refs)
                return NULL;
        if (group->ledger) {
                for (const CollabPart *const *part = collab_parts; *part; part++)
                        if ((*part)->group_closed)
                                (*part)->group_closed(group);
                ledger_close(steal(&group->ledger), group_on_closed, group);
        } else
                free_group(group);
        return NULL;
}

void group_forget(Group *group) {
        if (group->is_gone)
                return;
        for (Group **link = bucket(group->collab, str_from(group->id)); *link; link = &(*link)->next)
                if (*link == group) {
                        *link = group->next;
                        break;
                }
        group->is_gone = true;
        group_unref(group);
}

bool group_is_read(const Group *group, const FileIdentity *identity) {
        const Document *document = group->doc->document;
        bool is_same = identity ? file_identity_eq(identity, &document->identity)
                                : document_is_fresh(document, group->doc_path);

        return is_same && document_is_fresh(group->cursors, group->cursors_path);
}

bool group_is_fresh(const Group *group, const FileIdentity *identity) {
        return !group_is_loading(group) && group->doc && group->ledger && group_is_read(group, identity);
}

void group_set_doc(Group *group, GroupDoc *doc) {
        GroupDoc *old = group->doc;

        for (size_t i = 0; i < doc->n_actors; i++) /* one that is made later has been there always */
                doc->actors[i].created_us = group_past_us(group, doc->actors[i].created_us, 0);
        group->doc = doc;
        for (const CollabPart *const *part = collab_parts; old && group->ledger && *part; part++)
                if ((*part)->group_changed)
                        (*part)->group_changed(group, old);
        group_doc_unref(old);
}

void group_on_committed(void *user, uint64_t first, uint64_t n) {
        Group *group = user;

        for (const CollabPart *const *part = collab_parts; *part; part++)
                if ((*part)->committed)
                        (*part)->committed(group, first, n);
}

void group_on_rewritten(void *user, uint64_t n_gone) {
        Group *group = user;

        for (const CollabPart *const *part = collab_parts; *part; part++)
                if ((*part)->rewritten)
                        (*part)->rewritten(group, n_gone);
}

void group_offer_doc(Group *group, GroupDoc *doc) {
        if (document_is_fresh(group->doc ? group->doc->document : NULL, group->doc_path))
                group_doc_unref(doc);
        else
                group_set_doc(group, doc);
}

/* ---- what is asked of a group ---------------------------------------------------------------- */

int64_t group_past_us(const Group *group, int64_t us, int64_t instead_us) {
        int64_t now_us = loop_wall_us(group->collab->daemon->loop);

        return us <= now_us + LEDGER_AHEAD_US ? us : MIN(instead_us, now_us);
}

CursorView group_cursor(const Group *group, Str actor) {
        const Json *entry = group->cursors ? json_get_str(group->cursors->json, actor) : NULL;
        CursorView cursor = {.event_id = json_str(json_get(entry, "event_id")),
                             .ts = json_str(json_get(entry, "ts")),
                             .updated_at = json_str(json_get(entry, "updated_at"))};
        int64_t marked_us = INT64_MAX;

        (void)time_parse(cursor.updated_at, &marked_us);
        if (time_parse(cursor.ts, &cursor.ts_us))
                cursor.ts_us = group_past_us(group, cursor.ts_us, marked_us);
        else
                cursor.ts_us = INT64_MIN;
        return cursor;
}

bool group_actor_is_running(const Group *group, Str actor) {
        for (const CollabPart *const *part = collab_parts; *part; part++)
                if ((*part)->actor_is_running && (*part)->actor_is_running(group, actor))
                        return true;
        return false;
}

bool group_is_running(const Group *group) {
        for (size_t i = 0; group->doc && i < group->doc->n_actors; i++)
                if (group_actor_is_running(group, group->doc->actors[i].id))
                        return true;
        return false;
}

void group_touch(Group *group, int64_t ts_us) {
        group->touched_us = MAX(group->touched_us, ts_us);
        registry_touch_soon(&group->collab->registry);
}

static void group_stop_on_stopped(void *user) {
        GroupStop *stop = user;

        if (--stop->n_left == 0)
                stop->done(stop->user);
}

void group_stop_all(GroupStop *stop, Group *group, void (*done)(void *user), void *user) {
        *stop = (GroupStop){.n_left = 1, .done = done, .user = user}; /* ourselves, until all are asked */
        for (const CollabPart *const *part = collab_parts; *part; part++)
                if ((*part)->group_stop) {
                        stop->n_left++;
                        (*part)->group_stop(group, group_stop_on_stopped, stop);
                }
        group_stop_on_stopped(stop);
}

static void on_due(Timer *timer) {
        GroupLook *self = container_of(timer, GroupLook, timer);

        for (size_t i = 0; i < COLLAB_BUCKETS; i++)
                for (Group *group = self->collab->groups[i], *next; group; group = next) {
                        next = group->next;
                        self->look(group);
                }
        if (self->collab->n_groups)
                (void)timer_set(timer, self->every_ms);
}

int group_look_start(GroupLook *self, Collab *collab, int64_t every_ms, void (*look)(Group *group)) {
        *self = (GroupLook){.collab = collab, .every_ms = every_ms, .look = look};
        timer_init(&self->timer, collab->daemon->loop, on_due);
        return collab->n_groups ? group_look_wake(self) : 0;
}

int group_look_wake(GroupLook *self) {
        if (!self->collab || timer_is_set(&self->timer))
                return 0;
        return error_trace(timer_set(&self->timer, self->every_ms));
}

void group_look_stop(GroupLook *self) {
        timer_clear(&self->timer);
}

/* A reference that is not the table's belongs to a call, an edit, a stream or a step on a worker. */
static bool is_held(const Group *group) {
        return group->n_refs > 1 || group_is_loading(group) || group->is_deleting || group->touched_us;
}

static bool group_idle_is_busy(const Group *group) {
        for (const CollabPart *const *part = collab_parts; *part; part++)
                if ((*part)->group_is_busy && (*part)->group_is_busy(group))
                        return true;
        return group_is_running(group);
}

static void group_idle_on_closed(void *user) {
        Group *group = user;

        group_reopen(group);
        group_unref(group);
}

/* It stays in the table until its ledger is closed, so that no second one is opened beside it. */
static void close_group(Group *group) {
        log_info(&group->collab->daemon->log, group->id, "closed: nobody uses it");
        group->is_closing = true;
        group_ref(group);
        for (const CollabPart *const *part = collab_parts; *part; part++)
                if ((*part)->group_closed)
                        (*part)->group_closed(group);
        ledger_close(steal(&group->ledger), group_idle_on_closed, group);
}

static void group_idle_look(Group *group) {
        if (loop_now_ms(group->collab->daemon->loop) - group->used_ms < GROUP_IDLE_MS || is_held(group) ||
            group_idle_is_busy(group))
                return;
        if (group->ledger)
                close_group(group);
        else /* only its document was asked for */
                group_forget(group);
}

static int group_idle_started(Collab *collab) {
        return error_trace(group_look_start(&collab->idle, collab, GROUP_LOOK_MS, group_idle_look));
}

static int group_idle_opened(Group *group) {
        return error_trace(group_look_wake(&group->collab->idle));
}

static void group_idle_stopping(Collab *collab) {
        group_look_stop(&collab->idle);
}

const CollabPart group_idle_part = {
        .name = "idle",
        .started = group_idle_started,
        .stopping = group_idle_stopping,
        .closed = group_idle_stopping,
        .group_opened = group_idle_opened,
};

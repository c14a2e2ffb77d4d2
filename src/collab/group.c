/* SPDX-License-Identifier: MIT */
#include "collab/group.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
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
        uint32_t hash = 2166136261U;

        for (size_t i = 0; i < id.n; i++)
                hash = (hash ^ (unsigned char)id.data[i]) * 16777619U;
        return &collab->groups[hash % COLLAB_BUCKETS];
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
        group->waiting_end = &group->waiting;
        group->edits_end = &group->edits;
        deferred_init(&group->edit_soon, collab->daemon->loop, group_on_edit_soon);
        group->id = strndup(id.data, id.n);
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

bool group_is_fresh(Group *group) {
        return !group->is_loading && group->doc && group->ledger &&
               document_is_fresh(group->doc->document, group->doc_path) &&
               document_is_fresh(group->cursors, group->cursors_path);
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

/* SPDX-License-Identifier: MIT */
/*
 * group_delete: whatever runs for the group ends, its folder goes to the trash, then those files that name
 * it are told: registry, active.json, feed. From the moment the folder is gone from groups/ the group is
 * deleted, whatever happens to the rest.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"
#include "collab/collab.h"
#include "collab/group/events.h"
#include "collab/group/events-file.h"
#include "collab/group/group-folder.h"
#include "collab/group/group.h"
#include "collab/parts.h"
#include "collab/group/group-doc.h"
#include "collab/actor/runner.h"
#include "gen/cccc-ops.h"

typedef struct Deletion { /* in the call's arena */
        Call *call;
        Group *group;
        GroupStop stop;
        LedgerChange barrier; /* what was being written when we came */
        RegistryEdit edit;
        Buf feed;
        int64_t now_us;
} Deletion;

/* ---- last: the answer ------------------------------------------------------------------------ */

static void group_delete_finish(Deletion *self) {
        Call *call = self->call;
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_cstr(w, "group_id", self->group->id);
        jw_end_object(w);
        buf_deinit(&self->feed);
        group_unref(self->group);
        call_finish(call, 0);
}

static void group_delete_on_feed_done(void *user, _unused_ int r) {
        group_delete_finish(user);
}

/* For who follows the daemon's own feed; its ledger, where all other news come from, is gone. */
static void group_delete_announce(const Deletion *self) {
        FeedPlace place;

        feed_place(&place, "collab", str_from(self->group->id), STR("group.deleted"), FEED_NOWHERE);
        (void)feed_push(self->group->collab->daemon->feed, &place, chunk_new(buf_str(&self->feed)));
}

static void group_delete_write_feed(Deletion *self) {
        char id[EVENT_ID_DIGITS + 1] = "", ts[TIME_TEXT_MAX];
        JsonWriter w = JSON_WRITER(&self->feed);

        time_format_us(self->now_us, ts);
        (void)id_hex(id, EVENT_ID_DIGITS);
        jw_begin_object(&w);
        jw_field_int(&w, "v", 1);
        jw_field_cstr(&w, "id", id);
        jw_field_cstr(&w, "ts", ts);
        jw_field_cstr(&w, "kind", "group.deleted");
        jw_key(&w, "data");
        jw_begin_object(&w);
        jw_field_cstr(&w, "group_id", self->group->id);
        jw_end_object(&w);
        jw_end_object(&w);
        if (!w.failed)
                group_delete_announce(self);
        if (w.failed || buf_append_str(&self->feed, STR("\n")) ||
            events_file_append(self->group->collab, buf_str(&self->feed), group_delete_on_feed_done, self))
                group_delete_finish(self);
}

/* ---- active.json: the command line's current group ------------------------------------------- */

static void clear_active(void *user) {
        const Deletion *self = user;
        const char *path = self->group->collab->active_path;
        _cleanup_(document_unrefp) Document *document = NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        char ts[TIME_TEXT_MAX];
        Str now = {ts, time_format_us(self->now_us, ts)};

        if (document_read(&document, path, DOCUMENT_JSON) ||
            !str_is(json_str(json_get(document->json, "active_group_id")), self->group->id))
                return;
        if (!document_set_str(document, document->json, "active_group_id", STR("")) &&
            !document_set_str(document, document->json, "updated_at", now) &&
            !document_write(document, DOCUMENT_JSON, &text))
                (void)file_replace(path, buf_str(&text), 0600, FILE_DURABLE);
}

static void active_cleared(void *user) {
        group_delete_write_feed(user);
}

static void group_delete_on_registry_done(RegistryEdit *edit, _unused_ int r) {
        Deletion *self = container_of(edit, Deletion, edit);

        if (loop_work(self->call->daemon->loop, clear_active, active_cleared, self))
                group_delete_write_feed(self);
}

/* ---- the folder ------------------------------------------------------------------------------ */

static void group_delete_fail(Deletion *self, int r) {
        Call *call = self->call;
        Group *group = self->group;

        group->is_deleting = false;
        group_edit_end(group);
        group_unref(group);
        call_finish(call, call_fail(call, CALL_E_GROUP_DELETE_FAILED, "cannot delete the group: %s",
                                    strerror(-r)));
}

static void group_delete_on_removed(void *user, int r) {
        Deletion *self = user;
        Group *group = self->group;

        if (r) {
                group_delete_fail(self, r);
                return;
        }
        for (const CollabPart *const *part = collab_parts; *part; part++)
                if ((*part)->group_deleted)
                        (*part)->group_deleted(group);
        group_edit_end(group);
        self->edit = (RegistryEdit){
                .group_id = str_from(group->id), .is_removal = true, .done = group_delete_on_registry_done};
        registry_commit(&group->collab->registry, &self->edit);
}

/* ---- whatever runs --------------------------------------------------------------------------- */

static void group_delete_on_settled(LedgerChange *barrier, int r) {
        Deletion *self = container_of(barrier, Deletion, barrier);

        (void)r; /* whether others failed does not matter to us */
        r = group_remove(self->group, group_delete_on_removed, self);
        if (r)
                group_delete_fail(self, r);
}

/* Nothing may write into the folder while it goes: new changes are refused, those under way are waited for.
 */
static void group_delete_on_stopped(void *user) {
        Deletion *self = user;
        int r;

        ledger_change_init(&self->barrier, self->group->ledger, group_delete_on_settled);
        r = ledger_change_commit(&self->barrier);
        if (!r)
                return;
        ledger_change_deinit(&self->barrier);
        group_delete_fail(self, r);
}

int op_cccc_group_delete_lost(Call *call, const CcccGroupDeleteArgs *args) {
        return runner_call_lost(call, args->group_id, STR(""), args->by, CALL_E_GROUP_NOT_FOUND);
}

int op_cccc_group_delete(Call *call, Group *group, _unused_ const CcccGroupDeleteArgs *args) {
        Deletion *self = arena_alloc(&call->arena, sizeof(*self));

        if (!self)
                return error_origin(-ENOMEM);
        *self = (Deletion){
                .call = call, .group = group_ref(group), .now_us = loop_wall_us(call->daemon->loop)};
        group->is_deleting = true;
        group_stop_all(&self->stop, group, group_delete_on_stopped, self);
        return CALL_LATER;
}

/* SPDX-License-Identifier: MIT */
/* The list of groups, and making, showing and changing one. */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/time.h"
#include "collab/collab.h"
#include "collab/group/actor-sandbox.h"
#include "collab/group/group-rights.h"
#include "collab/group/group-change.h"
#include "collab/group/group-doc.h"
#include "collab/group/group-folder.h"
#include "collab/group/group.h"
#include "collab/group/patch.h"
#include "collab/group/settings.h"
#include "core/daemon.h"
#include "gen/cccc-ops.h"

/*
 * The list of groups: the registry's entries with what only the groups themselves know. Documents that are
 * not in memory, or changed, are read by one job and kept for the next time; their ledgers stay closed.
 */

typedef struct Entry {
        const Json *json;
        Group *group; /* NULL: the id is no group's */
        int64_t updated_us;
        GroupDoc *read; /* by the job */
        bool is_stale;
        GroupState state;
} Entry;

typedef struct ListJob {
        Carry carry;
        Call *call;
        Document *registry;
        Entry *entries;
        size_t n;
} ListJob;

static int newest_first(const void *a, const void *b) {
        const Entry *x = a, *y = b;

        return (x->updated_us < y->updated_us) - (x->updated_us > y->updated_us);
}

/* ---- out ------------------------------------------------------------------------------------- */

static void write_entry(JsonWriter *w, const Entry *entry) {
        char ts[TIME_TEXT_MAX];

        time_format_us(entry->updated_us, ts);
        jw_begin_object(w);
        json_each (member, entry->json) {
                Str key = json_key(member);
                if (str_is(key, "running") || str_is(key, "state"))
                        continue;
                jw_key_str(w, key);
                if (str_is(key, "updated_at") && entry->updated_us)
                        jw_cstr(w, ts);
                else
                        jw_value(w, member);
        }
        jw_field_bool(w, "running", entry->group && !entry->is_stale && group_is_running(entry->group));
        jw_field_cstr(w, "state", group_state_name(entry->state));
        jw_end_object(w);
}

static void groups_answer(ListJob *job) {
        JsonWriter *w = call_result(job->call);

        qsort(job->entries, job->n, sizeof(*job->entries), newest_first);
        jw_begin_object(w);
        jw_key(w, "groups");
        jw_begin_array(w);
        for (size_t i = 0; i < job->n; i++)
                write_entry(w, &job->entries[i]);
        jw_end_array(w);
        jw_end_object(w);
        document_unref(job->registry);
        for (size_t i = 0; i < job->n; i++)
                group_unref(job->entries[i].group);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void groups_run(const Carry *carry) {
        ListJob *job = container_of(carry, ListJob, carry);

        for (size_t i = 0; i < job->n; i++) {
                Entry *entry = &job->entries[i];
                Document *document = NULL;
                if (entry->is_stale && !document_read(&document, entry->group->doc_path, DOCUMENT_YAML))
                        entry->read = group_doc_new(document);
        }
}

static int groups_done(_unused_ Call *call, const Carry *carry) {
        ListJob *job = container_of(carry, ListJob, carry);

        for (size_t i = 0; i < job->n; i++) {
                Entry *entry = &job->entries[i];
                if (!entry->read)
                        continue;
                entry->is_stale = false;
                entry->state = entry->read->state;
                if (group_is_loading(entry->group) || !lane_is_idle(&entry->group->edits))
                        group_doc_unref(entry->read); /* somebody else is at it */
                else
                        group_offer_doc(entry->group, entry->read);
        }
        groups_answer(job);
        return 0;
}

static int groups_add_entry(Collab *collab, ListJob *job, const Json *json) {
        Entry *entry = &job->entries[job->n];
        int r = 0;

        *entry = (Entry){.json = json};
        if (!json_is(json, JSON_OBJECT))
                return 0;
        if (group_id_is_valid(json_key(json)))
                r = group_get(collab, json_key(json), &entry->group);
        if (r)
                return error_trace(r);
        if (!time_parse(json_str(json_get(json, "updated_at")), &entry->updated_us))
                entry->updated_us = 0;
        if (entry->group) {
                Group *group = group_ref(entry->group);
                entry->updated_us = MAX(entry->updated_us, group->touched_us);
                entry->is_stale =
                        !document_is_fresh(group->doc ? group->doc->document : NULL, group->doc_path);
                if (!entry->is_stale && group->doc)
                        entry->state = group->doc->state;
        }
        job->n++;
        return 0;
}

static int groups_list(Call *call, Registry *registry, _unused_ const Carry *carry) {
        const Json *groups = json_get(registry->document->json, "groups");
        ListJob *job = arena_alloc(&call->arena, sizeof(*job));
        bool is_stale = false;

        if (!job)
                return error_origin(-ENOMEM);
        *job = (ListJob){.call = call, .registry = document_ref(registry->document)};
        job->entries = arena_alloc(&call->arena, (json_count(groups) + 1) * sizeof(*job->entries));
        json_each (item, json_is(groups, JSON_OBJECT) && job->entries ? groups : NULL) {
                if (groups_add_entry(registry->collab, job, item))
                        break; /* without memory: the list is as long as it got */
                is_stale |= job->entries[job->n ? job->n - 1 : 0].is_stale;
        }
        if (is_stale && call_work(call, groups_run, groups_done, &job->carry) == CALL_LATER)
                return CALL_LATER;
        groups_answer(job);
        return 0;
}

int op_cccc_groups(Call *call, const CcccGroupsArgs *args) {
        return registry_call(call, groups_list, &args->carry);
}

static void group_create_reply(Call *call, GroupChange *change) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_cstr(w, "group_id", change->group->id);
        jw_field_str(w, "title", change->group->doc->title);
        group_change_write_event(change, w, "event", 0);
        jw_end_object(w);
}

/* ---- the event could not be kept: the folder must not stay --------------------------------------- */

static void group_create_on_removed(void *user, _unused_ int r) {
        call_finish(user, -EIO);
}

static void group_create_on_failed(GroupChange *change, int r) {
        if (group_remove(change->group, group_create_on_removed, change->call))
                call_finish(change->call, r);
}

/* ---- the group is there and ours ------------------------------------------------------------------ */

static void group_create_tell_registry(GroupChange *change) {
        const GroupDoc *doc = change->group->doc;
        RegistryEdit *edit = group_change_registry(change);

        edit->title = arena_str(&change->arena, doc->title);
        edit->topic = arena_str(&change->arena, doc->topic);
        edit->created_at = arena_str(&change->arena, doc->created_at);
        edit->path = str_from(change->group->dir);
        edit->default_scope_key = STR("");
}

static void group_create_write_feed(GroupChange *change) {
        JsonWriter *w = group_change_feed(change, "group.created");

        jw_begin_object(w);
        jw_field_cstr(w, "group_id", change->group->id);
        jw_field_str(w, "title", change->group->doc->title);
        jw_end_object(w);
}

static int group_create_announce(Call *call, Group *group, const Carry *carry) {
        const CcccGroupCreateArgs *args = container_of(carry, CcccGroupCreateArgs, carry);
        GroupChange *change = group_change_begin(group, call, 0);
        JsonWriter *w;

        if (!change)
                return error_origin(-ENOMEM);
        w = group_change_event(change, "group.create", args->by, STR(""));
        jw_begin_object(w);
        jw_field_str(w, "title", args->title);
        jw_field_str(w, "topic", args->topic);
        jw_end_object(w);
        group_create_tell_registry(change);
        group_create_write_feed(change);
        return group_change_commit_or(change, group_create_reply, group_create_on_failed);
}

int op_cccc_group_create(Call *call, const CcccGroupCreateArgs *args) {
        GroupSpec *spec = arena_alloc(&call->arena, sizeof(*spec));

        if (!spec)
                return error_origin(-ENOMEM);
        *spec = (GroupSpec){.id = group_new_id(&call->arena), .title = args->title, .topic = args->topic};
        if (!spec->id.data)
                return error_origin(-ENOMEM);
        return collab_make_group(call, spec, group_create_announce, &args->carry);
}

int op_cccc_group_show(Call *call, Group *group, _unused_ const CcccGroupShowArgs *args) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_key(w, "group");
        group_doc_write_redacted(group->doc, &call->daemon->config, w);
        jw_end_object(w);
        return 0;
}

static const char *const patch_keys[] = {"title", "topic", NULL};

static void group_update_reply(Call *call, GroupChange *change) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_cstr(w, "group_id", change->group->id);
        jw_key(w, "group");
        group_doc_write_redacted(change->group->doc, &call->daemon->config, w);
        group_change_write_event(change, w, "event", 0);
        jw_end_object(w);
}

static void group_update_write_event(GroupChange *change, const CcccGroupUpdateArgs *args) {
        JsonWriter *w = group_change_event(change, "group.update", args->by, STR(""));

        jw_begin_object(w);
        patch_write(w, "patch", args->patch, patch_keys, NULL);
        jw_end_object(w);
}

static void tell_others(GroupChange *change, const GroupDoc *doc) {
        RegistryEdit *edit = group_change_registry(change);
        JsonWriter *w = group_change_feed(change, "group.updated");

        edit->title = arena_str(&change->arena, json_str(json_get(doc->json, "title")));
        edit->topic = arena_str(&change->arena, json_str(json_get(doc->json, "topic")));
        jw_begin_object(w);
        jw_field_cstr(w, "group_id", change->group->id);
        jw_field_str(w, "title", edit->title);
        jw_field_str(w, "topic", edit->topic);
        jw_end_object(w);
}

int op_cccc_group_update(Call *call, Group *group, const CcccGroupUpdateArgs *args) {
        const Json *topic = json_get(args->patch, "topic");
        Str title = patch_text(&call->arena, json_get(args->patch, "title"));
        GroupChange *change;
        GroupDoc *doc;
        int r;

        r = patch_check(call, args->patch, patch_keys);
        if (!r)
                r = group_require(call, group->doc, args->by, ROLE_FOREMAN, STR_NULL, "group.update",
                                  CALL_E_GROUP_UPDATE_FAILED);
        if (r)
                return r;
        change = group_change_begin(group, call, CALL_E_GROUP_UPDATE_FAILED);
        doc = group_change_doc(change);
        if (!doc)
                return group_change_abort(change);
        if (title.n)
                change_try(change, group_doc_set_str(doc, "title", title));
        if (topic)
                change_try(change, group_doc_set_str(doc, "topic", patch_text(&call->arena, topic)));
        group_update_write_event(change, args);
        tell_others(change, doc);
        return group_change_commit(change, group_update_reply);
}

static void group_set_state_reply(Call *call, GroupChange *change) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_cstr(w, "group_id", change->group->id);
        jw_field_cstr(w, "state", group_state_name(change->group->doc->state));
        group_change_write_event(change, w, "event", 0);
        jw_end_object(w);
}

static void group_set_state_write_event(GroupChange *change, Str by, GroupState old, GroupState new) {
        JsonWriter *w = group_change_event(change, "group.set_state", by, STR(""));

        jw_begin_object(w);
        jw_field_cstr(w, "old_state", group_state_name(old));
        jw_field_cstr(w, "new_state", group_state_name(new));
        jw_end_object(w);
}

int op_cccc_group_set_state(Call *call, Group *group, const CcccGroupSetStateArgs *args) {
        GroupChange *change;
        GroupState state;

        if (!group_state_from(args->state, &state))
                return call_fail(call, CALL_E_GROUP_SET_STATE_FAILED,
                                 "invalid state: " STR_FMT " (must be active/idle/paused)",
                                 STR_ARG(args->state));
        change = group_change_begin(group, call, CALL_E_GROUP_SET_STATE_FAILED);
        if (!group_change_doc(change))
                return group_change_abort(change);
        group_set_state_write_event(change, args->by, group->doc->state, state);
        group_change_state(change, state);
        return group_change_commit(change, group_set_state_reply);
}

/*
 * group_settings_update. Each key of the contract stands in a section of group.yaml; a section holds only
 * what was ever set. Everything is checked before anything is changed.
 */
static void group_settings_reply(Call *call, GroupChange *change) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_cstr(w, "group_id", change->group->id);
        jw_key(w, "settings");
        settings_write(change->group->doc, w);
        group_change_write_event(change, w, "event", 0);
        jw_end_object(w);
}

static int refuse_value(Call *call, const SettingsFault *fault) {
        JsonWriter *w;

        if (fault->why)
                return call_fail(call, CALL_E_INVALID_PATCH, "%s", fault->why);
        if (fault->is_number)
                return call_fail(call, CALL_E_GROUP_SETTINGS_UPDATE_FAILED, "%s: not an integer",
                                 fault->key);
        w = call_details(call);
        jw_begin_object(w);
        jw_field_str(w, fault->key, patch_text(&call->arena, fault->value));
        jw_end_object(w);
        return call_fail(call, CALL_E_INVALID_PATCH, "%s must be 'foreman' or 'broadcast'", fault->key);
}

static void group_settings_write_event(GroupChange *change, const CcccGroupSettingsUpdateArgs *args) {
        JsonWriter *w = group_change_event(change, "group.settings_update", args->by, STR(""));

        jw_begin_object(w);
        jw_field_value(w, "patch", args->patch);
        jw_end_object(w);
}

/* No actor changes what it is held by. */
static bool group_settings_are_held_by(const Json *patch) {
        json_each (member, patch)
                if (actor_sandbox_is_key(json_key(member)) || group_rights_is_key(json_key(member)))
                        return true;
        return false;
}

static int group_settings_check(Call *call, const GroupDoc *doc, const CcccGroupSettingsUpdateArgs *args) {
        const char *keys[SETTINGS_KEYS_MAX];
        SettingsFault fault = {0};
        int r = patch_check(call, args->patch, settings_keys(keys));

        if (r)
                return r;
        if (settings_check(args->patch, &fault) == SETTINGS_E_SEND_TO)
                return refuse_value(call, &fault);
        r = group_require(call, doc, args->by,
                          group_settings_are_held_by(args->patch) ? ROLE_USER : ROLE_FOREMAN, STR_NULL,
                          "group.settings_update", CALL_E_GROUP_SETTINGS_UPDATE_FAILED);
        if (r)
                return r;
        return fault.key || fault.why ? refuse_value(call, &fault) : 0;
}

int op_cccc_group_settings_update(Call *call, Group *group, const CcccGroupSettingsUpdateArgs *args) {
        GroupChange *change;
        GroupDoc *doc;
        int r = group_settings_check(call, group->doc, args);

        if (r)
                return r;
        change = group_change_begin(group, call, CALL_E_GROUP_SETTINGS_UPDATE_FAILED);
        doc = group_change_doc(change);
        if (!doc)
                return group_change_abort(change);
        change_try(change, settings_apply(doc, args->patch));
        group_settings_write_event(change, args);
        return group_change_commit(change, group_settings_reply);
}

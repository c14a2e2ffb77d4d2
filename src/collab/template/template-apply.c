/* SPDX-License-Identifier: MIT */
#include "collab/template/template.h"

#include <errno.h>

#include "base/error.h"
#include "base/time.h"
#include "collab/actor/actor.h"
#include "collab/collab.h"
#include "collab/group/group-doc.h"
#include "collab/group/settings.h"

static bool template_apply_is_listed(const Json *ids, Str id) {
        json_each (item, ids)
                if (str_eq(json_str(item), id))
                        return true;
        return false;
}

static void template_apply_note(GroupChange *change, Json *ids, Str id) {
        change_try(change, json_push(ids, json_new_str(&change->arena, id)));
}

/* ---- the document ---------------------------------------------------------------------------- */

/* What an actor has from its birth on and no template speaks of, and room for the rest in the file's order.
 */
static int fill_new(Document *document, Json *entry, Str id, Str now) {
        static const char *const keys[] = {"title",  "command", "env",    "default_scope_key",
                                           "submit", "enabled", "runner", "runtime"};
        int r;

        r = document_set_int(document, entry, "v", 1);
        if (!r)
                r = document_set_str(document, entry, "id", id);
        for (size_t i = 0; !r && i < ARRAY_SIZE(keys); i++)
                r = strcmp(keys[i], "env") ? document_set_str(document, entry, keys[i], STR(""))
                    : document_section(document, entry, "env") ? 0
                                                               : error_origin(-ENOMEM);
        return error_trace(r ? r : document_set_str(document, entry, "created_at", now));
}

/* At a terminal, the runtime's own when the template has none. */
static Json *command_of(Arena *arena, const TemplateActor *actor) {
        if (json_count(actor->command) || !str_is(actor->runner, "pty"))
                return actor->command;
        return actor_default_command(arena, actor->runtime);
}

static int template_apply_fill(Document *document, Json *entry, const TemplateActor *actor, Str now) {
        Json *command = command_of(&document->arena, actor);
        int r = command ? 0 : error_origin(-ENOMEM);

        if (!r)
                r = document_set_str(document, entry, "title", str_trim(actor->title));
        if (!r)
                r = document_set(document, entry, "command", command);
        if (!r)
                r = document_set_str(document, entry, "submit", actor->submit);
        if (!r)
                r = document_set_bool(document, entry, "enabled", actor->is_enabled);
        if (!r)
                r = document_set_str(document, entry, "runner", actor->runner);
        if (!r)
                r = document_set_str(document, entry, "runtime", actor->runtime);
        return error_trace(r ? r : document_set_str(document, entry, "updated_at", now));
}

static int template_apply_put_actor(Document *document, Json *list, const TemplateActor *actor,
                                    const ActorView *before, Str now) {
        Arena *arena = &document->arena;
        Json *entry = before ? json_clone(arena, before->json) : json_new(arena, JSON_OBJECT);
        int r = entry ? 0 : error_origin(-ENOMEM);

        if (!r && !before)
                r = fill_new(document, entry, actor->id, now);
        if (!r)
                r = template_apply_fill(document, entry, actor, now);
        return error_trace(r ? r : json_push(list, entry));
}

/* The list as the template has it, in its order: the first enabled one is the foreman. */
static int replace_actors(GroupDoc *doc, const Template *template, const GroupDoc *old, Str now) {
        Json *list = json_new(&doc->document->arena, JSON_ARRAY);
        int r = list ? 0 : error_origin(-ENOMEM);

        for (size_t i = 0; !r && i < template->n_actors; i++)
                r = template_apply_put_actor(doc->document, list, &template->actors[i],
                                             group_doc_actor(old, template->actors[i].id), now);
        return error_trace(r ? r : json_set(&doc->document->arena, doc->json, STR("actors"), list));
}

static bool has_enabled(const GroupDoc *doc) {
        return group_foreman(doc) != NULL;
}

static int edit(GroupDoc *doc, const Template *template, const GroupDoc *old, Str now) {
        int r;

        r = replace_actors(doc, template, old, now);
        if (!r)
                r = settings_apply(doc, template->settings);
        if (!r)
                r = group_doc_view(doc);
        if (!r && doc->is_running && !has_enabled(doc))
                r = group_doc_set_bool(doc, "running", false);
        return error_trace(r);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void write_update(GroupChange *change, Str by, const ActorView *actor) {
        JsonWriter *w = group_change_event(change, "actor.update", by, STR(""));

        jw_begin_object(w);
        jw_field_str(w, "actor_id", actor->id);
        jw_key(w, "patch");
        jw_begin_object(w);
        jw_field_null(w, "role");
        jw_field_str(w, "title", actor->title);
        jw_key(w, "command");
        if (actor->command)
                jw_value(w, actor->command);
        else
                jw_raw(w, STR("[]"));
        jw_field_null(w, "env");
        jw_field_null(w, "default_scope_key");
        jw_field_str(w, "submit", actor->submit);
        jw_field_bool(w, "enabled", actor->is_enabled);
        jw_field_str(w, "runner", actor->runner);
        jw_field_str(w, "runtime", actor->runtime);
        jw_end_object(w);
        jw_end_object(w);
}

static void template_apply_write_settings(GroupChange *change, const TemplateResult *result) {
        JsonWriter *w = group_change_event(change, "group.settings_update", result->by, STR(""));

        jw_begin_object(w);
        jw_field_value(w, "patch", result->template->settings);
        jw_end_object(w);
}

/* Cursors go with their actors. */
static void tell_removed(GroupChange *change, TemplateResult *result, const GroupDoc *old) {
        for (size_t i = 0; i < old->n_actors; i++) {
                Str id = old->actors[i].id;
                if (template_find(result->template, id) || template_apply_is_listed(result->removed, id))
                        continue;
                template_apply_note(change, result->removed, id);
                actor_change_event(change, "actor.remove", result->by, id, STR_NULL);
                group_change_cursor(change, id, STR_NULL, STR_NULL);
        }
}

static void tell_listed(GroupChange *change, TemplateResult *result, const GroupDoc *doc,
                        const GroupDoc *old) {
        for (size_t i = 0; i < doc->n_actors; i++) {
                const ActorView *actor = &doc->actors[i];
                if (group_doc_actor(old, actor->id)) {
                        template_apply_note(change, result->updated, actor->id);
                        write_update(change, result->by, actor);
                } else {
                        template_apply_note(change, result->added, actor->id);
                        actor_write_added(&change->group->collab->daemon->config, doc, actor,
                                          group_change_event(change, "actor.add", result->by, STR("")));
                        group_change_cursor(change, actor->id, str_from(group_change_last(change)->id),
                                            str_from(group_change_last(change)->ts));
                }
        }
}

/* ---- together -------------------------------------------------------------------------------- */

static TemplateResult *result_new(GroupChange *change, const Template *template, Str by) {
        TemplateResult *result = arena_alloc(&change->arena, sizeof(*result));

        if (!result)
                return NULL;
        *result = (TemplateResult){.template = template,
                                   .by = by,
                                   .removed = json_new(&change->arena, JSON_ARRAY),
                                   .added = json_new(&change->arena, JSON_ARRAY),
                                   .updated = json_new(&change->arena, JSON_ARRAY)};
        return result->removed && result->added && result->updated ? result : NULL;
}

TemplateResult *template_apply(GroupChange *change, const Template *template, Str by) {
        const GroupDoc *old = change->group->doc;
        TemplateResult *result = result_new(change, template, by);
        GroupDoc *doc = group_change_doc(change);
        char text[TIME_TEXT_MAX];
        Str now = {text, time_format_us(loop_wall_us(change->group->collab->daemon->loop), text)};

        if (!result || !doc || !change_try(change, edit(doc, template, old, now)))
                return NULL;
        tell_removed(change, result, old);
        tell_listed(change, result, doc, old);
        template_apply_write_settings(change, result);
        return result;
}

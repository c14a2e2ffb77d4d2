/* SPDX-License-Identifier: MIT */
#include "collab/group-doc.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#include "base/error.h"
#include "core/secret.h"

static const char *const key_order[] = {
        "v",        "group_id",   "title",
        "topic",    "created_at", "updated_at",
        "running",  "state",      "active_scope_key",
        "scopes",   "actors",     "messaging",
        "delivery", "automation", "terminal_transcript",
        "ledger",   "im",         NULL,
};

static const char *const state_names[] = {
        [GROUP_ACTIVE] = "active", [GROUP_IDLE] = "idle", [GROUP_PAUSED] = "paused"};

const char *group_state_name(GroupState state) {
        return state_names[state];
}

bool group_state_from(Str word, GroupState *ret) {
        for (size_t i = 0; i < ARRAY_SIZE(state_names); i++)
                if (word.n == strlen(state_names[i]) && !strncasecmp(word.data, state_names[i], word.n)) {
                        *ret = (GroupState)i;
                        return true;
                }
        return false;
}

GroupDoc *group_doc_new(Document *document) {
        GroupDoc *doc = calloc(1, sizeof(*doc));

        if (!doc) {
                document_unref(document);
                return NULL;
        }
        doc->n_refs = 1;
        doc->document = document;
        doc->json = document->json;
        return group_doc_view(doc) ? group_doc_unref(doc) : doc;
}

GroupDoc *group_doc_clone(const GroupDoc *source) {
        Document *document = document_clone(source->document);

        return document ? group_doc_new(document) : NULL;
}

GroupDoc *group_doc_ref(GroupDoc *doc) {
        doc->n_refs++;
        return doc;
}

GroupDoc *group_doc_unref(GroupDoc *doc) {
        if (!doc || --doc->n_refs)
                return NULL;
        document_unref(doc->document);
        free(doc);
        return NULL;
}

GroupDoc *group_doc_make(Str id, Str title, Str topic, Str now) {
        Document *document = document_new();
        Json *json = document ? document->json : NULL;
        int r = document ? document_set_int(document, json, "v", 1) : -ENOMEM;

        if (!r)
                r = document_set_str(document, json, "group_id", id);
        if (!r)
                r = document_set_str(document, json, "title", title);
        if (!r)
                r = document_set_str(document, json, "topic", topic);
        if (!r)
                r = document_set_str(document, json, "created_at", now);
        if (!r)
                r = document_set_str(document, json, "updated_at", now);
        if (!r)
                r = document_set_bool(document, json, "running", false);
        if (!r)
                r = document_set_str(document, json, "state", STR("active"));
        if (!r)
                r = document_set_str(document, json, "active_scope_key", STR(""));
        if (!r)
                r = json_set(&document->arena, json, STR("scopes"), json_new(&document->arena, JSON_ARRAY));
        if (!r)
                r = json_set(&document->arena, json, STR("actors"), json_new(&document->arena, JSON_ARRAY));
        if (!r)
                return group_doc_new(document);
        document_unref(document);
        return NULL;
}

/* ---- looking things up ----------------------------------------------------------------------- */

const ScopeView *group_doc_scope(const GroupDoc *doc, Str key) {
        for (size_t i = 0; i < doc->n_scopes; i++)
                if (str_eq(doc->scopes[i].key, key))
                        return &doc->scopes[i];
        return NULL;
}

const ActorView *group_doc_actor(const GroupDoc *doc, Str id) {
        for (size_t i = 0; i < doc->n_actors; i++)
                if (str_eq(doc->actors[i].id, id))
                        return &doc->actors[i];
        return NULL;
}

/* ---- edits ----------------------------------------------------------------------------------- */

int group_doc_set_str(GroupDoc *doc, const char *key, Str value) {
        return error_trace(document_set_str(doc->document, doc->json, key, value));
}

int group_doc_set_bool(GroupDoc *doc, const char *key, bool value) {
        return error_trace(document_set_bool(doc->document, doc->json, key, value));
}

Json *group_doc_section(GroupDoc *doc, const char *key) {
        return document_section(doc->document, doc->json, key);
}

Json *group_doc_list(GroupDoc *doc, const char *key) {
        Json *list = json_get(doc->json, key);
        Arena *arena = &doc->document->arena;

        if (json_is(list, JSON_ARRAY))
                return list;
        list = json_new(arena, JSON_ARRAY);
        return json_set(arena, doc->json, str_from(key), list) ? NULL : list;
}

/* A list has no removal of its own: what stays moves into a new one. */
bool group_doc_list_remove(GroupDoc *doc, const char *key, const char *member, Str value) {
        Arena *arena = &doc->document->arena;
        Json *list = json_get(doc->json, key), *kept = json_new(arena, JSON_ARRAY);
        size_t n = json_count(list);

        json_each (item, list)
                if (!str_eq(json_str(json_get(item, member)), value) &&
                    (!kept || json_push(kept, json_clone(arena, item))))
                        return false;
        return kept && json_count(kept) < n && !json_set(arena, doc->json, str_from(key), kept);
}

/* ---- out ------------------------------------------------------------------------------------- */

void group_doc_write_member(const Config *config, const Json *member, JsonWriter *w) {
        jw_key_str(w, json_key(member));
        if (str_is(json_key(member), "env") && json_is(member, JSON_OBJECT))
                secret_write_env(config, w, member);
        else
                jw_value(w, member);
}

static bool is_secret(Str key) {
        return str_is(key, "token") || str_is(key, "bot_token") || str_is(key, "app_token");
}

static void write_im(JsonWriter *w, const Json *im) {
        jw_begin_object(w);
        json_each (member, im)
                if (!is_secret(json_key(member))) {
                        jw_key_str(w, json_key(member));
                        jw_value(w, member);
                }
        jw_end_object(w);
}

static void group_doc_write_actor(const Config *config, const Json *actor, JsonWriter *w) {
        if (!json_is(actor, JSON_OBJECT)) {
                jw_value(w, actor);
                return;
        }
        jw_begin_object(w);
        json_each (member, actor)
                group_doc_write_member(config, member, w);
        jw_end_object(w);
}

static void group_doc_write_actors(const Config *config, const Json *actors, JsonWriter *w) {
        jw_begin_array(w);
        json_each (actor, actors)
                group_doc_write_actor(config, actor, w);
        jw_end_array(w);
}

void group_doc_write_redacted(const GroupDoc *doc, const Config *config, JsonWriter *w) {
        jw_begin_object(w);
        json_each (member, doc->json) {
                jw_key_str(w, json_key(member));
                if (str_is(json_key(member), "im") && json_is(member, JSON_OBJECT))
                        write_im(w, member);
                else if (str_is(json_key(member), "actors") && json_is(member, JSON_ARRAY))
                        group_doc_write_actors(config, member, w);
                else
                        jw_value(w, member);
        }
        jw_end_object(w);
}

int group_doc_text(GroupDoc *doc, Str now, Buf *out) {
        int r = group_doc_set_str(doc, "updated_at", now);

        if (!r)
                r = document_order(doc->document, key_order);
        doc->json = doc->document->json;
        if (!r)
                r = group_doc_view(doc);
        if (!r)
                r = document_write(doc->document, DOCUMENT_YAML, out);
        return error_trace(r);
}

/* SPDX-License-Identifier: MIT */
#include "collab/group/group-doc.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#include "base/error.h"
#include "base/time.h"
#include "collab/group/settings.h"
#include "core/secret.h"

const ActorView *group_foreman(const GroupDoc *doc) {
        for (size_t i = 0; i < doc->n_actors; i++)
                if (doc->actors[i].is_enabled)
                        return &doc->actors[i];
        return NULL;
}

bool group_is_foreman(const GroupDoc *doc, Str actor) {
        const ActorView *foreman = group_foreman(doc);

        return foreman && str_eq(foreman->id, actor);
}

const char *group_role(const GroupDoc *doc, Str actor) {
        return group_is_foreman(doc, actor) ? "foreman" : "peer";
}

static bool permissions_is_allowed(const GroupDoc *doc, Str by, GroupRole right, Str target) {
        switch (right) {
        case ROLE_FOREMAN: return group_is_foreman(doc, by);
        case ROLE_FOREMAN_OR_SELF: return group_is_foreman(doc, by) || str_eq(by, target);
        case ROLE_SELF: return str_eq(by, target);
        case ROLE_USER: return false;
        }
        return false;
}

int group_require(Call *call, const GroupDoc *doc, Str by, GroupRole right, Str target, const char *action,
                  int error) {
        if (!by.n || str_is(by, "user"))
                return 0;
        if (!group_doc_actor(doc, by))
                return call_fail(call, error, "unknown actor: " STR_FMT, STR_ARG(by));
        if (permissions_is_allowed(doc, by, right, target))
                return 0;
        return call_fail(call, error, "permission denied: " STR_FMT " cannot %s", STR_ARG(by), action);
}

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

bool group_doc_has_bridge(const GroupDoc *doc) {
        bool is_enabled = false;

        return json_bool(json_get(json_get(doc->json, "im"), "enabled"), &is_enabled) && is_enabled;
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
                r = document_order(doc->document, doc->document->json, key_order);
        doc->json = doc->document->json;
        if (!r)
                r = group_doc_view(doc);
        if (!r)
                r = document_write(doc->document, DOCUMENT_YAML, out);
        return error_trace(r);
}

/* The typed view of group.yaml: what is missing or of a wrong type reads as its default. */
static Str text_or(const Json *object, const char *key, const char *fallback) {
        Str s = json_str(json_get(object, key));

        return s.n ? s : str_from(fallback);
}

static bool truth_or(const Json *object, const char *key, bool fallback) {
        bool truth = fallback;

        json_bool(json_get(object, key), &truth);
        return truth;
}

/* What is there and no text is no word that anybody knows, and not "nothing was said". */
static Str view_word(const Json *object, const char *key) {
        const Json *value = json_get(object, key);

        return json_is(value, JSON_STRING)           ? json_str(value)
               : !value || json_is(value, JSON_NULL) ? STR("")
                                                     : STR("(no text)");
}

static void view_scope(ScopeView *scope, Json *json) {
        *scope = (ScopeView){.key = json_str(json_get(json, "scope_key")),
                             .url = json_str(json_get(json, "url")),
                             .label = json_str(json_get(json, "label")),
                             .git_remote = json_str(json_get(json, "git_remote")),
                             .json = json};
}

static void view_actor(ActorView *actor, Json *json) {
        const Json *command = json_get(json, "command"), *env = json_get(json, "env");

        *actor = (ActorView){.id = json_str(json_get(json, "id")),
                             .title = text_or(json, "title", ""),
                             .default_scope_key = text_or(json, "default_scope_key", ""),
                             .submit = text_or(json, "submit", "enter"),
                             .runner = text_or(json, "runner", "pty"),
                             .runtime = text_or(json, "runtime", "codex"),
                             .created_at = text_or(json, "created_at", ""),
                             .sandbox = view_word(json, "sandbox"),
                             .sandbox_network = view_word(json, "sandbox_network"),
                             .is_enabled = truth_or(json, "enabled", true),
                             .command = json_is(command, JSON_ARRAY) ? command : NULL,
                             .env = json_is(env, JSON_OBJECT) ? env : NULL,
                             .json = json};
        if (!time_parse(actor->created_at, &actor->created_us))
                actor->created_us = 0;
}

static int view_scopes(GroupDoc *doc) {
        const Json *list = json_get(doc->json, "scopes");
        size_t n = json_is(list, JSON_ARRAY) ? json_count(list) : 0;

        doc->n_scopes = 0;
        doc->scopes = arena_alloc(&doc->document->arena, n * sizeof(*doc->scopes));
        if (!doc->scopes)
                return error_origin(-ENOMEM);
        json_each (item, n ? list : NULL)
                if (json_str(json_get(item, "scope_key")).n)
                        view_scope(&doc->scopes[doc->n_scopes++], item);
        return 0;
}

static int view_actors(GroupDoc *doc) {
        const Json *list = json_get(doc->json, "actors");
        size_t n = json_is(list, JSON_ARRAY) ? json_count(list) : 0;

        doc->n_actors = 0;
        doc->actors = arena_alloc(&doc->document->arena, n * sizeof(*doc->actors));
        if (!doc->actors)
                return error_origin(-ENOMEM);
        json_each (item, n ? list : NULL)
                if (json_str(json_get(item, "id")).n)
                        view_actor(&doc->actors[doc->n_actors++], item);
        return 0;
}

int group_doc_view(GroupDoc *doc) {
        int r;

        doc->title = json_str(json_get(doc->json, "title"));
        doc->topic = json_str(json_get(doc->json, "topic"));
        doc->created_at = json_str(json_get(doc->json, "created_at"));
        doc->updated_at = json_str(json_get(doc->json, "updated_at"));
        doc->active_scope_key = json_str(json_get(doc->json, "active_scope_key"));
        doc->sandbox = view_word(doc->json, "sandbox");
        doc->sandbox_network = view_word(doc->json, "sandbox_network");
        doc->is_running = truth_or(doc->json, "running", false);
        if (!group_state_from(str_trim(json_str(json_get(doc->json, "state"))), &doc->state))
                doc->state = GROUP_ACTIVE;
        settings_view(doc->json, &doc->settings);
        r = view_scopes(doc);
        if (!r)
                r = view_actors(doc);
        return error_trace(r);
}

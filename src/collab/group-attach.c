/* SPDX-License-Identifier: MIT */
#include "collab/group-attach.h"

#include <errno.h>

#include "base/error.h"

static int fill_scope(GroupDoc *doc, Json *entry, const Scope *scope) {
        Document *document = doc->document;
        int r = document_set_str(document, entry, "scope_key", scope->key);

        if (!r)
                r = document_set_str(document, entry, "url", scope->root);
        if (!r)
                r = document_set_str(document, entry, "label", scope->label);
        if (!r)
                r = document_set_str(document, entry, "git_remote", scope->git_remote);
        return error_trace(r);
}

static int put_scope(GroupDoc *doc, const Scope *scope) {
        const ScopeView *old = group_doc_scope(doc, scope->key);
        Json *list = group_doc_list(doc, "scopes"), *entry = old ? old->json : NULL;
        int r = 0;

        if (!entry) {
                entry = json_new(&doc->document->arena, JSON_OBJECT);
                r = list && entry ? json_push(list, entry) : error_origin(-ENOMEM);
        }
        if (!r)
                r = fill_scope(doc, entry, scope);
        if (!r)
                r = group_doc_set_str(doc, "active_scope_key", scope->key);
        return error_trace(r);
}

static void group_attach_write_event(GroupChange *change, const Scope *scope, Str by) {
        JsonWriter *w = group_change_event(change, "group.attach", by, scope->key);

        jw_begin_object(w);
        jw_field_str(w, "url", scope->root);
        jw_field_str(w, "label", scope->label);
        jw_field_str(w, "git_remote", scope->git_remote);
        jw_end_object(w);
}

/* The whole entry: the group may be one that the registry does not know yet. */
static void group_attach_tell_registry(GroupChange *change, const GroupDoc *doc, const Scope *scope) {
        RegistryEdit *edit = group_change_registry(change);

        edit->title = arena_str(&change->arena, doc->title);
        edit->topic = arena_str(&change->arena, doc->topic);
        edit->created_at = arena_str(&change->arena, doc->created_at);
        edit->path = str_from(change->group->dir);
        edit->default_scope_key = edit->scope_key = arena_str(&change->arena, scope->key);
}

void group_change_attach(GroupChange *change, const Scope *scope, Str by) {
        GroupDoc *doc = group_change_doc(change);

        change_try(change, put_scope(doc, scope));
        group_attach_write_event(change, scope, by);
        group_attach_tell_registry(change, doc, scope);
}

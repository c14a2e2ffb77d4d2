/* SPDX-License-Identifier: MIT */
#include "collab/registry-file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/time.h"
#include "collab/group.h"

/* ---- edits ----------------------------------------------------------------------------------- */

/* The texts of an edit, to treat them alike. */
static const size_t texts[] = {
        offsetof(RegistryEdit, group_id),       offsetof(RegistryEdit, title),
        offsetof(RegistryEdit, topic),          offsetof(RegistryEdit, path),
        offsetof(RegistryEdit, created_at),     offsetof(RegistryEdit, default_scope_key),
        offsetof(RegistryEdit, updated_at),     offsetof(RegistryEdit, scope_key),
        offsetof(RegistryEdit, detached_scope),
};

static Str *text_at(RegistryEdit *edit, size_t i) {
        return (Str *)((char *)edit + texts[i]);
}

RegistryEdit *registry_edit_copy(const RegistryEdit *source) {
        RegistryEdit from = *source, *edit;
        size_t n = 0;
        char *at;

        for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
                n += text_at(&from, i)->n + 1;
        edit = malloc(sizeof(*edit) + n);
        if (!edit)
                return NULL;
        *edit = from;
        edit->is_owned = true;
        edit->done = NULL;
        edit->next = NULL;
        at = (char *)(edit + 1);
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                Str *text = text_at(edit, i);
                if (!text->data)
                        continue;
                memcpy(at, text->data, text->n);
                at[text->n] = 0;
                text->data = at;
                at += text->n + 1;
        }
        return edit;
}

static int registry_file_set(Document *document, Json *entry, const char *key, Str value) {
        return value.data ? document_set_str(document, entry, key, value) : 0;
}

static int fill_entry(Document *document, Json *entry, const RegistryEdit *edit) {
        int r = registry_file_set(document, entry, "group_id", edit->group_id);

        if (!r)
                r = registry_file_set(document, entry, "title", edit->title);
        if (!r)
                r = registry_file_set(document, entry, "topic", edit->topic);
        if (!r)
                r = registry_file_set(document, entry, "path", edit->path);
        if (!r)
                r = registry_file_set(document, entry, "default_scope_key", edit->default_scope_key);
        if (!r)
                r = registry_file_set(document, entry, "created_at", edit->created_at);
        if (!r)
                r = registry_file_set(document, entry, "updated_at", edit->updated_at);
        return error_trace(r);
}

static void remove_defaults(Json *defaults, Str group_id) {
        Json *next;

        for (Json *member = json_first(defaults); member; member = next) {
                next = member->next;
                if (str_eq(json_str(member), group_id))
                        json_remove(defaults, json_key(member));
        }
}

/* A bump or update of a group that somebody has removed meanwhile does not bring it back: an entry needs a
 * path. */
static int registry_file_apply(Document *document, const RegistryEdit *edit) {
        Json *groups = document_section(document, document->json, "groups"),
             *defaults = document_section(document, document->json, "defaults"), *entry;
        int r;

        if (!groups || !defaults)
                return error_origin(-ENOMEM);
        if (edit->is_removal) {
                json_remove(groups, edit->group_id);
                remove_defaults(defaults, edit->group_id);
                return 0;
        }
        entry = json_get_str(groups, edit->group_id);
        if (!json_is(entry, JSON_OBJECT) && !edit->path.data)
                return 0;
        if (!json_is(entry, JSON_OBJECT)) {
                entry = json_new(&document->arena, JSON_OBJECT);
                r = json_set(&document->arena, groups, edit->group_id, entry);
                if (r)
                        return error_trace(r);
        }
        r = fill_entry(document, entry, edit);
        if (!r && edit->scope_key.n)
                r = json_set(&document->arena, defaults, edit->scope_key,
                             json_new_str(&document->arena, edit->group_id));
        if (!r && edit->detached_scope.n &&
            str_eq(json_str(json_get_str(defaults, edit->detached_scope)), edit->group_id))
                json_remove(defaults, edit->detached_scope);
        return error_trace(r);
}

/* ---- making it anew -------------------------------------------------------------------------- */

static int add_group(Document *document, const char *groups_path, const char *id) {
        _cleanup_(freep) char *dir = path_join(groups_path, id);
        _cleanup_(freep) char *path = dir ? path_join(dir, "group.yaml") : NULL;
        Document *source = NULL;
        GroupDoc *doc;
        int r = path ? document_read(&source, path, DOCUMENT_YAML) : error_origin(-ENOMEM);

        if (r)
                return r > 0 ? 0 : r; /* no group there */
        doc = group_doc_new(source);
        if (!doc)
                return error_origin(-ENOMEM);
        r = registry_file_apply(document,
                                &(RegistryEdit){.group_id = str_from(id),
                                                .title = doc->title,
                                                .topic = doc->topic.data ? doc->topic : STR(""),
                                                .path = str_from(dir),
                                                .default_scope_key = doc->active_scope_key.data
                                                                             ? doc->active_scope_key
                                                                             : STR(""),
                                                .created_at = doc->created_at,
                                                .updated_at = doc->updated_at});
        for (size_t i = 0; !r && i < doc->n_scopes; i++)
                r = registry_file_apply(document, &(RegistryEdit){.group_id = str_from(id),
                                                                  .scope_key = doc->scopes[i].key,
                                                                  .path = str_from(dir)});
        group_doc_unref(doc);
        return error_trace(r);
}

static int rebuild(Document *document, const char *groups_path) {
        DIR *dir = opendir(groups_path);
        struct dirent *entry;
        int r = 0;

        if (!dir)
                return errno == ENOENT ? 0 : error_origin(-errno);
        while (!r && (entry = readdir(dir)))
                if (group_id_is_valid(str_from(entry->d_name)))
                        r = add_group(document, groups_path, entry->d_name);
        closedir(dir);
        return error_trace(r);
}

static int registry_file_make(RegistryJob *job, Str now) {
        Document *document = document_new();
        int r = document ? 0 : error_origin(-ENOMEM);

        job->document = document;
        if (!r)
                r = document_set_int(document, document->json, "v", 1);
        if (!r)
                r = document_set_str(document, document->json, "created_at", now);
        if (!r)
                r = document_set_str(document, document->json, "updated_at", now);
        if (!r && (!document_section(document, document->json, "groups") ||
                   !document_section(document, document->json, "defaults")))
                r = error_origin(-ENOMEM);
        return r ? r : error_trace(rebuild(document, job->groups_path));
}

/* ---- the file -------------------------------------------------------------------------------- */

static int registry_file_keep_aside(const char *path) {
        char aside[4096];

        if ((size_t)snprintf(aside, sizeof(aside), "%s.broken", path) >= sizeof(aside))
                return error_origin(-ENAMETOOLONG);
        return rename(path, aside) < 0 ? error_origin(-errno) : 0;
}

static int registry_file_load(RegistryJob *job, Str now, bool *ret_is_new) {
        int r = document_read(&job->document, job->path, DOCUMENT_JSON);

        *ret_is_new = r > 0;
        if (r == DOCUMENT_E_BROKEN)
                r = registry_file_keep_aside(job->path);
        if (r < 0)
                return error_trace(r);
        return *ret_is_new ? registry_file_make(job, now) : 0;
}

static int registry_file_store(RegistryJob *job, Str now) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        int r = document_set_str(job->document, job->document->json, "updated_at", now);

        if (!r)
                r = document_write(job->document, DOCUMENT_JSON, &text);
        if (!r)
                r = file_replace(job->path, buf_str(&text), 0600, FILE_DURABLE);
        if (!r)
                r = file_identify(job->path, &job->document->identity);
        return error_trace(r);
}

void registry_job_run(RegistryJob *job) {
        char text[TIME_TEXT_MAX];
        Str now = {text, time_format_us(job->now_us, text)};
        bool is_new = false;

        job->r = registry_file_load(job, now, &is_new);
        for (RegistryEdit *edit = job->edits; edit && !job->r; edit = edit->next)
                job->r = registry_file_apply(job->document, edit);
        if (!job->r && (job->edits || is_new))
                job->write_r = registry_file_store(job, now);
        if (job->write_r)
                job->document->identity = (FileIdentity){0}; /* not what the file says: read again */
        if (job->r)
                job->document = document_unref(job->document);
}

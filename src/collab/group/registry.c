/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "collab/registry"

#include "collab/group/registry.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/time.h"
#include "collab/collab.h"
#include "collab/group/group.h"

/* ---- edits ----------------------------------------------------------------------------------- */

static RegistryEdit *registry_edit_of(LaneItem *item) {
        return container_of(container_of(item, RegistryItem, item), RegistryEdit, wait);
}

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

/* Reads the file (makes it anew when it is missing or broken), applies the edits, writes it if needed. */
static void registry_job_run(RegistryJob *job) {
        char text[TIME_TEXT_MAX];
        Str now = {text, time_format_us(job->now_us, text)};
        bool is_new = false;
        LaneItem *item;

        job->r = registry_file_load(job, now, &is_new);
        STAILQ_FOREACH (item, &job->edits, next)
                if (!job->r)
                        job->r = registry_file_apply(job->document, registry_edit_of(item));
        if (!job->r && (!STAILQ_EMPTY(&job->edits) || is_new))
                job->write_r = registry_file_store(job, now);
        if (job->write_r)
                job->document->identity = (FileIdentity){0}; /* not what the file says: read again */
        if (job->r)
                job->document = document_unref(job->document);
}

/* ---- a turn: reads the file, applies what waits, writes it if there was something ------------- */

typedef struct RegistryRead { /* in the call's arena */
        RegistryItem wait;
        Call *call;
        RegistryFn fn;
        const Carry *carry;
} RegistryRead;

/* Those who wait are told; what was not written becomes the registry's own copy, which is tried again. */
static void registry_tell_edits(Registry *registry, LaneItems *edits, int r) {
        LaneItems kept = STAILQ_HEAD_INITIALIZER(kept);
        LaneItem *item;

        while ((item = STAILQ_FIRST(edits))) {
                RegistryEdit *edit = registry_edit_of(item), *own = NULL;

                STAILQ_REMOVE_HEAD(edits, next);
                if (r)
                        own = edit->is_owned ? edit : registry_edit_copy(edit);
                if (own)
                        STAILQ_INSERT_TAIL(&kept, &own->wait.item, next);
                if (edit->done)
                        edit->done(edit, r);
                else if (!r && edit->is_owned)
                        free(edit);
        }
        lane_put_back(&registry->lane, &kept);
}

static void registry_tell_reads(Registry *registry, LaneItems *reads, int r) {
        LaneItem *item;

        while ((item = STAILQ_FIRST(reads))) {
                RegistryRead *read =
                        container_of(container_of(item, RegistryItem, item), RegistryRead, wait);
                int result;

                STAILQ_REMOVE_HEAD(reads, next);
                result = r ? r : read->fn(read->call, registry, read->carry);
                if (result != CALL_LATER)
                        call_finish(read->call, result);
        }
}

static void registry_done(Lane *lane) {
        Registry *registry = container_of(lane, Registry, lane);
        RegistryJob *job = steal(&registry->job);
        int r = job->r ? job->r : job->write_r;

        lane_over(lane);
        if (!job->r) {
                document_unref(registry->document);
                registry->document = job->document;
        }
        if (r)
                log_err(&registry->collab->daemon->log, "-", "cannot %s %s: %s", job->r ? "read" : "write",
                        registry->path, strerror(-r));
        registry_tell_edits(registry, &job->edits, r);
        registry_tell_reads(registry, &job->reads, job->r);
        if (r && lane->n_waiting)
                (void)timer_set(&registry->behind, REGISTRY_BEHIND_MS);
        else if (lane->n_waiting)
                lane_kick(lane);
        free(job);
}

static void registry_take_all(Registry *registry, RegistryJob *job) {
        LaneItem *item;

        *job = (RegistryJob){.path = registry->path,
                             .groups_path = registry->collab->groups_path,
                             .now_us = loop_wall_us(registry->collab->daemon->loop),
                             .edits = STAILQ_HEAD_INITIALIZER(job->edits),
                             .reads = STAILQ_HEAD_INITIALIZER(job->reads)};
        while ((item = lane_take(&registry->lane)))
                if (container_of(item, RegistryItem, item)->is_edit)
                        STAILQ_INSERT_TAIL(&job->edits, item, next);
                else
                        STAILQ_INSERT_TAIL(&job->reads, item, next);
}

static void registry_run(Lane *lane) {
        registry_job_run(container_of(lane, Registry, lane)->job);
}

static void registry_begin(Lane *lane) {
        Registry *registry = container_of(lane, Registry, lane);
        RegistryJob *job = calloc(1, sizeof(*job));
        int r;

        if (!job) {
                lane_over(lane);
                (void)timer_set(&registry->behind, REGISTRY_BEHIND_MS);
                return;
        }
        registry_take_all(registry, job);
        registry->job = job;
        r = lane_work(lane, registry_run, registry_done);
        if (!r)
                return; /* from now on the job is the worker's */
        job->r = r;
        registry_done(lane);
}

static const LaneType registry_lane = {.begin = registry_begin, .needs_kick = true};

/* ---- edits ----------------------------------------------------------------------------------- */

/* An edit belongs to a call or is the one of its group, so there are never more than that. */
static void registry_push(Registry *registry, RegistryEdit *edit) {
        edit->wait.is_edit = true;
        (void)lane_add(&registry->lane, &edit->wait.item);
}

void registry_commit(Registry *registry, RegistryEdit *edit) {
        registry_push(registry, edit);
        lane_kick(&registry->lane);
}

/* What messages have done to groups becomes edits. */
static void registry_gather(Registry *registry) {
        Collab *collab = registry->collab;

        for (size_t i = 0; i < COLLAB_BUCKETS; i++)
                for (Group *group = collab->groups[i]; group; group = group->next) {
                        char ts[TIME_TEXT_MAX];
                        RegistryEdit *edit;
                        if (!group->touched_us)
                                continue;
                        time_format_us(group->touched_us, ts);
                        edit = registry_edit_copy(&(RegistryEdit){.group_id = str_from(group->id),
                                                                  .updated_at = str_from(ts)});
                        if (!edit)
                                continue; /* next time */
                        group->touched_us = 0;
                        registry_push(registry, edit);
                }
}

static void on_behind(Timer *timer) {
        Registry *registry = container_of(timer, Registry, behind);

        registry_gather(registry);
        if (registry->lane.n_waiting)
                lane_kick(&registry->lane);
}

void registry_touch_soon(Registry *registry) {
        if (!timer_is_set(&registry->behind))
                (void)timer_set(&registry->behind, REGISTRY_BEHIND_MS);
}

/* ---- reads ----------------------------------------------------------------------------------- */

Str registry_default(const Registry *registry, Str scope_key) {
        return json_str(json_get_str(json_get(registry->document->json, "defaults"), scope_key));
}

int registry_call(Call *call, RegistryFn fn, const Carry *carry) {
        Registry *registry = &call->daemon->collab->registry;
        RegistryRead *read;

        if (registry->document && lane_is_idle(&registry->lane) && registry->document->identity.ino &&
            document_is_fresh(registry->document, registry->path))
                return fn(call, registry, carry);
        read = arena_alloc(&call->arena, sizeof(*read));
        if (!read)
                return error_origin(-ENOMEM);
        *read = (RegistryRead){.call = call, .fn = fn, .carry = carry};
        (void)lane_add(&registry->lane, &read->wait.item);
        lane_kick(&registry->lane);
        return CALL_LATER;
}

/* ---- life ------------------------------------------------------------------------------------ */

int registry_init(Registry *registry, Collab *collab) {
        registry->collab = collab;
        lane_init(&registry->lane, collab->daemon->loop, &registry_lane);
        registry->path = path_join(collab->home, "registry.json");
        timer_init(&registry->behind, collab->daemon->loop, on_behind);
        return registry->path ? 0 : error_origin(-ENOMEM);
}

void registry_deinit(Registry *registry) {
        RegistryJob job;
        LaneItem *item;

        timer_clear(&registry->behind);
        lane_deinit(&registry->lane);
        registry_gather(registry);
        registry_take_all(registry, &job);
        if (!STAILQ_EMPTY(&job.edits)) {
                registry_job_run(&job);
                document_unref(job.document);
        }
        while ((item = STAILQ_FIRST(&job.edits))) {
                STAILQ_REMOVE_HEAD(&job.edits, next);
                free(registry_edit_of(item)); /* only its own are left: calls are over */
        }
        document_unref(registry->document);
        free(registry->path);
}

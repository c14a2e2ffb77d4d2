/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "collab/context"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "collab/collab.h"
#include "collab/context/context-internal.h"

struct ContextEntry {
        char *path;
        Document *document;
        bool is_asked; /* since the last load began */
};

static ContextEntry *entry_free(ContextEntry *entry) {
        if (!entry)
                return NULL;
        document_unref(entry->document);
        free(entry->path);
        free(entry);
        return NULL;
}

void context_cache_deinit(ContextCache *cache) {
        for (size_t i = 0; i < cache->n; i++)
                entry_free(cache->entries[i]);
        free(cache->entries);
        *cache = (ContextCache){0};
}

/* ---- asking ---------------------------------------------------------------------------------- */

static int by_path(const void *a, const void *b) {
        return strcmp((*(ContextEntry *const *)a)->path, (*(ContextEntry *const *)b)->path);
}

static int path_to_entry(const void *path, const void *entry) {
        return strcmp(path, (*(ContextEntry *const *)entry)->path);
}

bool context_cache_find(ContextCache *cache, ContextDoc *doc, const FileIdentity *identity) {
        ContextEntry **found = cache->n ? bsearch(doc->path, cache->entries, cache->n,
                                                  sizeof(ContextEntry *), path_to_entry)
                                        : NULL;

        if (!found || !file_identity_eq(&(*found)->document->identity, identity))
                return false;
        (*found)->is_asked = true;
        doc->document = document_ref((*found)->document);
        doc->is_stored = true;
        return true;
}

/* ---- keeping --------------------------------------------------------------------------------- */

static bool is_young(const ContextDoc *doc, int64_t now_us) {
        const FileIdentity *identity = &doc->document->identity;
        const int64_t changed_ns = MAX(identity->mtime_ns, identity->ctime_ns);

        return now_us * 1000 - changed_ns < (int64_t)CONTEXT_CACHE_YOUNG_MS * 1000000;
}

static ContextEntry *entry_new(const ContextDoc *doc) {
        ContextEntry *entry = calloc(1, sizeof(*entry));

        if (!entry)
                return NULL;
        entry->document = document_ref(doc->document);
        entry->path = strdup(doc->path);
        return entry->path ? entry : entry_free(entry);
}

static void context_cache_hold(ContextCache *cache, const ContextDoc *doc, int64_t now_us) {
        ContextEntry *entry;

        if (!doc->is_stored || doc->document->n_refs > 1 || is_young(doc, now_us) ||
            cache->n_bytes > CONTEXT_CACHE_MAX)
                return; /* with another reference the cache has it already */
        entry = entry_new(doc);
        if (!entry)
                return;
        cache->n_bytes += entry->document->arena.n_total;
        cache->entries[cache->n++] = entry;
}

/* Files that have changed or are gone. */
static void drop_unasked(ContextCache *cache) {
        size_t n = 0;

        for (size_t i = 0; i < cache->n; i++) {
                ContextEntry *entry = cache->entries[i];
                if (!entry->is_asked) {
                        cache->n_bytes -= entry->document->arena.n_total;
                        entry_free(entry);
                        continue;
                }
                entry->is_asked = false;
                cache->entries[n++] = entry;
        }
        cache->n = n;
}

void context_cache_keep(ContextCache *cache, const Context *context) {
        ContextEntry **grown;

        drop_unasked(cache);
        grown = realloc(cache->entries, (cache->n + context->n_tasks + 2) * sizeof(ContextEntry *));
        if (!grown)
                return;
        cache->entries = grown;
        context_cache_hold(cache, &context->main, context->now_us);
        context_cache_hold(cache, &context->presence, context->now_us);
        for (size_t i = 0; i < context->n_tasks; i++)
                context_cache_hold(cache, context->tasks[i], context->now_us);
        qsort(cache->entries, cache->n, sizeof(ContextEntry *), by_path);
}

/* ---- the lane -------------------------------------------------------------------------------- */

typedef struct ContextLane {
        Lane lane;
        ContextJob *job;    /* whose turn it is */
        ContextCache cache; /* of the worker that is at it */
} ContextLane;

static void context_lane_begin(Lane *lane);

static const LaneType context_lane_type = {.begin = context_lane_begin, .n_max = LANE_WAITING_MAX};

static ContextLane *context_lane_get(Group *group) {
        ContextLane *self = group->slots[GROUP_SLOT_CONTEXT];

        if (self)
                return self;
        self = calloc(1, sizeof(*self));
        if (self)
                lane_init(&self->lane, group->collab->daemon->loop, &context_lane_type);
        return group->slots[GROUP_SLOT_CONTEXT] = self;
}

static void context_job_free(ContextJob *job) {
        context_deinit(&job->context);
        group_unref(job->group);
        arena_deinit(&job->arena);
        buf_deinit(&job->result);
        free(job);
}

static void context_lane_run(Lane *lane) {
        ContextLane *self = container_of(lane, ContextLane, lane);
        ContextJob *job = self->job;
        Str dir = arena_printf(&job->arena, "%s/context", job->group->dir);

        job->r = dir.data ? context_load(&job->context, &job->arena, dir.data, job->now_us, &self->cache)
                          : error_origin(-ENOMEM);
        if (!job->r)
                job->r = job->run(job);
}

static bool is_going(const Group *group) {
        return group->is_gone || group->is_deleting;
}

/* What a job found or could not store means nothing when the folder has gone. One that a call waits for and that
 * did not run (is_over) has nothing to tell but that. */
static int context_job_end(ContextJob *job, bool is_over) {
        if (job->call && is_going(job->group))
                return call_fail(job->call, CALL_E_GROUP_NOT_FOUND, "group not found: %s", job->group->id);
        return job->call && is_over ? job->r : job->done(job);
}

/* The group is held until the lane is done with: the job may be the last one that needs it. */
static void context_lane_finish(ContextLane *self, bool is_over) {
        ContextJob *job = self->job;
        Group *group = group_ref(job->group);
        int r = context_job_end(job, is_over);

        if (job->call && r != CALL_LATER)
                call_finish(job->call, r);
        context_job_free(job);
        lane_over(&self->lane);
        group_unref(group);
}

static void context_lane_done(Lane *lane) {
        context_lane_finish(container_of(lane, ContextLane, lane), false);
}

static void context_lane_begin(Lane *lane) {
        ContextLane *self = container_of(lane, ContextLane, lane);
        ContextJob *job = container_of(lane_take(lane), ContextJob, item);
        int r;

        self->job = job;
        job->now_us = loop_wall_us(lane->loop);
        r = is_going(job->group) ? -ENOENT : lane_work(lane, context_lane_run, context_lane_done);
        if (!r)
                return; /* from now on the job is the worker's */
        job->r = r;
        context_lane_finish(self, true);
}

int context_job_start(Call *call, Group *group, int (*run_job)(ContextJob *job),
                      int (*job_done)(ContextJob *job), const void *args) {
        ContextLane *self = context_lane_get(group);
        ContextJob *job = self ? calloc(1, sizeof(*job)) : NULL;
        int r;

        if (!job)
                return error_origin(-ENOMEM);
        *job = (ContextJob){
                .group = group_ref(group), .call = call, .args = args, .run = run_job, .done = job_done};
        r = lane_add(&self->lane, &job->item);
        if (!r)
                return CALL_LATER;
        context_job_free(job);
        return error_trace(r);
}

/* ---- what the rest of the domain tells ------------------------------------------------------- */

static void group_closed(Group *group) {
        ContextLane *self = group->slots[GROUP_SLOT_CONTEXT];

        if (!self)
                return;
        lane_deinit(&self->lane);
        context_cache_deinit(&self->cache);
        free(self);
        group->slots[GROUP_SLOT_CONTEXT] = NULL;
}

static int run_forget(ContextJob *job) {
        int r = context_presence_forget(&job->context, str_from(job->args));

        return r || !job->context.presence.is_changed ? r : context_store(&job->context);
}

static int forgotten(ContextJob *job) {
        if (job->r)
                log_warning(&job->group->collab->daemon->log, job->group->id, "presence of %s stays: %s",
                            (const char *)job->args, job->r < 0 ? strerror(-job->r) : "too large");
        free((char *)job->args);
        return 0;
}

/* An actor that has left the group is no longer present. */
static void group_changed(Group *group, const GroupDoc *old) {
        for (size_t i = 0; old && i < old->n_actors; i++) {
                char *id = group_doc_actor(group->doc, old->actors[i].id) ? NULL
                                                                          : strdup(old->actors[i].id.data);
                if (id && context_job_start(NULL, group, run_forget, forgotten, id) != CALL_LATER)
                        free(id);
        }
}

const CollabPart context_part = {
        .name = "context",
        .group_changed = group_changed,
        .group_closed = group_closed,
};

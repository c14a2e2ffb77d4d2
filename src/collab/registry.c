/* SPDX-License-Identifier: MIT */
/* The loop's side of the registry: who waits for what. Files: collab/registry-file.c. */
#define LOG_MODULE "collab/registry"

#include "collab/registry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/time.h"
#include "collab/collab.h"
#include "collab/registry-file.h"

typedef struct RegistryWait {
        Call *call;
        RegistryFn fn;
        const void *args;
        struct RegistryWait *next;
} RegistryWait;

static void registry_start(Registry *registry);

/* ---- one job at a time: reads the file, applies what is queued, writes it if there was something ------ */

static void registry_put_back(Registry *registry, RegistryEdit *edits) {
        RegistryEdit **end = &edits;

        while (*end)
                end = &(*end)->next;
        *end = registry->queue;
        if (!registry->queue)
                registry->queue_end = end;
        registry->queue = edits;
}

/* Those who wait are told; what was not written becomes the registry's own copy, which is tried again. */
static void tell_edits(Registry *registry, RegistryEdit *edits, int r) {
        RegistryEdit *kept = NULL, **end = &kept;

        while (edits) {
                RegistryEdit *edit = edits;
                edits = edit->next;
                edit->next = NULL;
                if (r)
                        *end = edit->is_owned ? edit : registry_edit_copy(edit);
                if (*end)
                        end = &(*end)->next;
                if (edit->done)
                        edit->done(edit, r);
                else if (!r && edit->is_owned)
                        free(edit);
        }
        if (kept)
                registry_put_back(registry, kept);
}

static void tell_waiting(Registry *registry, RegistryWait *wait, int r) {
        while (wait) {
                RegistryWait *next = wait->next;
                int result = r ? r : wait->fn(wait->call, registry, wait->args);
                if (result != CALL_LATER)
                        call_finish(wait->call, result);
                wait = next;
        }
}

static void registry_done(void *user) {
        RegistryJob *job = user;
        Registry *registry = job->registry;
        RegistryWait *waiting = job->user;

        registry->is_busy = false;
        if (!job->r) {
                document_unref(registry->document);
                registry->document = job->document;
        }
        if (job->r || job->write_r)
                log_err(&registry->collab->daemon->log, "-", "cannot %s %s: %s", job->r ? "read" : "write",
                        registry->path, strerror(job->r ? -job->r : -job->write_r));
        tell_edits(registry, job->edits, job->r ? job->r : job->write_r);
        tell_waiting(registry, waiting, job->r);
        if ((job->r || job->write_r) && registry->queue)
                (void)timer_set(&registry->behind, REGISTRY_BEHIND_MS);
        else if (!registry->is_busy && (registry->queue || registry->waiting))
                registry_start(registry);
        free(job);
}

static void registry_take_all(Registry *registry, RegistryJob *job) {
        job->edits = registry->queue;
        job->user = registry->waiting;
        registry->queue = NULL;
        registry->queue_end = &registry->queue;
        registry->waiting = NULL;
        registry->waiting_end = &registry->waiting;
}

static void registry_run(void *user) {
        registry_job_run(user);
}

static void registry_start(Registry *registry) {
        RegistryJob *job = calloc(1, sizeof(*job));

        if (!job) {
                (void)timer_set(&registry->behind, REGISTRY_BEHIND_MS);
                return;
        }
        *job = (RegistryJob){.registry = registry,
                             .path = registry->path,
                             .groups_path = registry->collab->groups_path,
                             .now_us = loop_wall_us(registry->collab->daemon->loop)};
        registry_take_all(registry, job);
        registry->is_busy = true;
        if (!loop_work(registry->collab->daemon->loop, registry_run, registry_done, job))
                return;
        job->r = -ENOMEM;
        registry_done(job);
}

/* ---- edits ----------------------------------------------------------------------------------- */

static void registry_push(Registry *registry, RegistryEdit *edit) {
        edit->next = NULL;
        *registry->queue_end = edit;
        registry->queue_end = &edit->next;
}

void registry_commit(Registry *registry, RegistryEdit *edit) {
        registry_push(registry, edit);
        if (!registry->is_busy)
                registry_start(registry);
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
        if (!registry->is_busy && registry->queue)
                registry_start(registry);
}

void registry_touch_soon(Registry *registry) {
        if (!timer_is_set(&registry->behind))
                (void)timer_set(&registry->behind, REGISTRY_BEHIND_MS);
}

/* ---- reads ----------------------------------------------------------------------------------- */

Str registry_default(const Registry *registry, Str scope_key) {
        return json_str(json_get_str(json_get(registry->document->json, "defaults"), scope_key));
}

int registry_call(Call *call, RegistryFn fn, const void *args) {
        Registry *registry = &call->daemon->collab->registry;
        RegistryWait *wait;

        if (registry->document && !registry->queue && !registry->is_busy &&
            registry->document->identity.ino && document_is_fresh(registry->document, registry->path))
                return fn(call, registry, args);
        wait = arena_alloc(&call->arena, sizeof(*wait));
        if (!wait)
                return error_origin(-ENOMEM);
        *wait = (RegistryWait){.call = call, .fn = fn, .args = args};
        *registry->waiting_end = wait;
        registry->waiting_end = &wait->next;
        if (!registry->is_busy)
                registry_start(registry);
        return CALL_LATER;
}

/* ---- life ------------------------------------------------------------------------------------ */

int registry_init(Registry *registry, Collab *collab) {
        registry->collab = collab;
        registry->queue_end = &registry->queue;
        registry->waiting_end = &registry->waiting;
        registry->path = path_join(collab->home, "registry.json");
        timer_init(&registry->behind, collab->daemon->loop, on_behind);
        return registry->path ? 0 : error_origin(-ENOMEM);
}

void registry_deinit(Registry *registry) {
        RegistryJob job = {.registry = registry, .path = registry->path};

        timer_clear(&registry->behind);
        registry_gather(registry);
        if (registry->queue) {
                job.groups_path = registry->collab->groups_path;
                job.now_us = loop_wall_us(registry->collab->daemon->loop);
                registry_take_all(registry, &job);
                registry_job_run(&job);
                document_unref(job.document);
        }
        while (job.edits) {
                RegistryEdit *edit = job.edits;
                job.edits = edit->next;
                free(edit); /* only its own are left: calls are over */
        }
        document_unref(registry->document);
        free(registry->path);
}

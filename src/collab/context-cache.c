/* SPDX-License-Identifier: MIT */
#include "collab/context-cache.h"

#include <stdlib.h>

#include "base/file.h"

struct ContextEntry {
        char *path;
        FileIdentity identity;
        Arena arena;
        Json *json;
        bool is_asked; /* since the last load began */
};

static ContextEntry *entry_free(ContextEntry *entry) {
        if (!entry)
                return NULL;
        arena_deinit(&entry->arena);
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

bool context_cache_find(ContextCache *cache, ContextDoc *doc) {
        ContextEntry **found = cache->n ? bsearch(doc->path, cache->entries, cache->n,
                                                  sizeof(ContextEntry *), path_to_entry)
                                        : NULL;

        if (!found || !file_identity_eq(&(*found)->identity, &doc->identity))
                return false;
        (*found)->is_asked = true;
        doc->json = (*found)->json;
        doc->is_stored = doc->is_cached = true;
        return true;
}

/* ---- keeping --------------------------------------------------------------------------------- */

static bool is_young(const ContextDoc *doc, int64_t now_us) {
        const int64_t changed_ns = MAX(doc->identity.mtime_ns, doc->identity.ctime_ns);

        return now_us * 1000 - changed_ns < (int64_t)CONTEXT_CACHE_YOUNG_MS * 1000000;
}

static ContextEntry *entry_new(const ContextDoc *doc) {
        ContextEntry *entry = calloc(1, sizeof(*entry));

        if (!entry)
                return NULL;
        entry->identity = doc->identity;
        entry->path = strdup(doc->path);
        entry->json = json_clone(&entry->arena, doc->json);
        return entry->path && entry->json ? entry : entry_free(entry);
}

static void context_cache_hold(ContextCache *cache, const ContextDoc *doc, int64_t now_us) {
        ContextEntry *entry;

        if (!doc->is_stored || doc->is_cached || is_young(doc, now_us) || cache->n_bytes > CONTEXT_CACHE_MAX)
                return;
        entry = entry_new(doc);
        if (!entry)
                return;
        cache->n_bytes += entry->arena.n_total;
        cache->entries[cache->n++] = entry;
}

/* Files that have changed or are gone. */
static void drop_unasked(ContextCache *cache) {
        size_t n = 0;

        for (size_t i = 0; i < cache->n; i++) {
                ContextEntry *entry = cache->entries[i];
                if (!entry->is_asked) {
                        cache->n_bytes -= entry->arena.n_total;
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

#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * ContextCache: the documents of one group's context as they were last read, so that a call reads only those
 * files that have changed. A file is known by its identity (device, inode, size, times); one that was
 * changed a moment before it was read is not kept, because a second change could look the same.
 *
 * Belongs to the group's lane and is used by the worker that is at it, one at a time. The trees in it are
 * never changed: who wants to takes a copy (context_own()).
 */
#include "collab/context.h"

enum {
        CONTEXT_CACHE_MAX = 16 << 20, /* bytes of a group's trees; what goes beyond is read each time */
        CONTEXT_CACHE_YOUNG_MS = 100, /* a file changed this short a time ago is not kept */
};

typedef struct ContextEntry ContextEntry;

struct ContextCache {
        ContextEntry **entries; /* by path */
        size_t n;
        size_t n_bytes;
};

void context_cache_deinit(ContextCache *cache);
/* The document's tree, if its file is still the one that was read. Fills doc; false: it must be read. */
bool context_cache_find(ContextCache *cache, ContextDoc *doc);
/* After a load: keeps what was read, drops what was not asked for. Without memory it keeps less. */
void context_cache_keep(ContextCache *cache, const Context *context);

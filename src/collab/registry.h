#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Registry: registry.json, the index of the home's groups and of which group a scope belongs to.
 *
 * The groups' own files are the truth, this is a list of them: when it is missing it is made anew from
 * groups/, when it is broken it is kept aside (registry.json.broken) first. Changes are applied to the file
 * as it is at that moment, on a worker, one batch at a time, and are told when they are kept. A change that
 * cannot be written stays queued and is tried again every second. Bumps of updated_at by messages are
 * gathered and written within a second. Part of the Collab.
 */
#include "base/loop.h"
#include "collab/document.h"
#include "core/call.h"

typedef struct Collab Collab;
typedef struct Registry Registry;
typedef struct RegistryEdit RegistryEdit;

enum { REGISTRY_BEHIND_MS = 1000 };

/* One change. Every text must live until done(); NULL data means "leave as it is". */
struct RegistryEdit {
        Str group_id;
        bool is_removal; /* of the group, with the defaults that name it */
        Str title, topic, path, default_scope_key, created_at, updated_at;
        Str scope_key;                           /* the group becomes this scope's default … */
        Str detached_scope;                      /* … or no longer is (when it was) */
        void (*done)(RegistryEdit *edit, int r); /* r != 0: not written yet, will be tried again */
        bool is_owned;                           /* made by the registry itself: freed when it is written */
        RegistryEdit *next;
};

struct Registry {
        Collab *collab;
        char *path;
        Document *document; /* NULL before the first read */
        RegistryEdit *queue, **queue_end;
        bool is_busy;                                /* a batch is on a worker */
        struct RegistryWait *waiting, **waiting_end; /* calls that wait for a read */
        bool is_reading;
        Timer behind;
};

int registry_init(Registry *registry, Collab *collab);
void registry_deinit(Registry *registry); /* writes what is left, blocking: the loop no longer turns */

void registry_commit(Registry *registry, RegistryEdit *edit);
void registry_touch_soon(Registry *registry); /* some group has touched_us set */
/* The group that a scope belongs to by default; empty: none. Needs a fresh document. */
Str registry_default(const Registry *registry, Str scope_key);

/* Runs fn with a registry that is true in that turn. Returns what a handler returns. */
typedef int (*RegistryFn)(Call *call, Registry *registry, const void *args);
int registry_call(Call *call, RegistryFn fn, const void *args);

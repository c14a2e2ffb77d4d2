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
#include "base/loop/loop.h"
#include "core/document.h"
#include "core/call.h"
#include "core/lane.h"

typedef struct Collab Collab;
typedef struct Registry Registry;
typedef struct RegistryEdit RegistryEdit;

enum { REGISTRY_BEHIND_MS = 1000 };

/* What waits for a turn of the registry's lane: an edit, or a call that wants to read. */
typedef struct RegistryItem {
        LaneItem item;
        bool is_edit;
} RegistryItem;

/* One change. Every text must live until done(); NULL data means "leave as it is". */
struct RegistryEdit {
        Str group_id;
        bool is_removal; /* of the group, with the defaults that name it */
        Str title, topic, path, default_scope_key, created_at, updated_at;
        Str scope_key;                           /* the group becomes this scope's default … */
        Str detached_scope;                      /* … or no longer is (when it was) */
        void (*done)(RegistryEdit *edit, int r); /* r != 0: not written yet, will be tried again */
        bool is_owned;                           /* made by the registry itself: freed when it is written */
        RegistryItem wait;                       /* its place in the queue */
};

struct Registry {
        Collab *collab;
        char *path;
        Document *document; /* NULL before the first read */
        Lane lane;          /* a turn applies all edits that wait, and serves all calls that want to read */
        struct RegistryJob *job; /* of the turn under way */
        Timer behind;
};

int registry_init(Registry *registry, Collab *collab);
void registry_deinit(Registry *registry); /* writes what is left, blocking: the loop no longer turns */

void registry_commit(Registry *registry, RegistryEdit *edit);
void registry_touch_soon(Registry *registry); /* some group has touched_us set */
/* The group that a scope belongs to by default; empty: none. Needs a fresh document. */
Str registry_default(const Registry *registry, Str scope_key);

/* The group that a name means: an id, a title of one, the beginning of one id; arena's, empty: none. Fails the call
 * with CALL_E_AMBIGUOUS_GROUP. Needs a fresh document. (op-native-group.c) */
int registry_named(Call *call, const Registry *registry, Str name, Str *ret);

/* Runs fn with a registry that is true in that turn. Returns what a handler returns. */
typedef int (*RegistryFn)(Call *call, Registry *registry, const Carry *carry);
int registry_call(Call *call, RegistryFn fn, const Carry *carry);

/*
 * Inside of Registry: what is done to registry.json on a worker. Knows neither loop nor calls.
 */

typedef struct RegistryJob {
        const char *path, *groups_path;
        int64_t now_us;
        LaneItems edits, reads;
        Document *document; /* out: with the edits, also when they could not be written */
        int r, write_r;     /* out: of reading, of writing */
} RegistryJob;

/* A copy with its texts in one piece of memory, is_owned. NULL without memory. */
RegistryEdit *registry_edit_copy(const RegistryEdit *source);

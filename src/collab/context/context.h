#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Context: what a group shares besides its messages: vision, sketch, milestones, notes, references
 * (context.yaml), tasks (tasks/T001.yaml …) and presence (presence.yaml), all in the group's context/
 * folder.
 *
 * A Context is one reading of that folder: load, then either write a result or apply a batch of ops and
 * store. It lives in an arena and on a worker, knows no call, no group and no loop. Two of the same folder
 * at a time would lose changes: whoever uses it takes care of that (context-internal.h).
 *
 * The files are Documents (core/document.h), so members that nobody here knows stay. A file that
 * is missing, no YAML or no mapping reads as empty; one that could not be understood is kept beside the new
 * one when it is replaced (name.unreadable), and its task number is not given out again.
 */
#include "base/json/json-writer.h"
#include "base/macro.h"
#include "core/document.h"

enum {
        CONTEXT_FILE_MAX = 4 << 20, /* bytes of one document; a batch that makes a longer one is refused */
        CONTEXT_TASKS_MAX = 10000,  /* tasks of a group; task.create is refused beyond */
        CONTEXT_CHANGES_MAX = 200 * 1000,  /* bytes of a batch's changes as JSON: they go into one event */
        CONTEXT_VERSION_MAX = 13,          /* a version with its NUL */
        CONTEXT_HEARTBEAT_S_DEFAULT = 300, /* heartbeat_timeout_seconds of a file without one */
};

/* Condition of context_apply() and context_store(): context->complaint says why. */
enum { _CONTEXT_E_SUCCESS, CONTEXT_E_REFUSED };

typedef struct ContextDoc {
        const char *path;
        Str id; /* of a task, from the file's name */
        Document *
                document; /* empty when there was nothing readable; one that the cache has, too, is not changed */
        bool is_stored;  /* there is a file and it was understood */
        bool is_broken;  /* there is a file and it was not */
        bool is_changed; /* the document is newer than the file */
        int fault;       /* negative: the file could not be read, and must not be replaced */
} ContextDoc;

typedef struct ContextCache ContextCache;

typedef struct Context {
        Arena *arena;
        const char *dir;
        int64_t now_us;
        ContextDoc main;
        ContextDoc presence;
        ContextDoc **tasks; /* sorted by id; the broken ones, too */
        size_t n_tasks, cap_tasks;
        int64_t last_milestone, last_task, last_note, last_reference; /* highest numbers there are */
        size_t n_changed; /* documents of the batch, once it is stored */
        Json *changes;    /* of the batch: [{index, op, detail}] */
        Str complaint;    /* with CONTEXT_E_REFUSED */
} Context;

/* Reads the folder; context_deinit() follows in any case. What ops put into the documents lies in the arena, which
 * outlives the Context, and so does dir. cache may be NULL. 0 or -ENOMEM. */
int context_load(Context *context, Arena *arena, const char *dir, int64_t now_us, ContextCache *cache);
void context_deinit(Context *context); /* a Context that was never loaded is all zero */
/* Applies all ops (an array of objects) to the trees in memory. On failure the Context is of no use. */
int context_apply(Context *context, const Json *ops);
/* Takes an agent out of presence, if it is there; for one that is no more. 0 or negative. */
int context_presence_forget(Context *context, Str agent_id);
/* Writes the changed documents, durably: all of them, or none when it fails. */
int context_store(Context *context);
/* A token for the content that is on disk; presence does not count. */
int context_version(const Context *context, char out[CONTEXT_VERSION_MAX]);

/* T and one to eighteen digits: nothing else becomes a file name. */
bool context_is_task_id(Str id);
/* A task that can be read, or NULL. */
ContextDoc *context_find_task(const Context *context, Str id);

/* Results, each one JSON value. */
int context_write_summary(const Context *context, JsonWriter *w); /* of context_get */
void context_write_tasks(const Context *context, JsonWriter *w);  /* a list */
void context_write_task(const ContextDoc *task, JsonWriter *w);
void context_write_agents(const Context *context, JsonWriter *w); /* a list */
int64_t context_heartbeat_s(const Context *context);

#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What the files of the context store share among themselves: access to the trees, and the ops that stand
 * in the table of context-ops.c. Nobody else includes this.
 */
#include "collab/context/context.h"
#include "collab/parts.h"
#include "core/lane.h"

/* Applies one op; gives the text for people in *detail. 0, CONTEXT_E_REFUSED or negative. */
typedef int (*ContextOpFn)(Context *context, const Json *item, Str *detail);

int context_milestone_create(Context *context, const Json *item, Str *detail);
int context_milestone_update(Context *context, const Json *item, Str *detail);
int context_milestone_complete(Context *context, const Json *item, Str *detail);
int context_milestone_restore(Context *context, const Json *item, Str *detail);
int context_task_create(Context *context, const Json *item, Str *detail);
int context_task_update(Context *context, const Json *item, Str *detail);
int context_task_restore(Context *context, const Json *item, Str *detail);

int context_own(ContextDoc *doc); /* before its document is changed. 0 or -ENOMEM */
int context_refuse(Context *context, const char *format, ...) _printf_(2, 3);
/* For the end of an op: the detail, and whether memory sufficed. */
int context_detail(Context *context, Str *detail, const char *format, ...) _printf_(3, 4);

/* An op's argument as text: numbers and true as they are written, everything else that is no string "". */
Str context_text(const Json *item, const char *key);
Str context_id(const Json *item, const char *key);        /* the same without blanks around it */
bool context_is_given(const Json *item, const char *key); /* there, and not null */

int context_set(Context *context, Json *object, const char *key, Str text);
int context_set_given(Context *context, Json *object, const char *key, const Json *item); /* if given */
int context_set_now(Context *context, Json *object, const char *key);                     /* time stamp */
int context_set_today(Context *context, Json *object, const char *key);                   /* date */

int context_add_task(Context *context, ContextDoc *doc); /* at the end; ids grow */
bool context_task_is_there(const ContextDoc *task);      /* readable, or made in this batch */

/* The list of that name, made when there is none and is_made is asked for. NULL: none, or no memory. */
Json *context_list(Context *context, ContextDoc *doc, const char *key, bool is_made);
Json *context_find(const Json *list, Str id); /* object with that id, or NULL */
int context_list_remove(Context *context, ContextDoc *doc, const char *key, const Json *item);
/* The number in an id such as N001, if it has this letter and nothing but digits; else 0. */
int64_t context_number(Str id, char letter);
int64_t context_highest(const Json *list, char letter); /* of the numbers in a list; 0: none */

/* Statuses of milestones and tasks: the word as the contract spells it, NULL when it is none of them. */
const char *context_status(Str text);
const char *context_status_of(const Json *object);    /* as stored; what is none reads as planned */
const char *context_step_status(Str text);            /* pending, in_progress, done, or NULL */
const char *context_step_status_of(const Json *step); /* what is none reads as pending */
int context_set_status(Context *context, Json *object, const char *status); /* keeps archived_from right */
/* Back to where it was archived from; *ret is that status. The caller knows that it is archived. */
int context_unarchive(Context *context, Json *object, const char **ret);

/*
 * ContextJob: one reading or change of a group's context. They go through a lane of the group (core/lane.h),
 * which hangs in its slot GROUP_SLOT_CONTEXT and is made with the first job; each has its turn on a worker.
 *
 * Reads go through it as well: a batch may change several files, and nobody sees half of it. group_delete does
 * not wait for it: once the folder is gone a job finds and stores nothing, and is answered with group_not_found.
 */

typedef struct ContextJob ContextJob;
struct ContextJob {
        Group *group;
        Call *call; /* NULL: the daemon's own doing */
        const void *args;
        int (*run)(ContextJob *job);  /* on a worker, with job->context loaded; the result becomes job->r */
        int (*done)(ContextJob *job); /* on the loop; returns like a handler */
        Arena arena;                  /* of the context, too; until done() returns */
        Context context;
        Buf result; /* for run() to write into */
        char version[CONTEXT_VERSION_MAX];
        int r;
        int64_t now_us;
        LaneItem item;
};

/* args must live as long as the call, or until done() of a job without one. CALL_LATER or negative. */
int context_job_start(Call *call, Group *group, int (*run)(ContextJob *job), int (*done)(ContextJob *job),
                      const void *args);

extern const CollabPart context_part;

/*
 * ContextCache: the documents of one group's context as they were last read, so that a call reads only those
 * files that have changed. A file is known by its identity (device, inode, size, times); one that was
 * changed a moment before it was read is not kept, because a second change could look the same.
 *
 * Belongs to the group's lane and is used by the worker that is at it, one at a time. The documents in it are
 * never changed: an op that wants to takes a clone (context_own()).
 */

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
/* The document of that path, if its file is still the one that was read. Fills doc; false: it must be read. */
bool context_cache_find(ContextCache *cache, ContextDoc *doc, const FileIdentity *identity);
/* After a load: keeps what was read, drops what was not asked for. Without memory it keeps less. */
void context_cache_keep(ContextCache *cache, const Context *context);

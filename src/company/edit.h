#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Edit: how an operation writes to a workspace.
 *
 *   static int decide(Edit *edit, const Carry *carry) {                // worker: reads files, touches nothing
 *           const AgentcompanyCommentAddArgs *args = container_of(carry, AgentcompanyCommentAddArgs, carry);
 *
 *           if (!str_trim(args->body).n)
 *                   return edit_fail(edit, CALL_E_COMPANY, "Comment body is required");
 *           …
 *           edit_create(edit, path, text);
 *           return 0;
 *   }
 *   static void reply(Call *call, Edit *edit, const Carry *carry) { … } // loop: it is kept
 *
 *   int op_agentcompany_comment_add(Call *call, Workspace *workspace, const AgentcompanyCommentAddArgs *args) {
 *           return company_edit(call, workspace, decide, reply, &args->carry);
 *   }
 *
 * Everything that decide() adds is one change: kept as a whole before reply() runs, or not at all. Of each file that
 * it has read with edit_read() and then replaces or removes, the state is remembered; when another has been faster
 * decide() runs again, EDIT_TRIES times. So it must not do anything but read and add. One that adds nothing is
 * answered at once. What goes wrong in an adding function is remembered and fails the edit: nobody has to look.
 *
 * An Edit lives in its call's arena, and so do the texts and paths that it gives. Paths are relative to the
 * workspace; folders on the way are made.
 */
#include "base/file.h"
#include "base/id.h"
#include "core/call.h"
#include "core/store/store.h"

typedef struct Edit Edit;
typedef struct Workspace Workspace;

enum { EDIT_TRIES = 8, EDIT_READ_MAX = 16 * 1024 * 1024 };

typedef int (*EditDecideFn)(Edit *edit, const Carry *carry); /* 0, edit_fail(), or negative */
typedef void (*EditReplyFn)(Call *call, Edit *edit, const Carry *carry);

struct Edit {
        Carry step; /* of the step on a worker */
        Call *call; /* for its arena and edit_fail() only, on the worker */
        Workspace *workspace;
        int root;         /* the workspace's folder */
        Arena *arena;     /* the call's */
        int64_t wall_us;  /* of this try: all that is written in it has one time */
        int64_t since_ms; /* since the daemon started: ts_monotonic_ms */
        void *user;       /* decide()'s, for reply() */
        int r;            /* what went wrong first */
        int refused;      /* by edit_refuse() */
        bool makes_folders; /* decide() says: also of a project or an agent that is not there, as the contract has it */

        StoreChange change; /* from here on private */
        EditDecideFn decide;
        EditReplyFn reply; /* or then() */
        int (*then)(Call *call, Edit *edit, const Carry *carry);
        bool goes_on;
        const Carry *carry;
        unsigned n_tries;
        bool is_kept; /* by the worker that has decided it; the loop has to settle it */
        struct EditSeen *seen;
        const char *found; /* the last path that edit_exists() has found */
        struct EditOwner *owners;
        Buf text; /* of the event that is being written */
        JsonWriter writer;
        const char *event_path, *event_type;
        Str event_ref;
};

/* The call holds the workspace until it is answered. CALL_LATER, or negative. */
int company_edit(Call *call, Workspace *workspace, EditDecideFn decide, EditReplyFn reply,
                 const Carry *carry);
/* The same with more to come: then() runs when it is kept, and returns as a handler does. */
typedef int (*EditThenFn)(Call *call, Edit *edit, const Carry *carry);
int company_edit_then(Call *call, Workspace *workspace, EditDecideFn decide, EditThenFn then,
                      const Carry *carry);
/* The same for what is put right on the way: then() runs also when it could not be kept, or not be decided. */
int company_edit_and_go_on(Call *call, Workspace *workspace, EditDecideFn decide, EditThenFn then,
                           const Carry *carry);

/* Returns the error, to be returned by decide(). */
int edit_fail(Edit *edit, int error, const char *format, ...) _printf_(3, 4);
/* The same for what is refused and leaves a trace all the same: returns 0; what was added is kept, and then the call is
 * answered with this error instead of reply(). */
int edit_refuse(Edit *edit, int error, const char *format, ...) _printf_(3, 4);
/* Remembers a failure; returns whether all is well so far. */
bool edit_try(Edit *edit, int r);

/* Conditions: FILE_E_MISSING, FILE_E_TOO_LARGE (n_max 0: EDIT_READ_MAX). The text has a NUL behind it. */
int edit_read(Edit *edit, const char *path, size_t n_max, Str *ret);
bool edit_exists(
        Edit *edit,
        const char *path); /* any file or folder; not remembered; that it cannot be told fails the edit */
/* Also for files that were only looked at: the change fails when this one is not as edit_read() saw it. */
int edit_expect(Edit *edit, const char *path);

int edit_create(Edit *edit, const char *path, Str bytes); /* must not be there */
int edit_replace(Edit *edit, const char *path, Str bytes);
int edit_remove(Edit *edit, const char *path);
int edit_append(Edit *edit, const char *path, Str lines); /* with their newlines */
/* Any bytes at this place of a file that nobody else writes. */
int edit_grow(Edit *edit, const char *path, uint64_t at, Str bytes);
int edit_mkdir(Edit *edit, const char *path);

Str edit_id(Edit *edit,
            const char *prefix); /* cmt_01J…; those of one edit sort in the order of their making */
Str edit_now(Edit *edit);        /* 2026-01-02T03:04:05.678Z */

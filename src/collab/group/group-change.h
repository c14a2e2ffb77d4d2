#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * GroupChange: everything that one operation changes in a group, kept together or not at all: events, the
 * document, the cursors, other files of the group; and behind it the registry and the global feed.
 *
 *   static void reply(Call *call, GroupChange *change) {
 *           JsonWriter *w = call_result(call);
 *           jw_begin_object(w);
 *           jw_field_str(w, "group_id", str_from(change->group->id));
 *           group_change_write_event(change, w, "event", 0);
 *           jw_end_object(w);
 *   }
 *
 *   int op_cccc_group_update(Call *call, Group *group, const CcccGroupUpdateArgs *args) {  // target: edit
 *           GroupChange *change = group_change_begin(group, call, CALL_E_GROUP_UPDATE_FAILED);
 *           GroupDoc *doc = group_change_doc(change);
 *           JsonWriter *w;
 *
 *           if (!doc)
 *                   return group_change_abort(change);                       // without memory
 *           change_try(change, group_doc_set_str(doc, "title", args->title));
 *           w = group_change_event(change, "group.update", args->by, STR(""));
 *           jw_begin_object(w); … jw_end_object(w);                          // data of the event
 *           return group_change_commit(change, reply);
 *   }
 *
 * begin, events and commit happen in one turn. What goes wrong in between is remembered and fails the
 * commit. reply() runs when everything is on the disk. When it could not be kept, the call fails with the
 * code given to begin, and nothing of it is visible. group_change_doc() and group_change_cursor() need the
 * group's edit (collab_edit()); when another program changed the file meanwhile the whole function runs
 * again. Call-less changes pass NULL as call. Owned by itself from commit on.
 */
#include "collab/group/group.h"
#include "collab/group/registry.h"

enum { GROUP_CHANGE_EVENTS = 1024 }; /* per change; more fail it with -E2BIG */

typedef struct ChangeEvent {
        char id[33];
        char ts[32];
        int64_t ts_us;
        Str line; /* the whole event */
} ChangeEvent;

typedef struct GroupChange GroupChange;
typedef void (*GroupReplyFn)(Call *call, GroupChange *change);

struct GroupChange {
        Group *group;
        Call *call;         /* NULL: the daemon's own doing */
        const Carry *carry; /* the caller's, for reply() and failed() */
        Str word;           /* for a reply() that needs no more: an id, a text. Lives as long as the call */
        Arena arena;
        ChangeEvent *events;
        size_t n_events, cap_events;
        int r; /* 0, or what went wrong first */

        LedgerChange ledger; /* from here on private; its first is the position of the first event */
        int error;
        Buf text;
        JsonWriter writer;
        bool is_event_open, is_feed_open, is_edit;
        GroupDoc *doc;
        Document *cursors;
        bool has_registry;
        RegistryEdit registry;
        Buf feed;
        GroupReplyFn reply;
        void (*failed)(GroupChange *change, int r);
};

/* error: the CALL_E_* that a failure is answered with; 0: internal_error. NULL without memory. */
GroupChange *group_change_begin(Group *group, Call *call, int error);
/* Instead of a commit; NULL is fine. Returns what went wrong, -ENOMEM when nothing is known. */
int group_change_abort(GroupChange *change);
/* Remembers a failure. Returns whether all is well so far. */
bool change_try(GroupChange *change, int r);

/* A new event; the caller writes its data (one object) before the next event or the commit. */
JsonWriter *group_change_event(GroupChange *change, const char *kind, Str by, Str scope_key);
/* Id and time of the last event. */
const ChangeEvent *group_change_last(const GroupChange *change);
/* The document, to be edited; the same clone each time. NULL without memory, or when change is NULL. */
GroupDoc *group_change_doc(GroupChange *change);
/* Moves an actor's cursor; an empty event_id removes the entry. */
void group_change_cursor(GroupChange *change, Str actor, Str event_id, Str ts);
/* Another file of the group, path relative to its folder, which must exist. Copied. */
void group_change_file(GroupChange *change, const char *path, Str bytes);
/* What the registry has to learn; group_id and updated_at are set. Texts: in change->arena or longer. */
RegistryEdit *group_change_registry(GroupChange *change);
/* A line of the global feed: the caller writes its data, as for an event. */
JsonWriter *group_change_feed(GroupChange *change, const char *kind);

/* The group's state becomes this one: document and feed, no event (that is group_set_state's). */
void group_change_state(GroupChange *change, GroupState state);

/* CALL_LATER, or (nothing was begun) the value to return. reply may be NULL. */
int group_change_commit(GroupChange *change, GroupReplyFn reply);
/* The same with a function of one's own for failure, which then answers the call; r is negative. */
int group_change_commit_or(GroupChange *change, GroupReplyFn reply,
                           void (*failed)(GroupChange *change, int r));

/* In reply(): "key": event number i. */
void group_change_write_event(const GroupChange *change, JsonWriter *w, const char *key, size_t i);
/* A whole reply: {"group_id": …, "event": …}. */
void group_change_reply(Call *call, GroupChange *change);

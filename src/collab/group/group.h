#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Group: one group of a CCCC home while it is loaded: its document, its read cursors and its ledger.
 *
 * Other programs edit the same files. So nobody keeps a Group and trusts it later: an op whose schema names
 * the group as its target gets it from collab_target(), which looks at the files first (stat on the loop,
 * reading on a worker) and then runs the handler with a group that is true in that turn. What goes on in a
 * later turn asks again, with one of the three words for what it wants to do:
 *
 *   collab_call()   for what needs the documents only, and for appending events that change none
 *   collab_read()   for reading the ledger: lines that another program wrote are indexed first
 *   collab_edit()   for changing group.yaml or the cursors: one at a time per group, in order of arrival.
 *                   When another program has changed the file meanwhile, the function runs again.
 *
 * Who may point into group->doc and group->cursors, which a change or another program's edit replaces: a
 * call may as long as it lives, since group_run() makes it hold what it was run with. Whoever has no call
 * may in that turn only, and copies what is wanted longer.
 *
 * How a change is made and kept: collab/group/group-change.h. Owned by the Collab's table; freed when it has
 * left the table and nobody holds a reference.
 */
#include "base/loop/loop.h"
#include "collab/group/group-doc.h"
#include "core/call.h"
#include "core/lane.h"
#include "core/ledger/ledger.h"

typedef struct Collab Collab;
typedef struct Group Group;
typedef struct GroupCall GroupCall;

/* One slot per part of the domain that keeps something per group (collab/parts.h). */
typedef enum GroupSlot {
        GROUP_SLOT_INBOX,
        GROUP_SLOT_ANNOUNCER,
        GROUP_SLOT_STREAMS,
        GROUP_SLOT_DELIVERY,
        GROUP_SLOT_REMINDER,
        GROUP_SLOT_CONTEXT,
        GROUP_SLOT_ASKING,
        _GROUP_SLOTS,
} GroupSlot;

typedef struct GroupLoad { /* what a worker has read */
        LaneItems served;
        GroupDoc *doc;
        Document *cursors;
        unsigned n_again; /* the files changed while they were read */
        int r;            /* as of group_load() */
} GroupLoad;

struct Group {
        Collab *collab;
        Group *next; /* in its bucket */
        unsigned n_refs;
        char *id;
        char *dir, *doc_path, *cursors_path, *ledger_path, *state_path; /* state_path: state/ledger */

        GroupDoc *doc;     /* as last read or kept; NULL before the first load */
        Document *cursors; /* read_cursors.json: {actor: {event_id, ts, updated_at}} */
        Ledger *ledger;    /* NULL until it is open */
        Lane loads;        /* one at a time; it serves all that wait */
        GroupLoad load;    /* of the turn under way */
        bool is_closing; /* its ledger is being closed, since nobody used it: what loads it waits for that */
        bool is_deleting; /* group_delete is at work: not found, and no change is kept any more */
        bool is_gone;     /* it has left the table */

        Lane edits;      /* what changes documents, one at a time */
        GroupCall *edit; /* whose turn it is; NULL: nobody's */
        bool is_entered; /* its function is on the stack */

        int64_t used_ms;    /* when somebody last asked for it */
        int64_t touched_us; /* for the registry: time of the last message that it does not know; 0: none */
        void *slots[_GROUP_SLOTS];
};

/* What an op wants done with a group; returns like a handler (0, call_fail(…), negative, CALL_LATER). */
typedef int (*GroupFn)(Call *call, Group *group, const Carry *carry);

/*
 * Checks the id (missing_group_id, group_not_found), makes sure that the group is loaded and fresh, then
 * runs fn, now or in a later turn. Returns what a handler returns. What carry belongs to must live as long as
 * the call: the op's argument struct does, and so does everything in call->arena.
 */
int collab_call(Call *call, Str group_id, GroupFn fn, const Carry *carry);
int collab_read(Call *call, Str group_id, GroupFn fn, const Carry *carry);
/*
 * As collab_read(), and fn is the only one that changes documents of this group until its change is kept
 * (group_change_commit()) or it returns without one. An fn that returns CALL_LATER for another reason ends
 * its turn with group_edit_end(), before it ends the call. fn may run more than once.
 */
int collab_edit(Call *call, Str group_id, GroupFn fn, const Carry *carry);
/* For the generated rows: one of the three. lost, unless it is NULL, runs instead of fn when the group is
 * not there or its document cannot be read: for what ends something, which must be possible then, too. */
typedef enum GroupAccess { GROUP_CALL, GROUP_READ, GROUP_EDIT } GroupAccess;
typedef int (*GroupLostFn)(Call *call, const Carry *carry);
int collab_target(Call *call, Str group_id, GroupAccess access, GroupFn fn, GroupLostFn lost,
                  const Carry *carry);
/* An edit without a call, for what the daemon does by itself: fn gets NULL as call and must not fail with
 * call_fail(). carry must live until fn has run. -ENOMEM: it will not run. */
int group_edit(Group *group, GroupFn fn, const Carry *carry);
/* fn, and the call holds the documents that fn sees until it has ended. Every way back into a call that
 * waited goes through here. call may be NULL. */
int group_run(Call *call, Group *group, GroupFn fn, const Carry *carry);
bool group_is_editing(const Group *group, const Call *call); /* the edit under way is this call's */
void group_edit_end(Group *group);
void group_edit_again(Group *group); /* its document was stale: loads, and runs the edit again */

/* Table. */
bool group_id_is_valid(Str id);                     /* g_ and 1 to 61 letters, digits, '_', '-' */
Group *group_find(Collab *collab, Str id);          /* loaded or loading; NULL: not in the table */
int group_get(Collab *collab, Str id, Group **ret); /* finds or makes the entry; no file is touched */
Group *group_ref(Group *group);
Group *group_unref(Group *group); /* NULL is fine; returns NULL */
void group_forget(Group *group);  /* leaves the table: its files are gone */
/* Loaded, and the files are the ones that were read. identity: of group.yaml as it is now; NULL: it is
 * looked at. */
bool group_is_fresh(const Group *group, const FileIdentity *identity);
/* The second half of that, for one that has documents. */
bool group_is_read(const Group *group, const FileIdentity *identity);

/* Loads what is missing or old, then runs done in a later turn: 0, GROUP_E_NOT_FOUND, negative. */
enum { _GROUP_E_SUCCESS, GROUP_E_NOT_FOUND };
struct GroupCall {
        Group *group;
        Call *call; /* may be NULL */
        GroupFn fn;
        const Carry *carry;
        GroupLostFn lost; /* NULL: group_not_found is answered */
        bool is_read;
        unsigned n_tries; /* how often a stale document made it run again */
        LaneItem load;    /* waits for a load … */
        LaneItem edit;    /* … or for its turn to edit */
        void (*loaded)(GroupCall *wait, int r);
        LedgerChange barrier; /* lines of others are being indexed */
};
int group_load(GroupCall *wait);
/* Its ledger was closed: loads it again if somebody waits, else forgets it. */
void group_reopen(Group *group);
static inline bool group_is_loading(const Group *group) {
        return group->loads.is_busy || group->is_closing;
}
extern const LaneType group_loads, group_edits;
/* Of its ledger (LedgerOptions): all parts that want to know are told. */
void group_on_committed(void *user, uint64_t first, uint64_t n);
void group_on_rewritten(void *user, uint64_t n_gone);
void group_set_doc(Group *group, GroupDoc *doc); /* takes doc; tells the parts, once the group is open */
/* The same for one that was read a while ago: dropped when the one at hand is what the file says now. */
void group_offer_doc(Group *group, GroupDoc *doc);

/* The cursor of an actor; event_id is empty when there is none. Valid in this turn. */
typedef struct CursorView {
        Str event_id, ts, updated_at;
        int64_t ts_us; /* INT64_MIN: none. Of one that lies in the future: when it was put there */
} CursorView;
CursorView group_cursor(const Group *group, Str actor);
/* A time of the group's files, unless the clock cannot have said it yet: then instead, or now if that is in
 * the future, too. */
int64_t group_past_us(const Group *group, int64_t us, int64_t instead_us);

/* Live facts, asked of the part that runs actors; false while there is none. */
bool group_actor_is_running(const Group *group, Str actor);
bool group_is_running(const Group *group);

/* send and reply: the registry's updated_at of this group moves, written within a second. */
void group_touch(Group *group, int64_t ts_us);

/*
 * Asks every part of the domain to end what it runs for a group, and waits for all of them.
 */

typedef struct GroupStop {
        size_t n_left;
        void (*done)(void *user);
        void *user;
} GroupStop;

/* done follows, perhaps before this returns. stop must live until then. */
void group_stop_all(GroupStop *stop, Group *group, void (*done)(void *user), void *user);

/*
 * GroupLook: every so often, each loaded group is looked at. Without a group in memory nothing wakes up.
 *
 * A part of the domain (collab/parts.h) has one in Collab: started() of the part starts it, group_opened()
 * wakes it, stopping() and closed() stop it.
 */

typedef struct Collab Collab;
typedef struct Group Group;
typedef struct GroupLook GroupLook;

struct GroupLook {
        Timer timer;
        Collab *collab;
        int64_t every_ms;
        void (*look)(Group *group); /* may forget this group */
};

int group_look_start(GroupLook *self, Collab *collab, int64_t every_ms, void (*look)(Group *group));
int group_look_wake(GroupLook *self); /* before it is started: nothing */
void group_look_stop(GroupLook *self);

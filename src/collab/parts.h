#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * CollabPart: what a part of the domain (runners, inboxes, delivery, reminders, …) wants to be told. Streams are none:
 * they follow the ledger (core/ledger/follower.h).
 *
 * Parts do not know each other. Each is one constant struct, listed in collab/collab.c; what it keeps per
 * group hangs in group->slots. Every member may be NULL. All run on the loop.
 */
#include "collab/group/group.h"

typedef struct CollabPart {
        const char *name;
        int (*started)(Collab *collab);        /* the contract is served from now on; 0 or negative */
        void (*stopping)(Collab *collab);      /* … and no longer: no new work of its own, actors end */
        bool (*is_busy)(const Collab *collab); /* workers are to come back to it before closed() */
        void (*closed)(Collab *collab);    /* at the end, the loop no longer turns; groups are still there */
        int (*group_opened)(Group *group); /* a group was loaded for the first time */
        void (*group_closed)(Group *group);        /* it is about to be freed */
        bool (*group_is_busy)(const Group *group); /* it must stay loaded, though nobody holds it */
        void (*group_changed)(Group *group, const GroupDoc *old);    /* group->doc is new, by whomever */
        void (*committed)(Group *group, uint64_t first, uint64_t n); /* these lines are kept now */
        /* Every position in the ledger has changed (compaction): so many lines are gone. */
        void (*rewritten)(Group *group, uint64_t n_gone);
        void (*actor_changed)(Collab *collab, Str group_id, Str actor); /* it is up, or has ended */
        bool (*actor_is_running)(const Group *group, Str actor);
        /* group_delete: ends whatever runs for the group, then calls stopped(), now or later. */
        void (*group_stop)(Group *group, void (*stopped)(void *user), void *user);
        void (*group_deleted)(Group *group); /* the folder is gone */
        /* Members for debug_snapshot: writes the value of "delivery" (only one part does). */
        void (*write_debug)(const Group *group, JsonWriter *w);
        size_t (*unread)(const Group *group, Str actor); /* chat and notices */
} CollabPart;

extern const CollabPart *const collab_parts[]; /* NULL-terminated */

extern const CollabPart runner_part; /* actors that run */

/*
 * Groups that nobody uses are closed: their documents, index and descriptors are given back after
 * GROUP_IDLE_MS without a call, with no actor running, no stream, and nothing queued for delivery. The next
 * call loads them again, as after a start of the daemon; one that comes while the ledger closes waits for
 * that.
 */

enum { GROUP_IDLE_MS = 15 * 60 * 1000, GROUP_LOOK_MS = 60 * 1000 };

extern const CollabPart group_idle_part;

#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Lane: one object's work, one turn at a time, in order of arrival.
 *
 *   lane_add() ─► waiting ─► begin(): lane_take() ─► lane_work() on a worker … ─► lane_over()
 *                    ▲                                                                │
 *                    └─────────────── the next turn, if something waits ──────────────┘
 *
 * A turn takes the first item that waits, or all of them where one piece of work serves everybody; what it does
 * not take waits for the next one. What happens in a turn is the owner's: as many steps on workers as it needs,
 * or something else that ends later. A turn never begins inside of the call that asked for it but after the
 * callbacks of this turn of the loop, so nothing of the owner is entered twice.
 *
 * Items are members of what waits, and the lane is a member of its owner: container_of() finds both, and nothing
 * is allocated. Whoever wants to know that all is done adds an item of its own, which comes last. It is not for
 * what is bounded in bytes instead of items (core/store, core/ledger; docs/decisions/0038-lane.md). Loop thread,
 * except run() of lane_work().
 */
#include <sys/queue.h>

#include "base/loop/loop.h"

enum { LANE_WAITING_MAX = 1 << 16 }; /* items that wait in a lane of calls; another one is refused */

typedef struct Lane Lane;
typedef struct LaneItem LaneItem;

struct LaneItem {
        STAILQ_ENTRY(LaneItem) next;
};
typedef STAILQ_HEAD(LaneItems, LaneItem) LaneItems;

typedef struct LaneType {
        void (*begin)(Lane *lane); /* a turn: it ends with lane_over(), at once or later */
        bool needs_kick;           /* turns begin by lane_kick() only: the owner decides when */
        size_t n_max;              /* items that wait; 0: what adds them has a bound of its own */
} LaneType;

struct Lane {
        const LaneType *type;
        Loop *loop;
        LaneItems waiting;
        size_t n_waiting;
        bool is_busy; /* a turn is under way */
        Deferred soon;
        void (*run)(Lane *lane);
        void (*done)(Lane *lane);
};

void lane_init(Lane *lane, Loop *loop, const LaneType *type);
void lane_deinit(Lane *lane);             /* no turn begins any more */
int lane_add(Lane *lane, LaneItem *item); /* 0; with n_max also -ENOBUFS */
/* A turn begins, also when nothing waits, unless one is under way. */
void lane_kick(Lane *lane);
/* The first item that waits, which then does not any more; NULL: none. */
LaneItem *lane_take(Lane *lane);
/* All of them, behind those that are in items. */
void lane_take_all(Lane *lane, LaneItems *items);
/* Before all others; items is empty then. */
void lane_put_back(Lane *lane, LaneItems *items);
/* For a turn: run() on a worker, then done() on the loop. Negative: neither will run. */
int lane_work(Lane *lane, void (*run)(Lane *lane), void (*done)(Lane *lane));
void lane_over(Lane *lane); /* the turn has ended */

/* Nothing is under way, nothing waits. */
static inline bool lane_is_idle(const Lane *lane) {
        return !lane->is_busy && !lane->n_waiting;
}
/* A turn is under way or about to begin. */
static inline bool lane_is_active(const Lane *lane) {
        return lane->is_busy || lane->soon.link;
}

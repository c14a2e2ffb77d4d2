#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Turns: who may hold the loop next. What is long waits in line here, and a few milliseconds of it are
 * worked off per turn of the loop, so that everybody else is served in between.
 *
 * Lines that are not short wait always, and whatever comes from a peer that has used up its share of the last second. The
 * line is not one of arrival: short before long, then the peer that has used least, then who came first. A
 * peer is a process, or a TCP address; peers share a slot when there are many, which costs them some of
 * their share. Only what took longer than TURN_LONG_US is counted: a flood of cheap requests is the business
 * of CONN_TURN_FRAMES. What is long may go away to a worker when its turn has come: TURN_AWAY_MAX at a time,
 * so that the others are left to the disk, and what it takes there is charged, too. Owned by the Daemon; a
 * Turn is embedded in a connection.
 */
#include "base/loop/loop.h"

enum {
        TURN_SHORT_BYTES = 16 << 10, /* a line that is longer waits in line: many may come at once */
        TURN_BYTES = 128 << 10,      /* one that is even longer is long */
        TURN_LONG_US = 2000,         /* what took longer is charged */
        TURN_SHARE_US = 200000, /* … up to this in a second: then everything of the peer waits in line */
        TURN_BUDGET_US = 5000,  /* worked off per turn of the loop, at least one of those that wait */
        TURN_AWAY_MAX = 2,      /* of the long ones, with workers at a time; the others wait in line */
        TURN_PEERS = 256,
};

typedef struct Turns Turns;
typedef struct Turn Turn;
struct Turn {
        Turn *next;
        uint32_t peer;
        bool is_long, is_waiting;
        void (*run)(Turn *turn); /* it is your turn; may free it */
};

typedef struct TurnPeer {
        int64_t second; /* of the monotonic clock that used_us is of */
        int64_t used_us;
} TurnPeer;

struct Turns {
        Deferred work;
        Turn *first, **end;
        unsigned n_away;
        TurnPeer peers[TURN_PEERS];
};

void turns_init(Turns *turns, Loop *loop);
void turns_deinit(Turns *turns); /* nobody may wait any more */
/* Whether a frame of n_bytes of this peer has to wait in line. */
bool turns_must_wait(const Turns *turns, uint32_t peer, size_t n_bytes);
void turns_wait(Turns *turns, Turn *turn);  /* run() follows, in a later turn of the loop */
void turns_leave(Turns *turns, Turn *turn); /* does not wait: fine */
/* Something of this peer held the loop since then (loop_real_us()). */
void turns_charge(Turns *turns, uint32_t peer, int64_t since_us);
/* From inside run(): the long thing goes on with a worker. */
void turns_go_away(Turns *turns);
void turns_come_back(Turns *turns, uint32_t peer, int64_t took_us);

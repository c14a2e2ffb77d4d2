#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Debounce: things that happen again and again are told once, when they have been quiet for a while. What is
 * told apart is decided by the key; the newest occurrence counts.
 *
 * At most DEBOUNCE_MAX keys wait; one more makes the oldest be told at once, early. fired() may push again,
 * and must not deinit. Owned by whoever embeds it.
 */
#include "base/loop/loop.h"
#include "base/siphash.h"
#include "base/str.h"

enum { DEBOUNCE_MAX = 4096, DEBOUNCE_BUCKETS = 512 };

typedef struct DebounceItem DebounceItem;
typedef struct Debounce {
        Loop *loop;
        Timer timer;
        int64_t quiet_ms;
        void (*fired)(void *user, Str key);
        void *user;
        DebounceItem *first, *last; /* by time */
        DebounceItem **buckets;
        SipKey key; /* of the buckets */
        size_t n;
} Debounce;

void debounce_init(Debounce *debounce, Loop *loop, int64_t quiet_ms, void (*fired)(void *user, Str key),
                   void *user);
void debounce_deinit(Debounce *debounce); /* what waits is dropped */
int debounce_push(Debounce *debounce, Str key);

/* Cooldown: a least distance between two times, and at most so many in a window. Plain values on
 * loop_now_ms(). */
typedef struct Cooldown {
        int64_t last_ms;
        bool has_last;
} Cooldown;

bool cooldown_is_over(const Cooldown *cooldown, int64_t now_ms, int64_t distance_ms);
void cooldown_start(Cooldown *cooldown, int64_t now_ms);

typedef struct Throttle {
        int64_t since_ms; /* begin of the window */
        unsigned n;
        bool is_open;
} Throttle;

/* Counts one; false: it is more than n_max in window_ms. */
bool throttle_take(Throttle *throttle, int64_t now_ms, int64_t window_ms, unsigned n_max);

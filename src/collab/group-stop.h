#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Asks every part of the domain to end what it runs for a group, and waits for all of them.
 */
#include "collab/group.h"

typedef struct GroupStop {
        size_t n_left;
        void (*done)(void *user);
        void *user;
} GroupStop;

/* done follows, perhaps before this returns. stop must live until then. */
void group_stop_all(GroupStop *stop, Group *group, void (*done)(void *user), void *user);

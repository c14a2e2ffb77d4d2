#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * GroupLook: every so often, each loaded group is looked at. Without a group in memory nothing wakes up.
 *
 * A part of the domain (collab/parts.h) has one in Collab: started() of the part starts it, group_opened()
 * wakes it, stopping() and closed() stop it.
 */
#include "base/loop.h"

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

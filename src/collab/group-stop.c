/* SPDX-License-Identifier: MIT */
#include "collab/group-stop.h"

#include "collab/parts.h"

static void group_stop_on_stopped(void *user) {
        GroupStop *stop = user;

        if (--stop->n_left == 0)
                stop->done(stop->user);
}

void group_stop_all(GroupStop *stop, Group *group, void (*done)(void *user), void *user) {
        *stop = (GroupStop){.n_left = 1, .done = done, .user = user}; /* ourselves, until all are asked */
        for (const CollabPart *const *part = collab_parts; *part; part++)
                if ((*part)->group_stop) {
                        stop->n_left++;
                        (*part)->group_stop(group, group_stop_on_stopped, stop);
                }
        group_stop_on_stopped(stop);
}

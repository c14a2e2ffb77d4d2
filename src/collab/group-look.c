/* SPDX-License-Identifier: MIT */
#include "collab/group-look.h"

#include "base/error.h"
#include "collab/collab.h"

static void on_due(Timer *timer) {
        GroupLook *self = container_of(timer, GroupLook, timer);

        for (size_t i = 0; i < COLLAB_BUCKETS; i++)
                for (Group *group = self->collab->groups[i], *next; group; group = next) {
                        next = group->next;
                        self->look(group);
                }
        if (self->collab->n_groups)
                (void)timer_set(timer, self->every_ms);
}

int group_look_start(GroupLook *self, Collab *collab, int64_t every_ms, void (*look)(Group *group)) {
        *self = (GroupLook){.collab = collab, .every_ms = every_ms, .look = look};
        timer_init(&self->timer, collab->daemon->loop, on_due);
        return collab->n_groups ? group_look_wake(self) : 0;
}

int group_look_wake(GroupLook *self) {
        if (!self->collab || timer_is_set(&self->timer))
                return 0;
        return error_trace(timer_set(&self->timer, self->every_ms));
}

void group_look_stop(GroupLook *self) {
        timer_clear(&self->timer);
}

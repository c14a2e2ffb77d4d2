/* SPDX-License-Identifier: MIT */
#include "core/lane.h"

#include <assert.h>
#include <errno.h>

#include "base/error.h"

static void lane_begin(Deferred *deferred) {
        Lane *lane = container_of(deferred, Lane, soon);

        if (lane->is_busy)
                return;
        lane->is_busy = true;
        lane->type->begin(lane);
}

void lane_init(Lane *lane, Loop *loop, const LaneType *type) {
        *lane = (Lane){.type = type, .loop = loop};
        STAILQ_INIT(&lane->waiting);
        deferred_init(&lane->soon, loop, lane_begin);
}

void lane_deinit(Lane *lane) {
        deferred_cancel(&lane->soon);
}

void lane_kick(Lane *lane) {
        if (!lane->is_busy)
                deferred_schedule(&lane->soon);
}

int lane_add(Lane *lane, LaneItem *item) {
        if (lane->type->n_max && lane->n_waiting >= lane->type->n_max)
                return error_origin(-ENOBUFS);
        STAILQ_INSERT_TAIL(&lane->waiting, item, next);
        lane->n_waiting++;
        if (!lane->type->needs_kick)
                lane_kick(lane);
        return 0;
}

LaneItem *lane_take(Lane *lane) {
        LaneItem *item = STAILQ_FIRST(&lane->waiting);

        if (item) {
                STAILQ_REMOVE_HEAD(&lane->waiting, next);
                lane->n_waiting--;
        }
        return item;
}

void lane_take_all(Lane *lane, LaneItems *items) {
        STAILQ_CONCAT(items, &lane->waiting);
        lane->n_waiting = 0;
}

void lane_put_back(Lane *lane, LaneItems *items) {
        LaneItem *item;

        STAILQ_FOREACH (item, items, next)
                lane->n_waiting++;
        STAILQ_CONCAT(items, &lane->waiting);
        STAILQ_CONCAT(&lane->waiting, items);
}

static void lane_work_run(void *user) {
        Lane *lane = user;

        lane->run(lane);
}

static void lane_work_done(void *user) {
        Lane *lane = user;

        lane->done(lane);
}

int lane_work(Lane *lane, void (*run)(Lane *lane), void (*done)(Lane *lane)) {
        assert(lane->is_busy);
        lane->run = run;
        lane->done = done;
        return error_trace(loop_work(lane->loop, lane_work_run, lane_work_done, lane));
}

void lane_over(Lane *lane) {
        assert(lane->is_busy);
        lane->is_busy = false;
        if (lane->n_waiting && !lane->type->needs_kick)
                lane_kick(lane);
}

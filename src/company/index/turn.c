/* SPDX-License-Identifier: MIT */
#include "company/index/turn.h"

#include <errno.h>

#include "base/error.h"
#include "company/index/index-internal.h"
#include "company/place.h"
#include "core/daemon.h"

static void index_turn_begin(Lane *lane) {
        IndexTurn *turn = container_of(lane_take(lane), IndexTurn, item);

        turn->start(turn);
}

static const LaneType index_turns = {.begin = index_turn_begin, .n_max = LANE_WAITING_MAX};

int index_attach(Workspace *workspace) {
        int r;

        if (workspace->index)
                return 0;
        r = index_make(&workspace->index, workspace->root, &workspace->company->index_work);
        if (!r)
                lane_init(&workspace->index->turns, workspace->company->daemon->loop, &index_turns);
        return error_trace(r);
}

int index_turn(IndexTurn *turn) {
        int r = index_attach(turn->workspace);

        return error_trace(r ? r : lane_add(&turn->workspace->index->turns, &turn->item));
}

void index_turn_over(Workspace *workspace) {
        Index *index = workspace->index;

        index_count_steps(index);
        if (index->waiting.is_new && workspace->company->waiting && !workspace->company->is_stopping)
                workspace->company->waiting(workspace, &index->waiting);
        index->waiting.is_new = false;
        lane_over(&workspace->index->turns);
}

/* ---- calls ----------------------------------------------------------------------------------- */

typedef struct TurnCall { /* in the call's arena */
        IndexTurn turn;
        Call *call;
        WorkspaceFn fn;
        const Carry *carry;
} TurnCall;

static void turn_released(void *object) {
        index_turn_over(((TurnCall *)object)->turn.workspace);
}

static void turn_start_call(IndexTurn *turn) {
        TurnCall *of = container_of(turn, TurnCall, turn);
        int r = call_hold(of->call, of, turn_released);

        daemon_release_stop(of->call->daemon);
        if (!r && of->call->daemon->is_stopping) /* a long line of them would hold the stop for long */
                r = call_fail(of->call, CALL_E_UNAVAILABLE, "the daemon stops");
        else if (!r)
                r = of->fn(of->call, turn->workspace, of->carry);
        if (r != CALL_LATER)
                call_finish(of->call, r);
}

int index_call(Call *call, Workspace *workspace, WorkspaceFn fn, const Carry *carry) {
        TurnCall *of = arena_alloc(&call->arena, sizeof(*of));
        int r;

        if (!of)
                return error_origin(-ENOMEM);
        *of = (TurnCall){.turn = {.workspace = workspace, .start = turn_start_call},
                         .call = call,
                         .fn = fn,
                         .carry = carry};
        r = index_turn(&of->turn);
        if (r)
                return r;
        daemon_hold_stop(call->daemon); /* until its turn has come, also when its connection is gone */
        return CALL_LATER;
}

typedef struct TurnRead {
        Carry carry;
        ReadFn fn;
        const Carry *of_fn;
} TurnRead;

static int turn_read(Call *call, Workspace *workspace, const Carry *carry) {
        const TurnRead *read = container_of(carry, TurnRead, carry);

        return workspace_read(call, workspace, read->fn, read->of_fn);
}

int index_read_call(Call *call, Workspace *workspace, ReadFn fn, const Carry *carry) {
        TurnRead *read = arena_alloc(&call->arena, sizeof(*read));

        if (!read)
                return error_origin(-ENOMEM);
        *read = (TurnRead){.fn = fn, .of_fn = carry};
        return index_call(call, workspace, turn_read, &read->carry);
}

int index_fail(Reading *reading, Str workspace_dir, int r) {
        const char *why = index_why(reading->workspace->index);

        switch (r) {
        case INDEX_E_MISSING:
                return reading_fail(reading, CALL_E_COMPANY,
                                    "Index database not found: " STR_FMT "/" PLACE_INDEX ". Run "
                                    "index.rebuild first.%s%s",
                                    STR_ARG(workspace_dir), *why ? " " : "", why);
        case INDEX_E_BUSY:
                return reading_fail(reading, CALL_E_COMPANY, "another program holds the index: %s", why);
        default: return error_fold(r);
        }
}

/* ---- the end --------------------------------------------------------------------------------- */

static void turn_free(void *user) {
        (void)index_end(user);
}

static void turn_freed(_unused_ void *user) {}

void index_close(Workspace *workspace) {
        Daemon *daemon = workspace->company->daemon;
        Index *index = workspace->index;

        workspace->index = NULL;
        if (index)
                lane_deinit(&index->turns);
        if (index && (daemon->is_stopping || loop_work(daemon->loop, turn_free, turn_freed, index)))
                (void)index_end(index);
}

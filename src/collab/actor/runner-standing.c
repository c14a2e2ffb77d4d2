/* SPDX-License-Identifier: MIT */
/*
 * What an actor is in its group, for core/principal: the foreman or a peer, and what the group leaves it of its rights.
 * Both stand in the group's document, so one that is not in memory is read first.
 */
#include <errno.h>

#include "base/error.h"
#include "collab/actor/runner.h"
#include "collab/collab.h"
#include "collab/group/group-rights.h"

bool runner_standing(const Hosted *hosted, Standing *ret) {
        const Runner *runner = hosted->user;
        const Group *group = group_find(runner->collab, str_from(runner->group_id));

        if (!group || !group->doc)
                return false;
        ret->leads = group_is_foreman(group->doc, str_from(runner->actor_id));
        ret->rights = group_rights_of(group->doc->json, ret->leads);
        return true;
}

typedef struct RunnerStand { /* in the call's arena */
        Carry carry;
        CallThenFn then;
        const Carry *after;
} RunnerStand;

static int runner_stood(Call *call, _unused_ Group *group, const Carry *carry) {
        const RunnerStand *stand = container_of(carry, RunnerStand, carry);

        return stand->then(call, stand->after);
}

static int runner_stands_nowhere(Call *call, const Carry *carry) {
        return runner_stood(call, NULL, carry);
}

/* The group's document is read. */
int runner_stand(const Hosted *hosted, Call *call, CallThenFn then, const Carry *carry) {
        const Runner *runner = hosted->user;
        RunnerStand *stand = arena_alloc(&call->arena, sizeof(*stand));

        if (!stand)
                return error_origin(-ENOMEM);
        *stand = (RunnerStand){.then = then, .after = carry};
        return collab_target(call, str_from(runner->group_id), GROUP_CALL, runner_stood,
                             runner_stands_nowhere, &stand->carry);
}

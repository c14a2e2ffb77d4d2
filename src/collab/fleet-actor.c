/* SPDX-License-Identifier: MIT */
/*
 * Actors in the fleet: actor:GROUP/ACTOR. What is asked of them is an operation of the contract, with its rights
 * and its events.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "collab/collab.h"
#include "collab/group/group-doc.h"
#include "core/fleet/fleet.h"
#include "gen/cccc-ops.h"

static int fleet_actor_fill(Arena *arena, Str group_id, Str actor_id, FleetThing *ret) {
        ret->owner = &fleet_actor;
        ret->place = arena_str(arena, group_id);
        ret->object = arena_str(arena, actor_id);
        ret->name = arena_printf(arena, "actor:" STR_FMT "/" STR_FMT, STR_ARG(group_id), STR_ARG(actor_id));
        return ret->place.data && ret->object.data && ret->name.data ? 0 : error_origin(-ENOMEM);
}

static int fleet_actor_describe(_unused_ Daemon *daemon, const Hosted *hosted, Arena *arena,
                                FleetThing *ret) {
        const char *slash = strchr(hosted->object, '/');

        if (!slash)
                return 1;
        return fleet_actor_fill(arena, (Str){hosted->object, (size_t)(slash - hosted->object)},
                                str_from(slash + 1), ret);
}

/* ---- those that do not run ------------------------------------------------------------------- */

/* GROUP/ACTOR, where GROUP is an id, a title, or the beginning of an id. */
static bool fleet_actor_split(Str word, Str *ret_group, Str *ret_actor) {
        const char *slash = word.n ? memrchr(word.data, '/', word.n) : NULL;

        if (!slash)
                return false;
        *ret_group = (Str){word.data, (size_t)(slash - word.data)};
        *ret_actor = (Str){slash + 1, (size_t)(word.data + word.n - slash - 1)};
        return ret_group->n && ret_actor->n;
}

static int fleet_actor_in_group(Call *call, Group *group, const Carry *carry) {
        const FleetLook *look = container_of(carry, FleetLook, carry);
        Str group_id = str_from(group->id), named, actor_id;
        FleetThing thing = {0};
        int r;

        if (!fleet_actor_split(look->rest, &named, &actor_id) || !group_doc_actor(group->doc, actor_id))
                return fleet_sought(call, look, NULL);
        r = fleet_actor_fill(&call->arena, group_id, actor_id, &thing);
        return r ? error_trace(r) : fleet_sought(call, look, &thing);
}

static int fleet_actor_lost(Call *call, const Carry *carry) {
        return fleet_sought(call, container_of(carry, FleetLook, carry), NULL);
}

static int fleet_actor_find_group(Call *call, Registry *registry, const Carry *carry) {
        const FleetLook *look = container_of(carry, FleetLook, carry);
        Str group, actor, id = STR_NULL;
        int r = fleet_actor_split(look->rest, &group, &actor) ? registry_named(call, registry, group, &id)
                                                              : 0;

        if (r)
                return r;
        return id.n ? collab_target(call, id, GROUP_CALL, fleet_actor_in_group, fleet_actor_lost, carry)
                    : fleet_sought(call, look, NULL);
}

static int fleet_actor_seek(Call *call, FleetLook *look) {
        Str group, actor;

        if (!call->daemon->collab || !fleet_actor_split(look->rest, &group, &actor))
                return fleet_sought(call, look, NULL);
        return registry_call(call, fleet_actor_find_group, &look->carry);
}

/* ---- verbs ----------------------------------------------------------------------------------- */

static int fleet_actor_run(Call *call, const char *op, const void *args) {
        return args ? op_find(&cccc_ops, str_from(op))->run(call, args) : error_origin(-ENOMEM);
}

static int fleet_actor_kill(Call *call, const FleetThing *thing, Str by, _unused_ bool is_forced) {
        CcccActorStopArgs *args = arena_alloc(&call->arena, sizeof(*args));

        if (args)
                *args = (CcccActorStopArgs){.group_id = thing->place, .actor_id = thing->object, .by = by};
        return fleet_actor_run(call, "actor_stop", args);
}

static int fleet_actor_restart(Call *call, const FleetThing *thing, Str by, const Json *env) {
        CcccActorRestartArgs *args = arena_alloc(&call->arena, sizeof(*args));

        if (args)
                *args = (CcccActorRestartArgs){
                        .group_id = thing->place, .actor_id = thing->object, .by = by, .caller_env = env};
        return fleet_actor_run(call, "actor_restart", args);
}

static int fleet_actor_start(Call *call, const FleetThing *thing, Str by, const Json *env) {
        CcccActorStartArgs *args = arena_alloc(&call->arena, sizeof(*args));

        if (args)
                *args = (CcccActorStartArgs){
                        .group_id = thing->place, .actor_id = thing->object, .by = by, .caller_env = env};
        return fleet_actor_run(call, "actor_start", args);
}

static int fleet_actor_send(Call *call, const FleetThing *thing, const FleetMessage *message) {
        CcccSendArgs *args = arena_alloc(&call->arena, sizeof(*args));
        Str *to = arena_alloc(&call->arena, sizeof(*to));

        if (!args || !to)
                return error_origin(-ENOMEM);
        *to = thing->object;
        *args = (CcccSendArgs){.group_id = thing->place,
                               .text = message->text,
                               .by = message->by,
                               .to = {.items = to, .n = 1},
                               .priority = message->priority,
                               .client_id = message->key};
        return fleet_actor_run(call, "send", args);
}

const FleetOwner fleet_actor = {
        .owner = "collab",
        .kind = "actor",
        .describe = fleet_actor_describe,
        .seek = fleet_actor_seek,
        .kill = fleet_actor_kill,
        .restart = fleet_actor_restart,
        .start = fleet_actor_start,
        .send = fleet_actor_send,
        .send_right = RIGHT_MESSAGE,
};

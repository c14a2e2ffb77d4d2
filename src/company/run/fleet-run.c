/* SPDX-License-Identifier: MIT */
/*
 * Runs in the fleet: run:WORKSPACE/RUN while their program is hosted, where WORKSPACE is the name of the workspace's
 * folder; also PROJECT/RUN. They end as session.stop has it. Nothing else can be asked of them: a run is made once, and its
 * input is its own.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "company/run/runs.h"
#include "core/fleet/fleet.h"
#include "gen/agentcompany-ops.h"

static Str fleet_run_folder_name(Str path) {
        const char *slash = memrchr(path.data, '/', path.n);

        return slash && slash + 1 < path.data + path.n
                       ? (Str){slash + 1, (size_t)(path.data + path.n - slash - 1)}
                       : path;
}

/* By its meta, which the run itself cannot change. */
static int fleet_run_describe(_unused_ Daemon *daemon, const Hosted *hosted, Arena *arena, FleetThing *ret) {
        Str meta = str_from(hosted->meta), workspace, run, base;
        Json *json = NULL;

        if (!meta.n || json_parse(arena, meta.data, meta.n, NULL, &json, NULL))
                return 1;
        workspace = json_text_of(json, "workspace");
        run = json_text_of(json, "run");
        if (!workspace.n || !run.n)
                return 1;
        base = fleet_run_folder_name(workspace);
        ret->place = ret->folder = arena_str(arena, workspace);
        ret->object = arena_str(arena, json_text_of(json, "session_ref"));
        ret->alias = arena_str(arena, str_from(hosted->object));
        ret->name = arena_printf(arena, "run:" STR_FMT "/" STR_FMT, STR_ARG(base), STR_ARG(run));
        return ret->place.data && ret->object.data && ret->alias.data && ret->name.data
                       ? 0
                       : error_origin(-ENOMEM);
}

static int fleet_run_kill(Call *call, const FleetThing *thing, _unused_ Str by, _unused_ bool is_forced) {
        AgentcompanySessionStopArgs *args = arena_alloc(&call->arena, sizeof(*args));

        if (!args)
                return error_origin(-ENOMEM);
        *args = (AgentcompanySessionStopArgs){.session_ref = thing->object, .workspace_dir = thing->place};
        return op_agentcompany_session_stop(call, args);
}

const FleetOwner fleet_run = {
        .owner = "company",
        .kind = "run",
        .describe = fleet_run_describe,
        .kill = fleet_run_kill,
        .hint = "a run is made once; its job, or session.launch, makes another",
};

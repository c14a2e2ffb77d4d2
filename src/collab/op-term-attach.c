/* SPDX-License-Identifier: MIT */
#include "collab/collab.h"
#include "collab/runner.h"
#include "core/daemon.h"
#include "core/dialect.h"
#include "gen/cccc-ops.h"

typedef struct TermTarget { /* in the call's arena */
        Str group_id, actor_id;
        bool is_viewer;
} TermTarget;

/* The process may have ended since: then there is nothing to show. */
static void term_attach_stream(Call *call) {
        Client *client = call->client;
        const TermTarget *target = call->target;
        Runner *runner = runner_find(call->daemon->collab, target->group_id, target->actor_id);

        if (runner_is_running(runner) && runner->hosted)
                client->dialect->stream(client, runner->hosted, target->is_viewer);
        else
                conn_finish(client->conn, "the terminal has ended");
}

int op_cccc_term_attach(Call *call, const CcccTermAttachArgs *args) {
        Runner *runner;
        TermTarget *target;
        JsonWriter *w;

        if (!args->group_id.n)
                return call_fail(call, CALL_E_MISSING_GROUP_ID, "missing group_id");
        if (!args->actor_id.n)
                return call_fail(call, CALL_E_MISSING_ACTOR_ID, "missing actor_id");
        runner = runner_find(call->daemon->collab, args->group_id, args->actor_id);
        target = arena_alloc(&call->arena, sizeof(*target));
        if (!target || !runner_is_running(runner) || runner->kind != RUNNER_PTY)
                return call_fail(call, CALL_E_ACTOR_NOT_RUNNING, "actor is not running");
        *target = (TermTarget){args->group_id, args->actor_id, str_is(args->mode, "viewer")};
        call->target = target;
        call_after(call, term_attach_stream);
        w = call_result(call);
        jw_begin_object(w);
        jw_field_str(w, "group_id", args->group_id);
        jw_field_str(w, "actor_id", args->actor_id);
        jw_end_object(w);
        return 0;
}

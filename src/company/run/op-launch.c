/* SPDX-License-Identifier: MIT */
/* session.launch: a session begins on a client's word. */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "company/run/launch.h"
#include "company/visit.h"
#include "core/hello.h"
#include "gen/agentcompany-ops.h"

typedef struct LaunchCall { /* in the call's arena */
        RunWatch watch;
        Call *call;
        Workspace *workspace;
        Str session_ref;
} LaunchCall;

static void launch_call_done(RunWatch *watch, int error, Str message, Str data) {
        LaunchCall *launch = container_of(watch, LaunchCall, watch);
        Call *call = launch->call;
        JsonWriter *w;

        run_unwatch(watch);
        if (error) {
                if (data.n)
                        jw_raw(call_details(call), data);
                call_finish(call, call_fail(call, error, STR_FMT, STR_ARG(message)));
                return;
        }
        if (call->client)
                (void)visit_add_session(call->client, launch->workspace, launch->session_ref);
        w = call_result(call);
        jw_begin_object(w);
        jw_field_str(w, "session_ref", launch->session_ref);
        jw_end_object(w);
        call_finish(call, 0);
}

static void launch_call_gone(RunWatch *watch) {
        Call *call = container_of(watch, LaunchCall, watch)->call;

        call_finish(call, call_fail(call, CALL_E_COMPANY, "The daemon is stopping"));
}

/* A limit of the lane: that of the call, else of the client's environment, else one. */
static unsigned launch_call_limit(const Call *call, bool has_value, int64_t value, const char *variable) {
        const char *text = visit_env(call, variable);
        long limit = text ? strtol(text, NULL, 10) : 0;

        if (has_value)
                return (unsigned)MIN(value, (int64_t)RUN_WAITING_MAX);
        return limit > 0 ? (unsigned)MIN(limit, (long)RUN_WAITING_MAX) : 1;
}

static RunPriority launch_call_priority(Str word) {
        if (str_is(word, "high"))
                return RUN_HIGH;
        return str_is(word, "low") ? RUN_LOW : RUN_NORMAL;
}

static int launch_call_check_env(Call *call, const Json *env) {
        const IssueStep at = {.key = STR("env")};
        Issues issues = ISSUES(&call->arena);

        json_each (member, env) {
                if (!json_is(member, JSON_STRING))
                        issues_add(&issues, ISSUE_INVALID_TYPE,
                                   &(IssueStep){.up = &at, .key = json_key(member)}, "must be a string");
        }
        return issues.n ? call_fail_issues(call, &issues) : 0;
}

int op_agentcompany_session_launch(Call *call, Workspace *workspace,
                                   const AgentcompanySessionLaunchArgs *args) {
        const Hello *hello = call->client->hello;
        LaunchCall *launch = arena_alloc(&call->arena, sizeof(*launch));
        RunSpec spec = {
                .project_id = args->project_id,
                .run_id = args->run_id,
                .session_ref = args->session_ref,
                .argv = &args->argv,
                .env = args->env,
                .environment = hello && hello->has_env ? &hello->env : NULL,
                .stdin_text = args->stdin_text,
                .prompt_text = args->prompt_text,
                .model = args->model,
                .repo_id = args->repo_id,
                .workdir_rel = args->workdir_rel,
                .task_id = args->task_id,
                .milestone_id = args->milestone_id,
                .budget = args->budget,
                .actor_id = args->actor_id,
                .actor_role = args->actor_role,
                .actor_team_id = args->actor_team_id,
                .priority = launch_call_priority(args->lane_priority),
                .workspace_limit =
                        launch_call_limit(call, args->has_lane_workspace_limit, args->lane_workspace_limit,
                                          "AC_LAUNCH_WORKSPACE_LIMIT"),
                .provider_limit = launch_call_limit(call, args->has_lane_provider_limit,
                                                    args->lane_provider_limit, "AC_LAUNCH_PROVIDER_LIMIT"),
                .team_limit = launch_call_limit(call, args->has_lane_team_limit, args->lane_team_limit,
                                                "AC_LAUNCH_TEAM_LIMIT"),
                .visit = visit_number(call),
        };
        int r = launch_call_check_env(call, args->env);

        if (r)
                return r;
        if (!launch)
                return error_origin(-ENOMEM);
        *launch = (LaunchCall){.watch = {.launched = launch_call_done, .gone = launch_call_gone},
                               .call = call,
                               .workspace = workspace};
        launch->session_ref = args->session_ref.n
                                      ? args->session_ref
                                      : arena_printf(&call->arena, "local_" STR_FMT, STR_ARG(args->run_id));
        r = launch->session_ref.data ? run_launch(workspace, &spec, &launch->watch) : error_origin(-ENOMEM);
        return r ? error_trace(r) : CALL_LATER;
}

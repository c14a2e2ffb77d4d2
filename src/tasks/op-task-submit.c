/* SPDX-License-Identifier: MIT */
#include "core/daemon.h"
#include "gen/aiwg-ops.h"
#include "tasks/project.h"

/* Anything that counts as nothing is 0; a number is kept as it was written; the rest does not fit. */
static bool take_priority(const Json *json, Str *ret) {
        bool truth = true;
        double value;

        if (!json || json_is(json, JSON_NULL) || (json_bool(json, &truth) && !truth) ||
            (json_is(json, JSON_STRING) && !json_str(json).n))
                return true;
        if (!json_double(json, &value))
                return false;
        if (value != 0)
                *ret = (Str){json->text, json->n};
        return true;
}

static const char *why(const Project *project) {
        if (project->supervisor.is_stopping)
                return ": the daemon is stopping";
        return task_store_is_there(&project->store) ? "" : ": the project's folder was moved or deleted";
}

static bool env_fits(const Json *env) {
        _cleanup_(strvec_deinit) StrVec probe = {0};

        return environment_put_json(&probe, env) != ENVIRONMENT_E_UNFIT;
}

static int task_submit_submit(Call *call, TaskSpec *spec, const Json *priority, bool says_state) {
        Project *project = call->client->endpoint->context;
        Str given = STR_NULL;
        int r;

        if (!take_priority(priority, &given))
                return call_fail(call, CALL_E_INVALID_PARAMS, "priority must be a number");
        if (given.n)
                spec->priority = given;
        if (!env_fits(spec->env))
                return call_fail(call, CALL_E_INVALID_PARAMS, "env maps names to texts");
        if (spec->prompt.n > TASK_PROMPT_MAX)
                return call_fail(call, CALL_E_INVALID_PARAMS, "a prompt has at most %d bytes",
                                 TASK_PROMPT_MAX);
        r = supervisor_submit(project, spec, call, says_state, NULL);
        if (r == SUPERVISOR_E_FULL)
                return call_fail(call, CALL_E_QUEUE_FULL, "Task queue is full (%llu waiting)",
                                 (unsigned long long)project->max_queue);
        if (r == SUPERVISOR_E_UNAVAILABLE)
                return call_fail(call, CALL_E_UNAVAILABLE, "Task store is not available%s", why(project));
        return r ? r : CALL_LATER;
}

static int task_submit_run_submit(Call *call, const void *args) {
        const AiwgTaskSubmitArgs *a = args;
        TaskSpec spec = {.prompt = a->prompt, .agent = a->agent, .env = a->env};

        return task_submit_submit(call, &spec, a->priority, true);
}

int op_aiwg_task_submit(Call *call, const AiwgTaskSubmitArgs *args) {
        int r;

        return supervisor_must_wait(call->client->endpoint->context, call, task_submit_run_submit, args, &r)
                       ? r
                       : task_submit_run_submit(call, args);
}

static int run_chat(Call *call, const void *args) {
        const AiwgChatSendArgs *a = args;
        TaskSpec spec = {.prompt = a->message,
                         .priority = STR("5"),
                         .metadata = STR("{\"source\":\"ipc-chat\"}"),
                         .env = a->env};

        return task_submit_submit(call, &spec, a->priority, false);
}

int op_aiwg_chat_send(Call *call, const AiwgChatSendArgs *args) {
        int r;

        return supervisor_must_wait(call->client->endpoint->context, call, run_chat, args, &r)
                       ? r
                       : run_chat(call, args);
}

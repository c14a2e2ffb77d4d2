/* SPDX-License-Identifier: MIT */
/*
 * task.submit, chat.send. The contract takes a task whose agent's program is not there: it fails when its
 * turn comes. Whoever says needs_agent, as `muster` does, is told at once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
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

static int task_submit_to(Call *call, Project *project, TaskSpec *spec, bool says_state) {
        int r;

        if (!env_fits(spec->env))
                return call_fail(call, CALL_E_INVALID_PARAMS, "env maps names to texts");
        if (spec->prompt.n > TASK_PROMPT_MAX)
                return call_fail(call, CALL_E_INVALID_PARAMS, "a prompt has at most %d bytes",
                                 TASK_PROMPT_MAX);
        spec->request = call_request(call);
        r = supervisor_submit(project, spec, call, says_state, NULL);
        if (r == SUPERVISOR_E_FULL)
                return call_fail(call, CALL_E_QUEUE_FULL, "Task queue is full (%llu waiting)",
                                 (unsigned long long)project->max_queue);
        if (r == SUPERVISOR_E_ENV_FULL)
                return call_fail(call, CALL_E_QUEUE_FULL,
                                 "Task queue is full (the environments of those waiting have %d bytes)",
                                 TICKET_ENV_MAX);
        if (r == SUPERVISOR_E_TEXT_FULL)
                return call_fail(call, CALL_E_QUEUE_FULL,
                                 "Task queue is full (the prompts of those waiting have %d bytes)",
                                 TASK_WAITING_MAX);
        if (r == SUPERVISOR_E_UNAVAILABLE)
                return call_fail(call, CALL_E_UNAVAILABLE, "Task store is not available%s", why(project));
        return r ? r : CALL_LATER;
}

int task_submit_spec(Call *call, Project *project, TaskSpec *spec) {
        return task_submit_to(call, project, spec, true);
}

static int task_submit_submit(Call *call, TaskSpec *spec, const Json *priority, bool says_state) {
        Str given = STR_NULL;

        if (!take_priority(priority, &given))
                return call_fail(call, CALL_E_INVALID_PARAMS, "priority must be a number");
        if (given.n)
                spec->priority = given;
        return task_submit_to(call, call->client->endpoint->context, spec, says_state);
}

/* ---- the agent's program ---------------------------------------------------------------------- */

typedef struct AgentLook {
        Call *call;
        Project *project;
        ProjectFn fn; /* the rest of the call */
        const Carry *carry;
        char *command, *dir, *folders;
        int error; /* as exec would say */
} AgentLook;

static AgentLook *agent_look_free(AgentLook *look) {
        if (!look)
                return NULL;
        free(look->command);
        free(look->dir);
        free(look->folders);
        free(look);
        return NULL;
}

static void agent_look_run(void *user) {
        AgentLook *look = user;

        look->error = path_find_command(look->dir, look->folders, look->command, NULL);
}

static int agent_look_missing(const AgentLook *look) {
        const char *name = strerrorname_np(look->error);

        return call_fail(look->call, CALL_E_UNAVAILABLE,
                         "the agent cannot be started: spawn %.100s %s (PATH is %.250s%s); another program: "
                         "daemon.agent_command in .aiwg/daemon.json",
                         look->command, name ? name : "?", look->folders,
                         strlen(look->folders) > 250 ? "…" : "");
}

static void agent_look_done(void *user) {
        AgentLook *look = user;
        Call *call = look->call;
        int r = 0;

        if (look->error)
                r = agent_look_missing(look);
        else if (call->client)
                r = look->fn(call, look->project, look->carry);
        agent_look_free(look);
        if (r != CALL_LATER)
                call_finish(call, r);
}

static int agent_look_fill(AgentLook *look, const Project *project, const Json *given) {
        _cleanup_(strvec_deinit) StrVec caller = {0}, env = {0};
        const char *folders;
        int r = environment_put_json(&caller, given);

        if (!r)
                r = supervisor_env(project, &caller, &env);
        if (r)
                return error_fold(r);
        folders = environment_get(&env, "PATH");
        look->command = strdup(project->agent_command);
        look->dir = strdup(project->dir);
        look->folders = strdup(folders ? folders : "/bin:/usr/bin");
        return look->command && look->dir && look->folders ? 0 : error_origin(-ENOMEM);
}

/* Looks for it on a worker, where the agent would be looked for; then goes on with the call, or fails it. */
static int agent_look(Call *call, Project *project, const Json *env, ProjectFn fn, const Carry *carry) {
        AgentLook *look;
        int r;

        if (!env_fits(env))
                return fn(call, project, carry); /* which says so */
        look = calloc(1, sizeof(*look));
        if (!look)
                return error_origin(-ENOMEM);
        *look = (AgentLook){.call = call, .project = project, .fn = fn, .carry = carry};
        r = agent_look_fill(look, project, env);
        if (!r)
                r = loop_work(project->daemon->loop, agent_look_run, agent_look_done, look);
        if (r)
                agent_look_free(look);
        return r ? error_trace(r) : CALL_LATER;
}

/* ---- the ops --------------------------------------------------------------------------------- */

static int task_submit_go(Call *call, _unused_ Project *project, const Carry *carry) {
        const AiwgTaskSubmitArgs *args = container_of(carry, AiwgTaskSubmitArgs, carry);
        TaskSpec spec = {.prompt = args->prompt, .agent = args->agent, .env = args->env};

        return task_submit_submit(call, &spec, args->priority, true);
}

int op_aiwg_task_submit(Call *call, Project *project, const AiwgTaskSubmitArgs *args) {
        return args->needs_agent ? agent_look(call, project, args->env, task_submit_go, &args->carry)
                                 : task_submit_go(call, project, &args->carry);
}

static int chat_go(Call *call, _unused_ Project *project, const Carry *carry) {
        const AiwgChatSendArgs *args = container_of(carry, AiwgChatSendArgs, carry);
        TaskSpec spec = {.prompt = args->message,
                         .priority = STR("5"),
                         .metadata = STR("{\"source\":\"ipc-chat\"}"),
                         .env = args->env};

        return task_submit_submit(call, &spec, args->priority, false);
}

int op_aiwg_chat_send(Call *call, Project *project, const AiwgChatSendArgs *args) {
        return args->needs_agent ? agent_look(call, project, args->env, chat_go, &args->carry)
                                 : chat_go(call, project, &args->carry);
}

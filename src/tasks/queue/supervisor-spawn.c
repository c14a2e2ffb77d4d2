/* SPDX-License-Identifier: MIT */
/*
 * What the agent of a task is started with: its command line, its environment, its sandbox. With a sandbox
 * the start goes by way of a worker. The task may be cancelled, ended or gone when that comes back: then
 * nothing is started.
 */
#define LOG_MODULE "tasks/agent"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "core/sandbox/sandbox-job.h"
#include "core/runtimes.h"
#include "core/tools.h"
#include "tasks/project.h"

/* A start under way. */
struct AgentStart {
        Task *task; /* NULL: it has gone, or is left to the next daemon */
        Program program;
        SandboxWish wish;
};

static AgentStart *agent_start_free(AgentStart *start) {
        if (!start)
                return NULL;
        if (start->task)
                start->task->starting = NULL;
        program_deinit(&start->program);
        free(start);
        return NULL;
}

void supervisor_drop_spawn(Task *task) {
        if (task->starting)
                task->starting->task = NULL;
        task->starting = NULL;
}

/* ---- with what -------------------------------------------------------------------------------- */

/* AGENT_COMMAND [AGENT_ARGS...] <headless form of the runtime> PROMPT [--agent NAME] */
static int agent_argv(const Task *task, StrVec *argv) {
        const Project *project = task->project;
        int r = strvec_push(argv, project->agent_command);

        r = r ? r : strvec_append(argv, &project->agent_args);
        for (const char *const *flag = project->runtime->headless; !r && *flag; flag++)
                r = strvec_push(argv, *flag);
        r = r ? r : strvec_push(argv, task->prompt.data);
        if (!r && task->agent && project->runtime->agent_flag) {
                r = strvec_push(argv, project->runtime->agent_flag);
                r = r ? r : strvec_push(argv, task->agent);
        }
        return error_trace(r);
}

/* By which a later daemon finds out whose it is. */
static int agent_meta(const Task *task, Buf *meta) {
        JsonWriter w = JSON_WRITER(meta);

        jw_begin_object(&w);
        jw_field_cstr(&w, "project", task->project->dir);
        jw_field_cstr(&w, "task", task->id);
        jw_end_object(&w);
        return w.failed ? error_origin(-ENOMEM) : 0;
}

int supervisor_env(const Project *project, const StrVec *caller, StrVec *env) {
        int r = program_env_base(env);

        return error_trace(r ? r : program_env_over(env, project->daemon, caller));
}

/* Not what the project's own files say: an agent could have written them. Condition: a word that nobody
 * knows. */
static int agent_wish(const Project *project, SandboxWish *ret) {
        const Endpoint *endpoint = project->endpoint;
        int mode = endpoint->sandbox ? sandbox_mode_from_name(endpoint->sandbox) : SANDBOX_NONE,
            network =
                    endpoint->network ? sandbox_network_from_name(endpoint->network) : SANDBOX_NETWORK_HOST;

        *ret = (SandboxWish){(SandboxMode)MAX(mode, 0), (SandboxNetwork)MAX(network, 0)};
        return mode < 0 || (network < 0 && ret->mode != SANDBOX_NONE);
}

bool supervisor_knows_sandbox(const Project *project) {
        SandboxWish wish;

        return !agent_wish(project, &wish);
}

bool supervisor_has_sandbox(const Project *project) {
        SandboxWish wish;

        return agent_wish(project, &wish) || wish.mode != SANDBOX_NONE;
}

/* ---- the start ------------------------------------------------------------------------------- */

static int agent_host(AgentStart *start) {
        Task *task = start->task;
        const Project *project = task->project;
        HostedSpec spec = {.owner = "tasks",
                           .object = task->id,
                           .program = &start->program,
                           .sandbox = sandbox_mode_name(start->wish.mode),
                           .kind = SHIM_PIPES,
                           .n_ring = TASK_OUTPUT_MAX,
                           .n_ring_err = TASK_STDERR_MAX,
                           .has_no_input = true};

        return host_start(project->daemon->host, &spec, &supervisor_agent_handler, task, &task->hosted);
}

static void agent_refused(Task *task, const SandboxJob *job) {
        char why[1024];

        snprintf(
                why, sizeof(why),
                "no sandbox for it: %s; see muster doctor, or do without: muster project set --sandbox none",
                job->problem);
        if (job->report.command_errno)
                supervisor_start_failed(task, job->report.command_errno, NULL);
        else
                supervisor_start_failed(task, EPERM, why);
}

static void agent_wrapped(SandboxJob *job) {
        AgentStart *start = job->user;
        Task *task = start->task;
        int r;

        if (!task || task->is_ending) {
                agent_start_free(start);
                return;
        }
        sandbox_job_take(job, &start->program, task->id);
        r = job->error || task->is_cancelled ? 0 : agent_host(start);
        agent_start_free(start); /* may_be_left() looks at it */
        if (task->is_cancelled)
                supervisor_start(task); /* ends it */
        else if (job->error)
                agent_refused(task, job);
        else if (r)
                supervisor_start_failed(task, r > 0 ? ENOENT : -r, NULL);
}

static int agent_wrap(AgentStart *start) {
        Task *task = start->task;
        SandboxAsk ask = {.name = task->id,
                          .program = &start->program,
                          .command = task->project->agent_command,
                          .network = start->wish.network};
        int r = sandbox_job_start(task->project->daemon, &ask, agent_wrapped, start);

        if (!r)
                task->starting = start;
        return error_trace(r);
}

int supervisor_spawn(Task *task) {
        AgentStart *start = calloc(1, sizeof(*start));
        int r;

        if (!start)
                return error_origin(-ENOMEM);
        start->task = task;
        r = program_set_place(&start->program, task->project->dir, task->project->agent_command);
        r = r ? r : agent_argv(task, &start->program.argv);
        r = r ? r : agent_meta(task, &start->program.meta);
        r = r ? r : supervisor_env(task->project, &task->env, &start->program.env);
        if (!r && agent_wish(task->project, &start->wish))
                r = error_origin(-EINVAL); /* who calls us has asked before */
        if (!r && start->wish.mode == SANDBOX_NONE)
                r = tools_register(task->project->daemon, &start->program, true);
        if (!r)
                r = start->wish.mode == SANDBOX_NONE ? agent_host(start) : agent_wrap(start);
        if (!task->starting)
                agent_start_free(start);
        return r;
}

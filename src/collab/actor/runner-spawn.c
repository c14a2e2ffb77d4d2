/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "collab/runner"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "collab/actor/runner.h"
#include "collab/collab.h"
#include "collab/group/actor-sandbox.h"
#include "core/sandbox/sandbox-job.h"
#include "core/tools.h"

struct CallerEnv {
        CallerEnv *next; /* noted later */
        char *group_id, *actor_id;
        StrVec env;
};

static CallerEnv *caller_env_free(CallerEnv *self) {
        if (!self)
                return NULL;
        free(self->group_id);
        free(self->actor_id);
        strvec_deinit(&self->env);
        free(self);
        return NULL;
}

static bool caller_env_is_of(const CallerEnv *self, Str group_id, Str actor_id) {
        return str_is(group_id, self->group_id) && (!actor_id.n || str_is(actor_id, self->actor_id));
}

/* What is said of a whole group is said of each actor, too. Where a new one is to be hung. */
static CallerEnv **caller_env_forget(Collab *collab, Str group_id, Str actor_id) {
        CallerEnv **at = &collab->callers;
        size_t n = 0;

        while (*at) {
                CallerEnv *self = *at;

                if (caller_env_is_of(self, group_id, actor_id)) {
                        *at = self->next;
                        caller_env_free(self);
                        continue;
                }
                at = &self->next;
                n++;
        }
        if (n >= CALLER_ENVS_MAX) {
                CallerEnv *first = collab->callers;

                collab->callers = first->next;
                caller_env_free(first);
                for (at = &collab->callers; *at;)
                        at = &(*at)->next;
        }
        return at;
}

int caller_env_note(Collab *collab, Str group_id, Str actor_id, const Json *object) {
        CallerEnv *self = object ? calloc(1, sizeof(*self)) : NULL;
        int r;

        if (!self)
                return object ? error_origin(-ENOMEM) : 0;
        self->group_id = str_dup(group_id);
        self->actor_id = str_dup(actor_id);
        r = self->group_id && self->actor_id ? environment_put_json(&self->env, object) : -ENOMEM;
        if (r) {
                caller_env_free(self);
                return r;
        }
        *caller_env_forget(collab, str_from(self->group_id), str_from(self->actor_id)) = self;
        return 0;
}

int caller_env_take(Call *call, Str group_id, Str actor_id, const Json *object) {
        int r = caller_env_note(call->daemon->collab, group_id, actor_id, object);

        return r == ENVIRONMENT_E_UNFIT
                       ? call_fail(call, CALL_E_INVALID_PARAMS, "caller_env maps names to texts")
                       : r;
}

/* NULL: none */
static const StrVec *caller_env_find(const Collab *collab, Str group_id, Str actor_id) {
        const StrVec *of_group = NULL;

        for (const CallerEnv *self = collab->callers; self; self = self->next) {
                if (!str_is(group_id, self->group_id))
                        continue;
                if (str_is(actor_id, self->actor_id))
                        return &self->env;
                if (!*self->actor_id)
                        of_group = &self->env;
        }
        return of_group;
}

void caller_env_free_all(Collab *collab) {
        while (collab->callers) {
                CallerEnv *self = collab->callers;

                collab->callers = self->next;
                caller_env_free(self);
        }
}

/*
 * What an actor is started with at a terminal: its folder, its command, its environment, its sandbox. With a
 * sandbox the start goes by way of a worker; until it is back the runner is STARTING without a process, or
 * ENDING when somebody has changed his mind.
 */
/* A start under way: everything is a copy, for the document may be another one by then. */
typedef struct RunnerStart {
        Runner *runner; /* it waits for us: see runner->is_wrapping */
        Program program;
        SandboxWish wish;
} RunnerStart;

static RunnerStart *runner_start_free(RunnerStart *start) {
        if (!start)
                return NULL;
        program_deinit(&start->program);
        free(start);
        return NULL;
}

/* ---- environment ----------------------------------------------------------------------------- */

static int put_own(StrVec *env, const Runner *runner) {
        int r = environment_put(env, "CCCC_GROUP_ID", runner->group_id);

        r = r ? r : environment_put(env, "CCCC_ACTOR_ID", runner->actor_id);
        r = r ? r : environment_put(env, "CCCC_HOME", runner->collab->home);
        return error_trace(r ? r : environment_put(env, "INPUTRC", runner->collab->inputrc_path));
}

static int put_member(StrVec *env, const Json *member) {
        _cleanup_(freep) char *name = str_dup(json_key(member));

        return name ? error_trace(environment_put(env, name, json_str(member).data)) : error_origin(-ENOMEM);
}

/* Ours, what the daemon gives to all, what its starter had, then the actor's own, then what tells it who it
 * is. */
static int runner_spawn_build_env(const Runner *runner, const ActorView *actor, StrVec *env) {
        const StrVec *caller =
                caller_env_find(runner->collab, str_from(runner->group_id), str_from(runner->actor_id));
        int r = program_env_base(env);

        r = r ? r : program_env_over(env, runner->collab->daemon, caller);
        json_each (member, actor->env)
                if (!r && json_key(member).n && !memchr(json_key(member).data, '=', json_key(member).n))
                        r = put_member(env, member);
        if (!r)
                r = put_own(env, runner);
        if (!r && !environment_get(env, "TERM"))
                r = environment_put(env, "TERM", PROGRAM_TERM);
        return error_trace(r);
}

const char *runner_search_path(const Group *group, Str actor_id) {
        const StrVec *caller = caller_env_find(group->collab, str_from(group->id), actor_id);
        const char *path = caller ? environment_get(caller, "PATH") : NULL;

        for (size_t i = 0; i < group->doc->n_actors; i++) {
                const ActorView *actor = &group->doc->actors[i];

                if (str_eq(actor->id, actor_id) && json_is(json_get(actor->env, "PATH"), JSON_STRING))
                        path = json_str(json_get(actor->env, "PATH")).data;
        }
        if (!path)
                path = environment_get(&group->collab->daemon->env, "PATH");
        return path ? path : getenv("PATH");
}

/* ---- command --------------------------------------------------------------------------------- */

static int runner_spawn_build_argv(const ActorView *actor, StrVec *argv) {
        int r = 0;

        json_each (word, actor->command)
                if (!r)
                        r = strvec_push(argv, json_str(word).data);
        if (!r && !argv->n)
                r = strvec_push(argv, access("/bin/bash", X_OK) ? "/bin/sh" : "/bin/bash");
        return error_trace(r);
}

static int runner_spawn_build_meta(const Runner *runner, Buf *out) {
        const StrVec *caller =
                caller_env_find(runner->collab, str_from(runner->group_id), str_from(runner->actor_id));
        JsonWriter w = JSON_WRITER(out);

        jw_begin_object(&w);
        if (caller)
                environment_write(&w, "caller_env", caller);
        jw_field_cstr(&w, "home", runner->collab->home);
        jw_field_cstr(&w, "group_id", runner->group_id);
        jw_field_cstr(&w, "actor_id", runner->actor_id);
        jw_end_object(&w);
        return w.failed ? error_origin(-ENOMEM) : 0;
}

/* ---- the start ------------------------------------------------------------------------------- */

static int runner_host(RunnerStart *start) {
        Runner *runner = start->runner;
        Daemon *daemon = runner->collab->daemon;
        _cleanup_(freep) char *object = NULL;
        HostedSpec spec = {.owner = "collab",
                           .program = &start->program,
                           .sandbox = sandbox_mode_name(start->wish.mode),
                           .kind = SHIM_PTY,
                           .n_ring = runner->collab->n_backlog};
        int r;

        if (asprintf(&object, "%s/%s", runner->group_id, runner->actor_id) < 0) {
                object = NULL;
                return error_origin(-ENOMEM);
        }
        spec.object = object;
        r = host_start(daemon->host, &spec, &runner_hosted_handler, runner, &runner->hosted);
        return r == HOST_E_WORKSPACE ? error_origin(-ENOTDIR) : error_trace(r);
}

static void runner_refused(Runner *runner, const SandboxJob *job) {
        char why[1024];

        if (job->report.command_errno) { /* of a program that is not there, who asked is told where it was
                                            looked for */
                runner_failed(runner, job->report.command_errno, NULL);
                return;
        }
        snprintf(why, sizeof(why), "no sandbox for it: %s", job->problem);
        runner_failed(runner, EPERM, why);
}

/* A daemon that stops starts nothing any more: the wish is kept, and the next one does. */
static void runner_wrapped(SandboxJob *job) {
        RunnerStart *start = job->user;
        Runner *runner = start->runner;
        int r;

        runner->is_wrapping = false;
        if (runner->state == RUNNER_ENDING)
                runner_over(runner);
        else if (job->error)
                runner_refused(runner, job);
        else if (job->daemon->is_stopping)
                runner_failed(runner, ECANCELED, NULL);
        else {
                sandbox_job_take(job, &start->program, runner->actor_id);
                runner->notes = job->notes;
                job->notes = (StrVec){0};
                r = runner_host(start);
                if (r)
                        runner_failed(runner, -r, NULL);
        }
        runner_start_free(start);
}

static int runner_wrap(RunnerStart *start) {
        Runner *runner = start->runner;
        SandboxAsk ask = {.name = runner->actor_id,
                          .program = &start->program,
                          .command = start->program.command,
                          .network = start->wish.network};
        int r = sandbox_job_start(runner->collab->daemon, &ask, runner_wrapped, start);

        runner->is_wrapping = !r;
        return error_trace(r);
}

static int runner_build(RunnerStart *start, const GroupDoc *doc, const ActorView *actor) {
        Program *program = &start->program;
        int r = runner_spawn_build_argv(actor, &program->argv);

        r = r ? r : runner_spawn_build_env(start->runner, actor, &program->env);
        r = r ? r : runner_spawn_build_meta(start->runner, &program->meta);
        if (!r)
                r = program_set_place(program, runner_folder(doc, actor).data, program->argv.items[0]);
        return error_trace(r);
}

int runner_spawn(Runner *runner, const GroupDoc *doc, const ActorView *actor) {
        RunnerStart *start = calloc(1, sizeof(*start));
        int r;

        if (!start)
                return error_origin(-ENOMEM);
        start->runner = runner;
        r = runner_build(start, doc, actor);
        if (!r && actor_sandbox_wish(doc, actor, &start->wish))
                r = error_origin(-EINVAL); /* runner_check() has said it to who asked */
        if (!r && start->wish.mode == SANDBOX_NONE)
                r = tools_register(runner->collab->daemon, &start->program, false);
        if (!r)
                r = start->wish.mode == SANDBOX_NONE ? runner_host(start) : runner_wrap(start);
        if (r || !runner->is_wrapping)
                runner_start_free(start);
        return error_trace(r);
}

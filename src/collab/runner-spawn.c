/* SPDX-License-Identifier: MIT */
/*
 * What an actor is started with at a terminal: its folder, its command, its environment, its sandbox. With a
 * sandbox the start goes by way of a worker; until it is back the runner is STARTING without a process, or
 * ENDING when somebody has changed his mind.
 */
#define LOG_MODULE "collab/runner"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "collab/actor-sandbox.h"
#include "collab/caller-env.h"
#include "collab/collab.h"
#include "collab/runner.h"
#include "core/host/sandbox-job.h"

/* A start under way: everything is a copy, for the document may be another one by then. */
typedef struct RunnerStart {
        Runner *runner; /* it waits for us: see runner->is_wrapping */
        StrVec argv, env;
        Buf meta;
        char *folder, *command; /* command: for people */
        SandboxWish wish;
} RunnerStart;

static RunnerStart *runner_start_free(RunnerStart *start) {
        if (!start)
                return NULL;
        strvec_deinit(&start->argv);
        strvec_deinit(&start->env);
        buf_deinit(&start->meta);
        free(start->folder);
        free(start->command);
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
        _cleanup_(freep) char *name = strndup(json_key(member).data, json_key(member).n);

        return name ? error_trace(environment_put(env, name, json_str(member).data)) : error_origin(-ENOMEM);
}

/* Ours, what the daemon gives to all, what its starter had, then the actor's own, then what tells it who it
 * is. */
static int runner_spawn_build_env(const Runner *runner, const ActorView *actor, StrVec *env) {
        const StrVec *caller =
                caller_env_find(runner->collab, str_from(runner->group_id), str_from(runner->actor_id));
        int r = host_env_base(env);

        r = r ? r : environment_put_all(env, &runner->collab->daemon->env);
        if (!r && caller)
                r = environment_put_caller(env, caller);
        json_each (member, actor->env)
                if (!r && json_key(member).n && !memchr(json_key(member).data, '=', json_key(member).n))
                        r = put_member(env, member);
        if (!r)
                r = put_own(env, runner);
        if (!r && !environment_get(env, "TERM"))
                r = strvec_push(env, "TERM=xterm-256color");
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
        _cleanup_(freep) char **argv = strvec_list(&start->argv), **env = strvec_list(&start->env),
                              *object = NULL;
        HostedSpec spec = {.owner = "collab",
                           .workspace = start->folder,
                           .sandbox = sandbox_mode_name(start->wish.mode),
                           .command = start->command,
                           .meta = buf_str(&start->meta),
                           .kind = SHIM_PTY,
                           .argv = argv,
                           .env = env,
                           .cols = RUNNER_COLS,
                           .rows = RUNNER_ROWS,
                           .n_ring = runner->collab->n_backlog};
        int r;

        if (!argv || !env || asprintf(&object, "%s/%s", runner->group_id, runner->actor_id) < 0)
                return error_origin(-ENOMEM);
        if (!daemon->host)
                return error_origin(-ENOSYS); /* a daemon that hosts nothing (fuzzers) */
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
                for (size_t i = 0; i < job->notes.n; i++)
                        log_notice(&job->daemon->log, runner->actor_id, "%s", job->notes.items[i]);
                strvec_deinit(&start->argv);
                start->argv = job->argv;
                runner->notes = job->notes;
                job->argv = job->notes = (StrVec){0};
                r = runner_host(start);
                if (r)
                        runner_failed(runner, -r, NULL);
        }
        runner_start_free(start);
}

static int runner_wrap(RunnerStart *start) {
        Runner *runner = start->runner;
        _cleanup_(freep) char **argv = strvec_list(&start->argv), **env = strvec_list(&start->env);
        SandboxAsk ask = {.name = runner->actor_id,
                          .workspace = start->folder,
                          .command = start->command,
                          .argv = argv,
                          .env = env,
                          .network = start->wish.network};
        int r = argv && env ? sandbox_job_start(runner->collab->daemon, &ask, runner_wrapped, start)
                            : error_origin(-ENOMEM);

        runner->is_wrapping = !r;
        return error_trace(r);
}

static int runner_build(RunnerStart *start, const GroupDoc *doc, const ActorView *actor) {
        int r = runner_spawn_build_argv(actor, &start->argv);

        if (!r)
                r = runner_spawn_build_env(start->runner, actor, &start->env);
        if (!r)
                r = runner_spawn_build_meta(start->runner, &start->meta);
        if (r)
                return error_trace(r);
        start->folder = strdup(runner_folder(doc, actor).data);
        start->command = strdup(start->argv.items[0]);
        return start->folder && start->command ? 0 : error_origin(-ENOMEM);
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
        if (!r)
                r = start->wish.mode == SANDBOX_NONE ? runner_host(start) : runner_wrap(start);
        if (r || !runner->is_wrapping)
                runner_start_free(start);
        return error_trace(r);
}

/* SPDX-License-Identifier: MIT */
/*
 * What an actor is started with at a terminal: its folder, its command, its environment.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "collab/actor.h"
#include "collab/caller-env.h"
#include "collab/collab.h"
#include "collab/runner.h"

/* ---- whether ---------------------------------------------------------------------------------- */

static Str scope_key_of(const GroupDoc *doc, const ActorView *actor) {
        return actor->default_scope_key.n ? actor->default_scope_key : doc->active_scope_key;
}

static const ScopeView *scope_of(const GroupDoc *doc, const ActorView *actor) {
        return group_doc_scope(doc, scope_key_of(doc, actor));
}

/* The folder in which the actor works; empty: none. */
static Str runner_folder(const GroupDoc *doc, const ActorView *actor) {
        const ScopeView *scope = scope_of(doc, actor);

        return scope ? scope->url : STR("");
}

static bool is_folder(const char *path) {
        struct stat st;

        return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* CALL_E_* of what is in the way; 0: nothing is. */
static int obstacle(const GroupDoc *doc, const ActorView *actor) {
        const ScopeView *scope = scope_of(doc, actor);

        if (!doc->active_scope_key.n)
                return CALL_E_MISSING_PROJECT_ROOT;
        if (!scope || !scope->url.n)
                return CALL_E_SCOPE_NOT_ATTACHED;
        if (!is_folder(scope->url.data))
                return CALL_E_INVALID_PROJECT_ROOT;
        if (!actor_runtime_is_known(actor->runtime))
                return CALL_E_UNSUPPORTED_RUNTIME;
        if (str_is(actor->runtime, "custom") && str_is(actor->runner, "pty") && !json_count(actor->command))
                return CALL_E_MISSING_COMMAND;
        return 0;
}

bool runner_can_start(const GroupDoc *doc, const ActorView *actor) {
        return !obstacle(doc, actor);
}

/* What to do about it: clients show it below the message. */
static const char *runner_hint(int error) {
        switch (error) {
        case CALL_E_MISSING_PROJECT_ROOT:
                return "attach a project folder first (cccc attach <path> --group <id>)";
        case CALL_E_SCOPE_NOT_ATTACHED:
                return "attach this scope to the group (cccc attach <path> --group <id>)";
        case CALL_E_INVALID_PROJECT_ROOT:
                return "attach a folder that exists (cccc attach <path> --group <id>)";
        case CALL_E_UNSUPPORTED_RUNTIME: return "give the actor a runtime that is supported";
        default: return "give the actor a command, or make its runner headless";
        }
}

static void write_obstacle(JsonWriter *w, const GroupDoc *doc, const ActorView *actor, int error) {
        const ScopeView *scope = scope_of(doc, actor);

        jw_begin_object(w);
        jw_field_str(w, "group_id", json_str(json_get(doc->json, "group_id")));
        jw_field_str(w, "actor_id", actor->id);
        if (error == CALL_E_UNSUPPORTED_RUNTIME || error == CALL_E_MISSING_COMMAND)
                jw_field_str(w, "runtime", actor->runtime);
        else
                jw_field_str(w, "scope_key", scope_key_of(doc, actor));
        if (error == CALL_E_INVALID_PROJECT_ROOT)
                jw_field_str(w, "path", scope->url);
        if (error == CALL_E_UNSUPPORTED_RUNTIME)
                actor_write_runtimes(w, "supported");
        jw_field_cstr(w, "hint", runner_hint(error));
        jw_end_object(w);
}

int runner_check_root(Call *call, const GroupDoc *doc) {
        JsonWriter *w;

        if (doc->active_scope_key.n)
                return 0;
        w = call_details(call);
        jw_begin_object(w);
        jw_field_cstr(w, "hint", runner_hint(CALL_E_MISSING_PROJECT_ROOT));
        jw_end_object(w);
        return call_fail(call, CALL_E_MISSING_PROJECT_ROOT,
                         "missing project root: no folder is attached to "
                         "the group");
}

int runner_check(Call *call, const GroupDoc *doc, const ActorView *actor) {
        static const struct {
                int error;
                const char *text;
        } texts[] = {{CALL_E_SCOPE_NOT_ATTACHED, "its scope is not attached to the group"},
                     {CALL_E_INVALID_PROJECT_ROOT, "its folder does not exist"},
                     {CALL_E_UNSUPPORTED_RUNTIME, "its runtime is not supported"},
                     {CALL_E_MISSING_COMMAND, "it has no command"}};
        int error = obstacle(doc, actor);

        if (error == CALL_E_MISSING_PROJECT_ROOT)
                return runner_check_root(call, doc);
        if (error)
                write_obstacle(call_details(call), doc, actor, error);
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
                if (texts[i].error == error)
                        return call_fail(call, error, STR_FMT " cannot be started: %s", STR_ARG(actor->id),
                                         texts[i].text);
        return 0;
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
static int build_env(const Runner *runner, const ActorView *actor, StrVec *env) {
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

static int build_argv(const ActorView *actor, StrVec *argv) {
        int r = 0;

        json_each (word, actor->command)
                if (!r)
                        r = strvec_push(argv, json_str(word).data);
        if (!r && !argv->n)
                r = strvec_push(argv, access("/bin/bash", X_OK) ? "/bin/sh" : "/bin/bash");
        return error_trace(r);
}

static int build_meta(const Runner *runner, Buf *out) {
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

static int host(Runner *runner, const char *folder, const StrVec *argv, const StrVec *env, Str meta) {
        Daemon *daemon = runner->collab->daemon;
        _cleanup_(freep) char **argv_list = strvec_list(argv), **env_list = strvec_list(env), *object = NULL;
        HostedSpec spec = {.owner = "collab",
                           .workspace = folder,
                           .sandbox = "none",
                           .meta = meta,
                           .kind = SHIM_PTY,
                           .argv = argv_list,
                           .env = env_list,
                           .cols = RUNNER_COLS,
                           .rows = RUNNER_ROWS,
                           .n_ring = runner->collab->n_backlog};
        int r;

        if (!argv_list || !env_list || asprintf(&object, "%s/%s", runner->group_id, runner->actor_id) < 0)
                return error_origin(-ENOMEM);
        if (!daemon->host)
                return error_origin(-ENOSYS); /* a daemon that hosts nothing (fuzzers) */
        spec.object = object;
        r = host_start(daemon->host, &spec, NULL, runner, &runner->hosted);
        return r == HOST_E_WORKSPACE ? error_origin(-ENOTDIR) : error_trace(r);
}

int runner_spawn(Runner *runner, const GroupDoc *doc, const ActorView *actor) {
        StrVec argv = {0}, env = {0};
        Buf meta = BUF_NULL;
        int r = build_argv(actor, &argv);

        if (!r)
                r = build_env(runner, actor, &env);
        if (!r)
                r = build_meta(runner, &meta);
        if (!r)
                r = host(runner, runner_folder(doc, actor).data, &argv, &env, buf_str(&meta));
        strvec_deinit(&argv);
        strvec_deinit(&env);
        buf_deinit(&meta);
        return error_trace(r);
}

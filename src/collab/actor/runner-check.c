/* SPDX-License-Identifier: MIT */
/*
 * Whether an actor can be started: what is in the way, in the contract's words, and what to do about it.
 */
#include <sys/stat.h>

#include "base/error.h"
#include "collab/actor/actor.h"
#include "collab/collab.h"
#include "collab/actor/runner.h"

static Str scope_key_of(const GroupDoc *doc, const ActorView *actor) {
        return actor->default_scope_key.n ? actor->default_scope_key : doc->active_scope_key;
}

static const ScopeView *scope_of(const GroupDoc *doc, const ActorView *actor) {
        return group_doc_scope(doc, scope_key_of(doc, actor));
}

Str runner_folder(const GroupDoc *doc, const ActorView *actor) {
        const ScopeView *scope = scope_of(doc, actor);

        return scope ? scope->url : STR("");
}

static bool runner_check_is_folder(const char *path) {
        struct stat st;

        return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* CALL_E_* of what is in the way; 0: nothing is. */
static int runner_check_obstacle(const GroupDoc *doc, const ActorView *actor) {
        const ScopeView *scope = scope_of(doc, actor);

        if (!doc->active_scope_key.n)
                return CALL_E_MISSING_PROJECT_ROOT;
        if (!scope || !scope->url.n)
                return CALL_E_SCOPE_NOT_ATTACHED;
        if (!runner_check_is_folder(scope->url.data))
                return CALL_E_INVALID_PROJECT_ROOT;
        if (!actor_runtime_is_known(actor->runtime))
                return CALL_E_UNSUPPORTED_RUNTIME;
        if (str_is(actor->runtime, "custom") && str_is(actor->runner, "pty") && !json_count(actor->command))
                return CALL_E_MISSING_COMMAND;
        return 0;
}

bool runner_can_start(const GroupDoc *doc, const ActorView *actor) {
        return !runner_check_obstacle(doc, actor);
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
        int error = runner_check_obstacle(doc, actor);

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

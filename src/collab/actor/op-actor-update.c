/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/error.h"
#include "base/time.h"
#include "collab/group/actor-sandbox.h"
#include "collab/actor/actor.h"
#include "collab/collab.h"
#include "collab/group/patch.h"
#include "collab/group/group-doc.h"
#include "collab/actor/runner.h"
#include "core/secret.h"
#include "gen/cccc-ops.h"

/* The contract's, which an event always has, and behind them ours. */
static const char *const patch_keys[] = {
        "role",    "title",  "command", "env",     "default_scope_key", "submit",
        "enabled", "runner", "runtime", "sandbox", "sandbox_network",   NULL};
static const char *const event_keys[] = {"role",   "title",   "command", "env",     "default_scope_key",
                                         "submit", "enabled", "runner",  "runtime", NULL};
static const char *const own_keys[] = {"sandbox", "sandbox_network", NULL};

/* The entry as the patch makes it. */
typedef struct Patched {
        Str title, scope_key, submit, runner, runtime;
        const Json *command, *env; /* NULL: empty */
        const Json *patch;         /* for what it alone says */
        bool is_enabled;
} Patched;

static Str actor_update_text_of(Call *call, const Json *patch, const char *key, Str before) {
        const Json *value = json_get(patch, key);

        return value ? patch_text(&call->arena, value) : before;
}

/* One of the words, or null for the usual one. */
static bool actor_update_take_word(const Json *patch, const char *key, const char *usual,
                                   bool (*is_known)(Str), Str *word) {
        const Json *value = json_get(patch, key);

        if (value)
                *word = json_is(value, JSON_NULL) ? str_from(usual) : json_str(value);
        return !value || is_known(*word);
}

/* A list or object of strings, or null for an empty one. */
static bool take_strings(const Json *patch, const char *key, JsonType type, const Json **values) {
        const Json *value = json_get(patch, key);

        if (!value)
                return true;
        *values = json_is(value, type) ? value : NULL;
        json_each (item, *values)
                if (!json_is(item, JSON_STRING))
                        return false;
        return *values || json_is(value, JSON_NULL);
}

static bool lacks_command(const Patched *new) {
        return str_is(new->runtime, "custom") && !str_is(new->runner, "headless") &&
               !json_count(new->command);
}

/* NULL, or why the patch cannot be. Only what it has is looked at, in this order: a command against the
 * runtime and runner there were, a runtime against the command and runner there will be. What stays lacking
 * is found by the next start. */
static const char *merge_words(const Json *patch, Patched *new) {
        if (!take_strings(patch, "command", JSON_ARRAY, &new->command))
                return "invalid command";
        if (json_get(patch, "command") && lacks_command(new))
                return "a custom runtime needs a command";
        if (!take_strings(patch, "env", JSON_OBJECT, &new->env))
                return "invalid env";
        if (!actor_update_take_word(patch, "submit", "enter", actor_submit_is_known, &new->submit))
                return "invalid submit (must be enter, newline or none)";
        if (!actor_update_take_word(patch, "runner", "pty", actor_runner_is_known, &new->runner))
                return "invalid runner (must be pty or headless)";
        if (!actor_update_take_word(patch, "runtime", "codex", actor_runtime_is_known, &new->runtime))
                return "invalid runtime";
        if (json_get(patch, "runtime") && lacks_command(new))
                return "a custom runtime needs a command";
        return actor_sandbox_fault(patch);
}

static int actor_update_merge(Call *call, const ActorView *actor, const Json *patch, Patched *ret) {
        const Json *enabled = json_get(patch, "enabled");
        const char *fault;

        *ret = (Patched){.title = actor_update_text_of(call, patch, "title", actor->title),
                         .scope_key = actor_update_text_of(call, patch, "default_scope_key",
                                                           actor->default_scope_key),
                         .submit = actor->submit,
                         .runner = actor->runner,
                         .runtime = actor->runtime,
                         .command = actor->command,
                         .env = actor->env,
                         .patch = patch,
                         .is_enabled = enabled ? patch_truth(enabled) : actor->is_enabled};
        fault = merge_words(patch, ret);
        if (fault)
                return call_fail(call, CALL_E_ACTOR_UPDATE_FAILED, "%s", fault);
        if (!json_count(ret->command))
                ret->command = str_is(ret->runner, "headless")
                                       ? json_new(&call->arena, JSON_ARRAY)
                                       : actor_default_command(&call->arena, ret->runtime);
        if (!ret->env)
                ret->env = json_new(&call->arena, JSON_OBJECT);
        else if (json_get(patch, "env"))
                ret->env = secret_restore_env(&call->daemon->config, &call->arena, ret->env, actor->env);
        return ret->command && ret->env ? 0 : error_origin(-ENOMEM);
}

static int actor_update_apply(GroupDoc *doc, Str id, const Patched *new, Str now) {
        Json *entry = group_doc_actor(doc, id)->json;
        Document *document = doc->document;
        int r = document_set_str(document, entry, "title", new->title);

        r = r ? r : document_set(document, entry, "command", new->command);
        r = r ? r : document_set(document, entry, "env", new->env);
        r = r ? r : document_set_str(document, entry, "default_scope_key", new->scope_key);
        r = r ? r : document_set_str(document, entry, "submit", new->submit);
        r = r ? r : document_set_bool(document, entry, "enabled", new->is_enabled);
        r = r ? r : document_set_str(document, entry, "runner", new->runner);
        r = r ? r : document_set_str(document, entry, "runtime", new->runtime);
        r = r ? r : actor_sandbox_apply(document, entry, new->patch);
        r = r ? r : document_set_str(document, entry, "updated_at", now);
        return error_trace(r ? r : group_doc_view(doc));
}

/* The patch for the ledger, where secrets do not belong. NULL without memory. */
static Json *shown_patch(Call *call, const Json *patch) {
        Json *shown = json_clone(&call->arena, patch), *env = json_get(patch, "env");

        if (!shown || !env)
                return shown;
        env = secret_redact_env(&call->daemon->config, &call->arena, env);
        return env && !json_set(&call->arena, shown, STR("env"), env) ? shown : NULL;
}

static void actor_update_write_event(GroupChange *change, const CcccActorUpdateArgs *args,
                                     const Json *patch) {
        JsonWriter *w = group_change_event(change, "actor.update", args->by, STR(""));

        jw_begin_object(w);
        jw_field_str(w, "actor_id", args->actor_id);
        patch_write(w, "patch", patch, event_keys, own_keys);
        jw_end_object(w);
}

static int actor_update_check(Call *call, const GroupDoc *doc, const CcccActorUpdateArgs *args,
                              Patched *ret) {
        const ActorView *actor = group_doc_actor(doc, args->actor_id);
        int r = patch_check(call, args->patch, patch_keys);

        if (!r)
                r = group_require(call, doc, args->by, ROLE_USER, STR_NULL, "actor.update",
                                  CALL_E_ACTOR_UPDATE_FAILED);
        if (r)
                return r;
        if (!actor)
                return call_fail(call, CALL_E_ACTOR_UPDATE_FAILED, "actor not found: " STR_FMT,
                                 STR_ARG(args->actor_id));
        return actor_update_merge(call, actor, args->patch, ret);
}

/* ---- switching on and off --------------------------------------------------------------------- */

/* What a reply needs after a start that followed the change. */
typedef struct Updated {
        Carry carry;
        Str actor_id, event;
} Updated;

static int actor_update_reply_started(Call *call, Group *group, const Carry *carry) {
        const Updated *self = container_of(carry, Updated, carry);
        const ActorView *actor = group_doc_actor(group->doc, self->actor_id);
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        if (actor) {
                jw_key(w, "actor");
                actor_write(group, actor, w);
        }
        jw_key(w, "event");
        jw_raw(w, self->event);
        jw_end_object(w);
        return 0;
}

static int actor_update_start(Call *call, Group *group, const Carry *carry) {
        const Updated *self = container_of(carry, Updated, carry);

        return runner_call_start(call, group, &self->actor_id, 1, CALL_E_ACTOR_UPDATE_FAILED,
                                 actor_update_reply_started, &self->carry);
}

/* Switched on in a running group: the reply waits for the start. */
static void kept(Call *call, GroupChange *change) {
        Updated *self = arena_alloc(&call->arena, sizeof(*self));
        int r = error_origin(-ENOMEM);

        change->call = NULL; /* it goes on */
        if (self) {
                *self = (Updated){.actor_id = change->word,
                                  .event = arena_str(&call->arena, change->events[0].line)};
                r = self->event.data ? collab_call(call, str_from(change->group->id), actor_update_start,
                                                   &self->carry)
                                     : r;
        }
        if (r != CALL_LATER)
                call_finish(call, r);
}

static int actor_update_update(Call *call, Group *group, const Carry *carry) {
        const CcccActorUpdateArgs *args = container_of(carry, CcccActorUpdateArgs, carry);
        char now[TIME_TEXT_MAX];
        GroupChange *change;
        GroupDoc *doc;
        Patched new = {0};
        bool is_start;
        int r = actor_update_check(call, group->doc, args, &new);
        const Json *shown = r ? NULL : shown_patch(call, args->patch);

        if (r)
                return r;
        if (!shown)
                return error_origin(-ENOMEM);
        change = group_change_begin(group, call, CALL_E_ACTOR_UPDATE_FAILED);
        doc = group_change_doc(change);
        time_format_us(loop_wall_us(call->daemon->loop), now);
        if (!doc || !change_try(change, actor_update_apply(doc, args->actor_id, &new, str_from(now))))
                return group_change_abort(change);
        is_start = json_get(args->patch, "enabled") && new.is_enabled && doc->is_running;
        r = is_start ? runner_check(call, doc, group_doc_actor(doc, args->actor_id)) : 0;
        if (r) {
                (void)group_change_abort(change);
                return r;
        }
        actor_change_running(change);
        actor_update_write_event(change, args, shown);
        change->word = args->actor_id;
        return group_change_commit(change, is_start ? kept : actor_change_reply);
}

static int then_update(Call *call, Group *group, const Carry *carry) {
        return collab_edit(call, str_from(group->id), actor_update_update, carry);
}

/* An actor that the patch switches off is ended first. */
int op_cccc_actor_update(Call *call, Group *group, const CcccActorUpdateArgs *args) {
        Patched new = {0};
        int r = actor_check_sizes(call, json_get(args->patch, "command"), json_get(args->patch, "env"));

        r = r ? r : actor_update_check(call, group->doc, args, &new);
        if (r)
                return r;
        if (json_get(args->patch, "enabled") && !new.is_enabled)
                return runner_call_stop(call, group, args->actor_id, then_update, &args->carry);
        return then_update(call, group, &args->carry);
}

/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/error.h"
#include "base/time.h"
#include "collab/actor/actor.h"
#include "collab/actor/runner.h"
#include "collab/collab.h"
#include "collab/group/actor-sandbox.h"
#include "collab/group/group-doc.h"
#include "collab/parts.h"
#include "core/secret.h"
#include "gen/cccc-ops.h"

/* What the new actor will be: the arguments, filled up. */
typedef struct NewActor {
        Str id, title, runtime, runner, submit, scope_key, by;
        Json *command, *env, *sandbox; /* sandbox: an object with what is said of it */
} NewActor;

static int actor_add_refuse(Call *call, const char *why) {
        return call_fail(call, CALL_E_ACTOR_ADD_FAILED, "%s", why);
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* An actor may only make strict copies of itself: what is not given is taken over, what is given must be the
 * same. */
static int clone_foreman(Call *call, const GroupDoc *doc, NewActor *new) {
        const ActorView *foreman = group_foreman(doc);

        if (!str_eq(new->runtime, foreman->runtime) || !str_eq(new->runner, foreman->runner))
                return actor_add_refuse(call, "a foreman can only add actors of its own runtime and runner");
        if (json_count(new->command) && !json_equal(new->command, foreman->command))
                return actor_add_refuse(call, "a foreman can only add actors with its own command");
        if (json_count(new->env) && !json_equal(new->env, foreman->env))
                return actor_add_refuse(call, "a foreman can only add actors with its own env");
        if (!actor_sandbox_is_same(new->sandbox, doc, foreman))
                return actor_add_refuse(call, "a foreman can only add actors with its own sandbox");
        new->sandbox = foreman->json;
        new->command = actor_strings(&call->arena, foreman->command);
        new->env = actor_env(&call->arena, foreman->env);
        return new->command &&new->env ? 0 : error_origin(-ENOMEM);
}

static int restore_env(Call *call, NewActor *new, const Json *stored) {
        new->env = secret_restore_env(&call->daemon->config, &call->arena, new->env, stored);
        return new->env ? 0 : error_origin(-ENOMEM);
}

static int check_id(Call *call, const GroupDoc *doc, NewActor *new) {
        const char *fault;

        if (!new->id.n)
                new->id = actor_free_id(&call->arena, doc, new->runtime);
        fault = actor_id_fault(new->id);
        if (fault)
                return actor_add_refuse(call, fault);
        if (actor_id_is_reserved(new->id))
                return call_fail(call, CALL_E_ACTOR_ADD_FAILED,
                                 "'" STR_FMT "' is reserved; choose another name", STR_ARG(new->id));
        if (group_doc_actor(doc, new->id))
                return call_fail(call, CALL_E_ACTOR_ADD_FAILED,
                                 "there is an actor " STR_FMT " already; choose another name",
                                 STR_ARG(new->id));
        return 0;
}

static int complete(Call *call, const GroupDoc *doc, NewActor *new) {
        const char *fault;
        int r = group_require(call, doc, new->by, ROLE_FOREMAN, STR_NULL, "actor.add",
                              CALL_E_ACTOR_ADD_FAILED);

        if (r)
                return r;
        if (!actor_runtime_is_known(new->runtime))
                return actor_add_refuse(call, "invalid runtime");
        r = check_id(call, doc, new);
        if (!r && group_doc_actor(doc, new->by)) /* it may send what it was shown of itself */
                r = restore_env(call, new, group_foreman(doc)->env);
        else if (!r)
                r = restore_env(call, new, NULL);
        if (!r && group_doc_actor(doc, new->by))
                r = clone_foreman(call, doc, new);
        if (r)
                return r;
        if (!json_count(new->command))
                new->command = actor_default_command(&call->arena, new->runtime);
        fault = actor_fault(new->runtime, new->runner, new->submit, new->command);
        fault = fault ? fault : actor_sandbox_fault(new->sandbox);
        if (fault)
                return actor_add_refuse(call, fault);
        return new->command ? 0 : error_origin(-ENOMEM);
}

/* ---- the change ------------------------------------------------------------------------------ */

static int actor_add_fill(Document *document, Json *entry, const NewActor *new, Str now) {
        const struct {
                const char *key;
                Str text;
        } texts[] = {{"submit", new->submit}, {"runner", new->runner}, {"runtime", new->runtime}};
        int r = document_set_int(document, entry, "v", 1);

        r = r ? r : document_set_str(document, entry, "id", new->id);
        r = r ? r : document_set_str(document, entry, "title", new->title);
        r = r ? r : document_set(document, entry, "command", new->command);
        r = r ? r : document_set(document, entry, "env", new->env);
        r = r ? r : document_set_str(document, entry, "default_scope_key", new->scope_key);
        r = r ? r : document_set_str(document, entry, "submit", texts[0].text);
        r = r ? r : document_set_bool(document, entry, "enabled", true);
        for (size_t i = 1; !r && i < ARRAY_SIZE(texts); i++)
                r = document_set_str(document, entry, texts[i].key, texts[i].text);
        r = r ? r : document_set_str(document, entry, "created_at", now);
        r = r ? r : document_set_str(document, entry, "updated_at", now);
        return error_trace(r ? r : actor_sandbox_apply(document, entry, new->sandbox));
}

static int actor_add_put(GroupDoc *doc, const NewActor *new, Str now) {
        Json *list = group_doc_list(doc, "actors"), *entry = json_new(&doc->document->arena, JSON_OBJECT);
        int r = list && entry ? actor_add_fill(doc->document, entry, new, now) : error_origin(-ENOMEM);

        if (!r)
                r = json_push(list, entry);
        return error_trace(r ? r : group_doc_view(doc));
}

static int take_sandbox(Call *call, const CcccActorAddArgs *args, NewActor *new) {
        Arena *arena = &call->arena;
        int r;

        new->sandbox = json_new(arena, JSON_OBJECT);
        r = new->sandbox ? 0 : error_origin(-ENOMEM);
        if (!r && args->sandbox)
                r = json_set(arena, new->sandbox, STR("sandbox"), json_clone(arena, args->sandbox));
        if (!r && args->sandbox_network)
                r = json_set(arena, new->sandbox, STR("sandbox_network"),
                             json_clone(arena, args->sandbox_network));
        return error_trace(r);
}

int op_cccc_actor_add_first(Call *call, const CcccActorAddArgs *args) {
        int r = actor_check_sizes(call, args->command, args->env);

        return r ? r : caller_env_take(call, args->group_id, args->actor_id, args->caller_env);
}

int op_cccc_actor_add(Call *call, Group *group, const CcccActorAddArgs *args) {
        NewActor new = {.id = args->actor_id,
                        .title = args->title.data ? args->title : STR(""),
                        .runtime = args->runtime,
                        .runner = args->runner,
                        .submit = args->submit,
                        .scope_key = args->default_scope_key.data ? args->default_scope_key : STR(""),
                        .by = args->by,
                        .command = actor_strings(&call->arena, args->command),
                        .env = actor_env(&call->arena, args->env)};
        int r = new.command &&new.env ? take_sandbox(call, args, &new) : error_origin(-ENOMEM);
        char now[TIME_TEXT_MAX];
        GroupChange *change;
        GroupDoc *doc;

        r = r ? r : complete(call, group->doc, &new);
        if (r)
                return r;
        change = group_change_begin(group, call, CALL_E_ACTOR_ADD_FAILED);
        doc = group_change_doc(change);
        time_format_us(loop_wall_us(call->daemon->loop), now);
        if (!doc || !change_try(change, actor_add_put(doc, &new, str_from(now))))
                return group_change_abort(change);
        actor_write_added(&call->daemon->config, doc, group_doc_actor(doc, new.id),
                          group_change_event(change, "actor.add", new.by, STR("")));
        group_change_cursor(change, new.id, str_from(group_change_last(change)->id),
                            str_from(group_change_last(change)->ts));
        change->word = new.id;
        return group_change_commit(change, actor_change_reply);
}

static size_t unread(const Group *group, Str actor) {
        for (const CollabPart *const *part = collab_parts; *part; part++)
                if ((*part)->unread)
                        return (*part)->unread(group, actor);
        return 0;
}

int op_cccc_actor_list(Call *call, Group *group, const CcccActorListArgs *args) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_key(w, "actors");
        jw_begin_array(w);
        for (size_t i = 0; i < group->doc->n_actors; i++) {
                const ActorView *actor = &group->doc->actors[i];
                jw_begin_object(w);
                actor_write_members(group, actor, w);
                jw_field_bool(w, "running", group_actor_is_running(group, actor->id));
                if (args->include_unread)
                        jw_field_uint(w, "unread_count", unread(group, actor->id));
                jw_end_object(w);
        }
        jw_end_array(w);
        jw_end_object(w);
        return 0;
}

/* ---- actor_remove ---------------------------------------------------------------------------- */

static void actor_remove_reply(Call *call, GroupChange *change) {
        JsonWriter *w = call_result(call);

        runners_end_unlisted(change->group);
        jw_begin_object(w);
        jw_field_str(w, "actor_id", change->word);
        group_change_write_event(change, w, "event", 0);
        jw_end_object(w);
}

static int actor_remove_check(Call *call, const GroupDoc *doc, const CcccActorRemoveArgs *args) {
        int r = group_require(call, doc, args->by, ROLE_SELF, args->actor_id, "actor.remove",
                              CALL_E_ACTOR_REMOVE_FAILED);

        if (!r && !group_doc_actor(doc, args->actor_id))
                r = call_fail(call, CALL_E_ACTOR_REMOVE_FAILED, "actor not found: " STR_FMT,
                              STR_ARG(args->actor_id));
        return r;
}

static int actor_remove_drop(Call *call, Group *group, const Carry *carry) {
        const CcccActorRemoveArgs *args = container_of(carry, CcccActorRemoveArgs, carry);
        GroupChange *change;
        GroupDoc *doc;
        int r = actor_remove_check(call, group->doc, args);

        if (r)
                return r;
        change = group_change_begin(group, call, CALL_E_ACTOR_REMOVE_FAILED);
        doc = group_change_doc(change);
        if (!doc)
                return group_change_abort(change);
        (void)group_doc_list_remove(doc, "actors", "id", args->actor_id);
        change_try(change, group_doc_view(doc));
        actor_change_running(change);
        actor_change_event(change, "actor.remove", args->by, args->actor_id, STR_NULL);
        change->word = args->actor_id;
        return group_change_commit(change, actor_remove_reply);
}

/* What runs is ended first, so that nobody is left whom the document does not know. */
static int ended(Call *call, Group *group, const Carry *carry) {
        return collab_edit(call, str_from(group->id), actor_remove_drop, carry);
}

int op_cccc_actor_remove_lost(Call *call, const CcccActorRemoveArgs *args) {
        return runner_call_lost_actor(call, args->group_id, args->actor_id, args->by);
}

int op_cccc_actor_remove(Call *call, Group *group, const CcccActorRemoveArgs *args) {
        int r;

        if (args->actor_id.n && !group_doc_actor(group->doc, args->actor_id))
                return runner_call_lost(call, str_from(group->id), args->actor_id, args->by,
                                        CALL_E_ACTOR_REMOVE_FAILED);
        r = actor_remove_check(call, group->doc, args);
        return r ? r : runner_call_stop(call, group, args->actor_id, ended, &args->carry);
}

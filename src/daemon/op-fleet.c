/* SPDX-License-Identifier: MIT */
/*
 * fleet.find, kill, restart, start, send: what a word means, and verbs that its owner carries out by the rules of its
 * contract, whoever asks. What looks at it or types into it is in op-fleet-look.c.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "core/daemon.h"
#include "core/environment.h"
#include "core/fleet/inner.h"
#include "core/runtimes.h"
#include "core/usage/agent-account.h"
#include "core/usage/hold.h"
#include "daemon/fleet-owners.h"
#include "gen/coop-ops.h"
#include "gen/native-ops.h"
#include "sessions/sessions.h"
#include "tasks/project.h"

/* ---- what they share ------------------------------------------------------------------------- */

int fleet_refuse_verb(Call *call, const char *verb, const FleetThing *thing) {
        const char *hint = thing->owner ? thing->owner->hint : NULL;

        return call_fail(call, CALL_E_DOES_NOT_FIT, "%s does not fit " STR_FMT "%s%s", verb,
                         STR_ARG(thing->name.n ? thing->name : str_from(thing->id)), hint ? ": " : "",
                         hint ? hint : "");
}

int fleet_require_hosted(Call *call, const FleetThing *thing, Hosted **ret) {
        *ret = call->daemon->host && *thing->id ? host_find(call->daemon->host, str_from(thing->id)) : NULL;
        if (*ret && ((*ret)->state == HOSTED_RUNNING || (*ret)->state == HOSTED_ENDED))
                return 0;
        return call_fail(call, CALL_E_UNAVAILABLE, STR_FMT " does not run", STR_ARG(thing->name));
}

void fleet_write_members(JsonWriter *w, const FleetThing *thing) {
        jw_field_str(w, "name", thing->name.n ? thing->name : str_from(thing->id));
        jw_field_cstr(w, "kind", thing->owner ? thing->owner->kind : "process");
        if (*thing->id)
                jw_field_cstr(w, "id", thing->id);
}

/* ---- find ------------------------------------------------------------------------------------ */

static int fleet_tell(Call *call, const FleetThing *thing, _unused_ const Carry *carry) {
        const Hosted *hosted =
                call->daemon->host && *thing->id ? host_find(call->daemon->host, str_from(thing->id)) : NULL;
        JsonWriter *w;

        if (!thing->name.n || !thing->owner)
                return call_fail(call, CALL_E_NAME_NOT_FOUND, "what runs as %s has no name", thing->id);
        w = call_result(call);
        jw_begin_object(w);
        fleet_write_members(w, thing);
        if (hosted) {
                jw_field_cstr(w, "state", hosted_state_name(hosted));
                jw_field_bool(w, "terminal", hosted->kind == SHIM_PTY);
        }
        jw_field_str(w, "place", thing->place);
        jw_field_str(w, "object", thing->object);
        if (thing->owner == &fleet_session)
                jw_field_uint(w, "number", thing->number);
        if (thing->alias.n)
                jw_field_str(w, "alias", thing->alias);
        jw_end_object(w);
        return 0;
}

/* What has no process: its answer is like that of the others. */
static int fleet_tell_other(Call *call, const char *kind, Str id, Str folder) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_str(w, "name", arena_printf(&call->arena, "%s:" STR_FMT, kind, STR_ARG(id)));
        jw_field_cstr(w, "kind", kind);
        jw_field_str(w, "place", folder);
        jw_field_str(w, "object", id);
        jw_end_object(w);
        return 0;
}

static int fleet_find_project(Call *call, Str name) {
        for (const Project *p = project_next(call->daemon, NULL); p; p = project_next(call->daemon, p)) {
                Str own = project_name(call->daemon, &call->arena, p->dir);

                if (!own.data)
                        return error_origin(-ENOMEM);
                if (str_eq(own, name))
                        return fleet_tell_other(call, "project", own, str_from(p->dir));
        }
        return call_fail(call, CALL_E_NAME_NOT_FOUND, "no project here is called " STR_FMT, STR_ARG(name));
}

static int fleet_find_group(Call *inner, const Carry *carry) {
        const NativeFleetFindArgs *args = container_of(carry, NativeFleetFindArgs, carry);
        NativeGroupFindArgs *find = arena_alloc(&inner->arena, sizeof(*find));

        if (!find)
                return error_origin(-ENOMEM);
        *find = (NativeGroupFindArgs){.group = (Str){args->name.data + 6, args->name.n - 6}};
        return op_native_group_find(inner, find);
}

static int fleet_found_group(Call *call, const Call *inner, _unused_ const Carry *carry) {
        Str text = arena_str(&call->arena, inner_result(inner));
        Json *group = NULL;

        if (inner->error)
                return inner_fail(call, inner);
        if (!text.data || json_parse(&call->arena, text.data, text.n, NULL, &group, NULL))
                return error_origin(-ENOMEM);
        return fleet_tell_other(call, "group", json_text_of(group, "group_id"),
                                json_text_of(group, "folder"));
}

static int fleet_find_here(Call *call, Str folder) {
        FleetThing thing;
        int r = fleet_session_at(call->daemon, &call->arena, folder, &thing);

        if (r)
                return error_trace(r);
        if (!thing.name.n)
                return call_fail(call, CALL_E_NAME_NOT_FOUND, "no session works in " STR_FMT " or above it",
                                 STR_ARG(folder));
        return fleet_tell(call, &thing, NULL);
}

int op_native_fleet_find(Call *call, const NativeFleetFindArgs *args) {
        Str name = args->name;

        if (!name.n && !args->path.n)
                return call_fail(call, CALL_E_INVALID_PARAMS, "name or path is required");
        if (!name.n)
                return fleet_find_here(call, args->path);
        if (str_starts(name, STR("group:")))
                return call_inner(call, fleet_find_group, fleet_found_group, &args->carry);
        if (str_starts(name, STR("project:")))
                return fleet_find_project(call, (Str){name.data + 8, name.n - 8});
        return fleet_call(call, name, args->path, fleet_tell, NULL);
}

/* ---- verbs of the owner ---------------------------------------------------------------------- */

typedef struct FleetAct { /* in the call's arena */
        Carry carry;
        const char *verb;
        FleetThing thing;
        Str by;
        bool is_forced;
        const Json *env;
        FleetMessage message;
} FleetAct;

static int fleet_act(Call *call, const FleetAct *act, const FleetThing *thing, InnerRun run,
                     InnerThen then) {
        FleetAct *own = arena_alloc(&call->arena, sizeof(*own));

        if (!own)
                return error_origin(-ENOMEM);
        *own = *act;
        own->thing = *thing;
        return call_inner(call, run, then, &own->carry);
}

/* What the owner has answered, as a tree; NULL: nothing that helps. */
static const Json *fleet_answer(Call *call, const Call *inner) {
        Str text = arena_str(&call->arena, inner_result(inner));
        Json *answer = NULL;

        return text.n && !json_parse(&call->arena, text.data, text.n, NULL, &answer, NULL) ? answer : NULL;
}

/* Its process is another one now, or the same. */
static void fleet_write_now(Call *call, JsonWriter *w, const FleetThing *thing) {
        FleetSearch search;
        FleetThing now = *thing;

        if (!fleet_search(call->daemon, &call->arena, thing->name, &search) && search.n_found == 1)
                memcpy(now.id, search.found->id, sizeof(now.id));
        fleet_write_members(w, &now);
}

/* A task that was submitted again is another one. */
static int fleet_begun(Call *call, const Call *inner, const Carry *carry) {
        const FleetAct *act = container_of(carry, FleetAct, carry);
        const Json *answer;
        Str task;
        int64_t pid;
        JsonWriter *w;

        if (inner->error)
                return inner_fail(call, inner);
        answer = fleet_answer(call, inner);
        task = json_text_of(answer, "taskId");
        w = call_result(call);
        jw_begin_object(w);
        fleet_write_now(call, w, &act->thing);
        if (json_int64(json_get(answer, "pid"), &pid))
                jw_field_int(w, "pid", pid);
        if (task.n)
                jw_field_str(w, "task", task);
        jw_end_object(w);
        return 0;
}

/* ---- kill ------------------------------------------------------------------------------------ */

static int fleet_kill_run(Call *inner, const Carry *carry) {
        const FleetAct *act = container_of(carry, FleetAct, carry);

        return act->thing.owner->kill(inner, &act->thing, act->by, act->is_forced);
}

/* Also an actor whose group is gone: the contract says so after it has ended it. */
static bool fleet_is_ending(const Call *call, const FleetThing *thing) {
        const Hosted *hosted = *thing->id ? host_find(call->daemon->host, str_from(thing->id)) : NULL;

        return *thing->id && (!hosted || hosted->is_killed || hosted->is_stopped);
}

static int fleet_kill_tell(Call *call, const FleetThing *thing) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        fleet_write_members(w, thing);
        jw_end_object(w);
        return 0;
}

static int fleet_killed(Call *call, const Call *inner, const Carry *carry) {
        const FleetAct *act = container_of(carry, FleetAct, carry);

        if (inner->error && !fleet_is_ending(call, &act->thing))
                return inner_fail(call, inner);
        return fleet_kill_tell(call, &act->thing);
}

static int fleet_kill_found(Call *call, const FleetThing *thing, const Carry *carry) {
        const NativeFleetKillArgs *args = container_of(carry, NativeFleetKillArgs, carry);
        Hosted *hosted =
                call->daemon->host && *thing->id ? host_find(call->daemon->host, str_from(thing->id)) : NULL;

        if (hosted && !hosted->handler) { /* no domain of this daemon looks after it */
                process_end(hosted, args->force);
                return fleet_kill_tell(call, thing);
        }
        if (!thing->owner || !thing->owner->kill)
                return fleet_refuse_verb(call, "kill", thing);
        return fleet_act(call, &(FleetAct){.by = args->by, .is_forced = args->force}, thing, fleet_kill_run,
                         fleet_killed);
}

int op_native_fleet_kill(Call *call, const NativeFleetKillArgs *args) {
        return fleet_call(call, args->name, STR_NULL, fleet_kill_found, &args->carry);
}

/* ---- restart, start -------------------------------------------------------------------------- */

static int fleet_restart_run(Call *inner, const Carry *carry) {
        const FleetAct *act = container_of(carry, FleetAct, carry);

        return act->thing.owner->restart(inner, &act->thing, act->by, act->env);
}

static int fleet_restart_found(Call *call, const FleetThing *thing, const Carry *carry) {
        const NativeFleetRestartArgs *args = container_of(carry, NativeFleetRestartArgs, carry);

        if (!thing->owner || !thing->owner->restart)
                return fleet_refuse_verb(call, "restart", thing);
        return fleet_act(call, &(FleetAct){.by = args->by, .env = args->env}, thing, fleet_restart_run,
                         fleet_begun);
}

int op_native_fleet_restart(Call *call, const NativeFleetRestartArgs *args) {
        return fleet_call(call, args->name, STR_NULL, fleet_restart_found, &args->carry);
}

static int fleet_start_run(Call *inner, const Carry *carry) {
        const FleetAct *act = container_of(carry, FleetAct, carry);

        return act->thing.owner->start(inner, &act->thing, act->by, act->env);
}

/* 0, or the call has failed: a budget is used up, or a limit of the account is reached, and nothing new begins. */
static int fleet_start_may(Call *call, const FleetThing *thing) {
        return hold_call(call, thing->name, *thing->id ? thing->id : NULL, STR_NULL);
}

static int fleet_start_found(Call *call, const FleetThing *thing, const Carry *carry) {
        const NativeFleetStartArgs *args = container_of(carry, NativeFleetStartArgs, carry);
        const Hosted *hosted =
                call->daemon->host && *thing->id ? host_find(call->daemon->host, str_from(thing->id)) : NULL;
        int r;

        if (!thing->owner || !thing->owner->start)
                return fleet_refuse_verb(call, "start", thing);
        if (hosted && (hosted->state == HOSTED_STARTING || hosted->state == HOSTED_RUNNING))
                return fleet_kill_tell(call, thing); /* it runs */
        r = fleet_start_may(call, thing);
        if (r)
                return r;
        return fleet_act(call, &(FleetAct){.by = args->by, .env = args->env}, thing, fleet_start_run,
                         fleet_begun);
}

/* ---- a new session --------------------------------------------------------------------------- */

/* Strings of JSON are strings of TOML but for DEL, which no program's name needs. */
static int fleet_start_coopfile(const NativeFleetStartArgs *args, Buf *out) {
        JsonWriter w = JSON_WRITER(out);
        int r = buf_append_str(out, STR("[agent]\ncommand = "));

        jw_str(&w, args->command.items[0]);
        r = r ? r : buf_append_str(out, STR("\nargs = "));
        w = JSON_WRITER(out);
        jw_begin_array(&w);
        for (size_t i = 1; i < args->command.n; i++)
                jw_str(&w, args->command.items[i]);
        jw_end_array(&w);
        r = r ? r : buf_append_str(out, STR("\n[session]\nend_on_success = true\n"));
        if (!r && args->sandbox.n)
                r = buf_printf(out, "[sandbox]\nmode = \"" STR_FMT "\"\n", STR_ARG(args->sandbox));
        return r || w.failed ? error_origin(-ENOMEM) : 0;
}

static int fleet_create_run(Call *inner, const Carry *carry) {
        const NativeFleetStartArgs *args = container_of(carry, NativeFleetStartArgs, carry);
        CoopCreateArgs *create = arena_alloc(&inner->arena, sizeof(*create));
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        int r = create ? fleet_start_coopfile(args, &text) : error_origin(-ENOMEM);

        if (r)
                return r;
        *create = (CoopCreateArgs){.workspace = args->workspace,
                                   .name = args->name.n ? args->name : STR_NULL,
                                   .coopfile = arena_str(&inner->arena, buf_str(&text)),
                                   .caller_env = args->env,
                                   .beside = args->name.n > 0,
                                   .replace = true};
        return create->coopfile.data ? op_coop_create(inner, create) : error_origin(-ENOMEM);
}

static int fleet_created(Call *call, const Call *inner, _unused_ const Carry *carry) {
        FleetSearch search;
        const Json *answer;
        int64_t pid = 0;
        Str name;
        JsonWriter *w;

        if (inner->error)
                return inner_fail(call, inner);
        answer = fleet_answer(call, inner);
        name = arena_printf(&call->arena, "session:" STR_FMT, STR_ARG(json_text_of(answer, "session")));
        if (fleet_search(call->daemon, &call->arena, name, &search) || search.n_found != 1)
                return call_fail(call, CALL_E_UNAVAILABLE, "it has ended already");
        (void)json_int64(json_get(answer, "pid"), &pid);
        w = call_result(call);
        jw_begin_object(w);
        fleet_write_members(w, search.found);
        jw_field_int(w, "pid", pid);
        jw_end_object(w);
        return 0;
}

/* The same of a new session, by the account that its program will have. */
static int fleet_create_may(Call *call, const NativeFleetStartArgs *args) {
        _cleanup_(strvec_deinit) StrVec env = {0}, caller = {0};
        _cleanup_(freep) char *account = NULL;
        Str name = arena_printf(&call->arena, "session:" STR_FMT, STR_ARG(args->name));

        if (!hold_is_any(call->daemon))
                return 0;
        if (!environment_put_json(&caller, args->env) && !program_env_base(&env) &&
            !program_env_over(&env, call->daemon, &caller))
                account = account_of_list(str_from(runtime_of_command(args->command.items[0])->name), &env);
        return hold_call(call, name, NULL, str_from(account));
}

int op_native_fleet_start(Call *call, const NativeFleetStartArgs *args) {
        if (args->command.n && !args->workspace.n)
                return call_fail(call, CALL_E_INVALID_PARAMS, "workspace is required with a command");
        if (args->command.n) {
                int r = fleet_create_may(call, args);

                if (r)
                        return r;
        }
        if (args->command.n)
                return call->daemon->sessions
                               ? call_inner(call, fleet_create_run, fleet_created, &args->carry)
                               : call_fail(call, CALL_E_UNAVAILABLE, "this daemon has no sessions");
        if (!args->name.n)
                return call_fail(call, CALL_E_INVALID_PARAMS, "name or command is required");
        return fleet_call(call, args->name, STR_NULL, fleet_start_found, &args->carry);
}

/* ---- send ------------------------------------------------------------------------------------ */

static int fleet_send_run(Call *inner, const Carry *carry) {
        const FleetAct *act = container_of(carry, FleetAct, carry);

        return act->thing.owner->send(inner, &act->thing, &act->message);
}

static int fleet_sent(Call *call, const Call *inner, const Carry *carry) {
        const FleetAct *act = container_of(carry, FleetAct, carry);
        const Json *answer;
        Str event, task;
        JsonWriter *w;

        if (inner->error)
                return inner_fail(call, inner);
        answer = fleet_answer(call, inner);
        event = json_text_of(json_get(answer, "event"), "id");
        task = json_text_of(answer, "taskId");
        w = call_result(call);
        jw_begin_object(w);
        jw_field_str(w, "name", act->thing.name);
        jw_field_cstr(w, "kind", act->thing.owner->kind);
        jw_field_cstr(w, "outcome", event.n ? "stored" : task.n ? "queued" : "typed");
        if (event.n)
                jw_field_str(w, "event_id", event);
        if (task.n)
                jw_field_str(w, "task", task);
        jw_end_object(w);
        return 0;
}

static int fleet_send_found(Call *call, const FleetThing *thing, const Carry *carry) {
        const NativeFleetSendArgs *args = container_of(carry, NativeFleetSendArgs, carry);
        const FleetAct act = {.message = {.text = args->text,
                                          .by = args->by,
                                          .priority = args->priority,
                                          .key = args->client_id,
                                          .env = args->env}};
        int r;

        if (!thing->owner || !thing->owner->send)
                return fleet_refuse_verb(call, "send", thing);
        r = principal_require(call, thing->owner->send_right, thing->name);
        return r ? r : fleet_act(call, &act, thing, fleet_send_run, fleet_sent);
}

int op_native_fleet_send(Call *call, const NativeFleetSendArgs *args) {
        return fleet_call(call, args->name, STR_NULL, fleet_send_found, &args->carry);
}

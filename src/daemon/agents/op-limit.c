/* SPDX-License-Identifier: MIT */
/* limit.ls, resume, ignore: limits of agents' accounts (core/limits/limits.h). A change is answered when it is kept. */
#include "core/daemon.h"
#include "core/fleet/fleet.h"
#include "core/limits/limits.h"
#include "gen/native-ops.h"

static int limit_require(Call *call) {
        return call->daemon->limits ? 0 : call_fail(call, CALL_E_UNAVAILABLE, "this daemon hosts nothing");
}

int op_native_limit_ls(Call *call, _unused_ const NativeLimitLsArgs *args) {
        int r = limit_require(call);
        JsonWriter *w;

        if (r)
                return r;
        w = call_result(call);
        jw_begin_object(w);
        limits_write(call->daemon->limits, w);
        jw_end_object(w);
        return 0;
}

/* 0, or the call has failed. */
static int limit_require_account(Call *call, Str account) {
        int r = limit_require(call);

        if (!r && !limits_knows(call->daemon->limits, account))
                r = call_fail(call, CALL_E_LIMIT_NOT_FOUND,
                              "no limit of this account is known: muster limit ls");
        return r;
}

static int limit_ignored(Call *call, const Carry *carry) {
        const NativeLimitIgnoreArgs *args = container_of(carry, NativeLimitIgnoreArgs, carry);
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_str(w, "account", args->account);
        jw_field_bool(w, "ignored", true);
        jw_end_object(w);
        return 0;
}

int op_native_limit_ignore(Call *call, const NativeLimitIgnoreArgs *args) {
        int r = limit_require_account(call, args->account);

        return r ? r : limits_call_ignore(call, args->account, limit_ignored, &args->carry);
}

static int limit_resumed(Call *call, const Carry *carry) {
        const NativeLimitResumeArgs *args = container_of(carry, NativeLimitResumeArgs, carry);
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_bool(w, "resumed", true);
        if (args->account.n)
                jw_field_str(w, "account", args->account);
        else
                jw_field_str(w, "name", args->name);
        jw_end_object(w);
        return 0;
}

static int limit_resume_found(Call *call, const FleetThing *thing, const Carry *carry) {
        const Hosted *hosted =
                *thing->id && call->daemon->host ? host_find(call->daemon->host, str_from(thing->id)) : NULL;

        if (!hosted)
                return call_fail(call, CALL_E_DOES_NOT_FIT, STR_FMT " has no process now",
                                 STR_ARG(thing->name));
        return limits_call_resume_agent(call, hosted, limit_resumed, carry);
}

int op_native_limit_resume(Call *call, const NativeLimitResumeArgs *args) {
        int r = limit_require(call);

        if (r)
                return r;
        if (!args->account.n == !args->name.n)
                return call_fail(call, CALL_E_INVALID_PARAMS, "either account or name is required");
        if (args->name.n)
                return fleet_call(call, args->name, STR_NULL, limit_resume_found, &args->carry);
        r = limit_require_account(call, args->account);
        return r ? r : limits_call_resume(call, args->account, limit_resumed, &args->carry);
}

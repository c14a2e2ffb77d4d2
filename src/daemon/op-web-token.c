/* SPDX-License-Identifier: MIT */
/*
 * token.ls, token.create, token.revoke: who may come in over the web. A token is told once, in the answer that makes
 * it; what is kept is its digest (core/web/tokens.h).
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "core/daemon.h"
#include "core/fleet/fleet.h"
#include "core/web/tokens.h"
#include "gen/native-ops.h"

static void token_op_write(JsonWriter *w, const Token *token) {
        jw_field_cstr(w, "id", token->id);
        jw_field_cstr(w, "kind", token_kind_name(token->kind));
        jw_field_cstr(w, "scope", web_scope_name(token->scope));
        jw_field_cstr(w, "label", token->label);
        if (*token->object)
                jw_field_cstr(w, "object", token->object);
}

int op_native_token_ls(Call *call, _unused_ const NativeTokenLsArgs *args) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_key(w, "tokens");
        jw_begin_array(w);
        for (const Token *token = tokens_first(call->daemon->tokens); token; token = token->next) {
                jw_begin_object(w);
                token_op_write(w, token);
                jw_field_time_ms(w, "created", token->made_us);
                jw_field_time_ms(w, "used", token->used_us > token->made_us ? token->used_us : 0);
                jw_field_time_ms(w, "expires", token_expires_us(token));
                jw_field_uint(w, "clients", token->n_watches);
                jw_end_object(w);
        }
        jw_end_array(w);
        jw_end_object(w);
        return 0;
}

/* What a change of the tokens ended with, in the words of this contract. */
static int token_op_fault(Call *call, int r) {
        switch (r) {
        case TOKENS_E_MISSING: return call_fail(call, CALL_E_TOKEN_NOT_FOUND, "no token has this id");
        case TOKENS_E_SERVER:
                return call_fail(call, CALL_E_INVALID_PARAMS,
                                 "id: is the token of a server, which goes with it: web.close");
        case TOKENS_E_FULL:
                return call_fail(call, CALL_E_UNAVAILABLE, "there are %d devices; revoke some first",
                                 TOKENS_MAX);
        case -ENOBUFS: return call_fail(call, CALL_E_UNAVAILABLE, "too many changes wait; try again");
        default:
                return r < 0 ? call_fail(call, CALL_E_NOT_KEPT, "nothing has changed: tokens.json: %s",
                                         strerror(-r))
                             : 0;
        }
}

enum { TOKEN_ANSWER_MAX = 4096 /* bytes: so that it does not grow with a secret in it */ };

/* ---- create ---------------------------------------------------------------------------------- */

static void token_op_on_created(void *user, int r, const Token *token, const char *secret) {
        Call *call = user;

        if (!r) {
                JsonWriter *w;

                if (call->client)
                        conn_keep_secret(call->client->conn);
                r = buf_reserve_wiping(call->out, TOKEN_ANSWER_MAX);
                w = call_result(call);
                jw_begin_object(w);
                token_op_write(w, token);
                jw_field_cstr(w, "token", secret);
                jw_field_time_ms(w, "expires", token_expires_us(token));
                jw_end_object(w);
        }
        call_finish(call, token_op_fault(call, r));
}

static int token_op_create(Call *call, const NativeTokenCreateArgs *args, Str object) {
        TokenSpec spec = {.kind = args->code ? TOKEN_CODE : TOKEN_DEVICE,
                          .label = args->label,
                          .object = object,
                          .for_us = args->has_ttl_hours ? args->ttl_hours * INT64_C(3600000000) : 0};
        int r;

        if (!web_scope_from_name(args->scope, &spec.scope))
                return error_origin(-EINVAL);
        if (object.n > TOKEN_OBJECT_MAX)
                return call_fail(call, CALL_E_INVALID_PARAMS, "object: has a name of over %d bytes",
                                 TOKEN_OBJECT_MAX);
        r = tokens_create(call->daemon->tokens, &spec, token_op_on_created, call);
        return r ? token_op_fault(call, r) : CALL_LATER;
}

static int token_op_on_object(Call *call, const FleetThing *thing, const Carry *carry) {
        const NativeTokenCreateArgs *args = container_of(carry, NativeTokenCreateArgs, carry);

        if (!thing->name.n)
                return call_fail(call, CALL_E_NAME_NOT_FOUND, "what runs as %s has no name", thing->id);
        return token_op_create(call, args, thing->name);
}

int op_native_token_create(Call *call, const NativeTokenCreateArgs *args) {
        if (args->object.data)
                return fleet_call(call, args->object, STR_NULL, token_op_on_object, &args->carry);
        return token_op_create(call, args, STR_NULL);
}

/* ---- revoke ---------------------------------------------------------------------------------- */

static void token_op_on_revoked(void *user, int r, const Token *token, _unused_ const char *secret) {
        Call *call = user;

        if (!r) {
                JsonWriter *w = call_result(call);

                jw_begin_object(w);
                jw_field_cstr(w, "id", token->id);
                jw_field_bool(w, "revoked", true);
                jw_field_uint(w, "clients", token->n_watches);
                jw_end_object(w);
        }
        call_finish(call, token_op_fault(call, r));
}

int op_native_token_revoke(Call *call, const NativeTokenRevokeArgs *args) {
        int r = tokens_revoke(call->daemon->tokens, args->id, token_op_on_revoked, call);

        return r ? token_op_fault(call, r) : CALL_LATER;
}

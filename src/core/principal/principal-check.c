/* SPDX-License-Identifier: MIT */
/* What a caller may do, asked before the handler: with its rights, and with what it says of itself. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "core/client.h"
#include "core/daemon.h"
#include "core/dialect.h"
#include "core/host/host.h"
#include "core/principal/audit.h"
#include "core/principal/principal.h"
#include "core/web/access.h"
#include "gen/errors.h"

/* ---- refusals -------------------------------------------------------------------------------- */

void principal_audit(Client *client, const char *code, const Op *op, Right right, Str claim) {
        const Principal *who = principal_of(client);

        audit_refused(client->daemon,
                      &(Refused){.code = code,
                                 .principal = principal_name(who),
                                 .proof = principal_proof_name(who),
                                 .pid = client_pid(client),
                                 .dialect = client->dialect->name,
                                 .op = op->name,
                                 .right = right_name(right),
                                 .tool = client->dialect->tool ? client->dialect->tool(client) : NULL,
                                 .claimed = claim});
}

int principal_refuse(Call *call, int error, Right right, const Principal *who, Str claim, const char *why) {
        JsonWriter *w = call_details(call);
        const char *word = cccc_error_code(error);

        jw_begin_object(w);
        jw_field_cstr(w, "code", word);
        jw_field_cstr(w, "principal", principal_name(who));
        jw_field_cstr(w, "right", right_name(right));
        if (claim.n)
                jw_field_str(w, "claimed", claim);
        jw_end_object(w);
        principal_audit(call->client, word, call->op, right, claim);
        return call_fail(call, error, "%s: the caller is %s, %s", word, principal_name(who), why);
}

/* The sandbox's rule, which is older than rights and holds at every socket. */
static const char *principal_confined(const Client *client, const Op *op) {
        if ((op->right == RIGHT_READ || op->right == RIGHT_LOOK) && !(op->flags & OP_REVEALS))
                return NULL;
        if (client->is_sandboxed)
                return "the caller is in a sandbox and may only look";
        if (conn_peer(client->conn)->is_remote && !client->has_token && client->daemon->host &&
            host_has_sandboxed(client->daemon->host))
                return "while an agent runs in a sandbox, callers over TCP may only look; use the Unix "
                       "socket";
        return NULL;
}

static bool principal_is_web(const Client *client) {
        return client->principal.proof == PROOF_WEB;
}

static bool principal_is_at_native(const Client *client) {
        return client->is_native && strcmp(client->dialect->name, "agentcompany") != 0;
}

static bool principal_is_checked(const Client *client) {
        const char *by = client->daemon->config.security_by;

        return principal_is_at_native(client) || (by && !strcmp(by, "checked"));
}

/* ---- rights ---------------------------------------------------------------------------------- */

/* Whether every kind of caller has it, so that nobody has to be looked at. */
static bool principal_everybody_has(const Config *config, Right right) {
        for (int kind = 0; kind < _PRINCIPAL_KINDS; kind++)
                if (!right_is_in(rights_of(config, (PrincipalKind)kind), right))
                        return false;
        return true;
}

static Str principal_bare(Str name) {
        return str_starts(name, STR("actor:")) ? (Str){name.data + 6, name.n - 6} : name;
}

static bool principal_is_of_group(const Principal *who, Str target) {
        return str_starts(target, who->group) &&
               (target.n == who->group.n || target.data[who->group.n] == '/');
}

static const char principal_own_group[] = "which has rights in its own group only";

static int principal_lacks(Call *call, Right right, const Principal *who) {
        char why[128];

        snprintf(why, sizeof(why), "which has not the right %s", right_name(right));
        return principal_refuse(call, CALL_E_FORBIDDEN, right, who, STR_NULL, why);
}

int principal_check(Call *call) {
        Client *client = call->client;
        const Op *op = call->op;
        const char *confined = principal_confined(client, op);
        const Principal *who;

        if (principal_is_web(client))
                return web_access_check(call);
        if (confined) {
                principal_audit(client, cccc_error_code(CALL_E_PERMISSION_DENIED), op, op->right, STR_NULL);
                return call_fail(call, CALL_E_PERMISSION_DENIED, "%s", confined);
        }
        if (!principal_is_at_native(client) || principal_everybody_has(&client->daemon->config, op->right))
                return 0;
        who = principal_of(client);
        if (who->trouble)
                return principal_refuse(call, CALL_E_IDENTITY_MISMATCH, op->right, who, STR_NULL,
                                        who->trouble);
        if (!who->is_settled)
                return CALL_LATER;
        if (right_is_in(principal_rights(client, who), op->right))
                return 0;
        return principal_lacks(call, op->right, who);
}

bool principal_may(Client *client, Right right, Str name) {
        const Principal *who = principal_of(client);

        return right_is_in(principal_rights(client, who), right) &&
               (!who->actor.n || principal_is_of_group(who, principal_bare(name)));
}

int principal_require(Call *call, Right right, Str name) {
        const Principal *who = call->client ? principal_of(call->client) : NULL;

        if (!who)
                return error_origin(-ECANCELED); /* who has gone is nobody */
        if (!principal_is_web(call->client) && !principal_is_at_native(call->client))
                return 0;
        if (!right_is_in(principal_rights(call->client, who), right))
                return principal_lacks(call, right, who);
        if (!who->actor.n || right == RIGHT_TASK || principal_is_of_group(who, principal_bare(name)))
                return 0;
        return principal_refuse(call, CALL_E_FORBIDDEN, right, who, name, principal_own_group);
}

/* ---- arguments ------------------------------------------------------------------------------- */

static const OpField *principal_field(const Op *op, const char *name) {
        for (size_t i = 0; i < op->n_fields; i++)
                if (op->fields[i].type == OP_STRING && !strcmp(op->fields[i].name, name))
                        return &op->fields[i];
        return NULL;
}

Str *principal_value(const Op *op, void *args, const char *name) {
        const OpField *field = principal_field(op, name);

        return field ? (Str *)((char *)args + field->offset) : NULL;
}

bool principal_says_by(const Json *given) {
        return str_trim(json_str(json_get(given, "by"))).n > 0;
}

/* Who it says it is: an actor is itself, who sits at a session is the user. Nothing said means the user, too. */
static int principal_check_by(Call *call, const Principal *who, bool says_by, void *args) {
        Str *by = principal_value(call->op, args, "by");
        Str self = who->actor.n ? who->actor : who->kind == PRINCIPAL_SESSION ? STR("user") : STR_NULL;

        if (!by)
                return 0;
        if (!says_by && self.n) {
                *by = self;
                return 0;
        }
        if (self.n && str_eq(*by, self))
                return 0;
        return principal_refuse(call, CALL_E_IDENTITY_MISMATCH, call->op->right, who,
                                by->n ? *by : STR("user"), "and says that it is somebody else");
}

/* What of the fleet the arguments name: GROUP/ACTOR, GROUP, or the name of something else. "": nothing. */
static Str principal_target(Call *call, void *args) {
        static const char *const names[] = {"session", "process", "id", "name"};
        const Str *group = principal_value(call->op, args, "group_id"),
                  *actor = principal_value(call->op, args, "actor_id"), *value = NULL;
        const Hosted *hosted;

        if (group && group->n)
                return actor && actor->n ? arena_printf(&call->arena, STR_FMT "/" STR_FMT, STR_ARG(*group),
                                                        STR_ARG(*actor))
                                         : *group;
        for (size_t i = 0; !value && i < ARRAY_SIZE(names); i++)
                value = principal_value(call->op, args, names[i]);
        if (!value || !value->n)
                return STR_NULL;
        hosted = call->daemon->host ? host_find(call->daemon->host, *value) : NULL;
        if (hosted)
                return str_from(hosted->object);
        return principal_bare(*value);
}

static bool principal_is_itself(const Principal *who, Str target) {
        return principal_is_of_group(who, target) && target.n > who->group.n &&
               str_eq((Str){target.data + who->group.n + 1, target.n - who->group.n - 1}, who->actor);
}

/* Rights of an actor are rights in its own group; a peer stops itself only. */
static int principal_check_target(Call *call, const Principal *who, void *args) {
        Right right = call->op->right;
        bool needs_one = right == RIGHT_LOOK || right == RIGHT_TYPE || right == RIGHT_STOP;
        Str target = principal_target(call, args);
        bool is_own = who->kind == PRINCIPAL_PEER && right == RIGHT_STOP
                              ? principal_is_itself(who, target)
                              : principal_is_of_group(who, target);

        if (right == RIGHT_READ || is_own || (!target.n && !needs_one))
                return 0;
        if (!needs_one && !principal_field(call->op, "group_id"))
                return 0; /* it names no part of a group: a project, a task */
        return principal_refuse(call, CALL_E_FORBIDDEN, right, who, target,
                                who->kind == PRINCIPAL_PEER && right == RIGHT_STOP
                                        ? "which has the right stop for itself only"
                                        : principal_own_group);
}

int principal_check_args(Call *call, bool says_by, void *args) {
        Client *client = call->client;
        const Principal *who;
        int r;

        if (principal_is_web(client))
                return web_access_check_args(call, args);
        if (!principal_is_checked(client) || (call->op->right == RIGHT_READ && !says_by))
                return 0;
        who = principal_of(client);
        if (who->kind == PRINCIPAL_USER)
                return 0;
        r = principal_check_by(call, who, says_by, args);
        return r || !who->actor.n || !principal_is_at_native(client)
                       ? r
                       : principal_check_target(call, who, args);
}

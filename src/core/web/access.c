/* SPDX-License-Identifier: MIT */
#include "core/web/access.h"

#include <stdio.h>

#include "core/client.h"
#include "core/daemon.h"
#include "core/fleet/fleet.h"

bool op_scope_allows(WebScope scope, const Op *op) {
        return scope >= op->scope;
}

/* ---- what is no call ------------------------------------------------------------------------- */

bool web_access_allows(Client *client, WebScope scope) {
        const Principal *who = principal_of(client);

        return who->proof != PROOF_WEB || (who->object && who->scope >= scope);
}

/* A token for one is for what bears exactly that name. */
static bool access_names(Daemon *daemon, const char *object, Arena *arena, Str word) {
        FleetSearch search;

        if (str_is(word, object))
                return true;
        return !fleet_search(daemon, arena, word, &search) && search.n_found == 1 &&
               str_is(search.found[0].name, object);
}

bool web_access_reaches(Client *client, Str word) {
        const Principal *who = principal_of(client);
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;

        if (who->proof != PROOF_WEB)
                return true;
        return who->object && (!*who->object || access_names(client->daemon, who->object, &arena, word));
}

/* ---- calls ----------------------------------------------------------------------------------- */

static int access_refuse(Call *call, Str claim, const char *why) {
        return principal_refuse(call, CALL_E_FORBIDDEN, call->op->right, principal_of(call->client), claim,
                                why);
}

int web_access_check(Call *call) {
        const Principal *who = principal_of(call->client);
        char why[128];

        if (!who->object)
                return access_refuse(call, STR_NULL, "which has shown no token");
        if (!op_scope_allows(who->scope, call->op)) {
                snprintf(why, sizeof(why), "whose token has the scope %s, and this needs %s",
                         web_scope_name(who->scope), web_scope_name(call->op->scope));
                return access_refuse(call, STR_NULL, why);
        }
        return *who->object && !call->op->object
                       ? access_refuse(call, STR_NULL, "whose token is for one hosted thing only")
                       : 0;
}

int web_access_check_args(Call *call, void *args) {
        const Principal *who = principal_of(call->client);
        const Str *word;

        if (!*who->object || !*call->op->object)
                return 0;
        word = principal_value(call->op, args, call->op->object);
        if (word && word->n && access_names(call->daemon, who->object, &call->arena, *word))
                return 0;
        return access_refuse(call, word ? *word : STR_NULL, "whose token is for another hosted thing");
}

/* SPDX-License-Identifier: MIT */
/* daemon.whoami: what core/principal knows of the caller. */
#include <errno.h>

#include "base/error.h"
#include "core/client.h"
#include "gen/native-ops.h"

static void whoami_write_rights(JsonWriter *w, RightSet rights) {
        jw_key(w, "rights");
        jw_begin_array(w);
        for (int right = 0; right < _RIGHTS; right++)
                if (right_is_in(rights, (Right)right))
                        jw_cstr(w, right_name((Right)right));
        jw_end_array(w);
}

static int whoami_answer(Call *call, _unused_ const Carry *carry) {
        const Principal *who = call->client ? principal_of(call->client) : NULL;
        JsonWriter *w;

        if (!who)
                return error_origin(-ECANCELED);
        w = call_result(call);
        jw_begin_object(w);
        jw_field_cstr(w, "principal", principal_name(who));
        jw_field_cstr(w, "kind", principal_kind_name(who->kind));
        jw_field_cstr(w, "proof", principal_proof_name(who));
        jw_field_bool(w, "sandboxed", call->client->is_sandboxed);
        whoami_write_rights(w, principal_rights(call->client, who));
        if (who->actor.n) {
                jw_field_str(w, "group_id", who->group);
                jw_field_str(w, "actor_id", who->actor);
        }
        if (who->object) {
                jw_field_cstr(w, "scope", web_scope_name(who->scope));
                if (*who->object)
                        jw_field_cstr(w, "object", who->object);
        }
        if (*who->id)
                jw_field_cstr(w, "process", who->id);
        if (who->trouble)
                jw_field_cstr(w, "trouble", who->trouble);
        jw_end_object(w);
        return 0;
}

int op_native_daemon_whoami(Call *call, const NativeDaemonWhoamiArgs *args) {
        (void)principal_of(call->client);
        return principal_settle(call, whoami_answer, &args->carry);
}

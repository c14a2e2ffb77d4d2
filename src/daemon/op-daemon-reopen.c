/* SPDX-License-Identifier: MIT */
#include "core/daemon.h"
#include "gen/native-ops.h"

static void reopen_write(JsonWriter *w, const Endpoint *endpoint) {
        jw_begin_object(w);
        jw_field_cstr(w, "name", endpoint->type->name);
        jw_field_cstr(w, "address", *endpoint->address ? endpoint->address : endpoint->where);
        jw_field_cstr(w, "state", endpoint_state_name(endpoint->state));
        if (*endpoint->reason)
                jw_field_cstr(w, "reason", endpoint->reason);
        jw_end_object(w);
}

int op_native_daemon_reopen(Call *call, _unused_ const NativeDaemonReopenArgs *args) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_key(w, "tried");
        jw_begin_array(w);
        for (Endpoint *e = call->daemon->endpoints; e && call->daemon->reopen; e = e->next)
                if (e != call->client->endpoint && call->daemon->reopen(e))
                        reopen_write(w, e);
                else if (e->state == ENDPOINT_LISTENING && e->type->renew)
                        e->type->renew(e);
        jw_end_array(w);
        jw_end_object(w);
        return 0;
}

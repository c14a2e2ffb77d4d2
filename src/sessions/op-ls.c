/* SPDX-License-Identifier: MIT */
#include "gen/coop-ops.h"
#include "sessions/sessions-json.h"

static void write_session(const Session *session, JsonWriter *w) {
        const Pty *agent = session->ptys;

        jw_begin_object(w);
        jw_field_cstr(w, "name", session->name);
        jw_field_cstr(w, "workspace", session->workspace);
        jw_field_int(w, "pid", agent ? pty_pid(agent) : 0);
        jw_field_int(w, "created", session->created_s);
        jw_key(w, "ptys");
        session_write_ptys(session, w);
        jw_field_int(w, "web_clients", 0);
        jw_field_uint(w, "local_clients", session_n_clients(session));
        jw_end_object(w);
}

int op_coop_ls(Call *call, _unused_ const CoopLsArgs *args) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_key(w, "sessions");
        jw_begin_array(w);
        for (const Session *session = call->daemon->sessions->first; session; session = session->next)
                if (session->is_listed)
                        write_session(session, w);
        jw_end_array(w);
        jw_end_object(w);
        return 0;
}

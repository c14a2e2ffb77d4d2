/* SPDX-License-Identifier: MIT */
#include "gen/coop-ops.h"
#include "sessions/sessions-json.h"

int op_coop_sessionls(Call *call, const CoopSessionlsArgs *args) {
        Session *session = session_find(call->daemon->sessions, args->session);
        JsonWriter *w;

        if (!session)
                return call_fail(call, CALL_E_SESSION_NOT_FOUND, "Session '" STR_FMT "' not found",
                                 STR_ARG(args->session));
        w = call_result(call);
        jw_begin_object(w);
        jw_field_cstr(w, "session", session->name);
        jw_key(w, "ptys");
        session_write_ptys(session, w);
        jw_end_object(w);
        return 0;
}

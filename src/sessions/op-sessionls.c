/* SPDX-License-Identifier: MIT */
#include "gen/coop-ops.h"
#include "sessions/sessions-json.h"

int op_coop_sessionls(Call *call, const CoopSessionlsArgs *args) {
        Session *session = NULL;
        int r = session_require(call, args->session, &session);
        JsonWriter *w;

        if (r)
                return r;
        w = call_result(call);
        jw_begin_object(w);
        jw_field_cstr(w, "session", session->name);
        jw_key(w, "ptys");
        session_write_ptys(session, w);
        jw_end_object(w);
        return 0;
}

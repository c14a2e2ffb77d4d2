/* SPDX-License-Identifier: MIT */
#include "core/daemon.h"
#include "gen/coop-ops.h"

/* No session can be created yet, so the list is empty by construction. */
int op_coop_ls(Call *call, _unused_ const CoopLsArgs *args) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_key(w, "sessions");
        jw_begin_array(w);
        jw_end_array(w);
        jw_end_object(w);
        return 0;
}

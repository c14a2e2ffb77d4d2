/* SPDX-License-Identifier: MIT */
#include <unistd.h>

#include "base/time.h"
#include "collab/collab.h"
#include "gen/cccc-ops.h"

int op_cccc_ping(Call *call, _unused_ const CcccPingArgs *args) {
        JsonWriter *w = call_result(call);
        char ts[TIME_TEXT_MAX];

        time_format_us(loop_wall_us(call->daemon->loop), ts);
        jw_begin_object(w);
        jw_field_cstr(w, "version", original_version_for(call->daemon->collab, call->client));
        jw_field_int(w, "pid", getpid());
        jw_field_cstr(w, "ts", ts);
        jw_field_int(w, "ipc_v", 1);
        jw_key(w, "capabilities");
        jw_begin_object(w);
        jw_field_bool(w, "events_stream", op_find(&cccc_ops, STR("events_stream")) != NULL);
        jw_end_object(w);
        jw_end_object(w);
        return 0;
}

/* SPDX-License-Identifier: MIT */
#include "base/time.h"
#include "core/daemon.h"
#include "gen/aiwg-ops.h"

int op_aiwg_ping(Call *call, _unused_ const AiwgPingArgs *args) {
        JsonWriter *w = call_result(call);
        char timestamp[TIME_TEXT_MAX];
        size_t n = time_format_ms(loop_wall_us(call->daemon->loop), timestamp);

        jw_begin_object(w);
        jw_field_bool(w, "pong", true);
        jw_field_str(w, "timestamp", (Str){timestamp, n});
        jw_end_object(w);
        return 0;
}

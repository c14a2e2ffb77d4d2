/* SPDX-License-Identifier: MIT */
#include "base/time.h"
#include "core/daemon.h"
#include "gen/native-ops.h"

int op_native_daemon_advance(Call *call, const NativeDaemonAdvanceArgs *args) {
        Loop *loop = call->daemon->loop;
        char now[TIME_TEXT_MAX];
        JsonWriter *w;

        if (!call->daemon->has_test_clock)
                return call_fail(call, CALL_E_UNAVAILABLE, "the clock runs by itself");
        loop_clock_advance(loop, args->ms);
        time_format_us(loop_wall_us(loop), now);
        w = call_result(call);
        jw_begin_object(w);
        jw_field_cstr(w, "now", now);
        jw_end_object(w);
        return 0;
}

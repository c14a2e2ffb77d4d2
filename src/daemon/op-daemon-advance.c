/* SPDX-License-Identifier: MIT */
/*
 * daemon.advance: the answer leaves when what the new time set off is over, as far as it happens in here:
 * for a few turns there was nothing to do for a worker. A test that turns the clock step by step sees each
 * thing in its own step then, however busy the machine.
 */
#include <errno.h>
#include <sched.h>
#include <time.h>

#include "base/error.h"
#include "base/time.h"
#include "core/daemon.h"
#include "gen/native-ops.h"

enum { QUIET_TURNS = 8, LIMIT_S = 10 };

typedef struct Advance {
        Call *call;
        Deferred look;
        int n_quiet;
        time_t begin_s;
} Advance;

/* The loop's own clock stands still. */
static time_t real_s(void) {
        struct timespec ts;

        clock_gettime(CLOCK_MONOTONIC, &ts);
        return ts.tv_sec;
}

static void daemon_advance_answer(Call *call) {
        char now[TIME_TEXT_MAX];
        JsonWriter *w = call_result(call);

        time_format_us(loop_wall_us(call->daemon->loop), now);
        jw_begin_object(w);
        jw_field_cstr(w, "now", now);
        jw_end_object(w);
        call_finish(call, 0);
}

static void daemon_advance_on_look(Deferred *deferred) {
        Advance *self = container_of(deferred, Advance, look);
        const Daemon *daemon = self->call->daemon;

        self->n_quiet = loop_n_work(daemon->loop) ? 0 : self->n_quiet + 1;
        if (self->n_quiet >= QUIET_TURNS || daemon->is_stopping || real_s() > self->begin_s + LIMIT_S) {
                daemon_advance_answer(self->call);
                return;
        }
        (void)sched_yield();
        deferred_schedule(deferred);
}

int op_native_daemon_advance(Call *call, const NativeDaemonAdvanceArgs *args) {
        Loop *loop = call->daemon->loop;
        Advance *self;

        if (!call->daemon->has_test_clock)
                return call_fail(call, CALL_E_UNAVAILABLE, "the clock runs by itself");
        self = arena_alloc(&call->arena, sizeof(*self));
        if (!self)
                return error_origin(-ENOMEM);
        *self = (Advance){.call = call, .begin_s = real_s()};
        deferred_init(&self->look, loop, daemon_advance_on_look);
        loop_clock_advance(loop, args->ms);
        deferred_schedule(&self->look);
        return CALL_LATER;
}

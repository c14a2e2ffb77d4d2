/* SPDX-License-Identifier: MIT */
/*
 * How long the loop is held. A turn begins when the poll call returns, for which libuv's own time is taken
 * (in milliseconds, so a turn may look up to one longer), and ends before the next one. The processor's
 * clock costs a system call: it is read at the end of a turn, and only when a millisecond has passed since
 * it was read last. What a long turn took is therefore counted with what was used in that millisecond before
 * it.
 */
#include "base/loop/loop.h"

#include <stdio.h>
#include <time.h>

#include "base/loop/loop-internal.h"

enum { LOOP_SAMPLE_US = 1000 };

static int64_t loop_meter_us(clockid_t id) {
        struct timespec ts;

        (void)clock_gettime(id, &ts);
        return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t loop_real_us(void) {
        return loop_meter_us(CLOCK_MONOTONIC);
}

void loop_meter_begin(Loop *loop) {
        loop->meter.began_ms = uv_now(&loop->uv);
}

/* What is inside another thing is noted before it, and explains it if it took at least half of its time. */
void loop_note(Loop *loop, const char *kind, const char *name, int64_t us) {
        LoopMeter *meter = &loop->meter;

        if (us <= meter->note_us * 2)
                return;
        meter->note_us = us;
        meter->note_kind = kind;
        meter->note_name = name;
}

void loop_mark(Loop *loop, const char *name) {
        loop->meter.mark = name;
}

static void loop_meter_keep(Loop *loop, int64_t wall_us, int64_t cpu_us) {
        LoopMeter *meter = &loop->meter;
        const char *name = meter->note_name ? meter->note_name : meter->mark;
        bool is_known = meter->note_us * 2 >= wall_us;

        meter->n_held += cpu_us > LOOP_HELD_US;
        if (cpu_us <= meter->longest.cpu_us)
                return;
        meter->longest = (LoopHeld){
                .cpu_us = cpu_us, .wall_us = wall_us, .kind = is_known ? meter->note_kind : "other"};
        (void)snprintf(meter->longest.name, sizeof(meter->longest.name), "%s", name ? name : "");
}

void loop_meter_end(Loop *loop) {
        LoopMeter *meter = &loop->meter;
        int64_t now_us = loop_real_us(), wall_us = now_us - (int64_t)meter->began_ms * 1000, cpu_us;

        if (now_us - meter->sampled_us >= LOOP_SAMPLE_US) {
                cpu_us = loop_meter_us(CLOCK_THREAD_CPUTIME_ID);
                if (meter->began_ms && wall_us >= LOOP_LONG_US)
                        loop_meter_keep(loop, wall_us, MIN(wall_us, cpu_us - meter->sampled_cpu_us));
                meter->sampled_us = now_us;
                meter->sampled_cpu_us = cpu_us;
        }
        meter->note_us = 0;
        meter->note_kind = meter->note_name = meter->mark = NULL;
}

const LoopHeld *loop_longest(const Loop *loop) {
        return loop->meter.longest.wall_us ? &loop->meter.longest : NULL;
}

uint64_t loop_n_held(const Loop *loop) {
        return loop->meter.n_held;
}

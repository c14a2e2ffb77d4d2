/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "company/beat"

#include "company/pulse/beat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/time.h"
#include "company/pulse/pulse.h"
#include "company/pulse/tick.h"
#include "company/pulse/triage.h"
#include "core/daemon.h"

static const int64_t beat_minute_us = INT64_C(60) * 1000 * 1000;

static void beat_on_timer(Timer *timer) {
        Beat *beat = container_of(timer, Beat, timer);

        beat->next_us = 0;
        tick_by_itself(beat->workspace);
}

Beat *beat_of(Workspace *workspace) {
        if (!workspace->beat && (workspace->beat = calloc(1, sizeof(Beat)))) {
                workspace->beat->workspace = workspace;
                timer_init(&workspace->beat->timer, workspace->company->daemon->loop, beat_on_timer);
        }
        return workspace->beat;
}

void beat_free(Workspace *workspace) {
        Beat *beat = workspace->beat;

        if (!beat)
                return;
        timer_clear(&beat->timer);
        free(beat->summary);
        free(beat->last_error);
        free(beat);
        workspace->beat = NULL;
}

/* ---- whether it beats ------------------------------------------------------------------------ */

bool beat_is_running(const Workspace *workspace) {
        return workspace->n_observers || (workspace->beat && workspace->beat->is_kept);
}

void beat_set(Beat *beat, int64_t next_us) {
        int64_t now_us = loop_wall_us(beat->workspace->company->daemon->loop);

        timer_clear(&beat->timer);
        beat->next_us = 0;
        beat->is_planned = beat_is_running(beat->workspace);
        if (next_us && beat->is_planned && !timer_set(&beat->timer, MAX(next_us - now_us, 0) / 1000 + 1))
                beat->next_us = next_us;
}

void beat_plan(Beat *beat, const Json *config, const Json *state) {
        PulseConfig settings = pulse_config_of(config);
        int64_t now_us = loop_wall_us(beat->workspace->company->daemon->loop), next_us,
                latest_us = now_us + settings.tick_interval_minutes * beat_minute_us;

        if (!time_parse(json_text_of(state, "next_tick_at"), &next_us) || next_us <= now_us)
                next_us = latest_us;
        /* A later time was said with another interval, or by a clock that was turned since. */
        beat_set(beat, settings.is_enabled ? MIN(next_us, latest_us) : 0);
}

/* ---- finding out what is planned ------------------------------------------------------------- */

typedef struct BeatLook { /* in the arena of its call */
        Carry step;
        Workspace *workspace;
        Arena *arena;
        Json *config, *state;
        WorkspaceFn fn; /* NULL: nobody waits */
        const Carry *carry;
        int r;
} BeatLook;

static void beat_look_run(const Carry *carry) {
        BeatLook *look = container_of(carry, BeatLook, step);

        look->r = pulse_read(look->workspace->root, look->arena, &look->config, &look->state);
}

/* A tick that began since has another name: then it is that one which runs. */
static int beat_decide_over(Edit *edit, const Carry *carry) {
        const BeatLook *look = container_of(carry, BeatLook, step);
        Json *state = NULL;
        int r = pulse_edit_state(edit, &state);

        if (r || !json_truth_of(state, "running") ||
            !str_eq(json_text_of(state, "last_tick_id"), json_text_of(look->state, "last_tick_id")))
                return error_trace(r);
        r = json_set(edit->arena, state, STR("running"), json_new_bool(edit->arena, false));
        return r ? error_trace(r) : error_trace(pulse_edit_write(edit, state));
}

static int beat_look_over(Call *call, _unused_ Edit *edit, const Carry *carry) {
        const BeatLook *look = container_of(carry, BeatLook, step);

        return look->fn ? look->fn(call, look->workspace, look->carry) : 0;
}

/* The documents say that a tick runs, and none does: the daemon, or the program, that it was of has died in it. */
static int beat_look_done(Call *call, const Carry *carry) {
        BeatLook *look = container_of(carry, BeatLook, step);
        Beat *beat = beat_of(look->workspace);

        if (beat) {
                beat->is_looking = false;
                beat->is_checked |= !look->r;
        }
        if (beat && !look->r && !beat->is_ticking && !beat->is_planned && beat_is_running(look->workspace))
                beat_plan(beat, look->config, look->state);
        return beat && !look->r && !beat->is_ticking && json_truth_of(look->state, "running")
                       ? company_edit_and_go_on(call, look->workspace, beat_decide_over, beat_look_over,
                                                carry)
                       : beat_look_over(call, NULL, carry);
}

static int beat_look(Call *call, Workspace *workspace, WorkspaceFn fn, const Carry *carry) {
        BeatLook *look = arena_alloc(&call->arena, sizeof(*look));

        if (!look)
                return error_origin(-ENOMEM);
        *look = (BeatLook){.workspace = workspace, .arena = &call->arena, .fn = fn, .carry = carry};
        return call_work(call, beat_look_run, beat_look_done, &look->step);
}

int beat_ready(Call *call, Workspace *workspace, WorkspaceFn fn, const Carry *carry) {
        Beat *beat = beat_of(workspace);

        return !beat || (beat->is_checked && (beat->is_planned || !beat_is_running(workspace)))
                       ? fn(call, workspace, carry)
                       : beat_look(call, workspace, fn, carry);
}

static void beat_looked(_unused_ Call *call) {}

static void beat_look_alone(Beat *beat) {
        Workspace *workspace = beat->workspace;
        Call *call = call_of_ours(workspace->company->daemon, beat_looked);
        int r;

        if (!call)
                return;
        r = call_hold(call, workspace_ref(workspace), workspace_unref);
        if (!r)
                r = beat_look(call, workspace, NULL, NULL);
        beat->is_looking = r == CALL_LATER;
        if (r != CALL_LATER)
                call_finish(call, r);
}

/* ---- who looks ------------------------------------------------------------------------------- */

static bool beat_is_for_ever(const Daemon *daemon) {
        const char *when = daemon->config.company_heartbeat;

        return when && strcmp(when, "always") == 0;
}

void beat_observe(Workspace *workspace, const Client *client) {
        Daemon *daemon = workspace->company->daemon;
        Beat *beat = beat_of(workspace);

        workspace->n_observers++;
        if (!beat)
                return;
        beat->last = client;
        if (!beat->is_kept && beat_is_for_ever(daemon)) {
                beat->is_kept = true;
                (void)workspace_ref(workspace);
        }
        if (!beat->is_planned && !beat->is_looking && !beat->is_ticking && !daemon->is_stopping)
                beat_look_alone(beat);
}

void beat_leave(Workspace *workspace, const Client *client) {
        Beat *beat = workspace->beat;

        workspace->n_observers--;
        if (beat && beat->last == client)
                beat->last = NULL;
        if (!beat || beat_is_running(workspace))
                return;
        timer_clear(&beat->timer);
        beat->next_us = 0;
        beat->is_planned = false;
}

void beat_forget(Workspace *workspace) {
        Beat *beat = workspace->beat;

        if (!beat || beat->is_ticking)
                return; /* the tick plans what follows it */
        timer_clear(&beat->timer);
        beat->next_us = 0;
        beat->is_planned = false;
        if (beat_is_running(workspace) && !beat->is_looking && !workspace->company->daemon->is_stopping)
                beat_look_alone(beat);
}

void beat_write(const Workspace *workspace, JsonWriter *w) {
        const Beat *beat = workspace->beat;

        jw_field_bool(w, "loop_running", beat_is_running(workspace));
        jw_field_bool(w, "tick_in_progress", beat && beat->is_ticking);
        if (beat && beat->next_us)
                jw_field_time_ms(w, "next_scheduled_at", beat->next_us);
        if (beat && beat->last_error)
                jw_field_cstr(w, "last_error", beat->last_error);
        if (beat && beat->summary) {
                jw_key(w, "last_tick_summary");
                jw_raw(w, str_from(beat->summary));
        }
}

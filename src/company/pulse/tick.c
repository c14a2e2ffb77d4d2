/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "company/tick"

#include "company/pulse/tick.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/id.h"
#include "company/pulse/beat.h"
#include "company/pulse/pulse.h"
#include "company/pulse/tick-internal.h"
#include "core/daemon.h"

/* ---- the end --------------------------------------------------------------------------------- */

static void tick_keep_summary(Beat *beat, const Tick *tick) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        tick_write(&w, tick);
        free(beat->summary);
        beat->summary = w.failed || text.n > TICK_SUMMARY_MAX ? NULL : strndup(text.data, text.n);
}

int tick_finish(Tick *tick) {
        Beat *beat = tick->workspace->beat;

        tick->finished_us = loop_wall_us(tick->call->daemon->loop);
        tick_write(call_result(tick->call), tick);
        if (!tick->holds_beat)
                return 0;
        tick_keep_summary(beat, tick);
        tick->holds_beat = beat->is_ticking = false;
        beat_set(beat, tick->survey.settings.is_enabled ? tick->next_us : 0);
        return 0;
}

/* However the call ends. One that failed is tried again an interval later. */
static void tick_released(void *object) {
        Tick *tick = object;
        Beat *beat = tick->workspace->beat;

        tick_leave(tick);
        if (!tick->holds_beat)
                return;
        beat->is_ticking = false;
        beat_set(beat, loop_wall_us(tick->call->daemon->loop) + TICK_AGAIN_MINUTES * tick_minute_us);
}

/* ---- the beginning --------------------------------------------------------------------------- */

/* hbtick_<milliseconds>_<eight letters or digits> */
static int tick_name(Tick *tick) {
        static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
        unsigned char random[8];
        char tail[sizeof(random) + 1] = "";
        int r = random_bytes(random, sizeof(random));

        for (size_t i = 0; i < sizeof(random); i++)
                tail[i] = digits[random[i] % 36];
        (void)snprintf(tick->id, sizeof(tick->id), "hbtick_%lld_%s", (long long)(tick->started_us / 1000),
                       tail);
        return error_trace(r);
}

/* Nobody sleeps for it: it is told to those who look. */
static int tick_draw_jitter(Tick *tick) {
        for (size_t i = 0; i < tick->survey.n_workers; i++) {
                uint32_t number;
                int r = random_bytes(&number, sizeof(number));

                if (r)
                        return error_trace(r);
                tick->survey.workers[i].jitter_s =
                        number % (uint32_t)(tick->survey.settings.jitter_max_seconds + 1);
        }
        return 0;
}

static void tick_survey(const Carry *carry) {
        Tick *tick = container_of(carry, Tick, carry);
        int r = survey_run(&tick->survey);

        if (!r)
                r = tick_draw_jitter(tick);
        tick->woken =
                r ? NULL
                  : arena_alloc(tick->survey.arena, (tick->survey.n_workers + 1) * sizeof(TriageWorker *));
        tick->r = r || tick->woken ? r : error_origin(-ENOMEM);
}

static int tick_kept(_unused_ Call *call, _unused_ Edit *edit, const Carry *carry) {
        Tick *tick = container_of(carry, Tick, carry);

        return tick->n_jobs ? tick_wake(tick) : tick_finish(tick);
}

static int tick_surveyed(Call *call, const Carry *carry) {
        Tick *tick = container_of(carry, Tick, carry);

        index_turn_over(tick->workspace);
        return tick->r ? tick->r : company_edit_then(call, tick->workspace, tick_decide, tick_kept, carry);
}

static void tick_turn(IndexTurn *turn) {
        Tick *tick = container_of(turn, Tick, turn);
        int r = call_work(tick->call, tick_survey, tick_surveyed, &tick->carry);

        if (r == CALL_LATER)
                return;
        index_turn_over(tick->workspace);
        call_finish(tick->call, r);
}

static void tick_look(const Carry *carry) {
        Tick *tick = container_of(carry, Tick, carry);
        Survey *survey = &tick->survey;

        tick->r = pulse_read(tick->workspace->root, survey->arena, &survey->config, &survey->state);
        survey->settings = pulse_config_of(survey->config);
}

static int tick_looked(_unused_ Call *call, const Carry *carry) {
        Tick *tick = container_of(carry, Tick, carry);

        return tick->r ? tick->r : tick_finish(tick);
}

static int tick_start(Tick *tick) {
        Beat *beat = beat_of(tick->workspace);
        int r;

        if (!beat)
                return error_origin(-ENOMEM);
        tick->is_skipped = beat->is_ticking;
        if (tick->is_skipped)
                return call_work(tick->call, tick_look, tick_looked, &tick->carry);
        tick->turn = (IndexTurn){.workspace = tick->workspace, .start = tick_turn};
        r = call_hold(tick->call, tick, tick_released);
        if (!r)
                r = index_turn(&tick->turn);
        if (r)
                return error_trace(r);
        tick->holds_beat = beat->is_ticking = true;
        return CALL_LATER;
}

int tick_run(Call *call, Workspace *workspace, const TickSpec *spec) {
        Tick *tick = arena_alloc(&call->arena, sizeof(*tick));
        int r;

        if (!tick)
                return error_origin(-ENOMEM);
        *tick = (Tick){.call = call,
                       .workspace = workspace,
                       .spec = *spec,
                       .started_us = loop_wall_us(call->daemon->loop)};
        tick->survey = (Survey){.arena = &call->arena, .workspace = workspace, .now_us = tick->started_us};
        r = tick_name(tick);
        return r ? error_trace(r) : tick_start(tick);
}

/* ---- by itself ------------------------------------------------------------------------------- */

typedef struct TickAlone { /* in the arena of its call */
        Carry carry;
        Workspace *workspace;
} TickAlone;

static void tick_over_alone(Call *call) {
        Workspace *workspace = container_of(call->target, TickAlone, carry)->workspace;
        Beat *beat = workspace->beat;

        free(beat->last_error);
        beat->last_error = call->error ? strndup(call->message.data, call->message.n) : NULL;
        if (call->error)
                log_warning(&call->daemon->log, workspace->path, "heartbeat: " STR_FMT,
                            STR_ARG(call->message));
}

static int tick_begin_alone(Call *call, Workspace *workspace) {
        TickAlone *alone = arena_alloc(&call->arena, sizeof(*alone));
        Str path = arena_str(&call->arena, str_from(workspace->path));
        int r;

        if (!alone || !path.data)
                return error_origin(-ENOMEM);
        *alone = (TickAlone){.workspace = workspace};
        call->target = &alone->carry;
        call->over = tick_over_alone;
        r = call_hold(call, workspace_ref(workspace), workspace_unref);
        return r ? error_trace(r)
                 : tick_run(call, workspace, &(TickSpec){.workspace_dir = path, .reason = STR("interval")});
}

void tick_by_itself(Workspace *workspace) {
        Daemon *daemon = workspace->company->daemon;
        Call *call = daemon->is_stopping ? NULL : call_of_ours(daemon, NULL);
        int r = call ? tick_begin_alone(call, workspace) : 0;

        if (call && r != CALL_LATER)
                call_finish(call, r);
}

/* SPDX-License-Identifier: MIT */
/* The first change of a tick: who is woken, and what is remembered of it. */
#include <errno.h>
#include <time.h>

#include "base/error.h"
#include "base/time.h"
#include "company/pulse/pulse.h"
#include "company/pulse/tick-internal.h"

int tick_set(Edit *edit, Json *object, const char *key, Str text) {
        return json_set(edit->arena, object, str_from(key), json_new_str(edit->arena, text));
}

Str tick_text(Edit *edit, int64_t us) {
        char text[TIME_TEXT_MAX];

        time_format_ms(us, text);
        return arena_str(edit->arena, str_from(text));
}

/* What every tick writes, whatever comes of it. */
static int tick_stamp(Edit *edit, Tick *tick, Json *state) {
        tick->next_us = edit->wall_us + tick->survey.settings.tick_interval_minutes * tick_minute_us;
        if (json_set(edit->arena, state, STR("running"), json_new_bool(edit->arena, tick->n_jobs > 0)) ||
            tick_set(edit, state, "last_tick_id", str_from(tick->id)) ||
            tick_set(edit, state, "last_tick_at", tick_text(edit, tick->started_us)) ||
            tick_set(edit, state, "last_tick_reason", tick->spec.reason) ||
            tick_set(edit, state, "next_tick_at", tick_text(edit, tick->next_us)))
                return error_origin(-ENOMEM);
        return 0;
}

Json *tick_memory(Edit *edit, Json *state, Str agent_id) {
        Json *memories = json_get(state, "worker_state"), *memory = json_get_str(memories, agent_id);

        if (memory)
                return memory;
        memory = json_new(edit->arena, JSON_OBJECT);
        return json_set(edit->arena, memories, agent_id, memory) ? NULL : memory;
}

static int tick_note_worker(Edit *edit, const Tick *tick, Json *state, const TriageWorker *worker) {
        Json *memory = tick_memory(edit, state, worker->agent_id);

        if (!memory || tick_set(edit, memory, "last_context_hash", str_from(worker->hash)) ||
            (worker->is_woken && !tick->spec.is_dry &&
             tick_set(edit, memory, "last_wake_at", edit_now(edit))))
                return error_origin(-ENOMEM);
        return 0;
}

bool tick_is_quiet(const Tick *tick, int64_t now_us) {
        time_t now = (time_t)(now_us / 1000000);
        struct tm local = {0};

        return localtime_r(&now, &local) && pulse_is_quiet(&tick->survey.settings, local.tm_hour);
}

static int tick_triage(Edit *edit, Tick *tick, Json *state) {
        Survey *survey = &tick->survey;
        TriageTime time = {.now_us = edit->wall_us, .is_quiet = tick_is_quiet(tick, edit->wall_us)};
        size_t n_cursors = json_count(survey->cursors);
        int r = 0;

        for (size_t i = 0; !r && i < survey->n_workers; i++) {
                TriageWorker *worker = &survey->workers[i];

                worker->is_woken = false;
                r = triage_score(&survey->settings, &time,
                                 json_get_str(json_get(state, "worker_state"), worker->agent_id), n_cursors,
                                 worker);
        }
        if (!r)
                tick->n_woken =
                        triage_wake(&survey->settings, survey->workers, survey->n_workers, tick->woken);
        for (size_t i = 0; !r && i < survey->n_workers; i++)
                r = tick_note_worker(edit, tick, state, &survey->workers[i]);
        return error_trace(r);
}

/* A job for each that is woken, in the newest project; without one nobody can be asked. */
static int tick_plan_jobs(Edit *edit, Tick *tick) {
        tick->n_jobs = 0;
        if (tick->spec.is_dry || !tick->n_woken || !tick->survey.project_id.n)
                return 0;
        tick->jobs = arena_alloc(edit->arena, tick->n_woken * sizeof(TickJob));
        if (!tick->jobs)
                return error_origin(-ENOMEM);
        for (; tick->n_jobs < tick->n_woken; tick->n_jobs++)
                tick->jobs[tick->n_jobs] = (TickJob){
                        .tick = tick, .worker = tick->woken[tick->n_jobs], .job_id = edit_id(edit, "job")};
        return error_trace(edit->r);
}

int tick_decide(Edit *edit, const Carry *carry) {
        Tick *tick = container_of(carry, Tick, carry);
        Json *state = NULL;
        int r = pulse_edit_state(edit, &state);
        Arbiter arbiter = {.config = &tick->survey.settings,
                           .arena = edit->arena,
                           .state = state,
                           .now_us = edit->wall_us};

        if (!r && tick->survey.settings.is_enabled)
                r = tick_triage(edit, tick, state);
        if (!r)
                r = tick_plan_jobs(edit, tick);
        if (!r)
                r = tick_stamp(edit, tick, state);
        if (r || !tick->survey.settings.is_enabled)
                return r ? error_trace(r) : error_trace(pulse_edit_write(edit, state));
        arbiter_clean(&arbiter);
        if (!r)
                r = json_set(edit->arena, state, STR("run_event_cursors"),
                             json_clone(edit->arena, tick->survey.cursors));
        if (!r)
                r = arbiter_add_stat(&arbiter, "ticks_total", 1);
        if (!r)
                r = arbiter_add_stat(&arbiter, "workers_woken_total", (int64_t)tick->n_woken);
        return r ? error_trace(r) : error_trace(pulse_edit_write(edit, state));
}

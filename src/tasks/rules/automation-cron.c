/* SPDX-License-Identifier: MIT */
/*
 * The schedule: one timer for the next job that is due. It also wakes once a minute at the latest, so that a
 * clock that was set counts soon.
 */
#define LOG_MODULE "tasks/schedule"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "tasks/rules/automation.h"

enum { TICK_MAX_MS = 60000 };

int automation_job_event(Buf *out, const RuleJob *job) {
        JsonWriter w = JSON_WRITER(out);

        jw_begin_object(&w);
        jw_field_str(&w, "job_id", job->id);
        if (job->action)
                jw_field_value(&w, "action", job->action);
        else
                jw_field_null(&w, "action");
        jw_end_object(&w);
        return w.failed ? error_origin(-ENOMEM) : 0;
}

static void automation_cron_plan(const RuleJob *job, JobState *state, int64_t after_us) {
        if (job->is_broken || !cron_next(&job->cron, after_us, &state->next_us))
                state->next_us = -1;
}

static int64_t last_fired(const Automation *automation, const RuleSet *old, Str id) {
        for (size_t i = 0; old && i < old->n_jobs; i++)
                if (str_eq(old->jobs[i].id, id))
                        return automation->jobs[i].fired_us;
        return 0;
}

int automation_cron_configure(Automation *automation, const RuleSet *old) {
        const RuleSet *set = automation->set;
        JobState *jobs = calloc(MAX(set->n_jobs, 1), sizeof(*jobs));
        int64_t now_us = loop_wall_us(automation->loop);

        for (size_t i = 0; jobs && i < set->n_jobs; i++) {
                jobs[i].fired_us = last_fired(automation, old, set->jobs[i].id);
                automation_cron_plan(&set->jobs[i], &jobs[i], now_us);
        }
        free(automation->jobs);
        automation->jobs = jobs;
        automation->checked_us = now_us;
        return jobs ? 0 : error_origin(-ENOMEM);
}

static void automation_cron_fire(Automation *automation, const RuleJob *job, JobState *state,
                                 int64_t now_us) {
        _cleanup_(buf_deinit) Buf payload = BUF_NULL;

        if (automation_job_event(&payload, job))
                return;
        state->fired_us = now_us;
        automation_push(automation, STR("schedule"), STR("cron.fired"), buf_str(&payload));
}

/* A time that is long past (the machine slept, the clock was set) is not made up for. */
static void check_job(Automation *automation, size_t i, int64_t now_us) {
        const RuleJob *job = &automation->set->jobs[i];
        JobState *state = &automation->jobs[i];

        if (state->next_us >= 0 && state->next_us <= now_us) {
                if (now_us - state->next_us <= AUTOMATION_MISSED_MS * INT64_C(1000))
                        automation_cron_fire(automation, job, state, now_us);
                else
                        log_warning(automation->log, automation->dir, "job missed id=" STR_FMT,
                                    STR_ARG(job->id));
                automation_cron_plan(job, state, now_us);
        }
        if (now_us < automation->checked_us) /* the clock was set back */
                automation_cron_plan(job, state, now_us);
}

static void automation_cron_set_timer(Automation *automation, int64_t now_us) {
        int64_t wait_ms = TICK_MAX_MS;

        for (size_t i = 0; i < automation->set->n_jobs; i++)
                if (automation->jobs[i].next_us >= 0)
                        wait_ms = MIN(wait_ms, (automation->jobs[i].next_us - now_us + 999) / 1000);
        if (timer_set(&automation->tick, MAX(wait_ms, 0)))
                log_err(automation->log, automation->dir, "no memory: the schedule stands still");
}

void automation_cron_tick(Timer *timer) {
        Automation *automation = container_of(timer, Automation, tick);
        int64_t now_us = loop_wall_us(automation->loop);

        for (size_t i = 0; i < automation->set->n_jobs; i++)
                check_job(automation, i, now_us);
        automation->checked_us = now_us;
        automation_cron_set_timer(automation, now_us);
}

void automation_cron_start(Automation *automation) {
        timer_clear(&automation->tick);
        if (!automation->jobs || !automation->set->is_scheduling || !automation->set->n_jobs)
                return;
        automation_say(automation, "Scheduler started: %zu jobs", automation->set->n_jobs);
        automation_cron_set_timer(automation, loop_wall_us(automation->loop));
}

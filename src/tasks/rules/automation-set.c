/* SPDX-License-Identifier: MIT */
/*
 * A new set of rules in place of the old one, and what is remembered of each rule meanwhile.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "tasks/rules/automation.h"

enum { FIT_CHECKS_MAX = 10000 }; /* rules times jobs; with more, nextRun of rules is not known */

static void state_free(RuleState *state) {
        if (!state)
                return;
        timer_clear(&state->quiet);
        event_unref(state->pending);
        free(state->jobs);
        free(state);
}

/* For which jobs a rule fires is fixed by the file: their events differ in nothing else. */
static int find_jobs(Automation *automation, const RuleSet *set, RuleState *state, const Rule *rule) {
        state->n_jobs = 0;
        if (!set->n_jobs || set->n_jobs * set->n_rules > FIT_CHECKS_MAX)
                return 0;
        free(state->jobs);
        state->jobs = calloc(set->n_jobs, sizeof(*state->jobs));
        for (size_t i = 0; state->jobs && i < set->n_jobs; i++) {
                _cleanup_(buf_deinit) Buf payload = BUF_NULL;
                const char *error = NULL;
                Json *json = NULL;
                Event *event = set->jobs[i].is_broken || automation_job_event(&payload, &set->jobs[i])
                                       ? NULL
                                       : event_new(STR("schedule"), STR("cron.fired"), buf_str(&payload), 0);

                arena_reset(&automation->arena);
                if (event &&
                    !json_parse(&automation->arena, event->text.data, event->text.n, NULL, &json, NULL) &&
                    rule_fits(rule, json, &error))
                        state->jobs[state->n_jobs++] = (uint16_t)i;
                event_unref(event);
        }
        return state->jobs ? 0 : error_origin(-ENOMEM);
}

static RuleState *state_new(Automation *automation, const Rule *rule) {
        RuleState *state = calloc(1, sizeof(*state));

        if (!state)
                return NULL;
        state->automation = automation;
        state->is_enabled = state->was_enabled = rule->is_enabled;
        timer_init(&state->quiet, automation->loop, automation_on_quiet);
        return state;
}

/* Until all of this is there the old set stays, so nothing in the old states is touched. */
static int make_states(Automation *automation, RuleSet *set, RuleState ***ret) {
        RuleState **states = calloc(MAX(set->n_rules, 1), sizeof(RuleState *));
        int r = states ? 0 : -ENOMEM;

        for (size_t i = 0; !r && i < set->n_rules; i++) {
                states[i] = state_new(automation, &set->rules[i]);
                r = states[i] ? find_jobs(automation, set, states[i], &set->rules[i]) : -ENOMEM;
        }
        for (size_t i = 0; r && states && i < set->n_rules; i++)
                state_free(states[i]);
        if (r)
                free(states);
        else
                *ret = states;
        return error_fold(r);
}

/* A switch that was thrown stays as it is unless the file has changed its mind. */
static void inherit(RuleState *state, const RuleState *old) {
        if (state->was_enabled == old->was_enabled)
                state->is_enabled = old->is_enabled;
        state->cooldown = old->cooldown;
        state->per_minute = old->per_minute;
        state->is_guarded = old->is_guarded;
        state->n_chain = old->n_chain;
        memcpy(state->task, old->task, sizeof(state->task));
        state->is_task_live = old->is_task_live;
        state->task_ended_ms = old->task_ended_ms;
        state->n_fired = old->n_fired;
        state->fired_us = old->fired_us;
        state->fired_ms = old->fired_ms;
}

void automation_free_states(Automation *automation) {
        for (size_t i = 0; automation->set && i < automation->set->n_rules; i++)
                state_free(automation->states[i]);
        free(automation->states);
        automation->states = NULL;
}

int automation_configure(Automation *automation, RuleSet *set) {
        RuleSet *old = automation->set;
        RuleState **states = NULL;
        int r = make_states(automation, set, &states);

        if (r) {
                rule_set_unref(set);
                return error_trace(r);
        }
        for (size_t i = 0; i < set->n_rules; i++) {
                RuleState *before = automation_find(automation, set->rules[i].id);
                states[i]->rule = &set->rules[i];
                if (before)
                        inherit(states[i], before);
        }
        automation_watch_close(automation);
        automation_free_states(automation);
        automation->states = states;
        automation->set = set;
        r = automation_cron_configure(automation, old);
        rule_set_unref(old);
        automation_say(automation, "Automation rules loaded: %zu", set->n_rules);
        if (automation->is_running)
                automation_start(automation);
        return error_trace(r);
}

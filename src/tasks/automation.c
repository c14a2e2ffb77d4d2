/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "tasks/automation"

#include "tasks/automation.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/time.h"

enum { MINUTE_MS = 60000, FIT_CHECKS_MAX = 10000 };

void automation_say(Automation *automation, const char *format, ...) {
        char line[1024];
        va_list args;

        va_start(args, format);
        vsnprintf(line, sizeof(line), format, args);
        va_end(args);
        if (automation->actions.log)
                automation->actions.log(automation->actions.user, line);
}

/* ---- what was done --------------------------------------------------------------------------- */

void automation_note(Automation *automation, Str rule, Str type, const char *status, const char *key,
                     const char *value) {
        char time[TIME_TEXT_MAX];
        Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        size_t at = (automation->execution_at + automation->n_executions) % AUTOMATION_EXECUTIONS;

        time_format_ms(loop_wall_us(automation->loop), time);
        jw_begin_object(&w);
        jw_field_str(&w, "ruleId", rule);
        jw_field_str(&w, "eventType", type);
        jw_field_cstr(&w, "status", status);
        jw_field_cstr(&w, "timestamp", time);
        if (key)
                jw_field_cstr(&w, key, value);
        jw_end_object(&w);
        if (w.failed || !buf_cstr(&text)) {
                buf_deinit(&text);
                return;
        }
        if (automation->n_executions == AUTOMATION_EXECUTIONS) {
                free(automation->executions[at]);
                automation->execution_at = (automation->execution_at + 1) % AUTOMATION_EXECUTIONS;
        } else
                automation->n_executions++;
        automation->executions[at] = text.data;
        automation_say(automation, "Rule " STR_FMT ": %s%s%s", STR_ARG(rule), status, value ? " " : "",
                       value ? value : "");
}

/* ---- rules ----------------------------------------------------------------------------------- */

RuleState *automation_find(const Automation *automation, Str id) {
        for (size_t i = 0; automation->set && i < automation->set->n_rules; i++)
                if (str_eq(automation->set->rules[i].id, id))
                        return automation->states[i];
        return NULL;
}

/* Whether this event may be the rule's own doing. Times that were set are nobody's doing. */
static bool follows_itself(const Automation *automation, const RuleState *state, const Event *event) {
        int64_t since_ms = loop_now_ms(automation->loop) - state->task_ended_ms;

        if (!state->task[0] || str_is(event->source, "schedule"))
                return false;
        return state->is_task_live || since_ms < automation->set->debounce_ms + AUTOMATION_SETTLE_MS;
}

static bool is_held_back(Automation *automation, RuleState *state, const Event *event,
                         const char **ret_why) {
        int64_t per_minute = automation->set->per_minute;

        *ret_why = NULL;
        state->n_chain = follows_itself(automation, state, event) ? state->n_chain + 1 : 0;
        if (state->n_chain > (unsigned)automation->set->chain_max)
                *ret_why = "it follows its own tasks";
        else if (!throttle_take(&state->per_minute, loop_now_ms(automation->loop), MINUTE_MS,
                                (unsigned)per_minute))
                *ret_why = "it fires too often";
        return *ret_why;
}

/* Everything after trigger and conditions. */
static void consider(Automation *automation, RuleState *state, Event *event) {
        const Rule *rule = state->rule;
        const char *why;

        if (!automation->is_running ||
            !cooldown_is_over(&state->cooldown, loop_now_ms(automation->loop), rule->cooldown_ms))
                return;
        if (rule->requires_approval) {
                automation_note(automation, rule->id, event->type, "skipped_no_approver", NULL, NULL);
                return;
        }
        if (is_held_back(automation, state, event, &why)) {
                if (!state->is_guarded) {
                        automation_note(automation, rule->id, event->type, "loop_guard", "error", why);
                        log_warning(automation->log, automation->dir, "rule held back id=" STR_FMT ": %s",
                                    STR_ARG(rule->id), why);
                }
                state->is_guarded = true;
                return;
        }
        state->is_guarded = false;
        cooldown_start(&state->cooldown, loop_now_ms(automation->loop));
        state->n_fired++;
        state->fired_us = loop_wall_us(automation->loop);
        automation_act(automation, state, event, 0);
}

static void on_quiet(Timer *timer) {
        RuleState *state = container_of(timer, RuleState, quiet);
        Event *event = steal(&state->pending);

        if (event && state->is_enabled && state->automation->is_enabled)
                consider(state->automation, state, event);
        event_unref(event);
}

static void take(Automation *automation, RuleState *state, Event *event) {
        if (!state->rule->debounce_ms) {
                consider(automation, state, event);
                return;
        }
        event_unref(state->pending);
        state->pending = event_ref(event);
        if (timer_set(&state->quiet, state->rule->debounce_ms))
                on_quiet(&state->quiet);
}

static void offer(void *user, Event *event) {
        Automation *automation = user;
        Json *json = NULL;

        automation_say(automation, "Event received: " STR_FMT " - " STR_FMT, STR_ARG(event->source),
                       STR_ARG(event->type));
        if (!automation->is_enabled || !automation->set)
                return;
        arena_reset(&automation->arena);
        if (json_parse(&automation->arena, event->text.data, event->text.n, NULL, &json, NULL))
                return;
        for (size_t i = 0; i < automation->set->n_rules; i++) {
                RuleState *state = automation->states[i];
                const char *error = NULL;
                if (state->is_enabled && rule_fits(state->rule, json, &error))
                        take(automation, state, event);
                if (error)
                        snprintf(state->error, sizeof(state->error), "%s", error);
        }
}

static void again(void *user, Event *event, Str rule, unsigned n_attempts) {
        Automation *automation = user;
        RuleState *state = automation_find(automation, rule);

        if (!automation->is_running)
                return;
        if (state && state->is_enabled && automation->is_enabled)
                automation_act(automation, state, event, n_attempts);
        else
                router_failed(&automation->router, event, rule, ROUTER_RETRIES + 1,
                              "the rule is gone or switched off");
}

void automation_push(Automation *automation, Str source, Str type, Str payload) {
        if (automation->is_running)
                router_push(&automation->router, source, type, payload);
}

void automation_task_ended(Automation *automation, Str id, const char *state, Str metadata) {
        _cleanup_(buf_deinit) Buf payload = BUF_NULL;
        JsonWriter w = JSON_WRITER(&payload);
        char type[32];

        for (size_t i = 0; automation->set && i < automation->set->n_rules; i++)
                if (str_is(id, automation->states[i]->task)) {
                        automation->states[i]->is_task_live = false;
                        automation->states[i]->task_ended_ms = loop_now_ms(automation->loop);
                }
        snprintf(type, sizeof(type), "task.%s", state);
        jw_begin_object(&w);
        jw_field_str(&w, "taskId", id);
        jw_field_cstr(&w, "state", state);
        jw_key(&w, "metadata");
        jw_raw(&w, metadata.n ? metadata : STR("{}"));
        jw_end_object(&w);
        if (!w.failed)
                automation_push(automation, STR("task"), str_from(type), buf_str(&payload));
}

bool automation_switch(Automation *automation, Str id, bool is_enabled) {
        RuleState *state = id.n ? automation_find(automation, id) : NULL;

        if (!id.n)
                automation->is_enabled = is_enabled;
        if (state)
                state->is_enabled = is_enabled;
        return !id.n || state;
}

/* ---- a new set ------------------------------------------------------------------------------- */

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
        timer_init(&state->quiet, automation->loop, on_quiet);
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
}

static void free_states(Automation *automation) {
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
        free_states(automation);
        automation->states = states;
        automation->set = set;
        r = automation_cron_configure(automation, old);
        rule_set_unref(old);
        automation_say(automation, "Automation rules loaded: %zu", set->n_rules);
        if (automation->is_running)
                automation_start(automation);
        return error_trace(r);
}

void automation_set_config_error(Automation *automation, const char *error) {
        free(automation->config_error);
        automation->config_error = error ? strdup(error) : NULL;
}

/* ---- life ------------------------------------------------------------------------------------ */

void automation_start(Automation *automation) {
        automation->is_running = true;
        if (!automation->set)
                return;
        automation_watch_open(automation);
        automation_cron_start(automation);
}

void automation_stop(Automation *automation) {
        automation->is_running = false;
        timer_clear(&automation->tick);
        automation_watch_close(automation);
        automation_forget_pending(automation);
}

int automation_new(Automation **ret, Loop *loop, Log *log, const char *dir, const RuleActions *actions) {
        static const RouterHandler handler = {.offer = offer, .again = again};
        Automation *automation = calloc(1, sizeof(*automation));

        if (!automation)
                return error_origin(-ENOMEM);
        automation->loop = loop;
        automation->log = log;
        automation->actions = *actions;
        automation->is_enabled = true;
        router_init(&automation->router, loop, &handler, automation);
        timer_init(&automation->tick, loop, automation_cron_tick);
        automation->dir = strdup(dir);
        if (!automation->dir) {
                automation_free(automation);
                return error_origin(-ENOMEM);
        }
        *ret = automation;
        return 0;
}

Automation *automation_free(Automation *automation) {
        if (!automation)
                return NULL;
        automation_stop(automation);
        router_deinit(&automation->router);
        free_states(automation);
        rule_set_unref(automation->set);
        for (size_t i = 0; i < automation->n_executions; i++)
                free(automation->executions[(automation->execution_at + i) % AUTOMATION_EXECUTIONS]);
        arena_deinit(&automation->arena);
        free(automation->jobs);
        free(automation->config_error);
        free(automation->dir);
        free(automation);
        return NULL;
}

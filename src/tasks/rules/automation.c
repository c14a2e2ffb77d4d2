/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "tasks/automation"

#include "tasks/rules/automation.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/time.h"

enum { MINUTE_MS = 60000 };

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

uint64_t automation_reserve(Automation *automation) {
        char **slot = &automation->executions[automation->n_noted % AUTOMATION_EXECUTIONS];

        free(*slot);
        *slot = NULL;
        return ++automation->n_noted;
}

static char *automation_write_note(const Automation *automation, const RuleNote *note) {
        char time[TIME_TEXT_MAX];
        Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        time_format_ms(loop_wall_us(automation->loop), time);
        jw_begin_object(&w);
        jw_field_str(&w, "ruleId", note->rule);
        jw_field_str(&w, "eventType", note->type);
        jw_field_cstr(&w, "status", note->status);
        jw_field_cstr(&w, "timestamp", time);
        if (note->key)
                jw_field_cstr(&w, note->key, note->value);
        if (note->n_attempts)
                jw_field_uint(&w, "attempts", note->n_attempts);
        if (note->is_pending)
                jw_field_bool(&w, "pending", true);
        jw_end_object(&w);
        if (w.failed || !buf_cstr(&text))
                buf_deinit(&text);
        return text.data;
}

void automation_note(Automation *automation, uint64_t number, const RuleNote *note) {
        uint64_t at = number ? number : automation_reserve(automation);
        char **slot = &automation->executions[(at - 1) % AUTOMATION_EXECUTIONS];

        if (automation->n_noted - at >= AUTOMATION_EXECUTIONS)
                return; /* forgotten meanwhile */
        free(*slot);
        *slot = automation_write_note(automation, note);
        automation_say(automation, "Rule " STR_FMT ": %s%s%s", STR_ARG(note->rule), note->status,
                       note->value ? " " : "", note->value ? note->value : "");
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

/* A file that was quiet for watch.debounce_ms has not changed since the rule fired: it is one of many that
 * changed together. */
static bool was_before(const Automation *automation, const RuleState *state, const Event *event) {
        return state->task[0] && str_is(event->source, "watch") &&
               loop_now_ms(automation->loop) - state->fired_ms < automation->set->debounce_ms;
}

static bool is_held_back(Automation *automation, RuleState *state, const Event *event,
                         const char **ret_why) {
        int64_t per_minute = automation->set->per_minute;

        *ret_why = NULL;
        if (!was_before(automation, state, event))
                state->n_chain = follows_itself(automation, state, event) ? state->n_chain + 1 : 0;
        if (state->n_chain > (unsigned)automation->set->chain_max)
                *ret_why = "it follows its own tasks";
        else if (state->rule->requires_approval && automation_is_asked_much(automation, state))
                *ret_why = "too many of its questions wait for an answer";
        else if (!throttle_take(&state->per_minute, loop_now_ms(automation->loop), MINUTE_MS,
                                (unsigned)per_minute))
                *ret_why = "it fires too often";
        return *ret_why;
}

void automation_fire(Automation *automation, RuleState *state, Event *event, uint64_t number) {
        cooldown_start(&state->cooldown, loop_now_ms(automation->loop));
        state->n_fired++;
        state->fired_ms = loop_now_ms(automation->loop);
        state->fired_us = loop_wall_us(automation->loop);
        automation_act(automation, state, event, 0, number);
}

/* Everything after trigger and conditions. */
static void consider(Automation *automation, RuleState *state, Event *event) {
        const Rule *rule = state->rule;
        const char *why;

        if (!automation->is_running ||
            !cooldown_is_over(&state->cooldown, loop_now_ms(automation->loop), rule->cooldown_ms))
                return;
        if (rule->requires_approval && !(automation->set->has_approver && automation->actions.ask)) {
                automation_note(automation, 0,
                                &(RuleNote){rule->id, event->type, .status = "skipped_no_approver"});
                return;
        }
        if (is_held_back(automation, state, event, &why)) {
                if (!state->is_guarded) {
                        automation_note(automation, 0,
                                        &(RuleNote){rule->id, event->type, "loop_guard", .key = "error",
                                                    .value = why});
                        log_warning(automation->log, automation->dir, "rule held back id=" STR_FMT ": %s",
                                    STR_ARG(rule->id), why);
                }
                state->is_guarded = true;
                return;
        }
        state->is_guarded = false;
        if (rule->requires_approval && rule->action != RULE_ACT_NOTHING)
                automation_ask(automation, state, event);
        else
                automation_fire(automation, state, event, automation_reserve(automation));
}

void automation_on_quiet(Timer *timer) {
        RuleState *state = container_of(timer, RuleState, quiet);
        Event *event = steal(&state->pending);

        if (event && state->is_enabled && state->automation->is_enabled)
                consider(state->automation, state, event);
        event_unref(event);
}

static void automation_take(Automation *automation, RuleState *state, Event *event) {
        if (!state->rule->debounce_ms) {
                consider(automation, state, event);
                return;
        }
        event_unref(state->pending);
        state->pending = event_ref(event);
        if (timer_set(&state->quiet, state->rule->debounce_ms))
                automation_on_quiet(&state->quiet);
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
                        automation_take(automation, state, event);
                if (error)
                        snprintf(state->error, sizeof(state->error), "%s", error);
        }
}

static void automation_again(void *user, const Letter *letter) {
        Automation *automation = user;
        Str rule = {letter->rule, letter->n_rule};
        RuleState *state = automation_find(automation, rule);

        if (!automation->is_running)
                return;
        if (state && state->is_enabled && automation->is_enabled)
                automation_act(automation, state, letter->event, letter->n_attempts, letter->tag);
        else
                automation_failed(automation, rule, letter->event, ROUTER_RETRIES + 1, letter->tag,
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

/* ---- life ------------------------------------------------------------------------------------ */

void automation_set_config_error(Automation *automation, const char *error) {
        free(automation->config_error);
        automation->config_error = error ? strdup(error) : NULL;
}

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

int automation_new(Automation **ret, Loop *loop, Log *log, WatchHub **hub, const char *dir,
                   const RuleActions *actions) {
        static const RouterHandler handler = {.offer = offer, .again = automation_again};
        Automation *automation = calloc(1, sizeof(*automation));

        if (!automation)
                return error_origin(-ENOMEM);
        automation->loop = loop;
        automation->log = log;
        automation->hub = hub;
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
        automation_free_states(automation);
        rule_set_unref(automation->set);
        for (size_t i = 0; i < AUTOMATION_EXECUTIONS; i++)
                free(automation->executions[i]);
        arena_deinit(&automation->arena);
        free(automation->jobs);
        free(automation->config_error);
        free(automation->dir);
        free(automation);
        return NULL;
}

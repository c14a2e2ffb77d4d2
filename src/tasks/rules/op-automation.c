/* SPDX-License-Identifier: MIT */
#include "base/time.h"
#include "gen/aiwg-ops.h"
#include "tasks/project.h"
#include "tasks/rules/automation.h"

static int64_t next_run(const Automation *automation, const RuleState *state) {
        int64_t next_us = -1;

        for (size_t i = 0; automation->set->is_scheduling && automation->jobs && i < state->n_jobs; i++) {
                int64_t job_us = automation->jobs[state->jobs[i]].next_us;
                if (job_us >= 0 && (next_us < 0 || job_us < next_us))
                        next_us = job_us;
        }
        return next_us;
}

/* The first six are the contract's, the rest is ours. */
static void write_rule(const Automation *automation, const RuleState *state, JsonWriter *w) {
        const Rule *rule = state->rule;
        int64_t next_us = next_run(automation, state);

        jw_begin_object(w);
        jw_field_str(w, "id", rule->id);
        jw_field_value(w, "trigger", rule->trigger_json);
        jw_field_value(w, "action", rule->action_json);
        jw_field_bool(w, "enabled", state->is_enabled);
        if (rule->cooldown_json)
                jw_field_value(w, "cooldownMs", rule->cooldown_json);
        else
                jw_field_int(w, "cooldownMs", 0);
        jw_field_bool(w, "requiresApproval", rule->requires_approval);
        jw_field_uint(w, "fired", state->n_fired);
        if (state->n_fired)
                jw_field_time_ms(w, "lastFired", state->fired_us);
        if (next_us >= 0)
                jw_field_time_ms(w, "nextRun", next_us);
        if (rule->is_broken || state->error[0])
                jw_field_cstr(w, "lastError", rule->is_broken ? rule->fault : state->error);
        jw_end_object(w);
}

static void write_rules(const Automation *automation, JsonWriter *w) {
        jw_key(w, "rules");
        jw_begin_array(w);
        for (size_t i = 0; automation->set && i < automation->set->n_rules; i++)
                write_rule(automation, automation->states[i], w);
        jw_end_array(w);
}

static void write_executions(const Automation *automation, JsonWriter *w) {
        size_t n_kept = MIN(automation->n_noted, (uint64_t)AUTOMATION_EXECUTIONS), n = 0;
        const char *shown[AUTOMATION_SHOWN];

        for (size_t i = 1; i <= n_kept && n < AUTOMATION_SHOWN; i++) {
                const char *text = automation->executions[(automation->n_noted - i) % AUTOMATION_EXECUTIONS];
                if (text)
                        shown[n++] = text;
        }
        jw_key(w, "recentExecutions");
        jw_begin_array(w);
        while (n)
                jw_raw(w, str_from(shown[--n]));
        jw_end_array(w);
}

static void write_router(const Router *router, JsonWriter *w) {
        jw_key(w, "events");
        jw_begin_object(w);
        jw_field_uint(w, "received", router->n_events);
        jw_field_uint(w, "dropped", router->n_dropped);
        jw_field_uint(w, "retrying", router->n_waiting);
        jw_field_uint(w, "dead", router->n_died);
        jw_end_object(w);
        jw_key(w, "deadLetters");
        router_write_dead(router, w, AUTOMATION_SHOWN);
}

void automation_write(const Automation *automation, JsonWriter *w) {
        jw_begin_object(w);
        jw_field_bool(w, "enabled", automation->is_enabled);
        jw_field_uint(w, "ruleCount", automation->set ? automation->set->n_rules : 0);
        write_rules(automation, w);
        write_executions(automation, w);
        write_router(&automation->router, w);
        if (automation->config_error)
                jw_field_cstr(w, "configError", automation->config_error);
        jw_end_object(w);
}

void automation_write_watcher(const Automation *automation, JsonWriter *w) {
        const RuleSet *set = automation->set;

        jw_begin_object(w);
        jw_field_bool(w, "enabled", set && set->is_watching);
        if (set && set->is_watching) {
                jw_key(w, "paths");
                jw_begin_array(w);
                for (size_t i = 0; i < set->n_watches; i++)
                        jw_str(w, set->watches[i].path);
                jw_end_array(w);
                jw_field_uint(w, "events_received", automation->n_file_events);
                jw_field_bool(w, "ready", automation_watch_is_ready(automation));
        }
        jw_end_object(w);
}

static void write_times(const Automation *automation, JsonWriter *w, const char *key, bool is_next) {
        char text[TIME_TEXT_MAX];

        jw_key(w, key);
        jw_begin_object(w);
        for (size_t i = 0; automation->jobs && i < automation->set->n_jobs; i++) {
                int64_t us = is_next ? automation->jobs[i].next_us : automation->jobs[i].fired_us;
                bool is_twice = false;

                for (size_t j = 0; j < i; j++)
                        is_twice |= str_eq(automation->set->jobs[i].id, automation->set->jobs[j].id);
                if (us <= 0 || is_twice)
                        continue;
                time_format_ms(us, text);
                jw_key_str(w, automation->set->jobs[i].id);
                jw_cstr(w, text);
        }
        jw_end_object(w);
}

void automation_write_scheduler(const Automation *automation, JsonWriter *w) {
        const RuleSet *set = automation->set;

        jw_begin_object(w);
        jw_field_bool(w, "enabled", set && set->is_scheduling);
        if (set && set->is_scheduling) {
                jw_field_uint(w, "jobs", set->n_jobs);
                write_times(automation, w, "last_fires", false);
                write_times(automation, w, "next_fires", true);
        }
        jw_end_object(w);
}

static Automation *op_automation_of(const Call *call) {
        const Project *project = call->client->endpoint->context;

        return project->automation;
}

int op_aiwg_automation_status(Call *call, _unused_ const AiwgAutomationStatusArgs *args) {
        automation_write(op_automation_of(call), call_result(call));
        return 0;
}

/*
 * The original answers {success} for one rule, the contract {enabled}: both are given. For a rule that is
 * not there `enabled` is the engine's.
 */
static int answer_switch(Call *call, Str id, bool is_enabled) {
        Automation *automation = op_automation_of(call);
        bool is_known = automation_switch(automation, id, is_enabled);
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_bool(w, "enabled", is_known ? is_enabled : automation->is_enabled);
        if (id.n)
                jw_field_bool(w, "success", is_known);
        jw_end_object(w);
        return 0;
}

int op_aiwg_automation_enable(Call *call, const AiwgAutomationEnableArgs *args) {
        return answer_switch(call, args->ruleId, true);
}

int op_aiwg_automation_disable(Call *call, const AiwgAutomationDisableArgs *args) {
        return answer_switch(call, args->ruleId, false);
}

int op_aiwg_automation_events(Call *call, const AiwgAutomationEventsArgs *args) {
        const Router *router = &op_automation_of(call)->router;
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_key(w, "events");
        router_write_events(router, w, args->limit ? (size_t)args->limit : ROUTER_HISTORY);
        jw_key(w, "deadLetters");
        router_write_dead(router, w, ROUTER_LETTERS);
        jw_end_object(w);
        return 0;
}

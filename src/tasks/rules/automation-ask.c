/* SPDX-License-Identifier: MIT */
/*
 * Rules that require approval, where the project has named an approver: a person is asked before the action. How, and
 * what becomes of the answer, is the business of whoever owns the engine (tasks/project-ask.c).
 */
#include <stdio.h>
#include <string.h>

#include "tasks/rules/automation.h"

static size_t automation_n_asked(const Automation *automation, const RuleState *state) {
        return automation->actions.n_asked
                       ? automation->actions.n_asked(automation->actions.user, state->rule->id)
                       : 0;
}

bool automation_is_asked_much(const Automation *automation, const RuleState *state) {
        return automation_n_asked(automation, state) >= AUTOMATION_ASKED_MAX;
}

void automation_asked(Automation *automation, const RuleQuestion *question, const char *approval,
                      const char *error) {
        RuleState *state = automation_find(automation, question->rule);

        if (error && state)
                snprintf(state->error, sizeof(state->error), "%s", error);
        automation_note(automation, question->number,
                        &(RuleNote){question->rule, question->event->type,
                                    error ? "error" : "awaiting_approval",
                                    .key = error ? "error" : "approval", .value = error ? error : approval});
}

/* The distance between two firings holds for questions, too: the clock of the first begins with its answer. */
void automation_ask(Automation *automation, const RuleState *state, Event *event) {
        _cleanup_(buf_deinit) Buf does = BUF_NULL;
        RuleQuestion question = {
                .rule = state->rule->id, .action = state->rule->action_json, .event = event};
        int r;

        if (state->rule->cooldown_ms && automation_n_asked(automation, state))
                return;
        question.number = automation_reserve(automation);
        r = automation_describe(state, event, &does);
        question.does = does.n ? buf_str(&does) : STR("");
        r = r ? r : automation->actions.ask(automation->actions.user, &question);
        if (r)
                automation_asked(automation, &question, NULL, strerror(-r));
}

static bool automation_is_action(const RuleState *state, const Json *action) {
        _cleanup_(buf_deinit) Buf now = BUF_NULL, then = BUF_NULL;

        return action && !json_write_es(&now, state->rule->action_json) && !json_write_es(&then, action) &&
               str_eq(buf_str(&now), buf_str(&then));
}

RuleState *automation_ready(const Automation *automation, Str id, const Json *action) {
        RuleState *state = automation_find(automation, id);

        return state && automation->is_running && automation->is_enabled && state->is_enabled &&
                               automation_is_action(state, action)
                       ? state
                       : NULL;
}

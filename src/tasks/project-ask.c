/* SPDX-License-Identifier: MIT */
/*
 * Rules that require approval, in a project that names an approver: what they would do is asked as an approval
 * (core/approval/approval.h), which outlives this daemon.
 *
 *   asked ──► awaiting_approval ─┬─ allowed ──► fires. A task is kept with the id of its approval, then the answer is
 *                                │              delivered: whoever dies between, the next daemon finds the task. Else
 *                                │              it is delivered first, and not done twice
 *                                ├─ denied, or nobody in a day ──► denied
 *                                └─ the rule is gone, off or another by then ──► error, and the answer is undeliverable
 *
 * The evidence holds all that the next daemon needs: the rule, its action, the event. The key begins with the digest of
 * the project's folder, since names of projects depend on who else is served.
 */
#define LOG_MODULE "tasks/ask"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "tasks/project-ask.h"

typedef struct RuleAsk RuleAsk;
struct RuleAsk {
        RuleAsk *next;
        Project *project; /* NULL: it has ended */
        ApprovalWait wait;
        struct RuleAsking *asking; /* on its way to the approvals; NULL: not any more */
        Event *event;
        uint64_t number;                                        /* of the execution */
        char key[RULE_ASK_KEY_MAX], id[APPROVAL_ID_DIGITS + 1]; /* id: "" until it is kept */
        bool is_decided;
        bool is_telling; /* that it has arrived is on its way to the disk */
        size_t n_rule;
        char rule[];
};

/* A question before the approvals are read; in its call's arena. */
typedef struct RuleAsking {
        Carry carry;
        RuleAsk *ask; /* NULL: asked, or nobody needs it any more */
        ApprovalAsk what;
} RuleAsking;

typedef struct RuleAsksLook { /* in its call's arena */
        Carry carry;
        Project *project;
} RuleAsksLook;

/* ---- life ------------------------------------------------------------------------------------ */

static RuleAsk *rule_ask_free(RuleAsk *ask) {
        RuleAsk **link = &ask->project->asks;

        while (*link != ask)
                link = &(*link)->next;
        *link = ask->next;
        approval_leave(&ask->wait);
        if (ask->asking)
                ask->asking->ask = NULL;
        ask->event = event_unref(ask->event);
        ask->project = NULL;
        if (!ask->is_telling)
                free(ask);
        return NULL;
}

static void rule_ask_asked(ApprovalWait *wait, int r);
static void rule_ask_decided(ApprovalWait *wait);

static RuleAsk *rule_ask_new(Project *project, Str rule, Event *event, uint64_t number) {
        RuleAsk *ask = calloc(1, sizeof(*ask) + rule.n + 1);

        if (!ask)
                return NULL;
        ask->project = project;
        ask->wait = (ApprovalWait){.asked = rule_ask_asked, .decided = rule_ask_decided};
        ask->event = event_ref(event);
        ask->number = number;
        ask->n_rule = rule.n;
        memcpy(ask->rule, rule.data, rule.n);
        ask->next = project->asks;
        project->asks = ask;
        return ask;
}

static Str rule_ask_rule(const RuleAsk *ask) {
        return (Str){ask->rule, ask->n_rule};
}

void project_asks_leave(Project *project) {
        while (project->asks)
                rule_ask_free(project->asks);
}

size_t project_asks_of(void *user, Str rule) {
        const Project *project = user;
        size_t n = 0;

        for (const RuleAsk *ask = project->asks; ask; ask = ask->next)
                n += !ask->is_decided && str_eq(rule_ask_rule(ask), rule);
        return n;
}

static RuleAsk *project_ask_find(const Project *project, uint64_t number) {
        RuleAsk *ask = project->asks;

        while (ask && !(ask->is_decided && ask->number == number))
                ask = ask->next;
        return ask;
}

Str project_ask_approval(const Project *project, uint64_t number) {
        const RuleAsk *ask = project_ask_find(project, number);

        return ask ? str_from(ask->id) : STR_NULL;
}

/* ---- decided --------------------------------------------------------------------------------- */

static void rule_ask_note(const RuleAsk *ask, const char *status, const char *error) {
        automation_note(ask->project->automation, ask->number,
                        &(RuleNote){rule_ask_rule(ask), ask->event->type, status,
                                    .key = error ? "error" : NULL, .value = error});
}

/* It arrived before it is carried out: what cannot be found again is not done twice. */
static void rule_ask_told(void *user, bool counts) {
        RuleAsk *ask = user;
        Project *project = ask->project;
        RuleState *state;
        Event *event;
        uint64_t number;

        ask->is_telling = false;
        if (!project) {
                free(ask);
                return;
        }
        state = automation_find(project->automation, rule_ask_rule(ask));
        if (!counts || !state)
                rule_ask_note(ask, "error", "the answer could not be kept");
        event = event_ref(ask->event);
        number = ask->number;
        rule_ask_free(ask);
        if (counts && state)
                automation_fire(project->automation, state, event, number);
        event_unref(event);
}

static void rule_ask_deny(RuleAsk *ask, Approval *approval) {
        rule_ask_note(ask, "denied", approval->why.n ? approval->why.data : NULL);
        approval_deliver(ask->wait.approvals, approval, STR("rule"), NULL, NULL);
        rule_ask_free(ask);
}

static void rule_ask_allow(RuleAsk *ask, Approval *approval) {
        static const char changed[] = "since it was asked, the rule was removed, switched off or changed";
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Project *project = ask->project;
        Json *evidence = NULL;
        RuleState *state;

        (void)json_parse(&arena, approval->evidence.data, approval->evidence.n, NULL, &evidence, NULL);
        state = automation_ready(project->automation, rule_ask_rule(ask), json_get(evidence, "action"));
        if (!state) {
                rule_ask_note(ask, "error", changed);
                approval_withdraw(ask->wait.approvals, approval, changed);
                rule_ask_free(ask);
        } else if (task_store_has_approval(&project->store, approval->id)) {
                approval_deliver(ask->wait.approvals, approval, STR("rule"), NULL, NULL);
                rule_ask_free(ask);
        } else if (state->rule->action == RULE_ACT_AGENT)
                automation_fire(project->automation, state, ask->event, ask->number);
        else {
                ask->is_telling = true;
                approval_deliver(ask->wait.approvals, approval, STR("rule"), rule_ask_told, ask);
        }
}

static void rule_ask_decided(ApprovalWait *wait) {
        RuleAsk *ask = container_of(wait, RuleAsk, wait);
        Approval *approval = wait->approval;
        const ApprovalOption *verdict = approval_verdict(approval);

        ask->is_decided = true;
        if (verdict && verdict->effect == APPROVAL_ALLOW)
                rule_ask_allow(ask, approval);
        else
                rule_ask_deny(ask, approval);
}

void project_ask_ended(void *user, uint64_t number, const char *error) {
        Project *project = user;
        RuleAsk *ask = project_ask_find(project, number);
        Approvals *approvals = project->daemon->approvals;
        size_t n;
        Approval *approval = ask && approvals_are_ready(approvals)
                                     ? approval_find(approvals, str_from(ask->id), &n)
                                     : NULL;

        if (approval && error)
                approval_withdraw(approvals, approval, "its action has failed");
        else if (approval)
                approval_deliver(approvals, approval, STR("rule"), NULL, NULL);
        if (ask)
                rule_ask_free(ask);
}

/* ---- asked ----------------------------------------------------------------------------------- */

static void rule_ask_tell(const RuleAsk *ask, const char *error) {
        automation_asked(
                ask->project->automation,
                &(RuleQuestion){.rule = rule_ask_rule(ask), .event = ask->event, .number = ask->number},
                ask->id, error);
}

static void rule_ask_fail(RuleAsk *ask, const char *error) {
        rule_ask_tell(ask, error);
        rule_ask_free(ask);
}

static void rule_ask_asked(ApprovalWait *wait, int r) {
        RuleAsk *ask = container_of(wait, RuleAsk, wait);

        if (r) {
                rule_ask_fail(ask, "nobody could be asked: the question was not kept");
                return;
        }
        memcpy(ask->id, wait->approval->id, sizeof(ask->id));
        rule_ask_tell(ask, NULL);
}

static const char *rule_ask_refused(int r) {
        switch (r) {
        case APPROVAL_E_TOO_MANY: return "nobody could be asked: too many questions wait for an answer";
        case APPROVAL_E_TOO_LONG: return "nobody could be asked: the event or the action is too long";
        default: return "nobody could be asked";
        }
}

static int rule_asking_ready(_unused_ Call *call, Approvals *approvals, const Carry *carry) {
        RuleAsking *asking = (RuleAsking *)container_of(carry, RuleAsking, carry);
        RuleAsk *ask = steal(&asking->ask);
        int r;

        if (!ask)
                return 0;
        ask->asking = NULL;
        r = approval_ask(approvals, &asking->what, &ask->wait);
        if (r)
                rule_ask_fail(ask, rule_ask_refused(r));
        return 0;
}

static void rule_asking_over(Call *call) {
        RuleAsking *asking = (RuleAsking *)container_of(call->target, RuleAsking, carry);

        if (!asking->ask)
                return;
        asking->ask->asking = NULL;
        rule_ask_fail(asking->ask, "nobody could be asked: approvals cannot be read now");
}

static int rule_ask_name(RuleAsk *ask) {
        char id[APPROVAL_ID_DIGITS + 1];
        int r = rule_ask_place(ask->project, ask->key);

        r = r ? r : id_hex(id, APPROVAL_ID_DIGITS);
        if (r)
                return error_trace(r);
        memcpy(ask->key + strlen(ask->key), id, sizeof(id));
        return 0;
}

int project_ask(void *user, const RuleQuestion *question) {
        Project *project = user;
        Call *call = call_of_ours(project->daemon, rule_asking_over);
        RuleAsking *asking = call ? arena_alloc(&call->arena, sizeof(*asking)) : NULL;
        RuleAsk *ask =
                asking ? rule_ask_new(project, question->rule, question->event, question->number) : NULL;
        int r = ask ? rule_ask_name(ask) : error_origin(-ENOMEM);

        r = r ? r : rule_ask_fill(call, project, question, ask->key, &asking->what);
        if (r) {
                if (ask)
                        rule_ask_free(ask);
                if (call) {
                        call->over = NULL;
                        call_finish(call, 0);
                }
                return error_trace(r);
        }
        asking->ask = ask;
        ask->asking = asking;
        call->target = &asking->carry;
        r = approvals_call(call, true, rule_asking_ready, &asking->carry);
        if (r != CALL_LATER)
                call_finish(call, r);
        return 0;
}

/* ---- of an earlier daemon -------------------------------------------------------------------- */

static bool rule_asks_have(const Project *project, Str key) {
        for (const RuleAsk *ask = project->asks; ask; ask = ask->next)
                if (str_is(key, ask->key))
                        return true;
        return false;
}

static bool rule_asks_want(const Project *project, const Approval *approval, Str place) {
        bool is_left = approval->state == APPROVAL_OPEN ||
                       ((approval->state == APPROVAL_ANSWERED || approval->state == APPROVAL_EXPIRED) &&
                        !approval->delivered_us);

        return is_left && approval->way == APPROVAL_BY_CORE && str_starts(approval->key, place) &&
               approval->key.n < RULE_ASK_KEY_MAX && !rule_asks_have(project, approval->key);
}

static void rule_asks_take(Project *project, Approvals *approvals, Approval *approval) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        int64_t now_us = loop_wall_us(project->daemon->loop);
        const Json *happened;
        Json *evidence = NULL;
        Event *event;
        RuleAsk *ask;
        Str payload;

        if (approval->state == APPROVAL_ANSWERED && approval->expires_us < now_us) {
                approval_withdraw(approvals, approval, "its project was not served in time");
                return;
        }
        (void)json_parse(&arena, approval->evidence.data, approval->evidence.n, NULL, &evidence, NULL);
        happened = json_get(evidence, "event");
        payload = json_raw(json_get(happened, "payload"));
        event = event_new(json_text_of(happened, "source"), json_text_of(happened, "type"),
                          payload.n ? payload : STR("null"), approval->asked_us);
        ask = event ? rule_ask_new(project, json_text_of(evidence, "rule"), event,
                                   automation_reserve(project->automation))
                    : NULL;
        event_unref(event);
        if (!ask)
                return;
        memcpy(ask->key, approval->key.data, approval->key.n);
        approval_join(approvals, approval, &ask->wait);
}

static int rule_asks_look(_unused_ Call *call, Approvals *approvals, const Carry *carry) {
        Project *project = container_of(carry, RuleAsksLook, carry)->project;
        Approval *approval, *before;
        char place[RULE_ASK_KEY_MAX];

        if (!project->is_open || rule_ask_place(project, place))
                return 0;
        for (approval = approval_last(approvals); approval; approval = before) {
                before = approval_before(approvals, approval);
                if (rule_asks_want(project, approval, str_from(place)))
                        rule_asks_take(project, approvals, approval);
        }
        return 0;
}

void project_asks_resume(Project *project) {
        Call *call = project->daemon->approvals ? call_of_ours(project->daemon, NULL) : NULL;
        RuleAsksLook *look = call ? arena_alloc(&call->arena, sizeof(*look)) : NULL;
        int r = 0;

        if (look) {
                *look = (RuleAsksLook){.project = project};
                r = approvals_call(call, false, rule_asks_look, &look->carry);
        }
        if (call && r != CALL_LATER)
                call_finish(call, r);
}

/* SPDX-License-Identifier: MIT */
/*
 * What a rule does when it fires: a task for an agent, a notice, a webhook. What fails and may succeed later
 * is tried again by the router.
 */
#define LOG_MODULE "tasks/automation"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/file.h"
#include "base/time.h"
#include "tasks/rules/automation.h"
#include "tasks/rules/webhook.h"

/* An action whose outcome is not known yet: a task on its way to the disk, or a webhook. */
struct PendingAct {
        PendingAct *next;
        Automation *automation;
        Webhook *webhook; /* NULL: a task */
        char task[AUTOMATION_ID_MAX];
        Event *event;
        unsigned n_attempts;
        uint64_t number; /* of its execution */
        size_t n_rule;
        char rule[];
};

static PendingAct *pending_new(Automation *automation, Str rule, Event *event, unsigned n_attempts,
                               uint64_t number) {
        PendingAct *pending = malloc(sizeof(*pending) + rule.n + 1);

        if (!pending)
                return NULL;
        *pending = (PendingAct){.next = automation->pending,
                                .automation = automation,
                                .event = event_ref(event),
                                .n_attempts = n_attempts,
                                .number = number,
                                .n_rule = rule.n};
        memcpy(pending->rule, rule.data, rule.n);
        automation->pending = pending;
        return pending;
}

static void pending_free(PendingAct *pending) {
        PendingAct **link = &pending->automation->pending;

        while (*link != pending)
                link = &(*link)->next;
        *link = pending->next;
        pending->automation->n_webhooks -= !!pending->webhook;
        event_unref(pending->event);
        free(pending);
}

/* ---- outcomes -------------------------------------------------------------------------------- */

static void automation_ended(const Automation *automation, uint64_t number, const char *error) {
        if (automation->actions.ended)
                automation->actions.ended(automation->actions.user, number, error);
}

static void succeed(Automation *automation, uint64_t number, const RuleNote *note) {
        RuleState *state = automation_find(automation, note->rule);

        if (state)
                state->error[0] = '\0';
        automation_note(automation, number, note);
        automation_ended(automation, number, NULL);
}

/* n_attempts: this one included; ROUTER_RETRIES + 1: there is no use in another one. A webhook counts as
 * sent until it is given up, as with the original, which never knows; what went wrong so far stands beside
 * it. */
void automation_failed(Automation *automation, Str rule, Event *event, unsigned n_attempts, uint64_t number,
                       const char *error) {
        RuleState *state = automation_find(automation, rule);
        bool is_again = router_failed(&automation->router, event, rule, n_attempts, number, error),
             is_pending = is_again && state && state->rule->action == RULE_ACT_WEBHOOK;

        if (state)
                snprintf(state->error, sizeof(state->error), "%s", error);
        automation_note(automation, number,
                        &(RuleNote){rule, event->type, is_pending ? "webhook_sent" : "error", .key = "error",
                                    .value = error,
                                    .n_attempts = n_attempts > ROUTER_RETRIES ? 0 : n_attempts,
                                    .is_pending = is_pending});
        log_warning(automation->log, automation->dir, "rule failed id=" STR_FMT " attempt=%u: %s",
                    STR_ARG(rule), n_attempts, error);
        if (!is_again)
                automation_ended(automation, number, error);
}

static Str action_text(const RuleState *state, const char *member) {
        return json_str(json_get(state->rule->action_json, member));
}

/* ---- agent ----------------------------------------------------------------------------------- */

static int write_metadata(Buf *out, const RuleState *state, const Event *event) {
        JsonWriter w = JSON_WRITER(out);

        jw_begin_object(&w);
        jw_field_str(&w, "ruleId", state->rule->id);
        jw_field_str(&w, "eventType", event->type);
        jw_end_object(&w);
        return w.failed ? -ENOMEM : 0;
}

static const char *submit_error(int r) {
        switch (r) {
        case RULE_SUBMIT_E_FULL: return "the queue is full";
        case RULE_SUBMIT_E_STOPPING: return "tasks are not taken now";
        case RULE_SUBMIT_E_INVALID: return "the prompt is too long";
        default: return strerror(-r);
        }
}

static int automation_act_submit(Automation *automation, const RuleState *state, const Json *json,
                                 PendingAct *pending) {
        _cleanup_(buf_deinit) Buf prompt = BUF_NULL, metadata = BUF_NULL;
        const Json *priority = json_get(state->rule->action_json, "priority");
        int r = rule_expand(&prompt, action_text(state, "prompt"), json);

        if (!r)
                r = write_metadata(&metadata, state, pending->event);
        if (r)
                return r;
        return automation->actions.submit(
                automation->actions.user,
                &(TaskRequest){.prompt = prompt.n ? buf_str(&prompt) : STR(""),
                               .agent = action_text(state, "agent"),
                               .priority = json_is(priority, JSON_NUMBER)
                                                   ? (Str){priority->text, priority->n}
                                                   : STR_NULL,
                               .metadata = buf_str(&metadata),
                               .number = pending->number,
                               .ret_id = pending->task});
}

static void act_agent(Automation *automation, RuleState *state, const Json *json, Event *event,
                      unsigned n_before, uint64_t number) {
        PendingAct *pending = pending_new(automation, state->rule->id, event, n_before + 1, number);
        int r = pending ? automation_act_submit(automation, state, json, pending) : -ENOMEM;

        if (!r) {
                memcpy(state->task, pending->task, sizeof(state->task));
                state->is_task_live = true;
                return; /* automation_task_kept() has the rest */
        }
        if (pending)
                pending_free(pending);
        automation_failed(automation, state->rule->id, event,
                          r == RULE_SUBMIT_E_INVALID ? ROUTER_RETRIES + 1 : n_before + 1, number,
                          submit_error(r));
}

void automation_task_kept(Automation *automation, Str id, int r) {
        PendingAct *pending = automation->pending;
        RuleState *state;
        Str rule;

        while (pending && !str_is(id, pending->task))
                pending = pending->next;
        if (!pending)
                return;
        rule = (Str){pending->rule, pending->n_rule};
        state = automation_find(automation, rule);
        if (r && state)
                state->is_task_live = false;
        if (r)
                automation_failed(automation, rule, pending->event, pending->n_attempts, pending->number,
                                  submit_error(r));
        else
                succeed(automation, pending->number,
                        &(RuleNote){rule, pending->event->type, "submitted", .key = "taskId",
                                    .value = pending->task});
        pending_free(pending);
}

/* ---- notice ---------------------------------------------------------------------------------- */

static void act_notify(Automation *automation, RuleState *state, const Json *json, Event *event,
                       unsigned n_before, uint64_t number) {
        _cleanup_(buf_deinit) Buf message = BUF_NULL;

        if (rule_expand(&message, action_text(state, "message"), json)) {
                automation_failed(automation, state->rule->id, event, n_before + 1, number, "out of memory");
                return;
        }
        automation->actions.notify(automation->actions.user,
                                   &(RuleNotice){.rule = state->rule->id,
                                                 .channel = action_text(state, "channel"),
                                                 .message = buf_str(&message),
                                                 .event = event->text});
        succeed(automation, number, &(RuleNote){state->rule->id, event->type, .status = "notified"});
}

/* ---- webhook --------------------------------------------------------------------------------- */

static void on_sent(void *user, const char *error) {
        PendingAct *pending = user;
        Str rule = {pending->rule, pending->n_rule};

        if (error)
                automation_failed(pending->automation, rule, pending->event, pending->n_attempts,
                                  pending->number, error);
        else
                succeed(pending->automation, pending->number,
                        &(RuleNote){rule, pending->event->type, .status = "webhook_sent"});
        pending_free(pending);
}

static int write_body(Buf *out, const RuleState *state, const Event *event) {
        JsonWriter w = JSON_WRITER(out);
        char time[TIME_TEXT_MAX];

        time_format_ms(event->wall_us, time);
        jw_begin_object(&w);
        jw_field_str(&w, "ruleId", state->rule->id);
        jw_field_cstr(&w, "timestamp", time);
        jw_key(&w, "event");
        jw_raw(&w, event->text);
        jw_end_object(&w);
        return w.failed ? -ENOMEM : 0;
}

/* Relative to the project; NULL: none was set. */
static int make_ca_path(const Automation *automation, char **ret) {
        Str path = automation->set->ca_file;

        if (path.n)
                *ret = path.data[0] == '/' ? strdup(path.data) : path_join(automation->dir, path.data);
        return path.n && !*ret ? -ENOMEM : 0;
}

static int send_webhook(Automation *automation, RuleState *state, PendingAct *pending,
                        char why[WEBHOOK_WHY_MAX]) {
        _cleanup_(buf_deinit) Buf body = BUF_NULL;
        _cleanup_(freep) char *ca_file = NULL;
        int r = write_body(&body, state, pending->event);

        if (!r)
                r = make_ca_path(automation, &ca_file);
        if (!r)
                r = webhook_send(&pending->webhook, automation->loop,
                                 &(WebhookSpec){.url = action_text(state, "url"),
                                                .body = buf_str(&body),
                                                .hosts = automation->set->hosts,
                                                .n_hosts = automation->set->n_hosts,
                                                .ca_file = ca_file,
                                                .done = on_sent,
                                                .user = pending},
                                 why);
        automation->n_webhooks += !r;
        return r;
}

static void act_webhook(Automation *automation, RuleState *state, Event *event, unsigned n_before,
                        uint64_t number) {
        char why[WEBHOOK_WHY_MAX] = "";
        PendingAct *pending;
        int r;

        if (automation->n_webhooks >= AUTOMATION_WEBHOOKS) {
                automation_failed(automation, state->rule->id, event, n_before + 1, number,
                                  "too many webhooks under way");
                return;
        }
        pending = pending_new(automation, state->rule->id, event, n_before + 1, number);
        r = pending ? send_webhook(automation, state, pending, why) : -ENOMEM;
        if (!r) {
                if (!n_before)
                        automation_note(automation, number,
                                        &(RuleNote){state->rule->id, event->type, .status = "webhook_sent",
                                                    .is_pending = true});
                return;
        }
        if (pending)
                pending_free(pending);
        automation_failed(automation, state->rule->id, event, r > 0 ? ROUTER_RETRIES + 1 : n_before + 1,
                          number, r > 0 ? why : strerror(-r));
}

void automation_forget_pending(Automation *automation) {
        while (automation->pending) {
                PendingAct *pending = automation->pending;
                if (pending->webhook)
                        webhook_cancel(pending->webhook);
                pending_free(pending);
        }
}

/* ---- all ------------------------------------------------------------------------------------- */

int automation_describe(const RuleState *state, const Event *event, Buf *out) {
        static const char *const members[] = {
                [RULE_ACT_AGENT] = "prompt", [RULE_ACT_NOTIFY] = "message", [RULE_ACT_WEBHOOK] = "url"};
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        RuleActionKind action = state->rule->action;
        Json *json = NULL;

        if (action == RULE_ACT_NOTHING)
                return 0;
        if (action == RULE_ACT_WEBHOOK)
                return error_trace(buf_append_str(out, action_text(state, members[action])));
        if (json_parse(&arena, event->text.data, event->text.n, NULL, &json, NULL))
                return error_origin(-ENOMEM);
        return error_trace(rule_expand(out, action_text(state, members[action]), json));
}

void automation_act(Automation *automation, RuleState *state, Event *event, unsigned n_before,
                    uint64_t number) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Json *json = NULL;

        if (json_parse(&arena, event->text.data, event->text.n, NULL, &json, NULL)) {
                automation_failed(automation, state->rule->id, event, n_before + 1, number, "out of memory");
                return;
        }
        switch (state->rule->action) {
        case RULE_ACT_AGENT: act_agent(automation, state, json, event, n_before, number); break;
        case RULE_ACT_NOTIFY: act_notify(automation, state, json, event, n_before, number); break;
        case RULE_ACT_WEBHOOK: act_webhook(automation, state, event, n_before, number); break;
        default:
                automation_note(automation, number,
                                &(RuleNote){state->rule->id, event->type, .status = "unknown_action_type"});
        }
}

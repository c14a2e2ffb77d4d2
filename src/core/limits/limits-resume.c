/* SPDX-License-Identifier: MIT */
/*
 * Who goes on when a limit is over: of each account one agent after the other, LIMIT_APART_MS apart, in the order in which they were stopped.
 * Each is looked at first: the same process, still stopped, nobody typed, no turn since.
 */
#define LOG_MODULE "core/limits"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/time.h"
#include "core/fleet/fleet.h"
#include "core/limits/limits-internal.h"
#include "core/usage/usage-book.h"

#define LIMIT_DAY_US (INT64_C(86400) * 1000000)

static bool limit_agent_waits(const LimitAgent *agent) {
        return agent->step == LIMIT_WAITS || agent->step == LIMIT_SELF || agent->step == LIMIT_ASKED ||
               agent->step == LIMIT_RESUMING;
}

/* ---- the end of waiting ---------------------------------------------------------------------- */

static void limit_agent_unask(LimitAgent *agent, const char *why) {
        Approval *approval = agent->ask.approval;

        approval_leave(&agent->ask);
        if (approval)
                approval_withdraw(agent->limits->daemon->approvals, approval, why);
}

void limit_agent_leave(LimitAgent *agent, const char *why) {
        limit_agent_unask(agent, why);
        agent->step = LIMIT_LEFT;
        agent->why = why;
        agent->limits->totals.n_left++;
        log_notice(&agent->limits->daemon->log, agent->process, "is not resumed: %s", why);
        limits_tell(agent->limits, str_from(agent->process), "left", agent, NULL);
        (void)limits_keep(agent->limits);
}

void limit_agent_went_on(LimitAgent *agent, const char *why) {
        if (agent->step == LIMIT_NONE)
                return;
        limit_agent_unask(agent, why);
        agent->step = LIMIT_NONE;
        agent->is_stopped = false;
        agent->why = NULL;
        (void)limits_keep(agent->limits);
        limits_pump(agent->limits);
}

/* ---- what holds for all ---------------------------------------------------------------------- */

/* Of a name in the last day. */
static size_t limits_n_resumed(const Limits *self, const char *name, int64_t now_us) {
        size_t n = 0;

        for (size_t i = 0; name && i < self->n_resumes; i++)
                n += now_us - self->resumes[i].at_us < LIMIT_DAY_US && !strcmp(self->resumes[i].name, name);
        return n;
}

static void limits_forget_resume(Limits *self) {
        free(self->resumes[0].name);
        self->n_resumes--;
        memmove(self->resumes, self->resumes + 1, self->n_resumes * sizeof(*self->resumes));
}

static int limits_note_resume(Limits *self, const LimitAgent *agent) {
        int64_t now_us = limits_now_us(self);

        while (self->n_resumes &&
               (self->n_resumes >= LIMIT_RESUMES_MAX || now_us - self->resumes[0].at_us >= LIMIT_DAY_US))
                limits_forget_resume(self);
        if (self->n_resumes == self->n_resumes_room) {
                size_t n = self->n_resumes_room + 16;
                LimitResume *more = realloc(self->resumes, n * sizeof(*more));

                if (!more)
                        return error_origin(-ENOMEM);
                self->resumes = more;
                self->n_resumes_room = n;
        }
        self->resumes[self->n_resumes] = (LimitResume){strdup(agent->name ? agent->name : ""), now_us};
        if (!self->resumes[self->n_resumes].name)
                return error_origin(-ENOMEM);
        self->n_resumes++;
        return 0;
}

bool limits_read_hours(const char *text, unsigned *ret_from, unsigned *ret_to) {
        unsigned from_h, from_m, to_h, to_m;
        int n = 0;

        if (sscanf(text, "%2u:%2u-%2u:%2u%n", &from_h, &from_m, &to_h, &to_m, &n) != 4 || text[n] ||
            from_h > 23 || to_h > 23 || from_m > 59 || to_m > 59)
                return false;
        *ret_from = from_h * 60 + from_m;
        *ret_to = to_h * 60 + to_m;
        return true;
}

/* "22:00-07:00": when the hours are over in which nobody is resumed; 0: it is none of them. */
static int64_t limits_quiet_us(const Limits *self, int64_t now_us) {
        const char *text = self->daemon->config.limits_quiet;
        unsigned now, from, to;
        Civil civil;

        if (!text || !limits_read_hours(text, &from, &to))
                return 0;
        civil = time_civil(now_us + (int64_t)zone_offset_s(&self->zone, now_us / 1000000) * 1000000);
        now = civil.hour * 60 + civil.minute;
        if (from <= to ? now < from || now >= to : now < from && now >= to)
                return 0;
        return now_us + (int64_t)((to + 1440 - now) % 1440) * 60000000 - (int64_t)civil.second * 1000000;
}

/* Claude Code goes on by itself from 2.1.234 on. */
static bool limit_agent_is_self(const LimitAgent *agent) {
        Str version = usage_book_version(agent->limits->daemon->usage, agent->process);
        unsigned major = 0, minor = 0, patch = 0;
        char text[32];

        if (strcmp(agent->runtime, "claude") != 0 || !version.n || version.n >= sizeof(text))
                return false;
        snprintf(text, sizeof(text), STR_FMT, STR_ARG(version));
        if (sscanf(text, "%9u.%9u.%9u", &major, &minor, &patch) != 3)
                return false;
        return major != 2 ? major > 2 : minor != 1 ? minor > 1 : patch >= 234;
}

/* Why it is not to be told anything; NULL: nothing speaks against it. */
static const char *limit_agent_obstacle(const LimitAgent *agent) {
        const Hosted *hosted = limit_agent_hosted(agent);

        if (!hosted)
                return "it has ended";
        if (hosted->agent->state.kind != AGENT_IS_LIMITED)
                return "it does something else by now";
        if (agent->is_typed || hosted->input_us > agent->since_us)
                return "somebody has typed there since";
        return hosted->kind == SHIM_PTY ? NULL : "it has no terminal";
}

/* ---- telling it ------------------------------------------------------------------------------ */

static void limit_on_told(Call *call) {
        if (call->error)
                log_warning(&call->daemon->log, "-", "an agent could not be resumed: " STR_FMT,
                            STR_ARG(call->message));
}

/* As whoever sends it a message: by its owner's own rules. */
static int limit_agent_tell(LimitAgent *agent, Hosted *hosted) {
        Daemon *daemon = agent->limits->daemon;
        Call *call = daemon->is_stopping ? NULL : call_of_ours(daemon, limit_on_told);
        FleetThing thing = {0};
        FleetMessage message = {.text = STR("continue"), .by = STR("user"), .priority = STR("normal")};
        int r;

        if (!call)
                return error_origin(-ENOMEM);
        message.key =
                arena_printf(&call->arena, "limit-%s-%lld", agent->process, (long long)agent->since_us);
        r = fleet_describe(daemon, hosted, &call->arena, &thing);
        if (!r && thing.owner && thing.owner->send)
                r = thing.owner->send(call, &thing, &message);
        else if (!r)
                r = call_fail(call, CALL_E_DOES_NOT_FIT, "it takes no messages");
        if (r != CALL_LATER)
                call_finish(call, r);
        return r == CALL_LATER ? 0 : r;
}

/* It is kept that it is told, so no later daemon does it; what has changed meanwhile counts. */
static void limit_agent_do(LimitAgent *agent) {
        const char *obstacle = limit_agent_obstacle(agent);

        if (obstacle) {
                limit_agent_leave(agent, obstacle);
                return;
        }
        agent->step = LIMIT_RESUMED;
        agent->why = NULL;
        if (limit_agent_tell(agent, limit_agent_hosted(agent))) {
                limit_agent_leave(agent, "it could not be told");
                return;
        }
        agent->limits->totals.n_resumed++;
        log_notice(&agent->limits->daemon->log, agent->process, "is resumed: its limit is over");
        limits_tell(agent->limits, str_from(agent->process), "resumed", agent, NULL);
        (void)limits_keep(agent->limits);
}

void limits_on_kept(Limits *self, int r) {
        for (LimitAgent *agent = self->agents, *next; agent; agent = next) {
                next = agent->next;
                if (agent->step != LIMIT_RESUMING || (!r && agent->number > self->kept))
                        continue;
                if (r)
                        limit_agent_leave(agent, "that it is resumed could not be kept");
                else
                        limit_agent_do(agent);
        }
}

void limit_agent_resume(LimitAgent *agent) {
        const char *obstacle = limit_agent_obstacle(agent);

        if (!obstacle && limits_note_resume(agent->limits, agent))
                obstacle = "no memory";
        if (obstacle) {
                limit_agent_leave(agent, obstacle);
                return;
        }
        agent->step = LIMIT_RESUMING;
        agent->number = agent->limits->wanted + 1;
        (void)limits_keep(agent->limits);
}

/* ---- asking a person ------------------------------------------------------------------------- */

static void limit_on_delivered(_unused_ void *user, _unused_ bool counts) {}

static void limit_on_decided(ApprovalWait *wait) {
        LimitAgent *agent = container_of(wait, LimitAgent, ask);
        Approval *approval = wait->approval;
        const ApprovalOption *option = approval_verdict(approval);
        bool is_allowed = option && option->effect == APPROVAL_ALLOW && approval->state == APPROVAL_ANSWERED;

        wait->approval = NULL;
        if (agent->step != LIMIT_ASKED && agent->step != LIMIT_WAITS)
                return;
        if (approval->state == APPROVAL_ANSWERED)
                approval_deliver(wait->approvals, approval, str_from(agent->process), limit_on_delivered,
                                 NULL);
        if (is_allowed)
                limit_agent_resume(agent);
        else
                limit_agent_leave(agent, "a person did not want it");
}

static void limit_on_asked(ApprovalWait *wait, int r) {
        LimitAgent *agent = container_of(wait, LimitAgent, ask);

        if (r) {
                limit_agent_leave(agent, "nobody could be asked");
                return;
        }
        agent->step = LIMIT_ASKED;
        agent->limits->totals.n_asked++;
        limits_tell(agent->limits, str_from(agent->process), "asked", agent, NULL);
        (void)limits_keep(agent->limits);
}

typedef struct LimitAsking { /* in the call's arena */
        Carry carry;
        char process[17];
} LimitAsking;

static int limit_ask_ready(Call *call, Approvals *approvals, const Carry *carry) {
        const LimitAsking *self = container_of(carry, LimitAsking, carry);
        LimitAgent *agent = limits_find(call->daemon->limits, self->process);
        ApprovalAsk ask = {
                .kind = STR("resume"),
                .way = APPROVAL_BY_CORE,
                .options = {{.id = STR("resume"), .label = STR("Continue"), .effect = APPROVAL_ALLOW},
                            {.id = STR("leave"), .label = STR("Leave it"), .effect = APPROVAL_DENY}},
                .n_options = 2};
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_end_object(w);
        if (!agent || agent->step != LIMIT_ASKED || !agent->name)
                return 0;
        ask.asker = str_from(agent->name);
        ask.key = arena_printf(&call->arena, "limit:%s:%lld", agent->process, (long long)agent->since_us);
        ask.title = arena_printf(&call->arena, "Its limit is over: continue %s?", agent->name);
        ask.body =
                arena_printf(&call->arena, "%s was stopped by a limit of %s.", agent->name, agent->account);
        agent->ask = (ApprovalWait){.asked = limit_on_asked, .decided = limit_on_decided};
        if (!ask.key.data || !ask.title.data || approval_ask(approvals, &ask, &agent->ask))
                limit_agent_leave(agent, "nobody could be asked");
        return 0;
}

static void limit_agent_ask(LimitAgent *agent) {
        Daemon *daemon = agent->limits->daemon;
        Call *call = call_of_ours(daemon, NULL);
        LimitAsking *self = call ? arena_alloc(&call->arena, sizeof(*self)) : NULL;
        int r = -ENOMEM;

        agent->step = LIMIT_ASKED;
        if (self) {
                *self = (LimitAsking){.process = ""};
                memcpy(self->process, agent->process, sizeof(self->process));
                r = approvals_call(call, true, limit_ask_ready, &self->carry);
        }
        if (r && r != CALL_LATER)
                limit_agent_leave(agent, "nobody could be asked");
        if (call && r != CALL_LATER)
                call_finish(call, r);
}

/* ---- turns ----------------------------------------------------------------------------------- */

static bool limits_resumes(const Limits *self, const char *word) {
        const char *how = self->daemon->config.limits_resume;

        return !strcmp(how ? how : "tasks", word);
}

static bool limits_ignores(const Limits *self, const char *account, int64_t now_us) {
        for (const LimitRow *row = self->rows; row; row = row->next)
                if (!strcmp(row->account, account) && limit_is_ignored(&row->limit, now_us))
                        return true;
        return false;
}

/* Its turn has come. */
static void limit_agent_try(LimitAgent *agent) {
        const Limits *self = agent->limits;
        int64_t now_us = limits_now_us(self), quiet_us = limits_quiet_us(self, now_us),
                most = self->daemon->config.limits_per_day;
        const char *obstacle = limit_agent_obstacle(agent);

        if (!obstacle && limits_ignores(self, agent->account, now_us))
                obstacle = "a person ignores the limit";
        if (obstacle || limits_resumes(self, "never")) {
                agent->tried_us = now_us;
                limit_agent_leave(agent, obstacle ? obstacle : "limits.resume is never");
        } else if (limit_agent_is_self(agent)) {
                agent->tried_us = now_us;
                agent->step = LIMIT_SELF;
                agent->due_us = now_us + LIMIT_SELF_MS * INT64_C(1000);
                (void)limits_keep(agent->limits);
        } else if (quiet_us)
                agent->due_us = quiet_us;
        else {
                agent->tried_us = now_us;
                if (limits_resumes(self, "all") &&
                    (int64_t)limits_n_resumed(self, agent->name, now_us) < (most > 0 ? most : LIMIT_PER_DAY))
                        limit_agent_resume(agent);
                else
                        limit_agent_ask(agent);
        }
}

/* Of its account, among those that wait. */
static bool limit_agent_is_first(const LimitAgent *agent) {
        for (const LimitAgent *other = agent->limits->agents; other; other = other->next)
                if (other != agent && other->step == LIMIT_WAITS && other->account && agent->account &&
                    !strcmp(other->account, agent->account) &&
                    (other->since_us < agent->since_us ||
                     (other->since_us == agent->since_us && strcmp(other->process, agent->process) < 0)))
                        return false;
        return true;
}

/* When the next one of this account may be told. */
static int64_t limits_next_us(const Limits *self, const char *account) {
        int64_t last_us = 0;

        for (const LimitAgent *agent = self->agents; agent; agent = agent->next)
                if (agent->account && agent->tried_us && !strcmp(agent->account, account))
                        last_us = MAX(last_us, agent->tried_us);
        return last_us && last_us <= limits_now_us(self) ? last_us + LIMIT_APART_MS * INT64_C(1000) : 0;
}

static int64_t limits_sooner(int64_t a_us, int64_t b_us) {
        return !a_us || (b_us && b_us < a_us) ? b_us : a_us;
}

/* Whom to look at again, and when; 0: nobody. */
static int64_t limits_pump_agent(LimitAgent *agent, int64_t now_us) {
        const LimitRow *row;
        int64_t due_us;

        if (agent->look_us && now_us >= agent->look_us) {
                agent->look_us = 0;
                limit_agent_look(agent);
        }
        if (agent->step == LIMIT_SELF) {
                if (now_us < agent->due_us)
                        return agent->due_us;
                limit_agent_leave(agent, "it continues by itself");
                return 0;
        }
        if (agent->step != LIMIT_WAITS || !agent->account || !limit_agent_is_first(agent))
                return 0;
        row = limits_hold_account(agent->limits, str_from(agent->account));
        if (row)
                return limit_until_us(&row->limit, now_us) + LIMIT_MARGIN_US;
        due_us = MAX(agent->due_us, limits_next_us(agent->limits, agent->account));
        if (now_us < due_us)
                return due_us;
        limit_agent_try(agent);
        return now_us + LIMIT_APART_MS * INT64_C(1000);
}

/* When the next row is over; tells of those that are. */
static int64_t limits_pump_rows(Limits *self, int64_t now_us, bool *ret_is_released) {
        int64_t next_us = 0;

        for (LimitRow *row = self->rows; row; row = row->next) {
                bool holds;

                limit_mend(&row->limit, now_us);
                holds = limit_holds(&row->limit, now_us);
                if (holds)
                        next_us = limits_sooner(next_us,
                                                limit_until_us(&row->limit, now_us) + LIMIT_MARGIN_US);
                if (row->was_held && !holds) {
                        *ret_is_released = true;
                        log_notice(&self->daemon->log, row->account, "limit over window=%s",
                                   row->limit.window);
                        limits_tell(self, str_from(row->account), "over", NULL, row);
                }
                row->was_held = holds;
        }
        return next_us;
}

void limits_pump(Limits *self) {
        int64_t now_us = limits_now_us(self), next_us;
        bool is_released = false;

        if (self->is_pumping || self->daemon->is_stopping)
                return;
        self->is_pumping = true; /* what it tells of comes back */
        next_us = limits_pump_rows(self, now_us, &is_released);
        for (LimitAgent *agent = self->agents, *next; agent; agent = next) {
                next = agent->next;
                next_us = limits_sooner(next_us, limits_pump_agent(agent, now_us));
                next_us = limits_sooner(next_us, agent->look_us);
        }
        self->is_pumping = false;
        if (next_us)
                (void)timer_set(&self->look, MIN(MAX((next_us - now_us + 999) / 1000, INT64_C(1)),
                                                 (int64_t)LIMIT_EVERY_MS));
        if (is_released && self->released)
                self->released(self->daemon);
}

void limits_on_look(Timer *timer) {
        limits_pump(container_of(timer, Limits, look));
}

/* ---- a person's word ------------------------------------------------------------------------- */

int limits_call_resume(Call *call, Str account, CallThenFn fn, const Carry *carry) {
        Limits *self = call->daemon->limits;

        for (LimitRow *row = self->rows; row; row = row->next)
                if (str_is(account, row->account))
                        row->limit.is_reached = false;
        for (LimitAgent *agent = self->agents; agent; agent = agent->next)
                if (agent->account && str_is(account, agent->account))
                        agent->due_us = 0;
        limits_pump(self);
        return limits_keep_call(self, call, fn, carry);
}

int limits_call_ignore(Call *call, Str account, CallThenFn fn, const Carry *carry) {
        Limits *self = call->daemon->limits;

        for (LimitRow *row = self->rows; row; row = row->next)
                if (str_is(account, row->account) && row->limit.is_reached)
                        limit_ignore(&row->limit, limits_now_us(self));
        for (LimitAgent *agent = self->agents; agent; agent = agent->next)
                if (agent->account && str_is(account, agent->account) && limit_agent_waits(agent))
                        limit_agent_leave(agent, "a person ignores the limit");
        limits_pump(self);
        return limits_keep_call(self, call, fn, carry);
}

int limits_call_resume_agent(Call *call, const Hosted *hosted, CallThenFn fn, const Carry *carry) {
        Limits *self = call->daemon->limits;
        LimitAgent *agent = limits_find(self, hosted->id);

        if (!agent || (agent->step != LIMIT_LEFT && !limit_agent_waits(agent)))
                return call_fail(call, CALL_E_DOES_NOT_FIT, "no limit has stopped it, or it has gone on");
        if (agent->step == LIMIT_RESUMING)
                return limits_keep_call(self, call, fn, carry);
        agent->is_typed = false; /* who says so has looked */
        agent->since_us = limits_now_us(self);
        limit_agent_unask(agent, "a person resumed it");
        limit_agent_resume(agent);
        if (agent->step != LIMIT_RESUMING)
                return call_fail(call, CALL_E_DOES_NOT_FIT, "%s",
                                 agent->why ? agent->why : "it has gone on");
        return limits_keep_call(self, call, fn, carry);
}

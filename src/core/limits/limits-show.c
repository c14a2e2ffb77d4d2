/* SPDX-License-Identifier: MIT */
/* What is asked of limits: whether something is held, and all that is known. */
#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "core/limits/limits-internal.h"

static const char *const limit_steps[] = {
        [LIMIT_NONE] = "none",   [LIMIT_WAITS] = "waits",       [LIMIT_SELF] = "self",
        [LIMIT_ASKED] = "asked", [LIMIT_RESUMING] = "resuming", [LIMIT_RESUMED] = "resumed",
        [LIMIT_LEFT] = "left"};

const char *limit_step_name(LimitStep step) {
        return limit_steps[step];
}

bool limits_is_holding(const Limits *self) {
        for (const LimitRow *row = self ? self->rows : NULL; row; row = row->next)
                if (limit_holds(&row->limit, limits_now_us(self)))
                        return true;
        for (const LimitAgent *agent = self ? self->agents : NULL; agent; agent = agent->next)
                if (agent->step == LIMIT_WAITS)
                        return true;
        return false;
}

const LimitRow *limits_hold_account(const Limits *self, Str account) {
        int64_t now_us = limits_now_us(self);
        const LimitRow *last = NULL;

        for (const LimitRow *row = self->rows; row; row = row->next)
                if (str_is(account, row->account) && limit_holds(&row->limit, now_us) &&
                    (!last || limit_until_us(&row->limit, now_us) > limit_until_us(&last->limit, now_us)))
                        last = row;
        return last;
}

const LimitRow *limits_hold_hosted(const Limits *self, const Hosted *hosted, bool *ret_is_waiting) {
        const LimitAgent *agent = limits_find(self, hosted->id);
        bool is_told = agent && (agent->step == LIMIT_RESUMED || agent->step == LIMIT_RESUMING);
        const LimitRow *row = agent && agent->account && !is_told
                                      ? limits_hold_account(self, str_from(agent->account))
                                      : NULL;

        *ret_is_waiting = !row && agent && agent->account && agent->step == LIMIT_WAITS;
        return row;
}

void limit_row_say(const LimitRow *row, int64_t now_us, char *out, size_t n) {
        char when[TIME_TEXT_MAX] = "";

        (void)time_format_s(limit_until_us(&row->limit, now_us), when);
        snprintf(out, n, "the %s limit of %s is reached; %s %s", row->limit.window, row->account,
                 row->limit.resets_us ? "it ends" : "it is tried again", when);
}

bool limits_knows(const Limits *self, Str account) {
        for (const LimitRow *row = self->rows; row; row = row->next)
                if (str_is(account, row->account))
                        return true;
        return false;
}

size_t limits_n_held(const Limits *self) {
        int64_t now_us = limits_now_us(self);
        size_t n = 0;

        for (const LimitRow *row = self->rows; row; row = row->next) {
                const LimitRow *before = self->rows;

                while (before != row &&
                       (strcmp(before->account, row->account) != 0 || !limit_holds(&before->limit, now_us)))
                        before = before->next;
                n += before == row && limit_holds(&row->limit, now_us);
        }
        return n;
}

LimitTotals limits_totals(const Limits *self) {
        return self->totals;
}

void limit_agent_write(const LimitAgent *agent, JsonWriter *w) {
        jw_field_cstr(w, "name", agent->name ? agent->name : agent->process);
        jw_field_cstr(w, "id", agent->process);
        if (agent->account)
                jw_field_cstr(w, "account", agent->account);
        jw_field_cstr(w, "step", limit_step_name(agent->step));
        if (agent->since_us)
                jw_field_time_ms(w, "since", agent->since_us);
        if (agent->why)
                jw_field_cstr(w, "why", agent->why);
}

static void limits_write_row(const LimitRow *row, int64_t now_us, JsonWriter *w) {
        const Limit *limit = &row->limit;

        jw_begin_object(w);
        jw_field_cstr(w, "account", row->account);
        limit_write_seen(w, limit);
        jw_field_bool(w, "reached", limit_holds(limit, now_us));
        if (limit_holds(limit, now_us))
                jw_field_time_ms(w, "until", limit_until_us(limit, now_us) + LIMIT_MARGIN_US);
        jw_field_bool(w, "ignored", limit_is_ignored(limit, now_us));
        jw_end_object(w);
}

void limits_write(const Limits *self, JsonWriter *w) {
        const char *how = self->daemon->config.limits_resume;

        jw_field_bool(w, "watched", self->is_on);
        jw_field_cstr(w, "resume", how ? how : "tasks");
        jw_key(w, "limits");
        jw_begin_array(w);
        for (const LimitRow *row = self->rows; row; row = row->next)
                limits_write_row(row, limits_now_us(self), w);
        jw_end_array(w);
        jw_key(w, "agents");
        jw_begin_array(w);
        for (const LimitAgent *agent = self->agents; agent; agent = agent->next)
                if (agent->step != LIMIT_NONE) {
                        jw_begin_object(w);
                        limit_agent_write(agent, w);
                        jw_end_object(w);
                }
        jw_end_array(w);
}

/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "core/limits"

#include "core/limits/limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/time.h"
#include "core/fleet/fleet.h"
#include "core/limits/limits-internal.h"
#include "core/runtimes.h"
#include "core/usage/agent-account.h"

int64_t limits_now_us(const Limits *self) {
        return loop_wall_us(self->daemon->loop);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void limits_free_row(LimitRow *row) {
        free(row->account);
        free(row);
}

static LimitRow *limits_row(const Limits *self, Str account, const char *window) {
        for (LimitRow *row = self->rows; row; row = row->next)
                if (str_is(account, row->account) && !strcmp(row->limit.window, window))
                        return row;
        return NULL;
}

static bool limits_remove_row(Limits *self, bool (*is_meant)(const LimitRow *row, const void *user),
                              const void *user) {
        for (LimitRow **link = &self->rows; *link; link = &(*link)->next)
                if (is_meant(*link, user)) {
                        LimitRow *gone = *link;

                        *link = gone->next;
                        self->n_rows--;
                        limits_free_row(gone);
                        return true;
                }
        return false;
}

static bool limits_is_over(const LimitRow *row, const void *user) {
        return !limit_holds(&row->limit, limits_now_us(user));
}

static bool limits_is_unknown(const LimitRow *row, const void *user) {
        return str_is(*(const Str *)user, row->account) && !strcmp(row->limit.window, LIMIT_UNKNOWN);
}

/* NULL: there is no room. */
static LimitRow *limits_add_row(Limits *self, Str account) {
        LimitRow *row;

        if (self->n_rows >= LIMITS_MAX && !limits_remove_row(self, limits_is_over, self))
                return NULL;
        row = calloc(1, sizeof(*row));
        if (row)
                row->account = str_dup(account);
        if (!row || !row->account) {
                free(row);
                return NULL;
        }
        row->limit.used_percent = -1;
        row->next = self->rows;
        self->rows = row;
        self->n_rows++;
        return row;
}

void limits_tell(Limits *self, Str owner, const char *kind, const LimitAgent *agent, const LimitRow *row) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        FeedPlace place;

        jw_begin_object(&w);
        if (row) {
                jw_field_cstr(&w, "account", row->account);
                limit_write(&w, &row->limit);
        }
        if (agent)
                limit_agent_write(agent, &w);
        jw_end_object(&w);
        feed_place(&place, "limit", owner, str_from(kind), FEED_NOWHERE);
        (void)feed_push(self->daemon->feed, &place, w.failed ? NULL : chunk_new(buf_str(&text)));
}

/* What says only that there is a limit tells nothing where another says which. */
static bool limits_is_said(const Limits *self, const LimitSeen *seen) {
        if (strcmp(seen->limit.window, LIMIT_UNKNOWN) != 0)
                return false;
        for (const LimitRow *row = self->rows; row; row = row->next)
                if (str_is(seen->account, row->account) && strcmp(row->limit.window, LIMIT_UNKNOWN) != 0 &&
                    row->limit.resets_us && limits_now_us(self) < row->limit.resets_us &&
                    row->limit.is_reached)
                        return true;
        return false;
}

void limits_see(Limits *self, const LimitSeen *seen) {
        int64_t now_us = limits_now_us(self);
        Limit limit = seen->limit;
        LimitRow *row;
        bool was_held;

        if (!self->is_on || !seen->account.n || limits_is_said(self, seen))
                return;
        limit.seen_us = MIN(limit.seen_us, now_us);
        if (limit.resets_us && limit.resets_us <= now_us && now_us - limit.seen_us > LIMIT_STALE_US)
                limit.is_reached = false;
        row = limits_row(self, seen->account, limit.window);
        if (!row)
                row = limits_add_row(self, seen->account);
        if (!row) {
                log_warning(&self->daemon->log, "-", "a limit is not followed: there are %d already",
                            LIMITS_MAX);
                return;
        }
        was_held = limit_holds(&row->limit, now_us);
        limit_take(&row->limit, &limit, now_us);
        if (limit.is_reached && strcmp(limit.window, LIMIT_UNKNOWN) != 0)
                (void)limits_remove_row(self, limits_is_unknown, &seen->account);
        self->totals.n_seen[limit.source]++;
        if (!was_held && limit_holds(&row->limit, now_us)) {
                row->was_held = true;
                log_notice(&self->daemon->log, row->account, "limit reached window=%s source=%s",
                           row->limit.window, limit_source_name(row->limit.source));
                limits_tell(self, str_from(row->account), "reached", NULL, row);
        }
        if (was_held || limit.is_reached) /* how much is used is told again */
                (void)limits_keep(self);
        limits_pump(self);
}

void limits_on_transcript(Daemon *daemon, const char *process, Str account, const TranscriptItem *item) {
        Limits *self = daemon->limits;
        LimitAgent *agent = self ? limits_find(self, process) : NULL;
        bool is_reached = false;

        for (unsigned i = 0; self && i < item->n_limits; i++) {
                const TranscriptLimit *said = &item->limits[i];
                LimitSeen seen = {account,
                                  {.used_percent = said->used_percent,
                                   .resets_us = said->resets_us,
                                   .seen_us = item->at_us ? item->at_us : limits_now_us(self),
                                   .source = LIMIT_BY_TRANSCRIPT,
                                   .is_reached = said->used_percent >= 100}};

                limit_put_window(&seen.limit, said->window_minutes);
                is_reached |= seen.limit.is_reached;
                limits_see(self, &seen);
        }
        if (agent && is_reached)
                limit_agent_look(agent); /* whether it was stopped by it */
}

/* ---- agents ---------------------------------------------------------------------------------- */

LimitAgent *limits_find(const Limits *self, const char *process) {
        for (LimitAgent *agent = self->agents; agent; agent = agent->next)
                if (!strcmp(agent->process, process))
                        return agent;
        return NULL;
}

const LimitAgent *limits_agent(const Limits *self, const char *process) {
        return self ? limits_find(self, process) : NULL;
}

Hosted *limit_agent_hosted(const LimitAgent *agent) {
        Host *host = agent->limits->daemon->host;
        Hosted *hosted = host ? host_find(host, str_from(agent->process)) : NULL;

        return hosted && hosted->state == HOSTED_RUNNING && hosted->agent ? hosted : NULL;
}

/* The whole name that it has; NULL without memory. */
static char *limits_name(const Limits *self, const Hosted *hosted) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        FleetThing thing = {0};

        if (fleet_describe(self->daemon, hosted, &arena, &thing))
                return NULL;
        return str_dup(thing.name.n ? thing.name : str_from(hosted->id));
}

/* The program, as its command or its hooks say; NULL: none that has accounts. */
static const char *limits_runtime(const Agent *agent, const AgentFact *fact) {
        const Runtime *runtime = runtime_find(str_from(fact->runtime));

        if (runtime && account_is_known(str_from(runtime->name)))
                return runtime->name;
        runtime = agent->hosted->command ? runtime_of_command(str_from(agent->hosted->command)) : NULL;
        return runtime && account_is_known(str_from(runtime->name)) ? runtime->name : NULL;
}

/* As it was started; of one that somebody has begun in it, or that was found again, it is looked up. */
static void limits_find_account(LimitAgent *agent, const Hosted *hosted) {
        size_t n = strlen(agent->runtime);

        if (hosted->account && !strncmp(hosted->account, agent->runtime, n) && hosted->account[n] == ':') {
                agent->account = strdup(hosted->account);
                agent->zone = hosted->zone ? strdup(hosted->zone) : NULL;
        } else
                limit_agent_seek(agent);
}

static LimitAgent *limits_meet(Limits *self, const Agent *of, const AgentFact *fact) {
        LimitAgent *agent = limits_find(self, of->hosted->id);
        const char *runtime = agent ? agent->runtime : limits_runtime(of, fact);

        if (!agent && runtime) {
                agent = calloc(1, sizeof(*agent));
                if (!agent)
                        return NULL;
                agent->limits = self;
                agent->runtime = runtime;
                snprintf(agent->process, sizeof(agent->process), "%s", of->hosted->id);
                agent->next = self->agents;
                self->agents = agent;
        }
        if (!agent)
                return NULL;
        if (!agent->name)
                agent->name = limits_name(self, of->hosted);
        if (!agent->account)
                limits_find_account(agent, of->hosted);
        limit_agent_listen(agent);
        return agent;
}

void limits_drop(Limits *self, LimitAgent *agent) {
        for (LimitAgent **link = &self->agents; *link; link = &(*link)->next)
                if (*link == agent) {
                        *link = agent->next;
                        break;
                }
        viewer_detach(&agent->viewer);
        approval_leave(&agent->ask);
        buf_deinit(&agent->line);
        free(agent->name);
        free(agent->account);
        free(agent->zone);
        loop_defer_free(self->daemon->loop, agent);
}

/* Which limit it is, and until when, its screen may say. */
static void limit_agent_count(LimitAgent *agent, LimitSource source, int64_t resets_us) {
        Limits *self = agent->limits;
        LimitSeen seen = {str_from(agent->account),
                          {.window = LIMIT_UNKNOWN,
                           .used_percent = -1,
                           .resets_us = resets_us,
                           .seen_us = limits_now_us(self),
                           .source = source,
                           .is_reached = true}};

        limits_see(self, &seen);
        limit_agent_look(agent);
}

void limit_agent_stop(LimitAgent *agent) {
        if (agent->step != LIMIT_WAITS) {
                agent->step = LIMIT_WAITS;
                agent->since_us = limits_now_us(agent->limits);
                agent->due_us = agent->look_us = 0;
                agent->n_looks = 0;
                agent->is_typed = false;
                agent->why = NULL;
        }
        agent->is_stopped = !agent->account;
        (void)limits_keep(agent->limits);
}

void limit_agent_known(LimitAgent *agent) {
        if (!agent->is_stopped)
                return;
        agent->is_stopped = false;
        limit_agent_count(agent, LIMIT_BY_HOOK, 0);
}

static void limits_on_stop(LimitAgent *agent, const AgentFact *fact) {
        limit_agent_stop(agent);
        if (agent->account && strcmp(fact->event, LIMIT_TEXT_EVENT) != 0)
                limit_agent_count(agent, fact->source == AGENT_PROTOCOL ? LIMIT_BY_PROTOCOL : LIMIT_BY_HOOK,
                                  fact->until_us);
        limits_pump(agent->limits);
}

void limits_on_fact(Agent *of, const AgentFact *fact) {
        Limits *self = agents_daemon(of->agents)->limits;
        LimitAgent *agent = self && self->is_on ? limits_meet(self, of, fact) : NULL;

        if (!agent)
                return;
        if (fact->kind == AGENT_ENDED || fact->kind == AGENT_LOST) {
                limit_agent_ended(agent);
                limit_agent_went_on(agent, "it has ended");
                return;
        }
        if (fact->is_sub || fact->verdict > AGENT_CONFIRMED)
                return;
        if (fact->kind == AGENT_LIMITED)
                limits_on_stop(agent, fact);
        else if (fact->kind == AGENT_FAILED || fact->kind == AGENT_QUIET)
                limit_agent_look(agent);
        else if (fact->kind == AGENT_TURN || fact->kind == AGENT_TOOL || fact->kind == AGENT_STOPPED)
                limit_agent_went_on(agent, "it went on");
}

void limits_on_still(Agent *of) {
        Limits *self = agents_daemon(of->agents)->limits;
        LimitAgent *agent = self && self->is_on ? limits_find(self, of->hosted->id) : NULL;

        if (agent)
                limit_agent_look(agent);
}

void limits_seated(Limits *self, const Hosted *hosted) {
        LimitAgent *agent = self ? limits_find(self, hosted->id) : NULL;
        bool waits = agent && (agent->step == LIMIT_WAITS || agent->step == LIMIT_ASKED ||
                               agent->step == LIMIT_SELF || agent->step == LIMIT_RESUMING);

        if (!waits || agent->is_typed || hosted->input_us <= agent->since_us)
                return;
        agent->is_typed = true;
        (void)limits_keep(self);
}

void limits_gone(Limits *self, const Hosted *hosted) {
        LimitAgent *agent = self ? limits_find(self, hosted->id) : NULL;

        if (agent && !self->daemon->is_stopping)
                limits_drop(self, agent);
        else if (agent)
                viewer_detach(&agent->viewer);
}

void limits_adopted_all(Limits *self) {
        for (LimitAgent *agent = self->agents, *next; agent; agent = next) {
                next = agent->next;
                if (!limit_agent_hosted(agent))
                        limits_drop(self, agent);
        }
        limits_pump(self);
}

/* ---- life ------------------------------------------------------------------------------------ */

void limits_on_release(Limits *self, void (*released)(Daemon *daemon)) {
        self->released = released;
}

Limits *limits_free(Limits *self) {
        if (!self)
                return NULL;
        timer_clear(&self->look);
        while (self->agents)
                limits_drop(self, self->agents);
        while (self->rows) {
                LimitRow *row = self->rows;

                self->rows = row->next;
                limits_free_row(row);
        }
        for (size_t i = 0; i < self->n_resumes; i++)
                free(self->resumes[i].name);
        free(self->resumes);
        limit_texts_deinit(&self->texts);
        zone_deinit(&self->zone);
        buf_deinit(&self->text);
        free(self->folder);
        free(self->path);
        free(self);
        return NULL;
}

static void limits_check_hours(Daemon *daemon) {
        const char *text = daemon->config.limits_quiet;
        unsigned from, to;

        if (text && !limits_read_hours(text, &from, &to))
                log_warning(&daemon->log, "-",
                            "limits.quiet_hours is no HH:MM-HH:MM, and does not count: %s", text);
}

int limits_new(Limits **ret, Daemon *daemon) {
        const char *zone = getenv("TZ");
        Limits *self = calloc(1, sizeof(*self));
        int r;

        if (!self)
                return error_origin(-ENOMEM);
        self->daemon = daemon;
        self->is_on = !daemon->config.limits_watch || strcmp(daemon->config.limits_watch, "off") != 0;
        limits_check_hours(daemon);
        timer_init(&self->look, daemon->loop, limits_on_look);
        self->folder = path_join(daemon->home, "usage");
        self->path = self->folder ? path_join(self->folder, "limits.json") : NULL;
        r = self->path ? limit_texts_read_ours(&self->texts) : -ENOMEM;
        if (!r && !zone_load(&self->zone, str_from(zone)))
                (void)zone_read_text(&self->zone, STR("UTC0"));
        if (!r && self->is_on)
                r = limits_load(self);
        if (r) {
                limits_free(self);
                return error_trace(r);
        }
        *ret = self;
        return 0;
}

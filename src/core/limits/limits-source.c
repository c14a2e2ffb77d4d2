/* SPDX-License-Identifier: MIT */
/* Where limits are found: the account of a process, what its screen shows, what one without a terminal printed last. */
#define LOG_MODULE "core/limits"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/limits/limits-internal.h"
#include "core/term/screen.h"
#include "core/usage/agent-account.h"

/* ---- the account ----------------------------------------------------------------------------- */

typedef struct LimitSeek { /* on a worker */
        Limits *limits;
        char process[17];
        const char *runtime;
        pid_t pid;
        char *account, *zone;
} LimitSeek;

static void limit_seek_run(void *user) {
        LimitSeek *seek = user;

        seek->account = account_of_process(str_from(seek->runtime), seek->pid, &seek->zone);
}

static void limit_seek_done(void *user) {
        LimitSeek *seek = user;
        LimitAgent *agent =
                seek->limits->daemon->is_stopping ? NULL : limits_find(seek->limits, seek->process);

        if (agent) {
                agent->is_seeking = false;
                if (!agent->account) {
                        agent->account = steal(&seek->account);
                        agent->zone = steal(&seek->zone);
                        limit_agent_known(agent);
                }
        }
        free(seek->account);
        free(seek->zone);
        free(seek);
}

void limit_agent_seek(LimitAgent *agent) {
        Hosted *hosted = agent->is_seeking ? NULL : limit_agent_hosted(agent);
        LimitSeek *seek = hosted ? calloc(1, sizeof(*seek)) : NULL;

        if (!seek)
                return;
        *seek = (LimitSeek){
                .limits = agent->limits, .runtime = agent->runtime, .pid = hosted_agent_pid(hosted)};
        memcpy(seek->process, agent->process, sizeof(seek->process));
        if (loop_work(agent->limits->daemon->loop, limit_seek_run, limit_seek_done, seek))
                free(seek); /* the next fact tries again */
        else
                agent->is_seeking = true;
}

/* ---- what is shown --------------------------------------------------------------------------- */

typedef struct LimitLook {
        Limits *limits;
        ScreenWait wait;
        char process[17];
        const char *runtime;
        char *account, *zone;
        bool is_screen;
        Buf bytes;
        unsigned cols, rows;
        int64_t now_us;

        bool is_found; /* by the worker */
        LimitFound found;
        int64_t resets_us; /* 0: it does not say, or not in a way that is understood */
} LimitLook;

static void limit_look_free(LimitLook *look) {
        buf_deinit(&look->bytes);
        free(look->account);
        free(look->zone);
        free(look);
}

static int limit_look_draw(const LimitLook *look, Buf *out) {
        Screen *screen = NULL;
        unsigned row, col;
        int r = screen_new(&screen, look->cols, look->rows, NULL);

        if (r)
                return error_trace(r);
        screen_feed(screen, buf_str(&look->bytes));
        r = screen_plain(screen, out, &row, &col);
        screen_free(screen);
        return error_trace(r);
}

/* In the zone that it names; else as clocks show it where the agent runs. */
static void limit_look_time(LimitLook *look) {
        Str name = look->found.time.zone.n ? look->found.time.zone : str_from(look->zone);
        Zone zone;

        if (!zone_load(&zone, name.n ? name : str_from(getenv("TZ"))))
                return;
        look->resets_us = limit_time_us(&look->found.time, &zone, look->now_us);
        zone_deinit(&zone);
}

static void limit_look_run(void *user) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        LimitLook *look = user;
        Str shown = buf_str(&look->bytes);

        if (look->is_screen) {
                if (limit_look_draw(look, &text))
                        return;
                shown = buf_str(&text);
        }
        look->is_found = limit_text_find(&look->limits->texts, str_from(look->runtime), shown, &look->found);
        if (look->is_found && look->found.has_time)
                limit_look_time(look);
}

/* A sentence counts once, and only where something else says that the turn is over: an error, a limit, silence where nothing but
 * output is known, the program's own count in its transcript, or the dialog in which the program asks what to do. */
static bool limit_look_counts(const LimitLook *look, LimitAgent *agent) {
        const Hosted *hosted = limit_agent_hosted(agent);
        const AgentState *state = hosted ? &hosted->agent->state : NULL;
        const LimitRow *row = limits_hold_account(agent->limits, str_from(look->account));
        bool is_counted = agent->hash == look->found.hash;

        if (!state)
                return false;
        if (is_counted &&
            (agent->hash_us != agent->since_us || agent->step == LIMIT_NONE || agent->step > LIMIT_ASKED))
                return false;
        return state->kind == AGENT_IS_LIMITED || state->kind == AGENT_IS_ERROR ||
               (state->kind == AGENT_IS_WORKING && look->found.is_asked) ||
               (state->kind == AGENT_IS_IDLE && state->source == AGENT_OUTPUT) ||
               (row && row->limit.source == LIMIT_BY_TRANSCRIPT);
}

/* The state is `limited`, until then. */
static void limit_look_say(const LimitLook *look, LimitAgent *agent) {
        Agent *of = limit_agent_hosted(agent)->agent;
        AgentFact fact = {.at_us = limits_now_us(agent->limits),
                          .source = of->state.kind == AGENT_IS_LIMITED ? of->state.source
                                    : of->state.source == AGENT_OUTPUT ? AGENT_OUTPUT
                                                                       : AGENT_HOOK,
                          .kind = AGENT_LIMITED};
        const LimitRow *row = limits_hold_account(agent->limits, str_from(look->account));

        if (of->state.kind == AGENT_IS_LIMITED) {
                agent_limited_until(of, row ? row->limit.resets_us : 0);
                return;
        }
        fact.until_us = row ? row->limit.resets_us : 0;
        agent_put(fact.event, STR(LIMIT_TEXT_EVENT));
        agent_put(fact.detail, str_from(look->found.window));
        agent_put(fact.runtime, str_from(agent->runtime));
        agent_put(fact.session, str_from(of->state.session));
        limit_agent_stop(agent);
        agent_take(of, &fact);
}

static void limit_look_take(const LimitLook *look) {
        LimitAgent *agent = limits_find(look->limits, look->process);
        LimitSeen seen = {str_from(look->account),
                          {.used_percent = -1,
                           .resets_us = look->resets_us,
                           .seen_us = look->now_us,
                           .source = LIMIT_BY_TEXT,
                           .is_reached = true}};

        memcpy(seen.limit.window, look->found.window, sizeof(seen.limit.window));
        if (look->is_screen && (!agent || !limit_look_counts(look, agent)))
                return;
        if (!limits_hold_account(look->limits, seen.account) ||
            limits_hold_account(look->limits, seen.account)->limit.source < LIMIT_BY_TRANSCRIPT)
                limits_see(look->limits, &seen);
        if (!look->is_screen)
                return;
        limit_look_say(look, agent);
        agent->hash = look->found.hash;
        agent->hash_us = agent->since_us;
        (void)limits_keep(look->limits);
}

/* A program may tell of the limit before it prints anything of it. */
static void limit_look_later(LimitAgent *agent) {
        static const int64_t waits_s[] = {1, 5, 20};
        const LimitRow *row = limits_hold_account(agent->limits, str_from(agent->account));

        if (agent->step != LIMIT_WAITS || !row || row->limit.resets_us ||
            agent->n_looks == ARRAY_SIZE(waits_s))
                return;
        agent->look_us = limits_now_us(agent->limits) + waits_s[agent->n_looks++] * 1000000;
        limits_pump(agent->limits);
}

static void limit_look_done(void *user) {
        LimitLook *look = user;
        LimitAgent *agent = limits_find(look->limits, look->process);
        bool is_again = agent && agent->is_to_look;

        if (agent)
                agent->is_looking = agent->is_to_look = false;
        if (look->is_found && !look->limits->daemon->is_stopping)
                limit_look_take(look);
        else if (agent && look->is_screen && agent->account)
                limit_look_later(agent);
        agent = is_again && !look->limits->daemon->is_stopping ? limits_find(look->limits, look->process)
                                                               : NULL;
        limit_look_free(look);
        if (agent)
                limit_agent_look(agent);
}

static void limit_look_begin(LimitLook *look) {
        LimitAgent *agent = limits_find(look->limits, look->process);

        if (!loop_work(look->limits->daemon->loop, limit_look_run, limit_look_done, look))
                return;
        if (agent)
                agent->is_looking = false;
        limit_look_free(look);
}

static void limit_look_drawn(ScreenWait *wait, ScreenDrawn *drawn) {
        LimitLook *look = container_of(wait, LimitLook, wait);

        if (buf_append_str(&look->bytes, buf_str(&drawn->text)))
                buf_deinit(&look->bytes);
        limit_look_begin(look);
}

/* NULL: nothing can be looked for. */
static LimitLook *limit_look_new(const LimitAgent *agent) {
        LimitLook *look = agent->account ? calloc(1, sizeof(*look)) : NULL;

        if (!look)
                return NULL;
        *look = (LimitLook){.limits = agent->limits,
                            .runtime = agent->runtime,
                            .account = strdup(agent->account),
                            .zone = agent->zone ? strdup(agent->zone) : NULL,
                            .now_us = limits_now_us(agent->limits)};
        memcpy(look->process, agent->process, sizeof(look->process));
        if (look->account)
                return look;
        limit_look_free(look);
        return NULL;
}

/* What is shown may have changed since a look that is under way has begun: then there is another one behind it. */
void limit_agent_look(LimitAgent *agent) {
        Hosted *hosted = agent->is_looking ? NULL : limit_agent_hosted(agent);
        LimitLook *look = hosted && hosted->kind == SHIM_PTY ? limit_look_new(agent) : NULL;

        agent->is_to_look = agent->is_looking;
        if (!look)
                return;
        look->is_screen = true;
        look->cols = hosted->cols ? hosted->cols : HOST_COLS;
        look->rows = hosted->rows ? hosted->rows : HOST_ROWS;
        look->wait = (ScreenWait){.frame = chunk_new, .drawn = limit_look_drawn};
        agent->is_looking = true;
        if (screen_wait(&look->wait, hosted, (uint32_t)hosted->pid)) {
                agent->is_looking = false;
                limit_look_free(look);
        }
}

/* ---- without a terminal ---------------------------------------------------------------------- */

/* One that failed: what it printed last, as people would look at it. */
void limit_agent_ended(LimitAgent *agent) {
        Host *host = agent->limits->daemon->host;
        const Hosted *hosted = host ? host_find(host, str_from(agent->process)) : NULL;
        LimitLook *look;

        viewer_detach(&agent->viewer);
        if (!hosted || hosted->kind != SHIM_PIPES || hosted_exit_code(hosted) <= 0)
                return;
        look = limit_look_new(agent);
        if (!look)
                return;
        if (buf_append_str(&look->bytes, hosted_scrollback(hosted, LIMIT_TAIL_MAX)) ||
            buf_append_str(&look->bytes, STR("\n")) || buf_append_str(&look->bytes, hosted_stderr(hosted))) {
                limit_look_free(look);
                return;
        }
        limit_look_begin(look);
}

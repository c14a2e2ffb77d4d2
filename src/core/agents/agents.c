/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "core/agents"

#include "core/agents/agents.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "core/agents/agents-internal.h"
#include "core/fleet/fleet.h"

Daemon *agents_daemon(const Agents *agents) {
        return agents->daemon;
}

static int64_t agent_now_us(const Agent *agent) {
        return loop_wall_us(agent->agents->daemon->loop);
}

static bool agent_is_live(const Agent *agent) {
        return agent->hosted->state == HOSTED_STARTING || agent->hosted->state == HOSTED_RUNNING;
}

/* ---- what is known of one -------------------------------------------------------------------- */

Agent *agent_of(Hosted *hosted) {
        return hosted->agent;
}

AgentHooks agent_hooks(const Agent *agent) {
        if (agent->has_heard)
                return AGENT_HOOKS_HEARD;
        if (!agent->expects_hooks)
                return AGENT_HOOKS_NONE;
        return hosted_age_ms(agent->hosted) > AGENT_SILENT_MS ? AGENT_HOOKS_SILENT : AGENT_HOOKS_EXPECTED;
}

const char *agent_hooks_name(AgentHooks hooks) {
        static const char *const names[] = {[AGENT_HOOKS_NONE] = "none",
                                            [AGENT_HOOKS_EXPECTED] = "expected",
                                            [AGENT_HOOKS_HEARD] = "heard",
                                            [AGENT_HOOKS_SILENT] = "silent"};

        return names[hooks];
}

const char *agent_doubt(const Agent *agent) {
        AgentEvidence evidence = {.now_us = agent_now_us(agent),
                                  .output_us = agent->hosted->output_us,
                                  .input_us = agent->hosted->input_us};

        return agent_state_doubt(&agent->state, &evidence);
}

size_t agent_n_facts(const Agent *agent) {
        return MIN(agent->n_facts, (size_t)AGENT_FACTS_MAX);
}

const AgentFact *agent_fact_at(const Agent *agent, size_t i) {
        return &agent->facts[agent->n_facts <= AGENT_FACTS_MAX ? i : (agent->n_facts + i) % AGENT_FACTS_MAX];
}

static void agents_field(JsonWriter *w, const char *key, const char *text) {
        if (*text)
                jw_field_cstr(w, key, text);
}

void agent_write(JsonWriter *w, const Agent *agent) {
        const AgentState *state = &agent->state;
        const char *doubt = agent_doubt(agent);

        jw_begin_object(w);
        jw_field_cstr(w, "state", agent_state_name(state->kind));
        agents_field(w, "detail", state->detail);
        jw_field_time_ms(w, "since", state->since_us);
        jw_field_cstr(w, "source", agent_source_name(state->source));
        jw_field_time_ms(w, "at", state->at_us);
        jw_field_int(w, "age_s", MAX((agent_now_us(agent) - state->at_us) / 1000000, (int64_t)0));
        jw_field_bool(w, "doubt", doubt != NULL);
        if (doubt)
                jw_field_cstr(w, "why", doubt);
        agents_field(w, "runtime", state->runtime);
        agents_field(w, "session", state->session);
        agents_field(w, "turn", state->turn);
        if (state->n_background)
                jw_field_uint(w, "background", state->n_background);
        if (state->until_us)
                jw_field_time_ms(w, "until", state->until_us);
        jw_field_cstr(w, "hooks", agent_hooks_name(agent_hooks(agent)));
        jw_end_object(w);
}

/* ---- facts ----------------------------------------------------------------------------------- */

/* The oldest goes when there are AGENT_FACTS_MAX. Without memory it is not remembered, but counts. */
void agent_remember(Agent *agent, const AgentFact *fact) {
        if (agent->n_facts >= agent->n_room && agent->n_room < AGENT_FACTS_MAX) {
                size_t n = MIN(MAX(agent->n_room * 2, (size_t)4), (size_t)AGENT_FACTS_MAX);
                AgentFact *more = realloc(agent->facts, n * sizeof(*more));

                if (!more)
                        return;
                agent->facts = more;
                agent->n_room = n;
        }
        agent->facts[agent->n_facts % AGENT_FACTS_MAX] = *fact;
        agent->n_facts++;
}

static void agent_announce(Agent *agent) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        Daemon *daemon = agent->agents->daemon;
        FeedPlace place;
        FleetThing thing = {0};

        agent->was_doubtful = agent_doubt(agent) != NULL;
        if (fleet_describe(daemon, agent->hosted, &arena, &thing))
                return;
        jw_begin_object(&w);
        jw_field_cstr(&w, "id", agent->hosted->id);
        if (thing.name.n)
                jw_field_str(&w, "name", thing.name);
        jw_key(&w, "agent");
        agent_write(&w, agent);
        jw_end_object(&w);
        feed_place(&place, "agent", str_from(agent->hosted->id), STR("state"), FEED_NOWHERE);
        (void)feed_push(daemon->feed, &place, w.failed ? NULL : chunk_new(buf_str(&text)));
}

void agent_take(Agent *agent, AgentFact *fact) {
        bool has_changed = agent_state_take(&agent->state, fact);

        if (fact->source == AGENT_HOOK)
                agent->has_heard = true;
        if (fact->kind == AGENT_TURN)
                agent->n_prolonged = 0;
        agent->is_told_of |= fact->source != AGENT_OS;
        agent_remember(agent, fact);
        if (has_changed)
                agent_announce(agent);
        agent_keep(agent, has_changed);
        if (!timer_is_set(&agent->agents->tick))
                (void)timer_set(&agent->agents->tick, AGENT_TICK_MS);
        if (agent->agents->on_fact)
                agent->agents->on_fact(agent, fact);
}

void agents_on_fact(Agents *agents, void (*on_fact)(Agent *agent, const AgentFact *fact)) {
        agents->on_fact = on_fact;
}

void agents_on_still(Agents *agents, void (*on_still)(Agent *agent)) {
        agents->on_still = on_still;
}

void agent_limited_until(Agent *agent, int64_t until_us) {
        if (agent->state.kind != AGENT_IS_LIMITED || agent->state.until_us == until_us)
                return;
        agent->state.until_us = until_us;
        agent_announce(agent);
        agent_keep(agent, true);
}

static void agent_take_os(Agent *agent, AgentFactKind kind, const char *detail) {
        AgentFact fact = {.at_us = agent_now_us(agent), .source = AGENT_OS, .kind = kind};

        agent_put(fact.detail, str_from(detail));
        agent_take(agent, &fact);
}

/* ---- output ---------------------------------------------------------------------------------- */

/* Output is asked only where nobody else tells anything: a terminal without hooks, or whose hooks are silent. */
static bool agent_is_by_output(const Agent *agent) {
        AgentHooks hooks = agent_hooks(agent);

        return agent->hosted->kind == SHIM_PTY && agent_is_live(agent) &&
               (agent->state.is_first || agent->state.source == AGENT_OUTPUT) &&
               (hooks == AGENT_HOOKS_NONE || hooks == AGENT_HOOKS_SILENT || agent->state.is_first) &&
               hooks != AGENT_HOOKS_EXPECTED;
}

static void agent_look_at_output(Agent *agent, int64_t now_us) {
        int64_t output_us = MAX(agent->hosted->output_us, agent->hosted->started_us);
        bool is_printing = now_us - output_us < AGENT_QUIET_MS * 1000LL;
        AgentFact fact = {
                .at_us = now_us, .source = AGENT_OUTPUT, .kind = is_printing ? AGENT_PRINTS : AGENT_QUIET};

        if (agent->state.source == AGENT_OUTPUT && is_printing == agent->is_printing)
                return;
        agent->is_printing = is_printing;
        agent_take(agent, &fact);
}

/* Programs that work draw something, and those that ask what their hooks do not tell of stand still. */
static void agent_look_for_stillness(Agent *agent, int64_t now_us) {
        int64_t output_us = MAX(agent->hosted->output_us, agent->hosted->started_us);

        if (agent->hosted->kind != SHIM_PTY || agent->state.kind != AGENT_IS_WORKING ||
            agent->still_us == output_us || !agent->agents->on_still ||
            now_us - MAX(output_us, agent->state.since_us) < AGENT_QUIET_MS * 1000LL)
                return;
        agent->still_us = output_us;
        agent->agents->on_still(agent);
}

static void agents_on_tick(Timer *timer) {
        Agents *agents = container_of(timer, Agents, tick);
        int64_t now_us = loop_wall_us(agents->daemon->loop);
        bool is_needed = false;

        for (Hosted *hosted = agents->daemon->host ? host_first(agents->daemon->host) : NULL; hosted;
             hosted = hosted->next) {
                Agent *agent = hosted->agent;

                if (!agent || !agent_is_live(agent))
                        continue;
                is_needed = true;
                if (agent_is_by_output(agent))
                        agent_look_at_output(agent, now_us);
                agent_look_for_stillness(agent, now_us);
                agent_look_at_transcript(agent, now_us);
                if (agent_hooks(agent) == AGENT_HOOKS_SILENT && !agent->is_told_silent) {
                        agent->is_told_silent = true;
                        agent_announce(agent);
                } else if ((agent_doubt(agent) != NULL) != agent->was_doubtful)
                        agent_announce(agent);
        }
        if (is_needed)
                (void)timer_set(&agents->tick, AGENT_TICK_MS);
}

/* ---- hosted processes ------------------------------------------------------------------------ */

static void agents_on_keep(Timer *timer) {
        agent_keep(container_of(timer, Agent, keep), true);
}

static Agent *agent_new(Agents *agents, Hosted *hosted) {
        Agent *agent = calloc(1, sizeof(*agent));

        if (!agent)
                return NULL; /* nothing is known of it then */
        agent->agents = agents;
        agent->hosted = hosted;
        agent->expects_hooks = hosted->has_hooks;
        timer_init(&agent->keep, agents->daemon->loop, agents_on_keep);
        agent_state_init(&agent->state, hosted->kind == SHIM_PIPES, loop_wall_us(agents->daemon->loop));
        hosted->agent = agent;
        return agent;
}

static void agent_end(Agent *agent) {
        const Hosted *hosted = agent->hosted;
        char words[32];

        if (hosted->state == HOSTED_LOST) {
                agent_take_os(agent, AGENT_LOST, NULL);
                return;
        }
        snprintf(words, sizeof(words), "%d", hosted_exit_code(hosted));
        agent_take_os(agent, AGENT_ENDED, hosted->state == HOSTED_FAILED ? "did not start" : words);
}

void agents_changed(Agents *agents, Hosted *hosted) {
        Agent *agent = hosted->agent;

        if (!agent && !agents->is_adopting)
                agent = agent_new(agents, hosted);
        if (!agent)
                return;
        if (hosted->state == HOSTED_RUNNING)
                agent_take_os(agent, AGENT_STARTED, NULL);
        else if (hosted->state == HOSTED_ENDED || hosted->state == HOSTED_FAILED ||
                 hosted->state == HOSTED_LOST) {
                agent_hear_end(agent, false);
                agent_end(agent);
        }
}

void agents_adopt(Agents *agents, Hosted *hosted) {
        Agent *agent = hosted->agent ? hosted->agent : agent_new(agents, hosted);

        if (!agent)
                return;
        if (!agent_restore(agent))
                agent->state.since_us = agent->state.at_us =
                        hosted->started_us ? hosted->started_us : agent->state.at_us;
        if (agent_is_live(agent))
                agent_take_os(agent, AGENT_ADOPTED, NULL);
        if (hosted->kind == SHIM_PIPES) {
                agent_hear_again(agent);
                agent_hear_output(agent, true);
        }
        if (agent_is_live(agent))
                return;
        agent_hear_end(agent, true);
        agent_end(agent);
}

static void agent_free(Agent *agent) {
        timer_clear(&agent->keep);
        protocol_deinit(&agent->protocol);
        free(agent->facts);
        loop_defer_free(agent->agents->daemon->loop, agent);
}

void agents_gone(Agents *agents, Hosted *hosted) {
        Agent *agent = hosted->agent;

        if (!agent)
                return;
        if (!agents->daemon->is_stopping)
                agent_keep_remove(agent);
        else if (agent->is_dirty)
                agent_keep_now(agent); /* the next daemon goes on with it */
        hosted->agent = NULL;
        agent_free(agent);
}

int agents_new(Agents **ret, Daemon *daemon) {
        Agents *agents = calloc(1, sizeof(*agents));
        int r;

        if (!agents)
                return error_origin(-ENOMEM);
        agents->daemon = daemon;
        agents->is_adopting = true;
        agents->dir = path_join(daemon->home, "agents");
        timer_init(&agents->tick, daemon->loop, agents_on_tick);
        r = agents->dir ? dir_make(agents->dir, 0700) : -ENOMEM;
        if (r) {
                agents_free(agents);
                return error_trace(r);
        }
        *ret = agents;
        return 0;
}

Agents *agents_free(Agents *agents) {
        if (!agents)
                return NULL;
        timer_clear(&agents->tick);
        free(agents->dir);
        free(agents);
        return NULL;
}

void agents_adopted_all(Agents *agents) {
        DIR *dir = opendir(agents->dir);
        struct dirent *entry;

        agents->is_adopting = false;
        while (dir && (entry = readdir(dir))) {
                Str id = {entry->d_name, strcspn(entry->d_name, ".")};

                if (entry->d_name[0] != '.' && !host_find(agents->daemon->host, id))
                        (void)unlinkat(dirfd(dir), entry->d_name, 0);
        }
        if (dir)
                closedir(dir);
        (void)timer_set(&agents->tick, AGENT_TICK_MS);
}

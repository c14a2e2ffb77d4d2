/* SPDX-License-Identifier: MIT */
#include "core/agents/state.h"

#include <stdio.h>

#include "base/macro.h"
#include "base/time.h"

static const char *const state_words[] = {
        [AGENT_IS_STARTING] = "starting", [AGENT_IS_IDLE] = "idle",       [AGENT_IS_WORKING] = "working",
        [AGENT_IS_WAITING] = "waiting",   [AGENT_IS_LIMITED] = "limited", [AGENT_IS_ERROR] = "error",
        [AGENT_IS_ENDED] = "ended",       [AGENT_IS_LOST] = "lost"};

const char *agent_state_name(AgentStateKind kind) {
        return state_words[kind];
}

bool agent_state_from_name(Str name, AgentStateKind *ret) {
        for (int i = 0; i < _AGENT_STATES; i++)
                if (str_is(name, state_words[i])) {
                        *ret = (AgentStateKind)i;
                        return true;
                }
        return false;
}

void agent_state_init(AgentState *state, bool is_run, int64_t now_us) {
        *state = (AgentState){.kind = is_run ? AGENT_IS_WORKING : AGENT_IS_STARTING,
                              .source = AGENT_OS,
                              .is_first = true,
                              .since_us = now_us,
                              .at_us = now_us};
}

/* ---- which facts count ----------------------------------------------------------------------- */

static bool state_is_over(const AgentState *state) {
        return state->kind == AGENT_IS_ENDED || state->kind == AGENT_IS_LOST;
}

static bool state_has_turn(const AgentState *state) {
        return state->kind == AGENT_IS_WORKING || state->kind == AGENT_IS_WAITING;
}

/* What a fact says that the state is; _AGENT_STATES: nothing. */
static AgentStateKind state_claim(const AgentFact *fact) {
        static const uint8_t claims[] = {
                [AGENT_STARTED] = _AGENT_STATES,      [AGENT_ADOPTED] = _AGENT_STATES,
                [AGENT_ENDED] = AGENT_IS_ENDED,       [AGENT_LOST] = AGENT_IS_LOST,
                [AGENT_BEGAN] = AGENT_IS_IDLE,        [AGENT_LEFT] = AGENT_IS_IDLE,
                [AGENT_TURN] = AGENT_IS_WORKING,      [AGENT_TOOL] = AGENT_IS_WORKING,
                [AGENT_TOOL_DONE] = AGENT_IS_WORKING, [AGENT_ASKS] = AGENT_IS_WAITING,
                [AGENT_STOPPED] = AGENT_IS_IDLE,      [AGENT_LIMITED] = AGENT_IS_LIMITED,
                [AGENT_FAILED] = AGENT_IS_ERROR,      [AGENT_NOTED] = _AGENT_STATES,
                [AGENT_PRINTS] = AGENT_IS_WORKING,    [AGENT_QUIET] = AGENT_IS_IDLE};

        return (AgentStateKind)claims[fact->kind];
}

/* Another session in the same tree counts when the first one is not in a turn, or the program says that it goes on with it. A
 * tool may run another agent for long, so silence in a tool is no end; elsewhere it is. */
static bool state_is_another(const AgentState *state, const AgentFact *fact) {
        if (fact->source != AGENT_HOOK && fact->source != AGENT_TRANSCRIPT)
                return false;
        if (!*fact->session || !*state->session || !strcmp(fact->session, state->session))
                return false;
        if (fact->kind == AGENT_BEGAN)
                return !fact->is_switch && state_has_turn(state) &&
                       (*state->tool || fact->at_us - state->at_us < AGENT_FRESH_US);
        return state_has_turn(state) || fact->kind != AGENT_TURN;
}

/* The turn that is under way is over, by its name: no hook tells of a turn that failed or was interrupted in every program. */
static bool state_is_named_end(const AgentState *state, const AgentFact *fact) {
        return fact->source == AGENT_TRANSCRIPT && *fact->turn && !strcmp(fact->turn, state->turn) &&
               (fact->kind == AGENT_STOPPED || fact->kind == AGENT_FAILED || fact->kind == AGENT_LIMITED);
}

static bool state_is_weaker(const AgentState *state, const AgentFact *fact) {
        if (state->is_first || fact->source >= state->source || state_is_named_end(state, fact))
                return false;
        return fact->source == AGENT_OUTPUT || fact->at_us - state->at_us < AGENT_FRESH_US;
}

/* Of a turn that has ended. A tool that begins behind the end of a turn without a name of its own is a turn that somebody's hook
 * has prolonged. */
static bool state_is_late(const AgentState *state, const AgentFact *fact) {
        bool is_step = fact->kind == AGENT_TOOL || fact->kind == AGENT_TOOL_DONE ||
                       fact->kind == AGENT_ASKS || fact->kind == AGENT_TURN;

        if (fact->source == AGENT_TRANSCRIPT && fact->said_us <= state->at_us)
                return true; /* a line that was written before what is known was told */
        if (fact->said_us && fact->said_us < state->said_us)
                return true;
        if (is_step && *fact->turn && !strcmp(fact->turn, state->over))
                return true;
        return fact->kind == AGENT_TOOL_DONE && !state->is_first && !state_has_turn(state);
}

/* A program that a limit has stopped says after a while that it waits for a prompt: that is no end of the limit. */
static bool state_is_still_limited(const AgentState *state, const AgentFact *fact) {
        return state->kind == AGENT_IS_LIMITED && fact->kind == AGENT_STOPPED &&
               !strcmp(fact->event, "Notification");
}

/* What a subagent does is work of the turn; only what it asks is more than that. */
static bool state_is_subs_own(const AgentState *state, const AgentFact *fact) {
        if (!fact->is_sub || fact->kind == AGENT_ASKS)
                return false;
        if (state->kind == AGENT_IS_WAITING && state->has_sub_asked)
                return fact->kind != AGENT_TOOL && fact->kind != AGENT_TOOL_DONE;
        return state->kind != AGENT_IS_WORKING ||
               (fact->kind != AGENT_TOOL && fact->kind != AGENT_TOOL_DONE);
}

/* While it waits for a word on one tool, others may end beside it. */
static bool state_is_beside(const AgentState *state, const AgentFact *fact) {
        return state->kind == AGENT_IS_WAITING && fact->kind == AGENT_TOOL_DONE && *state->tool &&
               *fact->tool && strcmp(state->tool, fact->tool) != 0;
}

/* ---- taking one in --------------------------------------------------------------------------- */

static void state_name_turn(AgentState *state, const AgentFact *fact) {
        if (*fact->session)
                agent_put(state->session, str_from(fact->session));
        if (*fact->runtime)
                agent_put(state->runtime, str_from(fact->runtime));
        if (*fact->turn)
                agent_put(state->turn, str_from(fact->turn));
        if (fact->kind == AGENT_TURN && !*fact->turn)
                *state->turn = '\0';
        if ((fact->kind == AGENT_STOPPED || fact->kind == AGENT_FAILED || fact->kind == AGENT_LIMITED) &&
            !fact->is_sub) {
                agent_put(state->over, str_from(state->turn));
                *state->turn = '\0';
        }
        if (fact->kind == AGENT_BEGAN || fact->kind == AGENT_LEFT)
                *state->turn = *state->over = '\0';
        if (fact->kind == AGENT_LEFT && !fact->is_switch)
                *state->session = '\0';
}

static void state_name_tool(AgentState *state, const AgentFact *fact) {
        if (fact->is_sub && fact->kind != AGENT_ASKS)
                return;
        if (fact->kind == AGENT_TOOL || fact->kind == AGENT_ASKS)
                agent_put(state->tool, str_from(fact->tool));
        else if (fact->kind != AGENT_NOTED)
                *state->tool = '\0';
}

/* Words that go with the state: what is asked, which error, which tool. */
static void state_describe(AgentState *state, const AgentFact *fact) {
        if (fact->is_sub && fact->kind != AGENT_ASKS)
                return;
        if (fact->kind == AGENT_TOOL)
                agent_put(state->detail, str_from(*fact->detail ? fact->detail : fact->tool));
        else
                agent_put(state->detail, str_from(fact->detail));
}

static void state_become(AgentState *state, const AgentFact *fact, AgentStateKind claim) {
        if (state->kind != claim)
                state->since_us = fact->at_us;
        state->kind = claim;
        state->source = fact->source;
        state->at_us = fact->at_us;
        state->until_us = fact->kind == AGENT_LIMITED ? fact->until_us : 0;
        state->said_us = MAX(state->said_us, fact->said_us);
        state->is_first = fact->kind == AGENT_LEFT && !fact->is_switch; /* whoever comes next is believed */
        state->is_restored = state->is_contradicted = false;
        state->has_sub_asked = claim == AGENT_IS_WAITING && fact->is_sub;
        if (fact->kind == AGENT_STOPPED || fact->kind == AGENT_TURN)
                state->n_background = fact->n_background;
        state_name_turn(state, fact);
        state_name_tool(state, fact);
        state_describe(state, fact);
}

static AgentVerdict state_judge(const AgentState *state, const AgentFact *fact, AgentStateKind claim) {
        if (state_is_another(state, fact))
                return AGENT_ANOTHER;
        if (claim == _AGENT_STATES)
                return AGENT_HEARD;
        if (state_is_subs_own(state, fact))
                return AGENT_SUB;
        if (state_is_late(state, fact))
                return AGENT_LATE;
        if (state_is_weaker(state, fact))
                return AGENT_WEAKER;
        if (state_is_beside(state, fact) || state_is_still_limited(state, fact))
                return AGENT_HEARD;
        return claim == state->kind ? AGENT_CONFIRMED : AGENT_DECIDED;
}

/* The kernel has the last word, and nobody speaks behind it. */
static bool state_end(AgentState *state, AgentFact *fact, AgentStateKind claim) {
        if (state_is_over(state) || fact->source != AGENT_OS) {
                fact->verdict = AGENT_HEARD;
                return false;
        }
        fact->verdict = AGENT_DECIDED;
        state_become(state, fact, claim);
        state->n_background = 0;
        *state->turn = '\0';
        return true;
}

bool agent_state_take(AgentState *state, AgentFact *fact) {
        AgentStateKind claim = state_claim(fact);
        AgentState before = *state;

        if (claim == AGENT_IS_ENDED || claim == AGENT_IS_LOST || state_is_over(state))
                return state_end(state, fact, claim);
        fact->verdict = state_judge(state, fact, claim);
        if (fact->kind == AGENT_ADOPTED)
                state->is_restored = true;
        if (fact->verdict == AGENT_SUB && state->kind == AGENT_IS_WORKING)
                state->at_us = fact->at_us;
        if (fact->verdict == AGENT_WEAKER && fact->source >= AGENT_TRANSCRIPT)
                state->is_contradicted = claim != state->kind;
        if (fact->verdict == AGENT_DECIDED || fact->verdict == AGENT_CONFIRMED)
                state_become(state, fact, claim);
        return state->kind != before.kind || state->n_background != before.n_background ||
               state->is_restored != before.is_restored ||
               state->is_contradicted != before.is_contradicted || state->source != before.source ||
               strcmp(state->detail, before.detail) != 0 || strcmp(state->session, before.session) != 0;
}

/* ---- doubt ----------------------------------------------------------------------------------- */

static bool state_is_stale(const AgentState *state, const AgentEvidence *evidence) {
        return state->kind == AGENT_IS_WORKING && !state->is_first &&
               evidence->now_us - MAX(state->at_us, evidence->output_us) >= AGENT_STALE_US;
}

const char *agent_state_doubt(const AgentState *state, const AgentEvidence *evidence) {
        if (state_is_over(state))
                return NULL;
        if (state->is_restored)
                return "it was known before this daemon started, and nothing was heard since";
        if (state->is_contradicted)
                return "a weaker source has said something else since";
        if (state->source == AGENT_OUTPUT)
                return "only what it prints is known";
        if (state->kind == AGENT_IS_WAITING && evidence->input_us > state->since_us)
                return "somebody has typed since it asked";
        if (state->kind == AGENT_IS_LIMITED && state->until_us && evidence->now_us >= state->until_us)
                return "the limit should be over";
        return state_is_stale(state, evidence) ? "nothing was heard or printed for two minutes" : NULL;
}

int64_t agent_state_stale_us(const AgentState *state, int64_t output_us) {
        if (state->kind == AGENT_IS_LIMITED)
                return state->until_us;
        if (state->kind != AGENT_IS_WORKING || state->is_first || state->is_restored ||
            state->source == AGENT_OUTPUT)
                return 0;
        return MAX(state->at_us, output_us) + AGENT_STALE_US;
}

/* ---- as a file keeps it ---------------------------------------------------------------------- */

void agent_state_write(JsonWriter *w, const AgentState *state) {
        jw_begin_object(w);
        jw_field_cstr(w, "state", agent_state_name(state->kind));
        jw_field_cstr(w, "source", agent_source_name(state->source));
        jw_field_time_us(w, "since", state->since_us);
        jw_field_time_us(w, "at", state->at_us);
        if (state->until_us)
                jw_field_time_us(w, "until", state->until_us);
        if (state->said_us)
                jw_field_time_us(w, "said", state->said_us);
        jw_field_bool(w, "is_first", state->is_first);
        jw_field_bool(w, "has_sub_asked", state->has_sub_asked);
        jw_field_uint(w, "background", state->n_background);
        jw_field_cstr(w, "runtime", state->runtime);
        jw_field_cstr(w, "session", state->session);
        jw_field_cstr(w, "turn", state->turn);
        jw_field_cstr(w, "over", state->over);
        jw_field_cstr(w, "tool", state->tool);
        jw_field_cstr(w, "detail", state->detail);
        jw_end_object(w);
}

bool agent_state_read(const Json *json, AgentState *ret) {
        AgentStateKind kind;
        AgentSource source;
        int64_t n = 0;

        *ret = (AgentState){0};
        if (!agent_state_from_name(json_text_of(json, "state"), &kind) ||
            !agent_source_from_name(json_text_of(json, "source"), &source) ||
            !time_parse(json_text_of(json, "since"), &ret->since_us) ||
            !time_parse(json_text_of(json, "at"), &ret->at_us))
                return false;
        ret->kind = kind;
        ret->source = source;
        (void)time_parse(json_text_of(json, "until"), &ret->until_us);
        (void)time_parse(json_text_of(json, "said"), &ret->said_us);
        ret->is_first = json_truth_of(json, "is_first");
        ret->has_sub_asked = json_truth_of(json, "has_sub_asked");
        if (json_int64(json_get(json, "background"), &n) && n > 0)
                ret->n_background = (uint32_t)MIN(n, (int64_t)UINT32_MAX);
        agent_put(ret->runtime, json_text_of(json, "runtime"));
        agent_put(ret->session, json_text_of(json, "session"));
        agent_put(ret->turn, json_text_of(json, "turn"));
        agent_put(ret->over, json_text_of(json, "over"));
        agent_put(ret->tool, json_text_of(json, "tool"));
        agent_put(ret->detail, json_text_of(json, "detail"));
        return true;
}

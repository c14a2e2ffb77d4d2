/* SPDX-License-Identifier: MIT */
/* Every story is a table: facts as they come, and what is to be shown behind each of them. */
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/test-cmocka.h"
#include "core/agents/state.h"

enum { SECOND = 1000000, START = 1000 };

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): members are in the order in which a row is read.
typedef struct Step {
        int at_s; /* since the start */
        AgentSource source;
        AgentFactKind kind;
        AgentStateKind state;
        AgentVerdict verdict;
        const char *session, *turn, *tool;
        bool is_sub, is_switch;
        unsigned n_background;
        int said_s;
} Step;

static AgentFact step_fact(const Step *step) {
        AgentFact fact = {.at_us = (int64_t)(START + step->at_s) * SECOND,
                          .said_us = step->said_s ? (int64_t)(START + step->said_s) * SECOND : 0,
                          .source = step->source,
                          .kind = step->kind,
                          .is_sub = step->is_sub,
                          .is_switch = step->is_switch,
                          .n_background = step->n_background};

        agent_put(fact.session, str_from(step->session));
        agent_put(fact.turn, str_from(step->turn));
        agent_put(fact.tool, str_from(step->tool));
        return fact;
}

static void play_from(AgentState *state, const Step *steps, size_t n) {
        for (size_t i = 0; i < n; i++) {
                AgentFact fact = step_fact(&steps[i]);
                char where[64];

                agent_state_take(state, &fact);
                snprintf(where, sizeof(where), "step %zu", i);
                if (state->kind != steps[i].state || fact.verdict != steps[i].verdict)
                        fail_msg("%s: %s (%s), not %s (%s)", where, agent_state_name(state->kind),
                                 agent_verdict_name(fact.verdict), agent_state_name(steps[i].state),
                                 agent_verdict_name(steps[i].verdict));
        }
}

static AgentState play(const Step *steps, size_t n) {
        AgentState state;

        agent_state_init(&state, false, (int64_t)START * SECOND);
        play_from(&state, steps, n);
        return state;
}
#define PLAY(steps) play(steps, ARRAY_SIZE(steps))

#define HOOK(at, what, is, made, name, ...)                                                                 \
        {                                                                                                   \
                .at_s = at, .source = AGENT_HOOK, .kind = what, .state = AGENT_IS_##is, .verdict = made,    \
                .session = "s1", .turn = name, __VA_ARGS__                                                  \
        }

static void test_turns(_unused_ void **unused) {
        static const Step steps[] = {
                {0, AGENT_OS, AGENT_STARTED, AGENT_IS_STARTING, AGENT_HEARD, .session = NULL},
                HOOK(1, AGENT_BEGAN, IDLE, AGENT_DECIDED, NULL),
                HOOK(2, AGENT_TURN, WORKING, AGENT_DECIDED, NULL),
                HOOK(3, AGENT_TOOL, WORKING, AGENT_CONFIRMED, NULL, "Bash"),
                HOOK(4, AGENT_ASKS, WAITING, AGENT_DECIDED, NULL, "Bash"),
                HOOK(5, AGENT_TOOL_DONE, WAITING, AGENT_HEARD, NULL, "Read"),
                HOOK(6, AGENT_TOOL_DONE, WORKING, AGENT_DECIDED, NULL, "Bash"),
                HOOK(7, AGENT_STOPPED, IDLE, AGENT_DECIDED, NULL),
                HOOK(7, AGENT_STOPPED, IDLE, AGENT_CONFIRMED, NULL),
                HOOK(8, AGENT_TOOL_DONE, IDLE, AGENT_LATE, NULL, "Bash"),
                HOOK(9, AGENT_TOOL, WORKING, AGENT_DECIDED, NULL, "Bash"),
                HOOK(10, AGENT_LIMITED, LIMITED, AGENT_DECIDED, NULL),
                HOOK(11, AGENT_TURN, WORKING, AGENT_DECIDED, NULL),
                HOOK(12, AGENT_FAILED, ERROR, AGENT_DECIDED, NULL),
                HOOK(13, AGENT_TURN, WORKING, AGENT_DECIDED, NULL),
                {14, AGENT_OS, AGENT_ENDED, AGENT_IS_ENDED, AGENT_DECIDED, .session = NULL},
                HOOK(15, AGENT_TURN, ENDED, AGENT_HEARD, NULL),
                {16, AGENT_OS, AGENT_LOST, AGENT_IS_ENDED, AGENT_HEARD, .session = NULL},
        };

        PLAY(steps);
}

/* What comes late, twice or in another order belongs to the turn whose name it has. */
static void test_order(_unused_ void **unused) {
        static const Step named[] = {
                HOOK(1, AGENT_TURN, WORKING, AGENT_DECIDED, "t1"),
                HOOK(2, AGENT_STOPPED, IDLE, AGENT_DECIDED, "t1"),
                HOOK(3, AGENT_TOOL, IDLE, AGENT_LATE, "t1", "Bash"),
                HOOK(3, AGENT_ASKS, IDLE, AGENT_LATE, "t1", "Bash"),
                HOOK(3, AGENT_TURN, IDLE, AGENT_LATE, "t1"),
                HOOK(4, AGENT_TOOL, WORKING, AGENT_DECIDED, "t2", "Bash"),
                HOOK(5, AGENT_TURN, WORKING, AGENT_CONFIRMED, "t2"),
        };
        static const Step dated[] = {
                HOOK(1, AGENT_TURN, WORKING, AGENT_DECIDED, NULL, .said_s = 1),
                HOOK(3, AGENT_STOPPED, IDLE, AGENT_DECIDED, NULL, .said_s = 3),
                HOOK(4, AGENT_TOOL, IDLE, AGENT_LATE, NULL, "x", .said_s = 2),
                HOOK(5, AGENT_TOOL, WORKING, AGENT_DECIDED, NULL, "x", .said_s = 5),
        };

        PLAY(named);
        PLAY(dated);
}

static void test_sources(_unused_ void **unused) {
        static const Step steps[] = {
                {0, AGENT_OUTPUT, AGENT_PRINTS, AGENT_IS_WORKING, AGENT_DECIDED, .session = NULL},
                {5, AGENT_OUTPUT, AGENT_QUIET, AGENT_IS_IDLE, AGENT_DECIDED, .session = NULL},
                {6, AGENT_SELF, AGENT_TURN, AGENT_IS_WORKING, AGENT_DECIDED, .session = NULL},
                {7, AGENT_OUTPUT, AGENT_QUIET, AGENT_IS_WORKING, AGENT_WEAKER, .session = NULL},
                HOOK(8, AGENT_STOPPED, IDLE, AGENT_DECIDED, NULL),
                {9, AGENT_SELF, AGENT_TURN, AGENT_IS_IDLE, AGENT_WEAKER, .session = NULL},
                {10, AGENT_PROTOCOL, AGENT_TURN, AGENT_IS_WORKING, AGENT_DECIDED, .session = NULL},
                HOOK(11, AGENT_STOPPED, WORKING, AGENT_WEAKER, NULL),
                HOOK(71, AGENT_STOPPED, IDLE, AGENT_DECIDED, NULL),
                {140, AGENT_SELF, AGENT_ASKS, AGENT_IS_WAITING, AGENT_DECIDED, .session = NULL},
                {999, AGENT_OUTPUT, AGENT_PRINTS, AGENT_IS_WAITING, AGENT_WEAKER, .session = NULL},
        };

        PLAY(steps);
}

static const char *doubt_at(const AgentState *state, int now_s, int output_s, int input_s) {
        AgentEvidence evidence = {.now_us = (int64_t)(START + now_s) * SECOND,
                                  .output_us = (int64_t)(START + output_s) * SECOND,
                                  .input_us = (int64_t)(START + input_s) * SECOND};

        return agent_state_doubt(state, &evidence);
}

/* What a transcript says counts when it was written behind what is known; while that is young it only raises doubt. */
static void test_transcripts(_unused_ void **unused) {
        static const Step old[] = {HOOK(10, AGENT_TURN, WORKING, AGENT_DECIDED, NULL),
                                   {12, AGENT_TRANSCRIPT, AGENT_STOPPED, AGENT_IS_WORKING, AGENT_LATE,
                                    .session = "s1", .said_s = 9}},
                          says[] = {{15, AGENT_TRANSCRIPT, AGENT_STOPPED, AGENT_IS_WORKING, AGENT_WEAKER,
                                     .session = "s1", .said_s = 14}},
                          agrees[] = {{17, AGENT_TRANSCRIPT, AGENT_TURN, AGENT_IS_WORKING, AGENT_WEAKER,
                                       .session = "s1", .said_s = 16}},
                          wins[] = {{70, AGENT_TRANSCRIPT, AGENT_STOPPED, AGENT_IS_IDLE, AGENT_DECIDED,
                                     .session = "s1", .said_s = 20},
                                    HOOK(71, AGENT_TURN, WORKING, AGENT_DECIDED, NULL)},
                          others[] = {{200, AGENT_TRANSCRIPT, AGENT_STOPPED, AGENT_IS_WORKING, AGENT_ANOTHER,
                                       .session = "s2", .said_s = 199}};
        AgentState state = PLAY(old);

        assert_null(doubt_at(&state, 12, 0, 0));
        play_from(&state, says, ARRAY_SIZE(says));
        assert_non_null(doubt_at(&state, 15, 0, 0));
        play_from(&state, agrees, ARRAY_SIZE(agrees));
        assert_null(doubt_at(&state, 17, 0, 0));
        play_from(&state, wins, ARRAY_SIZE(wins));
        assert_null(doubt_at(&state, 71, 0, 0));
        play_from(&state, others, ARRAY_SIZE(others));
}

/* A hook beside structured output: the output is believed, and what the hook says else is doubt. */
static void test_protocol(_unused_ void **unused) {
        static const Step steps[] = {{1, AGENT_PROTOCOL, AGENT_TURN, AGENT_IS_WORKING, AGENT_CONFIRMED,
                                      .session = "s1"},
                                     HOOK(2, AGENT_STOPPED, WORKING, AGENT_WEAKER, NULL)},
                          ends[] = {{3, AGENT_PROTOCOL, AGENT_STOPPED, AGENT_IS_IDLE, AGENT_DECIDED,
                                     .session = "s1"},
                                    HOOK(4, AGENT_STOPPED, IDLE, AGENT_WEAKER, NULL)};
        AgentState state;

        agent_state_init(&state, true, (int64_t)START * SECOND);
        play_from(&state, steps, ARRAY_SIZE(steps));
        assert_non_null(doubt_at(&state, 2, 0, 0));
        play_from(&state, ends, ARRAY_SIZE(ends));
        assert_null(doubt_at(&state, 4, 0, 0));
}

static void test_subagents(_unused_ void **unused) {
        static const Step steps[] = {
                HOOK(1, AGENT_TURN, WORKING, AGENT_DECIDED, NULL),
                HOOK(2, AGENT_TOOL, WORKING, AGENT_CONFIRMED, NULL, "Task"),
                HOOK(3, AGENT_TOOL, WORKING, AGENT_CONFIRMED, NULL, "Bash", .is_sub = true),
                HOOK(4, AGENT_STOPPED, WORKING, AGENT_SUB, NULL, .is_sub = true),
                HOOK(5, AGENT_FAILED, WORKING, AGENT_SUB, NULL, .is_sub = true),
                HOOK(6, AGENT_ASKS, WAITING, AGENT_DECIDED, NULL, "Edit", .is_sub = true),
                HOOK(7, AGENT_TOOL_DONE, WORKING, AGENT_DECIDED, NULL, "Edit", .is_sub = true),
                HOOK(8, AGENT_ASKS, WAITING, AGENT_DECIDED, NULL, "Bash"),
                HOOK(9, AGENT_TOOL, WAITING, AGENT_SUB, NULL, "Grep", .is_sub = true),
                HOOK(10, AGENT_STOPPED, IDLE, AGENT_DECIDED, NULL, .n_background = 2),
                HOOK(11, AGENT_TOOL, IDLE, AGENT_SUB, NULL, "Grep", .is_sub = true),
        };
        AgentState state = PLAY(steps);

        assert_int_equal(state.n_background, 2);
}

/* An agent that a tool of the first one runs does not end the turn of the first one. */
static void test_sessions(_unused_ void **unused) {
        static const Step steps[] = {
                HOOK(1, AGENT_BEGAN, IDLE, AGENT_DECIDED, NULL),
                HOOK(2, AGENT_TURN, WORKING, AGENT_DECIDED, NULL),
                HOOK(3, AGENT_TOOL, WORKING, AGENT_CONFIRMED, NULL, "Bash"),
                {4, AGENT_HOOK, AGENT_BEGAN, AGENT_IS_WORKING, AGENT_ANOTHER, .session = "s2"},
                {5, AGENT_HOOK, AGENT_TURN, AGENT_IS_WORKING, AGENT_ANOTHER, .session = "s2"},
                {6, AGENT_HOOK, AGENT_STOPPED, AGENT_IS_WORKING, AGENT_ANOTHER, .session = "s2"},
                {200, AGENT_HOOK, AGENT_BEGAN, AGENT_IS_WORKING, AGENT_ANOTHER, .session = "s3"},
                HOOK(201, AGENT_TOOL_DONE, WORKING, AGENT_CONFIRMED, NULL, "Bash"),
                {300, AGENT_HOOK, AGENT_BEGAN, AGENT_IS_IDLE, AGENT_DECIDED, .session = "s4"},
                {301, AGENT_HOOK, AGENT_TURN, AGENT_IS_WORKING, AGENT_DECIDED, .session = "s4"},
                {302, AGENT_HOOK, AGENT_LEFT, AGENT_IS_IDLE, AGENT_DECIDED, .session = "s4",
                 .is_switch = true},
                {303, AGENT_HOOK, AGENT_BEGAN, AGENT_IS_IDLE, AGENT_CONFIRMED, .session = "s5",
                 .is_switch = true},
                {304, AGENT_HOOK, AGENT_STOPPED, AGENT_IS_IDLE, AGENT_ANOTHER, .session = "s4"},
                {305, AGENT_HOOK, AGENT_TURN, AGENT_IS_WORKING, AGENT_DECIDED, .session = "s6"},
                {306, AGENT_HOOK, AGENT_LEFT, AGENT_IS_IDLE, AGENT_DECIDED, .session = "s6"},
                {307, AGENT_OUTPUT, AGENT_PRINTS, AGENT_IS_WORKING, AGENT_DECIDED, .session = NULL},
        };

        PLAY(steps);
}

static void test_doubt(_unused_ void **unused) {
        static const Step works[] = {HOOK(1, AGENT_TURN, WORKING, AGENT_DECIDED, NULL)},
                          asks[] = {HOOK(1, AGENT_ASKS, WAITING, AGENT_DECIDED, NULL, "Bash")},
                          prints[] = {{1, AGENT_OUTPUT, AGENT_PRINTS, AGENT_IS_WORKING, AGENT_DECIDED,
                                       .session = NULL}},
                          adopted[] = {HOOK(1, AGENT_TURN, WORKING, AGENT_DECIDED, NULL),
                                       {2, AGENT_OS, AGENT_ADOPTED, AGENT_IS_WORKING, AGENT_HEARD,
                                        .session = NULL}},
                          again[] = {HOOK(3, AGENT_TOOL, WORKING, AGENT_CONFIRMED, NULL, "Bash")};
        AgentState state = PLAY(works);

        assert_null(doubt_at(&state, 120, 0, 0));
        assert_non_null(doubt_at(&state, 121, 0, 0));
        assert_null(doubt_at(&state, 121, 2, 0));
        assert_non_null(doubt_at(&state, 122, 2, 0));
        assert_int_equal(agent_state_stale_us(&state, 0), (int64_t)(START + 121) * SECOND);
        state = PLAY(asks);
        assert_null(doubt_at(&state, 1000, 0, 1));
        assert_non_null(doubt_at(&state, 2, 0, 2));
        state = PLAY(prints);
        assert_non_null(doubt_at(&state, 1, 1, 0));
        state = PLAY(adopted);
        assert_non_null(doubt_at(&state, 2, 2, 0));
        play_from(&state, again, ARRAY_SIZE(again));
        assert_null(doubt_at(&state, 3, 2, 0));
}

/* A run without a terminal works from its start on, and goes on to say so. */
static void test_run(_unused_ void **unused) {
        static const Step steps[] = {
                {0, AGENT_OS, AGENT_STARTED, AGENT_IS_WORKING, AGENT_HEARD, .session = NULL},
                {9, AGENT_OS, AGENT_LOST, AGENT_IS_LOST, AGENT_DECIDED, .session = NULL},
        };
        AgentState state;

        agent_state_init(&state, true, (int64_t)START * SECOND);
        assert_null(doubt_at(&state, 9999, 0, 0));
        play_from(&state, steps, ARRAY_SIZE(steps));
        assert_int_equal(state.since_us, (int64_t)(START + 9) * SECOND);
}

static void test_kept(_unused_ void **unused) {
        static const Step steps[] = {
                HOOK(1, AGENT_TURN, WORKING, AGENT_DECIDED, "t1"),
                HOOK(2, AGENT_ASKS, WAITING, AGENT_DECIDED, "t1", "Bash", .is_sub = true),
        };
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        AgentState state = PLAY(steps), back;
        Json *json = NULL;

        agent_state_write(&w, &state);
        assert_int_equal(json_parse(&arena, text.data, text.n, NULL, &json, NULL), 0);
        assert_true(agent_state_read(json, &back));
        assert_memory_equal(&state, &back, sizeof(state));
        assert_false(agent_state_read(json_get(json, "none"), &back));
}

static void test_text(_unused_ void **unused) {
        char to[8];

        agent_put(to, STR("a\x1b[2J\n\tb"));
        assert_string_equal(to, "a?[2J  ");
        agent_put(to, STR("abcde\xe2\x82\xac"));
        assert_string_equal(to, "abcde");
        agent_put(to, STR("\xe2\x80\xaex\xff"));
        assert_string_equal(to, "?x?");
        agent_put(to, STR_NULL);
        assert_string_equal(to, "");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_turns),    cmocka_unit_test(test_order),
                cmocka_unit_test(test_sources),  cmocka_unit_test(test_subagents),
                cmocka_unit_test(test_sessions), cmocka_unit_test(test_doubt),
                cmocka_unit_test(test_run),      cmocka_unit_test(test_kept),
                cmocka_unit_test(test_text),     cmocka_unit_test(test_transcripts),
                cmocka_unit_test(test_protocol),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

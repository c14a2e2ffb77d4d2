/* SPDX-License-Identifier: MIT */
/* Lines as programs print them in their structured form, and as they write them into transcripts: what each of them tells. */
#include <string.h>

#include "base/macro.h"
#include "base/test-cmocka.h"
#include "core/agents/protocol.h"
#include "core/agents/tail.h"

enum { NOTHING = -1 };

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): members are in the order in which a row is read.
typedef struct Line {
        const char *text;
        int kind; /* AgentFactKind, or NOTHING */
        const char *runtime, *session, *tool, *detail;
        bool is_sub;
} Line;

static const Line lines[] = {
        /* Claude Code */
        {"{\"type\":\"system\",\"subtype\":\"init\",\"cwd\":\"/"
         "x\",\"session_id\":\"a\",\"tools\":[\"Bash\"]}",
         AGENT_TURN, "claude", "a", "", "", false},
        {"{\"type\":\"system\",\"subtype\":\"session_state_changed\",\"state\":\"running\",\"session_id\":"
         "\"a\"}",
         AGENT_TURN, "claude", "a", "", "", false},
        {"{\"type\":\"system\",\"subtype\":\"session_state_changed\",\"state\":\"requires_action\","
         "\"session_id\":\"a\"}",
         AGENT_ASKS, "claude", "a", "", "permission", false},
        {"{\"type\":\"system\",\"subtype\":\"session_state_changed\",\"state\":\"idle\",\"session_id\":"
         "\"a\"}",
         AGENT_STOPPED, "claude", "a", "", "", false},
        {"{\"type\":\"system\",\"subtype\":\"session_state_changed\",\"state\":\"odd\",\"session_id\":"
         "\"a\"}",
         NOTHING, "", "", "", "", false},
        {"{\"type\":\"system\",\"subtype\":\"compact_boundary\",\"session_id\":\"a\"}", NOTHING, "", "", "",
         "", false},
        {"{\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"content\":[{\"type\":\"text\",\"text\":\"I\"},"
         "{"
         "\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"Bash\",\"input\":{\"name\":\"no\"}}]},\"parent_tool_"
         "use_id\":null,\"session_id\":\"a\"}",
         AGENT_TOOL, "claude", "a", "Bash", "", false},
        {"{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"x\"}]},\"parent_"
         "tool_use_id\":null,\"session_id\":\"a\"}",
         AGENT_TURN, "claude", "a", "", "", false},
        {"{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"tool_use\",\"name\":\"Grep\"}]},"
         "\"parent_tool_use_id\":\"t\",\"session_id\":\"a\"}",
         AGENT_TOOL, "claude", "a", "Grep", "", true},
        {"{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"x\"}]},\"parent_"
         "tool_use_id\":\"t\",\"session_id\":\"a\"}",
         NOTHING, "", "", "", "", false},
        {"{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
         "\"content\":\"ok\"}]},\"parent_tool_use_id\":null,\"session_id\":\"a\"}",
         AGENT_TOOL_DONE, "claude", "a", "", "", false},
        {"{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"hi\"},\"session_id\":\"a\"}",
         NOTHING, "", "", "", "", false},
        {"{\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"status\":\"allowed_warning\",\"resetsAt\":"
         "1749924000},\"session_id\":\"a\"}",
         NOTHING, "", "", "", "", false},
        {"{\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"status\":\"rejected\",\"isUsingOverage\":"
         "true},\"session_id\":\"a\"}",
         NOTHING, "", "", "", "", false},
        {"{\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"status\":\"rejected\",\"resetsAt\":"
         "1749924000,\"rateLimitType\":\"five_hour\"},\"session_id\":\"a\"}",
         AGENT_LIMITED, "claude", "a", "", "five_hour", false},
        {"{\"type\":\"control_request\",\"request_id\":\"r\",\"request\":{\"subtype\":\"can_use_tool\","
         "\"tool_"
         "name\":\"Edit\",\"input\":{}}}",
         AGENT_ASKS, "claude", "", "Edit", "permission", false},
        {"{\"type\":\"control_request\",\"request_id\":\"r\",\"request\":{\"subtype\":\"mcp_message\"}}",
         NOTHING, "", "", "", "", false},
        {"{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"ok\",\"session_id\":"
         "\"a\"}",
         AGENT_STOPPED, "claude", "a", "", "", false},
        {"{\"type\":\"result\",\"subtype\":\"error_max_turns\",\"is_error\":true,\"session_id\":\"a\"}",
         AGENT_FAILED, "claude", "a", "", "error_max_turns", false},
        {"{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"session_id\":\"a\"}",
         AGENT_FAILED, "claude", "a", "", "api_error", false},
        {"{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_delta\"},\"session_id\":\"a\"}",
         NOTHING, "", "", "", "", false},
        /* codex exec --json */
        {"{\"type\":\"thread.started\",\"thread_id\":\"t\"}", NOTHING, "", "", "", "", false},
        {"{\"type\":\"turn.started\"}", AGENT_TURN, "codex", "", "", "", false},
        {"{\"type\":\"item.started\",\"item\":{\"id\":\"item_1\",\"type\":\"command_execution\",\"command\":"
         "\"ls\",\"status\":\"in_progress\"}}",
         AGENT_TOOL, "codex", "", "command_execution", "", false},
        {"{\"type\":\"item.completed\",\"item\":{\"id\":\"item_1\",\"type\":\"mcp_tool_call\",\"server\":"
         "\"s\",\"tool\":\"search\"}}",
         AGENT_TOOL_DONE, "codex", "", "search", "", false},
        {"{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"{\\\"type\\\":"
         "\\\"turn.failed\\\"}\"}}",
         NOTHING, "", "", "", "", false},
        {"{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":1}}", AGENT_STOPPED, "codex", "", "", "",
         false},
        {"{\"type\":\"turn.failed\",\"error\":{\"message\":\"stream\"}}", AGENT_FAILED, "codex", "", "",
         "failed", false},
        {"{\"type\":\"error\",\"message\":\"Reconnecting... 1/5\"}", NOTHING, "", "", "", "", false},
        /* codex app-server */
        {"{\"method\":\"turn/started\",\"params\":{\"threadId\":\"t\",\"turn\":{\"id\":\"u\"}}}", AGENT_TURN,
         "codex", "t", "", "", false},
        {"{\"method\":\"thread/status/changed\",\"params\":{\"threadId\":\"t\",\"status\":{\"type\":"
         "\"active\",\"activeFlags\":[\"waitingOnApproval\"]}}}",
         AGENT_ASKS, "codex", "t", "", "permission", false},
        {"{\"method\":\"thread/status/changed\",\"params\":{\"threadId\":\"t\",\"status\":{\"type\":"
         "\"active\",\"activeFlags\":[]}}}",
         AGENT_TURN, "codex", "t", "", "", false},
        {"{\"method\":\"item/commandExecution/requestApproval\",\"id\":3,\"params\":{\"threadId\":\"t\","
         "\"turnId\":\"u\"}}",
         AGENT_ASKS, "codex", "t", "", "permission", false},
        {"{\"method\":\"item/started\",\"params\":{\"threadId\":\"t\",\"item\":{\"type\":"
         "\"commandExecution\"}}}",
         AGENT_TOOL, "codex", "t", "commandExecution", "", false},
        {"{\"method\":\"turn/completed\",\"params\":{\"threadId\":\"t\",\"turn\":{\"id\":\"u\",\"status\":"
         "\"interrupted\"}}}",
         AGENT_STOPPED, "codex", "t", "", "interrupted", false},
        {"{\"method\":\"turn/completed\",\"params\":{\"threadId\":\"t\",\"turn\":{\"status\":\"failed\","
         "\"error\":{\"message\":\"m\",\"codexErrorInfo\":\"usageLimitExceeded\"}}}}",
         AGENT_LIMITED, "codex", "t", "", "usageLimitExceeded", false},
        {"{\"id\":1,\"result\":{}}", NOTHING, "", "", "", "", false},
        /* Gemini */
        {"{\"type\":\"init\",\"timestamp\":\"2026-07-11T10:00:00.000Z\",\"session_id\":\"g\",\"model\":"
         "\"m\"}",
         AGENT_TURN, "gemini", "g", "", "", false},
        {"{\"type\":\"tool_use\",\"timestamp\":\"2026-07-11T10:00:00.000Z\",\"tool_name\":\"shell\",\"tool_"
         "id\":\"1\",\"parameters\":{}}",
         AGENT_TOOL, "gemini", "", "shell", "", false},
        {"{\"type\":\"tool_result\",\"timestamp\":\"2026-07-11T10:00:00.000Z\",\"tool_id\":\"1\",\"status\":"
         "\"error\"}",
         AGENT_TOOL_DONE, "gemini", "", "", "", false},
        {"{\"type\":\"error\",\"timestamp\":\"2026-07-11T10:00:00.000Z\",\"severity\":\"warning\","
         "\"message\":"
         "\"m\"}",
         NOTHING, "", "", "", "", false},
        {"{\"type\":\"result\",\"timestamp\":\"2026-07-11T10:00:00.000Z\",\"status\":\"success\",\"stats\":{"
         "}}",
         AGENT_STOPPED, "gemini", "", "", "", false},
        {"{\"type\":\"result\",\"timestamp\":\"2026-07-11T10:00:00.000Z\",\"status\":\"error\",\"error\":{"
         "\"type\":\"FatalTurnLimitedError\"}}",
         AGENT_FAILED, "gemini", "", "", "FatalTurnLimitedError", false},
        /* OpenCode */
        {"{\"type\":\"step_start\",\"timestamp\":1,\"sessionID\":\"o\",\"part\":{\"type\":\"step-start\"}}",
         AGENT_TURN, "opencode", "o", "", "", false},
        {"{\"type\":\"tool_use\",\"timestamp\":1,\"sessionID\":\"o\",\"part\":{\"tool\":\"bash\"}}",
         AGENT_TOOL_DONE, "opencode", "o", "bash", "", false},
        {"{\"type\":\"step_finish\",\"timestamp\":1,\"sessionID\":\"o\",\"part\":{\"reason\":\"tool-calls\"}"
         "}",
         NOTHING, "", "", "", "", false},
        {"{\"type\":\"step_finish\",\"timestamp\":1,\"sessionID\":\"o\",\"part\":{\"reason\":\"stop\"}}",
         AGENT_STOPPED, "opencode", "o", "", "", false},
        {"{\"type\":\"error\",\"timestamp\":1,\"sessionID\":\"o\",\"error\":{\"name\":\"APIError\"}}",
         AGENT_FAILED, "opencode", "o", "", "APIError", false},
        /* what is none of these */
        {"", NOTHING, "", "", "", "", false},
        {"{", NOTHING, "", "", "", "", false},
        {"{}", NOTHING, "", "", "", "", false},
        {"[]", NOTHING, "", "", "", "", false},
        {"{\"type\":7}", NOTHING, "", "", "", "", false},
        {"{\"type\":\"turn.started\"", NOTHING, "", "", "", "", false},
        {"turn.started", NOTHING, "", "", "", "", false},
        {"{\"type\":\"result\"}", NOTHING, "", "", "", "", false},
        {"{\"level\":30,\"type\":\"message\",\"msg\":\"a log\"}", NOTHING, "", "", "", "", false},
};

static void test_lines(_unused_ void **unused) {
        for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
                const Line *line = &lines[i];
                AgentProtocol protocol = {0};
                AgentFact fact = {0};
                bool is_told = protocol_line(&protocol, str_from(line->text), 1, NULL, &fact);

                if (is_told != (line->kind != NOTHING))
                        fail_msg("%s: tells %s", line->text, is_told ? "something" : "nothing");
                if (!is_told)
                        continue;
                if ((int)fact.kind != line->kind || strcmp(fact.runtime, line->runtime) != 0 ||
                    strcmp(fact.session, line->session) != 0 || strcmp(fact.tool, line->tool) != 0 ||
                    strcmp(fact.detail, line->detail) != 0 || fact.is_sub != line->is_sub)
                        fail_msg("%s: %s of %s session=%s tool=%s detail=%s sub=%d", line->text,
                                 agent_fact_kind_name(fact.kind), fact.runtime, fact.session, fact.tool,
                                 fact.detail, fact.is_sub);
                assert_int_equal(fact.source, AGENT_PROTOCOL);
        }
}

typedef struct Told {
        AgentFact facts[16];
        size_t n;
} Told;

static void told_keep(void *user, AgentFact *fact) {
        Told *told = user;

        assert_true(told->n < ARRAY_SIZE(told->facts));
        told->facts[told->n++] = *fact;
}

/* In pieces of any length, with text between: the same facts, each once; the session stays known. */
static void test_pieces(_unused_ void **unused) {
        static const char text[] = "Reading prompt from stdin...\n"
                                   "{\"type\":\"thread.started\",\"thread_id\":\"t\"}\r\n"
                                   "{\"type\":\"turn.started\"}\n\n{\"type\":\"turn.started\"}\n{nonsense\n"
                                   "{\"type\":\"item.started\",\"item\":{\"type\":\"web_search\"}}\n"
                                   "{\"type\":\"item.completed\",\"item\":{\"type\":\"web_search\"}}\n"
                                   "{\"type\":\"turn.completed\"}\n{\"type\":\"turn.started\"}";
        static const uint8_t kinds[] = {AGENT_TURN, AGENT_TOOL, AGENT_TOOL_DONE, AGENT_STOPPED};

        for (size_t step = 1; step < sizeof(text); step++) {
                AgentProtocol protocol = {0};
                Told told = {0};
                const ProtocolTold heard = {.fact = told_keep, .user = &told};

                for (size_t at = 0; at < sizeof(text) - 1; at += step)
                        protocol_feed(&protocol, (Str){text + at, MIN(step, sizeof(text) - 1 - at)}, 1,
                                      &heard);
                assert_int_equal(told.n, ARRAY_SIZE(kinds));
                for (size_t i = 0; i < told.n; i++) {
                        assert_int_equal(told.facts[i].kind, kinds[i]);
                        assert_string_equal(told.facts[i].session, "t");
                }
                protocol_deinit(&protocol);
        }
}

/* A turn that a limit has stopped ends with an error, which says less. */
static void test_limit(_unused_ void **unused) {
        static const char text[] =
                "{\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"status\":\"rejected\","
                "\"resetsAt\":1749924000}}\n{\"type\":\"result\",\"subtype\":\"success\",\"is_"
                "error\":true}\n{\"type\":\"system\",\"subtype\":\"init\"}\n{\"type\":"
                "\"result\",\"subtype\":\"success\",\"is_error\":true}\n";
        AgentProtocol protocol = {0};
        Told told = {0};
        const ProtocolTold heard = {.fact = told_keep, .user = &told};

        protocol_feed(&protocol, str_from(text), 1, &heard);
        assert_int_equal(told.n, 3);
        assert_int_equal(told.facts[0].kind, AGENT_LIMITED);
        assert_int_equal(told.facts[0].until_us, INT64_C(1749924000) * 1000000);
        assert_int_equal(told.facts[1].kind, AGENT_TURN);
        assert_int_equal(told.facts[2].kind, AGENT_FAILED);
        protocol_deinit(&protocol);
}

/* ---- transcripts ----------------------------------------------------------------------------- */

#define AT "\"timestamp\":\"1970-01-01T00:00:02.000Z\""

static const Line tails[] = {
        {"{\"type\":\"user\",\"sessionId\":\"a\",\"message\":{\"content\":\"hi\"}," AT "}\n", AGENT_TURN,
         "claude", "a", "", "", false},
        {"{\"type\":\"user\",\"sessionId\":\"a\",\"message\":{\"content\":[{\"type\":\"tool_result\"}]}," AT
         "}\n",
         AGENT_TOOL_DONE, "claude", "a", "", "", false},
        {"{\"type\":\"user\",\"sessionId\":\"a\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":"
         "\"[Request interrupted by user for tool use]\"}]}," AT "}\n",
         AGENT_STOPPED, "claude", "a", "", "interrupted", false},
        {"{\"type\":\"assistant\",\"sessionId\":\"a\",\"message\":{\"stop_reason\":\"tool_use\",\"content\":"
         "[{"
         "\"type\":\"tool_use\",\"name\":\"Bash\"}]}," AT "}\n",
         AGENT_TOOL, "claude", "a", "Bash", "", false},
        {"{\"type\":\"assistant\",\"sessionId\":\"a\",\"message\":{\"stop_reason\":null,\"content\":[{"
         "\"type\":"
         "\"text\"}]}," AT "}\n",
         AGENT_TURN, "claude", "a", "", "", false},
        {"{\"type\":\"assistant\",\"sessionId\":\"a\",\"message\":{\"stop_reason\":\"end_turn\",\"content\":"
         "[]"
         "}," AT "}\n{\"type\":\"system\",\"subtype\":\"turn_duration\"," AT "}\n",
         AGENT_STOPPED, "claude", "a", "", "", false},
        {"{\"type\":\"assistant\",\"sessionId\":\"a\",\"isApiErrorMessage\":true,\"message\":{}," AT "}\n",
         AGENT_FAILED, "claude", "a", "", "api_error", false},
        {"rest of a line}\n{\"type\":\"user\",\"sessionId\":\"a\",\"message\":{\"content\":\"hi\"}," AT
         "}\n{\"type\":\"assistant\",\"isSidechain\":true,\"message\":{\"stop_reason\":\"end_turn\"}," AT
         "}\n",
         AGENT_TURN, "claude", "a", "", "", false},
        {"{\"type\":\"user\",\"sessionId\":\"a\",\"message\":{\"content\":\"no time\"}}\n", NOTHING,
         "claude", "", "", "", false},
        {"{\"type\":\"event_msg\",\"payload\":{\"type\":\"task_started\",\"turn_id\":\"u\"}," AT "}\n",
         AGENT_TURN, "codex", "", "", "", false},
        {"{\"type\":\"event_msg\",\"payload\":{\"type\":\"task_complete\"}," AT "}\n{\"type\":\"event_msg\","
         "\"payload\":{\"type\":\"token_count\"}," AT "}\n",
         AGENT_STOPPED, "codex", "", "", "", false},
        {"{\"type\":\"event_msg\",\"payload\":{\"type\":\"turn_aborted\",\"reason\":\"interrupted\"}," AT
         "}\n",
         AGENT_STOPPED, "codex", "", "", "interrupted", false},
        {"{\"type\":\"response_item\",\"payload\":{\"type\":\"task_started\"}," AT "}\n", NOTHING, "codex",
         "", "", "", false},
        {"", NOTHING, "codex", "", "", "", false},
        {"\n\n\n", NOTHING, "claude", "", "", "", false},
        {"{\"type\":\"user\",\"message\":{\"content\":\"hi\"}," AT "}\n", NOTHING, "gemini", "", "", "",
         false},
};

static void test_tails(_unused_ void **unused) {
        for (size_t i = 0; i < ARRAY_SIZE(tails); i++) {
                const Line *line = &tails[i];
                AgentFact fact = {0};
                bool is_told = tail_read(str_from(line->runtime), str_from(line->text), 5000000, &fact);

                if (is_told != (line->kind != NOTHING))
                        fail_msg("%s: tells %s", line->text, is_told ? "something" : "nothing");
                if (!is_told)
                        continue;
                if ((int)fact.kind != line->kind || strcmp(fact.session, line->session) != 0 ||
                    strcmp(fact.tool, line->tool) != 0 || strcmp(fact.detail, line->detail) != 0)
                        fail_msg("%s: %s session=%s tool=%s detail=%s", line->text,
                                 agent_fact_kind_name(fact.kind), fact.session, fact.tool, fact.detail);
                assert_int_equal(fact.source, AGENT_TRANSCRIPT);
                assert_int_equal(fact.said_us, 2000000);
                assert_int_equal(fact.at_us, 5000000);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_lines),
                cmocka_unit_test(test_pieces),
                cmocka_unit_test(test_limit),
                cmocka_unit_test(test_tails),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* What the documentation of each program shows, and what it does not. */
#include <string.h>

#include "base/macro.h"
#include "base/test-cmocka.h"
#include "core/agents/hook.h"

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): members are in the order in which a row is read.
typedef struct Shape {
        const char *runtime, *payload;
        AgentFactKind kind;
        const char *session, *tool, *detail;
        bool is_sub, is_switch;
} Shape;

static const Shape shapes[] = {
        {"claude", "{\"session_id\":\"a\",\"hook_event_name\":\"SessionStart\",\"source\":\"startup\"}",
         AGENT_BEGAN, "a", "", "startup", false, false},
        {"claude", "{\"session_id\":\"a\",\"hook_event_name\":\"SessionStart\",\"source\":\"clear\"}",
         AGENT_BEGAN, "a", "", "clear", false, true},
        {"claude", "{\"session_id\":\"a\",\"hook_event_name\":\"SessionStart\",\"source\":\"compact\"}",
         AGENT_NOTED, "a", "", "compact", false, true},
        {"claude", "{\"session_id\":\"a\",\"hook_event_name\":\"UserPromptSubmit\",\"prompt\":\"hi\"}",
         AGENT_TURN, "a", "", "", false, false},
        {"claude",
         "{\"session_id\":\"a\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"tool_input\":{"
         "\"command\":\"ls\"}}",
         AGENT_TOOL, "a", "Bash", "", false, false},
        {"claude",
         "{\"session_id\":\"a\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"agent_id\":"
         "\"b\"}",
         AGENT_TOOL, "a", "Bash", "", true, false},
        {"claude",
         "{\"session_id\":\"a\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"AskUserQuestion\"}",
         AGENT_ASKS, "a", "AskUserQuestion", "question", false, false},
        {"claude",
         "{\"session_id\":\"a\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"ExitPlanMode\"}",
         AGENT_ASKS, "a", "ExitPlanMode", "plan", false, false},
        {"claude",
         "{\"session_id\":\"a\",\"hook_event_name\":\"PostToolUseFailure\",\"tool_name\":\"Bash\",\"is_"
         "interrupt\":true}",
         AGENT_STOPPED, "a", "Bash", "interrupted", false, false},
        {"claude", "{\"session_id\":\"a\",\"hook_event_name\":\"PermissionRequest\",\"tool_name\":\"Edit\"}",
         AGENT_ASKS, "a", "Edit", "permission", false, false},
        {"claude",
         "{\"session_id\":\"a\",\"hook_event_name\":\"Notification\",\"notification_type\":\"permission_"
         "prompt\"}",
         AGENT_ASKS, "a", "", "permission", false, false},
        {"claude",
         "{\"session_id\":\"a\",\"hook_event_name\":\"Notification\",\"message\":\"Claude needs your "
         "permission to use Bash\"}",
         AGENT_ASKS, "a", "", "permission", false, false},
        {"claude",
         "{\"session_id\":\"a\",\"hook_event_name\":\"Notification\",\"notification_type\":\"idle_prompt\"}",
         AGENT_STOPPED, "a", "", "", false, false},
        {"claude",
         "{\"session_id\":\"a\",\"hook_event_name\":\"Notification\",\"notification_type\":\"auth_"
         "success\"}",
         AGENT_NOTED, "a", "", "auth_success", false, false},
        {"claude", "{\"session_id\":\"a\",\"hook_event_name\":\"StopFailure\",\"error\":\"rate_limit\"}",
         AGENT_LIMITED, "a", "", "rate_limit", false, false},
        {"claude", "{\"session_id\":\"a\",\"hook_event_name\":\"StopFailure\",\"error\":\"overloaded\"}",
         AGENT_FAILED, "a", "", "overloaded", false, false},
        {"claude", "{\"session_id\":\"a\",\"hook_event_name\":\"StopFailure\"}", AGENT_FAILED, "a", "",
         "unknown", false, false},
        {"claude", "{\"session_id\":\"a\",\"hook_event_name\":\"SubagentStop\",\"agent_id\":\"b\"}",
         AGENT_NOTED, "a", "", "", true, false},
        {"claude",
         "{\"session_id\":\"a\",\"hook_event_name\":\"SessionEnd\",\"reason\":\"prompt_input_exit\"}",
         AGENT_LEFT, "a", "", "prompt_input_exit", false, false},
        {"claude", "{\"session_id\":\"a\",\"hook_event_name\":\"NotInTheTable\"}", AGENT_NOTED, "a", "", "",
         false, false},
        {"claude",
         "{\"session_id\":7,\"hook_event_name\":\"Stop\",\"background_tasks\":\"x\",\"tool_name\":[]}",
         AGENT_STOPPED, "", "", "", false, false},
        {"codex",
         "{\"session_id\":\"a\",\"turn_id\":\"t\",\"hook_event_name\":\"Stop\",\"last_assistant_message\":"
         "null}",
         AGENT_STOPPED, "a", "", "", false, false},
        {"codex", "{\"type\":\"agent-turn-complete\",\"thread-id\":\"a\",\"turn-id\":\"t\"}", AGENT_STOPPED,
         "a", "", "", false, false},
        {"gemini",
         "{\"session_id\":\"a\",\"hook_event_name\":\"BeforeAgent\",\"timestamp\":\"2026-01-02T03:04:05."
         "678Z\"}",
         AGENT_TURN, "a", "", "", false, false},
        {"gemini",
         "{\"session_id\":\"a\",\"hook_event_name\":\"BeforeTool\",\"tool_name\":\"run_shell_command\"}",
         AGENT_TOOL, "a", "run_shell_command", "", false, false},
        {"gemini",
         "{\"session_id\":\"a\",\"hook_event_name\":\"Notification\",\"notification_type\":"
         "\"ToolPermission\",\"details\":{\"tool_name\":\"edit\"}}",
         AGENT_ASKS, "a", "edit", "permission", false, false},
        {"gemini", "{\"session_id\":\"a\",\"hook_event_name\":\"AfterAgent\",\"prompt_response\":\"ok\"}",
         AGENT_STOPPED, "a", "", "", false, false},
        {"opencode",
         "{\"type\":\"session.status\",\"properties\":{\"sessionID\":\"a\",\"status\":{\"type\":\"busy\"}}}",
         AGENT_TURN, "a", "", "", false, false},
        {"opencode",
         "{\"type\":\"session.status\",\"properties\":{\"sessionID\":\"a\",\"status\":{\"type\":\"idle\"}}}",
         AGENT_STOPPED, "a", "", "", false, false},
        {"opencode",
         "{\"type\":\"session.status\",\"properties\":{\"sessionID\":\"a\",\"status\":{\"type\":\"retry\","
         "\"next\":1}}}",
         AGENT_TURN, "a", "", "retry", false, false},
        {"opencode",
         "{\"type\":\"session.status\",\"properties\":{\"sessionID\":\"a\",\"status\":{\"type\":\"retry\","
         "\"next\":90000000000000}}}",
         AGENT_LIMITED, "a", "", "retry", false, false},
        {"opencode",
         "{\"type\":\"session.status\",\"properties\":{\"sessionID\":\"a\",\"status\":{\"type\":\"retry\","
         "\"next\":9e300}}}",
         AGENT_TURN, "a", "", "retry", false, false},
        {"opencode", "{\"type\":\"session.idle\",\"properties\":{\"sessionID\":\"a\"}}", AGENT_STOPPED, "a",
         "", "", false, false},
        {"opencode",
         "{\"type\":\"session.created\",\"properties\":{\"info\":{\"id\":\"a\",\"parentID\":\"p\"}}}",
         AGENT_BEGAN, "a", "", "", true, false},
        {"opencode",
         "{\"type\":\"permission.asked\",\"properties\":{\"sessionID\":\"a\",\"permission\":\"bash\"}}",
         AGENT_ASKS, "a", "bash", "permission", false, false},
        {"opencode", "{\"type\":\"permission.replied\",\"properties\":{\"sessionID\":\"a\"}}", AGENT_TURN,
         "a", "", "", false, false},
        {"opencode",
         "{\"type\":\"session.error\",\"properties\":{\"sessionID\":\"a\",\"error\":{\"name\":"
         "\"MessageAbortedError\"}}}",
         AGENT_STOPPED, "a", "", "interrupted", false, false},
        {"opencode",
         "{\"type\":\"session.error\",\"properties\":{\"sessionID\":\"a\",\"error\":{\"name\":"
         "\"ProviderAuthError\"}}}",
         AGENT_FAILED, "a", "", "ProviderAuthError", false, false},
};

static void test_shapes(_unused_ void **unused) {
        for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
                const Shape *shape = &shapes[i];
                _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
                Json *json = NULL;
                AgentFact fact;

                assert_int_equal(
                        json_parse(&arena, shape->payload, strlen(shape->payload), NULL, &json, NULL), 0);
                assert_true(hook_read(str_from(shape->runtime), STR_NULL, json, 1, &fact));
                if (fact.kind != shape->kind || strcmp(fact.session, shape->session) != 0 ||
                    strcmp(fact.tool, shape->tool) != 0 || strcmp(fact.detail, shape->detail) != 0 ||
                    fact.is_sub != shape->is_sub || fact.is_switch != shape->is_switch)
                        fail_msg("%s: %s session=%s tool=%s detail=%s sub=%d switch=%d", shape->payload,
                                 agent_fact_kind_name(fact.kind), fact.session, fact.tool, fact.detail,
                                 fact.is_sub, fact.is_switch);
                assert_string_equal(fact.runtime, shape->runtime);
        }
}

static void test_members(_unused_ void **unused) {
        static const char text[] =
                "{\"session_id\":\"a\",\"hook_event_name\":\"Stop\",\"turn_id\":\"t\",\"timestamp\":"
                "\"1970-01-01T00:00:02Z\",\"background_tasks\":[1,{}]}";
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Json *json = NULL;
        AgentFact fact;

        assert_int_equal(json_parse(&arena, text, strlen(text), NULL, &json, NULL), 0);
        assert_true(hook_read(STR("x"), STR("SessionStart"), json, 5, &fact));
        assert_string_equal(fact.event, "Stop");
        assert_string_equal(fact.turn, "t");
        assert_int_equal(fact.n_background, 2);
        assert_int_equal(fact.said_us, 2000000);
        assert_int_equal(fact.at_us, 5);
}

/* A payload that was too long has only the event of the command line. */
static void test_without_payload(_unused_ void **unused) {
        AgentFact fact;

        assert_true(hook_read(STR("claude"), STR("PostToolUse"), NULL, 1, &fact));
        assert_int_equal(fact.kind, AGENT_TOOL_DONE);
        assert_false(hook_read(STR("claude"), STR_NULL, NULL, 1, &fact));
        assert_null(hook_events(STR("aider")));
        assert_non_null(hook_events(STR("gemini")));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_shapes),
                cmocka_unit_test(test_members),
                cmocka_unit_test(test_without_payload),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

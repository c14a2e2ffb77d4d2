/* SPDX-License-Identifier: MIT */
#include "core/agents/hook.h"

#include <stdio.h>

#include "base/macro.h"
#include "base/time.h"

enum { HOOK_RETRY_LONG_S = 60 };
#define HOOK_TIME_MAX_MS INT64_C(100000000000000)

/* ---- what moments there are ------------------------------------------------------------------ */

typedef struct HookEvent {
        const char *name;
        AgentFactKind kind;
        bool is_of_sub; /* by its name, whatever the payload says */
} HookEvent;

/* Of all programs: their names do not contradict each other. */
static const HookEvent hook_table[] = {
        {"SessionStart", AGENT_BEGAN, false},
        {"SessionEnd", AGENT_LEFT, false},
        {"UserPromptSubmit", AGENT_TURN, false},
        {"PreToolUse", AGENT_TOOL, false},
        {"PostToolUse", AGENT_TOOL_DONE, false},
        {"PostToolUseFailure", AGENT_TOOL_DONE, false},
        {"PermissionRequest", AGENT_ASKS, false},
        {"Elicitation", AGENT_ASKS, false},
        {"ElicitationResult", AGENT_TURN, false},
        {"Stop", AGENT_STOPPED, false},
        {"StopFailure", AGENT_FAILED, false},
        {"SubagentStart", AGENT_NOTED, true},
        {"SubagentStop", AGENT_NOTED, true},
        {"Notification", AGENT_NOTED, false},
        {"PreCompact", AGENT_NOTED, false},
        {"PostCompact", AGENT_NOTED, false},
        /* Gemini */
        {"BeforeAgent", AGENT_TURN, false},
        {"AfterAgent", AGENT_STOPPED, false},
        {"BeforeTool", AGENT_TOOL, false},
        {"AfterTool", AGENT_TOOL_DONE, false},
        {"PreCompress", AGENT_NOTED, false},
        /* Codex: the program that `notify` names */
        {"agent-turn-complete", AGENT_STOPPED, false},
        /* OpenCode */
        {"session.created", AGENT_BEGAN, false},
        {"session.deleted", AGENT_LEFT, false},
        {"session.status", AGENT_NOTED, false},
        {"session.idle", AGENT_STOPPED, false},
        {"session.error", AGENT_FAILED, false},
        {"tool.execute.before", AGENT_TOOL, false},
        {"tool.execute.after", AGENT_TOOL_DONE, false},
        {"permission.asked", AGENT_ASKS, false},
        {"permission.updated", AGENT_ASKS, false},
        {"permission.replied", AGENT_TURN, false},
        {"question.asked", AGENT_ASKS, false},
        {"question.replied", AGENT_TURN, false},
};

static const char *const hook_claude[] = {"SessionStart", "SessionEnd",   "UserPromptSubmit",
                                          "PreToolUse",   "PostToolUse",  "PostToolUseFailure",
                                          "Stop",         "StopFailure",  "PermissionRequest",
                                          "Notification", "SubagentStop", NULL};
static const char *const hook_codex[] = {"SessionStart", "SessionEnd", "UserPromptSubmit",  "PreToolUse",
                                         "PostToolUse",  "Stop",       "PermissionRequest", NULL};
static const char *const hook_gemini[] = {"SessionStart", "SessionEnd", "BeforeAgent",  "AfterAgent",
                                          "BeforeTool",   "AfterTool",  "Notification", NULL};
static const char *const hook_opencode[] = {
        "session.created",    "session.status",     "session.idle",       "session.error",
        "permission.asked",   "permission.updated", "permission.replied", "tool.execute.before",
        "tool.execute.after", "question.asked",     "question.replied",   NULL};

const char *const *hook_events(Str runtime) {
        static const struct {
                const char *name;
                const char *const *events;
        } runtimes[] = {{"claude", hook_claude},
                        {"codex", hook_codex},
                        {"gemini", hook_gemini},
                        {"opencode", hook_opencode}};

        for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++)
                if (str_is(runtime, runtimes[i].name))
                        return runtimes[i].events;
        return NULL;
}

static const HookEvent *hook_find(Str name) {
        for (size_t i = 0; i < ARRAY_SIZE(hook_table); i++)
                if (str_is(name, hook_table[i].name))
                        return &hook_table[i];
        return NULL;
}

/* ---- members --------------------------------------------------------------------------------- */

/* The first of these names that holds a text. */
static Str hook_text(const Json *object, const char *const *names) {
        for (; *names; names++)
                if (json_text_of(object, *names).n)
                        return json_text_of(object, *names);
        return STR_NULL;
}

static bool hook_holds(Str text, const char *word) {
        size_t n = strlen(word);

        for (size_t i = 0; i + n <= text.n; i++)
                if (str_eq_nocase((Str){text.data + i, n}, (Str){word, n}))
                        return true;
        return false;
}

static uint32_t hook_count(const Json *value) {
        int64_t n = 0;

        if (json_is(value, JSON_ARRAY))
                return (uint32_t)json_count(value);
        return json_int64(value, &n) && n > 0 ? (uint32_t)MIN(n, (int64_t)UINT32_MAX) : 0;
}

/* ---- moments that say more ------------------------------------------------------------------- */

/* The tools by which Claude Code asks a person something itself. */
static void hook_look_tool(AgentFact *fact) {
        if (!strcmp(fact->tool, "AskUserQuestion") || !strcmp(fact->tool, "request_user_input")) {
                fact->kind = AGENT_ASKS;
                agent_put(fact->detail, STR("question"));
        } else if (!strcmp(fact->tool, "ExitPlanMode")) {
                fact->kind = AGENT_ASKS;
                agent_put(fact->detail, STR("plan"));
        }
}

static void hook_look_tool_done(AgentFact *fact, const Json *payload) {
        if (!json_truth_of(payload, "is_interrupt"))
                return;
        fact->kind = AGENT_STOPPED;
        agent_put(fact->detail, STR("interrupted"));
}

/* Late or missing at times: never the only source, but right when it comes. An idle prompt is what is left of a turn that a person
 * has interrupted, for which no other hook is run. */
static void hook_look_notification(AgentFact *fact, const Json *payload) {
        Str type = json_text_of(payload, "notification_type"), message = json_text_of(payload, "message");

        if (str_is(type, "permission_prompt") || str_is(type, "ToolPermission") ||
            (!type.n && hook_holds(message, "permission"))) {
                fact->kind = AGENT_ASKS;
                agent_put(fact->detail, STR("permission"));
                agent_put(fact->tool, json_text_of(json_get(payload, "details"), "tool_name"));
        } else if (str_is(type, "elicitation_dialog")) {
                fact->kind = AGENT_ASKS;
                agent_put(fact->detail, STR("question"));
        } else if (str_is(type, "idle_prompt") ||
                   (!type.n && hook_holds(message, "waiting for your input"))) {
                fact->kind = AGENT_STOPPED;
        } else
                agent_put(fact->detail, type);
}

static void hook_look_failure(AgentFact *fact, const Json *payload) {
        static const char *const names[] = {"error", "error_type", "code", "name", NULL};
        const Json *error = json_get(payload, "error");
        Str code = hook_text(json_is(error, JSON_OBJECT) ? error : payload, names);

        if (str_is(code, "rate_limit") || str_is(code, "rate_limit_error"))
                fact->kind = AGENT_LIMITED;
        if (str_is(code, "MessageAbortedError")) { /* OpenCode: a person stopped it */
                fact->kind = AGENT_STOPPED;
                code = STR("interrupted");
        }
        agent_put(fact->detail, code.n ? code : STR("unknown"));
}

/* OpenCode waits by itself: some seconds as a rule, and longer when its provider says how long. */
static void hook_look_status(AgentFact *fact, const Json *properties) {
        const Json *status = json_get(properties, "status");
        Str type = json_is(status, JSON_OBJECT) ? json_text_of(status, "type") : json_str(status);
        int64_t next_ms = 0;

        if (str_is(type, "busy") || str_is(type, "retry"))
                fact->kind = AGENT_TURN;
        else if (str_is(type, "idle"))
                fact->kind = AGENT_STOPPED;
        agent_put(fact->detail, str_is(type, "retry") ? STR("retry") : STR_NULL);
        if (str_is(type, "retry") && json_int64(json_get(status, "next"), &next_ms) &&
            next_ms / 1000 - fact->at_us / 1000000 >= HOOK_RETRY_LONG_S && next_ms < HOOK_TIME_MAX_MS) {
                fact->kind = AGENT_LIMITED;
                fact->until_us = next_ms * 1000;
        }
}

static void hook_look_session(AgentFact *fact, const Json *payload) {
        Str why = json_text_of(payload, fact->kind == AGENT_BEGAN ? "source" : "reason");

        fact->is_switch = str_is(why, "clear") || str_is(why, "resume") || str_is(why, "compact");
        agent_put(fact->detail, why);
}

static void hook_look(AgentFact *fact, Str event, const Json *payload) {
        if (str_is(event, "Notification"))
                hook_look_notification(fact, payload);
        else if (str_is(event, "session.status"))
                hook_look_status(fact, payload);
        else if (str_is(event, "Elicitation") || str_is(event, "question.asked"))
                agent_put(fact->detail, STR("question"));
        else if (fact->kind == AGENT_ASKS)
                agent_put(fact->detail, STR("permission"));
        else if (fact->kind == AGENT_TOOL)
                hook_look_tool(fact);
        else if (fact->kind == AGENT_TOOL_DONE)
                hook_look_tool_done(fact, payload);
        else if (fact->kind == AGENT_FAILED)
                hook_look_failure(fact, payload);
        else if (fact->kind == AGENT_BEGAN || fact->kind == AGENT_LEFT)
                hook_look_session(fact, payload);
}

/* ---- one hook -------------------------------------------------------------------------------- */

/* A compaction begins a session anew in the midst of a turn: it says nothing of what the agent does. */
static void hook_mend(AgentFact *fact, Str event, const Json *payload) {
        if (str_is(event, "SessionStart") && str_is(json_text_of(payload, "source"), "compact"))
                fact->kind = AGENT_NOTED;
        if (json_text_of(payload, "agent_id").n || json_text_of(json_get(payload, "info"), "parentID").n)
                fact->is_sub = true;
}

static void hook_read_common(AgentFact *fact, const Json *payload) {
        static const char *const sessions[] = {"session_id", "sessionID", "thread-id", "thread_id", NULL},
                                 *const turns[] = {"turn_id", "turn-id", "prompt_id", NULL},
                                 *const tools[] = {"tool_name", "tool", "permission", NULL};
        const Json *info = json_get(payload, "info");

        agent_put(fact->session, hook_text(payload, sessions));
        if (!*fact->session)
                agent_put(fact->session, json_text_of(info, "id"));
        agent_put(fact->turn, hook_text(payload, turns));
        agent_put(fact->tool, hook_text(payload, tools));
        fact->n_background = hook_count(json_get(payload, "background_tasks"));
        if (!time_parse(json_text_of(payload, "timestamp"), &fact->said_us))
                fact->said_us = 0;
}

bool hook_read(Str runtime, Str event, const Json *payload, int64_t now_us, AgentFact *ret) {
        const Json *members = payload;
        const HookEvent *row;

        if (json_text_of(payload, "hook_event_name").n)
                event = json_text_of(payload, "hook_event_name");
        else if (json_text_of(payload, "type").n)
                event = json_text_of(payload, "type");
        if (json_is(json_get(payload, "properties"), JSON_OBJECT)) /* OpenCode has them one deeper */
                members = json_get(payload, "properties");
        if (!event.n)
                return false;
        row = hook_find(event);
        *ret = (AgentFact){.at_us = now_us,
                           .source = AGENT_HOOK,
                           .kind = row ? row->kind : AGENT_NOTED,
                           .is_sub = row && row->is_of_sub};
        agent_put(ret->runtime, runtime);
        agent_put(ret->event, event);
        hook_read_common(ret, members);
        hook_look(ret, event, members);
        hook_mend(ret, event, members);
        return true;
}

/* ---- answers --------------------------------------------------------------------------------- */

bool hook_takes_mail(Str runtime) {
        return str_is(runtime, "claude") || str_is(runtime, "codex") || str_is(runtime, "gemini");
}

/* The end of a turn is refused, with the messages as the reason: they are the next thing that the model reads. */
void hook_write_mail(JsonWriter *w, const AgentFact *fact, Str text) {
        jw_begin_object(w);
        if (fact->kind == AGENT_STOPPED) {
                jw_field_cstr(w, "decision", strcmp(fact->runtime, "gemini") ? "block" : "deny");
                jw_field_str(w, "reason", text);
        } else {
                jw_key(w, "hookSpecificOutput");
                jw_begin_object(w);
                jw_field_cstr(w, "hookEventName", fact->event);
                jw_field_str(w, "additionalContext", text);
                jw_end_object(w);
        }
        jw_end_object(w);
}

bool hook_asks(const AgentFact *fact) {
        return !strcmp(fact->event, "PermissionRequest") &&
               (!strcmp(fact->runtime, "claude") || !strcmp(fact->runtime, "codex"));
}

void hook_write_decision(JsonWriter *w, bool is_allowed, Str note) {
        jw_begin_object(w);
        jw_key(w, "hookSpecificOutput");
        jw_begin_object(w);
        jw_field_cstr(w, "hookEventName", "PermissionRequest");
        jw_key(w, "decision");
        jw_begin_object(w);
        jw_field_cstr(w, "behavior", is_allowed ? "allow" : "deny");
        if (!is_allowed)
                jw_field_str(w, "message", note.n ? note : STR("A person has denied this."));
        jw_end_object(w);
        jw_end_object(w);
        jw_end_object(w);
}

/* Claude Code and Codex: the decision of PreToolUse as published; Gemini: that of BeforeTool. */
void hook_write_refusal(JsonWriter *w, const AgentFact *fact, Str why) {
        jw_begin_object(w);
        if (!strcmp(fact->runtime, "gemini")) {
                jw_field_cstr(w, "decision", "deny");
                jw_field_str(w, "reason", why);
        } else {
                jw_key(w, "hookSpecificOutput");
                jw_begin_object(w);
                jw_field_cstr(w, "hookEventName", fact->event);
                jw_field_cstr(w, "permissionDecision", "deny");
                jw_field_str(w, "permissionDecisionReason", why);
                jw_end_object(w);
        }
        jw_end_object(w);
}

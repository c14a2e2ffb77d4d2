/* SPDX-License-Identifier: MIT */
#include "core/agents/tail.h"

#include "base/macro.h"
#include "base/time.h"
#include "core/usage/skim.h"

static bool tail_is(Str value, const char *word) {
        return str_is(skim_text(value), word);
}

static bool tail_tell(AgentFact *fact, AgentFactKind kind, const char *detail) {
        fact->kind = kind;
        agent_put(fact->detail, str_from(detail));
        return true;
}

/* ---- Claude Code ----------------------------------------------------------------------------- */

/* The last block of this type; empty: there is none, or the content is a text. */
static Str tail_claude_block(Str message, const char *type) {
        Skim blocks = skim_of(skim_get(message, "content"));
        Str block, found = STR_NULL;

        while (skim_element(&blocks, &block))
                if (tail_is(skim_get(block, "type"), type))
                        found = block;
        return found;
}

/* As it writes of a person who has pressed Escape. */
static bool tail_claude_is_interrupt(Str message) {
        Str text = skim_get(tail_claude_block(message, "text"), "text");

        if (!text.n)
                text = skim_get(message, "content");
        return str_starts(text, STR("\"[Request interrupted by user"));
}

static bool tail_claude_answer(Str line, Str message, AgentFact *fact) {
        Str reason = skim_get(message, "stop_reason"), tool = tail_claude_block(message, "tool_use");

        if (str_is(skim_get(line, "isApiErrorMessage"), "true"))
                return tail_tell(fact, AGENT_FAILED, "api_error");
        if (tool.n) {
                agent_put(fact->tool, skim_text(skim_get(tool, "name")));
                return tail_tell(fact, AGENT_TOOL, NULL);
        }
        if (tail_is(reason, "end_turn") || tail_is(reason, "stop_sequence"))
                return tail_tell(fact, AGENT_STOPPED, NULL);
        return tail_tell(fact, AGENT_TURN, NULL);
}

/* Lines of subagents, and those that it writes for itself, say nothing of the turn. */
static bool tail_claude(Str line, AgentFact *fact) {
        Str type = skim_get(line, "type"), message = skim_get(line, "message");

        if (str_is(skim_get(line, "isSidechain"), "true") || str_is(skim_get(line, "isMeta"), "true"))
                return false;
        agent_put(fact->session, skim_text(skim_get(line, "sessionId")));
        if (tail_is(type, "assistant"))
                return tail_claude_answer(line, message, fact);
        if (!tail_is(type, "user"))
                return false;
        if (tail_claude_is_interrupt(message))
                return tail_tell(fact, AGENT_STOPPED, "interrupted");
        return tail_tell(fact, tail_claude_block(message, "tool_result").n ? AGENT_TOOL_DONE : AGENT_TURN,
                         NULL);
}

/* ---- Codex ----------------------------------------------------------------------------------- */

/* A turn that a limit or an error has ended: no hook tells of that. What is wrong is a word, or an object with one member that is named so. */
static bool tail_codex_failure(Str payload, AgentFact *fact) {
        Str error = skim_get(payload, "error"),
            code = skim_get(error.n ? error : payload, "codex_error_info");
        Skim members = skim_of(code);
        Str name, value;

        if (code.n && code.data[0] == '{' && skim_next(&members, &name, &value))
                code = name;
        else
                code = skim_text(code);
        if (!code.n || str_is(code, "null"))
                code = STR("failed");
        fact->kind = str_is(code, "usage_limit_exceeded") ? AGENT_LIMITED : AGENT_FAILED;
        agent_put(fact->detail, code);
        return true;
}

static bool tail_codex(Str line, AgentFact *fact) {
        static const struct {
                const char *type;
                AgentFactKind kind;
                const char *detail;
        } rows[] = {{"task_started", AGENT_TURN, NULL},     {"turn_started", AGENT_TURN, NULL},
                    {"user_message", AGENT_TURN, NULL},     {"task_complete", AGENT_STOPPED, NULL},
                    {"turn_complete", AGENT_STOPPED, NULL}, {"turn_aborted", AGENT_STOPPED, "interrupted"},
                    {"error", AGENT_FAILED, NULL}};
        Str payload = skim_get(line, "payload"), type = skim_get(payload, "type");

        if (!tail_is(skim_get(line, "type"), "event_msg"))
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                if (tail_is(type, rows[i].type)) {
                        Str error = skim_get(payload, "error");

                        agent_put(fact->turn, skim_text(skim_get(payload, "turn_id")));
                        if (rows[i].kind == AGENT_FAILED || (error.n && error.data[0] == '{'))
                                return tail_codex_failure(payload, fact);
                        return tail_tell(fact, rows[i].kind, rows[i].detail);
                }
        return false;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* One without a time could be of any turn. */
static bool tail_line(Str runtime, Str line, int64_t now_us, AgentFact *ret) {
        bool is_claude = str_is(runtime, "claude");

        *ret = (AgentFact){.at_us = now_us, .source = AGENT_TRANSCRIPT};
        if (!line.n || line.data[0] != '{' || !(is_claude ? tail_claude(line, ret) : tail_codex(line, ret)))
                return false;
        if (!time_parse(skim_text(skim_get(line, "timestamp")), &ret->said_us) || ret->said_us <= 0)
                return false;
        ret->said_us = MIN(ret->said_us, now_us);
        agent_put(ret->runtime, runtime);
        agent_put(ret->event, skim_text(skim_get(line, "type")));
        return true;
}

bool tail_read(Str runtime, Str text, int64_t now_us, AgentFact *ret) {
        if (!str_is(runtime, "claude") && !str_is(runtime, "codex"))
                return false;
        for (unsigned i = 0; i < TAIL_LINES_MAX && text.n; i++) {
                const char *before;
                Str line;

                if (text.data[text.n - 1] == '\n')
                        text.n--;
                before = text.n ? memrchr(text.data, '\n', text.n) : NULL;
                line = before ? (Str){before + 1, (size_t)(text.data + text.n - before - 1)} : text;
                if (tail_line(runtime, line, now_us, ret))
                        return true;
                text.n -= line.n;
        }
        return false;
}

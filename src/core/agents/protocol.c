/* SPDX-License-Identifier: MIT */
#include "core/agents/protocol.h"

#include "base/macro.h"
#include "core/usage/skim.h"

enum { PROTOCOL_SECONDS_MAX = 12 }; /* digits of a time in seconds */

/* ---- members --------------------------------------------------------------------------------- */

/* The members of a line that count, as they are written; those of one form are not in another. */
typedef struct ProtocolLine {
        Str type, subtype, method;
        Str session, opencode_session, thread, parent, timestamp;
        Str state, status, role;
        Str message, limit, request, item, params, part, error, is_error, tool;
} ProtocolLine;

static bool protocol_is(Str value, const char *word) {
        return str_is(skim_text(value), word);
}

static bool protocol_skim(Str text, ProtocolLine *line) {
        const struct {
                const char *name;
                Str *value;
        } members[] = {{"type", &line->type},           {"subtype", &line->subtype},
                       {"method", &line->method},       {"session_id", &line->session},
                       {"thread_id", &line->thread},    {"sessionID", &line->opencode_session},
                       {"timestamp", &line->timestamp}, {"parent_tool_use_id", &line->parent},
                       {"state", &line->state},         {"status", &line->status},
                       {"role", &line->role},           {"message", &line->message},
                       {"request", &line->request},     {"rate_limit_info", &line->limit},
                       {"item", &line->item},           {"params", &line->params},
                       {"part", &line->part},           {"error", &line->error},
                       {"is_error", &line->is_error},   {"tool_name", &line->tool}};
        Skim skim = skim_of(text);
        Str key, value;

        *line = (ProtocolLine){0};
        while (skim_next(&skim, &key, &value))
                for (size_t i = 0; i < ARRAY_SIZE(members); i++)
                        if (str_is(key, members[i].name))
                                *members[i].value = value;
        return !skim.is_wrong && (line->type.n || line->method.n);
}

/* Seconds since 1970, in microseconds; 0: it is none. */
static int64_t protocol_time(Str value) {
        int64_t seconds = 0;

        if (value.n > PROTOCOL_SECONDS_MAX)
                return 0;
        for (size_t i = 0; i < value.n; i++) {
                if (value.data[i] < '0' || value.data[i] > '9')
                        return 0;
                seconds = seconds * 10 + value.data[i] - '0';
        }
        return seconds * 1000000;
}

static bool protocol_ask(AgentFact *fact, const char *what, Str tool) {
        fact->kind = AGENT_ASKS;
        agent_put(fact->detail, str_from(what));
        agent_put(fact->tool, skim_text(tool));
        return true;
}

static bool protocol_use(AgentFact *fact, AgentFactKind kind, Str tool) {
        fact->kind = kind;
        agent_put(fact->tool, tool);
        return true;
}

static bool protocol_stop(AgentFact *fact, AgentFactKind kind, const char *detail) {
        fact->kind = kind;
        agent_put(fact->detail, str_from(detail));
        return true;
}

static bool protocol_turn(AgentFact *fact) {
        fact->kind = AGENT_TURN;
        return true;
}

/* ---- Claude Code ----------------------------------------------------------------------------- */

static bool protocol_claude_state(const ProtocolLine *line, AgentFact *fact) {
        if (protocol_is(line->subtype, "init"))
                return protocol_turn(fact);
        if (!protocol_is(line->subtype, "session_state_changed"))
                return false;
        if (protocol_is(line->state, "running"))
                return protocol_turn(fact);
        if (protocol_is(line->state, "requires_action"))
                return protocol_ask(fact, "permission", STR_NULL);
        return protocol_is(line->state, "idle") && protocol_stop(fact, AGENT_STOPPED, NULL);
}

/* The last block of this type in a message; empty: it has none. */
static Str protocol_claude_block(Str message, const char *type) {
        Skim blocks = skim_of(skim_get(message, "content"));
        Str block, found = STR_NULL;

        while (skim_element(&blocks, &block))
                if (protocol_is(skim_get(block, "type"), type))
                        found = block;
        return found;
}

static bool protocol_claude_message(const ProtocolLine *line, AgentFact *fact) {
        bool is_answer = protocol_is(line->type, "assistant");
        Str block = protocol_claude_block(line->message, is_answer ? "tool_use" : "tool_result");

        fact->is_sub = line->parent.n && line->parent.data[0] == '"';
        if (block.n)
                return protocol_use(fact, is_answer ? AGENT_TOOL : AGENT_TOOL_DONE,
                                    skim_text(skim_get(block, "name")));
        return is_answer && !fact->is_sub && protocol_turn(fact);
}

/* A warning stops nothing, nor does a limit beyond which it is paid for. */
static bool protocol_claude_limit(const ProtocolLine *line, AgentFact *fact) {
        if (!protocol_is(skim_get(line->limit, "status"), "rejected") ||
            str_is(skim_get(line->limit, "isUsingOverage"), "true"))
                return false;
        fact->kind = AGENT_LIMITED;
        fact->until_us = protocol_time(skim_get(line->limit, "resetsAt"));
        agent_put(fact->detail, skim_text(skim_get(line->limit, "rateLimitType")));
        return true;
}

/* The end of a turn that a limit has stopped is an error, too: the limit says more. */
static bool protocol_claude_result(const AgentProtocol *self, const ProtocolLine *line, AgentFact *fact) {
        bool is_error = str_is(line->is_error, "true");
        Str code = skim_text(line->subtype);

        if (!is_error && protocol_is(line->subtype, "success"))
                return protocol_stop(fact, AGENT_STOPPED, NULL);
        fact->kind = AGENT_FAILED;
        agent_put(fact->detail, str_is(code, "success") ? STR("api_error") : code);
        return !self->is_limited;
}

static bool protocol_claude(const AgentProtocol *self, const ProtocolLine *line, AgentFact *fact) {
        if (protocol_is(line->type, "system"))
                return protocol_claude_state(line, fact);
        if (protocol_is(line->type, "assistant") || protocol_is(line->type, "user"))
                return protocol_claude_message(line, fact);
        if (protocol_is(line->type, "rate_limit_event"))
                return protocol_claude_limit(line, fact);
        if (protocol_is(line->type, "result"))
                return protocol_claude_result(self, line, fact);
        return protocol_is(skim_get(line->request, "subtype"), "can_use_tool") &&
               protocol_ask(fact, "permission", skim_get(line->request, "tool_name"));
}

/* ---- Codex ----------------------------------------------------------------------------------- */

/* Items that are no work of a tool: what it says, thinks and plans. */
static bool protocol_codex_is_tool(Str type) {
        static const char *const words[] = {"command_execution", "file_change",   "mcp_tool_call",
                                            "web_search",        "fileChange",    "commandExecution",
                                            "mcpToolCall",       "webSearch",     "collab_tool_call",
                                            "dynamicToolCall",   "collabToolCall"};

        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                if (str_is(type, words[i]))
                        return true;
        return false;
}

static bool protocol_codex_item(Str item, bool is_begun, AgentFact *fact) {
        Str type = skim_text(skim_get(item, "type")), tool = skim_text(skim_get(item, "tool"));

        return protocol_codex_is_tool(type) &&
               protocol_use(fact, is_begun ? AGENT_TOOL : AGENT_TOOL_DONE, tool.n ? tool : type);
}

static bool protocol_codex(const ProtocolLine *line, AgentFact *fact) {
        if (protocol_is(line->type, "turn.started"))
                return protocol_turn(fact);
        if (protocol_is(line->type, "turn.completed"))
                return protocol_stop(fact, AGENT_STOPPED, NULL);
        if (protocol_is(line->type, "turn.failed"))
                return protocol_stop(fact, AGENT_FAILED, "failed");
        return (protocol_is(line->type, "item.started") || protocol_is(line->type, "item.completed")) &&
               protocol_codex_item(line->item, protocol_is(line->type, "item.started"), fact);
}

/* A thread that is active may wait for a person. */
static bool protocol_server_status(Str status, AgentFact *fact) {
        Skim flags = skim_of(skim_get(status, "activeFlags"));
        Str type = skim_get(status, "type"), flag;

        while (skim_element(&flags, &flag)) {
                if (protocol_is(flag, "waitingOnApproval"))
                        return protocol_ask(fact, "permission", STR_NULL);
                if (protocol_is(flag, "waitingOnUserInput"))
                        return protocol_ask(fact, "question", STR_NULL);
        }
        if (protocol_is(type, "active"))
                return protocol_turn(fact);
        if (protocol_is(type, "systemError"))
                return protocol_stop(fact, AGENT_FAILED, "system_error");
        return protocol_is(type, "idle") && protocol_stop(fact, AGENT_STOPPED, NULL);
}

static bool protocol_server_end(Str turn, AgentFact *fact) {
        Str why = skim_get(skim_get(turn, "error"), "codexErrorInfo");

        if (!protocol_is(skim_get(turn, "status"), "failed"))
                return protocol_stop(fact, AGENT_STOPPED,
                                     protocol_is(skim_get(turn, "status"), "interrupted") ? "interrupted"
                                                                                          : NULL);
        fact->kind = protocol_is(why, "usageLimitExceeded") ? AGENT_LIMITED : AGENT_FAILED;
        agent_put(fact->detail, skim_text(why).n ? skim_text(why) : STR("failed"));
        return true;
}

static bool protocol_server_asks(Str method) {
        static const char *const words[] = {
                "item/commandExecution/requestApproval", "item/fileChange/requestApproval",
                "item/permissions/requestApproval", "execCommandApproval", "applyPatchApproval"};

        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                if (protocol_is(method, words[i]))
                        return true;
        return false;
}

static bool protocol_server(const ProtocolLine *line, AgentFact *fact) {
        Str turn = skim_get(line->params, "turn"), method = line->method,
            thread = skim_text(skim_get(line->params, "threadId"));

        if (thread.n)
                agent_put(fact->session, thread);
        agent_put(fact->turn, skim_text(turn.n ? skim_get(turn, "id") : skim_get(line->params, "turnId")));
        if (protocol_is(method, "turn/started"))
                return protocol_turn(fact);
        if (protocol_is(method, "turn/completed"))
                return protocol_server_end(turn, fact);
        if (protocol_is(method, "thread/status/changed"))
                return protocol_server_status(skim_get(line->params, "status"), fact);
        if (protocol_is(method, "item/started") || protocol_is(method, "item/completed"))
                return protocol_codex_item(skim_get(line->params, "item"),
                                           protocol_is(method, "item/started"), fact);
        if (protocol_is(method, "item/tool/requestUserInput"))
                return protocol_ask(fact, "question", STR_NULL);
        return protocol_server_asks(method) && protocol_ask(fact, "permission", STR_NULL);
}

/* ---- Gemini, OpenCode ------------------------------------------------------------------------ */

static bool protocol_gemini(const ProtocolLine *line, AgentFact *fact) {
        if (protocol_is(line->type, "init") || protocol_is(line->type, "message"))
                return protocol_turn(fact);
        if (protocol_is(line->type, "tool_use"))
                return protocol_use(fact, AGENT_TOOL, skim_text(line->tool));
        if (protocol_is(line->type, "tool_result"))
                return protocol_use(fact, AGENT_TOOL_DONE, STR_NULL);
        if (!protocol_is(line->type, "result"))
                return false; /* an error here is a warning: it goes on */
        if (protocol_is(line->status, "success"))
                return protocol_stop(fact, AGENT_STOPPED, NULL);
        fact->kind = AGENT_FAILED;
        agent_put(fact->detail, skim_text(skim_get(line->error, "type")));
        return true;
}

static bool protocol_opencode(const ProtocolLine *line, AgentFact *fact) {
        if (protocol_is(line->type, "step_start") || protocol_is(line->type, "text"))
                return protocol_turn(fact);
        if (protocol_is(line->type, "tool_use")) /* told when it is done */
                return protocol_use(fact, AGENT_TOOL_DONE, skim_text(skim_get(line->part, "tool")));
        if (protocol_is(line->type, "step_finish"))
                return protocol_is(skim_get(line->part, "reason"), "stop") &&
                       protocol_stop(fact, AGENT_STOPPED, NULL);
        if (!protocol_is(line->type, "error"))
                return false;
        fact->kind = AGENT_FAILED;
        agent_put(fact->detail, skim_text(skim_get(line->error, "name")));
        return true;
}

/* ---- whose it is ----------------------------------------------------------------------------- */

static bool protocol_starts(Str value, const char *with) {
        return str_starts(skim_text(value), str_from(with));
}

/* By the members that only one of them has. */
static SpokenForm protocol_form(const ProtocolLine *line) {
        if (line->method.n)
                return SPOKEN_SERVER;
        if (protocol_starts(line->type, "thread.") || protocol_starts(line->type, "turn.") ||
            protocol_starts(line->type, "item."))
                return SPOKEN_CODEX;
        if (line->opencode_session.n)
                return SPOKEN_OPENCODE;
        if (line->subtype.n || line->limit.n || line->request.n ||
            (line->message.n && line->message.data[0] == '{'))
                return SPOKEN_CLAUDE;
        return line->timestamp.n ? SPOKEN_GEMINI : SPOKEN_NONE;
}

static bool protocol_read(const AgentProtocol *self, const ProtocolLine *line, SpokenForm form,
                          AgentFact *fact) {
        switch (form) {
        case SPOKEN_NONE: break;
        case SPOKEN_CLAUDE: return protocol_claude(self, line, fact);
        case SPOKEN_CODEX: return protocol_codex(line, fact);
        case SPOKEN_SERVER: return protocol_server(line, fact);
        case SPOKEN_GEMINI: return protocol_gemini(line, fact);
        case SPOKEN_OPENCODE: return protocol_opencode(line, fact);
        }
        return false;
}

static bool protocol_is_same(const AgentFact *a, const AgentFact *b) {
        return a->kind == b->kind && a->is_sub == b->is_sub && !strcmp(a->tool, b->tool) &&
               !strcmp(a->detail, b->detail) && !strcmp(a->session, b->session) && !strcmp(a->turn, b->turn);
}

bool protocol_line(AgentProtocol *self, Str line, int64_t now_us, const ProtocolTold *told, AgentFact *ret) {
        static const char *const runtimes[] = {
                [SPOKEN_NONE] = "",        [SPOKEN_CLAUDE] = "claude", [SPOKEN_CODEX] = "codex",
                [SPOKEN_SERVER] = "codex", [SPOKEN_GEMINI] = "gemini", [SPOKEN_OPENCODE] = "opencode"};
        ProtocolLine parts;
        SpokenForm form;
        Str session;

        if (!line.n || line.data[0] != '{' || !protocol_skim(line, &parts))
                return false;
        form = protocol_form(&parts);
        *ret = (AgentFact){.at_us = now_us, .source = AGENT_PROTOCOL};
        session = skim_text(parts.session.n  ? parts.session
                            : parts.thread.n ? parts.thread
                                             : parts.opencode_session);
        if (session.n)
                agent_put(self->session, session);
        agent_put(ret->session, str_from(self->session));
        agent_put(ret->runtime, str_from(runtimes[form]));
        agent_put(ret->event, skim_text(parts.method.n    ? parts.method
                                        : parts.subtype.n ? parts.subtype
                                                          : parts.type));
        self->runtime = runtimes[form];
        if (told && told->used)
                spoken_line(&self->spoken, form, str_from(self->session), line, told->used, told->user);
        if (!protocol_read(self, &parts, form, ret))
                return false;
        self->is_limited = ret->kind == AGENT_LIMITED;
        if (protocol_is_same(ret, &self->last) && self->last.at_us)
                return false;
        self->last = *ret;
        return true;
}

/* ---- lines ----------------------------------------------------------------------------------- */

typedef struct ProtocolFeed {
        AgentProtocol *self;
        int64_t now_us;
        const ProtocolTold *told;
} ProtocolFeed;

static void protocol_on_line(void *user, Str line) {
        const ProtocolFeed *feed = user;
        AgentFact fact;

        if (protocol_line(feed->self, str_trim(line), feed->now_us, feed->told, &fact))
                feed->told->fact(feed->told->user, &fact);
}

/* Without memory a line is passed over. */
void protocol_feed(AgentProtocol *self, Str piece, int64_t now_us, const ProtocolTold *told) {
        ProtocolFeed feed = {self, now_us, told};

        (void)usage_lines_feed(&self->lines, piece, protocol_on_line, &feed);
}

void protocol_end(AgentProtocol *self, Str output, int64_t now_us, const ProtocolTold *told) {
        ProtocolFeed feed = {self, now_us, told};

        usage_lines_end(&self->lines, protocol_on_line, &feed);
        if (!self->runtime)
                self->runtime = "gemini"; /* the only one of which a document is read */
        if (told->used)
                spoken_document(&self->spoken, output, told->used, told->user);
}

/* What is left of the line before cannot be the beginning of what comes. */
void protocol_missed(AgentProtocol *self) {
        usage_lines_deinit(&self->lines);
        self->lines = (UsageLines){.is_skipping = true};
        spoken_missed(&self->spoken);
}

void protocol_deinit(AgentProtocol *self) {
        usage_lines_deinit(&self->lines);
}

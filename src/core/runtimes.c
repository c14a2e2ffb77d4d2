/* SPDX-License-Identifier: MIT */
#include "core/runtimes.h"

#include "base/json/json.h"
#include "base/macro.h"
#include "core/usage/usage.h"

static const Runtime runtimes[] = {
        {.name = "aider",
         .program = "aider",
         .interactive = {"--yes-always"},
         .headless = {"--yes-always", "--no-pretty", "--message"},
         .login = {{"~/.aider", true}},
         .secrets = {"~/.aider/oauth-keys.env"}},
        {.name = "amp",
         .program = "amp",
         .headless = {"-x"},
         .structured = {"--stream-json"},
         .login = {{"~/.local/share/amp", true}, {"~/.cache/amp", true}, {"~/.config/amp", false}},
         .secrets = {"~/.local/share/amp/secrets.json"}},
        {.name = "auggie",
         .program = "auggie",
         .headless = {"--print"},
         .login = {{"~/.augment", true}, {"~/.augment/settings.json", false}},
         .secrets = {"~/.augment/session.json"}},
        {.name = "claude",
         .program = "claude",
         .interactive = {"--dangerously-skip-permissions"},
         .headless = {"-p"},
         .agent_flag = "--agent",
         .structured = {"--output-format", "json"},
         .login = {{"~/.claude", true},
                   {"~/.claude.json", true},
                   {"~/.claude/settings.json", false},
                   {"~/.claude/hooks", false}},
         .secrets = {"~/.claude/.credentials.json"}},
        {.name = "codex",
         .program = "codex",
         .interactive = {"--dangerously-bypass-approvals-and-sandbox", "--search"},
         .headless = {"exec"},
         .structured = {"--json"},
         .login = {{"~/.codex", true}, {"~/.codex/config.toml", false}},
         .secrets = {"~/.codex/auth.json"}},
        {.name = "copilot",
         .program = "copilot",
         .interactive = {"--allow-all-tools", "--allow-all-paths"},
         .headless = {"--allow-all-tools", "-p"},
         .login = {{"~/.copilot", true},
                   {"~/.copilot/mcp-config.json", false},
                   {"~/.config/github-copilot", true}},
         .secrets = {"~/.config/github-copilot", "~/.copilot/config.json"}},
        {.name = "cursor",
         .program = "cursor-agent",
         .headless = {"-p"},
         .structured = {"--output-format", "json"},
         .login = {{"~/.cursor", true},
                   {"~/.cursor/mcp.json", false},
                   {"~/.cursor/hooks.json", false},
                   {"~/.config/cursor", true}},
         .secrets = {"~/.config/cursor/auth.json"}},
        {.name = "custom", .headless = {"-p"}, .agent_flag = "--agent"},
        {.name = "droid",
         .program = "droid",
         .interactive = {"--auto", "high"},
         .headless = {"exec"},
         .structured = {"--output-format", "json"},
         .login = {{"~/.factory", true},
                   {"~/.factory/settings.json", false},
                   {"~/.factory/mcp.json", false}},
         .secrets = {"~/.factory/auth.json", "~/.factory/auth.encrypted"}},
        {.name = "gemini",
         .program = "gemini",
         .interactive = {"--yolo"},
         .headless = {"-p"},
         .structured = {"--output-format", "json"},
         .login = {{"~/.gemini", true}, {"~/.gemini/settings.json", false}},
         .secrets = {"~/.gemini/oauth_creds.json"}},
        {.name = "kilocode",
         .program = "kilocode",
         .headless = {"--auto"},
         .login = {{"~/.kilocode", true}},
         .secrets = {"~/.kilocode/cli/config.json"}},
        {.name = "neovate", .program = "neovate", .headless = {"-q"}, .login = {{"~/.neovate", true}}},
        {.name = "opencode",
         .program = "opencode",
         .headless = {"run"},
         .agent_flag = "--agent",
         .structured = {"--format", "json"},
         .login = {{"~/.local/share/opencode", true},
                   {"~/.local/state/opencode", true},
                   {"~/.cache/opencode", true},
                   {"~/.config/opencode", false}},
         .secrets = {"~/.local/share/opencode/auth.json"}},
        {.name = NULL},
};

const Runtime *runtime_first(void) {
        return runtimes;
}

const Runtime *runtime_find(Str name) {
        for (const Runtime *runtime = runtimes; runtime->name; runtime++)
                if (str_is(name, runtime->name))
                        return runtime;
        return NULL;
}

const Runtime *runtime_of_command(Str command) {
        for (size_t i = command.n; i > 0; i--)
                if (command.data[i - 1] == '/') {
                        command = (Str){command.data + i, command.n - i};
                        break;
                }
        for (const Runtime *runtime = runtimes; runtime->name; runtime++)
                if (runtime->program && str_is(command, runtime->program))
                        return runtime;
        return runtime_find(STR("custom"));
}

/* ---- structured output ----------------------------------------------------------------------- */

/*
 * What a number means differs, and adding everything up counts most of it several times:
 *
 *   claude, amp   a line for each part of a response, each with the usage of the whole so far: of one id the
 *                 largest counts, and only where no result came. `usage` of a result is of its turn and leaves
 *                 subagents out; `modelUsage` has them, and is of the session so far, as `total_cost_usd` is
 *   codex         turn.completed: of the thread so far
 *   gemini        stats: of the session so far; thoughts are billed as output
 *   opencode      step_finish: of its step
 */
typedef struct RuntimeTokens {
        int64_t n_input, n_cached, n_output;
} RuntimeTokens;

typedef struct RuntimeResponse RuntimeResponse;
struct RuntimeResponse {
        RuntimeResponse *before;
        Str id;
        RuntimeTokens tokens;
};

enum {
        RUNTIME_RESPONSES_OPEN = 32
}; /* so many of the last may still be told anew: subagents print in between */

typedef struct RuntimeSums {
        Arena *arena;
        RuntimeReading *reading;
        RuntimeTokens own;          /* of steps and turns, each by itself */
        RuntimeTokens past, so_far; /* of threads that are over, and of the present one */
        RuntimeTokens session;      /* with subagents; instead of own */
        RuntimeResponse *responses; /* the last one first */
        Str thread;                 /* Codex: which one it is */
        double step_usd, session_usd;
        bool has_own, has_session;
} RuntimeSums;

static int64_t count_of(const Json *object, const char *const *names) {
        return MAX(usage_number(object, names), 0);
}

static RuntimeTokens runtime_tokens(const Json *usage) {
        static const char *const input[] = {"input_tokens", "prompt_tokens", "inputTokens",
                                            "input",        "prompt",        NULL};
        static const char *const output[] = {"output_tokens", "completion_tokens", "outputTokens",
                                             "output",        "candidates",        NULL};
        static const char *const cached[] = {"cache_read_input_tokens",
                                             "cached_input_tokens",
                                             "cacheReadInputTokens",
                                             "cached",
                                             "read",
                                             NULL};
        static const char *const thoughts[] = {"thoughts", NULL};

        return (RuntimeTokens){
                .n_input = count_of(usage, input),
                .n_cached = count_of(usage, cached) + count_of(json_get(usage, "cache"), cached),
                .n_output = count_of(usage, output) + count_of(usage, thoughts),
        };
}

static void runtime_add(RuntimeTokens *sum, RuntimeTokens more) {
        sum->n_input += more.n_input;
        sum->n_cached += more.n_cached;
        sum->n_output += more.n_output;
}

/* An object of tokens by model: false, there is none. */
static bool runtime_tokens_by_model(const Json *models, const char *member, RuntimeTokens *ret) {
        *ret = (RuntimeTokens){0};
        json_each (model, models)
                runtime_add(ret, runtime_tokens(member ? json_get(model, member) : model));
        return json_is(models, JSON_OBJECT) && json_count(models);
}

static void runtimes_take_text(const Json *text, RuntimeReading *reading) {
        if (json_is(text, JSON_STRING))
                reading->text = json_str(text);
}

/* Another thread begins: what the one before has used stays. */
static void runtime_take_thread(RuntimeSums *sums, Str thread) {
        if (!thread.n || str_eq(thread, sums->thread))
                return;
        sums->thread = thread;
        runtime_add(&sums->past, sums->so_far);
        sums->so_far = (RuntimeTokens){0};
}

static void runtime_take_response(RuntimeSums *sums, const Json *response) {
        Str id = json_str(json_get(response, "id"));
        RuntimeTokens tokens = runtime_tokens(json_get(response, "usage"));
        RuntimeResponse *at = sums->responses;

        if (!id.n || !json_is(json_get(response, "usage"), JSON_OBJECT))
                return;
        for (int i = 0; at && i < RUNTIME_RESPONSES_OPEN && !str_eq(at->id, id); i++)
                at = at->before;
        if (at && str_eq(at->id, id)) {
                if (tokens.n_output > at->tokens.n_output)
                        at->tokens = tokens;
                return;
        }
        at = arena_alloc(sums->arena, sizeof(*at));
        if (!at)
                return;
        *at = (RuntimeResponse){.before = sums->responses, .id = id, .tokens = tokens};
        sums->responses = at;
}

static void runtime_take_usage(RuntimeSums *sums, const Json *message) {
        const Json *usage = json_get(message, "usage"),
                   *steps = json_get(json_get(message, "part"), "tokens");
        RuntimeTokens tokens;

        if (runtime_tokens_by_model(json_get(message, "modelUsage"), NULL, &tokens) ||
            runtime_tokens_by_model(json_get(json_get(message, "stats"), "models"), "tokens", &tokens)) {
                sums->session = tokens;
                sums->has_session = true;
        }
        if (json_is(usage, JSON_OBJECT) && str_is(json_str(json_get(message, "type")), "turn.completed")) {
                sums->so_far = runtime_tokens(usage);
                sums->has_own = true;
        } else if (json_is(usage, JSON_OBJECT)) {
                runtime_add(&sums->own, runtime_tokens(usage));
                sums->has_own = true;
        }
        if (json_is(steps, JSON_OBJECT)) {
                runtime_add(&sums->own, runtime_tokens(steps));
                sums->has_own = true;
        }
}

static void runtime_take_cost(RuntimeSums *sums, const Json *message) {
        double usd;

        if (json_double(json_get(message, "total_cost_usd"), &usd)) {
                sums->session_usd = usd;
                sums->reading->has_cost = true;
        }
        if (json_double(json_get(json_get(message, "part"), "cost"), &usd)) {
                sums->step_usd += usd;
                sums->reading->has_cost = true;
        }
}

/* One message: of claude and its like (result, usage, total_cost_usd), gemini (response, stats), codex
 * (item.text, usage), opencode (part.text, part.tokens, part.cost). Others have none of these. */
static void take_message(RuntimeSums *sums, const Json *message) {
        const Json *item = json_get(message, "item"), *part = json_get(message, "part");
        RuntimeReading *reading = sums->reading;

        runtimes_take_text(json_get(message, "result"), reading);
        runtimes_take_text(json_get(message, "response"), reading);
        if (str_is(json_str(json_get(item, "type")), "agent_message"))
                runtimes_take_text(json_get(item, "text"), reading);
        if (str_is(json_str(json_get(part, "type")), "text"))
                runtimes_take_text(json_get(part, "text"), reading);
        runtime_take_thread(sums, json_str(json_get(message, "thread_id")));
        runtime_take_response(sums, json_get(message, "message"));
        runtime_take_usage(sums, message);
        runtime_take_cost(sums, message);
}

static void runtime_sum_up(RuntimeSums *sums) {
        RuntimeReading *reading = sums->reading;
        RuntimeTokens all = sums->has_session ? sums->session : sums->own;

        runtime_add(&all, sums->past);
        runtime_add(&all, sums->so_far);
        if (!sums->has_own && !sums->has_session)
                for (const RuntimeResponse *at = sums->responses; at; at = at->before)
                        runtime_add(&all, at->tokens);
        reading->has_usage = sums->has_own || sums->has_session || sums->responses;
        reading->n_input = all.n_input;
        reading->n_cached = all.n_cached;
        reading->n_output = all.n_output;
        reading->cost_usd = sums->session_usd + sums->step_usd;
}

static bool runtimes_take_lines(RuntimeSums *sums, Str output) {
        bool is_structured = false;

        while (output.n) {
                const char *end = memchr(output.data, '\n', output.n);
                size_t n = end ? (size_t)(end - output.data) : output.n;
                Str line = str_trim((Str){output.data, n});
                Json *json = NULL;

                if (line.n && line.data[0] == '{' &&
                    !json_parse(sums->arena, line.data, line.n, NULL, &json, NULL)) {
                        is_structured = true;
                        take_message(sums, json);
                }
                output = (Str){output.data + n + (end != NULL), output.n - n - (end != NULL)};
        }
        return is_structured;
}

void runtime_read(Arena *arena, Str output, RuntimeReading *ret) {
        RuntimeSums sums = {.arena = arena, .reading = ret};
        Str trimmed = str_trim(output);
        Json *json = NULL;

        *ret = (RuntimeReading){.text = output};
        if (!trimmed.n || (trimmed.data[0] != '{' && trimmed.data[0] != '['))
                return;
        if (!json_parse(arena, trimmed.data, trimmed.n, NULL, &json, NULL)) {
                ret->is_structured = true;
                if (json_is(json, JSON_OBJECT))
                        take_message(&sums, json);
                json_each (message, json_is(json, JSON_ARRAY) ? json : NULL)
                        take_message(&sums, message);
        } else
                ret->is_structured = runtimes_take_lines(&sums, trimmed);
        runtime_sum_up(&sums);
}

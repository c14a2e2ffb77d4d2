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

static int64_t count_of(const Json *object, const char *const *names) {
        return MAX(usage_number(object, names), 0);
}

static void add_usage(const Json *usage, RuntimeReading *reading) {
        static const char *const input[] = {"input_tokens", "prompt_tokens", "input", "prompt", NULL};
        static const char *const output[] = {"output_tokens", "completion_tokens", "output", "candidates",
                                             NULL};
        static const char *const cached[] = {"cache_read_input_tokens", "cached_input_tokens", "cached",
                                             "read", NULL};

        if (!json_is(usage, JSON_OBJECT))
                return;
        reading->has_usage = true;
        reading->n_input += count_of(usage, input);
        reading->n_output += count_of(usage, output);
        reading->n_cached += count_of(usage, cached) + count_of(json_get(usage, "cache"), cached);
}

static void add_cost(const Json *cost, RuntimeReading *reading) {
        double value;

        if (!json_double(cost, &value))
                return;
        reading->has_cost = true;
        reading->cost_usd += value;
}

static void runtimes_take_text(const Json *text, RuntimeReading *reading) {
        if (json_is(text, JSON_STRING))
                reading->text = json_str(text);
}

/* One message: of claude and its like (result, usage, total_cost_usd), gemini (response, stats), codex
 * (item.text, usage), opencode (part.text, part.tokens, part.cost). Others have none of these. */
static void take_message(const Json *message, RuntimeReading *reading) {
        const Json *item = json_get(message, "item"), *part = json_get(message, "part");

        runtimes_take_text(json_get(message, "result"), reading);
        runtimes_take_text(json_get(message, "response"), reading);
        if (str_is(json_str(json_get(item, "type")), "agent_message"))
                runtimes_take_text(json_get(item, "text"), reading);
        if (str_is(json_str(json_get(part, "type")), "text"))
                runtimes_take_text(json_get(part, "text"), reading);
        add_usage(json_get(message, "usage"), reading);
        add_usage(json_get(part, "tokens"), reading);
        json_each (model, json_get(json_get(message, "stats"), "models"))
                add_usage(json_get(model, "tokens"), reading);
        add_cost(json_get(message, "total_cost_usd"), reading);
        add_cost(json_get(part, "cost"), reading);
}

static bool runtimes_take_lines(Arena *arena, Str output, RuntimeReading *reading) {
        bool is_structured = false;

        while (output.n) {
                const char *end = memchr(output.data, '\n', output.n);
                size_t n = end ? (size_t)(end - output.data) : output.n;
                Str line = str_trim((Str){output.data, n});
                Json *json = NULL;

                if (line.n && line.data[0] == '{' &&
                    !json_parse(arena, line.data, line.n, NULL, &json, NULL)) {
                        is_structured = true;
                        take_message(json, reading);
                }
                output = (Str){output.data + n + (end != NULL), output.n - n - (end != NULL)};
        }
        return is_structured;
}

void runtime_read(Arena *arena, Str output, RuntimeReading *ret) {
        Str trimmed = str_trim(output);
        Json *json = NULL;

        *ret = (RuntimeReading){.text = output};
        if (!trimmed.n || (trimmed.data[0] != '{' && trimmed.data[0] != '['))
                return;
        if (!json_parse(arena, trimmed.data, trimmed.n, NULL, &json, NULL)) {
                ret->is_structured = true;
                if (json_is(json, JSON_OBJECT))
                        take_message(json, ret);
                json_each (message, json_is(json, JSON_ARRAY) ? json : NULL)
                        take_message(message, ret);
        } else
                ret->is_structured = runtimes_take_lines(arena, trimmed, ret);
}

/* SPDX-License-Identifier: MIT */
#include "core/agents/hook-config.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "core/agents/hook.h"

static int config_quote(Buf *out, const char *word) {
        int r = buf_append_str(out, STR("'"));

        for (; !r && *word; word++)
                r = *word == '\'' ? buf_append_str(out, STR("'\\''")) : buf_append(out, word, 1);
        return r ? r : buf_append_str(out, STR("'"));
}

int hook_config_command(const HookConfig *config, const char *event, Buf *out) {
        const char *words[] = {config->program, config->socket, config->runtime, event};
        int r = 0;

        for (size_t i = 0; !r && i < sizeof(words) / sizeof(words[0]); i++) {
                r = i ? buf_append_str(out, STR(" ")) : 0;
                r = r ? r : config_quote(out, words[i]);
        }
        return error_trace(r);
}

static int config_timeout_s(const char *event) {
        if (!strcmp(event, "SessionEnd"))
                return HOOK_LAST_S;
        return strcmp(event, "PermissionRequest") ? HOOK_TIMEOUT_S : HOOK_HELD_S;
}

static bool config_is_of_tools(const char *event) {
        return strstr(event, "Tool") != NULL || !strcmp(event, "PermissionRequest");
}

static void config_write_event(JsonWriter *w, const HookConfig *config, const char *event, Str command) {
        jw_begin_array(w);
        jw_begin_object(w);
        if (config_is_of_tools(event))
                jw_field_cstr(w, "matcher", strcmp(config->runtime, "claude") ? ".*" : "*");
        jw_key(w, "hooks");
        jw_begin_array(w);
        jw_begin_object(w);
        jw_field_cstr(w, "type", "command");
        jw_field_str(w, "command", command);
        jw_field_int(w, "timeout",
                     (int64_t)config_timeout_s(event) * (strcmp(config->runtime, "gemini") ? 1 : 1000));
        jw_end_object(w);
        jw_end_array(w);
        jw_end_object(w);
        jw_end_array(w);
}

int hook_config_event(const HookConfig *config, const char *event, Buf *out) {
        _cleanup_(buf_deinit) Buf command = BUF_NULL;
        JsonWriter w = JSON_WRITER(out);
        int r = hook_config_command(config, event, &command);

        if (r)
                return r;
        config_write_event(&w, config, event, buf_str(&command));
        return w.failed ? error_origin(-ENOMEM) : 0;
}

int hook_config_events(const HookConfig *config, Buf *out) {
        const char *const *event = hook_events(str_from(config->runtime));
        JsonWriter w = JSON_WRITER(out);
        int r = 0;

        jw_begin_object(&w);
        for (; !r && event && *event; event++) {
                _cleanup_(buf_deinit) Buf command = BUF_NULL;

                r = hook_config_command(config, *event, &command);
                jw_key(&w, *event);
                config_write_event(&w, config, *event, buf_str(&command));
        }
        jw_end_object(&w);
        return r || w.failed ? error_origin(-ENOMEM) : 0;
}

int hook_config_toml(const HookConfig *config, const char *event, Buf *out) {
        _cleanup_(buf_deinit) Buf command = BUF_NULL;
        JsonWriter w = JSON_WRITER(out);
        int r = hook_config_command(config, event, &command);

        r = r ? r : buf_append_str(out, STR("[{hooks=[{type=\"command\",command="));
        if (!r)
                jw_str(&w, buf_str(&command)); /* texts of JSON are some of TOML, too */
        if (r || w.failed)
                return error_origin(-ENOMEM);
        return error_trace(buf_printf(out, ",timeout=%d}]}]", config_timeout_s(event)));
}

/* One after the other, so that what happened first is told first; what fails is not told, and nobody waits for it. */
int hook_config_plugin(const HookConfig *config, Buf *out) {
        static const char body[] =
                "let last = Promise.resolve()\n"
                "const run = (event) => new Promise((done) => {\n"
                "  const child = spawn(command[0], [...command.slice(1), event.type], { stdio: [\"pipe\", "
                "\"ignore\", \"ignore\"] })\n"
                "  child.on(\"error\", done)\n"
                "  child.on(\"close\", done)\n"
                "  child.stdin.on(\"error\", () => {})\n"
                "  child.stdin.end(JSON.stringify(event))\n"
                "})\n"
                "const tell = (event) => (last = last.then(() => run(event)).catch(() => {}))\n"
                "const tool = (type) => (input) => tell({ type, properties: { sessionID: input.sessionID, "
                "tool: input.tool } })\n"
                "\n"
                "export const Muster = async () => ({\n"
                "  event: ({ event }) => (events.includes(event.type) ? tell(event) : undefined),\n"
                "  \"tool.execute.before\": tool(\"tool.execute.before\"),\n"
                "  \"tool.execute.after\": tool(\"tool.execute.after\"),\n"
                "})\n";
        const char *const *event = hook_events(str_from(config->runtime));
        JsonWriter w = JSON_WRITER(out);
        int r = buf_append_str(out,
                               STR("// Written by musterd at its start: tells it what happens in OpenCode.\n"
                                   "import { spawn } from \"node:child_process\"\n\nconst command = "));

        jw_begin_array(&w);
        jw_cstr(&w, config->program);
        jw_cstr(&w, config->socket);
        jw_cstr(&w, config->runtime);
        jw_end_array(&w);
        r = r ? r : buf_append_str(out, STR("\nconst events = "));
        w = (JsonWriter){.out = out, .failed = w.failed};
        jw_begin_array(&w);
        for (; event && *event; event++)
                if (strncmp(*event, "tool.", 5) != 0)
                        jw_cstr(&w, *event);
        jw_end_array(&w);
        r = r ? r : buf_append_str(out, STR("\n"));
        return r || w.failed ? error_origin(-ENOMEM) : error_trace(buf_append(out, body, sizeof(body) - 1));
}

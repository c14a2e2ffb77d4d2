/* SPDX-License-Identifier: MIT */
#include "core/tools.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json/json-writer.h"
#include "base/macro.h"
#include "core/agents/hook-config.h"
#include "core/agents/hook.h"
#include "core/endpoint.h"
#include "core/environment.h"
#include "core/runtimes.h"

#define TOOLS_FILE        "tools-gemini.json" /* in the home of the daemon */
#define TOOLS_GEMINI      "GEMINI_CLI_SYSTEM_DEFAULTS_PATH"
#define TOOLS_GEMINI_FILE "/etc/gemini-cli/system-defaults.json" /* what the variable stands for */
#define TOOLS_OPENCODE    "OPENCODE_CONFIG_CONTENT"
#define TOOLS_PLUGIN      "hooks-opencode.js" /* in the home of the daemon */

/* What has to be run for a server. */
typedef struct ToolsServer {
        char muster[PATH_MAX];
        char hook[PATH_MAX]; /* "": there is no muster-hook */
        const char *socket;
} ToolsServer;

/* Beside the daemon, or where `make install` puts it. */
static void tools_find_hook(const char *folder, size_t n, ToolsServer *ret) {
        static const char *const places[] = {"muster-hook", "../libexec/muster/muster-hook"};

        for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
                if (snprintf(ret->hook, sizeof(ret->hook), "%.*s%s", (int)n, folder, places[i]) <
                            (int)sizeof(ret->hook) &&
                    !access(ret->hook, X_OK))
                        return;
        }
        *ret->hook = '\0';
}

/* The program beside this one; false: it is not there. */
static bool tools_find(const char *socket, ToolsServer *ret) {
        ssize_t n = readlink("/proc/self/exe", ret->muster, sizeof(ret->muster) - sizeof("muster"));
        char *slash;

        if (n <= 0)
                return false;
        ret->socket = socket;
        ret->muster[n] = '\0';
        slash = strrchr(ret->muster, '/');
        tools_find_hook(ret->muster, (size_t)(slash - ret->muster) + 1, ret);
        memcpy(slash + 1, "muster", sizeof("muster"));
        return !access(ret->muster, X_OK);
}

/* NULL: it is not served. */
static const char *tools_socket(const Daemon *daemon) {
        for (const Endpoint *e = daemon->endpoints; e; e = e->next)
                if (e->state == ENDPOINT_LISTENING && !strcmp(e->type->name, "native"))
                        return e->where;
        return NULL;
}

/* ---- how each is told ------------------------------------------------------------------------ */

static void tools_put_args(JsonWriter *w, const ToolsServer *server) {
        jw_cstr(w, "mcp");
        jw_cstr(w, "--socket");
        jw_cstr(w, server->socket);
}

static HookConfig tools_hooks(const ToolsServer *server, const char *runtime) {
        return (HookConfig){.runtime = runtime, .program = server->hook, .socket = server->socket};
}

/* "hooks": {…} */
static void tools_put_hooks(JsonWriter *w, const ToolsServer *server, const char *runtime) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        HookConfig config = tools_hooks(server, runtime);

        if (hook_config_events(&config, &text)) {
                w->failed = true;
                return;
        }
        jw_key(w, "hooks");
        jw_raw(w, buf_str(&text));
}

/* {"mcpServers": {"muster": {…}}}, as most of them have it; hooks: of this program, too. */
static int tools_put_servers(Buf *out, const ToolsServer *server, bool has_type, const char *hooks) {
        JsonWriter w = JSON_WRITER(out);

        jw_begin_object(&w);
        jw_key(&w, "mcpServers");
        jw_begin_object(&w);
        jw_key(&w, "muster");
        jw_begin_object(&w);
        if (has_type)
                jw_field_cstr(&w, "type", "stdio");
        jw_field_cstr(&w, "command", server->muster);
        jw_key(&w, "args");
        jw_begin_array(&w);
        tools_put_args(&w, server);
        jw_end_array(&w);
        jw_end_object(&w);
        jw_end_object(&w);
        if (hooks && *server->hook)
                tools_put_hooks(&w, server, hooks);
        jw_end_object(&w);
        return w.failed ? error_origin(-ENOMEM) : 0;
}

static bool tools_says(const StrVec *argv, const char *word) {
        for (size_t i = 1; i < argv->n; i++)
                if (!strcmp(argv->items[i], word))
                        return true;
        return false;
}

/* Not where the command names settings itself: of two nobody knows which ones count. */
static int tools_tell_claude_hooks(const ToolsServer *server, Program *program) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        const char *settings;

        if (!*server->hook || tools_says(&program->argv, "--settings"))
                return 0;
        for (size_t i = 1; i < program->argv.n; i++)
                if (str_starts(str_from(program->argv.items[i]), STR("--settings=")))
                        return 0;
        jw_begin_object(&w);
        tools_put_hooks(&w, server, "claude");
        jw_end_object(&w);
        settings = w.failed ? NULL : buf_cstr(&text);
        if (!settings || strvec_push(&program->argv, "--settings"))
                return error_origin(-ENOMEM);
        program->has_hooks = true;
        return error_trace(strvec_push(&program->argv, settings));
}

/* At the end: the option takes all words behind it that are no options. A first word that is none may be a subcommand, which
 * does not know the option. */
static int tools_tell_claude(_unused_ const Daemon *daemon, const ToolsServer *server, Program *program) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        StrVec *argv = &program->argv;
        const char *config;
        int r;

        if ((argv->n > 1 && argv->items[1][0] != '-') || tools_says(argv, "--"))
                return 0;
        if (tools_says(argv, "--strict-mcp-config"))
                return error_trace(tools_tell_claude_hooks(server, program));
        r = tools_tell_claude_hooks(server, program);
        r = r ? r : tools_put_servers(&text, server, true, NULL);
        config = r ? NULL : buf_cstr(&text);
        if (!config || strvec_push(argv, "--mcp-config"))
                return error_origin(-ENOMEM);
        return error_trace(strvec_push(argv, config));
}

/* KEY=VALUE, where the value is one of TOML, of which JSON's texts and lists are a part. */
static int tools_push_setting(StrVec *argv, const char *key, const ToolsServer *server, bool is_args) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        const char *setting;

        if (buf_printf(&text, "mcp_servers.muster.%s=", key))
                return error_origin(-ENOMEM);
        if (is_args) {
                jw_begin_array(&w);
                tools_put_args(&w, server);
                jw_end_array(&w);
        } else
                jw_cstr(&w, server->muster);
        setting = w.failed ? NULL : buf_cstr(&text);
        if (!setting || strvec_push(argv, "-c"))
                return error_origin(-ENOMEM);
        return error_trace(strvec_push(argv, setting));
}

/* They run once a person has trusted them there. */
static int tools_push_codex_hooks(StrVec *argv, const ToolsServer *server) {
        HookConfig config = tools_hooks(server, "codex");

        for (const char *const *event = hook_events(STR("codex")); *server->hook && *event; event++) {
                _cleanup_(buf_deinit) Buf text = BUF_NULL;
                int r = buf_printf(&text, "hooks.%s=", *event);

                r = r ? r : hook_config_toml(&config, *event, &text);
                if (r || !buf_cstr(&text) || strvec_push(argv, "-c") || strvec_push(argv, buf_cstr(&text)))
                        return error_origin(-ENOMEM);
        }
        return 0;
}

/* In front of all other options, behind the subcommand that answers one question. */
static int tools_tell_codex(_unused_ const Daemon *daemon, const ToolsServer *server, Program *program) {
        _cleanup_(strvec_deinit) StrVec words = {0};
        const StrVec old = program->argv;
        bool is_exec = old.n > 1 && (!strcmp(old.items[1], "exec") || !strcmp(old.items[1], "e"));
        size_t n_front = is_exec ? 2 : 1;
        int r = 0;

        for (size_t i = 0; !r && i <= old.n; i++) {
                if (i == n_front)
                        r = tools_push_setting(&words, "command", server, false);
                if (!r && i == n_front)
                        r = tools_push_setting(&words, "args", server, true);
                if (!r && i == n_front)
                        r = tools_push_codex_hooks(&words, server);
                if (!r && i < old.n)
                        r = strvec_push(&words, old.items[i]);
        }
        if (r)
                return error_trace(r);
        program->argv = words;
        program->has_hooks = *server->hook;
        words = old;
        return 0;
}

/* What it reads first and everything else goes over; not where somebody uses that already. */
static int tools_tell_gemini(const Daemon *daemon, const ToolsServer *server, Program *program) {
        _cleanup_(freep) char *path = NULL;

        if (environment_get(&program->env, TOOLS_GEMINI) || !access(TOOLS_GEMINI_FILE, F_OK))
                return 0;
        path = path_join(daemon->home, TOOLS_FILE);
        if (!path)
                return error_origin(-ENOMEM);
        if (access(path, R_OK))
                return 0;
        program->has_hooks = *server->hook;
        return error_trace(environment_put(&program->env, TOOLS_GEMINI, path));
}

/* "plugin": [file], if the daemon has left it. */
static int tools_put_plugin(JsonWriter *w, const Daemon *daemon, Program *program) {
        _cleanup_(freep) char *path = path_join(daemon->home, TOOLS_PLUGIN);
        _cleanup_(buf_deinit) Buf url = BUF_NULL;

        if (!path || buf_printf(&url, "file://%s", path))
                return error_origin(-ENOMEM);
        if (access(path, R_OK))
                return 0;
        program->has_hooks = true;
        jw_key(w, "plugin");
        jw_begin_array(w);
        jw_str(w, buf_str(&url));
        jw_end_array(w);
        return 0;
}

static int tools_tell_opencode(const Daemon *daemon, const ToolsServer *server, Program *program) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        const char *config;

        if (environment_get(&program->env, TOOLS_OPENCODE))
                return 0;
        jw_begin_object(&w);
        jw_key(&w, "mcp");
        jw_begin_object(&w);
        jw_key(&w, "muster");
        jw_begin_object(&w);
        jw_field_cstr(&w, "type", "local");
        jw_key(&w, "command");
        jw_begin_array(&w);
        jw_cstr(&w, server->muster);
        tools_put_args(&w, server);
        jw_end_array(&w);
        jw_field_bool(&w, "enabled", true);
        jw_end_object(&w);
        jw_end_object(&w);
        if (tools_put_plugin(&w, daemon, program))
                return error_origin(-ENOMEM);
        jw_end_object(&w);
        config = w.failed ? NULL : buf_cstr(&text);
        return config ? error_trace(environment_put(&program->env, TOOLS_OPENCODE, config))
                      : error_origin(-ENOMEM);
}

/* ---- which ----------------------------------------------------------------------------------- */

typedef struct ToolsWay {
        const char *runtime;
        bool is_in_argv; /* it is told on its command line, else by its environment */
        int (*tell)(const Daemon *daemon, const ToolsServer *server, Program *program);
} ToolsWay;

static const ToolsWay tools_ways[] = {{"claude", true, tools_tell_claude},
                                      {"codex", true, tools_tell_codex},
                                      {"gemini", false, tools_tell_gemini},
                                      {"opencode", false, tools_tell_opencode}};

static const ToolsWay *tools_way(Str command) {
        const Runtime *runtime = runtime_of_command(command);

        for (size_t i = 0; i < ARRAY_SIZE(tools_ways); i++)
                if (!strcmp(runtime->name, tools_ways[i].runtime))
                        return &tools_ways[i];
        return NULL;
}

bool tools_are_for(Str command) {
        return tools_way(command);
}

static bool tools_are_wanted(const ToolsWay *way, const Program *program, bool keeps_argv) {
        const char *said = environment_get(&program->env, "MUSTER_TOOLS");

        if (said && !strcmp(said, "off"))
                return false;
        return !keeps_argv || !way->is_in_argv || (said && !strcmp(said, "on"));
}

int tools_register(const Daemon *daemon, Program *program, bool keeps_argv) {
        const ToolsWay *way = program->argv.n ? tools_way(str_from(program->argv.items[0])) : NULL;
        const char *socket = way ? tools_socket(daemon) : NULL;
        ToolsServer server;

        if (!socket || !tools_are_wanted(way, program, keeps_argv) || !tools_find(socket, &server))
                return 0;
        return error_trace(way->tell(daemon, &server, program));
}

static int tools_leave(const Daemon *daemon, const char *name, const Buf *text) {
        _cleanup_(freep) char *path = path_join(daemon->home, name);

        return path ? error_trace(file_replace(path, buf_str(text), 0600, FILE_RUNTIME))
                    : error_origin(-ENOMEM);
}

int tools_leave_file(const Daemon *daemon, const char *socket) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL, plugin = BUF_NULL;
        ToolsServer server;
        HookConfig config;
        int r;

        if (!daemon->home || !tools_find(socket, &server))
                return 0;
        r = tools_put_servers(&text, &server, false, "gemini");
        r = r ? r : tools_leave(daemon, TOOLS_FILE, &text);
        if (r || !*server.hook)
                return error_trace(r);
        config = tools_hooks(&server, "opencode");
        r = hook_config_plugin(&config, &plugin);
        return error_trace(r ? r : tools_leave(daemon, TOOLS_PLUGIN, &plugin));
}

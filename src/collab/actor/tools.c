/* SPDX-License-Identifier: MIT */
#include "collab/actor/tools.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json/json-writer.h"
#include "base/macro.h"
#include "core/endpoint.h"
#include "core/runtimes.h"

typedef struct ToolsPlace {
        char muster[PATH_MAX];
        const char *socket;
} ToolsPlace;

/* The program beside this one, and the socket that is served; false: one of them is not there, or its name would have to be
 * escaped. */
static bool tools_find(const Daemon *daemon, ToolsPlace *ret) {
        ssize_t n = readlink("/proc/self/exe", ret->muster, sizeof(ret->muster) - 8);
        char *slash;

        ret->socket = NULL;
        for (const Endpoint *e = daemon->endpoints; e; e = e->next)
                if (e->state == ENDPOINT_LISTENING && !strcmp(e->type->name, "native"))
                        ret->socket = e->where;
        if (n <= 0 || !ret->socket)
                return false;
        ret->muster[n] = '\0';
        slash = strrchr(ret->muster, '/');
        memcpy(slash + 1, "muster", sizeof("muster"));
        return !access(ret->muster, X_OK) && !strpbrk(ret->muster, "\"\\\n") &&
               !strpbrk(ret->socket, "\"\\\n");
}

/* At the end: the option takes all words behind it that are no options. So not where there may be such. */
static int tools_for_claude(const ToolsPlace *place, StrVec *argv) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        const char *config;
        int r;

        if (argv->n > 1 && argv->items[1][0] != '-')
                return 0;
        r = buf_printf(
                &text,
                "{\"mcpServers\":{\"muster\":{\"type\":\"stdio\",\"command\":\"%s\",\"args\":[\"mcp\","
                "\"--socket\",\"%s\"]}}}",
                place->muster, place->socket);
        config = r ? NULL : buf_cstr(&text);
        if (!config || strvec_push(argv, "--mcp-config"))
                return error_origin(-ENOMEM);
        return error_trace(strvec_push(argv, config));
}

/* In front: what follows may be a subcommand with options of its own. */
static int tools_for_codex(const ToolsPlace *place, StrVec *argv) {
        _cleanup_(strvec_deinit) StrVec words = {0};
        char command[PATH_MAX + 64], args[PATH_MAX + 64];
        StrVec old = *argv;
        int r;

        snprintf(command, sizeof(command), "mcp_servers.muster.command=\"%s\"", place->muster);
        snprintf(args, sizeof(args), "mcp_servers.muster.args=[\"mcp\",\"--socket\",\"%s\"]", place->socket);
        r = strvec_push(&words, old.items[0]);
        r = r ? r : strvec_push(&words, "-c");
        r = r ? r : strvec_push(&words, command);
        r = r ? r : strvec_push(&words, "-c");
        r = r ? r : strvec_push(&words, args);
        for (size_t i = 1; !r && i < old.n; i++)
                r = strvec_push(&words, old.items[i]);
        if (r)
                return error_trace(r);
        *argv = words;
        words = old;
        return 0;
}

int tools_register(const Daemon *daemon, StrVec *argv, const StrVec *env) {
        static const struct {
                const char *runtime;
                int (*add)(const ToolsPlace *place, StrVec *argv);
        } ways[] = {{"claude", tools_for_claude}, {"codex", tools_for_codex}};
        const char *wanted = environment_get(env, "MUSTER_TOOLS");
        const Runtime *runtime = argv->n ? runtime_of_command(str_from(argv->items[0])) : NULL;
        ToolsPlace place;

        if (!runtime || (wanted && !strcmp(wanted, "off")) || !tools_find(daemon, &place))
                return 0;
        for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
                if (!strcmp(runtime->name, ways[i].runtime))
                        return ways[i].add(&place, argv);
        return 0;
}

/* SPDX-License-Identifier: MIT */
#include "cli/call/schema-tools.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json/json-writer.h"
#include "cli/call/opdoc.h"
#include "cli/cli.h"
#include "cli/print/nearest.h"
#include "cli/print/report.h"
#include "cli/print/wrap.h"
#include "cli/term/terminal.h"
#include "gen/mcp-tools.h"

bool schema_tools_is_meant(const char *name) {
        return !strcmp(name, "mcp") || !strncmp(name, "mcp.", 4);
}

static void schema_tools_list(void) {
        unsigned cols = 0, rows;
        int width = 0;

        if (isatty(STDOUT_FILENO))
                (void)terminal_size(&cols, &rows);
        for (size_t i = 0; i < n_mcp_tools; i++)
                width = MAX(width, (int)strlen(mcp_tools[i].name));
        for (size_t i = 0; i < n_mcp_tools; i++) {
                _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
                const char *text = mcp_tools[i].json;
                Json *json = NULL;

                (void)json_parse(&arena, text, strlen(text), NULL, &json, NULL);
                print("%-*s  ", width, mcp_tools[i].name);
                text_wrap(stdout, json_text_of(json, "description"), (size_t)width + 2, cols);
        }
}

static int schema_tools_json(const char *only) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Json *all = json_new(&arena, JSON_ARRAY), *found = NULL;

        for (size_t i = 0; all && i < n_mcp_tools; i++) {
                const char *text = mcp_tools[i].json;
                Json *json = NULL;

                if (json_parse(&arena, text, strlen(text), NULL, &json, NULL) || json_push(all, json))
                        return -1;
                if (only && !strcmp(only, mcp_tools[i].name))
                        found = json;
        }
        return all ? json_print(stdout, only ? found : all, is_for_people(false)) : -1;
}

static int schema_tools_refuse(const char *name) {
        Nearest nearest = NEAREST(name);

        for (size_t i = 0; i < n_mcp_tools; i++)
                nearest_offer(&nearest, mcp_tools[i].name);
        complain(CLI_USAGE, "there is no tool %s", name);
        if (nearest.best)
                advise("did you mean mcp.%s?", nearest.best);
        return CLI_USAGE;
}

int schema_tools_print(const char *name, bool json) {
        const char *only = name[3] ? name + 4 : NULL;
        bool is_known = !only;

        for (size_t i = 0; i < n_mcp_tools; i++)
                is_known |= only && !strcmp(only, mcp_tools[i].name);
        if (!is_known)
                return schema_tools_refuse(only);
        if (!only && !json) {
                schema_tools_list();
                return CLI_OK;
        }
        return schema_tools_json(only) ? complain(CLI_FAILED, "out of memory") : CLI_OK;
}

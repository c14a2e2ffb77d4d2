/* SPDX-License-Identifier: MIT */
/*
 * Resources: what can be read by address is what a tool would answer, so each is a tool and its arguments.
 */
#include <string.h>

#include "dialect/mcp/mcp-request.h"

typedef struct McpResource {
        const char *uri; /* {} stands for one word without a slash */
        const char *name, *about;
        const char *tool;
        const char *args[MCP_RESOURCE_WORDS]; /* the tool's parameters, in the order of the {} */
        McpNews news;
} McpResource;

static const McpResource mcp_resources[] = {
        {"muster://fleet", "fleet", "Everything that muster hosts", "muster_ps", {NULL}, NEWS_OF_FLEET},
        {"muster://groups",
         "groups",
         "All groups of this machine",
         "cccc_group_list",
         {NULL},
         NEWS_OF_GROUPS},
        {"muster://group/{group_id}",
         "group",
         "A group: title, topic, state, folders",
         "cccc_group_info",
         {"group_id"},
         NEWS_OF_GROUP},
        {"muster://group/{group_id}/actors",
         "actors",
         "The agents of a group",
         "cccc_actor_list",
         {"group_id"},
         NEWS_OF_ACTORS},
        {"muster://group/{group_id}/context",
         "context",
         "What a group keeps in common",
         "cccc_context_get",
         {"group_id"},
         NEWS_OF_CONTEXT},
        {"muster://group/{group_id}/inbox/{actor_id}",
         "inbox",
         "What an agent has not read",
         "cccc_inbox_list",
         {"group_id", "actor_id"},
         NEWS_OF_INBOX},
        {"muster://task/{project}/{id}",
         "task",
         "A task of a project",
         "muster_task_get",
         {"project", "id"},
         NEWS_OF_TASK},
        {"muster://agent/{name}/screen",
         "screen",
         "The terminal of an agent or session as it looks now",
         "muster_screen",
         {"id"},
         NEWS_OF_SCREEN},
        {"muster://agent/{name}/state",
         "state",
         "What an agent or session does: its process and what it reports",
         "muster_ps",
         {"name"},
         NEWS_OF_STATE},
};

static void mcp_resource_put(JsonWriter *w, const McpResource *one, const char *key) {
        jw_begin_object(w);
        jw_field_cstr(w, key, one->uri);
        jw_field_cstr(w, "name", one->name);
        jw_field_cstr(w, "description", one->about);
        jw_field_cstr(w, "mimeType", "application/json");
        jw_end_object(w);
}

static void mcp_resources_put(JsonWriter *w, bool is_template) {
        jw_begin_array(w);
        for (size_t i = 0; i < ARRAY_SIZE(mcp_resources); i++)
                if ((mcp_resources[i].args[0] != NULL) == is_template)
                        mcp_resource_put(w, &mcp_resources[i], is_template ? "uriTemplate" : "uri");
        jw_end_array(w);
}

void mcp_resources_write(JsonWriter *w) {
        mcp_resources_put(w, false);
}

void mcp_templates_write(JsonWriter *w) {
        mcp_resources_put(w, true);
}

static Str mcp_resource_word(Str text, char end) {
        size_t n = 0;

        while (n < text.n && text.data[n] != end)
                n++;
        return (Str){text.data, n};
}

/* Whether the address fits; words: what stands where the template has {}. */
static bool mcp_resource_fits(Str template, Str uri, Str words[MCP_RESOURCE_WORDS]) {
        size_t n = 0;

        while (template.n) {
                Str plain = mcp_resource_word(template, '{'), name;

                if (!str_starts(uri, plain))
                        return false;
                uri = (Str){uri.data + plain.n, uri.n - plain.n};
                template = (Str){template.data + plain.n, template.n - plain.n};
                if (!template.n)
                        break;
                name = mcp_resource_word(template, '}');
                words[n] = mcp_resource_word(uri, '/');
                if (!words[n].n)
                        return false;
                uri = (Str){uri.data + words[n].n, uri.n - words[n].n};
                template = (Str){template.data + name.n + 1, template.n - name.n - 1};
                n++;
        }
        return !uri.n;
}

static int mcp_resource_digit(char c) {
        static const char digits[] = "0123456789abcdef";
        const char *at = c ? strchr(digits, c | (c >= 'A' && c <= 'F' ? 0x20 : 0)) : NULL;

        return at ? (int)(at - digits) : -1;
}

/* %2F is a slash: a name may have one. What is no two digits behind a percent sign stays as it is. */
static Str mcp_resource_plain(Arena *arena, Str word) {
        char *out = arena_alloc(arena, word.n + 1);
        size_t n = 0;

        for (size_t i = 0; out && i < word.n; i++) {
                bool is_coded = word.data[i] == '%' && i + 2 < word.n;
                int high = is_coded ? mcp_resource_digit(word.data[i + 1]) : -1,
                    low = is_coded ? mcp_resource_digit(word.data[i + 2]) : -1;

                is_coded = high >= 0 && low >= 0;
                out[n++] = (char)(is_coded ? high * 16 + low : word.data[i]);
                i += is_coded ? 2 : 0;
        }
        return out ? (Str){out, n} : STR_NULL;
}

bool mcp_resource_find(Arena *arena, Str uri, McpFound *ret) {
        *ret = (McpFound){0};
        for (size_t i = 0; i < ARRAY_SIZE(mcp_resources); i++) {
                const McpResource *one = &mcp_resources[i];
                Str words[MCP_RESOURCE_WORDS] = {STR_NULL};

                if (!mcp_resource_fits(str_from(one->uri), uri, words))
                        continue;
                ret->news = one->news;
                ret->args = json_new(arena, JSON_OBJECT);
                for (size_t k = 0; ret->args && k < MCP_RESOURCE_WORDS && one->args[k]; k++) {
                        ret->words[k] = mcp_resource_plain(arena, words[k]);
                        if (!ret->words[k].data || json_set(arena, ret->args, str_from(one->args[k]),
                                                            json_new_str(arena, ret->words[k])))
                                return true;
                }
                ret->tool = ret->args ? mcp_tool_find(str_from(one->tool)) : NULL;
                return true;
        }
        return false;
}

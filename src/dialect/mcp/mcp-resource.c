/* SPDX-License-Identifier: MIT */
/*
 * Resources: what can be read by address is what a tool would answer, so each is a tool and its arguments.
 */
#include "dialect/mcp/mcp-request.h"

enum { MCP_RESOURCE_ARGS = 2 };

typedef struct McpResource {
        const char *uri; /* {} stands for one word without a slash */
        const char *name, *about;
        const char *tool;
        const char *args[MCP_RESOURCE_ARGS]; /* the tool's parameters, in the order of the {} */
} McpResource;

static const McpResource mcp_resources[] = {
        {"muster://fleet", "fleet", "Everything that muster hosts", "muster_ps", {NULL}},
        {"muster://groups", "groups", "All groups of this machine", "cccc_group_list", {NULL}},
        {"muster://group/{group_id}",
         "group",
         "A group: title, topic, state, folders",
         "cccc_group_info",
         {"group_id"}},
        {"muster://group/{group_id}/actors",
         "actors",
         "The agents of a group",
         "cccc_actor_list",
         {"group_id"}},
        {"muster://group/{group_id}/context",
         "context",
         "What a group keeps in common",
         "cccc_context_get",
         {"group_id"}},
        {"muster://group/{group_id}/inbox/{actor_id}",
         "inbox",
         "What an agent has not read",
         "cccc_inbox_list",
         {"group_id", "actor_id"}},
        {"muster://task/{project}/{id}",
         "task",
         "A task of a project",
         "muster_task_get",
         {"project", "id"}},
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
static bool mcp_resource_fits(Str template, Str uri, Str words[MCP_RESOURCE_ARGS]) {
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

bool mcp_resource_find(Arena *arena, Str uri, const McpTool **tool, Json **args) {
        *tool = NULL;
        for (size_t i = 0; i < ARRAY_SIZE(mcp_resources); i++) {
                const McpResource *one = &mcp_resources[i];
                Str words[MCP_RESOURCE_ARGS] = {STR_NULL};

                if (!mcp_resource_fits(str_from(one->uri), uri, words))
                        continue;
                *args = json_new(arena, JSON_OBJECT);
                for (size_t k = 0; *args && k < MCP_RESOURCE_ARGS && one->args[k]; k++)
                        if (json_set(arena, *args, str_from(one->args[k]), json_new_str(arena, words[k])))
                                return true;
                *tool = *args ? mcp_tool_find(str_from(one->tool)) : NULL;
                return true;
        }
        return false;
}

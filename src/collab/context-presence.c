/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/error.h"
#include "collab/context-internal.h"

static bool is_upper(char c) {
        return c >= 'A' && c <= 'Z';
}

static bool is_lower_or_digit(char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool context_presence_is_blank(char c) {
        return c == ' ' || (c >= '\t' && c <= '\r');
}

/* One writing for all that mean the same: DevOne_x, "dev one x" and dev-one-x. data is NULL without memory.
 */
static Str canonical(Arena *arena, Str id) {
        char *out = arena_alloc(arena, id.n * 2 + 1);
        size_t n = 0;

        for (size_t i = 0; out && i < id.n; i++) {
                char c = id.data[i];
                bool is_dash = c == '-' || c == '_' || context_presence_is_blank(c);
                bool is_edge = i > 0 && is_upper(c) && is_lower_or_digit(id.data[i - 1]);
                if ((is_dash || is_edge) && n > 0 && out[n - 1] != '-')
                        out[n++] = '-';
                if (!is_dash)
                        out[n++] = (char)(is_upper(c) ? c - 'A' + 'a' : c);
        }
        while (n > 0 && out[n - 1] == '-')
                n--;
        return (Str){out, n};
}

/* Runs of white space become one blank. data is NULL without memory. */
static Str collapsed(Arena *arena, Str text) {
        char *out = arena_alloc(arena, text.n);
        size_t n = 0;

        text = str_trim(text);
        for (size_t i = 0; out && i < text.n; i++)
                if (!context_presence_is_blank(text.data[i]))
                        out[n++] = text.data[i];
                else if (out[n - 1] != ' ')
                        out[n++] = ' ';
        return (Str){out, n};
}

static int read_agent(Context *context, const Json *item, Str *ret) {
        *ret = canonical(context->arena, context_id(item, "agent_id"));
        if (!ret->data)
                return error_origin(-ENOMEM);
        return ret->n ? 0 : context_refuse(context, "agent_id must not be empty");
}

static Json *find_or_add(Context *context, Str id) {
        Json *list = context_list(context, &context->presence, "agents", true);
        Json *agent = context_find(list, id);

        if (agent || !list)
                return agent;
        agent = json_new(context->arena, JSON_OBJECT);
        return agent && !context_set(context, agent, "id", id) && !json_push(list, agent) ? agent : NULL;
}

static int context_presence_set_status(Context *context, const Json *item, Str status) {
        Json *agent;
        Str id;
        int r;

        r = read_agent(context, item, &id);
        if (r)
                return r;
        context->presence.is_changed = true;
        agent = status.data ? find_or_add(context, id) : NULL;
        r = agent ? context_set(context, agent, "status", status) : error_origin(-ENOMEM);
        if (!r && !status.n)
                json_remove(agent, STR("status"));
        if (!r)
                r = context_set_now(context, agent, "updated_at");
        return error_trace(r);
}

int context_presence_update(Context *context, const Json *item, Str *detail) {
        Str given = context_id(item, "agent_id");
        int r = context_presence_set_status(context, item,
                                            collapsed(context->arena, context_text(item, "status")));

        return r ? r : context_detail(context, detail, "Updated presence for " STR_FMT, STR_ARG(given));
}

/* An update to nothing: also whoever was never there gets an entry. */
int context_presence_clear(Context *context, const Json *item, Str *detail) {
        Str given = context_id(item, "agent_id");
        int r = context_presence_set_status(context, item, STR(""));

        return r ? r : context_detail(context, detail, "Cleared presence for " STR_FMT, STR_ARG(given));
}

int context_presence_forget(Context *context, Str agent_id) {
        Str id = canonical(context->arena, agent_id);
        Json *agent;

        if (!id.data || context_own(context, &context->presence))
                return error_origin(-ENOMEM);
        agent = context_find(context_list(context, &context->presence, "agents", false), id);
        if (!agent)
                return 0;
        context->presence.is_changed = true;
        return error_trace(context_list_remove(context, &context->presence, "agents", agent));
}

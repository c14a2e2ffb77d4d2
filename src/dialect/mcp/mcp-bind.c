/* SPDX-License-Identifier: MIT */
/*
 * The arguments of an operation, made of those of the tool by its table (gen/mcp-tools.h says how a source is written).
 */
#include <errno.h>
#include <string.h>

#include "core/daemon.h"
#include "core/fleet/fleet.h"
#include "dialect/mcp/mcp-request.h"

static const Json *mcp_bind_given(const McpRequest *self, Str name) {
        const Json *value = json_get_str(self->args, name);

        return json_is(value, JSON_NULL) ? NULL : value;
}

bool mcp_arg_is_given(const McpRequest *self, const char *name) {
        return mcp_bind_given(self, str_from(name));
}

Str mcp_arg_text(const McpRequest *self, const char *name) {
        return str_trim(json_str(json_get(self->args, name)));
}

/* The value under another name: its inside is shared with the message, which lives as long. */
static Json *mcp_bind_copy(McpRequest *self, const Json *value) {
        Json *copy = json_new(&self->arena, JSON_NULL);

        if (copy) {
                *copy = *value;
                copy->next = NULL;
        }
        return copy;
}

static int mcp_bind_keep(McpRequest *self, Str text, Json **ret) {
        if (!text.n)
                return 0;
        *ret = json_new_str(&self->arena, text);
        return *ret ? 0 : -ENOMEM;
}

/* The task of the project that this client has moved to, by a short form of its id, too. What is nobody's is handed on
 * as it is: the operation says so. */
static int mcp_bind_task(McpRequest *self, Str *ret) {
        _cleanup_(buf_deinit) Buf list = BUF_NULL, details = BUF_NULL;
        JsonWriter w = JSON_WRITER(&details);
        Str id = mcp_arg_text(self, "id"), name = arena_printf(&self->arena, "task:%s/" STR_FMT,
                                                               self->client->endpoint->where, STR_ARG(id));
        FleetSearch search;
        int r = name.data ? fleet_search(self->client->daemon, &self->arena, name, &search) : -ENOMEM;

        if (r)
                return r;
        *ret = search.n_found == 1 ? search.found->object : id;
        if (search.n_found < 2)
                return 0;
        r = fleet_write_found(&search, &w, &list);
        if (r || w.failed)
                return -ENOMEM;
        self->details = arena_str(&self->arena, buf_str(&details));
        return mcp_fail(self, CALL_E_AMBIGUOUS_NAME, "several are meant by " STR_FMT ": " STR_FMT,
                        STR_ARG(id), STR_ARG(buf_str(&list)));
}

/* $self, $by, $group, $key, $task; with ? behind them they may be missing. */
static int mcp_bind_special(McpRequest *self, Str word, Json **ret) {
        bool is_optional = word.data[word.n - 1] == '?';
        Str name = {word.data, word.n - is_optional}, text = STR_NULL;
        int r = 0;

        if (str_is(name, "$group"))
                r = mcp_caller_group(self, is_optional, &text);
        else if (str_is(name, "$self"))
                r = mcp_caller_self(self, is_optional, &text);
        else if (str_is(name, "$by"))
                r = mcp_caller_by(self, &text);
        else if (str_is(name, "$task"))
                r = mcp_bind_task(self, &text);
        else
                text = json_text_of(self->meta, "muster/key");
        return r ? r : mcp_bind_keep(self, text, ret);
}

static bool mcp_bind_is_special(Str word) {
        return str_starts(word, STR("$self")) || str_is(word, "$by") || str_starts(word, STR("$group")) ||
               str_starts(word, STR("$key")) || str_is(word, "$task");
}

/* The one item of a list, for an operation that takes no more. */
static int mcp_bind_only(McpRequest *self, Str name, Json **ret) {
        const Json *list = mcp_bind_given(self, name);

        if (json_is(list, JSON_ARRAY) && json_count(list) > 1)
                return mcp_fail(self, CALL_E_INVALID_PARAMS,
                                STR_FMT ": what begins with its kind, as session:api, stands there alone",
                                STR_ARG(name));
        json_each (item, json_is(list, JSON_ARRAY) ? list : NULL)
                list = item;
        *ret = list ? mcp_bind_copy(self, list) : NULL;
        return !list || *ret ? 0 : -ENOMEM;
}

static int mcp_bind_word(McpRequest *self, Str word, Json **ret) {
        const Json *given;
        Str name = word;

        if (word.data[0] == '=') {
                int r = json_parse(&self->arena, word.data + 1, word.n - 1, NULL, ret, NULL);

                return r > 0 ? mcp_fail(self, CALL_E_INTERNAL, "the tool is declared wrong") : r;
        }
        if (mcp_bind_is_special(word))
                return mcp_bind_special(self, word, ret);
        if (word.data[0] == '$')
                name = (Str){word.data + 1, word.n - 1};
        if (name.n > 3 && !memcmp(name.data + name.n - 3, "[0]", 3))
                return mcp_bind_only(self, (Str){name.data, name.n - 3}, ret);
        given = mcp_bind_given(self, name);
        if (!given)
                return 0;
        *ret = mcp_bind_copy(self, given);
        return *ret ? 0 : -ENOMEM;
}

/* The first alternative that there is; *ret stays NULL when there is none. An empty text counts as none as long as there is
 * another. */
static int mcp_bind_source(McpRequest *self, Str source, Json **ret) {
        int r = 0;

        while (source.n && !r) {
                const char *bar = memchr(source.data, '|', source.n);
                size_t n = bar ? (size_t)(bar - source.data) : source.n;
                Json *found = NULL;

                r = mcp_bind_word(self, (Str){source.data, n}, &found);
                if (found)
                        *ret = found;
                if (found && !(json_is(found, JSON_STRING) && !str_trim(json_str(found)).n))
                        break;
                n += bar ? 1 : 0;
                source = (Str){source.data + n, source.n - n};
        }
        return r;
}

/* ---- templates ------------------------------------------------------------------------------- */

/* One change for context_sync: members that were not given are left out. */
static int mcp_bind_change(McpRequest *self, const Json *template, Json *change) {
        int r = 0;

        json_each (member, template) {
                Str text = json_str(member);
                Json *value = NULL;

                if (str_starts(text, STR("$")))
                        r = mcp_bind_source(self, text, &value);
                else
                        value = mcp_bind_copy(self, member);
                if (!r && value)
                        r = json_set(&self->arena, change, json_key(member), value);
                if (r)
                        return r;
        }
        return 0;
}

static int mcp_bind_template(McpRequest *self, const char *text, Json *args) {
        Json *template = NULL, *list = json_new(&self->arena, JSON_ARRAY);
        int r = json_parse(&self->arena, text, strlen(text), NULL, &template, NULL);

        if (r || !list)
                return r > 0 ? mcp_fail(self, CALL_E_INTERNAL, "the tool is declared wrong") : -ENOMEM;
        json_each (item, template) {
                Json *change = json_new(&self->arena, JSON_OBJECT);

                r = change ? mcp_bind_change(self, item, change) : -ENOMEM;
                if (!r)
                        r = json_push(list, change);
                if (r)
                        return r;
        }
        return json_set(&self->arena, args, STR("ops"), list);
}

/* The group is missed first, whatever else is missing. */
static int mcp_bind_need_group(McpRequest *self, const McpStep *step) {
        Str group;

        for (size_t i = 0; i < step->n_binds; i++)
                if (!strcmp(step->binds[i].from, "$group"))
                        return mcp_caller_group(self, false, &group);
        return 0;
}

/* CCCC's own operations say themselves what they miss, with their own codes. */
static int mcp_bind_require(McpRequest *self, const McpStep *step) {
        if (!strcmp(step->dialect, "cccc") && !step->ops)
                return 0;
        for (size_t i = 0; i < self->tool->n_params; i++)
                if (self->tool->params[i].is_required && !mcp_arg_is_given(self, self->tool->params[i].name))
                        return mcp_fail(self, CALL_E_INVALID_PARAMS, "%s is required",
                                        self->tool->params[i].name);
        return 0;
}

int mcp_bind(McpRequest *self, const McpStep *step, Json **ret) {
        Json *args = json_new(&self->arena, JSON_OBJECT);
        int r = args ? mcp_bind_need_group(self, step) : -ENOMEM;

        if (!r)
                r = mcp_bind_require(self, step);
        for (size_t i = 0; !r && i < step->n_binds; i++) {
                Json *value = NULL;

                r = mcp_bind_source(self, str_from(step->binds[i].from), &value);
                if (!r && value)
                        r = json_set(&self->arena, args, str_from(step->binds[i].to), value);
        }
        if (!r && step->ops)
                r = mcp_bind_template(self, step->ops, args);
        *ret = args;
        return r;
}

/* SPDX-License-Identifier: MIT */
/*
 * What agents see of a result: members that are left out (env, command lines, what is archived), and the few results that
 * are made here.
 */
#include <errno.h>
#include <string.h>

#include "base/utf8.h"
#include "dialect/mcp/mcp-request.h"

/* ---- members that stay ----------------------------------------------------------------------- */

static const Json *mcp_view_rule(const Json *show, Str name) {
        if (json_is(show, JSON_OBJECT))
                return json_get_str(show, name);
        json_each (word, show)
                if (str_eq(json_str(word), name))
                        return word;
        return NULL;
}

static int mcp_view_show(McpRequest *self, const Json *value, const Json *show, Json **ret);

static int mcp_view_show_members(McpRequest *self, const Json *value, const Json *show, Json *out) {
        int r = 0;

        json_each (member, value) {
                const Json *rule = mcp_view_rule(show, json_key(member));
                Json *shown = NULL;

                if (!rule)
                        continue;
                r = mcp_view_show(self, member, rule, &shown);
                if (!r)
                        r = json_add(&self->arena, out, json_key(member), shown);
                if (r)
                        break;
        }
        return r;
}

/* By the rule's depth, not the value's: it is a constant of two or three levels. */
static int mcp_view_show(McpRequest *self, const Json *value, const Json *show, Json **ret) {
        bool is_list = json_is(value, JSON_ARRAY),
             is_leaf = !json_is(show, JSON_OBJECT) && !json_is(show, JSON_ARRAY);
        int r = 0;

        if (is_leaf || (!is_list && !json_is(value, JSON_OBJECT))) {
                *ret = json_clone(&self->arena, value);
                return *ret ? 0 : -ENOMEM;
        }
        *ret = json_new(&self->arena, is_list ? JSON_ARRAY : JSON_OBJECT);
        if (!*ret)
                return -ENOMEM;
        if (!is_list)
                return mcp_view_show_members(self, value, show, *ret);
        json_each (item, value) {
                Json *shown = NULL;

                r = mcp_view_show(self, item, show, &shown);
                if (!r)
                        r = json_push(*ret, shown);
                if (r)
                        break;
        }
        return r;
}

static int mcp_view_by_rule(McpRequest *self, const char *rule, Json **result) {
        Json *show = NULL;
        int r = json_parse(&self->arena, rule, strlen(rule), NULL, &show, NULL);

        if (r)
                return r < 0 ? r : mcp_fail(self, CALL_E_INTERNAL, "the tool is declared wrong");
        return mcp_view_show(self, *result, show, result);
}

/* ---- what is archived ------------------------------------------------------------------------ */

static bool mcp_view_is_archived(const Json *item) {
        return str_is(json_text_of(item, "status"), "archived");
}

/* A copy of the list without what is archived; a member that is no list stays. */
static int mcp_view_drop_archived(McpRequest *self, Json *result, const char *key) {
        const Json *list = json_get(result, key);
        Json *kept = json_new(&self->arena, JSON_ARRAY);
        int r = kept ? 0 : -ENOMEM;

        if (!json_is(list, JSON_ARRAY))
                return 0;
        json_each (item, list)
                if (!r && !mcp_view_is_archived(item)) {
                        Json *copy = json_clone(&self->arena, item);

                        r = copy ? json_push(kept, copy) : -ENOMEM;
                }
        return r ? r : json_set(&self->arena, result, str_from(key), kept);
}

static int mcp_view_count_tasks(McpRequest *self, Json *summary) {
        static const char *const states[] = {"active", "planned", "done"};
        int64_t total = 0, n;

        if (!json_is(summary, JSON_OBJECT))
                return 0;
        for (size_t i = 0; i < ARRAY_SIZE(states); i++)
                if (json_int64(json_get(summary, states[i]), &n))
                        total += n;
        return json_set(&self->arena, summary, STR("total"), json_new_int(&self->arena, total));
}

static int mcp_view_archived(McpRequest *self, Json **result) {
        int r;

        if (json_truth_of(self->args, "include_archived"))
                return 0;
        if (mcp_view_is_archived(json_get(*result, "task")))
                return mcp_fail(self, CALL_E_ARCHIVED_HIDDEN,
                                "this task is archived: ask with include_archived");
        r = mcp_view_drop_archived(self, *result, "milestones");
        if (!r)
                r = mcp_view_drop_archived(self, *result, "tasks");
        return r ? r : mcp_view_count_tasks(self, json_get(*result, "tasks_summary"));
}

/* ---- parts of cccc_bootstrap ----------------------------------------------------------------- */

/* The only member of an object instead of that. */
static int mcp_view_lift(McpRequest *self, Json **result) {
        Json *only = json_count(*result) == 1 ? json_first(*result) : NULL;

        if (!only)
                return 0;
        *result = json_clone(&self->arena, only);
        return *result ? 0 : -ENOMEM;
}

static int64_t mcp_view_number(const McpRequest *self, const char *name, int64_t otherwise) {
        int64_t value;

        return json_int64(json_get(self->args, name), &value) && value > 0 ? value : otherwise;
}

/* What is left of an event for who was away; *n_left: characters that all texts may still have. */
static Json *mcp_view_message(McpRequest *self, const Json *event, int64_t *n_left) {
        static const char *const members[] = {"id", "ts", "by"};
        const Json *data = json_get(event, "data"), *to = json_get(data, "to");
        Str text = json_text_of(data, "text"), shown = utf8_first(text, (size_t)*n_left);
        Json *out = json_new(&self->arena, JSON_OBJECT), *list = json_new(&self->arena, JSON_ARRAY);
        int r = out && list ? 0 : -ENOMEM;

        for (size_t i = 0; !r && i < ARRAY_SIZE(members); i++)
                r = json_set(&self->arena, out, str_from(members[i]),
                             json_new_str(&self->arena, json_text_of(event, members[i])));
        json_each (one, to)
                if (!r)
                        r = json_push(list, json_new_str(&self->arena, json_str(one)));
        if (!r)
                r = json_set(&self->arena, out, STR("to"), list);
        if (!r)
                r = json_set(&self->arena, out, STR("text"), json_new_str(&self->arena, shown));
        *n_left = shown.n < text.n ? -1 : *n_left - (int64_t)utf8_count(shown);
        return r ? NULL : out;
}

enum { MCP_TAIL_CHARS = 8000 };

/* The last messages, oldest first, as long as their texts fit. It stays an object until all results are there. */
static int mcp_view_tail(McpRequest *self, Json **result) {
        int64_t n_left = mcp_view_number(self, "ledger_tail_max_chars", MCP_TAIL_CHARS);
        Json *list = json_new(&self->arena, JSON_ARRAY), *out = json_new(&self->arena, JSON_OBJECT);
        bool is_cut = false;
        int r = list && out ? 0 : -ENOMEM;

        json_each (event, json_get(*result, "events")) {
                if (r || is_cut || !json_text_of(json_get(event, "data"), "text").n)
                        continue;
                if (n_left > 0) {
                        Json *message = mcp_view_message(self, event, &n_left);

                        r = message ? json_push(list, message) : -ENOMEM;
                        is_cut = n_left < 0;
                } else
                        is_cut = true;
        }
        if (!r)
                r = json_set(&self->arena, out, STR("messages"), list);
        if (!r)
                r = json_set(&self->arena, out, STR("is_cut"), json_new_bool(&self->arena, is_cut));
        *result = out;
        return r;
}

static int mcp_view_bootstrap(McpRequest *self, Json **result) {
        const Json *tail = json_get(*result, "ledger_tail"), *last = NULL;
        bool is_cut = json_truth_of(tail, "is_cut");
        int r;

        json_each (message, json_get(json_get(*result, "inbox"), "messages"))
                last = message;
        r = json_set(&self->arena, *result, STR("ledger_tail"),
                     json_clone(&self->arena, json_get(tail, "messages")));
        if (!r)
                r = json_set(&self->arena, *result, STR("ledger_tail_truncated"),
                             json_new_bool(&self->arena, is_cut));
        if (!r)
                r = json_set(&self->arena, *result, STR("suggested_mark_read_event_id"),
                             json_new_str(&self->arena, json_text_of(last, "id")));
        return r;
}

/* ---- muster's own ---------------------------------------------------------------------------- */

static bool mcp_view_is_wanted(const McpRequest *self, const Json *process) {
        static const char *const kinds[][2] = {
                {"actor", "collab"}, {"session", "sessions"}, {"task", "tasks"}, {"run", "company"}};
        Str kind = mcp_arg_text(self, "kind"), state = mcp_arg_text(self, "state"),
            group = mcp_arg_text(self, "group"), name = mcp_arg_text(self, "name");
        Str object = json_text_of(process, "object");

        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
                if (str_is(kind, kinds[i][0]) && !str_is(json_text_of(process, "owner"), kinds[i][1]))
                        return false;
        if (state.n && !str_eq(state, json_text_of(process, "state")))
                return false;
        if (name.n && !str_eq(name, json_text_of(process, "name")) && !str_eq(name, object) &&
            !str_eq(name, json_text_of(process, "id")))
                return false;
        return !group.n || (str_is(json_text_of(process, "owner"), "collab") && str_starts(object, group) &&
                            object.n > group.n && object.data[group.n] == '/');
}

static int mcp_view_ps(McpRequest *self, Json **result) {
        Json *list = json_new(&self->arena, JSON_ARRAY);
        int r = list ? 0 : -ENOMEM;

        json_each (process, json_get(*result, "processes"))
                if (!r && mcp_view_is_wanted(self, process)) {
                        Json *copy = json_clone(&self->arena, process);

                        r = copy ? json_push(list, copy) : -ENOMEM;
                }
        return r ? r : json_set(&self->arena, *result, STR("processes"), list);
}

/* Its commit is done: it will be delivered whatever happens to this daemon. */
static int mcp_view_sent(McpRequest *self, Json **result) {
        Json *out = json_new(&self->arena, JSON_OBJECT);
        int r = out ? json_set(&self->arena, out, STR("event_id"),
                               json_new_str(&self->arena, json_text_of(json_get(*result, "event"), "id")))
                    : -ENOMEM;

        if (!r)
                r = json_set(&self->arena, out, STR("outcome"), json_new_str(&self->arena, STR("stored")));
        *result = out;
        return r;
}

/* A question that waits for a person is no failure: the agent goes on, and comes back with its id. */
static int mcp_view_asked(McpRequest *self, Json **result) {
        bool is_open = str_is(json_text_of(json_get(*result, "approval"), "state"), "open");
        Json *outcome = json_new_str(&self->arena, is_open ? STR("approval_pending") : STR("decided"));

        return outcome ? json_set(&self->arena, *result, STR("outcome"), outcome) : -ENOMEM;
}

/* ---- by name --------------------------------------------------------------------------------- */

typedef struct McpView {
        const char *name;
        int (*run)(McpRequest *self, Json **result);
} McpView;

static const McpView mcp_views[] = {
        {"archived", mcp_view_archived}, {"asked", mcp_view_asked}, {"bootstrap", mcp_view_bootstrap},
        {"lift", mcp_view_lift},         {"ps", mcp_view_ps},       {"sent", mcp_view_sent},
        {"tail", mcp_view_tail},
};

static int mcp_view_by_name(McpRequest *self, const char *name, Json **result) {
        for (size_t i = 0; i < ARRAY_SIZE(mcp_views); i++)
                if (!strcmp(name, mcp_views[i].name))
                        return mcp_views[i].run(self, result);
        return mcp_fail(self, CALL_E_INTERNAL, "there is no view %s", name);
}

int mcp_view_step(McpRequest *self, const McpStep *step, Json **result) {
        int r = step->show ? mcp_view_by_rule(self, step->show, result) : 0;

        return !r && step->view ? mcp_view_by_name(self, step->view, result) : r;
}

int mcp_view_whole(McpRequest *self) {
        if (!self->tool->view)
                return 0;
        if (!self->whole)
                self->whole = json_new(&self->arena, JSON_OBJECT);
        return self->whole ? mcp_view_by_name(self, self->tool->view, &self->whole) : -ENOMEM;
}

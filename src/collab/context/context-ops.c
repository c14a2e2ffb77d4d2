/* SPDX-License-Identifier: MIT */
/* The ops of a batch, but those of the plan (context-plan.c): vision, sketch, notes, references, presence.
 */
#include <errno.h>

#include "base/error.h"
#include "collab/context/context-internal.h"

/*
 * The plain ops of context.yaml: vision, sketch, notes and references.
 */

static int context_notes_set_text(Context *context, const char *key, const Json *item) {
        context->main.is_changed = true;
        return context_set(context, context->main.document->json, key, context_text(item, key));
}

static int context_vision_update(Context *context, const Json *item, Str *detail) {
        int r = context_notes_set_text(context, "vision", item);

        return r ? error_trace(r) : context_detail(context, detail, "Set vision");
}

static int context_sketch_update(Context *context, const Json *item, Str *detail) {
        int r = context_notes_set_text(context, "sketch", item);

        return r ? error_trace(r) : context_detail(context, detail, "Set sketch");
}

/* A new entry {id} of the list; the caller adds the rest. NULL without memory. */
static Json *context_notes_add_entry(Context *context, const char *list_key, char letter, int64_t number,
                                     Str *detail) {
        Json *list = context_list(context, &context->main, list_key, true);
        Json *entry = json_new(context->arena, JSON_OBJECT);
        Str id = arena_printf(context->arena, "%c%03lld", letter, (long long)number);

        context->main.is_changed = true;
        if (!list || !entry || !id.data || context_set(context, entry, "id", id) || json_push(list, entry) ||
            context_detail(context, detail, "Added %s", id.data))
                return NULL;
        return entry;
}

static int context_notes_remove_entry(Context *context, const char *list_key, Json *entry, Str id,
                                      Str *detail) {
        int r = context_list_remove(context, &context->main, list_key, entry);

        context->main.is_changed = true;
        return r ? error_trace(r) : context_detail(context, detail, "Removed " STR_FMT, STR_ARG(id));
}

static Json *find_entry(Context *context, const char *list_key, Str id) {
        return context_find(context_list(context, &context->main, list_key, false), id);
}

/* The number of a removed last entry is given again. */
static void forget_number(Context *context, const char *list_key, char letter, Str id, int64_t *last) {
        if (context_number(id, letter) == *last)
                *last = context_highest(context_list(context, &context->main, list_key, false), letter);
}

static int context_note_add(Context *context, const Json *item, Str *detail) {
        Json *note = context_notes_add_entry(context, "notes", 'N', ++context->last_note, detail);

        return note ? context_set(context, note, "content", context_text(item, "content"))
                    : error_origin(-ENOMEM);
}

static int context_note_update(Context *context, const Json *item, Str *detail) {
        Str id = context_id(item, "note_id");
        Json *note = find_entry(context, "notes", id);
        int r;

        if (!note)
                return context_refuse(context, "Note not found: " STR_FMT, STR_ARG(id));
        context->main.is_changed = true;
        r = context_set_given(context, note, "content", item);
        return r ? error_trace(r) : context_detail(context, detail, "Updated " STR_FMT, STR_ARG(id));
}

static int context_note_remove(Context *context, const Json *item, Str *detail) {
        Str id = context_id(item, "note_id");
        Json *note = find_entry(context, "notes", id);
        int r;

        if (!note)
                return context_refuse(context, "Note not found: " STR_FMT, STR_ARG(id));
        r = context_notes_remove_entry(context, "notes", note, id, detail);
        forget_number(context, "notes", 'N', id, &context->last_note);
        return r;
}

static int context_reference_add(Context *context, const Json *item, Str *detail) {
        Json *reference =
                context_notes_add_entry(context, "references", 'R', ++context->last_reference, detail);
        int r;

        r = reference ? context_set(context, reference, "url", context_text(item, "url"))
                      : error_origin(-ENOMEM);
        return r ? error_trace(r) : context_set(context, reference, "note", context_text(item, "note"));
}

static int context_reference_update(Context *context, const Json *item, Str *detail) {
        Str id = context_id(item, "reference_id");
        Json *reference = find_entry(context, "references", id);
        int r;

        if (!reference)
                return context_refuse(context, "Reference not found: " STR_FMT, STR_ARG(id));
        context->main.is_changed = true;
        r = context_set_given(context, reference, "url", item);
        if (!r)
                r = context_set_given(context, reference, "note", item);
        return r ? error_trace(r) : context_detail(context, detail, "Updated " STR_FMT, STR_ARG(id));
}

static int context_reference_remove(Context *context, const Json *item, Str *detail) {
        Str id = context_id(item, "reference_id");
        Json *reference = find_entry(context, "references", id);
        int r;

        if (!reference)
                return context_refuse(context, "Reference not found: " STR_FMT, STR_ARG(id));
        r = context_notes_remove_entry(context, "references", reference, id, detail);
        forget_number(context, "references", 'R', id, &context->last_reference);
        return r;
}

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

static int context_presence_update(Context *context, const Json *item, Str *detail) {
        Str given = context_id(item, "agent_id");
        int r = context_presence_set_status(context, item,
                                            collapsed(context->arena, context_text(item, "status")));

        return r ? r : context_detail(context, detail, "Updated presence for " STR_FMT, STR_ARG(given));
}

/* An update to nothing: also whoever was never there gets an entry. */
static int context_presence_clear(Context *context, const Json *item, Str *detail) {
        Str given = context_id(item, "agent_id");
        int r = context_presence_set_status(context, item, STR(""));

        return r ? r : context_detail(context, detail, "Cleared presence for " STR_FMT, STR_ARG(given));
}

int context_presence_forget(Context *context, Str agent_id) {
        Str id = canonical(context->arena, agent_id);
        Json *agent;

        if (!id.data || context_own(&context->presence))
                return error_origin(-ENOMEM);
        agent = context_find(context_list(context, &context->presence, "agents", false), id);
        if (!agent)
                return 0;
        context->presence.is_changed = true;
        return error_trace(context_list_remove(context, &context->presence, "agents", agent));
}

static const struct {
        const char *name;
        ContextOpFn fn;
} ops_table[] = {
        {"vision.update", context_vision_update},
        {"sketch.update", context_sketch_update},
        {"milestone.create", context_milestone_create},
        {"milestone.update", context_milestone_update},
        {"milestone.complete", context_milestone_complete},
        {"milestone.restore", context_milestone_restore},
        {"task.create", context_task_create},
        {"task.update", context_task_update},
        {"task.restore", context_task_restore},
        {"note.add", context_note_add},
        {"note.update", context_note_update},
        {"note.remove", context_note_remove},
        {"reference.add", context_reference_add},
        {"reference.update", context_reference_update},
        {"reference.remove", context_reference_remove},
        {"presence.update", context_presence_update},
        {"presence.clear", context_presence_clear},
};

static ContextOpFn find_op(Str name) {
        for (size_t i = 0; i < ARRAY_SIZE(ops_table); i++)
                if (str_is(name, ops_table[i].name))
                        return ops_table[i].fn;
        return NULL;
}

/* What newer clients say about a task. Without these it is not the task that they mean. */
static const char *const newer_members[] = {"title",     "outcome",    "parent_id",  "priority",
                                            "notes",     "blocked_by", "waiting_on", "handoff_to",
                                            "checklist", "task_type"};

static bool is_said(const Json *value) {
        return value && !json_is(value, JSON_NULL);
}

static int check_newer(Context *context, Str name, const Json *item) {
        if (!str_starts(name, STR("task.")))
                return 0;
        for (size_t i = 0; i < ARRAY_SIZE(newer_members); i++)
                if (is_said(json_get(item, newer_members[i])))
                        return context_refuse(context,
                                              STR_FMT ": %s is not kept here; a task has name, goal, steps, "
                                                      "milestone_id and assignee",
                                              STR_ARG(name), newer_members[i]);
        return 0;
}

static int note_change(Context *context, int64_t index, Str op, Str detail) {
        Json *change = json_new(context->arena, JSON_OBJECT);
        int r;

        if (!change)
                return error_origin(-ENOMEM);
        r = json_set(context->arena, change, STR("index"), json_new_int(context->arena, index));
        if (!r)
                r = context_set(context, change, "op", op);
        if (!r)
                r = context_set(context, change, "detail", detail);
        if (!r)
                r = json_push(context->changes, change);
        return error_trace(r);
}

static int apply_one(Context *context, int64_t index, const Json *item) {
        Str name = context_id(item, "op"), detail = STR_NULL;
        ContextOpFn fn = find_op(name);
        int r;

        if (!json_is(item, JSON_OBJECT))
                return context_refuse(context, "ops[%lld] must be an object", (long long)index);
        if (!fn)
                return context_refuse(context, "Unknown operation: " STR_FMT, STR_ARG(name));
        r = check_newer(context, name, item);
        if (!r)
                r = fn(context, item, &detail);
        return r ? r : note_change(context, index, name, detail);
}

/* The changes become one event, and an event has a longest line. */
static int check_length(Context *context) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        int r;

        r = json_write(&text, context->changes);
        if (r)
                return error_fold(r);
        return text.n > CONTEXT_CHANGES_MAX ? context_refuse(context, "too many operations in one batch")
                                            : 0;
}

int context_apply(Context *context, const Json *ops) {
        int64_t index = 0;
        int r;

        r = context_own(&context->main);
        if (!r)
                r = context_own(&context->presence);
        if (r)
                return error_trace(r);
        json_each (item, ops) {
                r = apply_one(context, index++, item);
                if (r)
                        return r;
        }
        return check_length(context);
}

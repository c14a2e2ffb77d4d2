/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/error.h"
#include "collab/context-internal.h"

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

        r = context_own(context, &context->main);
        if (!r)
                r = context_own(context, &context->presence);
        if (r)
                return error_trace(r);
        json_each (item, ops) {
                r = apply_one(context, index++, item);
                if (r)
                        return r;
        }
        return check_length(context);
}
